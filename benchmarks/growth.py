"""How the time of an op grows with the graph: with its depth, and with its width."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import agnograd as ag

__all__ = ["SHAPES", "growth"]

START = np.linspace(0.1, 0.9, 3)


def depth(xp: Any, count: int) -> Any:
    """Return the end of a chain of ops."""
    y = ag.Variable(START)
    for _ in range(count):
        y = xp.sin(y)
    return y


def uses(xp: Any, count: int) -> Any:
    """Return the end of a chain whose every op uses the same leaf."""
    x = ag.Variable(START)
    y = x
    for _ in range(count):
        y = y + x
    return y


def leaves(xp: Any, count: int) -> Any:
    """Return the end of a chain whose every op uses another leaf."""
    y = ag.Variable(START)
    for _ in range(count):
        y = y + ag.Variable(START)
    return y


def inputs(xp: Any, count: int) -> Any:
    """Return one op of many inputs, each the result of an op."""
    x = ag.Variable(START)
    return xp.concat([xp.sin(x) for _ in range(count)])


SHAPES: dict[str, Callable[[Any, int], Any]] = {
    "depth: y = sin(y)": depth,
    "width: y = y + x, one x": uses,
    "width: y = y + x, each x another": leaves,
    "width: concat of many": inputs,
}


def growth(counts: Iterable[int], rounds: int) -> dict[str, dict[int, tuple[float, float]]]:
    """Return microseconds for each op, forward and backward: of each shape, for each count.

    They are the best of some rounds: what is asked is whether they are the same.
    """
    xp = ag.namespace("numpy")
    return {
        name: {count: _best(shape, xp, count, rounds) for count in counts}
        for name, shape in SHAPES.items()
    }


def _best(
    shape: Callable[[Any, int], Any], xp: Any, count: int, rounds: int
) -> tuple[float, float]:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        out = shape(xp, count)
        between = time.process_time()
        out.backward(np.ones(out.shape))
        end = time.process_time()
        del out
        times.append((between - start, end - between))
    forward, backward = (min(each) / count * 1e6 for each in zip(*times, strict=True))
    return forward, backward
