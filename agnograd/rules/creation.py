"""Creation functions: linear in the values that they fill in, otherwise constants."""

from collections.abc import Sequence, Set
from typing import Any, NoReturn

from agnograd.extend import (
    OpSet,
    device_of,
    in_one_row,
    is_python_scalar,
    switch,
    unequal_shapes,
    with_rank,
)

__all__ = ["ops"]

# Up to how many elements halves count without a rounding.
HALF_COUNT = switch("HALF_COUNT", 2**11, least=0, most=2**11, module=__name__)

ops = OpSet("creation", samples="agnograd.rules.samples.creation")


def _ramp(g: Any, xp: Any) -> Any:
    """Return 0, 1, 2, … of the length of g, and of its dtype unless that is too narrow."""
    many = g.shape[0] > HALF_COUNT
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


# -- batches ---------------------------------------------------------------------------------------


def _arange_batch(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, device: Any = None
) -> NoReturn:
    raise unequal_shapes(
        "arange", "use start + step * xp.arange(count), or xp.linspace with a number of elements"
    )


def _full_batch(
    xp: Any, size: int, shape: Any, fill_value: Any, dtype: Any = None, device: Any = None
) -> Any:
    shape = (shape,) if isinstance(shape, int) else shape
    value = xp.asarray(fill_value, dtype=dtype, device=device)
    return _copy(xp, xp.broadcast_to(with_rank(xp, value, len(shape)), (size, *shape)))


def _full_like_batch(
    xp: Any,
    size: int,
    mapped: Set[str],
    x: Any,
    fill_value: Any,
    dtype: Any = None,
    device: Any = None,
) -> Any:
    if "fill_value" not in mapped:
        return xp.full_like(x, fill_value, dtype=dtype, device=device)
    shape = x.shape[1:] if "x" in mapped else x.shape
    dtype = x.dtype if dtype is None else dtype
    device = device_of(x) if device is None else device
    return _full_batch(xp, size, shape, fill_value, dtype, device)


def _copy(xp: Any, x: Any) -> Any:
    return xp.asarray(x, copy=True)  # what is broadcast may be read-only


def _linspace_batch(
    xp: Any,
    mapped: Set[str],
    start: Any,
    stop: Any,
    num: int,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Any:
    bounds, ends = [], []
    for name, bound, value in (("start", start, 0), ("stop", stop, 1)):
        bounds.append(xp.expand_dims(bound, axis=1) if name in mapped else bound)
        ends.append(value if is_python_scalar(bound) else xp.full((), value, dtype=bound.dtype))
    weight = xp.linspace(*ends, num, device=device, endpoint=endpoint)
    found = bounds[0] * (1 - weight) + bounds[1] * weight
    dtype = weight.dtype if dtype is None else dtype
    found = xp.floor(found) if xp.isdtype(dtype, "integral") else found
    return found if found.dtype == dtype else xp.astype(found, dtype)


def _meshgrid_batch(xp: Any, size: int, *arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    arrays = tuple(in_one_row(xp, each) for each in arrays)
    axes = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        axes[:2] = 1, 0
    shape = [arrays[axis].shape[1] for axis in axes]
    grids = []
    for each, axis in zip(arrays, axes, strict=True):
        along = tuple(length if i == axis else 1 for i, length in enumerate(shape))
        grids.append(_copy(xp, xp.broadcast_to(xp.reshape(each, (size, *along)), (size, *shape))))
    return tuple(grids)


# Not linear: numbers that are small, such as tangents, would give another number of elements.
ops.vjp(
    "arange(start, /, stop=None, step=1, *, dtype=None, device=None)",
    start=lambda g, stop, step, xp: xp.sum(g) if stop is not None else _zero(g, xp),
    stop=lambda g, xp: _zero(g, xp),
    step=lambda g, xp: xp.sum(g * _ramp(g, xp)),
    batch=_arange_batch,
    pattern="values",
)
ops.linear(
    "full(shape, fill_value, *, dtype=None, device=None)",
    fill_value=lambda g, xp: xp.sum(g),
    forward=_full,
    batch=_full_batch,
    pattern="moves",
)
ops.linear(
    "full_like(x, /, fill_value, *, dtype=None, device=None)",
    fill_value=lambda g, xp: xp.sum(g),
    forward=_full_like,
    batch=_full_like_batch,
    pattern="moves",
)
ops.linear(
    "linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)",
    start=lambda g, num, endpoint, xp: xp.sum(g * (1 - _linspace_weight(g, num, endpoint, xp))),
    stop=lambda g, num, endpoint, xp: xp.sum(g * _linspace_weight(g, num, endpoint, xp)),
    batch=_linspace_batch,
)
ops.linear(
    'meshgrid(*arrays, indexing="xy")',
    arrays=_meshgrid_vjp,
    outputs="several",
    batch=_meshgrid_batch,
    pattern="moves",
)
ops.linear(
    "tril(x, /, *, k=0)",
    x=lambda g, k, xp: xp.tril(g, k=k),
    masks=True,
    batch="last",
    pattern="moves",
)
ops.linear(
    "triu(x, /, *, k=0)",
    x=lambda g, k, xp: xp.triu(g, k=k),
    masks=True,
    batch="last",
    pattern="moves",
)
ops.constant(
    "empty_like(x, /, *, dtype=None, device=None)",
    "ones_like(x, /, *, dtype=None, device=None)",
    "zeros_like(x, /, *, dtype=None, device=None)",
    outputs="one",
    batch="elementwise",
)
ops.constant(
    "empty(shape, *, dtype=None, device=None)",
    "ones(shape, *, dtype=None, device=None)",
    "zeros(shape, *, dtype=None, device=None)",
    outputs="one",
)
ops.constant(
    "asarray(obj, /, *, dtype=None, device=None, copy=None)",
    "eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)",
    "from_dlpack(x, /, *, device=None, copy=None)",
    options=("obj", "n_rows", "n_cols"),
    outputs="one",
)
