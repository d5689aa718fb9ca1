"""Convolution and correlation over all axes, as ``scipy.signal`` has them.

A convolution is linear in each of its arrays, and its transpose in one of them is a correlation of
the cotangent with the other (Vetterli, Kovacevic and Goyal, "Foundations of signal processing",
2014, section 3.4): so the derivatives of every order are convolutions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence, Set
from typing import Any

from agnograd.extend import conjugate_if_complex, in_full, is_complex, operand, switch
from agnograd_scipy import signal
from agnograd_scipy._arrays import composed, inexact, padded, sliced

__all__ = ["convolve", "result_block"]

Shape = tuple[int, ...]
# Up to how many taps shifted copies are added; more are transformed.
ADDED_TAPS = switch("ADDED_TAPS", 32, least=0, most=2**10, module=__name__)


def result_block(mode: str, s1: Shape, s2: Shape) -> tuple[Shape, Shape]:
    """Return where the result of a mode starts in the full convolution, and its shape.

    Raises
    ------
    ValueError
        If the mode is unknown, or shapes do not belong together.
    """
    if len(s1) != len(s2):
        raise ValueError(f"in1 and in2 must have the same number of axes: shapes {s1} and {s2}")
    if 0 in (*s1, *s2):
        raise ValueError(f"a convolution of nothing: shapes {s1} and {s2}")
    pairs = list(zip(s1, s2, strict=True))
    full = tuple(a + b - 1 for a, b in pairs)
    if mode == "full":
        return (0,) * len(s1), full
    if mode == "same":
        return tuple((n - a) // 2 for n, a in zip(full, s1, strict=True)), s1
    if mode != "valid":
        raise ValueError(f"mode must be 'full', 'same' or 'valid', not {mode!r}")
    if not (all(a >= b for a, b in pairs) or all(a <= b for a, b in pairs)):
        raise ValueError(
            f"mode 'valid' needs one array that is at least as long as the other along every "
            f"axis: shapes {s1} and {s2}"
        )
    return tuple(min(a, b) - 1 for a, b in pairs), tuple(abs(a - b) + 1 for a, b in pairs)


def convolve(xp: Any, in1: Any, in2: Any, /, mode: str = "full", method: str = "auto") -> Any:
    """Return the convolution of two arrays, ``scipy.signal.convolve``.

    Parameters
    ----------
    in1, in2 : array
        Of the same number of axes.
    mode : {"full", "same", "valid"}
        The whole convolution, the part of the shape of ``in1`` in its middle, or what needs no
        padding.
    method : {"auto", "direct", "fft"}
        Whether products are added up, or Fourier transforms multiplied. By transforms, derivatives
        that are zero come out as rounding errors; ``ag.sparsity`` leaves these out.

    Returns
    -------
    array
        Of the dtype to which both are promoted.
    """
    return _by_pairs(xp, in1, in2, mode, method, ())


def _by_pairs(xp: Any, in1: Any, in2: Any, mode: str, method: str, batch: Shape) -> Any:
    """Return the convolution of arrays with each other, which both begin with axes of a batch."""
    rank = len(batch)
    s1, s2 = in1.shape[rank:], in2.shape[rank:]
    starts, shape = result_block(mode, s1, s2)
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"method must be 'auto', 'direct' or 'fft', not {method!r}")
    dtype = xp.result_type(in1, in2)
    in1, in2 = (xp.astype(each, dtype, copy=False) for each in (in1, in2))
    exact = not xp.isdtype(dtype, ("real floating", "complex floating"))
    few = method == "auto" and min(math.prod(s1), math.prod(s2)) <= ADDED_TAPS
    if method == "direct" or few or exact or not s1 or 0 in batch:
        return _direct(in1, in2, starts, shape, batch, xp)
    full = tuple(a + b - 1 for a, b in zip(s1, s2, strict=True))
    out = _by_fft(in1, in2, full, tuple(range(rank, in1.ndim)), xp)
    return sliced(out, (*(0 for _ in batch), *starts), (*batch, *shape))


def _direct(in1: Any, in2: Any, starts: Shape, shape: Shape, batch: Shape, xp: Any) -> Any:
    """Add up shifted copies of one array, times the elements of the one that has fewer."""
    total: Any = 0
    for product in _products(in1, in2, starts, shape, batch, xp):
        total = total + product
    return total


def _products(
    in1: Any, in2: Any, starts: Shape, shape: Shape, batch: Shape, xp: Any
) -> Iterator[Any]:
    """Yield what a direct convolution adds up, one for each element of the smaller array."""
    if math.prod(in1.shape) < math.prod(in2.shape):
        in1, in2 = in2, in1
    rank = len(batch)
    s1, s2 = in1.shape[rank:], in2.shape[rank:]
    # Of the full convolution's place n, element k of in2 takes n - k of in1.
    around = [
        (max(0, m - 1 - a), max(0, a + n - s))
        for a, n, m, s in zip(starts, shape, s2, s1, strict=True)
    ]
    wide = padded(in1, [*((0, 0) for _ in batch), *around], xp)
    for tap in itertools.product(*map(range, s2)):
        key = [a - k + before for a, k, (before, _) in zip(starts, tap, around, strict=True)]
        part = sliced(wide, (*(0 for _ in batch), *key), (*batch, *shape))
        weight = in2[(*(slice(None) for _ in batch), *tap)]
        if batch:
            weight = xp.reshape(weight, (*batch, *(1 for _ in shape)))
        yield weight * part


def _by_fft(in1: Any, in2: Any, lengths: Shape, axes: Shape, xp: Any) -> Any:
    """Return the full convolution along these axes by the product of Fourier transforms."""
    if is_complex(in1.dtype, xp):
        forward, back = xp.fft.fftn, xp.fft.ifftn
    else:
        forward, back = xp.fft.rfftn, xp.fft.irfftn
    product = forward(in1, s=lengths, axes=axes) * forward(in2, s=lengths, axes=axes)
    return back(product, s=lengths, axes=axes)


def _batch(
    xp: Any,
    size: int,
    mapped: Set[str],
    in1: Any,
    in2: Any,
    /,
    mode: str = "full",
    method: str = "auto",
) -> Any:
    """Convolve all members at once with what they share; two of each, pair by pair."""
    if len(mapped) == 2 or not size:
        in1 = in1 if "in1" in mapped else in_full(xp, size, in1)
        in2 = in2 if "in2" in mapped else in_full(xp, size, in2)
        return _by_pairs(xp, in1, in2, mode, method, (size,))
    # What is shared has length 1 along the axis of members.
    if "in1" in mapped:
        in2 = xp.expand_dims(in2, axis=0)
    else:
        in1 = xp.expand_dims(in1, axis=0)
    if mode == "full" or (mode == "same" and "in1" in mapped):
        return xp.signal.convolve(in1, in2, mode=mode, method=method)
    long, short = (in1, in2) if "in1" in mapped else (in2, in1)
    if mode == "valid" and all(a >= b for a, b in zip(long.shape, short.shape, strict=True)):
        return xp.signal.convolve(long, short, mode=mode, method=method)
    starts, shape = result_block(mode, in1.shape[1:], in2.shape[1:])
    full = xp.signal.convolve(in1, in2, method=method)
    return sliced(full, (0, *starts), (size, *shape))


def _reversed(x: Any, xp: Any) -> Any:
    return conjugate_if_complex(xp.flip(x), xp)


def _gradient(
    g: Any, other: Any, shapes: tuple[Shape, Shape], mode: str, method: str, xp: Any
) -> Any:
    """Return the gradient by one of two arrays of these shapes, given the other one."""
    starts, found = result_block(mode, *shapes)
    around = [(a, p + q - 1 - a - n) for a, n, p, q in zip(starts, found, *shapes, strict=True)]
    wide, other = padded(g, around, xp), _reversed(other, xp)
    return xp.signal.convolve(wide, other, mode="valid", method=method)


def _pattern(xp: Any, in1: Any, in2: Any, /, mode: str = "full", method: str = "auto") -> Any:
    """Return the sum of the products, however they are computed."""
    starts, shape = result_block(mode, in1.shape, in2.shape)
    return xp.sum(xp.stack([*_products(in1, in2, starts, shape, (), xp)]), axis=0)


signal.multilinear(
    "signal.convolve(in1, in2, /, mode='full', method='auto')",
    in1=lambda g, in2, in1_shape, mode, method, xp: _gradient(
        g, in2, (in1_shape, in2.shape), mode, method, xp
    ),
    in2=lambda g, in1, in2_shape, mode, method, xp: _gradient(
        g, in1, (in1.shape, in2_shape), mode, method, xp
    ),
    forward=convolve,
    contracts=True,
    batch=_batch,
    pattern=_pattern,
)


def correlate(xp: Any, in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Return the cross-correlation of two arrays, ``scipy.signal.correlate``.

    It is the convolution of ``in1`` with ``in2`` reversed and conjugated, whose options it has.
    """
    in1, in2 = (operand(xp, each) for each in (in1, in2))
    return xp.signal.convolve(in1, _reversed(in2, xp), mode=mode, method=method)


