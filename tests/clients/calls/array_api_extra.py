"""Array-api-extra: all of its functions."""

import numpy as np

LIBRARY = "array-api-extra"
IMPORTS = ("array_api_extra",)
INPUTS = {
    "x": np.asarray([1.3, 0.4, 2.2, -1.7, 0.9]),
    "y": np.asarray([0.8, 1.05, 1.9, 2.1, 0.5]),
    "A": np.asarray([[1.3, 0.4, 2.2], [0.9, 3.1, 2.6]]),
    "B": np.asarray([[0.5, 1.2], [0.3, 0.8]]),
    "S": np.asarray([[1.5, 0.2, 0.4], [0.3, 1.1, 0.6], [0.7, 0.5, 1.9]]),
    "s": np.asarray(0.7),
    "index": np.asarray([2, 0, 2, 1]),
    "rows": np.asarray([[0], [1]]),
    "n": np.asarray([1.3, np.nan, 2.2]),
    "N": np.asarray([[1.3, np.nan, 2.2], [0.4, 0.7, np.nan]]),
    "w": np.asarray([0.5, 1.5, 1.0, 2.0, 0.75]),
}


def scope():
    """Return what the calls name."""
    import array_api_extra as xpx

    return {"xpx": xpx}


CALLS = """
xpx.angle(x + 1j * y)
xpx.angle(x + 1j * y, deg=True)
xpx.partition(x, 2)
xpx.partition(A, 1, axis=0)
xpx.apply_where(x > 0, x, lambda a: xp.sqrt(a), fill_value=0.0)
xpx.apply_where(x > 0, x, lambda a: xp.sqrt(a), lambda a: a * a)
xpx.apply_where(x > 0, (x, y), lambda a, b: a * b, lambda a, b: a + b)
xpx.at(x, 1).set(s)
xpx.at(x, 1).add(s)
xpx.at(x, slice(1, 3)).subtract(y[1:3])
xpx.at(x)[x > 1].multiply(s)
xpx.at(x)[1:3].divide(s)
xpx.at(A)[0, :].power(2.0)
xpx.at(x)[2].min(s)
xpx.at(x)[2].max(s)
xpx.at(x, 1).set(s, copy=True)
xpx.atleast_nd(s, ndim=2)
xpx.atleast_nd(x, ndim=3)
xpx.cov(A)
xpx.cov(x)
xpx.create_diagonal(x)
xpx.create_diagonal(x, offset=1)
xpx.create_diagonal(A, offset=-1)
xpx.expand_dims(x, axis=(0, 2))
xpx.kron(x, y)
xpx.kron(A, B)
xpx.kron(s, A)
xpx.lazy_apply(lambda a: a, x)
xpx.nan_to_num(n, fill_value=0.5)
xpx.pad(x, 2)
xpx.pad(A, ((1, 0), (0, 2)), constant_values=0.5)
xpx.pad(x, (1, 2), mode='constant')
xpx.setdiff1d(x, y[1:3], assume_unique=True)
xpx.nanmax(n)
xpx.nanmin(N, axis=0)
xpx.nanmax(N, axis=1)
xpx.nanmin(n)
xpx.nanmean(n)
xpx.nanmean(N, axis=0)
xpx.nansum(n)
xpx.nansum(N, axis=1)
xpx.deg2rad(x)
xpx.rad2deg(x)
x[xpx.searchsorted(xp.sort(y), x[:2])]
S[xpx.diag_indices(3, xp=xp)]
S[xpx.tril_indices(3, xp=xp)]
S[xpx.triu_indices(3, offset=1, xp=xp)]
x[xpx.argpartition(x, 2)][2]
xpx.union1d(x, y)
xp.where(xpx.isclose(x, y, atol=0.6), x, y)
xp.where(xpx.isin(index, index[:1]), w[:4], x[:4])
x * xpx.nunique(index)
xpx.one_hot(index, 3, dtype=xp.float64) @ x[:3]
A[xpx.unravel_index(index, (2, 3))]
xpx.sinc(x)
xpx.sinc(A)
"""
