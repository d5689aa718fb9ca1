"""What one op costs on a small array: recorded, not recorded, backward, and in NumPy itself."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import agnograd as ag

__all__ = ["OPS", "overhead"]

SQUARE = np.linspace(0.1, 0.9, 9).reshape(3, 3)
MASK = SQUARE > 0.5

# Each keeps the shape, so that its result is its next input.
OPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda xp, x: xp.add(x, SQUARE),
    "multiply": lambda xp, x: xp.multiply(x, SQUARE),
    "x * 0.9": lambda xp, x: x * 0.9,
    "sin": lambda xp, x: xp.sin(x),
    "where": lambda xp, x: xp.where(MASK, x, SQUARE),
    "matmul": lambda xp, x: xp.matmul(x, SQUARE),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (1, 0)),
    "reshape": lambda xp, x: xp.reshape(x, (3, 3)),
    "x[:, :]": lambda xp, x: x[:, :],
    "sum": lambda xp, x: xp.sum(x, axis=0, keepdims=True),
}


def overhead(rounds: int, count: int) -> dict[str, dict[str, float]]:
    """Return microseconds for each op, the medians of rounds that take turns.

    Parameters
    ----------
    rounds : int
        How often each way is measured.
    count : int
        How many times in a row an op is called.

    Returns
    -------
    dict
        ``{op: {"numpy": …, "not recorded": …, "recorded": …, "backward": …}}``; a pass's fixed
        cost is spread over the ops.
    """
    return {name: _op(function, rounds, count) for name, function in OPS.items()}


def _op(function: Callable[[Any, Any], Any], rounds: int, count: int) -> dict[str, float]:
    xp = ag.namespace("numpy")
    times: dict[str, list[float]] = {
        "numpy": [],
        "not recorded": [],
        "recorded": [],
        "backward": [],
    }
    for _ in range(rounds):
        times["numpy"].append(_forward(function, np, SQUARE, count)[0])
        constant = ag.Variable(SQUARE, requires_grad=False)
        times["not recorded"].append(_forward(function, xp, constant, count)[0])
        leaf = ag.Variable(SQUARE)
        seconds, out = _forward(function, xp, leaf, count)
        times["recorded"].append(seconds)
        start = time.process_time()
        out.backward(np.ones(out.shape))
        times["backward"].append(time.process_time() - start)
    return {kind: statistics.median(each) / count * 1e6 for kind, each in times.items()}


def _forward(function: Callable[[Any, Any], Any], xp: Any, x: Any, count: int) -> tuple[float, Any]:
    start = time.process_time()
    for _ in range(count):
        x = function(xp, x)
    return time.process_time() - start, x