def fftconvolve(
    xp: Any, in1: Any, in2: Any, mode: str = "full", axes: int | Sequence[int] | None = None
) -> Any:
    """Return the convolution along some axes by Fourier transforms, ``scipy.signal.fftconvolve``.

    Parameters
    ----------
    in1, in2 : array
        Of the same number of axes; those that are not convolved are broadcast.
    mode : {"full", "same", "valid"}
        As of ``convolve``.
    axes : int or sequence of int, optional
        The axes that are convolved; by default all.
    """
    in1, in2 = inexact(xp, in1, in2)
    if axes is None:
        return xp.signal.convolve(in1, in2, mode=mode, method="fft")
    chosen = tuple(axis % in1.ndim for axis in ([axes] if isinstance(axes, int) else axes))
    sizes = [tuple(each.shape[axis] for axis in chosen) for each in (in1, in2)]
    starts, shape = result_block(mode, *sizes)
    if not chosen:
        return in1 * in2
    lengths = tuple(a + b - 1 for a, b in zip(*sizes, strict=True))
    full = _by_fft(in1, in2, lengths, chosen, xp)
    key = [slice(None)] * full.ndim
    for axis, start, length in zip(chosen, starts, shape, strict=True):
        key[axis] = slice(start, start + length)
    return full[tuple(key)]


composed(signal, correlate, fftconvolve)
