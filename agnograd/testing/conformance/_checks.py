"""All checks, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc

from agnograd.testing.conformance._trial import Trial
from agnograd.testing.conformance.batched import batched
from agnograd.testing.conformance.compiled import compiled
from agnograd.testing.conformance.composed import composed
from agnograd.testing.conformance.declared import declared
from agnograd.testing.conformance.derivatives import (
    first_derivative,
    forward_mode,
    gradient_form,
    second_derivative,
)
from agnograd.testing.conformance.hooks import hooks
from agnograd.testing.conformance.laziness import laziness, synchronisation
from agnograd.testing.conformance.memory import freed, saved_values
from agnograd.testing.conformance.misuse import misuse
from agnograd.testing.conformance.shapes import layouts, shapes
from agnograd.testing.conformance.sharing import shared_inputs
from agnograd.testing.conformance.sparse import sparse
from agnograd.testing.conformance.values import agrees_with_numpy, forward, inputs_unchanged

__all__ = ["CHECKS", "Check", "summary"]

Check = Callable[[Trial], None]

CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        forward,
        first_derivative,
        second_derivative,
        forward_mode,
        shared_inputs,
        batched,
        compiled,
        composed,
        sparse,
        declared,
        gradient_form,
        agrees_with_numpy,
        shapes,
        layouts,
        inputs_unchanged,
        saved_values,
        freed,
        hooks,
        laziness,
        synchronisation,
        misuse,
    )
}


def summary(check: Check) -> str:
    """Return what a check is for, in one line."""
    return (getdoc(check) or "").partition("\n")[0]
