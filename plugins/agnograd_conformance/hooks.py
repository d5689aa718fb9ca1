"""Hooks: each is called once for a call of an op, in the order that is promised."""

from __future__ import annotations

from collections import Counter

from agnograd import autodiff
from agnograd.testing import Event, record_events
from agnograd_conformance._trial import Recorded, Trial

__all__ = ["hooks"]


def hooks(trial: Trial) -> None:
    """Every hook is called once, and in order, for the op's forward and its backward."""
    op = trial.sample.op
    calls: list[Recorded] = []

    def program() -> None:
        call = Recorded(trial)
        calls.append(call)
        autodiff.backward(call.outputs, call.cotangents())

    log = record_events([], program)
    (call,) = calls
    saves = Counter(event.value for event in log if event.hook == "save_value")
    expected = [Event("forward_preprocess", op), Event("forward_postprocess", op)]
    expected += [Event("backward_start")]
    expected += [Event("backward_preprocess", op), Event("backward_postprocess", op)]
    expected += [Event("gradient_ready")] * len(call.leaves)
    expected += [Event("backward_finish")]
    found = [event for event in log if event.hook not in ("save_value", "restore_value")]
    if found != expected:
        raise AssertionError(f"hooks are called as {_short(found)}, and not {_short(expected)}")
    unwanted = [name for name in saves if name not in call.wanted]
    if unwanted:
        raise AssertionError(f"save_value is called for {unwanted[0]!r}, which no rule names")
    for name, count in saves.items():
        arrays = len(call.raw_outputs) if name == "out" else len(call.named.get(str(name), [None]))
        if count != arrays:
            raise AssertionError(f"save_value is called {count} times for {name!r}, not {arrays}")


def _short(events: list[Event]) -> str:
    return (
        ", ".join(event.hook + (f"({event.op})" if event.op else "") for event in events)
        or "not at all"
    )
