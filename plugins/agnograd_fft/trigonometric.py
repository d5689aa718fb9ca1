"""Cosine and sine transforms along one axis: linear functions, whose transposes are such again.

The types, their scales and their definitions are those of ``scipy.fft`` (Makhoul, "A fast cosine
transform in one and two dimensions", IEEE Transactions on Acoustics, Speech and Signal Processing
28(1), 1980; Martucci, "Symmetric convolution and the discrete sine and cosine transforms", IEEE
Transactions on Signal Processing 42(5), 1994). With C2 and C3 the unscaled matrices of the types 2
and 3, the transpose of C2 is C3 with its first column doubled; C1 is symmetric but for its first
and last columns, which count once where the others count twice, and C4 is symmetric. Of sines the
same holds with the last column instead, and S1 is symmetric.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

from agnograd.extend import device_of, is_complex
from agnograd_fft import ops

__all__ = ["INVERSES", "OTHER"]

Shape = tuple[int, ...]

# The type that undoes each type, and the scale that undoes each scale.
INVERSES = {1: 1, 2: 3, 3: 2, 4: 4}
OTHER = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _checked(kind: str, type: int, length: int, norm: str | None) -> None:
    if type not in INVERSES:
        raise ValueError(f"{kind} has the types 1, 2, 3 and 4, not {type!r}")
    if norm not in OTHER:
        raise ValueError(f"norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    least = 2 if (kind, type) == ("dct", 1) else 1
    if length < least:
        raise ValueError(f"{kind} of type {type} needs {least} elements or more, not {length}")


def _scale(kind: str, type: int, length: int, norm: str | None) -> float:
    """Return what the unscaled transform is multiplied with."""
    change = {("dct", 1): -1, ("dst", 1): 1}.get((kind, type), 0)
    whole = 2 * (length + change)
    return {"forward": 1 / whole, "ortho": 1 / math.sqrt(whole)}.get(norm or "", 1.0)


def _edges(kind: str, type: int, length: int) -> tuple[int, ...]:
    """Return the columns that count once where others count twice."""
    if type == 1:
        return (0, length - 1) if kind == "dct" else ()
    return () if type == 4 else ((0,) if kind == "dct" else (length - 1,))


def _weighted(x: Any, edges: Iterable[int], weight: float, xp: Any) -> Any:
    """Multiply elements at the edges of the last axis with a weight."""
    edges = tuple(edges)
    if not edges or weight == 1:
        return x
    index = xp.arange(x.shape[-1], device=device_of(x))
    at_edge = index == edges[0]
    for edge in edges[1:]:
        at_edge = xp.logical_or(at_edge, index == edge)
    return xp.where(at_edge, x * weight, x)


def _resized(x: Any, length: int, xp: Any) -> Any:
    """Cut the last axis, or fill it up with zeros: each is the other's adjoint."""
    found = x.shape[-1]
    if found > length:
        return x[..., :length]
    if found == length:
        return x
    shape = (*x.shape[:-1], length - found)
    nothing = xp.zeros(shape, dtype=x.dtype, device=device_of(x))
    return xp.concat([x, nothing], axis=-1)


def _turned(x: Any, angles: Any, xp: Any) -> Any:
    """Multiply with exp(-i angles)."""
    dtype = xp.result_type(x.dtype, xp.complex64)
    return xp.astype(x, dtype) * xp.exp(-1j * xp.astype(angles, dtype))


