"""A lowering: programs run step by step, and the steps that ran are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from agnograd.extend import Lock
from agnograd_compile.lowering import Lowering, Runnable, TracedProgram, straight

__all__ = ["Counted", "lowering"]


class Counted(Lowering):
    """Runs the steps of a program one after the other, and counts them.

    Attributes
    ----------
    calls : Counter
        How often each op ran, in all programs.
    """

    exact = True

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._lock = Lock()

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program."""
        run, steps = straight(program), Counter(step.op for step in program.steps)

        def counted(arrays: Sequence[Any]) -> list[Any]:
            with self._lock:  # threads share the counter
                self.calls.update(steps)
            return run(arrays)

        return counted


lowering = Counted()
