"""The largest number that each op gave: what is close to overflow in a narrow dtype."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import agnograd as ag
from agnograd.extend import Call, hookimpl

__all__ = ["Largest"]


class Largest:
    """Keep the largest absolute value that each op gave, forward and backward.

    It waits for every result. NaN counts as larger than all numbers.

    Attributes
    ----------
    forward, backward : dict
        The largest absolute value by the op's name.
    """

    def __init__(self) -> None:
        self.forward: dict[str, float] = {}
        self.backward: dict[str, float] = {}
        self._lock = threading.Lock()  # one object may be active in many threads

    @hookimpl
    def forward_postprocess(self, op: Call, outputs: Sequence[Any]) -> None:
        """Look at an op's results; there are none if it failed."""
        self._note(self.forward, op, outputs)

    @hookimpl
    def backward_postprocess(self, op: Call, grad_inputs: Sequence[Any]) -> None:
        """Look at the gradients that an op's rule gave; there are none if it failed."""
        self._note(self.backward, op, grad_inputs)

    def _note(self, known: dict[str, float], op: Call, arrays: Sequence[Any]) -> None:
        for array in arrays:
            value = _largest(array)
            with self._lock:
                if value > known.get(op.name, -1.0) or value != value:
                    known[op.name] = value


def _largest(array: Any) -> float:
    """Return the largest absolute value, or -1 of what has none."""
    if array is None or 0 in array.shape:
        return -1.0
    xp = ag.namespace(array)
    if not xp.isdtype(array.dtype, ("real floating", "complex floating")):
        return -1.0
    return float(xp.max(xp.abs(array)).item())
