"""Scaled dot-product attention, which keeps only its arguments.

The matrix of weights has an element for each pair of a query and a key. It is not kept: each rule
computes it again.
"""

from __future__ import annotations

import math
from collections.abc import Set
from typing import Any

from agnograd.extend import device_of, in_stacks, with_rank
from agnograd_nn import ops
from agnograd_nn.members import all_mapped

__all__ = ["scaled_dot_product_attention"]


def _scale(q: Any, scale: float | None) -> float:
    return scale if scale is not None else 1.0 / math.sqrt(max(q.shape[-1], 1))


def _weights(q: Any, k: Any, attn_mask: Any, is_causal: bool, scale: float | None, xp: Any) -> Any:
    """Return the softmax of each query's scores: 0 for all keys if all of them are masked."""
    scores = xp.matmul(q * _scale(q, scale), xp.matrix_transpose(k))
    if attn_mask is None and not is_causal:
        return xp.nn.softmax(scores, axis=-1)
    if is_causal:
        every = xp.ones(scores.shape[-2:], dtype=xp.bool, device=device_of(q))
        scores = xp.where(xp.tril(every), scores, -math.inf)
    if attn_mask is not None and xp.isdtype(attn_mask.dtype, "bool"):
        scores = xp.where(attn_mask, scores, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    none = xp.all(scores == -math.inf, axis=-1, keepdims=True)
    return xp.where(none, 0.0, xp.nn.softmax(xp.where(none, 0.0, scores), axis=-1))


def scaled_dot_product_attention(
    xp: Any,
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """Return softmax(q k^T scale) v (Vaswani and others, "Attention is all you need", 2017).

    Parameters
    ----------
    q : array, shape (..., queries, width)
    k : array, shape (..., keys, width)
    v : array, shape (..., keys, values)
    attn_mask : array, shape broadcasting to (..., queries, keys), optional
        Boolean: whether a query may attend to a key. Of floating point: added to the scores. A
        query that may attend to nothing gets zeros.
    is_causal : bool
        Whether a query may attend only to the keys up to its own place.
    scale : float, optional
        What scores are multiplied with; by default one over the square root of the width.

    Returns
    -------
    array, shape (..., queries, values)
    """
    return xp.matmul(_weights(q, k, attn_mask, is_causal, scale, xp), v)


def _scores_gradient(
    g: Any,
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any,
    is_causal: bool,
    scale: float | None,
    xp: Any,
) -> Any:
    weights = _weights(q, k, attn_mask, is_causal, scale, xp)
    share = weights * xp.matmul(g, xp.matrix_transpose(v))
    return share - weights * xp.sum(share, axis=-1, keepdims=True)


def _q(
    g: Any,
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any,
    is_causal: bool,
    scale: float | None,
    xp: Any,
) -> Any:
    scores = _scores_gradient(g, q, k, v, attn_mask, is_causal, scale, xp)
    return xp.matmul(scores, k) * _scale(q, scale)


def _k(
    g: Any,
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any,
    is_causal: bool,
    scale: float | None,
    xp: Any,
) -> Any:
    scores = _scores_gradient(g, q, k, v, attn_mask, is_causal, scale, xp)
    return xp.matmul(xp.matrix_transpose(scores), q * _scale(q, scale))


def _v(
    g: Any, q: Any, k: Any, attn_mask: Any, is_causal: bool, scale: float | None, xp: Any
) -> Any:
    weights = _weights(q, k, attn_mask, is_causal, scale, xp)
    return xp.matmul(xp.matrix_transpose(weights), g)


def _batch(
    xp: Any,
    size: int,
    mapped: Set[str],
    q: Any,
    k: Any,
    v: Any,
    attn_mask: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """Attend in all members at once; libraries' kernels want as many matrices of each array."""
    q, k, v = all_mapped(xp, size, mapped, q=q, k=k, v=v)
    if any(len(each.shape) < 3 for each in (q, k, v)):
        raise ValueError("q, k and v have two axes or more: (..., queries, width) and the like")
    q, k, v = in_stacks(xp, {"q", "k", "v"}, (2, 2, 2), q=q, k=k, v=v)
    if "attn_mask" in mapped:
        attn_mask = with_rank(xp, attn_mask, len(q.shape) - 1)
    return xp.nn.scaled_dot_product_attention(q, k, v, attn_mask, is_causal=is_causal, scale=scale)


ops.vjp(
    "nn.scaled_dot_product_attention(q, k, v, /, attn_mask=None, *, is_causal=False, scale=None)",
    q=_q,
    k=_k,
    v=_v,
    attn_mask=_scores_gradient,
    forward=scaled_dot_product_attention,
    contracts=True,
    batch=_batch,
)
