"""Cosine, sine and Hankel transforms in ``xp.fft``, and SciPy's ``scipy.fft`` on Variables.

``register()`` makes the functions of ``scipy.fft`` take Variables.
"""

from typing import Any

from agnograd.extend import OpSet, later

__all__ = ["ScipyFFT", "ops", "register"]

ops = OpSet(
    "fft",
    samples="agnograd_fft.samples",
    kernels={each: f"agnograd_fft.kernels.{each}" for each in ("cupy", "numpy")},
    extension="fft",
    modules=[f"agnograd_fft.{each}" for each in ("trigonometric", "several", "hankel")],
)


def __getattr__(name: str) -> Any:
    if name in ("ScipyFFT", "register"):  # finding the op set imports no more than that
        return later("agnograd_fft.dispatch", name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
