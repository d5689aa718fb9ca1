"""The op set that the modules of this package register their ops in."""

from __future__ import annotations

from agnograd.extend import OpSet

__all__ = ["ops"]

ops = OpSet(
    "scipy",
    samples="agnograd_scipy.samples",
    kernels={each: f"agnograd_scipy.kernels.{each}" for each in ("numpy", "torch")},
)
