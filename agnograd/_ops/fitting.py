"""Gradients that fit their inputs: shape and dtype, after broadcasting and promotion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agnograd._ops.rule_helpers import is_complex
from agnograd.errors import RuleError, UnsupportedArrayError

Shape = tuple[int, ...]
# The types of 0-d results that libraries do not give as arrays; backends add theirs.
SCALAR_TYPES: set[type] = set()


def mismatch(out: Any, *inputs: Any) -> tuple[tuple[Shape, Any], ...] | None:
    """Return the inputs' shapes and dtypes, or None where all are those of the output.

    Raises
    ------
    UnsupportedArrayError
        If the output has Python objects, as NumPy's arrays may.
    """
    kind = type(out)
    if kind in SCALAR_TYPES:  # of one type, hence of one dtype, and without axes
        for x in inputs:
            if type(x) is not kind:
                break
        else:
            return None
    shape, dtype = out.shape, out.dtype
    if getattr(dtype, "hasobject", False):
        raise UnsupportedArrayError(
            f"an operand is an array of Python objects, of dtype {dtype}, which have no "
            "derivatives: convert it to an array of numbers first, such as x.astype(float)"
        )
    for x in inputs:
        if getattr(x, "shape", ()) != shape or getattr(x, "dtype", dtype) != dtype:
            return tuple((getattr(x, "shape", ()), getattr(x, "dtype", dtype)) for x in inputs)
    return None


def fit(g: Any, shape: Shape, dtype: Any, xp: Any) -> Any:
    """Return a gradient with its input's shape and dtype, as ``sum_to`` does.

    The gradient of a real input is the real part, and that of a narrower dtype is cast.
    """
    if g is None:
        return None
    if g.shape != shape:
        g = sum_to(g, shape, xp)
    if g.dtype is not dtype and g.dtype != dtype:
        if is_complex(g.dtype, xp) and not is_complex(dtype, xp):
            g = xp.real(g)
        g = xp.astype(g, dtype)
    return g


def sum_to(g: Any, shape: Shape, xp: Any) -> Any:
    """Sum ``g`` over the axes along which ``shape`` was broadcast to the shape of ``g``.

    Raises
    ------
    RuleError
        If ``shape`` does not broadcast to the shape of ``g``.
    UnsupportedArrayError
        If the shape of ``g`` is not known, as that of what a mask selects in Dask.
    """
    extra = g.ndim - len(shape)
    if extra > 0 and g.shape[extra:] == shape:  # most often, as of a bias
        return xp.sum(g, axis=tuple(range(extra)))
    pairs = enumerate(zip(shape, g.shape[max(extra, 0) :], strict=False), extra)
    axes = (*range(extra), *(axis for axis, (size, full) in pairs if size == 1 and full != 1))
    if axes:
        g = xp.sum(g, axis=axes, keepdims=True)
    if extra > 0:
        g = xp.reshape(g, g.shape[extra:])
    if g.shape != shape:
        if any(size != size for size in g.shape):  # NaN stands for what is yet to be computed
            raise UnsupportedArrayError(
                "what a mask selects has an unknown size before it is computed, and an array that "
                "is written there no gradient: use x = xp.where(mask, value, x), with a value for "
                "each element of x, in place of x[mask] = value"
            )
        raise RuleError(
            f"a derivative rule returned a gradient of shape {g.shape} for an input of shape "
            f"{shape}; return one of the input's shape, or of a shape that it broadcasts to"
        )
    return g


def fit_each(
    gradients: Iterable[Any],
    edges: Sequence[Any],
    shapes: Sequence[Shape],
    dtypes: Sequence[Any],
    xp: Any,
) -> tuple[Any, ...]:
    """Fit one gradient for each of the arrays that an op took as a sequence."""
    return tuple(
        None if edge is None else fit(g, shape, dtype, xp)
        for g, edge, shape, dtype in zip(gradients, edges, shapes, dtypes, strict=True)
    )
