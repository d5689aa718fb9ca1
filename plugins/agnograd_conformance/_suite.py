"""What is run: every check of every op in every precision; and what comes of one sample."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from typing import Literal, NamedTuple

from agnograd import ops as known_ops
from agnograd.extend import Sample, backend_named
from agnograd.extend.arguments import did_you_mean
from agnograd.testing import all_samples
from agnograd.testing.gaps import Gap
from agnograd_compile.lowering import lowering_for
from agnograd_conformance._basics import check_basics
from agnograd_conformance._checks import CHECKS
from agnograd_conformance._mend import mend, passes
from agnograd_conformance._needs import has_what_it_needs
from agnograd_conformance._trial import DOUBLE, NotApplicable, Trial, precisions

__all__ = ["Cell", "Outcome", "Selection", "SelectionError", "cells", "run", "unsampled"]

Status = Literal["passed", "failed", "gap", "skipped"]


class SelectionError(ValueError):
    """A pattern names no existing op or check."""


class Selection(NamedTuple):
    """What is to be run.

    Attributes
    ----------
    backend : str
        The name of the backend.
    ops, checks : tuple of str
        Names and patterns; all if there are none.
    quick : bool
        The first and the last sample of each dtype of an op, only in double precision; checks of
        many parts take these in turn.
    double : bool
        Every sample, only in double precision; in single, where it is given so.
    explore : int
        How often arrays are drawn again; 0 for the samples as they are.
    few : tuple of str
        Names and patterns of checks that take only the samples that ``quick`` selects.
    lowering : str
        How compiled programs run, as ``ag.compile`` has it.
    """

    backend: str
    ops: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    quick: bool = False
    double: bool = False
    explore: int = 0
    few: tuple[str, ...] = ()
    lowering: str = "auto"


class Cell(NamedTuple):
    """One check of one op in one precision, with its samples."""

    op: str
    check: str
    dtype: str
    trials: Sequence[Trial]


class Outcome(NamedTuple):
    """What came of one check on one sample.

    Attributes
    ----------
    status : {"passed", "failed", "gap", "skipped"}
        A gap is a failure that was known.
    sample : str
        The sample, as it is printed.
    message : str
        What was found, or why it was skipped, or the reason of a gap.
    error : str
        The name of the exception.
    mend : str
        Where to look.
    code : str
        The sample as a script.
    """

    status: Status
    sample: str
    message: str = ""
    error: str = ""
    mend: str = ""
    code: str = ""


def cells(selection: Selection) -> list[Cell]:
    """Return all that is selected, in a fixed order.

    Raises
    ------
    SelectionError
        If a pattern, the backend's list of ops included, names nothing.
    UnknownPluginError
        If the backend has no lowering of the name that is selected.
    BackendError
        If the backend is not what it says.
    """
    backend = backend_named(selection.backend)
    check_basics(backend)
    lowering_for(selection.backend, selection.lowering)
    names = list(known_ops())
    listed = matching(backend.ops, names, f"{type(backend).__name__}.ops")
    chosen = matching(selection.ops or None, names, "the selection of ops")
    checks = matching(selection.checks or None, list(CHECKS), "the selection of checks")
    by_dtype: dict[tuple[str, str], list[Trial]] = {}
    for _, _, sample in all_samples():
        if sample.op in listed and sample.op in chosen:
            for trial in _trials(sample, selection):
                by_dtype.setdefault((sample.op, trial.dtype), []).append(trial)
    missing = unsampled(chosen & listed)
    if selection.ops and missing:
        raise SelectionError(
            f"op {missing[0]!r} has a rule and no samples: name a module that has some, as "
            "OpSet(..., samples='my_package.samples')"
        )
    quick = {
        (op, dtype): [trials[k] for k in sorted({0, len(trials) - 1})]
        for (op, dtype), trials in by_dtype.items()
        if (op, DOUBLE.get(dtype)) not in by_dtype
    }
    if selection.quick:
        by_dtype = quick
        for turn, trial in enumerate(chain.from_iterable(quick.values())):
            trial.turn = turn
    few = matching(selection.few, list(CHECKS), "the checks that take few samples")
    ordered = sorted(by_dtype.items(), key=lambda item: names.index(item[0][0]))
    return [
        Cell(key[0], check, key[1], quick[key] if check in few else trials)
        for key, trials in ordered
        for check in CHECKS
        if check in checks and (check not in few or key in quick)
    ]


def unsampled(ops: Iterable[str] | None = None) -> list[str]:
    """Return the ops (of those that are given) that have a rule and no sample to check it on."""
    sampled = {sample.op for _, _, sample in all_samples()}
    known = known_ops()
    chosen = known if ops is None else ops
    return sorted(op for op in chosen if known[op].status == "rule" and op not in sampled)


def matching(patterns: Iterable[str] | None, names: Sequence[str], what: str) -> set[str]:
    """Return the names that patterns stand for; all, if there are no patterns.

    A pattern with an exclamation mark before it takes names away from what those before it stand
    for, and from all names, if it is the first.
    """
    if patterns is None:
        return set(names)
    found: set[str] | None = None
    for pattern in patterns:
        word = pattern.removeprefix("!")
        matched = {name for name in names if fnmatchcase(name, word)}
        if not matched:
            raise SelectionError(f"{what}: {pattern!r} names none{did_you_mean(word, names)}")
        if pattern == word:
            found = (found or set()) | matched
        else:
            found = (set(names) if found is None else found) - matched
    return set() if found is None else found


def _trials(sample: Sample, selection: Selection) -> list[Trial]:
    """Return a sample in every precision that is wanted, and that the backend has."""
    capabilities = backend_named(selection.backend).capabilities
    if sample.backends is not None and selection.backend not in sample.backends:
        return []
    if not has_what_it_needs(sample, capabilities):
        return []
    dtypes = [each for each in precisions(sample) if capabilities.has(each)]
    if selection.quick or selection.double:
        dtypes = dtypes[:1]
    seeds = [0]
    if selection.explore:
        drawn = any(spec.values is None and spec.shape != (0,) for spec in sample.specs())
        rng = random.SystemRandom()
        seeds = [rng.randrange(1, 10**6) for _ in range(selection.explore)] if drawn else []
    found = []
    for seed in seeds:
        wide = None
        for dtype in dtypes:
            trial = Trial(sample, dtype, selection.backend, seed, selection.lowering)
            if wide is not None:  # differences are taken once for all precisions
                trial.reference = wide.reference
            wide = trial
            found.append(trial)
    return found


def run(check: str, trial: Trial, gaps: Sequence[Gap] = ()) -> Outcome:
    """Run one check on one sample."""
    sample = repr(trial.given)
    name = f"{sample}::{check}[{trial.dtype}]"
    gap = next((gap for gap in gaps if gap.is_of(name)), None)
    try:
        CHECKS[check](trial)
    except NotApplicable as reason:
        return Outcome("skipped", sample, str(reason))
    except Exception as error:
        kind = type(error).__name__
        if gap is not None and isinstance(error, gap.error):
            return Outcome("gap", sample, gap.reason, kind)
        crashed = check != "forward" and not isinstance(error, AssertionError)
        if crashed and passes(CHECKS["forward"], trial) is False:
            return Outcome("skipped", sample, "the op itself fails: see its check `forward`")
        message = str(error) if isinstance(error, AssertionError) else f"{kind}: {error}"
        code = trial.sample.code(trial.backend, trial.seed)
        return Outcome("failed", sample, message, kind, mend(CHECKS[check], trial, error), code)
    if gap is not None:
        message = f"a known gap that is none any more, take it out of the list: {gap.reason}"
        return Outcome("failed", sample, message, "", "", "")
    return Outcome("passed", sample)
