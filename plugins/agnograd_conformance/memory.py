"""What a graph keeps: exactly what the rules name, until a pass has used it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from agnograd_conformance._case import arrays_in
from agnograd_conformance._trial import Recorded, Trial

__all__ = ["freed", "saved_values"]


Watched = list[tuple[str, Any]]


def saved_values(trial: Trial) -> None:
    """A node keeps the arrays that the rules name, and no other stays alive."""
    _node, watched = _recorded(trial)
    _expect_gone(watched, "is alive although no rule names it, and nothing else refers to it")


def freed(trial: Trial) -> None:
    """After a pass nothing refers to what was saved, nor to the cotangents and gradients."""
    _node, watched = _after_a_pass(trial)
    _expect_gone(watched, "is alive after the pass, although nothing refers to it")


# These return a node and weak references; what else they made is gone when they have returned.


def _recorded(trial: Trial) -> tuple[object, Watched]:
    """Record a call; watch what its node is not to keep."""
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
        return node, []  # the result may share memory with inputs, and keep them alive
    unnamed = {name: arrays for name, arrays in call.named.items() if name not in wanted}
    given = call.case.arrays
    results = [x for x in call.raw_outputs if not any(x is one for one in given)]
    return node, _watched(unnamed, {"the result": results})


def _after_a_pass(trial: Trial) -> tuple[object, Watched]:
    """Record a call and run a pass over it; watch everything."""
    call = Recorded(trial)
    node = call.outputs[0].node
    assert node is not None
    given = call.cotangents()
    gradients = call.gradients(given)
    if node.saved is not None:
        raise AssertionError("a pass has not freed the values that the node saved")
    others = {"a cotangent": given, "a gradient": gradients}
    data = {what: [each.data for each in variables] for what, variables in others.items()}
    return node, _watched(call.named, {"a result": call.raw_outputs} | data)


def _watched(named: dict[str, list[Any]], others: dict[str, list[Any]]) -> Watched:
    given = {f"the input {name!r}": arrays for name, arrays in named.items()}
    return [(what, _reference(x)) for what, arrays in (given | others).items() for x in arrays]


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
