"""NumPy's ``fft``: that of the standard, and transforms of two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnograd_numpy_functions._program import Array, Out, Table

__all__ = ["table"]

table = Table()


def _complex(xp: Any, a: Array) -> Array:
    if xp.isdtype(a.dtype, "complex floating"):
        return a
    return xp.astype(a, xp.result_type(a.dtype, xp.complex64) if _is_real(xp, a) else xp.complex128)


def _is_real(xp: Any, a: Array) -> bool:
    return bool(xp.isdtype(a.dtype, "real floating"))


def _real(xp: Any, a: Array) -> Array:
    if xp.isdtype(a.dtype, "complex floating"):
        raise TypeError(
            "this transform is of real arrays, and would lose the imaginary part: give it "
            "xp.real(a), or use the transform of complex arrays"
        )
    return a if _is_real(xp, a) else xp.astype(a, xp.float64)


def _one(name: str, ready: Any) -> None:
    @table.add(f"fft.{name}")
    def transform(
        xp: Any,
        a: Array,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        out: Out = None,
    ) -> Array:
        return getattr(xp.fft, name)(ready(xp, a), n=n, axis=axis, norm=norm or "backward")


def _several(name: str, base: str, ready: Any, axes_by_default: Any) -> None:
    @table.add(f"fft.{name}")
    def transform(
        xp: Any,
        a: Array,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = axes_by_default,
        norm: str | None = None,
        out: Out = None,
    ) -> Array:
        if s is not None and axes is None:
            axes = tuple(range(-len(s), 0))
        shape = None if s is None else tuple(s)
        chosen = None if axes is None else tuple(axes)
        return getattr(xp.fft, base)(ready(xp, a), s=shape, axes=chosen, norm=norm or "backward")


for _name in ("fft", "ifft", "irfft", "hfft"):
    _one(_name, _complex)
for _name in ("rfft", "ihfft"):
    _one(_name, _real)
for _name in ("fft", "ifft", "irfft"):
    _several(f"{_name}n", f"{_name}n", _complex, None)
    _several(f"{_name}2", f"{_name}n", _complex, (-2, -1))
_several("rfftn", "rfftn", _real, None)
_several("rfft2", "rfftn", _real, (-2, -1))


def _shift(name: str) -> None:
    @table.add(f"fft.{name}")
    def shift(xp: Any, x: Array, axes: int | Sequence[int] | None = None) -> Array:
        chosen = tuple(axes) if isinstance(axes, list) else axes
        return getattr(xp.fft, name)(x, axes=chosen)


_shift("fftshift")
_shift("ifftshift")
