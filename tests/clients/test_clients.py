"""Calls of other libraries: each comes to what is expected of it, on every backend.

Each area runs in a process of its own: SciPy reads SCIPY_ARRAY_API when it is imported.
"""

import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter

import pytest

from agnograd_certify import Finding
from tests.clients import expected, matrix

CALLS = matrix.calls()


def measured(backend, area):
    """Return what each call of an area comes to, measured in a process of its own."""
    options = "--backend", backend, "--tested"
    command = [sys.executable, "-m", "tests.clients", *options, f"{area}: "]
    run = subprocess.run(command, cwd=matrix.ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    return {
        line["call"]: Finding(line["status"], line["reason"], warnings=line["warnings"])
        for line in lines
    }


@pytest.mark.parametrize("area", matrix.AREAS)
@pytest.mark.slow
def test_calls_come_to_what_is_expected(backend, area):
    module = next(call.module for call in CALLS if call.area == area)
    missing = [name for name in module.IMPORTS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed; pip install 'agnograd[clients]'")
    if backend not in matrix.BACKENDS:
        pytest.skip(f"what to expect on {backend} is not written down")
    outcomes = measured(backend, area)
    assert set(outcomes) == {call.id for call in matrix.tested(backend) if call.area == area}
    known, told = matrix.expectations(backend), matrix.warnings(backend)
    surprises = []
    for call, outcome in outcomes.items():
        if not expected.fits(outcome, known.get(call, matrix.RIGHT)):
            surprises.append(f"{call}: {outcome}, expected {known.get(call, matrix.RIGHT)}")
        elif not expected.warns_as(outcome, told.get(call)):
            surprises.append(f"{call} warns {outcome.warnings}, expected {told.get(call)}")
    assert not surprises, "\n".join(surprises)


@pytest.mark.parametrize("backend", matrix.BACKENDS)
def test_no_gradient_is_wrong_or_lost_without_a_word(backend):
    found = matrix.expectations(backend).values()
    assert {each.status for each in found} <= {"refused", "no gradient", "warned", "unsupported"}


@pytest.mark.parametrize("backend", matrix.BACKENDS)
def test_whatever_is_not_right_has_a_reason_and_is_a_call(backend):
    listed = matrix.expectations(backend) | matrix.warnings(backend)
    assert set(listed) <= {call.id for call in CALLS}
    assert [each for each in listed.values() if not each.why] == []
    assert all(each.error for each in listed.values() if each.status in ("", "refused"))


def test_no_call_is_there_twice():
    counted = Counter(call.id for call in CALLS)
    assert [call for call, count in counted.items() if count > 1] == []


def test_as_many_calls_are_right_as_was_promised():
    known = matrix.expectations("numpy")
    right = [call.module.LIBRARY for call in CALLS if call.id not in known]
    promised = sum(library in matrix.PROMISED for library in right)
    assert promised >= 450
    assert len(right) - promised >= 40


def test_the_readme_does_not_say_more_than_there_is():
    known = matrix.expectations("numpy")
    right = [call.module.LIBRARY in matrix.PROMISED for call in CALLS if call.id not in known]
    readme = " ".join((matrix.ROOT / "README.md").read_text().split())
    promised, others = re.search(
        r"more than (\d+) calls of SciPy.* more than (\d+) of", readme
    ).groups()
    assert sum(right) > int(promised)
    assert len(right) - sum(right) > int(others)
