"""NumPy's ``fft``: that of the standard, and transforms of two axes."""

from __future__ import annotations

from typing import Any

from agnograd_numpy_functions._helpers import floating, is_complex, is_floating
from agnograd_numpy_functions._program import Array, Lengths, Out, Table

__all__ = ["table"]

table = Table()


def _complex(xp: Any, a: Array) -> Array:
    if not is_floating(xp, a):
        return xp.astype(a, xp.complex128)
    return xp.astype(a, xp.result_type(a.dtype, xp.complex64), copy=False)


def _real(xp: Any, a: Array) -> Array:
    if is_complex(xp, a):
        raise TypeError(
            "this transform is of real arrays, and would lose the imaginary part: give it "
            "xp.real(a), or use the transform of complex arrays"
        )
    return floating(xp, a)


def _ready(xp: Any, name: str, a: Array) -> Array:
    return (_real if name.startswith(("fft.rfft", "fft.ihfft")) else _complex)(xp, a)


@table.each("fft.fft", "fft.ifft", "fft.rfft", "fft.irfft", "fft.hfft", "fft.ihfft")
def _along_one(
    name: str,
    xp: Any,
    a: Array,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Out = None,
) -> Array:
    transform = getattr(xp.fft, name.removeprefix("fft."))
    return transform(_ready(xp, name, a), n=n, axis=axis, norm=norm or "backward")


@table.each("fft.fftn", "fft.ifftn", "fft.rfftn", "fft.irfftn")
def _along_several(
    name: str,
    xp: Any,
    a: Array,
    s: Lengths | None = None,
    axes: Lengths | None = None,
    norm: str | None = None,
    out: Out = None,
) -> Array:
    if s is not None:
        axes = tuple(range(-len(s), 0)) if axes is None else axes
        if len(s) != len(axes):
            raise ValueError("Shape and axes have different lengths.")  # as NumPy says
        pairs = zip(s, axes, strict=True)
        s = tuple(a.shape[axis] if n in (None, -1) else n for n, axis in pairs)
    transform = getattr(xp.fft, name.removeprefix("fft."))
    return transform(_ready(xp, name, a), s=s, axes=axes, norm=norm or "backward")


@table.each("fft.fft2", "fft.ifft2", "fft.rfft2", "fft.irfft2")
def _along_two(
    name: str,
    xp: Any,
    a: Array,
    s: Lengths | None = None,
    axes: Lengths | None = (-2, -1),
    norm: str | None = None,
    out: Out = None,
) -> Array:
    return _along_several(name.replace("2", "n"), xp, a, s, axes, norm)


@table.each("fft.fftshift", "fft.ifftshift")
def _shift(name: str, xp: Any, x: Array, axes: Lengths | None = None) -> Array:
    return getattr(xp.fft, name.removeprefix("fft."))(x, axes=axes)
