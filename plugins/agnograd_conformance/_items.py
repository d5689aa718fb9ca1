"""The suite as pytest collects it: a tree of ops, and an item for each check and dtype."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from agnograd.errors import AgnogradError
from agnograd.extend import backend_named
from agnograd.testing.gaps import Gap, GapError, read_gaps
from agnograd_conformance._basics import BackendError
from agnograd_conformance._report import result
from agnograd_conformance._suite import (
    Cell,
    Outcome,
    Selection,
    SelectionError,
    cells,
    run,
)

__all__ = ["Item", "Suite", "selection_of"]

_SHOWN = 3  # failures of one item that are printed in full


class Failures(Exception):  # noqa: N818 - several
    """What failed in one item."""


def selection_of(config: pytest.Config) -> Selection:
    """Return what the options select."""
    given: dict[str, Any] = {}
    for name in Selection._fields:
        value = config.getoption(f"agnograd_{name}")
        given[name] = tuple(value) if isinstance(value, list) else value
    given["backend"] = given["backend"] or os.environ.get("AGNOGRAD_BACKEND") or "numpy"
    return Selection(**given)


class Suite(pytest.Directory):
    """All that is selected, as a collector of ops."""

    selection: Selection
    gaps: Sequence[Gap]

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield a collector for each op."""
        self.selection = selection_of(self.config)
        try:
            found = cells(self.selection)
            self.gaps = _gaps(self.config, self.selection, found)
        except (SelectionError, BackendError, GapError, AgnogradError, OSError) as error:
            raise self.CollectError(f"agnograd conformance: {error}") from error
        for op, group in groupby(found, key=lambda cell: cell.op):
            yield Op.from_parent(self, name=op, cells=list(group), suite=self)


def _gaps(config: pytest.Config, selection: Selection, found: Sequence[Cell]) -> list[Gap]:
    """Return the known gaps; in a run of all samples, each of them must name something."""
    path = config.getoption("agnograd_gaps")
    if path is None:
        return []
    gaps = read_gaps(Path(path))
    if selection._replace(double=False, few=(), lowering="auto") == Selection(selection.backend):
        names = [
            f"{trial.given!r}::{cell.check}[{cell.dtype}]"
            for cell in found
            for trial in cell.trials
        ]
        for gap in gaps:
            if not any(gap.is_of(name) for name in names):
                raise GapError(f"{path}: a gap names nothing: {gap.pattern}")
    return gaps


class Op(pytest.Collector):
    """One op."""

    def __init__(self, *, cells: Sequence[Cell], suite: Suite, **options: Any) -> None:
        super().__init__(**options)
        self.cells, self.suite = cells, suite

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each check and dtype."""
        for cell in self.cells:
            name = f"{cell.check}[{cell.dtype}-{self.suite.selection.backend}]"
            yield Item.from_parent(self, name=name, cell=cell, suite=self.suite)


class Item(pytest.Item):
    """One check of one op in one precision, on all its samples."""

    def __init__(self, *, cell: Cell, suite: Suite, **options: Any) -> None:
        super().__init__(**options)
        self.cell, self.suite = cell, suite
        self.result: dict[str, Any] | None = None

    def runtest(self) -> None:
        """Run the check on each sample; all that fail are reported."""
        start = time.perf_counter()
        with backend_named(self.suite.selection.backend).conformance():
            outcomes = [run(self.cell.check, trial, self.suite.gaps) for trial in self.cell.trials]
        self.result = result(self.cell, outcomes, time.perf_counter() - start)
        failed = [each for each in outcomes if each.status == "failed"]
        if failed and not self.suite.selection.explore:  # what is drawn at random is not graded
            raise Failures(_described(self.cell, failed))
        if all(each.status == "skipped" for each in outcomes):
            pytest.skip("; ".join(dict.fromkeys(each.message for each in outcomes)))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Print failures as they are described, and for any other exception its traceback."""
        if isinstance(excinfo.value, Failures):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the item is from, and what it is called."""
        return self.path, None, f"{self.cell.op}: {self.name}"


def _described(cell: Cell, failed: Sequence[Outcome]) -> str:
    """Return some failures as text, with where to mend them, and the first one as a script."""
    lines = []
    for place, each in enumerate(failed[:_SHOWN]):
        lines.append(f"{each.sample} [{cell.dtype}] fails {cell.check}: {each.message}")
        if each.mend:
            lines.append(f"  look at {each.mend}")
        if place == 0:
            lines += [f"    {line}" for line in each.code.splitlines()]
    if len(failed) > _SHOWN:
        lines.append(f"... and {len(failed) - _SHOWN} more samples")
    return "\n".join(lines)
