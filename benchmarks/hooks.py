"""What active plugins add to the cost of one op, forward and backward, beside their own bodies."""

from __future__ import annotations

import statistics
import time

import numpy as np

import agnograd as ag
from agnograd.extend import hookimpl

__all__ = ["PLUGINS", "hooks"]


class Pass:
    """Asks only for passes."""

    @hookimpl
    def backward_start(self) -> None:
        """Do nothing."""


class Rule:
    """Asks for rules."""

    @hookimpl
    def backward_postprocess(self) -> None:
        """Do nothing."""


class RuleAndOp:
    """Asks for rules, and asks which op it is and for the gradients."""

    @hookimpl
    def backward_postprocess(self, op: object, grad_inputs: object) -> None:
        """Do nothing."""


class Op:
    """Asks for ops."""

    @hookimpl
    def forward_postprocess(self) -> None:
        """Do nothing."""


class All(Op, Rule):
    """Asks for ops and rules, before and after."""

    @hookimpl
    def forward_preprocess(self) -> None:
        """Do nothing."""

    @hookimpl
    def backward_preprocess(self) -> None:
        """Do nothing."""


PLUGINS = {
    "none": (),
    "backward_start": (Pass,),
    "backward_postprocess": (Rule,),
    "backward_postprocess(op, grad_inputs)": (RuleAndOp,),
    "forward_postprocess": (Op,),
    "all four around ops and rules": (All,),
    "two plugins with all four": (All, All),
    "nan": ("nan",),
    "timer": ("timer",),
}


def hooks(rounds: int, count: int) -> dict[str, tuple[float, float]]:
    """Return microseconds an op, forward and backward, with these plugins active.

    Parameters
    ----------
    rounds : int
        How often each is measured, in turn.
    count : int
        How many steps ``sin(y * 0.9 + 0.1)`` on 10 float64 a chain has.
    """
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in PLUGINS}
    for _ in range(rounds):
        for name, plugins in PLUGINS.items():
            with ag.hooks(*plugins):
                times[name].append(_chain(count))
    return {
        name: (
            statistics.median(forward for forward, _ in each) / (3 * count) * 1e6,
            statistics.median(backward for _, backward in each) / (3 * count) * 1e6,
        )
        for name, each in times.items()
    }


def _chain(count: int) -> tuple[float, float]:
    xp = ag.namespace("numpy")
    y = ag.Variable(np.linspace(0.0, 1.0, 10))
    start = time.process_time()
    for _ in range(count):
        y = xp.sin(y * 0.9 + 0.1)
    middle = time.process_time()
    y.backward(np.ones(10))
    return middle - start, time.process_time() - middle
