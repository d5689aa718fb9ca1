"""The linear algebra extension on Dask: whole matrices by NumPy, stacks of them chunk by chunk.

Dask's own algorithms serve single matrices of several chunks, where it has one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import array_api_compat.dask.array.linalg as compat
import array_api_compat.numpy.linalg as by_numpy
import dask.array as da
import numpy as np
from array_api_compat.dask.array.linalg import diagonal, vecdot, vector_norm

from agnograd_dask import _products
from agnograd_dask._axes import transposed
from agnograd_dask._layers import is_plain

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigh_upper",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


matmul = _products.matmul(compat.matmul)
tensordot = _products.tensordot(compat.tensordot)

# array-api-compat's read the lower triangle for the upper factor, and take vectors of length 2.
_NUMPYS = ("cholesky", "cross")


def _each(
    name: str,
    signature: str,
    *arrays: Any,
    sizes: dict[str, int] | None = None,
    **options: Any,
) -> Any:
    """Apply a NumPy function to each matrix; a matrix becomes one chunk.

    An option that is an array has a number for each matrix.
    """
    function: Callable[..., Any] = getattr(np.linalg if name in _NUMPYS else by_numpy, name)
    inputs, _, outputs = signature.partition("->")
    several = outputs.count(")") > 1
    numbers = {key: option for key, option in options.items() if isinstance(option, da.Array)}
    shared = {key: option for key, option in options.items() if key not in numbers}

    def of_chunk(*chunks: Any) -> Any:
        own = dict(zip(numbers, chunks[len(arrays) :], strict=True))
        return function(*chunks[: len(arrays)], **shared, **own)

    inputs += ",()" * len(numbers)
    ranks = [core.count(",") + bool(core) for core in inputs[1:-1].split("),(")]
    given = [*arrays, *numbers.values()]
    # Which dtypes come out is tried on regular matrices: Dask would take singular ones.
    tried = [
        np.eye(3, dtype=x.dtype)[(0,) * (2 - rank)] for x, rank in zip(given, ranks, strict=True)
    ]
    found = of_chunk(*tried)
    dtypes: Any = [each.dtype for each in found] if several else found.dtype
    whole = _aligned(given, ranks)
    signature = f"{inputs}->{outputs}"
    made = da.apply_gufunc(of_chunk, signature, *whole, output_dtypes=dtypes, output_sizes=sizes)
    return type(found)(*made) if several else made


def _aligned(arrays: list[Any], ranks: list[int]) -> list[Any]:
    """Return arrays with each matrix in one chunk, and the same chunks of their stacks."""
    pairs: list[Any] = []
    for place, (x, rank) in enumerate(zip(arrays, ranks, strict=True)):
        over = x.ndim - rank
        core = [f"axis {axis} of array {place}" for axis in range(over, x.ndim)]
        pairs += [x.rechunk(dict.fromkeys(range(over, x.ndim), -1)), (*range(-over, 0), *core)]
    return list(da.core.unify_chunks(*pairs)[1])


def _is_spread(x: Any) -> bool:
    return bool(x.ndim == 2 and x.npartitions > 1)


def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """Return the Cholesky factor."""
    if _is_spread(x):  # array-api-compat leaves `upper` to Dask, which takes `lower`
        return da.linalg.cholesky(x, lower=not upper)
    return _each("cholesky", "(i,j)->(i,j)", x, upper=upper)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the cross product."""
    ends = [da.moveaxis(x, axis, -1) for x in (x1, x2)]
    return da.moveaxis(_each("cross", "(i),(i)->(i)", *ends), -1, axis)


def _of_matrices(name: str, signature: str) -> Callable[..., Any]:
    """Return a function of one stack of matrices, which takes the options that NumPy takes."""

    @functools.wraps(getattr(by_numpy, name))
    def computed(x: Any, /, **options: Any) -> Any:
        return _each(name, signature, x, **options)

    return computed


det = _of_matrices("det", "(i,j)->()")
eig = _of_matrices("eig", "(i,j)->(j),(i,j)")
eigh = _of_matrices("eigh", "(i,j)->(j),(i,j)")
eigvals = _of_matrices("eigvals", "(i,j)->(j)")
eigvalsh = _of_matrices("eigvalsh", "(i,j)->(j)")
matrix_rank = _of_matrices("matrix_rank", "(i,j)->()")
pinv = _of_matrices("pinv", "(i,j)->(j,i)")
slogdet = _of_matrices("slogdet", "(i,j)->(),()")


def eigh_upper(x: Any, /) -> Any:
    """Return eigenvalues and eigenvectors by the upper triangle."""
    return eigh(x, UPLO="U")


def inv(x: Any, /) -> Any:
    """Return the inverse."""
    return compat.inv(x) if _is_spread(x) else _each("inv", "(i,j)->(j,i)", x)


def matrix_transpose(x: Any, /) -> Any:
    """Return the transpose of each matrix."""
    if x.ndim < 2 or not is_plain(x):
        return compat.matrix_transpose(x)
    return transposed(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return the norm of each matrix."""
    norm = _each("matrix_norm", "(i,j)->()", x, ord=ord)
    return norm[..., None, None] if keepdims else norm


def matrix_power(x: Any, n: int, /) -> Any:
    """Return the power of a matrix."""
    return _each("matrix_power", "(i,j)->(i,j)", x, n=n)


def outer(x1: Any, x2: Any, /) -> Any:
    """Return the outer product of two vectors; Dask's own flattens matrices."""
    if not x1.ndim == x2.ndim == 1:
        raise ValueError(f"outer: of two vectors, not of shapes {x1.shape} and {x2.shape}")
    return compat.outer(x1, x2)


def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """Return the QR decomposition."""
    if _is_spread(x) and mode == "reduced":
        return compat.qr(x)
    rows = x.shape[-2]
    size = rows if mode == "complete" else min(x.shape[-2:])
    return _each("qr", "(i,j)->(i,k),(k,j)", x, sizes={"k": size}, mode=mode)


def solve(x1: Any, x2: Any, /) -> Any:
    """Return the solution of linear equations."""
    squares = x1.ndim == 2 and len({*x1.chunks[0], *x1.chunks[1]}) == 1  # all that Dask's takes
    if _is_spread(x1) and squares and x2.ndim <= 2:
        return da.linalg.solve(x1, x2)
    return _each("solve", "(i,j),(j)->(i)" if x2.ndim == 1 else "(i,j),(j,k)->(i,k)", x1, x2)


def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """Return the singular value decomposition."""
    if _is_spread(x) and not full_matrices:
        return by_numpy.SVDResult(*compat.svd(x, full_matrices=False))
    size = min(x.shape[-2:])
    signature = "(i,j)->(i,l),(k),(m,j)"
    sizes = {"k": size, "l": size, "m": size}
    if full_matrices:
        sizes |= {"l": x.shape[-2], "m": x.shape[-1]}
    return _each("svd", signature, x, sizes=sizes, full_matrices=full_matrices)


def svdvals(x: Any, /) -> Any:
    """Return the singular values."""
    return _each("svdvals", "(i,j)->(k)", x, sizes={"k": min(x.shape[-2:])})


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Return the sum along the diagonal."""
    return da.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)
