"""Registering with SciPy, which is imported for it."""

from __future__ import annotations

from functools import cache

import scipy.fft

from agnograd_fft.dispatch import ScipyFFT

__all__ = ["register_once"]


@cache
def register_once() -> None:
    """Let Variables be asked before SciPy's own backend, which would convert them."""
    scipy.fft.set_global_backend(ScipyFFT)
    scipy.fft.register_backend("scipy")
