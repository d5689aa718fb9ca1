"""Arrays like others, copies, triangles, ranges; what dtypes become together."""

from __future__ import annotations

from typing import Any

from agnograd.errors import UnsupportedFunctionError
from agnograd_numpy_functions._arguments import like, ready
from agnograd_numpy_functions._helpers import (
    as_asked,
    at_least,
    double,
    floating,
    is_bool,
    promoted,
    together,
)
from agnograd_numpy_functions._program import Array, DType, Lengths, Operand, Table

__all__ = ["between", "table"]

table = Table()


def _like(name: str, a: Array, dtype: Any, shape: Any, device: Any) -> Array:
    xp = a.__array_namespace__()
    if shape is None:
        return getattr(xp, f"{name}_like")(a, dtype=dtype, device=device)
    return getattr(xp, name)(shape, dtype=dtype or a.dtype, device=device or a.device)


@table.add("empty_like")
def _empty_like(
    xp: Any,
    prototype: Array,
    dtype: DType | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Lengths | None = None,
    *,
    device: Any = None,
) -> Array:
    return _like("empty", prototype, dtype, shape, device)


@table.each("ones_like", "zeros_like")
def _of_one_value(
    name: str,
    xp: Any,
    a: Array,
    dtype: DType | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Lengths | None = None,
    *,
    device: Any = None,
) -> Array:
    return _like(name.removesuffix("_like"), a, dtype, shape, device)


@table.each("empty", "ones", "zeros")  # with like=
def _new(
    name: str,
    xp: Any,
    shape: Lengths,
    dtype: DType | None = None,
    order: str = "C",
    *,
    device: Any = None,
) -> Array:
    return getattr(xp, name)(shape, dtype=dtype, device=device)


@table.add("full_like")
def _full_like(
    xp: Any,
    a: Array,
    fill_value: Operand,
    dtype: DType | None = None,
    order: str = "K",
    subok: bool = True,
    shape: Lengths | None = None,
    *,
    device: Any = None,
) -> Array:
    value = like(a, fill_value) if dtype is None else xp.astype(ready(a, fill_value), dtype)
    return _full(xp, a.shape if shape is None else shape, value)


@table.add("full")
def _full(
    xp: Any,
    shape: Lengths,
    fill_value: Array,
    dtype: DType | None = None,
    order: str = "C",
    *,
    device: Any = None,
) -> Array:
    return xp.astype(xp.broadcast_to(fill_value, shape), dtype or fill_value.dtype)


@table.add("copy")
def _copy(xp: Any, a: Array, order: str = "K", subok: bool = False) -> Array:
    return xp.asarray(a, copy=True)


@table.each("array", "asanyarray", "asarray", "ascontiguousarray")  # with like=
def _as_array(
    name: str,
    xp: Any,
    a: Array,
    dtype: DType | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    subok: bool = False,
    ndmin: int = 0,
    device: Any = None,
) -> Array:
    made = xp.asarray(a, dtype=dtype, copy=copy or (None if name != "array" else True))
    return at_least(xp, made, max(ndmin, int(name == "ascontiguousarray")))


@table.add("arange")
def _arange(
    xp: Any,
    start: Operand,
    stop: Operand | None = None,
    step: Operand = 1,
    dtype: DType | None = None,
    *,
    device: Any = None,
) -> Array:
    if dtype is None:  # Python's fractions are in double precision here, whatever they meet
        numbers = [each for each in (start, stop, step) if each is not None]
        found = [each for each in numbers if hasattr(each, "dtype")]
        found += [xp.float64] * any(isinstance(each, float) for each in numbers)
        dtype = promoted(xp, *found) if found else None
    return xp.arange(start, stop, step, dtype=dtype, device=device)


@table.add("eye")
def _eye(
    xp: Any,
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803 - NumPy's name
    k: int = 0,
    dtype: DType | None = None,
    order: str = "C",
    *,
    device: Any = None,
) -> Array:
    return xp.eye(N, M, k=k, dtype=dtype, device=device)


@table.add("identity")
def _identity(xp: Any, n: int, dtype: DType | None = None) -> Array:
    return xp.eye(n, dtype=dtype)


