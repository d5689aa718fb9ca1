"""Products of vectors, matrices and tensors; convolutions."""

from __future__ import annotations

import string
from operator import index
from typing import Any

from agnograd.errors import UnsupportedFunctionError
from agnograd.extend import conjugate_if_complex
from agnograd_numpy_functions._arguments import cast
from agnograd_numpy_functions._helpers import flat, is_floating, promoted, together
from agnograd_numpy_functions._program import Array, DType, Out, Table

__all__ = ["table"]

table = Table()


@table.add("dot")
def _dot(xp: Any, a: Array, b: Array, out: Out = None) -> Array:
    a, b = together(xp, a, b)
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim <= 2:
        return xp.matmul(a, b)
    return xp.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 2,)))


@table.add("vdot")
def _vdot(xp: Any, a: Array, b: Array, /) -> Array:
    a, b = together(xp, a, b)
    return xp.matmul(flat(xp, conjugate_if_complex(a, xp)), flat(xp, b))


@table.add("inner")
def _inner(xp: Any, a: Array, b: Array, /) -> Array:
    a, b = together(xp, a, b)
    if not a.ndim or not b.ndim:
        return a * b
    return xp.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


@table.add("outer")
def _outer(xp: Any, a: Array, b: Array, out: Out = None) -> Array:
    a, b = together(xp, a, b)
    return flat(xp, a)[:, None] * flat(xp, b)[None, :]


@table.add("linalg.outer")
def _linalg_outer(xp: Any, x1: Array, x2: Array, /) -> Array:
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError("linalg.outer is of arrays of one axis")
    return xp.linalg.outer(*together(xp, x1, x2))


@table.add("tensordot")
def _tensordot(xp: Any, a: Array, b: Array, axes: Any = 2) -> Array:
    if not isinstance(axes, int):
        axes = tuple((each,) if isinstance(each, int) else tuple(each) for each in axes)
    return xp.tensordot(*together(xp, a, b), axes=axes)


@table.add("linalg.tensordot")
def _linalg_tensordot(xp: Any, x1: Array, x2: Array, /, *, axes: Any = 2) -> Array:
    return _tensordot(xp, x1, x2, axes)


@table.add("linalg.matmul")
def _matmul(xp: Any, x1: Array, x2: Array, /) -> Array:
    return xp.matmul(*together(xp, x1, x2))


