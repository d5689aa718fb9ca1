"""What an op declares of itself beside its rules, and what the engine relies on."""

from __future__ import annotations

from operator import attrgetter

from agnograd import autodiff
from agnograd.testing.host import assert_close, on_host
from agnograd_conformance._case import op_of
from agnograd_conformance._trial import NotApplicable, Recorded, Trial

__all__ = ["declared"]

_READS = 9  # so many that their gradients are added in one call


def declared(trial: Trial) -> None:
    """An op that is declared a negation negates its input, and one that reads reads it."""
    op = op_of(trial.sample)
    if not (op.negation or op.reads):  # asked first, as most ops are neither
        raise NotApplicable("the op is declared neither a negation nor a reading")
    call = Recorded(trial)
    if op.negation:
        _negates(call)
    if op.reads:
        _reads(call)
        _reads_often(call)


def _negates(call: Recorded) -> None:
    (x,) = call.named[call.case.op.arrays[0]]
    _compare(call, "the result of a negation", call.case.domain.raw.negative(x), "by negative")


def _reads(call: Recorded) -> None:
    case = call.case
    key = case.op.signature.bind(*case.args, **case.kwargs).arguments["key"]
    (x,) = call.named[case.op.arrays[0]]
    _compare(call, "the result of a reading", case.domain.raw.__getitem__(x, key), "by x[key]")


def _compare(call: Recorded, what: str, expected: object, source: str) -> None:
    variable = call.case.domain.Variable
    found, known = variable(call.raw_outputs[0], False), variable(expected, False)
    assert_close(what, on_host(found), on_host(known), 0.0, source)


def _reads_often(call: Recorded) -> None:
    """The gradient of many readings, which are added in one call, is the sum by the rule."""
    args, kwargs = call.case.filled(*call.leaves)
    function = attrgetter(call.case.op.name)(call.case.domain.namespace)
    given = call.cotangents()
    (by_rule,) = call.gradients(given, create_graph=True)
    total = sum((function(*args, **kwargs) for _ in range(_READS - 1)), call.outputs[0])
    (found,) = autodiff.grad([total], call.leaves, given)
    assert found is not None
    expected = on_host(by_rule.detach()) * _READS
    what = f"the gradient of {_READS} readings"
    assert_close(what, on_host(found), expected, call.trial.tolerance, "by the rule")
