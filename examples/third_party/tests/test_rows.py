"""The backend, by its name."""

import os
import subprocess
import sys

import pytest

import agnograd as ag


@pytest.fixture
def xp():
    return ag.namespace("rows")


def test_it_is_listed_and_not_imported():
    code = "import sys, agnograd as ag; assert 'rows' in ag.backends(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"stranger_ops", "array_api_strict"} & set(done.stdout.split())


def test_repeated_rows_add_up(xp):
    x = ag.Variable(xp.asarray([[1.0, 2.0], [3.0, 4.0]]), requires_grad=True)
    for axis in (0, 1):
        x.grad = None
        y = xp.take(x, xp.asarray([1, 1, 0, 1]), axis=axis)
        xp.sum(y * y).backward()
        expected = [[2.0, 4.0], [18.0, 24.0]] if axis == 0 else [[2.0, 12.0], [6.0, 24.0]]
        assert [[x.grad[i, j].item() for j in range(2)] for i in range(2)] == expected


def test_it_may_be_the_default():
    code = (
        "import agnograd as ag\n"
        "xp = ag.namespace()\n"
        "assert xp is ag.namespace('rows')\n"
        "x = ag.Variable(xp.asarray([1.0, 2.0]), requires_grad=True)\n"
        "xp.sum(x**3).backward()\n"
        "assert x.grad[1].item() == 12.0\n"
    )
    environment = {"AGNOGRAD_BACKEND": "rows"}
    subprocess.run([sys.executable, "-c", code], env=os.environ | environment, check=True)
