"""Random numbers that are functions of keys, ``xp.random``: the same ones on every backend."""

from __future__ import annotations

from agnograd.extend import OpSet

__all__ = ["ops"]

MODULES = ("discrete", "distributions", "gammas", "keys", "standard", "truncated", "vectors")
WITH_KERNELS = ("dask", "jax", "numpy", "torch")

ops = OpSet(
    "random",
    samples="agnograd_random.samples",
    kernels={each: f"agnograd_random.kernels.{each}" for each in WITH_KERNELS},
    extension="random",
    modules=[f"agnograd_random.{each}" for each in MODULES],
)
