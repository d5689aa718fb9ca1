"""Fast Hankel transforms: FFTLog (Hamilton, MNRAS 312, 257, 2000)."""

from __future__ import annotations

from typing import Any

from agnograd.errors import MissingRuleError
from agnograd.extend import device_of, is_tracked
from agnograd_fft import ops

__all__: list[str] = []


def _transform(xp: Any, a: Any, dln: Any, mu: Any, offset: Any, bias: Any, inverse: bool) -> Any:
    from agnograd_fft.kernels.coefficients import coefficients

    for name, value in {"dln": dln, "mu": mu, "offset": offset, "bias": bias}.items():
        if is_tracked(value):
            raise MissingRuleError(
                f"fft.fht has no derivative with respect to {name!r}: its coefficients are "
                f"computed on the host. If no gradient shall flow through it, give "
                f"ag.stop_gradient({name})."
            )
    dln, mu, offset, bias = float(dln), float(mu), float(offset), float(bias)
    a = xp.asarray(a)
    n, device = a.shape[-1], device_of(a)
    if not xp.isdtype(a.dtype, "real floating"):
        a = xp.astype(a, xp.float64)
    place = xp.astype(xp.arange(n, device=device), a.dtype) - (n - 1) / 2
    # Of the inverse, the bias is taken out before and put in after.
    before, after = (-bias, -bias) if not inverse else (bias, bias)
    if bias:
        a = a * xp.exp(before * (place * dln + (offset if inverse else 0.0)))
    values = coefficients(n, dln, mu, offset, bias, inverse)
    dtype = xp.result_type(a.dtype, xp.complex64)
    values = xp.asarray(values, dtype=dtype, device=device)
    spectrum = xp.fft.rfft(a, axis=-1)
    spectrum = spectrum / xp.conj(values) if inverse else spectrum * values
    a = xp.flip(xp.fft.irfft(spectrum, n=n, axis=-1), axis=-1)
    if bias:
        a = a * xp.exp(after * (place * dln + (0.0 if inverse else offset)))
    return a


def _fht(xp: Any, a: Any, /, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """Compute ``scipy.fft.fht`` along the last axis, recorded for differentiation."""
    return _transform(xp, a, dln, mu, offset, bias, inverse=False)


def _ifht(xp: Any, a: Any, /, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """Compute ``scipy.fft.ifht`` along the last axis, recorded for differentiation."""
    return _transform(xp, a, dln, mu, offset, bias, inverse=True)


ops.composed("fft.fht(a, /, dln, mu, offset=0.0, bias=0.0)", _fht)
ops.composed("fft.ifht(a, /, dln, mu, offset=0.0, bias=0.0)", _ifht)
