"""Normal vectors with a covariance matrix."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from agnograd.extend import Backend, device_of, in_stacks
from agnograd_random import ops
from agnograd_random._exact import Arithmetic
from agnograd_random.distributions import broadcast
from agnograd_random.standard import check_array, shape_of

__all__ = ["factor", "lower_times", "multivariate_normal"]

_EXACT = 64


def multivariate_normal(
    xp: Any,
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    """Return normal vectors: ``mean + cholesky(cov) @ z``, where z are standard normal numbers.

    Parameters
    ----------
    key : key
    mean : array, shape (..., n)
    cov : array, shape (..., n, n)
        Symmetric and positive definite matrices. Of up to 64 dimensions they may be singular, which
        have numbers, but no gradient.
    shape : tuple of int, optional
        The shape of the result without its last axis, by default that to which the parameters'
        other axes are broadcast.
    dtype : dtype, optional
        float32 or float64, by default that of the parameters.
    device : device, optional
        By default that of the parameters.

    Returns
    -------
    array, shape (*shape, n)
        Of up to 64 dimensions its bits are the same on every backend. Of more, the library's own
        factorisation and product are used, which are faster, and rounded in other orders.
    """
    check_array("multivariate_normal", cov, axes=2)
    size = check_array("multivariate_normal", mean, axes=1).shape[-1]
    if cov.shape[-2:] != (size, size):
        raise ValueError(
            f"random.multivariate_normal: cov must end with {(size, size)}, not {cov.shape}"
        )
    dtype = xp.result_type(mean.dtype, cov.dtype) if dtype is None else dtype
    mean, cov = (xp.astype(each, dtype, copy=False) for each in (mean, cov))
    common = broadcast("multivariate_normal", mean.shape[:-1], cov.shape[:-2])
    shape = common if shape is None else shape_of(shape)
    device = device_of(cov) if device is None else device
    z = xp.random.standard_normal(key, (*shape, size), dtype=dtype, device=device)
    cov = 0.5 * (cov + xp.matrix_transpose(cov))
    if size <= _EXACT:
        return mean + xp.random.lower_times(xp.random.factor(cov), z)
    return mean + xp.squeeze(xp.matmul(xp.linalg.cholesky(cov), z[..., None]), axis=-1)


def factor(xp: Any, backend: Backend, x: Any, arithmetic: type[Arithmetic] = Arithmetic) -> Any:
    """Return the Cholesky factors of matrices, with the same bits on every backend.

    Where a pivot is 0, but for rounding, so is its column: the matrix may be singular. One that is
    not positive semidefinite has NaN in its factor.

    Parameters
    ----------
    x : array, shape (..., n, n)
        Of the upper triangles nothing is read.
    """
    exact, columns = arithmetic(xp, xp.finfo(x.dtype).bits), []
    place = xp.arange(x.shape[-1], dtype=xp.int32, device=device_of(x))
    diagonal = xp.abs(xp.linalg.diagonal(x))
    rounding = 8 * x.shape[-1] * xp.finfo(x.dtype).eps
    with backend.quiet():
        for k in range(x.shape[-1]):
            column = x[..., :, k]
            column = xp.where(place >= k, column, xp.zeros_like(column))
            pivot = column[..., k : k + 1]
            lost = xp.abs(pivot) <= rounding * diagonal[..., k : k + 1]
            column = exact.quotient(column, exact.root(xp.where(lost, xp.ones_like(pivot), pivot)))
            column = xp.where(lost, xp.zeros_like(column), column)
            columns.append(column)
            if k + 1 < x.shape[-1]:
                x = x - exact.product(column[..., :, None], column[..., None, :])
    return xp.stack(columns, axis=-1) if columns else x


def _factor_rule(g: Any, out: Any, xp: Any) -> Any:
    """Return the gradient of matrices (Murray, "Differentiation of the Cholesky decomposition")."""
    upper = xp.matrix_transpose(out)
    inner = xp.tril(xp.matmul(upper, xp.tril(g)))
    inner = 0.5 * (inner + xp.tril(inner, k=-1))
    left = xp.linalg.solve(upper, inner)
    return xp.tril(_symmetric(xp.linalg.solve(upper, xp.matrix_transpose(left)), xp))


def _symmetric(x: Any, xp: Any) -> Any:
    """Return what the lower triangle of a symmetric matrix gets: both of two equal elements."""
    both = x + xp.matrix_transpose(x)
    return xp.tril(both, k=-1) + 0.5 * xp.tril(xp.triu(both))


def lower_times(
    xp: Any, backend: Backend, x1: Any, x2: Any, arithmetic: type[Arithmetic] = Arithmetic
) -> Any:
    """Return products of lower triangles and vectors, with the same bits on every backend.

    Parameters
    ----------
    x1 : array, shape (..., n, n)
    x2 : array, shape (..., n)
    """
    exact, x1 = arithmetic(xp, xp.finfo(x1.dtype).bits), xp.tril(x1)
    total = exact.product(x1[..., :, 0], x2[..., :1]) if x2.shape[-1] else x1[..., 0] * x2
    for k in range(1, x2.shape[-1]):
        total = total + exact.product(x1[..., :, k], x2[..., k : k + 1])
    return total


def _lower_times_batch(xp: Any, mapped: Set[str], x1: Any, x2: Any) -> Any:
    x1, x2 = in_stacks(xp, mapped, (2, 1), x1=x1, x2=x2)
    return xp.random.lower_times(x1, x2)


ops.vjp("random.factor(x, /)", x=_factor_rule, forward=factor, batch="last")
ops.multilinear(
    "random.lower_times(x1, x2, /)",
    x1=lambda g, x2, xp: xp.tril(g[..., :, None] * x2[..., None, :]),
    x2=lambda g, x1, xp: xp.squeeze(
        xp.matmul(xp.matrix_transpose(xp.tril(x1)), g[..., None]), axis=-1
    ),
    forward=lower_times,
    batch=_lower_times_batch,
)
ops.composed(
    "random.multivariate_normal(key, mean, cov, shape=None, *, dtype=None, device=None)",
    multivariate_normal,
)
