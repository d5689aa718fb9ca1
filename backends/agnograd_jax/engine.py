"""Ops as functions that JAX differentiates in both modes, transforms, and compiles.

Each is a ``jax.custom_jvp``. An element-wise one multiplies tangents by its partial derivatives.
Any other one has its pullback, whose transpose takes the tangents: both are in one primitive, so
that JAX gets the pullback itself where it transposes.

JAX's cotangents of complex arrays are the conjugates of agnograd's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agnograd.extend import switch
from agnograd_engines import Calling, Engine, Primitive
from agnograd_jax._bridge import conjugates, is_inexact
from agnograd_jax._linear import linear

__all__ = ["JaxEngine", "engine"]


class JaxEngine(Engine):
    """Ops become functions with a derivative of their own, for arrays and in traces."""

    backend = "jax"

    def function(self, primitive: Primitive) -> Calling:
        """Return what computes an op at once, or adds it to a trace."""
        tracer = jax.core.Tracer
        made: dict[Any, Callable[..., Any]] = {}

        def call(arrays: tuple[Any, ...], options: tuple[Any, ...]) -> Any:
            if not any(isinstance(x, tracer) for x in arrays):
                if any(hasattr(x, "dtype") for x in arrays):
                    arrays = primitive.operands(arrays)
                return primitive.rebuilt(primitive.compute(arrays, options))
            # What is not traced has no tangent: so no rule for it is needed.
            numbers = tuple(_Array if isinstance(x, tracer) else x for x in arrays)
            key = None
            if all(map(_is_plain, (*numbers, *options))):
                key = repr((numbers, options))  # as a key, 1.0 is True
            function = made.get(key)
            if function is None:
                function = _traced(primitive, numbers, options)
                if key is not None and len(made) < OP_FUNCTIONS:
                    made[key] = function
            return primitive.rebuilt(function(*(x for x in arrays if isinstance(x, tracer))))

        return call

    def constant(self, value: Any) -> Any:
        """Return JAX's array."""
        return jnp.asarray(value)


class _Array:
    """What stands for an array among what an op is called with."""


# How many functions of an op are kept, one for each set of options: some differ in each call.
OP_FUNCTIONS = switch("OP_FUNCTIONS", 1000, least=0, most=2**20, module=__name__)


def _is_plain(value: Any) -> bool:
    """Return whether the text of a value says all of it."""
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return value is _Array or type(value) in (bool, int, float, complex, str, type(None))


def _traced(
    primitive: Primitive, numbers: tuple[Any, ...], options: tuple[Any, ...]
) -> Callable[..., Any]:
    """Return an op as a function of its arrays; all else that it is called with is given."""

    def filled(given: Sequence[Any]) -> tuple[Any, ...]:
        left = iter(given)
        return primitive.operands(tuple(next(left) if x is _Array else x for x in numbers))

    def compute(*given: Any) -> tuple[Any, ...]:
        given = tuple(map(jnp.asarray, given))  # JAX may hand over arrays of NumPy, or numbers
        return tuple(jnp.asarray(out) for out in primitive.compute(filled(given), options))

    function: Callable[..., Any] = jax.custom_jvp(compute)

    def derivative(given: Any, tangents: Any) -> tuple[Any, Any]:
        given = [*map(jnp.asarray, given)]
        results = function(*given)
        known = [None if _is_zero(t) else jnp.asarray(t) for t in tangents]
        saved = primitive.save(filled(given), options, results)
        left = iter(known)
        along = [next(left) if x is _Array else None for x in numbers]
        found = _pushed(primitive, saved, along, results)
        pairs = zip(results, found, strict=True)
        return results, tuple(_tangent(out, t) for out, t in pairs)

    function.defjvp(derivative, symbolic_zeros=True)  # type: ignore[attr-defined]
    return function


def _is_zero(tangent: Any) -> bool:
    symbolic = isinstance(tangent, jax.custom_derivatives.SymbolicZero)
    return symbolic or tangent.dtype == jax.dtypes.float0


def _tangent(out: Any, tangent: Any) -> Any:
    if not is_inexact(out):
        return np.zeros(out.shape, jax.dtypes.float0)
    return jnp.zeros_like(out) if tangent is None else tangent.astype(out.dtype)


def _pushed(
    primitive: Primitive, saved: Sequence[Any], tangents: Sequence[Any], results: Sequence[Any]
) -> Sequence[Any]:
    """Return the tangents of all results; None stands for zeros."""
    wanted = [t is not None for t in tangents]
    if not any(wanted):
        return [None for _ in results]
    holomorphic = jnp.iscomplexobj(results[0]) or not any(map(jnp.iscomplexobj, tangents))
    if primitive.pushes and holomorphic:
        return [primitive.push(saved, tangents, results[0])]
    inexact = [is_inexact(out) for out in results]
    starts = [out for out, kind in zip(results, inexact, strict=True) if kind]
    if not starts:
        return [None for _ in results]
    residuals, rest = _split(saved)
    shapes = tuple(out.shape for out in results)
    pullback = _Pullback(primitive, rest, tuple(wanted), tuple(inexact), shapes)
    found = iter(linear(pullback, residuals, [t for t in tangents if t is not None], starts))
    return [next(found) if kind else None for kind in inexact]


def _split(saved: Sequence[Any]) -> tuple[list[Any], Callable[[Sequence[Any]], list[Any]]]:
    """Return the arrays in what is saved, and what puts arrays into their places."""
    leaves, structure = jax.tree.flatten(list(saved))
    places = [place for place, each in enumerate(leaves) if isinstance(each, jax.Array)]
    arrays = [leaves[place] for place in places]
    for place in places:  # what a trace has made must not be kept for another one
        leaves[place] = None

    def joined(given: Sequence[Any]) -> list[Any]:
        every = [*leaves]
        for place, each in zip(places, given, strict=True):
            every[place] = each
        found: list[Any] = jax.tree.unflatten(structure, every)
        return found

    return arrays, joined


@dataclass(frozen=True, eq=False)
class _Pullback:
    """The gradients of an op's inputs, as a linear function of the cotangents."""

    primitive: Primitive
    joined: Callable[[Sequence[Any]], list[Any]]
    wanted: tuple[bool, ...]
    inexact: tuple[bool, ...]
    shapes: tuple[tuple[int, ...], ...]

    def __call__(
        self, residuals: Sequence[Any], cotangents: Sequence[Any], likes: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients of the inputs that are wanted, ``likes``, as JAX has them."""
        given = iter(conjugates(cotangents))
        pairs = zip(self.inexact, self.shapes, strict=True)
        every = [next(given) if kind else jnp.zeros(shape) for kind, shape in pairs]
        found = self.primitive.pull(self.joined(residuals), every, self.wanted)
        gradients = [g for g, each in zip(found, self.wanted, strict=True) if each]
        return conjugates(
            [
                jnp.zeros(like.shape, like.dtype) if g is None else g
                for g, like in zip(gradients, likes, strict=True)
            ]
        )


engine = JaxEngine()
