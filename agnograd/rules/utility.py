"""Utility functions, and those of data types: a cast is linear, all else is about dtypes."""

from collections.abc import Set
from typing import Any

from agnograd.extend import OpSet, behind, device_of, in_full, is_python_scalar, itself, with_rank

__all__ = ["data_type", "utility"]

utility = OpSet("utility", samples="agnograd.rules.samples.utility")


def _zeros(g: Any, shape: tuple[int, ...], xp: Any) -> Any:
    return xp.zeros(shape, dtype=g.dtype, device=device_of(g))


def _undiff(g: Any, axis: int, n: int, xp: Any) -> Any:
    """Return the transpose of the n-th difference along an axis."""
    for _ in range(n):
        shape = list(g.shape)
        shape[axis] = 1
        zero = _zeros(g, tuple(shape), xp)
        g = xp.concat([zero, g], axis=axis) - xp.concat([g, zero], axis=axis)
    return g


def _part(g: Any, axis: int, n: int, skip: Any, length: int, xp: Any) -> Any:
    """Return the gradient of one of the joined arrays, which starts after ``skip``."""
    axis %= g.ndim
    start = skip[axis] if skip is not None else 0
    full = _undiff(g, axis, n, xp)
    return full[(*(slice(None),) * axis, slice(start, start + length), ...)]


def _x(g: Any, x_shape: Any, axis: int, n: int, prepend_shape: Any, xp: Any) -> Any:
    if n == 0:  # the input comes back as it is, nothing is joined to it
        return g
    return _part(g, axis, n, prepend_shape, x_shape[axis], xp)


def _prepend(g: Any, prepend_shape: Any, axis: int, n: int, xp: Any) -> Any:
    if n == 0:
        return _zeros(g, prepend_shape, xp)
    return _part(g, axis, n, None, prepend_shape[axis], xp)


def _append(
    g: Any, x_shape: Any, append_shape: Any, prepend_shape: Any, axis: int, n: int, xp: Any
) -> Any:
    if n == 0:
        return _zeros(g, append_shape, xp)
    skip = list(x_shape)
    skip[axis] += prepend_shape[axis] if prepend_shape is not None else 0
    return _part(g, axis, n, skip, append_shape[axis], xp)


def _diff(backend: Any, x: Any, /, n: int = 1, **options: Any) -> Any:
    return backend.namespace().diff(x, n=n, **options)


def _diff_batch(
    xp: Any,
    size: int,
    mapped: Set[str],
    x: Any,
    n: int = 1,
    axis: int = -1,
    prepend: Any = None,
    append: Any = None,
) -> Any:
    x = x if "x" in mapped else in_full(xp, size, x)
    axis = behind(axis, len(x.shape) - 1)
    ends = {}
    for name, end in (("prepend", prepend), ("append", append)):
        if end is None:
            continue
        if not is_python_scalar(end):
            end = end if name in mapped else in_full(xp, size, end)
            if len(end.shape) == 1:  # one number each, as NumPy has it
                end = with_rank(xp, end, len(x.shape) - 1)
                end = xp.broadcast_to(end, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
        ends[name] = end
    return xp.diff(x, n=n, axis=axis, **ends)


def _diff_pattern(
    xp: Any, x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Any:
    """Subtract neighbours, as often as the op does."""
    shape = [*x.shape]
    shape[axis] = 1
    ends = [
        xp.full(shape, end) if is_python_scalar(end) or not end.shape else end
        for end in (prepend, append)
        if end is not None
    ]
    place = 0 if prepend is None else 1
    x = xp.concat([*ends[:place], x, *ends[place:]], axis=axis) if n and ends else x
    lines = (slice(None),) * (axis % len(shape))
    for _ in range(min(n, x.shape[axis])):  # then nothing is left
        x = x[(*lines, slice(1, None), ...)] - x[(*lines, slice(None, -1), ...)]
    return x


# The standard's n is keyword-only; NumPy's users give it by position.
utility.linear(
    "diff(x, /, n=1, *, axis=-1, prepend=None, append=None)",
    forward=_diff,
    x=_x,
    prepend=_prepend,
    append=_append,
    batch=_diff_batch,
    pattern=_diff_pattern,
)
utility.constant(
    "all(x, /, *, axis=None, keepdims=False)",
    "any(x, /, *, axis=None, keepdims=False)",
    batch="axis",
)

data_type = OpSet("data_type", samples="agnograd.rules.samples.data_type")

data_type.linear(
    "astype(x, dtype, /, *, copy=True, device=None)",
    x=itself("g"),
    options=("dtype",),
    batch="elementwise",
)
data_type.constant("can_cast(from_, to, /)", options=("to",))
data_type.constant(
    "finfo(type, /)",
    "iinfo(type, /)",
    "isdtype(dtype, kind)",
    "result_type(*arrays_and_dtypes)",
)
