"""The ops, in every namespace."""

import math
from importlib import import_module

import pytest

import agnograd as ag

SAMPLES = import_module("stranger_ops.samples").samples


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


@pytest.mark.parametrize("name", ["numpy", "strict"])
@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_derivatives_are_those_of_finite_differences(name, sample):
    xp = ag.namespace(name)
    args, options = sample.make(xp)
    ag.check_grad(lambda *arrays: getattr(xp, sample.op)(*arrays, **options), *args)


def test_second_derivatives_on_the_backend_of_this_distribution():
    x = leaf(ag.namespace("rows"), 0.5, 1.0)
    (first,) = ag.autodiff.grad(ag.namespace("rows").erf(x)[0], [x], create_graph=True)
    (second,) = ag.autodiff.grad(first[0], [x])
    slope = 2.0 / math.sqrt(math.pi) * math.exp(-0.25)
    assert numbers(first) == pytest.approx([slope, 0.0])
    assert numbers(second) == pytest.approx([-2.0 * 0.5 * slope, 0.0])


def test_where_they_come_from():
    for name in ("erf", "logsumexp"):
        info = ag.ops()[name]
        assert (info.chapter, info.status) == ("stranger", "rule")
        assert info.distribution == "stranger-ops 0.1.0"
