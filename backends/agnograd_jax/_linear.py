"""A primitive of JAX for a linear function that is given by its transpose.

``jax.custom_derivatives.linear_call`` takes both, but has no rule for ``jax.vmap``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

__all__ = ["linear"]

Shaped = list[jax.ShapeDtypeStruct]


@dataclass(frozen=True, eq=False)
class _Map:
    """A linear function of some arrays, ``ins``, given by its transpose, of others, ``outs``.

    ``pullback(residuals, cotangents, likes)`` returns arrays like ``ins``.
    """

    pullback: Callable[..., Any]
    residuals: int  # how many
    ins: Shaped
    outs: Shaped

    def pull(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Return the transpose of the function, applied to cotangents."""
        found = self.pullback(residuals, cotangents, self.ins)
        return [g.astype(like.dtype) for g, like in zip(found, self.ins, strict=True)]

    def push(self, residuals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """Return the function of tangents: the transpose of its transpose."""
        zeros = [jnp.zeros(like.shape, like.dtype) for like in self.outs]
        _, transpose = jax.vjp(lambda *given: self.pull(residuals, given), *zeros)
        return list(transpose(list(tangents)))


def linear(
    pullback: Callable[..., Any],
    residuals: Sequence[Any],
    tangents: Sequence[Any],
    outs: Sequence[Any],
) -> list[Any]:
    """Return the linear function of tangents whose transpose is ``pullback``.

    ``pullback(residuals, cotangents, likes)`` returns gradients like the tangents. It must be
    linear in the cotangents, which are like ``outs``.
    """
    which = _Map(pullback, len(residuals), _shaped(tangents), _shaped(outs))
    found: list[Any] = _push.bind(*residuals, *tangents, which=which)
    return found


def _shaped(arrays: Sequence[Any], *more: int) -> Shaped:
    """Return the shapes, behind more axes, and the dtypes of arrays."""
    return [jax.ShapeDtypeStruct((*more, *x.shape), x.dtype) for x in arrays]


_push, _pull = Primitive("agnograd_push"), Primitive("agnograd_pull")


def _compute(name: str, *args: Any, which: _Map) -> list[Any]:
    n = which.residuals
    args = tuple(map(jnp.asarray, args))  # JAX may hand over arrays of NumPy
    found: list[Any] = getattr(which, name)(args[:n], args[n:])
    return found


def _shapes(outs: str, *_: Any, which: _Map) -> list[Any]:
    return [jax.core.ShapedArray(like.shape, like.dtype) for like in getattr(which, outs)]


def _derivative(
    primitive: Primitive, compute: Any, primals: Any, tangents: Any, *, which: _Map
) -> tuple[Any, Any]:
    n = which.residuals
    results, found = primitive.bind(*primals, which=which), None
    if not all(isinstance(t, ad.Zero) for t in tangents[n:]):
        given = map(ad.instantiate_zeros, tangents[n:])
        found = primitive.bind(*primals[:n], *given, which=which)
    # A rule may not know a derivative by what is not differentiated.
    moving = [place for place in range(n) if not isinstance(tangents[place], ad.Zero)]
    if moving:

        def of_residuals(*given: Any) -> list[Any]:
            values = list(primals)
            for place, each in zip(moving, given, strict=True):
                values[place] = each
            found: list[Any] = compute(*values, which=which)
            return found

        starts, along = ([each[place] for place in moving] for each in (primals, tangents))
        _, other = jax.jvp(of_residuals, starts, along)
        found = other if found is None else [a + b for a, b in zip(found, other, strict=True)]
    return results, found


def _transposed(transpose: Primitive, cotangents: Any, *args: Any, which: _Map) -> list[Any]:
    given = map(ad.instantiate_zeros, cotangents)
    found = transpose.bind(*args[: which.residuals], *given, which=which)
    return [*[None] * which.residuals, *found]


def _batched(primitive: Primitive, args: Any, dims: Any, *, which: _Map) -> tuple[Any, Any]:
    n, pairs = which.residuals, list(zip(args, dims, strict=True))
    size = next(x.shape[dim] for x, dim in pairs if dim is not None)
    fronts = [x if dim is None else jnp.moveaxis(x, dim, 0) for x, dim in pairs]
    # A transpose would have to sum over the members for what is the same for all.
    given = [
        jnp.broadcast_to(x, (size, *x.shape)) if dim is None else x
        for x, dim in zip(fronts[n:], dims[n:], strict=True)
    ]
    axes = [None if dim is None else 0 for dim in dims[:n]]

    def pullback(residuals: Any, cotangents: Any, likes: Any) -> Any:
        return jax.vmap(which.pull, (axes, 0))(list(residuals), list(cotangents))

    of_members = _Map(pullback, n, _shaped(which.ins, size), _shaped(which.outs, size))
    found = primitive.bind(*fronts[:n], *given, which=of_members)
    return found, [0] * len(found)


def _register(primitive: Primitive, transpose: Primitive, name: str, outs: str) -> None:
    """Tell JAX all that it has to know of one of the two primitives."""
    compute = partial(_compute, name)
    primitive.multiple_results = True
    primitive.def_impl(compute)
    primitive.def_abstract_eval(partial(_shapes, outs))
    ad.primitive_jvps[primitive] = partial(_derivative, primitive, compute)
    ad.primitive_transposes[primitive] = partial(_transposed, transpose)
    batching.primitive_batchers[primitive] = partial(_batched, primitive)
    mlir.register_lowering(primitive, mlir.lower_fun(compute, multiple_results=True))


_register(_push, _pull, "push", "outs")
_register(_pull, _push, "pull", "ins")
