"""The coefficients of fast Hankel transforms, computed on the host."""

from __future__ import annotations

import math
import warnings

import numpy as np
from scipy.special import loggamma, poch

__all__ = ["coefficients"]


def coefficients(
    n: int, dln: float, mu: float, offset: float, bias: float, inverse: bool
) -> list[complex]:
    """Return Hamilton's u_m for m = 0 … n // 2.

    ``u_m = (kr)^(-2 pi i m / (n dln)) U(bias + 2 pi i m / (n dln))``, where
    ``U(x) = 2^x Gamma((mu + 1 + x) / 2) / Gamma((mu + 1 - x) / 2)`` and kr is exp(offset), as SciPy
    has it.
    """
    above, below = (mu + 1 + bias) / 2, (mu + 1 - bias) / 2
    y = np.linspace(0, math.pi * (n // 2) / (n * dln), n // 2 + 1)
    # Of the conjugate, which is that of the denominator's argument.
    log = loggamma(above + 1j * y) - np.conj(loggamma(below + 1j * y))
    log = log + math.log(2) * bias + 2j * y * (math.log(2) - offset)
    with np.errstate(invalid="ignore", over="ignore"):
        u = np.exp(log)
    if n % 2 == 0:
        u[-1] = u[-1].real  # of the highest frequency of an even length
    if not np.isfinite(u[0]):
        u[0] = 2**bias * poch(below, above - below)
    if np.isinf(u[0]) and not inverse:
        warnings.warn("AGNOGRAD: singular transform; consider changing the bias", stacklevel=2)
        u[0] = 0
    elif u[0] == 0 and inverse:
        warnings.warn(
            "AGNOGRAD: singular inverse transform; consider changing the bias", stacklevel=2
        )
        u[0] = np.inf
    return [complex(each) for each in u]
