"""Values: those of the library, those of NumPy, and that nothing is changed."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from agnograd.testing.host import assert_close, copied, on_host
from agnograd_conformance._case import arrays_in
from agnograd_conformance._orders import compare
from agnograd_conformance._trial import NotApplicable, Recorded, Trial, wrapped

__all__ = ["agrees_with_numpy", "forward", "inputs_unchanged"]


def forward(trial: Trial) -> None:
    """The op gives what the library's own function gives: values, shapes and dtypes.

    Where the backend has a kernel of its own for the op, it may round otherwise.
    """
    case = trial.case()
    domain = case.domain
    _has_function(trial)
    result = case.result(*wrapped(case.inputs, domain, True))
    own = _by_the_library(trial)
    after = case.sample.after
    if after is not None and not isinstance(own, (list, tuple, *domain.array_types)):
        result, own = after(result, domain.namespace), after(own, domain.raw)  # of an object
    found, expected = arrays_in(result), arrays_in(own)
    if len(found) != len(expected):
        raise AssertionError(f"the op gives {len(found)} arrays, the library {len(expected)}")
    tolerance = trial.tolerance if case.op.name in domain.backend.kernels() else 0.0
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        what = f"result {index}" if len(found) > 1 else "the result"
        if not isinstance(other, domain.array_types):
            if one != other:
                raise AssertionError(f"{what} is {one!r}, and {other!r} by the library")
            continue
        if not isinstance(one, domain.Variable):
            raise AssertionError(f"{what} is {type(one).__name__}, not a Variable")
        array: Any = other
        if one.dtype != array.dtype:
            raise AssertionError(f"{what} has dtype {one.dtype}, and {array.dtype} by the library")
        known = on_host(domain.Variable(other, False))
        assert_close(what, on_host(one), known, tolerance, "by the library")


def _has_function(trial: Trial) -> None:
    try:
        attrgetter(trial.sample.op)(trial.domain.namespace)
    except AttributeError:
        name, backend = trial.sample.op, type(trial.domain.backend).__name__
        raise AssertionError(
            f"the backend's namespace has no function {name!r}: let {backend}.namespace() give "
            f"one, or say in {backend}.ops which ops there are"
        ) from None


def _by_the_library(trial: Trial) -> Any:
    """Compute a sample by the library's function, or by the op's own on raw arrays."""
    case = trial.case()
    args = list(case.args)
    if trial.sample.before is not None:
        args[0] = trial.sample.before(args[0], case.domain.raw)
    if case.op.forward is None:
        return attrgetter(case.op.name)(case.domain.library)(*args, **case.kwargs)
    if case.op.composed:
        return attrgetter(case.op.name)(case.domain.raw)(*args, **case.kwargs)
    given = case.op.signature.bind(*args, **case.kwargs)
    given.apply_defaults()  # which the op's function passes on, but for arrays that are not given
    options = {
        name: value
        for name, value in given.kwargs.items()
        if value is not None or name not in case.op.arrays
    }
    return attrgetter(case.op.name)(case.domain.raw)(*given.args, **options)


def agrees_with_numpy(trial: Trial) -> None:
    """Values, first and second derivatives are those of the NumPy backend."""
    if trial.backend == "numpy":
        raise NotApplicable("it is NumPy")
    if not trial.runs_on("numpy"):
        raise NotApplicable("the sample is not for NumPy")
    orders = trial.sample.order if trial.case().places else 0
    compare(trial, trial.on("numpy"), orders, "", "by NumPy")


def inputs_unchanged(trial: Trial) -> None:
    """No pass changes an input, a result or a cotangent, and a second one gives the same."""
    if trial.domain.backend.capabilities.immutable:
        raise NotApplicable("no array of the backend can be written to")
    call = Recorded(trial)
    given = call.cotangents()
    watched = {
        "an input": [call.case.domain.Variable(x, False) for x in call.case.arrays],
        "the result": call.outputs,
        "the cotangent": given,
    }
    before = {what: copied(each) for what, each in watched.items()}
    first = copied(call.gradients(given, retain_graph=True))
    again = call.gradients(given, retain_graph=True)
    call.differentiate_again(call.gradients(given, create_graph=True))
    for what, variables in watched.items():
        for one, other in zip(before[what], variables, strict=True):
            assert_close(f"{what} has changed", one, on_host(other), 0.0, "after the pass")
    for one, other in zip(first, again, strict=True):
        assert_close("the gradient of a second pass", on_host(other), one, 0.0, "by the first")
