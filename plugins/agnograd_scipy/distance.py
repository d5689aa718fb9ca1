"""Distances between rows, as ``scipy.spatial.distance`` defines them.

They are programs of the standard's functions: the graph keeps the differences of all pairs. A
distance of 0 has a gradient of 0, as norms have.
"""

from __future__ import annotations

import math
from typing import Any

from agnograd.extend import device_of, divide_or_zero, is_complex
from agnograd_scipy import spatial
from agnograd_scipy._arrays import composed, inexact

__all__ = ["METRICS", "cdist", "pdist"]

# Those that are norms of the difference, with the order of the norm.
_ORDERS = {"euclidean": 2, "cityblock": 1, "chebyshev": math.inf}
METRICS = (
    *_ORDERS,
    *("sqeuclidean", "minkowski", "seuclidean", "mahalanobis"),
    *("cosine", "correlation", "braycurtis", "canberra"),
)


def cdist(
    xp: Any,
    XA: Any,  # noqa: N803 - SciPy's names
    XB: Any,  # noqa: N803
    metric: str = "euclidean",
    *,
    p: float = 2.0,
    V: Any = None,  # noqa: N803
    VI: Any = None,  # noqa: N803
) -> Any:
    """Return the distance of each row of one array to each of another, SciPy's ``cdist``.

    Parameters
    ----------
    XA, XB : real array, shapes (a, length) and (b, length)
    metric : str
        "euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "seuclidean",
        "mahalanobis", "cosine", "correlation", "braycurtis" or "canberra".
    p : float
        The order of "minkowski".
    V : array, shape (length,), optional
        The variances of "seuclidean"; by default those of all rows.
    VI : array, shape (length, length), optional
        The inverse of the covariance matrix of "mahalanobis"; by default that of all rows.

    Returns
    -------
    array, shape (a, b)
    """
    one, other = inexact(xp, XA, XB)
    if one.ndim != 2 or other.ndim != 2 or one.shape[1] != other.shape[1]:
        raise ValueError(f"rows are of one length: shapes {one.shape} and {other.shape}")
    rows = None if metric not in ("seuclidean", "mahalanobis") else xp.concat([one, other], axis=0)
    u, v = xp.expand_dims(one, axis=1), xp.expand_dims(other, axis=0)
    return _distances(xp, u, v, rows, metric, p, V, VI)


def pdist(
    xp: Any,
    X: Any,  # noqa: N803 - SciPy's names
    metric: str = "euclidean",
    *,
    p: float = 2.0,
    V: Any = None,  # noqa: N803
    VI: Any = None,  # noqa: N803
) -> Any:
    """Return the distance of each row to each later one, SciPy's ``pdist``.

    ``X`` has shape (n, length), the result (n (n - 1) / 2,); see ``cdist`` for the options.
    """
    (x,) = inexact(xp, X)
    if x.ndim != 2:
        raise ValueError(f"rows are wanted, not an array of shape {x.shape}")
    count, device = x.shape[0], device_of(x)
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    u, v = (
        xp.take(x, xp.asarray([pair[k] for pair in pairs], dtype=xp.int64, device=device), axis=0)
        for k in (0, 1)
    )
    return _distances(xp, u, v, x, metric, p, V, VI)


def _distances(
    xp: Any,
    u: Any,
    v: Any,
    rows: Any,
    metric: str,
    p: float,
    variances: Any,
    inverse: Any,
) -> Any:
    """Return the distances along the last axis of arrays that are broadcast."""
    if is_complex(u.dtype, xp):
        raise ValueError("distances are of real arrays")
    if metric in _ORDERS or metric == "minkowski":
        if not p > 0:
            raise ValueError(f"p must be positive, not {p!r}")
        if not u.shape[-1]:
            return xp.sum(u - v, axis=-1)
        return xp.linalg.vector_norm(u - v, axis=-1, ord=_ORDERS.get(metric, p))
    if metric == "sqeuclidean":
        return xp.sum((u - v) ** 2, axis=-1)
    if metric == "seuclidean":
        if variances is None:
            variances = xp.var(rows, axis=0, correction=1)
        _, variances = inexact(xp, u, variances)
        return xp.linalg.vector_norm((u - v) / xp.sqrt(variances), axis=-1)
    if metric == "mahalanobis":
        _, inverse = (u, _precision(xp, rows)) if inverse is None else inexact(xp, u, inverse)
        square = xp.sum(xp.matmul(u - v, inverse) * (u - v), axis=-1)
        positive = square > 0
        return xp.where(positive, xp.sqrt(xp.where(positive, square, 1.0)), 0.0)
    if metric in ("cosine", "correlation"):
        if metric == "correlation":
            u, v = (each - xp.mean(each, axis=-1, keepdims=True) for each in (u, v))
        u, v = (each / xp.linalg.vector_norm(each, axis=-1, keepdims=True) for each in (u, v))
        return 1.0 - xp.sum(u * v, axis=-1)
    if metric == "braycurtis":
        return xp.sum(xp.abs(u - v), axis=-1) / xp.sum(xp.abs(u + v), axis=-1)
    if metric == "canberra":
        return xp.sum(divide_or_zero(xp.abs(u - v), xp.abs(u) + xp.abs(v), xp), axis=-1)
    raise ValueError(f"metric must be one of {', '.join(METRICS)}, not {metric!r}")


def _precision(xp: Any, rows: Any) -> Any:
    """Return the inverse of the covariance matrix of rows."""
    centred = rows - xp.mean(rows, axis=0)
    return xp.linalg.inv(xp.matmul(centred.T, centred) / (rows.shape[0] - 1))


composed(spatial, cdist, pdist)
