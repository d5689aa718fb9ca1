"""Normal vectors with a covariance matrix."""

from __future__ import annotations

from typing import Any

from agnograd_random import ops
from agnograd_random.distributions import _broadcast
from agnograd_random.standard import shape_of

__all__ = ["multivariate_normal"]


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
        Symmetric and positive definite matrices.
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
    """
    size = mean.shape[-1]
    if cov.shape[-2:] != (size, size):
        raise ValueError(
            f"random.multivariate_normal: cov must end with {(size, size)}, not {cov.shape}"
        )
    dtype = xp.result_type(mean.dtype, cov.dtype) if dtype is None else dtype
    mean, cov = (xp.astype(each, dtype, copy=False) for each in (mean, cov))
    common = _broadcast("multivariate_normal", mean.shape[:-1], cov.shape[:-2])
    shape = common if shape is None else shape_of(shape)
    z = xp.random.standard_normal(key, (*shape, size), dtype=dtype, device=device)
    factor = xp.linalg.cholesky(cov)
    return mean + xp.squeeze(xp.matmul(factor, z[..., None]), axis=-1)


ops.composed(
    "random.multivariate_normal(key, mean, cov, shape=None, *, dtype=None, device=None)",
    multivariate_normal,
)
