"""What waits for values: nothing in an op, nor in a pass over it."""

from __future__ import annotations

from agnograd_conformance._trial import NotApplicable, Recorded, Trial

__all__ = ["laziness", "synchronisation"]


def laziness(trial: Trial) -> None:
    """On a lazy backend ops and passes of both orders compute nothing."""
    if not trial.domain.backend.capabilities.lazy:
        raise NotApplicable("the backend is not lazy")
    _count(trial, "computes")


def synchronisation(trial: Trial) -> None:
    """No op and no pass waits for the device, where the backend can count it."""
    if trial.domain.backend.capabilities.lazy:
        raise NotApplicable("the backend is lazy")
    _count(trial, "waits for values")


def _count(trial: Trial, what: str) -> None:
    counting = trial.domain.backend.counting_waits()
    if counting is None:
        raise NotApplicable("the backend cannot count how often it waits")
    call = given = None
    with counting as count:
        call = Recorded(trial)
        forward = count()
        given = call.cotangents()
        start = count()
        found = call.gradients(given, create_graph=True)
        first = count() - start
        call.differentiate_again(found)
        second = count() - start - first
    for times, where in ((forward, "op"), (first, "backward pass"), (second, "second pass")):
        if times:
            raise AssertionError(f"the {where} {what} {times} times; it should not need values")
