"""NumPy's ``linalg``, and diagonals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

from agnograd.errors import UnsupportedFunctionError
from agnograd.extend import adjoint
from agnograd_numpy_functions._helpers import axes_of, floating, is_complex, together
from agnograd_numpy_functions._program import Array, Arrays, Axis, DType, Operand, Out, Table
from agnograd_numpy_functions.products import table as products

__all__ = ["table"]

table = Table()


class SVDResult(NamedTuple):
    """Singular values and vectors, under NumPy's names for them."""

    U: Array
    S: Array
    Vh: Array


@table.each("linalg.det", "linalg.eig", "linalg.eigvals", "linalg.inv", "linalg.slogdet")
def _of_matrix(name: str, xp: Any, a: Array) -> Any:
    return getattr(xp.linalg, name.removeprefix("linalg."))(floating(xp, a))


@table.add("linalg.svdvals")
def _svdvals(xp: Any, x: Array, /) -> Any:
    return xp.linalg.svdvals(floating(xp, x))


@table.add("linalg.matrix_transpose")
def _matrix_transpose(xp: Any, x: Array, /) -> Array:
    return xp.matrix_transpose(x)


def _triangle(xp: Any, a: Array, uplo: str) -> Array:
    """Return the Hermitian matrix that a triangle stands for."""
    if uplo.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    if a.ndim < 2:
        raise ValueError(f"a matrix is needed, not an array of {a.ndim} axes")
    a = floating(xp, a)
    below, above = xp.tril(a, k=-1), xp.triu(a, k=1)
    diagonal = a - below - above
    if is_complex(xp, a):
        diagonal = xp.astype(xp.real(diagonal), a.dtype)
    triangle = below if uplo.upper() == "L" else above
    return triangle + diagonal + adjoint(triangle, xp)


@table.add("linalg.eigh")
def _eigh(xp: Any, a: Array, UPLO: str = "L") -> Any:  # noqa: N803 - NumPy's name
    # Vectors by the upper triangle have other signs than those by the lower one.
    function = xp.linalg.eigh_upper if UPLO.upper() == "U" else xp.linalg.eigh
    return function(_triangle(xp, a, UPLO))


@table.add("linalg.eigvalsh")
def _eigvalsh(xp: Any, a: Array, UPLO: str = "L") -> Array:  # noqa: N803 - NumPy's name
    return xp.linalg.eigvalsh(_triangle(xp, a, UPLO))


@table.add("linalg.cholesky")
def _cholesky(xp: Any, a: Array, /, *, upper: bool = False) -> Array:
    a = floating(xp, a)
    if not upper:
        return xp.linalg.cholesky(a)
    # NumPy reads the upper triangle then. Every library reads the lower one where upper=False.
    return adjoint(xp.linalg.cholesky(adjoint(a, xp)), xp)


@table.add("linalg.qr")
def _qr(xp: Any, a: Array, mode: str = "reduced") -> Any:
    if mode == "r":
        return xp.linalg.qr(floating(xp, a)).R
    if mode not in ("reduced", "complete"):
        raise UnsupportedFunctionError(f"np.linalg.qr of Variables has no mode {mode!r}")
    return xp.linalg.qr(floating(xp, a), mode=mode)


