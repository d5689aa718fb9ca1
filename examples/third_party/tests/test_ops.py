"""The ops, in every namespace."""

import math
import subprocess
import sys

import pytest

import agnograd as ag


@pytest.fixture(params=["numpy", "strict", "rows"])
def xp(request):
    return ag.namespace(request.param)


def leaf(xp, *values):
    return ag.Variable(xp.asarray(values, dtype=xp.float64), requires_grad=True)


def numbers(array):
    return [array[k].item() for k in range(array.shape[0])]


def test_erf_is_that_of_the_c_library(xp):
    points = [sign * k / 16 for k in range(160) for sign in (-1, 1)]
    found = numbers(xp.erf(xp.asarray(points)))
    assert found == pytest.approx([math.erf(each) for each in points], rel=1e-14)
    assert math.isnan(xp.erf(xp.asarray(math.nan)).item())


def test_logsumexp_neither_overflows_nor_makes_nan(xp):
    x = leaf(xp, 1000.0, 1000.0, -math.inf)
    y = xp.logsumexp(x)
    y.backward()
    assert y.item() == pytest.approx(1000.0 + math.log(2.0))
    assert numbers(x.grad) == pytest.approx([0.5, 0.5, 0.0])


def test_logsumexp_of_nothing_at_all(xp):
    x = leaf(xp, -math.inf, -math.inf)
    y = xp.logsumexp(x)
    y.backward()
    assert y.item() == -math.inf
    assert numbers(x.grad) == [0.0, 0.0]


@pytest.mark.parametrize("backend", ["numpy", "strict", "rows"])
def test_they_pass_the_conformance_suite(backend):
    suite = ["--pyargs", "agnograd.testing.conformance", f"--agnograd-backend={backend}"]
    ops = ["--agnograd-ops=erf", "--agnograd-ops=logsumexp"]
    command = [sys.executable, "-m", "pytest", "-q", *suite, *ops]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_where_they_come_from():
    for name in ("erf", "logsumexp"):
        info = ag.ops()[name]
        assert (info.chapter, info.status) == ("stranger", "rule")
        assert info.distribution == "stranger-ops 0.1.0"
