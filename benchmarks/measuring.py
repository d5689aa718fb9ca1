"""The comparison: who takes part, whether all agree, and the rounds."""

from __future__ import annotations

import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.agreement import disagreement
from benchmarks.children import Child, ChildError, MissingLibraryError
from benchmarks.workloads import WORKLOADS, workload_named

__all__ = [
    "BACKWARD",
    "COMPILED",
    "HAND",
    "LOOP",
    "OURS",
    "Comparison",
    "Plan",
    "Run",
    "compare",
    "machine",
    "participants",
    "prepare",
]

# What all others are compared with, and agnograd's ways: ``ag.grad`` and ``ag.vmap``, ``backward``,
# ``ag.compile``, and a loop over members.
HAND, OURS, BACKWARD, LOOP = "hand", "agnograd", "agnograd_backward", "agnograd_loop"
COMPILED = "agnograd_compiled"


@dataclass(frozen=True)
class Plan:
    """What to compare, and how.

    Attributes
    ----------
    against : sequence of str
        Peers, besides the reference and agnograd.
    workloads : sequence of str
        Names in the table of workloads.
    sizes : str
        ``"full"`` or ``"small"``.
    rounds : int
        How often each implementation is asked for times, in turn.
    budget : float
        For how many seconds it computes, each time it is asked.
    pythons : mapping
        Interpreters of implementations that have one of their own.
    patience : float
        For how many seconds an answer is waited for.
    fresh : bool
        Whether each workload gets new processes. The memory that a process has freed before can
        make it faster or slower.
    keep_memory : bool
        Whether processes keep what they free, or give it back as the C library sees fit.
    threads : int
        How many threads libraries use. With more than one, times are by the clock: others on the
        machine count then.
    reference : str
        Whose derivatives and times are what all others are compared with: what is written by hand,
        or agnograd.
    """

    against: Sequence[str] = ()
    workloads: Sequence[str] = tuple(WORKLOADS)
    sizes: str = "full"
    rounds: int = 9
    budget: float = 0.1
    pythons: Mapping[str, str] = field(default_factory=dict)
    patience: float = 600.0
    fresh: bool = True
    keep_memory: bool = True
    threads: int = 1
    reference: str = HAND


@dataclass
class Run:
    """What an implementation did with a workload: times in seconds, or why there are none.

    ``first`` is the time of the first call, which may compile; ``rounds`` has a median for each
    round; ``ratio`` is what it took over what the reference took.
    """

    first: float | None = None
    rounds: list[float] = field(default_factory=list)
    ratio: float | None = None
    lacks: str = ""
    failed: str = ""

    @property
    def seconds(self) -> float | None:
        """The median over the rounds."""
        return statistics.median(self.rounds) if self.rounds else None

    def over(self, other: Run) -> float | None:
        """How many times as long as another one it took: the median over the rounds.

        The times of one round are near each other: those of a machine's speed, which may change.
        """
        if not (self.rounds and other.rounds):
            return None
        pairs = zip(self.rounds, other.rounds, strict=True)
        found = [mine / theirs for mine, theirs in pairs if theirs]
        return statistics.median(found) if found else None


@dataclass
class Comparison:
    """What was found: who took part, who was left out and why, and what each did.

    ``absent`` has the names of those that did not start.
    """

    sizes: str
    machine: Mapping[str, Any]
    reference: str = HAND
    implementations: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    runs: dict[str, dict[str, Run]] = field(default_factory=dict)


def compare(plan: Plan, progress: Callable[[str], None] = lambda message: None) -> Comparison:
    """Run the workloads by each implementation, check that all agree, and time them in turn.

    Parameters
    ----------
    plan : Plan
        What to compare, and how.
    progress : callable
        Is told the name of each workload before it is run.

    Raises
    ------
    ChildError
        The reference, or agnograd, does not start, or the former fails.
    """
    comparison = Comparison(plan.sizes, machine(), plan.reference)
    together = [[each] for each in plan.workloads] if plan.fresh else [plan.workloads]
    for workloads in together:
        with participants(plan, comparison) as children:
            for workload in workloads:
                progress(workload)
                comparison.runs[workload] = _run(plan, comparison, workload, children)
    return comparison


def _run(
    plan: Plan, comparison: Comparison, workload: str, children: Sequence[Child]
) -> dict[str, Run]:
    """Let all children compute a workload, and time those that agree."""
    with tempfile.TemporaryDirectory() as folder:
        runs = {
            child.name: prepare(plan, comparison, workload, child, Path(folder))
            for child in children
            if child.alive
        }
    ready = [child for child in children if child.name in runs]
    comparison.failures += (f"{workload}: {each}" for each in _time(plan, runs, ready))
    for run in runs.values():
        run.ratio = run.over(runs[plan.reference])
    return runs


@contextmanager
def participants(plan: Plan, comparison: Comparison) -> Iterator[list[Child]]:
    """Start a child for each implementation, and end them all; leave out what is missing."""
    with ExitStack() as stack:
        children = []
        for name in dict.fromkeys((plan.reference, OURS, *plan.against)):
            if name in comparison.absent:
                continue
            python = plan.pythons.get(name, sys.executable)
            try:
                settings = plan.patience, plan.keep_memory, plan.threads
                child = stack.enter_context(Child(name, python, *settings))
                comparison.implementations[name] = child.load()
            except ChildError as error:
                if name in (plan.reference, OURS):
                    raise
                comparison.absent.append(name)
                kind = isinstance(error, MissingLibraryError)
                (comparison.left_out if kind else comparison.failures).append(str(error))
            else:
                children.append(child)
        yield children


def machine() -> dict[str, Any]:
    """Return what is known of this machine, and how busy it was."""
    model = ""
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        model = next(names, "")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    system = platform.platform(terse=True)
    return {"system": system, "processor": model, "processors": os.cpu_count(), "load": load}


def prepare(plan: Plan, comparison: Comparison, workload: str, child: Child, folder: Path) -> Run:
    """Let a child compute a workload once; compare its derivatives with the reference's."""
    needs, tolerance = workload_named(workload).needs, workload_named(workload).tolerance
    if needs in comparison.implementations[child.name]["lacks"]:
        return Run(lacks=needs)
    path = folder / f"{child.name}.npz"
    request = {"workload": workload, "sizes": plan.sizes, "gradients": str(path)}
    try:
        run = Run(first=child.ask("prepare", **request)["first"])
    except ChildError as error:
        if child.name == plan.reference:
            raise
        run = Run(failed=str(error))
    else:
        difference = disagreement(path, folder / f"{plan.reference}.npz", tolerance)
        run.failed = f"{child.name}: {difference}" if difference else ""
    if run.failed:
        comparison.failures.append(f"{workload}: {run.failed}")
    return run


def _time(plan: Plan, runs: Mapping[str, Run], children: Iterable[Child]) -> Iterator[str]:
    """Ask in turn for times; in each round, another child is the first one. Yield failures."""
    ready = [child for child in children if not (runs[child.name].failed or runs[child.name].lacks)]
    for _ in range(plan.rounds):
        for child in list(ready):
            run = runs[child.name]
            try:
                request = {"budget": plan.budget, "by_clock": plan.threads > 1}
                seconds = child.ask("time", **request)["seconds"]
            except ChildError as error:
                if child.name == plan.reference:
                    raise
                run.failed, run.rounds = str(error), []
                ready.remove(child)
                yield run.failed
            else:
                run.rounds.append(statistics.median(seconds))
        ready.append(ready.pop(0))