@table.add("linalg.svd")
def _svd(
    xp: Any, a: Array, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if hermitian:
        return _hermitian_svd(xp, _triangle(xp, a, "L"), compute_uv)
    a = floating(xp, a)
    if not compute_uv:
        return xp.linalg.svdvals(a)
    return xp.linalg.svd(a, full_matrices=full_matrices)


def _hermitian_svd(xp: Any, a: Array, compute_uv: bool) -> Any:
    """Return singular values and vectors as eigenvalues and eigenvectors, with their signs."""
    w, u = xp.linalg.eigh(a)
    size = xp.abs(w)
    if not compute_uv:
        return xp.sort(size, axis=-1, descending=True)
    order = xp.flip(xp.argsort(size, axis=-1), axis=-1)
    w = xp.take_along_axis(w, order, axis=-1)
    u = xp.take_along_axis(u, order[..., None, :], axis=-1)
    return SVDResult(u, xp.abs(w), adjoint(u * xp.sign(w)[..., None, :], xp))


@table.add("linalg.solve")
def _solve(xp: Any, a: Array, b: Array) -> Array:
    a, b = together(xp, floating(xp, a), floating(xp, b))
    if b.ndim == 1:  # one right-hand side, for all matrices
        return xp.linalg.solve(a, b[:, None])[..., 0]
    return xp.linalg.solve(a, b)


@table.add("linalg.pinv")
def _pinv(
    xp: Any,
    a: Array,
    rcond: Operand | None = None,
    hermitian: bool = False,
    *,
    rtol: Operand | None = None,
) -> Array:
    a = _triangle(xp, a, "L") if hermitian and 0 not in a.shape[-2:] else floating(xp, a)
    given = rcond if rtol is None else rtol
    return xp.linalg.pinv(a) if given is None else xp.linalg.pinv(a, rtol=given)


@table.add("linalg.lstsq")
def _lstsq(xp: Any, a: Array, b: Array, rcond: float | None = None) -> tuple[Any, ...]:
    a, b = together(xp, floating(xp, a), floating(xp, b))
    rows, columns = a.shape
    if rcond is None:
        rcond = float(xp.finfo(a.dtype).eps) * max(rows, columns)
    solution = xp.matmul(xp.linalg.pinv(a, rtol=rcond), b)
    values = xp.linalg.svdvals(a)
    rank = int(xp.sum(xp.astype(values > rcond * values[0], xp.int64))) if values.size else 0
    if rank == columns and rows > columns:
        apart = b - xp.matmul(a, solution)
        residuals = xp.sum(xp.abs(apart) ** 2, axis=0)
        residuals = xp.reshape(residuals, (1,)) if b.ndim == 1 else residuals
    else:
        residuals = xp.zeros((0,), dtype=values.dtype)
    return solution, residuals, rank, values


@table.add("linalg.matrix_power")
def _matrix_power(xp: Any, a: Array, n: int) -> Array:
    return xp.linalg.matrix_power(a, int(n))


@table.add("linalg.matrix_rank")
def _matrix_rank(
    xp: Any,
    A: Array,  # noqa: N803 - NumPy's name
    tol: Operand | None = None,
    hermitian: bool = False,
    *,
    rtol: Operand | None = None,
) -> Array:
    A = floating(xp, A)  # noqa: N806 - NumPy's name
    if A.ndim < 2:
        return xp.astype(xp.any(A != 0), xp.int64)
    if hermitian and A.shape[-2] != A.shape[-1]:
        raise ValueError(f"hermitian=True takes square matrices, not shape {tuple(A.shape)}")
    if 0 in A.shape[-2:]:
        return xp.zeros(A.shape[:-2], dtype=xp.int64)
    if hermitian:
        A = _triangle(xp, A, "L")  # noqa: N806 - NumPy's name
    if tol is not None:
        return xp.sum(xp.astype(xp.linalg.svdvals(A) > tol, xp.int64), axis=-1)
    return xp.linalg.matrix_rank(A) if rtol is None else xp.linalg.matrix_rank(A, rtol=rtol)


@table.add("linalg.multi_dot")
def _multi_dot(xp: Any, arrays: Arrays, *, out: Out = None) -> Array:
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(arrays) == 2:
        return products["dot"].function(xp, *arrays)
    # From the side that keeps the products small; Variables of three matrices gain most.
    if arrays[-1].ndim == 1:
        return reduce(lambda product, each: xp.matmul(each, product), arrays[::-1])
    return reduce(xp.matmul, arrays)


@table.add("linalg.cond")
def _cond(xp: Any, x: Array, p: Any = None) -> Array:
    x = floating(xp, x)
    if 0 in x.shape[-2:]:
        raise ValueError("the condition number of an empty matrix is not defined")
    if p in (None, 2, -2):
        values = xp.linalg.svdvals(x)
        largest, smallest = values[..., 0], values[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    norm = xp.linalg.matrix_norm
    return norm(x, ord=p) * norm(xp.linalg.inv(x), ord=p)


@table.add("linalg.tensorinv")
def _tensorinv(xp: Any, a: Array, ind: int = 2) -> Array:
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    rows = math.prod(a.shape[ind:])
    inverse = xp.linalg.inv(xp.reshape(a, (math.prod(a.shape[:ind]), rows)))
    return xp.reshape(inverse, (*a.shape[ind:], *a.shape[:ind]))


@table.add("linalg.tensorsolve")
def _tensorsolve(xp: Any, a: Array, b: Array, axes: Sequence[int] | None = None) -> Array:
    if axes is not None:
        order = [i for i in range(a.ndim) if i not in axes] + list(axes)
        a = xp.permute_dims(a, tuple(order))
    shape = a.shape[b.ndim :]
    matrix = xp.reshape(a, (b.size, math.prod(shape)))
    return xp.reshape(xp.linalg.solve(matrix, xp.reshape(b, (-1,))), shape)


@table.add("linalg.norm")
def _norm(xp: Any, x: Array, ord: Any = None, axis: Axis = None, keepdims: bool = False) -> Array:
    x = floating(xp, x)
    if ord is None and (axis is None or not isinstance(axis, int)):  # of all elements
        return xp.linalg.vector_norm(x, axis=axis, keepdims=keepdims)
    if axis is None:
        axis = tuple(range(x.ndim))
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1:
        order = 2 if ord is None else ord
        return xp.linalg.vector_norm(x, axis=axes[0], keepdims=keepdims, ord=order)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    moved = xp.moveaxis(x, axes, (-2, -1))
    norm = xp.linalg.matrix_norm(moved, ord=ord)
    for each in sorted(axes) if keepdims else ():
        norm = xp.expand_dims(norm, axis=each)
    return norm


@table.add("linalg.vector_norm")
def _vector_norm(
    xp: Any, x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: Any = 2
) -> Array:
    return xp.linalg.vector_norm(floating(xp, x), axis=axis, keepdims=keepdims, ord=ord)


@table.add("linalg.matrix_norm")
def _matrix_norm(xp: Any, x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    return xp.linalg.matrix_norm(floating(xp, x), keepdims=keepdims, ord=ord)


def _matrices_last(xp: Any, a: Array, axis1: int, axis2: int) -> Array:
    pair = axes_of((axis1, axis2), a.ndim)
    if pair[0] == pair[1]:
        raise ValueError("axis1 and axis2 cannot be the same")
    return xp.moveaxis(a, pair, (-2, -1))


@table.add("trace")
def _trace(
    xp: Any,
    a: Array,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DType | None = None,
    out: Out = None,
) -> Array:
    return xp.linalg.trace(_matrices_last(xp, a, axis1, axis2), offset=offset, dtype=dtype)


@table.add("linalg.trace")
def _linalg_trace(xp: Any, x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Array:
    return xp.linalg.trace(x, offset=offset, dtype=dtype)


@table.add("diagonal")
def _diagonal(xp: Any, a: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    return xp.linalg.diagonal(_matrices_last(xp, a, axis1, axis2), offset=offset)


@table.add("linalg.diagonal")
def _linalg_diagonal(xp: Any, x: Array, /, *, offset: int = 0) -> Array:
    return xp.linalg.diagonal(x, offset=offset)


def _placed(xp: Any, v: Array, k: int) -> Array:
    """Return a matrix with ``v`` on one of its diagonals."""
    size = v.shape[0] + abs(k)
    row = xp.arange(v.shape[0], device=v.device)
    place = row * (size + 1) + (k if k >= 0 else -k * size)
    return xp.reshape(xp.scatter_add(v, place, shape=(size * size,)), (size, size))


@table.add("diag")
def _diag(xp: Any, v: Array, k: int = 0) -> Array:
    if v.ndim == 1:
        return _placed(xp, v, k)
    if v.ndim == 2:
        return xp.linalg.diagonal(v, offset=k)
    raise ValueError("Input must be 1- or 2-d.")


@table.add("diagflat")
def _diagflat(xp: Any, v: Array, k: int = 0) -> Array:
    return _placed(xp, xp.reshape(v, (-1,)), k)
