"""What the modules share: arrays of one dtype, padding, and axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from typing import Any

import agnograd as ag
from agnograd.extend import OpSet, device_of, is_complex, operand

__all__ = [
    "arrays_in",
    "composed",
    "constants",
    "detached",
    "filled",
    "given",
    "inexact",
    "one_by_one",
    "padded",
    "real_like",
    "sliced",
    "weighted",
]


def composed(ops: OpSet, *functions: Callable[..., Any], **named: Callable[..., Any]) -> None:
    """Register functions that are made of ops, with the parameters that they have after ``xp``.

    Those in ``named`` have another name in SciPy.
    """
    for name, function in {**{each.__name__: each for each in functions}, **named}.items():
        _, *parameters = signature(function).parameters.values()
        bare = Signature([each.replace(annotation=Parameter.empty) for each in parameters])
        ops.composed(f"{ops.extension}.{name}{bare}", function)


def inexact(xp: Any, *values: Any) -> list[Any]:
    """Return arrays, numbers and nested lists as arrays of one floating-point or complex dtype.

    Only arrays decide on the precision, those in lists too; without one of floating-point dtype it
    is the default.
    """
    found = [operand(xp, each) if _has_arrays(each) else each for each in values]
    arrays = [each for each in found if hasattr(each, "dtype")]
    device = device_of(arrays[0]) if arrays else None
    kinds = ("real floating", "complex floating")
    dtypes = [each.dtype for each in arrays if xp.isdtype(each.dtype, kinds)]
    dtype = xp.result_type(*dtypes) if dtypes else xp.asarray(0.0).dtype
    for place, each in enumerate(found):
        if not hasattr(each, "dtype"):
            wide = is_complex(xp.asarray(each).dtype, xp)
            wanted = xp.result_type(dtype, xp.complex64) if wide else dtype
            found[place] = xp.asarray(each, device=device, dtype=wanted)
    if any(is_complex(each.dtype, xp) for each in found):
        dtype = xp.result_type(dtype, xp.complex64)
    return [xp.astype(each, dtype, copy=False) for each in found]


def _has_arrays(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return any(map(_has_arrays, x))
    return hasattr(x, "dtype")


def real_like(xp: Any, x: Any, *values: Any) -> list[Any]:
    """Return values as arrays of the precision of ``x``, or of their own if that is wider."""
    return inexact(xp, xp.real(x) if is_complex(x.dtype, xp) else x, *values)[1:]


def given(xp: Any, args: Any) -> Any:
    """Return further arguments of a user's function, with its arrays as the namespace's.

    One argument may be given by itself, as SciPy has it; they may be pytrees.
    """
    from agnograd.extend.arguments import map_leaves  # which takes long

    args = tuple(args) if isinstance(args, tuple | list) else (args,)
    return map_leaves(lambda each: operand(xp, each) if hasattr(each, "dtype") else each, args)


def arrays_in(args: Any) -> list[Any]:
    """Return the arrays in a pytree."""
    from agnograd.extend.arguments import flatten  # which takes long

    return [each for each in flatten(args)[0] if hasattr(each, "dtype")]


def filled(x: Any, axis: int, length: int, value: Any, xp: Any) -> Any:
    """Return an array of one value that can be joined to ``x`` along an axis."""
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    return xp.full(shape, value, dtype=x.dtype, device=device_of(x))


def padded(x: Any, around: Sequence[tuple[int, int]], xp: Any) -> Any:
    """Return an array with so many zeros before and after it, along each axis."""
    for axis, lengths in enumerate(around):
        before, after = ([filled(x, axis, n, 0, xp)] if n else [] for n in lengths)
        if before or after:
            x = xp.concat([*before, x, *after], axis=axis)
    return x


def sliced(x: Any, starts: Sequence[int], shape: Sequence[int]) -> Any:
    """Return the block of a shape that starts at a place."""
    if tuple(x.shape) == tuple(shape):
        return x
    return x[tuple(slice(a, a + n) for a, n in zip(starts, shape, strict=True))]


def weighted(xp: Any, values: Any, taps: Sequence[tuple[Any, Any]]) -> Any:
    """Return sums of elements of an array, each times its weight.

    ``taps`` has for each of the first axes indices and weights of the same shape, (terms, count).
    """
    rank = len(taps)
    lengths, rest = values.shape[:rank], values.shape[rank:]
    place: Any = 0
    share: Any = 1
    for axis, (index, weight) in enumerate(taps):
        terms, count = index.shape
        shape = (*(1,) * axis, terms, *(1,) * (rank - 1 - axis), count)
        place = place * lengths[axis] + xp.reshape(index, shape)
        share = share * xp.reshape(weight, shape)
    flat = xp.reshape(values, (math.prod(lengths), *rest))
    elements = xp.take(flat, xp.reshape(place, (math.prod(place.shape),)), axis=0)
    elements = xp.reshape(elements, (*place.shape, *rest))
    share = xp.reshape(share, (*share.shape, *(1,) * len(rest)))
    share = xp.astype(share, elements.dtype, copy=False)
    return xp.sum(elements * share, axis=tuple(range(rank)))


def one_by_one(
    function: Callable[[Any, Any], Any], pairs: Sequence[tuple[Any, bool]], size: int, xp: Any
) -> Any:
    """Return a function of two arrays for many members, where it takes no stacks.

    Each array comes with whether it is mapped. The result has the shape of the second one.
    """
    if not size:
        (x1, _), (x2, mapped) = pairs
        shape, dtype = x2.shape[mapped:], xp.result_type(x1, x2)
        return xp.zeros((0, *shape), dtype=dtype, device=device_of(x2))
    members = [[x[i, ...] if mapped else x for x, mapped in pairs] for i in range(size)]
    return xp.stack([function(*each) for each in members])


def constants(tree: Any) -> Any:
    """Return the arrays of a pytree as Variables without a gradient, and all else as it is."""
    from agnograd.extend.arguments import map_leaves  # which takes long

    return map_leaves(_constant, tree)


def detached(tree: Any) -> Any:
    """Return a pytree without gradients; what is raw in it stays so."""
    from agnograd.extend.arguments import map_leaves  # which takes long

    return map_leaves(lambda x: x.detach() if isinstance(x, ag.Variable) else x, tree)


def _constant(x: Any) -> Any:
    if isinstance(x, ag.Variable):
        return x.detach()
    return ag.Variable(x, requires_grad=False) if hasattr(x, "dtype") else x