def _unscaled(x: Any, kind: str, type: int, xp: Any) -> Any:
    """Return the transform along the last axis, of a real array, by one Fourier transform."""
    n = x.shape[-1]
    if type == 1 and kind == "dct":  # of the even sequence that the array is half of
        even = xp.concat([x, xp.flip(x[..., 1:-1], axis=-1)], axis=-1)
        return xp.real(xp.fft.rfft(even, axis=-1))
    if type == 1:  # of the odd one
        zero = xp.zeros_like(x[..., :1])
        odd = xp.concat([zero, x, zero, -xp.flip(x, axis=-1)], axis=-1)
        return -xp.imag(xp.fft.rfft(odd, axis=-1))[..., 1 : n + 1]
    half = 0.5 if type in (3, 4) else 0.0  # output frequencies are k + half
    shift = 0.0 if type == 3 and kind == "dct" else (0.5 if type in (2, 4) else 1.0)
    first = 1 if type == 2 and kind == "dst" else 0
    # cos and sin of pi (k + half) (j + shift) / n, summed over j: a transform of twice the length.
    device = device_of(x)
    index = xp.astype(xp.arange(n, device=device), x.dtype)
    weighted = _weighted(x, _edges(kind, type, n) if type == 3 else (), 0.5, xp)
    turned = _turned(weighted, index * (math.pi * half / n), xp)
    sums = xp.fft.fft(turned, n=2 * n, axis=-1)[..., first : first + n]
    sums = _turned(sums, (index + (half + first)) * (math.pi * shift / n), xp)
    return 2 * (xp.real(sums) if kind == "dct" else -xp.imag(sums))


def _along_last(x: Any, kind: str, type: int, scale: float, orthogonalize: bool, xp: Any) -> Any:
    """Transform the last axis; orthogonalised, the matrix times 1 / sqrt(2 n) is orthogonal."""
    if is_complex(x.dtype, xp):
        parts = (_along_last(part, kind, type, scale, orthogonalize, xp) for part in
                 (xp.real(x), xp.imag(x)))  # fmt: skip
        real, imag = (xp.astype(part, x.dtype) for part in parts)
        return real + 1j * imag
    if orthogonalize and type in (1, 3):
        x = _weighted(x, _edges(kind, type, x.shape[-1]), math.sqrt(2), xp)
    out = _unscaled(x, kind, type, xp)
    if orthogonalize and type in (1, 2):
        out = _weighted(out, _edges(kind, type, x.shape[-1]), math.sqrt(0.5), xp)
    return out if scale == 1 else out * scale


def _transpose(
    kind: str,
    g: Any,
    x_shape: Shape,
    type: int,
    axis: int,
    norm: str | None,
    orthogonalize: bool | None,
    xp: Any,
) -> Any:
    """Apply the transposed matrix: that of the inverse type, with weights at the edges."""
    g = xp.moveaxis(g, axis, -1)
    n = g.shape[-1]
    edges = _edges(kind, type, n)
    ortho = norm == "ortho" if orthogonalize is None else orthogonalize
    # Before and after: what orthogonalises, and what makes columns count once or twice.
    before = math.sqrt(0.5) if ortho and type in (1, 2) else 1.0
    after = math.sqrt(2.0) if ortho and type in (1, 3) else 1.0
    before *= 2.0 if type in (1, 2) else 1.0
    after *= 0.5 if type in (1, 3) else 1.0
    g = _weighted(g, edges, before, xp)
    transform = getattr(xp.fft, kind)
    g = transform(g, type=INVERSES[type], axis=-1, norm="backward", orthogonalize=False)
    g = _weighted(g, edges, after, xp) * _scale(kind, type, n, norm)
    return xp.moveaxis(_resized(g, x_shape[axis], xp), -1, axis)


def _register(kind: str) -> None:
    def forward(
        xp: Any,
        x: Any,
        /,
        *,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        length = x.shape[axis] if n is None else n
        _checked(kind, type, length, norm)
        if not xp.isdtype(x.dtype, ("real floating", "complex floating")):
            x = xp.astype(x, xp.float64)
        x = _resized(xp.moveaxis(x, axis, -1), length, xp)
        ortho = norm == "ortho" if orthogonalize is None else orthogonalize
        scale = _scale(kind, type, length, norm)
        return xp.moveaxis(_along_last(x, kind, type, scale, ortho, xp), -1, axis)

    forward.__doc__ = f"Compute ``scipy.fft.{kind}``, recorded for differentiation."
    options = "type=2, n=None, axis=-1, norm=None, orthogonalize=None"
    transpose = partial(_transpose, kind)
    ops.linear(f"fft.{kind}(x, /, *, {options})", x=transpose, forward=forward, batch="axis")


for _kind in ("dct", "dst"):
    _register(_kind)
