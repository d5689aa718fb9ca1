"""Gradients that fit their inputs: shape and dtype, after broadcasting and promotion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agnograd._mode import current_mode
from agnograd.errors import RuleError

__all__ = [
    "SCALAR_TYPES",
    "adjoint",
    "conjugate",
    "conjugate_if_complex",
    "divide_or_zero",
    "fit",
    "fit_each",
    "guarded",
    "is_complex",
    "is_python_scalar",
    "mismatch",
    "sum_to",
]

Shape = tuple[int, ...]
# The types of 0-d results that libraries do not give as arrays; backends add theirs.
SCALAR_TYPES: set[type] = set()


def mismatch(out: Any, *inputs: Any) -> tuple[tuple[Shape, Any], ...] | None:
    """Return the inputs' shapes and dtypes, or None where all are those of the output."""
    kind = type(out)
    if kind in SCALAR_TYPES:  # of one type, hence of one dtype, and without axes
        for x in inputs:
            if type(x) is not kind:
                break
        else:
            return None
    shape, dtype = out.shape, out.dtype
    for x in inputs:
        if getattr(x, "shape", ()) != shape or getattr(x, "dtype", dtype) != dtype:
            return tuple((getattr(x, "shape", ()), getattr(x, "dtype", dtype)) for x in inputs)
    return None


def fit(g: Any, shape: Shape, dtype: Any, xp: Any) -> Any:
    """Return a gradient with its input's shape and dtype.

    Broadcast axes are summed over; the gradient of a real input is the real part, and that of
    a narrower dtype is cast.

    Raises
    ------
    RuleError
        If the shape is not one that ``shape`` broadcasts to.
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
    """
    extra = g.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(
        axis
        for axis, (size, full) in enumerate(
            zip(shape, g.shape[max(extra, 0) :], strict=False), extra
        )
        if size == 1 and full != 1
    )
    if axes:
        g = xp.sum(g, axis=axes, keepdims=True)
    if extra > 0:
        g = xp.reshape(g, g.shape[extra:])
    if g.shape != shape:
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


def guarded(raw: Any, g: Any, partial: Any, xp: Any) -> Any:
    """Return ``g * partial``, but 0 where g is 0 and the partial derivative is not finite.

    It is the derivative that is replaced, not the product, which stays linear in g: where a
    cotangent happens to be 0, its own derivative is as before. Raw arrays, whose namespace is
    ``raw``, have none: there any derivative may be replaced where g is 0. A product that is
    recorded leaves elements out itself, and forward mode is told of it: what its derivatives make
    of these elements is guarded alike.
    """
    if is_python_scalar(partial):
        if partial - partial == 0:  # it is finite
            return g * partial
        partial = xp.full_like(g, partial)
    if xp is raw:
        return g * xp.where(g == 0, 0.0, partial)
    idle = xp.logical_and(g == 0, xp.logical_not(xp.isfinite(partial)))
    product = g * xp.where(idle, 0.0, partial)
    node = product._node
    if node is not None:
        node[2] = node[2].masking()  # its op: the module that names the place imports this one
        mode = current_mode()
        if mode is not None and mode.tape is not None:
            mode.tape.guard(node)
    return product


def conjugate(x: Any, xp: Any) -> Any:
    """Return the complex conjugate of an array or a Python scalar."""
    if is_python_scalar(x):
        return x.conjugate()
    return xp.conj(x)


def is_python_scalar(x: Any) -> bool:
    """Return whether x is one of Python's own numbers; NumPy's float64 is a subclass of float."""
    return type(x) in _PYTHON_SCALARS


_PYTHON_SCALARS = frozenset({bool, int, float, complex})


class _IsComplex(dict[Any, bool]):
    """Whether dtypes of one namespace are complex: what its ``isdtype`` says, once for each."""

    __slots__ = ("_xp",)

    def __init__(self, xp: Any) -> None:
        self._xp = xp

    def __missing__(self, dtype: Any) -> bool:
        answer = self[dtype] = bool(self._xp.isdtype(dtype, "complex floating"))
        return answer


class _Namespaces(dict[Any, _IsComplex]):
    """The same by the namespace: to compare the dtypes of two libraries is a warning in some."""

    __slots__ = ()

    def __missing__(self, xp: Any) -> _IsComplex:
        answers = self[xp] = _IsComplex(xp)
        return answers


_is_complex = _Namespaces()


def is_complex(dtype: Any, xp: Any) -> bool:
    """Return whether a dtype is complex."""
    return _is_complex[xp][dtype]


def conjugate_if_complex(x: Any, xp: Any) -> Any:
    """Return the complex conjugate of an array; a real array is returned without a copy."""
    return xp.conj(x) if _is_complex[xp][x.dtype] else x


def divide_or_zero(x1: Any, x2: Any, xp: Any) -> Any:
    """Return ``x1 / x2``, and by convention 0 where ``x2`` is 0, with derivatives of 0."""
    zero = x2 == 0
    return xp.where(zero, 0.0, x1 / xp.where(zero, 1.0, x2))


def adjoint(x: Any, xp: Any) -> Any:
    """Return the conjugate transpose of each matrix; for real matrices a view, the transpose.

    ``x`` has the shape (..., m, n), and the result (..., n, m).
    """
    transposed = xp.matrix_transpose(x)
    return xp.conj(transposed) if _is_complex[xp][x.dtype] else transposed
