"""What ``python -m benchmarks scale`` runs as several processes: they measure, and rank 0 tells.

``python -m agnograd_distributed -n 2 scale_rank.py WIDTH LAYERS BATCH ROUNDS FILE``
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import agnograd as ag
from agnograd.extend import hookimpl
from agnograd_distributed import AllReduce, Communicator, communicator

__all__ = ["measure"]

STEPS = 3  # of each kind, in a round
SIZES = (1 << 16, 1 << 22)  # bytes of the buckets whose times give those of all others


class Ready:
    """It notes when a pass begins and ends, and when each gradient is final."""

    @hookimpl
    def backward_start(self) -> None:
        """Begin."""
        self.start = perf_counter()
        self.ready: list[tuple[float, int]] = []

    @hookimpl
    def gradient_ready(self, variable: ag.Variable, grad: Any) -> None:
        """Note the moment, and the bytes."""
        self.ready.append((perf_counter() - self.start, variable.data.nbytes))

    @hookimpl
    def backward_finish(self) -> None:
        """End."""
        self.backward = perf_counter() - self.start


def network(rank: int, width: int, layers: int, batch: int) -> tuple[list[Any], Callable[[], None]]:
    """Return the parameters of a network, and a function that takes a step of gradient descent."""
    xp, rng = ag.namespace("numpy"), np.random.default_rng(0)
    scale = np.float32(width**-0.5)
    weights, biases = (
        [ag.Variable(rng.normal(size=shape).astype("f4") * scale) for _ in range(layers)]
        for shape in ((width, width), (width,))
    )
    images = np.random.default_rng(1 + rank).normal(size=(batch, width)).astype("f4")

    def step() -> None:
        h = xp.asarray(images)
        for weight, bias in zip(weights, biases, strict=True):
            h = xp.tanh(h @ weight + bias)
        xp.mean(h * h).backward()
        for each in (*weights, *biases):
            assert each.grad is not None
            each.data[...] -= np.float32(0.01) * each.grad.data
            each.grad = None

    return [*weights, *biases], step


def timed(comm: Communicator, step: Callable[[], None]) -> float:
    """Return the seconds of a step that all ranks begin together."""
    comm.barrier()
    start = perf_counter()
    step()
    return perf_counter() - start


def without(comm: Communicator, step: Callable[[], None]) -> list[tuple[Any, ...]]:
    """Return the seconds of steps that send nothing, of their passes, and until each gradient."""
    found = []
    with ag.hooks(Ready()) as (ready,):
        for _ in range(STEPS):
            seconds = timed(comm, step)
            found.append((seconds, ready.backward, *(moment for moment, _ in ready.ready)))
    return found


def together(comm: Communicator, params: list[Any], step: Callable[[], None]) -> list[float]:
    """Return the seconds of steps with ``AllReduce``, but those of its first one."""
    with ag.hooks(AllReduce(comm, params)):
        return [timed(comm, step) for _ in range(STEPS + 1)][1:]


def durations(reduce: AllReduce, name: str) -> list[float]:
    """Return the seconds of what ``AllReduce`` did, but those of its first pass."""
    return [stop - start for each, start, stop in reduce.trace_events() if each == name][1:]


def costs(comm: Communicator, nbytes: int) -> tuple[list[float], list[float]]:
    """Return the seconds of buckets of a size, and those of agreements.

    The passes of these buckets compute next to nothing.
    """
    xp, leaf = ag.namespace("numpy"), ag.Variable(np.ones(nbytes // 4, dtype="f4"))
    with ag.hooks(AllReduce(comm, [leaf], first=nbytes)) as (reduce,):
        for _ in range(STEPS + 1):
            loss = xp.sum(leaf * leaf)
            comm.barrier()
            loss.backward()
            leaf.grad = None
        return durations(reduce, "bucket 0"), durations(reduce, "agree")


def measure(width: int, layers: int, batch: int, rounds: int) -> dict[str, Any]:
    """Return medians of what was measured in turn: a profile, costs, and steps with AllReduce."""
    with communicator() as comm:
        params, step = network(comm.rank, width, layers, batch)
        with ag.hooks(Ready()) as (ready,):
            step()
        profiles, seconds, agreements = [], [], []
        times: dict[int, list[float]] = {nbytes: [] for nbytes in SIZES}
        for _ in range(rounds):
            profiles += without(comm, step)
            seconds += together(comm, params, step)
            for nbytes, found in times.items():
                buckets, agreed = costs(comm, nbytes)
                found += buckets
                agreements += agreed
        whole, backward, *moments = map(statistics.median, zip(*profiles, strict=True))
        small, large = (statistics.median(found) for found in times.values())
        each = max(large - small, 0.0) / (SIZES[1] - SIZES[0])
        sizes = [nbytes for _, nbytes in ready.ready]
        return {
            "rank": comm.rank,
            "without": whole,
            "with": statistics.median(seconds),
            "profile": (whole - backward, backward, list(zip(moments, sizes, strict=True))),
            "costs": (max(small - SIZES[0] * each, 0.0), each, statistics.median(agreements)),
        }


if __name__ == "__main__":
    found = measure(*map(int, sys.argv[1:5]))
    if found["rank"] == 0:
        Path(sys.argv[5]).write_text(json.dumps(found))
