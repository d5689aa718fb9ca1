"""Inputs that several calls share, whose gradients an op may let the engine compute together."""

from __future__ import annotations

from typing import Any

from agnograd import Variable, autodiff
from agnograd.testing.differences import cotangents
from agnograd.testing.host import assert_close, on_host
from agnograd_conformance._trial import NotApplicable, Trial

__all__ = ["shared_inputs"]


def shared_inputs(trial: Trial) -> None:
    """The gradient of several calls that share an input is the sum of those of each."""
    op = trial.op
    if not op.stacks:  # asked first: most ops have none, and arrays take some libraries a while
        raise NotApplicable("nothing is declared of calls that share an input")
    trial.needs_derivative(1)
    case = trial.case()
    for index, place in enumerate(case.places):
        name = case.names[place]
        if name not in op.stacks:
            continue
        leaf = case.domain.Variable(case.inputs[index])
        results = []
        for factor in (1.0, 2.0, -3.0):
            inputs = [leaf if i == index else x * factor for i, x in enumerate(case.inputs)]
            results.append(case.result(*inputs))
        given = cotangents(results, seed=1)
        one_by_one = [
            _gradient([result], leaf, [g], retain_graph=True)
            for result, g in zip(results, given, strict=True)
        ]
        found = _gradient(results, leaf, given)
        what = f"the gradient of three calls that share {name!r}"
        assert_close(what, found, sum(one_by_one), trial.tolerance, "as the sum of those of each")


def _gradient(outputs: list[Any], leaf: Variable, given: list[Variable], **options: Any) -> Any:
    (g,) = autodiff.grad(outputs, [leaf], given, **options)
    assert g is not None
    return on_host(g)
