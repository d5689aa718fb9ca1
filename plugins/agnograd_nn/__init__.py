"""Operations of neural networks, as ops in the namespace ``xp.nn``, and ``xp.einsum``."""

from __future__ import annotations

from agnograd.extend import OpSet

__all__ = ["ops"]

MODULES = (
    *("activations", "attention", "averages", "batch", "conv", "convolution", "dropout"),
    *("embedding", "linear", "losses", "maxima", "normalisation", "pooling"),
)
WITH_KERNELS = ("cupy", "jax", "numpy", "torch")

ops = OpSet(
    "nn",
    samples="agnograd_nn.samples",
    kernels={each: f"agnograd_nn.kernels.{each}" for each in WITH_KERNELS},
    extension="nn",
    modules=[f"agnograd_nn.{each}" for each in MODULES],
)
