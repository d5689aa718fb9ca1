"""What an op declares of itself beside its rules, and what the engine relies on."""

from __future__ import annotations

from itertools import product
from operator import attrgetter
from typing import Any

from agnograd import autodiff
from agnograd.extend import is_python_scalar
from agnograd.testing.host import assert_close, on_host
from agnograd_conformance._case import Case
from agnograd_conformance._trial import NotApplicable, Recorded, Trial

__all__ = ["declared"]

_READS = 9  # so many that their gradients are added in one call
_FEW = 4  # elements of a result that are looked at
_LENGTH = 9  # of an array that is full of one number: longer than a vector of a processor


def declared(trial: Trial) -> None:
    """What an op declares of its result holds: it negates, reads, commutes, selects, is exact."""
    op = trial.op
    selects = op.pattern == "selects" and op.outputs == "one"
    of_values = ((_commutes, op.commutative), (_is_exact, op.exact), (_selects, selects))
    of_calls = ((_negates, op.negation), (_reads, op.reads), (_reads_often, op.reads))
    if not any(applies for _, applies in (*of_values, *of_calls)):  # as of most ops
        raise NotApplicable("the op declares nothing of its result")
    for of_case, applies in of_values:
        if applies:
            of_case(trial.case())
    for of_call, applies in of_calls:
        if applies:
            of_call(Recorded(trial))


def _commutes(case: Case) -> None:
    """The op gives the same with its two real arrays the other way round."""
    one, other = case.args
    if _is_complex(case):
        raise NotApplicable("products of complex numbers may be rounded in either order")
    found, expected = case.on_raw(other, one), case.on_raw(one, other)
    assert_close("the result of swapped arguments", _host(case, found), _host(case, expected))


def _is_complex(case: Case) -> bool:
    numbers = any(isinstance(x, complex) for x in case.args)
    return numbers or any(case.domain.is_complex(x.dtype) for x in case.arrays)


def _is_exact(case: Case) -> None:
    """Some elements of a result are the same by themselves, and in an array that is full of one."""
    xp = case.domain.library
    if _is_complex(case):
        raise NotApplicable("only elements of real arrays are rounded once")
    # No number is a divisor, and none is broadcast: XLA multiplies by its reciprocal.
    dtype = case.arrays[-1].dtype  # the first one may be a condition
    arrays = [xp.asarray(x, dtype=dtype) if is_python_scalar(x) else x for x in case.args]
    shape = case.on_raw(*arrays).shape
    arrays = [xp.broadcast_to(x, shape) for x in arrays]
    out = case.on_raw(*arrays)
    places = [*product(*map(range, shape))]
    for place in places[:: max(1, len(places) // _FEW)]:
        one = [x[place] for x in arrays]
        found, expected = case.on_raw(*one), out[place]
        assert_close(f"element {place} by itself", _host(case, found), _host(case, expected))
        full = [xp.broadcast_to(x, (_LENGTH,)) for x in one]
        found, expected = case.on_raw(*full), xp.broadcast_to(expected, (_LENGTH,))
        what = f"an array full of element {place}"
        assert_close(what, _host(case, found), _host(case, expected))


def _selects(case: Case) -> None:
    """An array of ones gives ones, and nothing else."""
    xp, x = case.domain.library, case.args[0]
    ones = xp.full_like(x, True) if xp.isdtype(x.dtype, "bool") else xp.ones_like(x)
    found = _host(case, case.on_raw(ones, *case.args[1:]))
    assert_close("the result for ones", found, found * 0 + 1)


def _negates(call: Recorded) -> None:
    (x,) = call.named[call.case.op.arrays[0]]
    _compare(call, "the result of a negation", call.case.domain.raw.negative(x), "by negative")


def _reads(call: Recorded) -> None:
    case = call.case
    key = case.op.signature.bind(*case.args, **case.kwargs).arguments["key"]
    (x,) = call.named[case.op.arrays[0]]
    _compare(call, "the result of a reading", case.domain.raw.__getitem__(x, key), "by x[key]")


def _compare(call: Recorded, what: str, expected: object, source: str) -> None:
    case = call.case
    assert_close(what, _host(case, call.raw_outputs[0]), _host(case, expected), 0.0, source)


def _host(case: Case, raw: object) -> Any:
    return on_host(case.domain.Variable(raw, False))


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
