"""B-splines on a grid: their weights, and the filter that gives their coefficients.

Unser, "Splines: a perfect fit for signal and image processing", 1999.
"""

from __future__ import annotations

from typing import Any

from agnograd.extend import device_of, is_complex
from agnograd_scipy import ndimage
from agnograd_scipy._arrays import composed, inexact

__all__ = ["spline_filter", "spline_filter1d", "symmetry", "weights"]

# How a signal goes on at its ends: symmetric about the last element, about the end, or periodic.
_SYMMETRIES = {
    "mirror": "mirror",
    "constant": "mirror",
    "grid-constant": "mirror",
    "wrap": "mirror",
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "nearest": "reflect",
    "grid-wrap": "grid-wrap",
}


def symmetry(mode: str) -> str:
    """Return the mode whose boundary the splines of a mode have, as SciPy has it.

    Raises
    ------
    ValueError
        If there is no such mode.
    """
    if mode not in _SYMMETRIES:
        raise ValueError(f"mode must be one of {', '.join(_SYMMETRIES)}, not {mode!r}")
    return _SYMMETRIES[mode]


def weights(u: Any, order: int) -> list[Any]:
    """Return the B-splines of an order that are not 0 at a place, from left to right.

    ``u`` in [0, 1) is how far the place is from the knot to its left (de Boor, "A practical guide
    to splines", 2001, equation X.7, on a uniform grid).
    """
    found: list[Any] = [u * 0 + 1]
    for degree in range(1, order + 1):
        found = [
            ((u + (degree - j)) * found[j - 1] if j else 0)
            + ((1 - u + j) * found[j] if j < degree else 0)
            for j in range(degree + 1)
        ]
        found = [each / degree for each in found]
    return found


def spline_filter1d(
    xp: Any, input: Any, /, order: int = 3, axis: int = -1, *, mode: str = "mirror"
) -> Any:
    """Return the coefficients of a spline along an axis, ``scipy.ndimage.spline_filter1d``.

    Parameters
    ----------
    input : array
        Of floating-point or complex dtype.
    order : int
        The order of the splines, 0 to 5.
    axis : int
        The axis.
    mode : str
        How the signal goes on at its ends: one of SciPy's modes.

    Returns
    -------
    array
        Of the shape and dtype of ``input``.
    """
    kind, length = symmetry(mode), input.shape[axis]
    if not 0 <= order <= 5:
        raise ValueError(f"order must be 0 to 5, not {order}")
    if order < 2 or length < 2 or 0 in input.shape:
        return input + 0
    x = xp.moveaxis(input, axis, -1)
    if kind == "mirror":
        x = xp.concat([x, xp.flip(x[..., 1:-1], axis=-1)], axis=-1)
    elif kind == "reflect":
        x = xp.concat([x, xp.flip(x, axis=-1)], axis=-1)
    period = x.shape[-1]
    real = xp.real(x).dtype if is_complex(x.dtype, xp) else x.dtype
    half = order // 2
    taps = weights(0.0 if order % 2 else 0.5, order)[half::-1]  # from the middle outwards
    places = xp.arange(period, dtype=real, device=device_of(x))
    angle = places * (2 * xp.pi / period)
    response = taps[0] + sum(2 * w * xp.cos(k * angle) for k, w in enumerate(taps) if k)
    if is_complex(x.dtype, xp):
        spectrum = xp.fft.fft(x) / response
        x = xp.fft.ifft(spectrum)
    else:
        x = xp.fft.irfft(xp.fft.rfft(x) / response[: period // 2 + 1], n=period)
    return xp.moveaxis(x[..., :length], -1, axis)


def _transposed(g: Any, order: int, axis: int, mode: str, xp: Any) -> Any:
    """Return the transpose of the filter.

    It is symmetric but for "mirror", where the elements at both ends count half: the discrete
    cosine transform of type I, which makes it diagonal, is orthogonal with these weights
    (Strang, "The discrete cosine transform", 1999).
    """
    if symmetry(mode) != "mirror" or order < 2 or g.shape[axis] < 2:
        return xp.ndimage.spline_filter1d(g, order, axis, mode=mode)
    ends = [0.5, *[1.0] * (g.shape[axis] - 2), 0.5]
    share = xp.asarray(ends, dtype=g.dtype, device=device_of(g))
    share = xp.reshape(share, (-1, *(1,) * (g.ndim - 1 - axis % g.ndim)))
    return xp.ndimage.spline_filter1d(g / share, order, axis, mode=mode) * share


ndimage.linear(
    "ndimage.spline_filter1d(input, /, order=3, axis=-1, *, mode='mirror')",
    input=_transposed,
    forward=spline_filter1d,
    batch="axis",
)


def spline_filter(xp: Any, input: Any, order: int = 3, *, mode: str = "mirror") -> Any:
    """Return the coefficients of a spline along all axes, ``scipy.ndimage.spline_filter``.

    Parameters are those of ``spline_filter1d``.
    """
    (input,) = inexact(xp, input)
    for axis in range(input.ndim):
        input = xp.ndimage.spline_filter1d(input, order, axis, mode=mode)
    return input


composed(ndimage, spline_filter)
