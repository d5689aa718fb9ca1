"""The op set that the modules of this package register their ops in."""

from agnograd.extend import OpSet

__all__ = ["ops"]

ops = OpSet(
    "fft",
    samples="agnograd_fft.samples",
    kernels={each: f"agnograd_fft.kernels.{each}" for each in ("cupy", "numpy")},
    extension="fft",
    modules=[f"agnograd_fft.{each}" for each in ("trigonometric", "several", "hankel")],
)
