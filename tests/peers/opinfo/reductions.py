"""PyTorch's sums, means, extremes, norms and sorts, in the standard's and NumPy's functions."""

import numpy as np


def axes(dim):
    """Return PyTorch's dimensions as axes: an empty list is all of them."""
    if dim is None or (isinstance(dim, list | tuple) and not dim):
        return None
    return tuple(dim) if isinstance(dim, list) else dim


def lined(function):
    """Return a reduction that takes an array without axes as one along an axis, as PyTorch does.

    NumPy's means, norms and quantiles refuse it.
    """

    def either(xp, x, *args, **options):
        if x.ndim:
            return function(xp, x, *args, **options)
        options.pop("keepdim", None)
        args = tuple(each for each in args if not isinstance(each, bool))
        return function(xp, xp.reshape(x, (1,)), *args, **options)

    return either


def reduction(name, module=None):
    """Return a reduction by its name in the standard, or in NumPy."""

    def function(xp, x, dim=None, keepdim=False, *, dtype=None):
        options = {} if dtype is None else {"dtype": dtype}
        place = xp if module is None else module
        return getattr(place, name)(x, axis=axes(dim), keepdims=keepdim, **options)

    return function


def spread(name, root=False):
    """Return a variance or deviation, with either of PyTorch's two ways to say the correction."""

    def function(xp, x, dim=None, unbiased=True, keepdim=False, *, correction=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = (1 if unbiased else 0) if correction is None else correction
        return getattr(xp, name)(x, axis=axes(dim), correction=correction, keepdims=keepdim)

    return function


def with_mean(name):
    inner = spread(name)

    def function(xp, x, dim=None, unbiased=True, keepdim=False, *, correction=None):
        found = inner(xp, x, dim, unbiased, keepdim, correction=correction)
        if isinstance(dim, bool):
            dim = None
        return found, xp.mean(x, axis=axes(dim), keepdims=keepdim)

    return function


def picking(best):
    """Return an extreme along an axis as PyTorch takes it: of equal ones the first."""

    def function(xp, x, dim=None, keepdim=False):
        if dim is None:
            return getattr(xp, best)(x)
        if x.ndim == 0:
            return x
        index = getattr(xp, f"arg{best}")(x, axis=dim, keepdims=True)
        found = xp.take_along_axis(x, index, axis=dim)
        return found if keepdim else xp.squeeze(found, axis=dim)

    return function


def running(best):
    def function(xp, x, dim):
        return getattr(np, best).accumulate(x, axis=dim) if x.ndim else x

    return function


def cumulative(name):
    def function(xp, x, dim, *, dtype=None):
        if x.ndim == 0:
            return x
        return getattr(xp, f"cumulative_{name}")(x, axis=dim, dtype=dtype)

    return function


def norm(xp, x, p="fro", dim=None, keepdim=False, *, dtype=None):
    if p == "nuc" or (p == "fro" and dim is not None and len(dim) == 2):
        if dim is None:
            dim = (-2, -1)
        x = xp.moveaxis(x, dim, (-2, -1))
        found = xp.linalg.matrix_norm(x, ord=p)
        return (
            xp.expand_dims(found, axis=tuple(sorted(d % x.ndim for d in dim))) if keepdim else found
        )
    order = 2 if p in ("fro", None) else p
    return xp.linalg.vector_norm(x, ord=order, axis=axes(dim), keepdims=keepdim)


def dist(xp, x, other, p=2):
    return xp.linalg.vector_norm(x - other, ord=p)


def quantile(name):
    def function(xp, x, q, dim=None, keepdim=False, *, interpolation="linear"):
        return getattr(np, name)(x, q, axis=dim, keepdims=keepdim, method=interpolation)

    return function


def trapezoid(xp, y, x=None, *, dx=1.0, dim=-1):
    return np.trapezoid(y, x, dx=dx, axis=dim)


def cumulative_trapezoid(xp, y, x=None, *, dx=1.0, dim=-1):
    y = xp.moveaxis(y, dim, -1)
    if x is not None:
        dx = xp.diff(x) if x.ndim == 1 else xp.diff(xp.moveaxis(x, dim, -1))
    areas = (y[..., 1:] + y[..., :-1]) * dx / 2
    return xp.moveaxis(xp.cumulative_sum(areas, axis=-1), -1, dim)


def sort(xp, x, dim=-1, descending=False, stable=False):
    if isinstance(dim, bool):
        dim, descending = -1, dim
    return xp.sort(x, axis=dim, descending=descending) if x.ndim else x


def logsumexp(xp, x, dim, keepdim=False):
    return xp.special.logsumexp(x, axis=axes(dim), keepdims=keepdim)


def logcumsumexp(xp, x, dim):
    return np.logaddexp.accumulate(x, axis=dim) if x.ndim else x


def diff(xp, x, n=1, dim=-1, prepend=None, append=None):
    return xp.diff(x, axis=dim, n=n, prepend=prepend, append=append)


def gradient(xp, x, *, spacing=1.0, dim=None, edge_order=1):
    spacing = 1.0 if spacing is None else spacing
    spacing = spacing if isinstance(spacing, list | tuple) else (spacing,)
    return np.gradient(x, *spacing, axis=axes(dim), edge_order=edge_order)


def softmax(name):
    def function(xp, x, dim, dtype=None):
        x = x if dtype is None else xp.astype(x, dtype)
        return getattr(xp.special, name)(x, axis=dim)

    return function


def softmin(xp, x, dim=None, dtype=None):
    return softmax("softmax")(xp, -x, dim, dtype)


FUNCTIONS = {
    "all": reduction("all"),
    "amax": reduction("max"),
    "amin": reduction("min"),
    "aminmax": lambda xp, x, *, dim=None, keepdim=False: (
        xp.min(x, axis=dim, keepdims=keepdim),
        xp.max(x, axis=dim, keepdims=keepdim),
    ),
    "any": reduction("any"),
    "argmax": lambda xp, x, dim=None, keepdim=False: xp.argmax(x, axis=dim, keepdims=keepdim),
    "argmin": lambda xp, x, dim=None, keepdim=False: xp.argmin(x, axis=dim, keepdims=keepdim),
    "corrcoef": lambda xp, x: np.corrcoef(x),
    "count_nonzero": lambda xp, x, dim=None: xp.count_nonzero(x, axis=axes(dim)),
    "cov": lambda xp, x, *, correction=1, fweights=None, aweights=None: np.cov(
        x, ddof=correction, fweights=fweights, aweights=aweights
    ),
    "cummax": running("maximum"),
    "cummin": running("minimum"),
    "cumprod": cumulative("prod"),
    "cumsum": cumulative("sum"),
    "cumulative_trapezoid": cumulative_trapezoid,
    "diff": diff,
    "dist": dist,
    "gradient": gradient,
    "linalg.vector_norm": lined(
        lambda xp, x, ord=2, dim=None, keepdim=False, *, dtype=None: xp.linalg.vector_norm(
            x, ord=ord, axis=axes(dim), keepdims=keepdim
        )
    ),
    "log_softmax": softmax("log_softmax"),
    "log_softmax.with_dtype": softmax("log_softmax"),
    "logcumsumexp": logcumsumexp,
    "logsumexp": logsumexp,
    "max.reduction_no_dim": picking("max"),
    "max.reduction_with_dim": picking("max"),
    "mean": lined(reduction("mean")),
    "min.reduction_no_dim": picking("min"),
    "min.reduction_with_dim": picking("min"),
    "msort": lambda xp, x: xp.sort(x, axis=0),
    "nanmean": reduction("nanmean", np),
    "nanquantile": lined(quantile("nanquantile")),
    "nansum": reduction("nansum", np),
    "nn.functional.softmin": softmin,
    "nn.functional.softmin.with_dtype": softmin,
    "norm": lined(norm),
    "norm.fro": norm,
    "norm.inf": norm,
    "norm.nuc": norm,
    "prod": reduction("prod"),
    "quantile": lined(quantile("quantile")),
    "softmax": softmax("softmax"),
    "softmax.with_dtype": softmax("softmax"),
    "sort": sort,
    "std": spread("std"),
    "std.unbiased": spread("std"),
    "std_mean": with_mean("std"),
    "std_mean.unbiased": with_mean("std"),
    "sum": reduction("sum"),
    "trapezoid": trapezoid,
    "trapz": trapezoid,
    "var": spread("var"),
    "var.unbiased": spread("var"),
    "var_mean": with_mean("var"),
    "var_mean.unbiased": with_mean("var"),
}
