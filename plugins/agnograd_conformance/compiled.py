"""Compiled calls: what ``ag.compile`` makes of an op and its rules against the op itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnograd import compile as compile_function
from agnograd.errors import CompileError
from agnograd.extend import Sample
from agnograd.testing.host import assert_close
from agnograd_compile.lowering import lowering_for
from agnograd_conformance._calls import Calls, Outcome
from agnograd_conformance._needs import shape_needs_values
from agnograd_conformance._trial import NotApplicable, Trial

__all__ = ["compiled"]

ROUNDING = 1e-12, 1e-5  # in double and in single precision


def compiled(trial: Trial) -> None:
    """A compiled call gives what the call gives: values and gradients, traced and run again."""
    calls = Calls(trial)
    if not calls.first:
        raise NotApplicable("the sample has no arrays")
    lowering = lowering_for(trial.backend, trial.lowering)
    tolerance = ROUNDING[trial.single] if lowering.exact else trial.tolerance
    # The arrays and cotangents of two calls: the first one is traced, the others are not.
    given: list[tuple[Sequence[Any], list[Any]]] = [(calls.first, []), (calls.second, [])]
    expected = [calls.on_host(calls.gradients(calls.results, *each)) for each in given]
    try:
        found = _each_twice(calls, given, trial.lowering)
    except CompileError as error:
        raise _understood(error, trial.sample, calls.names) from error
    for ours, theirs in zip(found, expected * 2, strict=True):
        _compare(ours, theirs, tolerance, "by the call itself")
    if lowering.exact and trial.lowering != "plain":
        for ours, theirs in zip(found, _each_twice(calls, given, "plain"), strict=True):
            _compare(ours, theirs, 0.0, "step by step")


def _each_twice(
    calls: Calls, given: Sequence[tuple[Sequence[Any], list[Any]]], lowering: str
) -> list[Outcome]:
    """Compile a call; return what it gives for all that is given, twice."""

    def call(arrays: Sequence[Any], weights: list[Any]) -> Any:
        return calls.gradients(calls.results, arrays, weights)

    run: Callable[..., Any] = compile_function(call, lowering=lowering)
    return [calls.on_host(run(*each)) for each in (*given, *given)]


def _understood(error: CompileError, sample: Sample, names: Sequence[str]) -> Exception:
    """Return that the check does not apply, if the sample itself says why; else the error."""
    if shape_needs_values(sample, names):
        return NotApplicable("the shape of the result depends on values, which is an error")
    if any(callable(each) for each in sample.items()):
        return NotApplicable("the op calls a function of the sample's outside of the library")
    return error


def _compare(found: Outcome, expected: Outcome, tolerance: float, source: str) -> None:
    for name, one in expected.items():
        if found[name].dtype != one.dtype:
            raise AssertionError(f"{name} has dtype {found[name].dtype}, and {one.dtype} {source}")
        assert_close(name, found[name], one, tolerance, source)
