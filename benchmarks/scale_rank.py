"""What ``python -m benchmarks scale`` runs as several processes: they measure, and rank 0 tells.

``python -m agnograd_distributed -n 2 scale_rank.py WIDTH LAYERS BATCH STEPS FILE``
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


def profile(comm: Communicator, step: Callable[[], None], steps: int) -> dict[str, Any]:
    """Return the medians of steps that send nothing."""
    found = []
    with ag.hooks(Ready()) as (ready,):
        step()
        for _ in range(steps):
            whole = timed(comm, step)
            found.append((whole, ready.backward, [moment for moment, _ in ready.ready]))
        sizes = [nbytes for _, nbytes in ready.ready]
    wholes, passes, moments = zip(*found, strict=True)
    seconds, backward = statistics.median(wholes), statistics.median(passes)
    at = [statistics.median(each) for each in zip(*moments, strict=True)]
    return {
        "seconds": seconds,
        "backward": backward,
        "other": seconds - backward,
        "ready": list(zip(at, sizes, strict=True)),
    }


def durations(reduce: AllReduce, name: str) -> list[float]:
    """Return the seconds of what ``AllReduce`` did, but those of its first pass."""
    return [stop - start for each, start, stop in reduce.trace_events() if each == name][1:]


def costs(comm: Communicator, steps: int) -> tuple[float, float, float]:
    """Return the seconds of a bucket of no bytes, of each byte, and of the agreement.

    The passes of these buckets compute next to nothing.
    """
    xp, times, agreements = ag.namespace("numpy"), [], []
    for nbytes in SIZES:
        leaf = ag.Variable(np.ones(nbytes // 4, dtype="f4"))
        with ag.hooks(AllReduce(comm, [leaf], first=nbytes)) as (reduce,):
            for _ in range(steps + 1):
                loss = xp.sum(leaf * leaf)
                comm.barrier()
                loss.backward()
                leaf.grad = None
            times.append(statistics.median(durations(reduce, "bucket 0")))
            agreements += durations(reduce, "agree")
    each = max(times[1] - times[0], 0.0) / (SIZES[1] - SIZES[0])
    return max(times[0] - SIZES[0] * each, 0.0), each, statistics.median(agreements)


def measure(width: int, layers: int, batch: int, steps: int) -> dict[str, Any]:
    """Return a profile, the costs of buckets, and what steps take with ``AllReduce``."""
    with communicator() as comm:
        params, step = network(comm.rank, width, layers, batch)
        before = profile(comm, step, steps)
        with ag.hooks(AllReduce(comm, params)) as (reduce,):
            step()
            together = [timed(comm, step) for _ in range(steps)]
            report = reduce.to_dict()
        return {
            "rank": comm.rank,
            "profile": before,
            "costs": costs(comm, steps),
            "seconds": statistics.median(together),
            "report": report,
        }


if __name__ == "__main__":
    found = measure(*map(int, sys.argv[1:5]))
    if found["rank"] == 0:
        Path(sys.argv[5]).write_text(json.dumps(found))
