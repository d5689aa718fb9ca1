"""All checks, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc

from agnograd_conformance._trial import Trial
from agnograd_conformance.batched import batched
from agnograd_conformance.compiled import compiled
from agnograd_conformance.composed import composed
from agnograd_conformance.declared import declared
from agnograd_conformance.derivatives import (
    first_derivative,
    forward_mode,
    gradient_form,
    second_derivative,
)
from agnograd_conformance.hooks import hooks
from agnograd_conformance.laziness import laziness, synchronisation
from agnograd_conformance.memory import freed, saved_values
from agnograd_conformance.misuse import misuse
from agnograd_conformance.shapes import layouts, shapes
from agnograd_conformance.sharing import shared_inputs
from agnograd_conformance.sparse import sparse
from agnograd_conformance.taylor import taylor
from agnograd_conformance.values import agrees_with_numpy, forward, inputs_unchanged

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
        taylor,
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
