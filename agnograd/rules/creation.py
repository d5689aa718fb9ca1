"""Creation functions: linear in the values that they fill in, otherwise constants."""

from collections.abc import Sequence
from typing import Any

from agnograd.extend import OpSet, device_of, is_python_scalar

__all__ = ["ops"]

_MANY = 2**11  # up to which halves count

ops = OpSet("creation", samples="agnograd.rules.samples.creation")


def _ramp(g: Any, xp: Any) -> Any:
    """Return 0, 1, 2, … of the length of g, and of its dtype unless that is too narrow."""
    many = g.shape[0] > _MANY
    dtype = xp.result_type(g.dtype, xp.float32) if many else g.dtype
    return xp.astype(xp.arange(g.shape[0], device=device_of(g)), dtype)


def _zero(g: Any, xp: Any) -> Any:
    return xp.zeros((), dtype=g.dtype, device=device_of(g))


def _full(
    backend: Any, shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Any:
    """Fill with a Python scalar, as the standard has it, or with a 0-d array."""
    xp = backend.namespace()
    if is_python_scalar(fill_value):
        return xp.full(shape, fill_value, dtype=dtype, device=device)
    value = xp.asarray(backend.array(fill_value), dtype=dtype, device=device)
    shape = (shape,) if isinstance(shape, int) else shape
    return xp.asarray(xp.broadcast_to(value, shape), copy=True)


def _full_like(
    backend: Any, x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Any:
    if is_python_scalar(fill_value):
        return backend.namespace().full_like(x, fill_value, dtype=dtype, device=device)
    dtype = x.dtype if dtype is None else dtype
    device = device_of(x) if device is None else device
    return _full(backend, x.shape, fill_value, dtype=dtype, device=device)


def _linspace_weight(g: Any, num: int, endpoint: bool, xp: Any) -> Any:
    return _ramp(g, xp) / max(num - 1 if endpoint else num, 1)


def _meshgrid_vjp(
    g: Sequence[Any], arrays_shape: Sequence[tuple[int, ...]], indexing: str, xp: Any
) -> list[Any]:
    """Sum each grid over all axes but the one along which its array varies."""
    gradients = []
    for index, (each, shape) in enumerate(zip(g, arrays_shape, strict=True)):
        axis = 1 - index if indexing == "xy" and index < 2 and len(arrays_shape) > 1 else index
        others = tuple(i for i in range(each.ndim) if i != axis)
        gradients.append(xp.reshape(xp.sum(each, axis=others) if others else each, shape))
    return gradients


# Not linear: numbers that are small, such as tangents, would give another number of elements.
ops.vjp(
    "arange(start, /, stop=None, step=1, *, dtype=None, device=None)",
    start=lambda g, stop, step, xp: xp.sum(g) if stop is not None else _zero(g, xp),
    stop=lambda g, xp: _zero(g, xp),
    step=lambda g, xp: xp.sum(g * _ramp(g, xp)),
)
ops.linear(
    "full(shape, fill_value, *, dtype=None, device=None)",
    fill_value=lambda g, xp: xp.sum(g),
    forward=_full,
)
ops.linear(
    "full_like(x, /, fill_value, *, dtype=None, device=None)",
    fill_value=lambda g, xp: xp.sum(g),
    forward=_full_like,
)
ops.linear(
    "linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)",
    start=lambda g, num, endpoint, xp: xp.sum(g * (1 - _linspace_weight(g, num, endpoint, xp))),
    stop=lambda g, num, endpoint, xp: xp.sum(g * _linspace_weight(g, num, endpoint, xp)),
)
ops.linear('meshgrid(*arrays, indexing="xy")', arrays=_meshgrid_vjp, outputs="several")
ops.linear("tril(x, /, *, k=0)", x=lambda g, k, xp: xp.tril(g, k=k), masks=True)
ops.linear("triu(x, /, *, k=0)", x=lambda g, k, xp: xp.triu(g, k=k), masks=True)
ops.constant(
    "empty(shape, *, dtype=None, device=None)",
    "empty_like(x, /, *, dtype=None, device=None)",
    "ones(shape, *, dtype=None, device=None)",
    "ones_like(x, /, *, dtype=None, device=None)",
    "zeros(shape, *, dtype=None, device=None)",
    "zeros_like(x, /, *, dtype=None, device=None)",
    outputs="one",
)
ops.constant(
    "asarray(obj, /, *, dtype=None, device=None, copy=None)",
    "eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)",
    "from_dlpack(x, /, *, device=None, copy=None)",
    options=("obj", "n_rows", "n_cols"),
    outputs="one",
)
