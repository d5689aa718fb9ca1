"""What a trial's call gives, and its derivatives: computed once, for all checks of the trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnograd import Variable, vjp
from agnograd.testing.differences import Problem, constant, cotangents, gradient
from agnograd.testing.host import all_on_host, assert_close
from agnograd_conformance._case import arrays_in
from agnograd_conformance._trial import Trial

__all__ = ["compare", "derivative", "gradient_of"]


def derivative(trial: Trial, order: int) -> list[Any]:
    """Return the outputs of a trial's call (order 0), or a gradient of it, as NumPy's arrays.

    A gradient is that of what the order before gives, contracted with fixed cotangents: those
    that ``cotangents`` draws with the order as seed.

    Raises
    ------
    NotApplicable
        If no input has a gradient, or the size of an output is unknown.
    """
    if order not in trial.derivatives:
        trial.derivatives[order] = all_on_host(_computed(trial, order))
    return trial.derivatives[order]


def compare(trial: Trial, other: Trial, orders: int, what: str, source: str) -> None:
    """Compare the results of two trials' calls, and derivatives up to an order."""
    names = trial.problem().names if orders else []
    for each in (trial, other):
        derivative(each, orders)  # which computes the order below in the same call
    for order in range(orders + 1):
        pairs = zip(derivative(trial, order), derivative(other, order), strict=True)
        for index, (found, expected) in enumerate(pairs):
            name = f"result {index}"
            if order:
                name = f"the derivative of order {order} for {names[index]}"
            assert_close(what + name, found, expected, trial.tolerance, source)


def _computed(trial: Trial, order: int) -> Sequence[Variable]:
    case = trial.case()
    if order == 0 and not case.places:
        return [each for each in arrays_in(case()) if isinstance(each, Variable)]
    if order == 0:
        problem = trial.problem()
        outputs = [constant(each) for each in problem(*problem.values)]
        trial.needs_sizes(outputs)
        return outputs
    function, problem = gradient_of(trial, order - 1)
    outputs, pullback = vjp(function, *problem.values)
    trial.needs_sizes(outputs)
    trial.derivatives.setdefault(order - 1, all_on_host(outputs))
    found: Sequence[Variable] = pullback(cotangents(outputs, seed=order))
    return found


def gradient_of(trial: Trial, order: int) -> tuple[Callable[..., list[Any]], Problem]:
    """Return a trial's call (order 0), or a gradient of it, as a function; and the call."""
    problem = trial.problem()
    function: Callable[..., list[Any]] = problem
    for level in range(1, order + 1):
        outputs = function(*problem.values)
        trial.needs_sizes(outputs)
        function = gradient(function, cotangents(outputs, seed=level))
    return function, problem
