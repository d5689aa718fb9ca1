"""How much memory derivatives need at their peak, against what is written by hand."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.children import ChildError
from benchmarks.measuring import Comparison, Plan, machine, participants, prepare

__all__ = ["TRACED", "memory"]

# Those whose arrays are NumPy's, which tells of its allocations.
TRACED = ("agnograd_compiled", "autograd", "mygrad")


def memory(
    plan: Plan, progress: Callable[[str], None] = lambda message: None
) -> tuple[Comparison, dict[str, dict[str, int]]]:
    """Return who took part, and the most bytes that each held at a time, workload by workload.

    Each implementation runs in its own process, where all gradients agree first.
    """
    comparison = Comparison(plan.sizes, machine())
    peaks: dict[str, dict[str, int]] = {}
    with participants(plan, comparison) as children, tempfile.TemporaryDirectory() as folder:
        for workload in plan.workloads:
            progress(workload)
            peaks[workload] = {}
            for child in children:
                if not child.alive:
                    continue
                run = prepare(plan, comparison, workload, child, Path(folder))
                if run.failed or run.lacks:
                    continue
                try:
                    peaks[workload][child.name] = child.ask("memory")["bytes"]
                except ChildError as error:
                    comparison.failures.append(f"{workload}: {error}")
    return comparison, peaks
