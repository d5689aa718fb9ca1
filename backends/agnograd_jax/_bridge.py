"""JAX's derivatives on one side, agnograd's on the other.

JAX's cotangents of complex arrays are the conjugates of agnograd's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agnograd.errors import UnsupportedArrayError
from agnograd.extend import Bridge, Flat, Program, Record
from agnograd_jax._callbacks import called_back

__all__ = ["JaxBridge", "conjugates", "is_inexact"]


class JaxBridge(Bridge):
    """Programs become ``jax.custom_vjp``; functions become records by ``jax.vjp``."""

    def export(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return the program's results: traced, computed, or to be computed by a callback."""
        found: Sequence[Any] = _exported(program, partial(_results, program))(*inputs)
        return found

    def record(self, f: Flat, inputs: Sequence[Any], parameters: Sequence[Any] = ()) -> Record:
        """Run a function, and keep its pullback."""
        return JaxRecord(f, inputs)


class JaxRecord:
    """A function, its inputs, and JAX's pullback there; a ``Record``."""

    def __init__(self, f: Flat, inputs: Sequence[Any]) -> None:
        self.f = f
        self.inputs = inputs
        self.outputs, self._pullback = jax.vjp(lambda *xs: [*map(jnp.asarray, f(xs))], *inputs)

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """Return the gradients of the inputs."""
        given = [
            g if is_inexact(out) else np.zeros(out.shape, jax.dtypes.float0)
            for g, out in zip(cotangents, self.outputs, strict=True)
        ]
        return conjugates(self._pullback(conjugates(given)))

    def pulled(self, cotangents: Sequence[Any], places: Sequence[int]) -> JaxRecord:
        """Return a record of the pullback as a function of inputs and cotangents."""
        count = len(self.inputs)

        def pullback(given: Sequence[Any]) -> list[Any]:
            values = [*self.inputs, *cotangents]
            for place, value in zip(places, given, strict=True):
                values[place] = value
            return JaxRecord(self.f, values[:count]).pull(values[count:])

        values = [*self.inputs, *cotangents]
        return JaxRecord(pullback, [values[place] for place in places])


class _Pullback:
    """The pullback of a program, which is a program of inputs and cotangents.

    ``kept`` are the places of the results that have cotangents.
    """

    def __init__(
        self, program: Any, inputs: Sequence[Any], kept: Sequence[int], count: int
    ) -> None:
        self.program = program
        self.backend = program.backend
        self.size = len(inputs)
        self.kept = kept
        self.count = count
        self.places = [place for place, x in enumerate(inputs) if is_inexact(x)]

    def outputs(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return the gradients of the inputs."""
        pulled: Sequence[Any] = self.program.record(values[: self.size]).pull(self._spread(values))
        return pulled

    def record(self, values: Sequence[Any]) -> Record:
        """Return a record of them."""
        cotangents = [self.size + place for place in self.kept]
        run = self.program.record(values[: self.size])
        found: Record = run.pulled(self._spread(values), [*self.places, *cotangents])
        return found

    def _spread(self, values: Sequence[Any]) -> list[Any]:
        given: list[Any] = [None] * self.count
        for place, g in zip(self.kept, values[self.size :], strict=True):
            given[place] = g
        return given


def _exported(program: Any, results: Callable[[Sequence[Any]], Sequence[Any]]) -> Any:
    """Return a function of JAX's arrays; ``results`` gives the facts of what it returns."""

    def on_host(*xs: Any) -> tuple[Any, ...]:
        return tuple(program.outputs(xs))

    def compute(*xs: Any) -> tuple[Any, ...]:
        if program.backend == "jax" or not any(isinstance(x, jax.core.Tracer) for x in xs):
            # What JAX hands over may be a NumPy array, or of a kind of its own.
            return tuple(program.outputs([jnp.asarray(x) for x in xs]))
        facts = tuple(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in results(xs))
        found: tuple[Any, ...] = called_back(on_host, facts, *xs, vmap_method="sequential")
        return found

    call: Any = jax.custom_vjp(compute)

    def forward(*xs: Any) -> tuple[Any, Any]:
        return call(*xs), xs

    def backward(xs: Any, grads: Any) -> tuple[Any, ...]:
        kept = [place for place, g in enumerate(grads) if g.dtype != jax.dtypes.float0]
        pullback = _Pullback(program, xs, kept, len(grads))
        inexact = [x for x in xs if is_inexact(x)]
        given = conjugates([grads[place] for place in kept])
        found = iter(conjugates(_exported(pullback, lambda _: inexact)(*xs, *given)))
        return tuple(next(found) if is_inexact(x) else None for x in xs)

    call.defvjp(forward, backward)
    return call


def _results(program: Program, xs: Sequence[Any]) -> Sequence[Any]:
    """Return the shapes and dtypes of a program's results."""
    found = program.expected()
    if found is None:
        try:
            found = program.outputs([np.ones(x.shape, x.dtype) for x in xs])
        except Exception as error:
            error.add_note(
                "agnograd: in a JAX trace, the function was run on arrays of ones, to see "
                "the shapes and dtypes of its results; tell them by bridge.jax(f, results=...)"
            )
            raise
    for each in found:
        if jax.dtypes.canonicalize_dtype(each.dtype) != each.dtype:
            raise UnsupportedArrayError(
                f"a result has dtype {each.dtype}, which JAX would narrow: set jax_enable_x64, "
                "or convert the result"
            )
    return found


def is_inexact(x: Any) -> bool:
    """Return whether an array has a floating-point or complex dtype."""
    return bool(jnp.issubdtype(x.dtype, jnp.inexact))


def conjugates(arrays: Sequence[Any]) -> list[Any]:
    """Return the conjugates of arrays, which are these themselves if they are real."""
    return [jnp.conj(each) if jnp.iscomplexobj(each) else each for each in arrays]