@table.add("tri")
def _tri(
    xp: Any,
    N: int,  # noqa: N803 - NumPy's name
    M: int | None = None,  # noqa: N803 - NumPy's name
    k: int = 0,
    dtype: DType | None = None,
) -> Array:
    return xp.tril(xp.ones((N, N if M is None else M), dtype=dtype), k=k)


@table.each("tril", "triu")
def _triangle(name: str, xp: Any, m: Array, k: int = 0) -> Array:
    if m.ndim == 1:  # as NumPy has it: a row, broadcast to a square
        m = xp.broadcast_to(m, (m.shape[0], m.shape[0]))
    return getattr(xp, name)(m, k=k)


def _spread(
    xp: Any, start: Array, stop: Array, num: int, endpoint: bool = True
) -> tuple[Array, Array]:
    """Return values between two arrays along a new first axis, and the step."""
    start, stop = xp.broadcast_arrays(start, stop)
    dtype = promoted(xp, start, stop)
    start, stop = (floating(xp, xp.astype(each, dtype)) for each in (start, stop))
    dtype = start.dtype
    parts = num - 1 if endpoint else num
    share = xp.astype(xp.arange(num), dtype)
    share = xp.reshape(share, (num, *(1,) * start.ndim)) / max(parts, 1)
    values = start * (1 - share) + stop * share
    step = (stop - start) / parts if parts else (stop - start) * float("nan")
    return values, step


def between(xp: Any, start: Array, stop: Array, num: int) -> Array:
    """Return numbers from one to another, both included."""
    return _spread(xp, start, stop, num)[0]


@table.add("linspace")
def _linspace(
    xp: Any,
    start: Array,
    stop: Array,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DType | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    values, step = _spread(xp, start, stop, num, endpoint)
    if dtype is not None and xp.isdtype(dtype, "integral"):
        values = xp.floor(values)
    values = as_asked(xp, xp.moveaxis(values, 0, axis), dtype)
    return (values, step) if retstep else values


@table.add("logspace")
def _logspace(
    xp: Any,
    start: Array,
    stop: Array,
    num: int = 50,
    endpoint: bool = True,
    base: Operand = 10.0,
    dtype: DType | None = None,
    axis: int = 0,
) -> Array:
    values, _ = _spread(xp, start, stop, num, endpoint)
    return as_asked(xp, xp.moveaxis(xp.pow(base, values), 0, axis), dtype)


@table.add("geomspace")
def _geomspace(
    xp: Any,
    start: Array,
    stop: Array,
    num: int = 50,
    endpoint: bool = True,
    dtype: DType | None = None,
    axis: int = 0,
) -> Array:
    start, stop = together(xp, *xp.broadcast_arrays(double(xp, start), double(xp, stop)))
    # Of a negative start the sign is taken out, and put back.
    sign = xp.sign(start)
    ratio = xp.log(stop / start)
    values, _ = _spread(xp, xp.zeros_like(ratio), ratio, num, endpoint)
    values = sign * xp.abs(start) * xp.exp(values)
    return as_asked(xp, xp.moveaxis(values, 0, axis), dtype)


@table.add("result_type")
def _result_type(xp: Any, *arrays_and_dtypes: Any) -> Any:
    return xp.result_type(*arrays_and_dtypes)


@table.add("can_cast")
def _can_cast(xp: Any, from_: Any, to: DType, casting: str = "safe") -> bool:
    if casting != "safe":
        raise UnsupportedFunctionError("np.can_cast of Variables answers only for casting='safe'")
    answer: bool = xp.can_cast(getattr(from_, "dtype", from_), to)
    return answer


@table.add("common_type")
def _common_type(xp: Any, *arrays: Array) -> Any:
    if any(is_bool(xp, each) for each in arrays):
        raise TypeError("common_type is of numbers, not of booleans")
    return xp.result_type(*(floating(xp, each) for each in arrays))


@table.add("array_repr")
def _array_repr(
    xp: Any,
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    return repr(arr)


@table.add("array_str")
def _array_str(
    xp: Any,
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    return repr(a)
