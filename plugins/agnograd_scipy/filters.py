"""Linear filters along an axis: ``lfilter``, ``sosfilt`` and ``filtfilt``.

A filter is a convolution with ``b``, and the recursion by ``a``, the op ``all_pole``. The
recursion y of x solves a triangular Toeplitz system, whose transpose is the same recursion
backwards in time: that is the gradient w by x. The gradient by coefficient k of ``a`` is minus the
inner product of w with y, k steps later (Forgione and Piga, "dynoNet: a neural network architecture
for learning dynamical systems", 2021, section 4).
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from agnograd.extend import conjugate_if_complex, device_of
from agnograd_scipy import signal
from agnograd_scipy._arrays import composed, filled, inexact, one_by_one, padded

__all__ = ["all_pole"]


def all_pole(xp: Any, x: Any, a: Any, /) -> Any:
    """Return y, where the sum of ``a[k] * y[n - k]`` is ``x[n]``, along the last axis.

    The state after n steps, the last values of y, is a power of the companion matrix of ``a`` times
    what came before: it is summed by doubling, in steps of 1, 2, 4 (Hillis and Steele, "Data
    parallel algorithms", 1986).

    Parameters
    ----------
    x : array, shape (..., length)
    a : array, shape (order + 1,)
        ``a[0]`` is not 0.

    Returns
    -------
    array, shape (..., length)
    """
    dtype = xp.result_type(x, a)
    x, a = (xp.astype(each, dtype, copy=False) for each in (x, a))
    order, length = a.shape[0] - 1, x.shape[-1]
    x = x / a[0]
    if not order or not length:
        return x
    device = device_of(x)
    below = xp.eye(order - 1, order, dtype=dtype, device=device)
    matrix = xp.concat([xp.expand_dims(-a[1:] / a[0], axis=0), below], axis=0)
    power = xp.matrix_transpose(matrix)
    rest = xp.zeros((*x.shape, order - 1), dtype=dtype, device=device)
    states, step = xp.concat([xp.expand_dims(x, axis=-1), rest], axis=-1), 1
    while step < length:
        carried = xp.matmul(states[..., :-step, :], power)
        zeros = filled(carried, x.ndim - 1, step, 0, xp)
        states = states + xp.concat([zeros, carried], axis=-2)
        power, step = xp.matmul(power, power), 2 * step
    return states[..., 0]


def _backwards(g: Any, a: Any, xp: Any) -> Any:
    """Return the gradient by x: the recursion backwards in time."""
    a = conjugate_if_complex(a, xp)
    return xp.flip(xp.signal.all_pole(xp.flip(g, axis=-1), a), axis=-1)


def _by_coefficients(g: Any, a: Any, out: Any, xp: Any) -> Any:
    w, y = _backwards(g, a, xp), conjugate_if_complex(out, xp)
    length = w.shape[-1]
    shifts = [min(k, length) for k in range(a.shape[0])]
    return -xp.stack([xp.sum(w[..., k:] * y[..., : length - k]) for k in shifts])


def _batch(xp: Any, size: int, mapped: Set[str], x: Any, a: Any, /) -> Any:
    """Filter all members at once if they share the coefficients."""
    if not x.shape["x" in mapped :]:
        raise ValueError("all_pole takes a signal with one axis at least")
    if "a" not in mapped:
        return xp.signal.all_pole(x, a)
    pairs = [(a, True), (x, "x" in mapped)]
    return one_by_one(lambda a, x: xp.signal.all_pole(x, a), pairs, size, xp)


def _pattern(xp: Any, x: Any, a: Any, /) -> Any:
    """Sum all values up to each one, if there are coefficients for values of before."""
    return xp.sum(a) * (xp.cumulative_sum(x, axis=-1) if a.shape[0] > 1 else x)


signal.vjp(
    "signal.all_pole(x, a, /)",
    x=lambda g, a, xp: _backwards(g, a, xp),
    a=_by_coefficients,
    forward=all_pole,
    batch=_batch,
    pattern=_pattern,
)


def lfilter(xp: Any, b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Return a signal after a linear filter, ``scipy.signal.lfilter``.

    Parameters
    ----------
    b, a : array, shape (taps,)
        Coefficients of the numerator and the denominator; ``a[0]`` is not 0.
    x : array
        The signal.
    axis : int
        Its axis of time.
    zi : array, optional
        The initial state, of the shape of ``x`` with ``max(len(a), len(b)) - 1`` elements along
        the axis.

    Returns
    -------
    y : array
        Of the shape of ``x``.
    zf : array
        The state at the end, if ``zi`` was given.
    """
    values = inexact(xp, b, a, x) if zi is None else inexact(xp, b, a, x, zi)
    b, a, x, *state = values
    if b.ndim != 1 or a.ndim != 1 or not x.ndim or 0 in (*b.shape, *a.shape):
        raise ValueError(
            f"b and a have one axis, and x has one at least, not shapes {b.shape}, {a.shape} and "
            f"{x.shape}"
        )
    y, final = _filtered(xp, b, a, xp.moveaxis(x, axis, -1), axis, *state)
    y = xp.moveaxis(y, -1, axis)
    return y if zi is None else (y, xp.moveaxis(final, -1, axis))


def _filtered(xp: Any, b: Any, a: Any, x: Any, axis: int, zi: Any = None) -> Any:
    """Filter along the last axis; return the result and the state at the end, if there is one.

    In terms of the filter with ``a[0] = 1``, the state adds to the first elements of the right
    hand side (Oppenheim and Schafer, "Discrete-time signal processing", 2010, section 6.3: the
    transposed direct form II).
    """
    size, length = max(a.shape[0], b.shape[0]) - 1, x.shape[-1]
    shape = (*x.shape[:-1], size)
    b, a = b / a[0], a / a[0]
    if zi is not None:
        zi = xp.moveaxis(zi, axis, -1)
        if zi.shape != shape:
            raise ValueError(f"zi has shape {zi.shape} with the axis at the end, not {shape}")
    if 0 in x.shape:
        return x, zi
    extra = [(0, 0)] * (x.ndim - 1)
    right = _convolved(xp, x, b)
    if zi is not None:
        # The state is what the right hand side has still to add when the signal has ended.
        right = padded(right, [*extra, (0, length + size - right.shape[-1])], xp)
        right = right + padded(zi, [*extra, (0, length)], xp)
    y = xp.signal.all_pole(right[..., :length], a)
    if zi is None:
        return y, None
    left = _convolved(xp, y, a)
    left = padded(left, [*extra, (0, length + size - left.shape[-1])], xp)
    return y, (right - left)[..., length:]


def _convolved(xp: Any, x: Any, b: Any) -> Any:
    """Return the full convolution with coefficients along the last axis."""
    kernel = xp.reshape(b, (1,) * (x.ndim - 1) + (-1,))
    return xp.signal.convolve(x, kernel, method="direct")


def lfilter_zi(xp: Any, b: Any, a: Any) -> Any:
    """Return the state in which a filter answers steps of height 1 at once: SciPy's ``lfilter_zi``.

    Parameters
    ----------
    b, a : array, shape (taps,)
        Coefficients of the numerator and the denominator; ``a[0]`` is not 0.

    Returns
    -------
    array, shape (max(len(a), len(b)) - 1,)
    """
    b, a = inexact(xp, b, a)
    size = max(b.shape[0], a.shape[0])
    b, a = (padded(each / a[0], [(0, size - each.shape[0])], xp) for each in (b, a))
    if size == 1:
        return b[1:]
    differences = b[1:] - a[1:] * b[0]
    first = xp.sum(differences) / xp.sum(a)
    before = xp.cumulative_sum(differences) - differences
    return xp.cumulative_sum(a)[:-1] * first - before


def sosfilt(xp: Any, sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Return a signal after a filter of second-order sections, ``scipy.signal.sosfilt``.

    Parameters
    ----------
    sos : array, shape (sections, 6)
        The coefficients of numerators and denominators.
    x : array
        The signal.
    axis : int
        Its axis of time.
    zi : array, optional
        The initial states: for each section one of 2 elements along the axis.

    Returns
    -------
    y : array
        Of the shape of ``x``.
    zf : array
        The states at the end, if ``zi`` was given.
    """
    sos, x = inexact(xp, sos, x)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError(f"sos has shape (sections, 6), not {sos.shape}")
    states = []
    for section in range(sos.shape[0]):
        b, a = sos[section, :3], sos[section, 3:]
        if zi is None:
            x = lfilter(xp, b, a, x, axis)
        else:
            x, final = lfilter(xp, b, a, x, axis, zi[section, ...])
            states.append(final)
    return x if zi is None else (x, xp.stack(states))


def filtfilt(
    xp: Any,
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
) -> Any:
    """Return a signal after a filter forward and backward, ``scipy.signal.filtfilt``.

    Parameters
    ----------
    b, a, x, axis
        As of ``lfilter``.
    padtype : {"odd", "even", "constant", None}
        How the signal goes on at its ends.
    padlen : int, optional
        How far; by default three times the number of coefficients.

    Returns
    -------
    array
        Of the shape of ``x``.
    """
    b, a, x = inexact(xp, b, a, x)
    x = xp.moveaxis(x, axis, -1)
    edge = 3 * max(a.shape[0], b.shape[0]) if padlen is None else padlen
    edge = 0 if padtype is None else edge
    if x.shape[-1] <= edge:
        raise ValueError(f"padlen is {edge}, and must be less than the signal's {x.shape[-1]}")
    wide = _extended(x, padtype, edge, xp)
    zi = lfilter_zi(xp, b, a)
    for _ in range(2):
        y, _ = lfilter(xp, b, a, wide, zi=zi * wide[..., :1])
        wide = xp.flip(y, axis=-1)
    return xp.moveaxis(wide[..., edge : edge + x.shape[-1]], -1, axis)


def _extended(x: Any, padtype: str | None, edge: int, xp: Any) -> Any:
    if padtype not in ("odd", "even", "constant", None):
        raise ValueError(f"padtype must be 'odd', 'even', 'constant' or None, not {padtype!r}")
    if not edge:
        return x
    first, last = x[..., :1], x[..., -1:]
    before = xp.flip(x[..., 1 : edge + 1], axis=-1)
    after = xp.flip(x[..., -edge - 1 : -1], axis=-1)
    if padtype == "odd":
        before, after = 2 * first - before, 2 * last - after
    elif padtype == "constant":
        before, after = (xp.broadcast_to(each, before.shape) for each in (first, last))
    return xp.concat([before, x, after], axis=-1)


composed(signal, lfilter, lfilter_zi, sosfilt, filtfilt)
