"""PyTorch's reductions of what a mask leaves, in the standard's functions."""

import reductions


def masked(name, neutral):
    """Return a reduction that sees a neutral element where the mask is False."""
    inner = reductions.FUNCTIONS[name]

    def function(xp, x, dim=None, *, mask=None, keepdim=False, dtype=None):
        x = x if mask is None else xp.where(mask, x, neutral)
        return inner(xp, x, dim, keepdim=keepdim)

    return function


def running(name, neutral):
    inner = reductions.FUNCTIONS[name]

    def function(xp, x, dim, *, mask=None, dtype=None):
        return inner(xp, x if mask is None else xp.where(mask, x, neutral), dim)

    return function


def count(xp, x, dim, keepdim, mask):
    ones = xp.ones_like(xp.real(x) if "complex" in str(x.dtype) else x)
    ones = ones if mask is None else xp.where(mask, ones, 0.0)
    return xp.sum(ones, axis=reductions.axes(dim), keepdims=keepdim)


def mean(xp, x, dim=None, *, mask=None, keepdim=False, dtype=None):
    kept = x if mask is None else xp.where(mask, x, 0.0)
    total = xp.sum(kept, axis=reductions.axes(dim), keepdims=keepdim)
    return total / count(xp, x, dim, keepdim, mask)


def variance(
    xp, x, dim=None, unbiased=True, *, correction=None, mask=None, keepdim=False, dtype=None
):
    centred = x - mean(xp, x, dim, mask=mask, keepdim=True)
    square = xp.real(centred * xp.conj(centred)) if "complex" in str(x.dtype) else centred**2
    square = square if mask is None else xp.where(mask, square, 0.0)
    total = xp.sum(square, axis=reductions.axes(dim), keepdims=keepdim)
    n = count(xp, x, dim, keepdim, mask)
    return total / xp.maximum(n - (int(unbiased) if correction is None else correction), 0.0)


def softmax(name, sign=1):
    def function(xp, x, dim, *, mask=None, dtype=None):
        x = sign * x
        return getattr(xp.special, name)(
            x if mask is None else xp.where(mask, x, -xp.inf), axis=dim
        )

    return function


def logaddexp(xp, x, other, *, input_mask=None, other_mask=None, dtype=None):
    x = x if input_mask is None else xp.where(input_mask, x, -xp.inf)
    other = other if other_mask is None else xp.where(other_mask, other, -xp.inf)
    return xp.logaddexp(x, other)


def norm(xp, x, ord, dim=None, *, mask=None, keepdim=False, dtype=None):
    neutral = xp.inf if ord == -xp.inf else 0.0
    x = x if mask is None else xp.where(mask, x, neutral)
    return xp.linalg.vector_norm(x, ord=ord, axis=reductions.axes(dim), keepdims=keepdim)


def normalize(xp, x, ord, dim, *, mask=None, eps=1e-12, dtype=None):
    if x.ndim == 0:
        return normalize(xp, xp.reshape(x, (1,)), ord, dim, mask=mask, eps=eps)[0]
    kept = x if mask is None else xp.where(mask, x, 0.0)
    length = xp.linalg.vector_norm(kept, ord=ord, axis=dim, keepdims=True)
    return kept / xp.maximum(length, eps)


INFINITY = float("inf")
FUNCTIONS = {
    "masked.amax": masked("amax", -INFINITY),
    "masked.amin": masked("amin", INFINITY),
    "masked.cumprod": running("cumprod", 1.0),
    "masked.cumsum": running("cumsum", 0.0),
    "masked.log_softmax": softmax("log_softmax"),
    "masked.logaddexp": logaddexp,
    "masked.logsumexp": masked("logsumexp", -INFINITY),
    "masked.mean": reductions.lined(mean),
    "masked.norm": reductions.lined(norm),
    "masked.normalize": normalize,
    "masked.prod": masked("prod", 1.0),
    "masked.softmax": softmax("softmax"),
    "masked.softmin": softmax("softmax", -1),
    "masked.std": reductions.lined(
        lambda xp, *args, **options: xp.sqrt(variance(xp, *args, **options))
    ),
    "masked.sum": masked("sum", 0.0),
    "masked.var": reductions.lined(variance),
}
