"""The networks of the example ``convnets.py``, which are compared only with peers'."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.workloads.case import Case
from examples import networks

__all__ = ["convnet"]


def convnet(rng: np.random.Generator, *, arch: str, batch: int, narrow: int) -> Case:
    """Return the mean cross-entropy of a network's scores of random images."""

    def value(xp: Any, *arrays: Any) -> Any:
        *parameters, images, labels = arrays
        return networks.loss(xp, arch, parameters, images, labels)

    parameters = []
    for shape in networks.shapes(arch, narrow):
        weight = rng.standard_normal(shape, dtype=np.float32)
        parameters.append(weight * np.float32(math.sqrt(2.0 / math.prod(shape[1:]))))
        parameters.append(np.zeros(shape[:1], dtype=np.float32))
    size = networks.SIZES[arch]
    images = rng.standard_normal((batch, 3, size, size), dtype=np.float32)
    return Case(value, None, tuple(parameters), (images, rng.integers(0, networks.CLASSES, batch)))
