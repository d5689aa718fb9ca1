"""Derivatives: against differences, in forward mode, and in the form that gradients have."""

from __future__ import annotations

from typing import Any

from agnograd import Variable, check_grad, jvp, no_grad
from agnograd.extend import Rule
from agnograd.testing.differences import Problem, cotangents, difference
from agnograd.testing.host import all_on_host, assert_close, bits_of, inner
from agnograd_conformance._case import arrays_in
from agnograd_conformance._orders import derivative, gradient_of
from agnograd_conformance._trial import Recorded, Trial

__all__ = ["first_derivative", "forward_mode", "gradient_form", "second_derivative"]

_STEP = 1e-4
_TOLERANCE = 1e-7  # relative to the terms of the sum that is compared
_SINGLE = 2e-4


def first_derivative(trial: Trial) -> None:
    """The gradient is that of finite differences, along a line through all inputs."""
    _compare(trial, 1)


def second_derivative(trial: Trial) -> None:
    """The gradient of the gradient is that of finite differences of the gradient."""
    _compare(trial, 2)


def _compare(trial: Trial, order: int) -> None:
    trial.needs_derivative(order)
    gradients = derivative(trial, order)
    found = inner(all_on_host(_line(trial.reference.problem())), gradients)
    numeric, terms = _numeric(trial.reference, order)
    tolerance = _SINGLE if trial.single else _TOLERANCE
    if abs(found - numeric) <= tolerance * (1 + terms):
        return
    _localise(trial, order, gradients)
    raise AssertionError(
        f"order {order}, along a line through all inputs: the derivative is {found}, finite "
        f"differences give {numeric}"
    )


def _line(problem: Problem) -> list[Variable]:
    """Return the direction of the line through all inputs."""
    return cotangents(problem.values, seed=7)


def _numeric(trial: Trial, order: int) -> tuple[float, float]:
    """Return the derivative by differences along the line, and how large its terms are."""
    known: dict[int, tuple[float, float]] = trial.__dict__.setdefault("_numeric", {})
    if order not in known:
        function, problem = gradient_of(trial, order - 1)
        outputs = function(*problem.values)
        weights = cotangents(outputs, seed=order)
        direction = _line(problem)

        def at(multiple: int) -> list[Variable]:
            pairs = zip(problem.values, direction, strict=True)
            return [x + d * (multiple * _STEP) for x, d in pairs]

        numeric = difference(function, weights, at, _STEP)
        terms = inner(*([abs(each) for each in all_on_host(of)] for of in (weights, outputs)))
        known[order] = numeric, max(abs(numeric), abs(terms))
    return known[order]


def _localise(trial: Trial, order: int, gradients: list[Any]) -> None:
    """Raise with the argument, the element and both values, where they can be told."""
    reference = trial.reference
    problem = reference.problem()
    check_grad(reference.case(), *problem.arguments, order=order)
    expected = derivative(reference, order)
    tolerance = _SINGLE if trial.single else _TOLERANCE
    source = f"in {reference.dtype} on {reference.backend}, as differences confirm"
    for name, one, other in zip(problem.names, gradients, expected, strict=True):
        assert_close(f"order {order}, {name}: the derivative", one, other, tolerance, source)


def forward_mode(trial: Trial) -> None:
    """A push of tangents is the transpose of a pass: both give the same inner product."""
    trial.needs_derivative(1)
    gradients = derivative(trial, 1)
    problem = trial.problem()
    direction = _line(problem)
    with no_grad():  # what is pushed is not to be differentiated itself
        value, tangent = jvp(problem, tuple(problem.values), tuple(direction))
    for out, along in zip(value, tangent, strict=True):
        if (out.shape, out.dtype) != (along.shape, along.dtype):
            raise AssertionError(
                f"a result of shape {out.shape} and dtype {out.dtype} has a tangent of shape "
                f"{along.shape} and dtype {along.dtype}"
            )
    pushed = inner(all_on_host(cotangents(value, seed=1)), all_on_host(tangent))
    pulled = inner(gradients, all_on_host(direction))
    tolerance = _SINGLE if trial.single else 1e-10
    if not abs(pushed - pulled) <= tolerance * (1 + abs(pulled)):
        raise AssertionError(
            f"the derivative along a line is {pushed} in forward mode, and {pulled} in reverse mode"
        )


def gradient_form(trial: Trial) -> None:
    """A gradient has its input's shape, dtype and device; rules keep the precision."""
    call = Recorded(trial)
    inexact = [x for x in call.raw_outputs if call.case.domain.is_inexact(x.dtype)]
    if len(inexact) != len(call.outputs):
        hint = "; does the op say that it `casts`?" if len(call.outputs) > len(inexact) else ""
        raise AssertionError(
            f"{len(call.outputs)} of {len(inexact)} floating-point results need a gradient{hint}"
        )
    given = call.cotangents()
    for place, (leaf, g) in enumerate(
        zip(call.leaves, call.gradients(given, retain_graph=True), strict=True)
    ):
        if type(g) is not type(leaf):
            raise AssertionError(f"gradient {place} is {type(g).__name__}, not a Variable")
        for what in ("shape", "dtype", "device"):
            one, other = getattr(g, what), getattr(leaf, what)
            if one != other:
                raise AssertionError(f"gradient {place} has {what} {one}, its input {other}")
    _rules_keep_precision(call, given)


def _rules_keep_precision(call: Recorded, given: list[Variable]) -> None:
    """Call each rule on raw arrays: what it returns is cast, and should not need it."""
    node = call.outputs[0].node
    assert node is not None
    op, domain = call.case.op, call.case.domain
    several = op.outputs != "one"
    g = [each.data for each in given] if several else given[0].data
    if several and len(given) != len(call.raw_outputs):
        return
    known = {**(node.saved or {}), "g": g, "xp": domain.raw}
    for place in call.case.places:
        name = call.case.names[place]
        rule: Rule = op.rules[name]
        if not callable(rule.function):
            continue
        returned = arrays_in(rule.function(*(known[each] for each in rule.names)))
        bits = {bits_of(x.dtype) for x in (*call.named[name], *call.raw_outputs)} - {0}
        for array in returned:
            found = bits_of(getattr(array, "dtype", None))
            if found and not min(bits) <= found <= max(bits):
                raise AssertionError(
                    f"the rule for {name!r} returns dtype {array.dtype}, where its input and the "
                    f"result have {sorted(bits)} bits a number: it is cast, which "
                    + ("loses precision" if found < min(bits) else "takes twice the memory")
                )
