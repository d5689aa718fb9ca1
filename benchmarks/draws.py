"""How long random numbers take, of a key and of NumPy's own generator, in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import agnograd as ag

__all__ = ["DRAWS", "draws"]

# By name: what draws so many numbers by a generator of NumPy, and by a key.
DRAWS: Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "uniform": (
        lambda rng, count, dtype: rng.random(count, dtype),
        lambda random, key, count, dtype: random.uniform(key, count, dtype=dtype),
    ),
    "normal": (
        lambda rng, count, dtype: rng.standard_normal(count, dtype),
        lambda random, key, count, dtype: random.normal(key, count, dtype=dtype),
    ),
    "exponential": (
        lambda rng, count, dtype: rng.standard_exponential(count, dtype),
        lambda random, key, count, dtype: random.exponential(key, count, dtype=dtype),
    ),
    "gamma": (
        lambda rng, count, dtype: rng.standard_gamma(2.0, count, dtype),
        lambda random, key, count, dtype: random.gamma(key, count, 2.0, dtype=dtype),
    ),
}


def draws(count: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return, by distribution and dtype, medians of seconds, and their quotient."""
    xp = ag.namespace("numpy")
    rng, key = np.random.default_rng(0), xp.random.key(0)
    found = {}
    for name, (theirs, ours) in DRAWS.items():
        for dtype in (np.float32, np.float64):
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(rounds + 1):  # the first one warms up
                times[0].append(_seconds(theirs, rng, count, dtype))
                times[1].append(_seconds(ours, xp.random, key, count, dtype))
            generator, agnograd = (statistics.median(each[1:]) for each in times)
            found[f"{name}, {dtype.__name__}"] = {
                "generator": generator,
                "agnograd": agnograd,
                "ratio": agnograd / generator,
            }
    return found


def _seconds(draw: Callable[..., Any], *args: Any) -> float:
    start = time.perf_counter()
    draw(*args)
    return time.perf_counter() - start
