"""Taylor series of an op, against pushes of pushes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agnograd import jvp
from agnograd.errors import MissingRuleError
from agnograd.extend import domain_named
from agnograd.testing.host import all_on_host, assert_close
from agnograd_conformance._trial import NotApplicable, Trial
from agnograd_conformance.composed import Call
from agnograd_taylor import derivatives_of, jet

__all__ = ["taylor"]


def taylor(trial: Trial) -> None:
    """Taylor coefficients up to order 3 are those of derivatives along a line."""
    if trial.single:
        raise NotApplicable("how series are computed does not depend on the precision")
    call = Call(trial)
    expected = _pushes(call, 3 if trial.sample.order > 1 else trial.sample.order)
    order = len(expected) - 1
    if not order:
        raise NotApplicable("the sample has no derivative")
    value, series = jet(call, call.first, [[v, *[None] * (order - 1)] for v in call.direction])
    np = domain_named("numpy").library
    for k, found in enumerate([value, *derivatives_of(series)]):
        for place, one in enumerate(all_on_host(found)):
            # All orders are computed at once: what a derivative of one of them refuses is NaN.
            refused = np.any([each[place] != each[place] for each in expected[1:]], axis=0)
            known = np.where(refused, expected[k][place], one)
            what = f"the derivative of order {k} along a line: result {place}"
            assert_close(what, known, expected[k][place], trial.tolerance, "by pushes of pushes")


def _pushes(call: Call, order: int) -> list[Sequence[Any]]:
    """Return values and derivatives along the direction, as far as rules know them."""
    function: Callable[..., Any] = call
    found: list[Sequence[Any]] = [all_on_host(call(*call.first))]
    for _ in range(order):
        function = _pushed(function, tuple(call.direction))
        try:
            found.append(all_on_host(function(*call.first)))
        except MissingRuleError:  # as of an order that a rule does not have
            break
    return found


def _pushed(f: Callable[..., Any], direction: tuple[Any, ...]) -> Callable[..., Any]:
    return lambda *arrays: jvp(f, arrays, direction)[1]
