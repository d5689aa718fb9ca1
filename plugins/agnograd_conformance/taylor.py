"""Taylor series of an op, against pushes of pushes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from agnograd import hessian, jvp
from agnograd.errors import BatchingError, BatchingWarning, MissingRuleError
from agnograd.extend import domain_named
from agnograd.testing.host import all_on_host, assert_close
from agnograd_conformance._trial import NotApplicable, Trial
from agnograd_conformance.composed import Call
from agnograd_taylor import derivatives_of, jet, laplacian

__all__ = ["taylor"]


def taylor(trial: Trial) -> None:
    """Taylor coefficients up to order 3 are derivatives along a line, and Laplacians traces."""
    if trial.single:
        raise NotApplicable("how series are computed does not depend on the precision")
    call = Call(trial)
    expected = _pushes(call, 3 if trial.sample.order > 1 else trial.sample.order)
    order = len(expected) - 1
    if not order:
        raise NotApplicable("the sample has no derivative")
    _compare_series(call, expected, order)
    if order > 1 and not any(trial.domain.is_complex(x.dtype) for x in call.first):
        with warnings.catch_warnings():  # directions are members of vmap
            warnings.simplefilter("ignore", BatchingWarning)
            try:
                _compare_laplacians(call, expected)
            except BatchingError:  # of a branch
                if not call.branches:
                    raise


def _compare_series(call: Call, expected: list[Sequence[Any]], order: int) -> None:
    value, series = jet(call, call.first, [[v, *[None] * (order - 1)] for v in call.direction])
    np = domain_named("numpy").library
    for k, found in enumerate([value, *derivatives_of(series)]):
        for place, one in enumerate(all_on_host(found)):
            # All orders are computed at once: what a derivative of one of them refuses is NaN.
            refused = np.any([each[place] != each[place] for each in expected[1:]], axis=0)
            known = np.where(refused, expected[k][place], one)
            what = f"the derivative of order {k} along a line: result {place}"
            assert_close(
                what, known, expected[k][place], call.trial.tolerance, "by pushes of pushes"
            )


def _compare_laplacians(call: Call, pushed: list[Sequence[Any]]) -> None:
    """Compare the Laplacian of a weighted sum of the results with the trace of its Hessian."""

    def weighed(*arrays: Any) -> Any:
        pairs = zip(call(*arrays), call.weights, strict=True)
        return sum(y.__array_namespace__().sum(w * y) for y, w in pairs)

    np, arrays = domain_named("numpy").library, call.first
    (found,) = all_on_host([laplacian(lambda given: weighed(*given))(tuple(arrays))])
    blocks = hessian(weighed, tuple(range(len(arrays))))(*arrays)
    own = all_on_host([row[place] for place, row in enumerate(blocks)])
    sizes = [math.prod(x.shape) for x in arrays]
    pairs = zip(own, sizes, strict=True)
    expected = sum(np.trace(np.reshape(block, (size, size))) for block, size in pairs)
    refused = any(np.any(each != each) for order in pushed for each in order)
    if expected == expected and not (refused and found != found):  # refused is NaN
        expected = np.asarray(expected)
        assert_close("the Laplacian", found, expected, call.trial.tolerance, "by the Hessian")


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
