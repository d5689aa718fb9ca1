"""Distributions of vectors, of ``scipy.stats``."""

from __future__ import annotations

import math
from typing import Any

from agnograd.extend import device_of
from agnograd_scipy import stats
from agnograd_scipy._arrays import composed, inexact

__all__: list[str] = []

_LOG_2_PI = math.log(2.0 * math.pi)


def _normal_parameters(xp: Any, x: Any, mean: Any, cov: Any) -> tuple[Any, Any, Any]:
    """Return arrays of one dtype: places, means, and covariance matrices."""
    cov = 1.0 if cov is None else cov
    if mean is None:
        x, cov = inexact(xp, x, cov)
        rank = cov.ndim
        mean = xp.zeros(cov.shape[-1:] if rank else (1,), dtype=cov.dtype, device=device_of(cov))
    else:
        x, mean, cov = inexact(xp, x, mean, cov)
    mean = mean if mean.ndim else xp.reshape(mean, (1,))
    size = mean.shape[-1]
    if cov.ndim < 2:  # a variance, or one for each component
        cov = cov[..., None] * xp.eye(size, dtype=cov.dtype, device=device_of(cov))
    if cov.shape[-2:] != (size, size):
        raise ValueError(
            f"cov has shape {cov.shape} where a mean of {size} components needs ({size}, {size})"
        )
    if size == 1 and x.ndim < 2:
        x = x[..., None]
    return x, mean, cov


def normal_logpdf(xp: Any, x: Any, mean: Any = None, cov: Any = 1) -> Any:
    """Return the logarithm of the multivariate normal density, ``scipy.stats.multivariate_normal``.

    It is that of a regular covariance matrix; libraries differ in what they say of another one.

    Parameters
    ----------
    x : array, shape (..., n)
        Places; of one component, shape (...) of less than two axes is one of places, too.
    mean : array, shape (..., n), optional
        The means; by default 0.
    cov : array, shape (..., n, n), or (n,), or (), optional
        Covariance matrices, of which the lower triangle is read; or variances.
    """
    x, mean, cov = _normal_parameters(xp, x, mean, cov)
    off, factor = x - mean, xp.linalg.cholesky(cov)
    if factor.ndim == 2:  # one matrix for all
        flat = xp.reshape(off, (-1, off.shape[-1]))
        white = xp.linalg.solve_triangle(factor, xp.matrix_transpose(flat))
        square = xp.reshape(xp.sum(white * white, axis=0), off.shape[:-1])
    else:
        batch = xp.broadcast_shapes(off.shape[:-1], factor.shape[:-2])
        factor = xp.broadcast_to(factor, (*batch, *factor.shape[-2:]))
        off = xp.broadcast_to(off, (*batch, off.shape[-1]))
        white = xp.linalg.solve_triangle(factor, off[..., None])[..., 0]
        square = xp.sum(white * white, axis=-1)
    logs = xp.sum(xp.log(xp.linalg.diagonal(factor)), axis=-1)
    return -0.5 * (square + off.shape[-1] * _LOG_2_PI) - logs


def normal_pdf(xp: Any, x: Any, mean: Any = None, cov: Any = 1) -> Any:
    """Return the multivariate normal density, ``scipy.stats.multivariate_normal.pdf``.

    The parameters are those of ``logpdf``.
    """
    return xp.exp(normal_logpdf(xp, x, mean, cov))


def dirichlet_logpdf(xp: Any, x: Any, alpha: Any) -> Any:
    """Return the logarithm of the Dirichlet density, ``scipy.stats.dirichlet.logpdf``.

    Where a component is negative the density is 0. That components have the sum 1 is not checked:
    the derivative is that of the formula by all of them, or by all but the last one, where it is
    left out.

    Parameters
    ----------
    x : array, shape (k, ...) or (k - 1, ...)
        The components, along the first axis.
    alpha : array, shape (k,)
        The parameters; NaN comes of one that is not positive.
    """
    x, alpha = inexact(xp, x, alpha)
    if alpha.ndim != 1 or not x.ndim or x.shape[0] not in (alpha.shape[0] - 1, alpha.shape[0]):
        raise ValueError(
            f"x has shape {x.shape} and alpha {alpha.shape}: alpha is to have one axis, and the "
            "first axis of x as many components as alpha, or one less"
        )
    if x.shape[0] < alpha.shape[0]:
        x = xp.concat([x, 1.0 - xp.sum(x, axis=0, keepdims=True)], axis=0)
    valid = xp.all(alpha > 0.0)
    alpha = xp.where(valid, alpha, 1.0)
    inside = xp.all(x >= 0.0, axis=0)
    powers = xp.reshape(alpha, (-1, *[1] * (x.ndim - 1))) - 1.0
    logs = xp.sum(xp.special.xlogy(powers, xp.where(inside, x, 1.0)), axis=0)
    log = xp.special.gammaln
    out = logs + (log(xp.sum(alpha)) - xp.sum(log(alpha)))
    out = xp.where(
        xp.logical_and(valid, xp.logical_not(xp.any(xp.isnan(x), axis=0))), out, math.nan
    )
    return xp.where(xp.any(x < 0.0, axis=0), -math.inf, out)


def dirichlet_pdf(xp: Any, x: Any, alpha: Any) -> Any:
    """Return the Dirichlet density, ``scipy.stats.dirichlet.pdf``.

    The parameters are those of ``logpdf``.
    """
    return xp.exp(dirichlet_logpdf(xp, x, alpha))


_NAMES: dict[str, Any] = {
    "multivariate_normal.logpdf": normal_logpdf,
    "multivariate_normal.pdf": normal_pdf,
    "dirichlet.logpdf": dirichlet_logpdf,
    "dirichlet.pdf": dirichlet_pdf,
}
composed(stats, **_NAMES)