@table.add("linalg.vecdot")
def _vecdot(xp: Any, x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    return xp.vecdot(*together(xp, x1, x2), axis=axis)


# NumPy's letters for axes that are given as numbers; those of the result are sorted.
_LETTERS = string.ascii_uppercase + string.ascii_lowercase


def _subscripts(operands: tuple[Any, ...]) -> list[Any]:
    """Return subscripts as a string, and arrays, of arrays that alternate with lists of axes."""

    def letters(axes: Any) -> str:
        try:
            return "".join("..." if each is Ellipsis else _letter(index(each)) for each in axes)
        except TypeError:
            raise TypeError(
                "einsum takes subscripts as a string before its arrays, or after each array a list "
                "of its axes, numbers and Ellipsis, and at the end one of the result's"
            ) from None

    count = len(operands) // 2
    arrays = operands[: 2 * count : 2]
    inputs = ",".join(letters(each) for each in operands[1 : 2 * count : 2])
    result = f"->{letters(operands[-1])}" if len(operands) % 2 else ""
    return [inputs + result, *arrays]


def _letter(axis: int) -> str:
    if not 0 <= axis < len(_LETTERS):
        raise ValueError(
            f"subscript is not within the valid range [0, {len(_LETTERS)}), but {axis}"
        )
    return _LETTERS[axis]


@table.add("einsum")
def _einsum(
    xp: Any,
    *operands: Any,
    out: Out = None,
    optimize: Any = False,
    dtype: DType | None = None,
    order: str = "K",
    casting: str = "safe",
) -> Array:
    einsum = getattr(xp, "einsum", None)
    if einsum is None:
        raise UnsupportedFunctionError("einsum needs the op pack agnograd_nn")
    subscripts, *arrays = operands if isinstance(operands[0], str) else _subscripts(operands)
    arrays = [xp.asarray(each) for each in arrays]
    if dtype is None and casting != "safe":  # what NumPy promotes to is safe
        dtype = promoted(xp, *arrays)
    if dtype is not None:
        arrays = cast(xp, arrays, dtype, casting)
    found = einsum(subscripts, *together(xp, *arrays))
    # The standard sums small integers in wider ones, which NumPy's einsum does not.
    return found if is_floating(xp, found) else xp.astype(found, promoted(xp, *arrays))


@table.add("kron")
def _kron(xp: Any, a: Array, b: Array) -> Array:
    a, b = together(xp, a, b)
    rank = max(a.ndim, b.ndim)
    one, other = ((1,) * (rank - x.ndim) + x.shape for x in (a, b))
    first = xp.reshape(a, tuple(n for length in one for n in (length, 1)))
    second = xp.reshape(b, tuple(n for length in other for n in (1, length)))
    return xp.reshape(first * second, tuple(i * j for i, j in zip(one, other, strict=True)))


@table.add("cross")
def _cross(
    xp: Any,
    a: Array,
    b: Array,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> Array:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = together(xp, xp.moveaxis(a, axisa, -1), xp.moveaxis(b, axisb, -1))
    for each in (a, b):
        if each.shape[-1] != 3:
            raise UnsupportedFunctionError(
                f"np.cross of Variables is of vectors of length 3, not {each.shape[-1]}"
            )
    # By products, since the extension `linalg` is missing from some backends.
    parts = [a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return xp.moveaxis(xp.stack(parts, axis=-1), -1, axisc)


@table.add("linalg.cross")
def _linalg_cross(xp: Any, x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    return _cross(xp, x1, x2, axis=axis)


def _full(xp: Any, a: Array, v: Array) -> Array:
    """Return the sums a[i] v[k - i]; ``v`` is the shorter one."""
    n, m = a.shape[0], v.shape[0]
    nothing = xp.zeros((m - 1,), dtype=a.dtype, device=a.device)
    padded = xp.concat([nothing, a, nothing])
    total = padded[m - 1 : 2 * m + n - 2] * v[0]
    for k in range(1, m):
        total = total + padded[m - 1 - k : 2 * m + n - 2 - k] * v[k]
    return total


def _cut(full: Array, n: int, m: int, mode: str) -> Array:
    """Return the part of a full convolution that a mode of NumPy's names; n >= m."""
    if mode == "full":
        return full
    if mode == "same":
        start = m - 1 - m // 2
        return full[start : start + n]
    if mode == "valid":
        return full[m - 1 : n]
    raise ValueError(f"mode must be one of 'valid', 'same', or 'full', not {mode!r}")


def _nonempty(*arrays: Array, scalars: bool) -> None:
    for each in arrays:
        if each.ndim > 1:
            raise ValueError("object too deep for desired array")
        if not (each.ndim or scalars):
            raise ValueError("object of too small depth for desired array")
        if not each.size:
            raise ValueError("an array cannot be empty")


@table.add("convolve")
def _convolve(xp: Any, a: Array, v: Array, mode: str = "full") -> Array:
    _nonempty(a, v, scalars=True)
    a, v = together(xp, flat(xp, a), flat(xp, v))
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    return _cut(_full(xp, a, v), a.shape[0], v.shape[0], mode)


@table.add("correlate")
def _correlate(xp: Any, a: Array, v: Array, mode: str = "valid") -> Array:
    _nonempty(a, v, scalars=False)
    a, v = together(xp, flat(xp, a), flat(xp, conjugate_if_complex(v, xp)))
    if v.shape[0] <= a.shape[0]:
        return _cut(_full(xp, a, xp.flip(v)), a.shape[0], v.shape[0], mode)
    # As NumPy does: the arrays change places, and the result is turned round.
    return xp.flip(_cut(_full(xp, v, xp.flip(a)), v.shape[0], a.shape[0], mode))
