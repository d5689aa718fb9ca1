"""What a call of an op costs in PyTorch: by a library for its engine, and by kernel and rule."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import agnograd as ag
from agnograd.extend import domain_named

__all__ = ["engines"]

SMALL = torch.linspace(0.5, 1.5, 8, dtype=torch.float64)
POLES = torch.asarray([1.5, -0.4, 0.2], dtype=torch.float64)


class Empty(torch.autograd.Function):  # type: ignore[misc]
    """A function that does nothing."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Return a copy."""
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        """Return the cotangent."""
        (_,) = ctx.saved_tensors
        return g


def engines(rounds: int, count: int) -> dict[str, dict[str, float]]:
    """Return microseconds a call, the medians of rounds that take turns.

    Parameters
    ----------
    rounds : int
        How often each way is measured.
    count : int
        How many times in a row a function is called.

    Returns
    -------
    dict
        ``{op: {"kernel": …, "forward": …, "kernel and rule": …, "both": …}}``. "kernel" and
        "kernel and rule" are calls on tensors without PyTorch's graph, "forward" and "both" those
        of the library, in a graph. "empty" is a function that does nothing.
    """
    raw, library = domain_named("torch").raw, ag.bridge.library
    g, x = torch.ones_like(SMALL), SMALL.clone().requires_grad_()
    filtered, kve = library("signal").all_pole, library("special").kve

    def backwards(g: Any) -> Any:
        return raw.flip(raw.signal.all_pole(raw.flip(g, axis=-1), POLES), axis=-1)

    def slope(x: Any, out: Any) -> Any:  # the rule of kve
        return out - (raw.special.kve(0.5, x) + raw.special.kve(2.5, x)) / 2

    ways: dict[str, tuple[Callable[[], Any], ...]] = {
        "empty": _ways(torch.clone, lambda g, x, out: g, Empty.apply, x, g),
        "signal.all_pole": _ways(
            lambda x: raw.signal.all_pole(x, POLES),
            lambda g, x, out: backwards(g),
            lambda x: filtered(x, POLES),
            x,
            g,
        ),
        "special.kve": _ways(
            lambda x: raw.special.kve(1.5, x),
            lambda g, x, out: g * slope(x, out),
            lambda x: kve(1.5, x),
            x,
            g,
        ),
    }
    names = ("kernel", "forward", "kernel and rule", "both")
    return {
        op: dict(zip(names, _medians(each, rounds, count), strict=True))
        for op, each in ways.items()
    }


def _ways(kernel: Any, rule: Any, function: Any, x: Any, g: Any) -> tuple[Callable[[], Any], ...]:
    plain = x.detach()

    def by_hand() -> Any:
        out = kernel(plain)
        return rule(g, plain, out)

    return (
        lambda: kernel(plain),
        lambda: function(x),
        by_hand,
        lambda: torch.autograd.grad(function(x), x, g),
    )


def _medians(ways: tuple[Callable[[], Any], ...], rounds: int, count: int) -> list[float]:
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(rounds):
        for found, way in zip(times, ways, strict=True):
            start = time.process_time()
            for _ in range(count):
                way()
            found.append(time.process_time() - start)
    return [statistics.median(found) / count * 1e6 for found in times]
