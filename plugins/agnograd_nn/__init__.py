"""Operations of neural networks, as ops in the namespace ``xp.nn``, and ``xp.einsum``."""

from __future__ import annotations

from agnograd.extend import OpSet

__all__ = ["ops"]

MODULES = (
    *("activations", "attention", "averages", "batch", "conv", "convolution", "dropout"),
    *("embedding", "linear", "losses", "maxima", "normalisation", "pooling"),
)
# The modules of libraries' own kernels, by the names of backends.
KERNELS = {"cupy": "columns", "jax": "jax", "numpy": "columns", "torch": "torch"}

ops = OpSet(
    "nn",
    samples="agnograd_nn.samples",
    kernels={name: f"agnograd_nn.kernels.{module}" for name, module in KERNELS.items()},
    extension="nn",
    modules=[f"agnograd_nn.{each}" for each in MODULES],
)
