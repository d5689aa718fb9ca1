"""The ops of agnograd_nn in PyTorch's ``torch.nn.functional``, by name."""

import torch
from torch.nn import functional


def promoted(function):
    """Give arrays one dtype, which PyTorch's convolutions need."""

    def call(*args, **options):
        arrays = [each for each in args if each is not None]
        dtype = torch.result_type(arrays[0], arrays[1])
        return function(*(each if each is None else each.to(dtype) for each in args), **options)

    return call


def batch_norm(x, mean=None, var=None, weight=None, bias=None, training=False, **options):
    """Return the running statistics, too, which PyTorch changes in place: without a gradient."""
    momentum, eps = options.get("momentum", 0.1), options.get("eps", 1e-5)
    if not training:  # by a formula: PyTorch gives running statistics no gradient
        shape = (-1, *(1,) * (x.ndim - 2))
        out = (x - mean.reshape(shape)) / torch.sqrt(var.reshape(shape) + eps)
        out = out if weight is None else out * weight.reshape(shape)
        return out if bias is None else out + bias.reshape(shape), mean * 1.0, var * 1.0
    out = functional.batch_norm(x, None, None, weight, bias, training=True, eps=eps)
    axes = (0, *range(2, x.ndim))
    new_mean, new_var = torch.mean(x, dim=axes), torch.var(x, dim=axes, correction=1)
    if mean is None:
        return out, new_mean, new_var
    return (
        out,
        (1 - momentum) * mean + momentum * new_mean,
        (1 - momentum) * var + momentum * new_var,
    )


def cross_entropy(x, target, weight=None, **options):
    """Return PyTorch's own; by a formula where the weights have a gradient, which it refuses."""
    target = target if target.is_floating_point() else target.long()
    if weight is None or not weight.requires_grad:
        return functional.cross_entropy(x, target, weight, **options)
    smoothing, ignored = options.get("label_smoothing", 0.0), options.get("ignore_index", -100)
    shares, counted = target, None
    if not target.is_floating_point():
        counted = functional.one_hot(target, x.shape[1]) * (target != ignored)[:, None]
        shares = counted
    smooth = smoothing / x.shape[1] * torch.sum(shares, dim=1, keepdim=True)
    if counted is None:
        smooth = smoothing / x.shape[1]
    shares = (1 - smoothing) * shares + smooth
    losses = -torch.sum(shares * weight * torch.log_softmax(x, 1), dim=1)
    if options.get("reduction") == "none":
        return losses
    divisor = x.shape[0] if counted is None else torch.sum(counted * weight)
    return torch.sum(losses) if options.get("reduction") == "sum" else torch.sum(losses) / divisor


def softmax(function):
    return lambda x, axis=-1: function(x, dim=axis)


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    """Give weights always: without them PyTorch's second derivative by the bias fails."""
    shape = (shape,) if isinstance(shape, int) else shape
    weight = torch.ones(shape, dtype=x.dtype) if weight is None else weight
    return functional.layer_norm(x, shape, weight, bias, eps)


def attention(q, k, v, attn_mask=None, is_causal=False, scale=None):
    """Join both masks: PyTorch takes one of them."""
    if is_causal and attn_mask is not None:
        attn_mask, is_causal = torch.tril(attn_mask), False
    return functional.scaled_dot_product_attention(
        q, k, v, attn_mask, is_causal=is_causal, scale=scale
    )


FUNCTIONS = {
    **{f"nn.conv{n}d": promoted(getattr(functional, f"conv{n}d")) for n in (1, 2, 3)},
    **{
        f"nn.conv_transpose{n}d": promoted(getattr(functional, f"conv_transpose{n}d"))
        for n in (1, 2, 3)
    },
    **{f"nn.max_pool{n}d": getattr(functional, f"max_pool{n}d") for n in (1, 2, 3)},
    **{f"nn.avg_pool{n}d": getattr(functional, f"avg_pool{n}d") for n in (1, 2, 3)},
    "einsum": torch.einsum,
    "nn.batch_norm": batch_norm,
    "nn.cross_entropy": cross_entropy,
    "nn.embedding": lambda indices, weight, padding_idx=None: functional.embedding(
        indices, weight, padding_idx
    ),
    "nn.gelu": functional.gelu,
    "nn.layer_norm": layer_norm,
    "nn.linear": functional.linear,
    "nn.log_softmax": softmax(functional.log_softmax),
    "nn.relu": functional.relu,
    "nn.scaled_dot_product_attention": attention,
    "nn.sigmoid": functional.sigmoid,
    "nn.silu": functional.silu,
    "nn.softmax": softmax(functional.softmax),
}
