"""The measure tells right gradients from wrong, lost and refused ones."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import agnograd as ag
from tests.clients.expected import fits, warns_as
from tests.clients.matrix import ROOT, Call, Expected
from tests.clients.measure import Outcome, measure


class Doubled(ag.Function):
    """The identity, with a derivative that is twice what it should be."""

    def forward(self, xp, x):
        return x

    def backward(self, xp, g):
        return 2 * g


def detached(x):
    return x.detach() if isinstance(x, ag.Variable) else x


def written(x):
    x[0] = 3.0 * x[1]
    return x


def noisy(x):
    if isinstance(x, ag.Variable):
        import warnings

        warnings.warn("a Variable", UserWarning, stacklevel=1)
    return x * x


def on_strict(x):
    return isinstance(x, ag.Variable) and x.__array_namespace__() is ag.namespace("strict")


FUNCTIONS = {
    "doubled": lambda x: Doubled()(x) if isinstance(x, ag.Variable) else x,
    "other": lambda x: x + 1.0 if isinstance(x, ag.Variable) else x,
    "shorter": lambda x: [x] if isinstance(x, ag.Variable) else [x, x],
    "converted": lambda x: np.asarray(x) * 2.0,
    "failing": lambda x: 1 / 0,
    "divided": lambda x: (x, x / (0.0 * x))[:1],
}
FUNCTIONS |= {each.__name__: each for each in (detached, written, noisy, on_strict)}
MODULE = SimpleNamespace(
    INPUTS={
        "x": np.asarray([0.5, 1.5]),
        "z": np.asarray([0.5 + 1j, 1.5 - 0.5j]),
        "i": np.asarray([1, 0]),
    },
    scope=lambda: FUNCTIONS,
)


def outcome(text, backend="numpy"):
    return measure(Call(text, MODULE), backend)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("xp.sin(x)", "right"),
        ("(x, {'a': [x * x, 'text', None]}, 1)", "right"),
        ("xp.abs(z) ** 2", "right"),
        ("x[i]", "right"),
        ("written(x)", "right"),
        ("xp.round(x + 0.2)", "no gradient"),
        ("detached(xp.round(x + 0.2))", "no gradient"),
        ("doubled(x)", "wrong"),
        ("other(x)", "wrong"),
        ("shorter(x)", "wrong"),
        ("detached(x)", "lost"),
        ("(x * x, detached(x))", "lost"),
        ("float(x[0])", "warned"),
        ("x * float(x[0])", "warned"),
        ("converted(x)", "refused"),
        ("failing(x)", "broken"),
        ("i", "broken"),
        ("xp.sqrt(x - 0.5)", "broken"),
    ],
)
def test_each_status_is_told(text, status):
    found = outcome(text)
    assert found.status == status, found
    assert bool(found.error) is (status not in ("right", "no gradient"))


def test_the_error_is_kept():
    assert "LostGradientError: __array__" in outcome("converted(x)").error
    assert outcome("failing(x)").error == "ZeroDivisionError: division by zero"
    assert "by differences [" in outcome("doubled(x)").error


def test_warnings_that_plain_numpy_does_not_give_are_kept():
    assert outcome("noisy(x)").warnings == ["UserWarning: a Variable"]
    assert outcome("divided(x)").warnings == []


def test_another_backend_is_compared_with_numpy():
    assert outcome("xp.sin(x)", "strict").status == "right"
    assert outcome("xp.abs(z) ** 2", "strict").status == "right"
    assert outcome("xp.round(x + 0.2)", "strict").status == "no gradient"
    assert outcome("float(x[0])", "strict").status == "warned"
    assert outcome("x * float(x[0])", "strict").status == "warned"
    assert outcome("x * (0.0 * float(x[0]) + 1.0)", "strict").status == "right"
    assert outcome("doubled(x) if on_strict(x) else x", "strict").status == "wrong"
    assert outcome("detached(x) if on_strict(x) else x", "strict").status == "lost"
    assert outcome("failing(x) if on_strict(x) else x", "strict").status == "refused"


def test_what_the_library_turns_into_numpys_arrays_is_unsupported():
    assert outcome("converted(x)", "strict") == Outcome("unsupported", "the result is a ndarray")


def test_an_outcome_fits_in_both_directions():
    refused = Expected("refused", "why", "no such")
    assert fits(Outcome("refused", "there is no such thing"), refused)
    assert not fits(Outcome("refused", "another error"), refused)
    assert not fits(Outcome("right"), refused)
    assert not fits(Outcome("refused", "no such"), Expected("right"))


def test_warnings_are_expected_in_both_directions():
    told = Expected("", "why", "invalid value")
    assert warns_as(Outcome("right", warnings=["RuntimeWarning: invalid value"]), told)
    assert not warns_as(Outcome("right", warnings=["another"]), told)
    assert not warns_as(Outcome("right"), told)
    assert not warns_as(Outcome("right", warnings=["another"]), None)
    assert warns_as(Outcome("warned", warnings=["LostGradientWarning: float"]), None)


def test_the_command_prints_a_line_for_each_call():
    command = [sys.executable, "-m", "tests.clients", "array_api_extra: xpx.sinc("]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    assert len(lines) == 2
    assert all('"status": "right"' in line for line in lines)
