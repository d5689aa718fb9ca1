"""A workload of one block of a transformer: attention, and a network for each position."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.case import Case

__all__ = ["attention"]


def attention(
    rng: np.random.Generator, *, length: int, width: int, heads: int, hidden: int
) -> Case:
    """Return the mean square of what a block makes of a sequence."""

    def value(xp: Any, *arrays: Any) -> Any:
        out = _block(xp, heads, *arrays)
        return xp.mean(out * out)

    def by_hand(*arrays: Any) -> Any:
        return _block_by_hand(heads, *arrays)

    shapes = [(width, width)] * 4 + [(width, hidden), (hidden, width)]
    x = rng.standard_normal((length, width)).astype(np.float32)
    weights = [(rng.standard_normal(s) * s[0] ** -0.5).astype(np.float32) for s in shapes]
    return Case(value, by_hand, (x, *weights))


def _norm(xp: Any, x: Any) -> Any:
    x = x - xp.mean(x, axis=-1, keepdims=True)
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def _block(xp: Any, heads: int, x: Any, q: Any, k: Any, v: Any, o: Any, w1: Any, w2: Any) -> Any:
    length, width = x.shape
    split = (length, heads, width // heads)
    h = _norm(xp, x)
    queries = xp.permute_dims(xp.reshape(h @ q, split), (1, 0, 2))
    keys = xp.permute_dims(xp.reshape(h @ k, split), (1, 2, 0))
    values = xp.permute_dims(xp.reshape(h @ v, split), (1, 0, 2))
    scores = queries @ keys * split[-1] ** -0.5
    e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    mixed = e / xp.sum(e, axis=-1, keepdims=True) @ values
    y = x + xp.reshape(xp.permute_dims(mixed, (1, 0, 2)), (length, width)) @ o
    return y + xp.tanh(_norm(xp, y) @ w1) @ w2


def _norm_by_hand(x: Any) -> Any:
    centred = x - np.mean(x, axis=-1, keepdims=True)
    scale = 1 / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + np.float32(1e-5))
    return centred * scale, scale


def _norm_back(g: Any, h: Any, scale: Any) -> Any:
    mean, along = (np.mean(each, axis=-1, keepdims=True) for each in (g, g * h))
    return scale * (g - mean - h * along)


def _block_by_hand(heads: int, x: Any, q: Any, k: Any, v: Any, o: Any, w1: Any, w2: Any) -> Any:
    length, width = x.shape
    split = (length, heads, width // heads)
    root = np.float32(split[-1] ** -0.5)

    def apart(a: Any) -> Any:
        return a.reshape(split).transpose(1, 0, 2)

    def together(a: Any) -> Any:
        return a.transpose(1, 0, 2).reshape(length, width)

    h, scale = _norm_by_hand(x)
    queries, keys, values = apart(h @ q), apart(h @ k), apart(h @ v)
    p = queries @ keys.transpose(0, 2, 1)
    p *= root
    p -= np.max(p, axis=-1, keepdims=True)
    np.exp(p, out=p)
    p /= np.sum(p, axis=-1, keepdims=True)
    mixed = together(p @ values)
    y = x + mixed @ o
    h2, scale2 = _norm_by_hand(y)
    t = np.tanh(h2 @ w1)
    out = y + t @ w2
    np.mean(out * out)

    g = (2 / out.size) * out
    g2 = t.T @ g
    inner = (g @ w2.T) * (1 - t * t)
    del t
    g1 = h2.T @ inner
    g = g + _norm_back(inner @ w1.T, h2, scale2)
    del inner, h2, y, out
    go = mixed.T @ g
    of_mixed = apart(g @ o.T)
    of_values = p.transpose(0, 2, 1) @ of_mixed
    of_p = of_mixed @ values.transpose(0, 2, 1)
    of_p -= np.sum(of_p * p, axis=-1, keepdims=True)
    of_p *= p
    of_p *= root
    del p
    of_queries = together(of_p @ keys)
    of_keys = together(of_p.transpose(0, 2, 1) @ queries)
    of_values = together(of_values)
    of_h = of_queries @ q.T + of_keys @ k.T + of_values @ v.T
    gx = g + _norm_back(of_h, h, scale)
    return gx, h.T @ of_queries, h.T @ of_keys, h.T @ of_values, go, g1, g2
