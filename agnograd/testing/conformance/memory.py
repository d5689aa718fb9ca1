"""What a graph keeps: exactly what the rules name, until a pass has used it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from agnograd.testing._case import arrays_in
from agnograd.testing.conformance._trial import Recorded, Trial

__all__ = ["freed", "saved_values"]


def saved_values(trial: Trial) -> None:
    """A node keeps the arrays that the rules name, and no other stays alive."""
    call = Recorded(trial)
    node = call.outputs[0].node
    assert node is not None
    wanted, types = call.wanted, call.case.domain.array_types
    saved = node.saved or {}
    for name, value in saved.items():
        if name not in wanted and any(isinstance(each, types) for each in arrays_in(value)):
            raise AssertionError(f"the node keeps an array {name!r}, which no rule names")
    for name, arrays in call.named.items():
        if name in wanted and arrays and saved.get(name) is None:
            raise AssertionError(f"a rule names {name!r}, and the node does not keep it")
    if "out" in wanted or call.case.op.view is not None:
        return  # the result may share memory with inputs, and keep them alive
    watched = [
        (f"the input {name!r}", _reference(each))
        for name, arrays in call.named.items()
        if name not in wanted
        for each in arrays
    ]
    given = call.case.arrays
    watched += [
        ("the result", _reference(each))
        for each in call.raw_outputs
        if not any(each is one for one in given)
    ]
    arrays = each = value = None  # type: ignore[assignment]  # or they would keep what they name
    del call, saved, arrays, given, each, value
    _expect_gone(watched, "is alive although no rule names it, and nothing else refers to it")


def freed(trial: Trial) -> None:
    """After a pass nothing refers to what was saved, nor to the cotangents and gradients."""
    call = Recorded(trial)
    node = call.outputs[0].node
    assert node is not None
    given = call.cotangents()
    gradients = call.gradients(given)
    if node.saved is not None:
        raise AssertionError("a pass has not freed the values that the node saved")
    watched = [
        (f"the input {name!r}", _reference(each))
        for name, arrays in call.named.items()
        for each in arrays
    ]
    watched += [("a result", _reference(each)) for each in call.raw_outputs]
    watched += [("a cotangent", _reference(each.data)) for each in given]
    watched += [("a gradient", _reference(each.data)) for each in gradients]
    arrays = each = None
    del call, given, gradients, arrays, each
    _expect_gone(watched, "is alive after the pass, although nothing refers to it")


Watched = list[tuple[str, Any]]


def _reference(array: Any) -> Any:
    """Return a weak reference, or one that is dead where the library's arrays allow none."""
    try:
        return weakref.ref(array)
    except TypeError:
        return lambda: None


def _expect_gone(watched: Watched, what: str) -> None:
    alive = [name for name, reference in watched if reference() is not None]
    if alive:  # there should be no cycles; a library's own are not the rule's fault
        gc.collect()
        alive = [name for name, reference in watched if reference() is not None]
    if alive:
        raise AssertionError(f"{alive[0]} {what}: the op, or a rule of it, keeps it elsewhere")
