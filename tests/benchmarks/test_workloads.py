"""Every workload's derivatives, by hand and by agnograd, on small sizes."""

from types import SimpleNamespace

import numpy as np
import pytest

import agnograd as ag
from benchmarks.implementations import by_agnograd, by_agnograd_loop, by_hand
from benchmarks.workloads import BATCHES, HELD_OUT, LAPLACIANS, WORKLOADS
from tests.helpers.memory import peak_of

GRADIENTS = WORKLOADS | HELD_OUT


@pytest.mark.parametrize("name", GRADIENTS)
def test_agnograd_agrees_with_what_is_written_by_hand(name):
    case = GRADIENTS[name].case("small")
    expected = by_hand.prepare(case)()
    found = by_agnograd.prepare(case)()
    assert len(found) == len(expected) == len(case.variables)
    for ours, theirs, variable in zip(found, expected, case.variables, strict=True):
        assert ours.shape == np.shape(theirs) == variable.shape
        assert ours.dtype == theirs.dtype == variable.dtype
        assert np.any(theirs)
        scale = np.max(np.abs(theirs))
        tolerance = 1e-5 if variable.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("name", GRADIENTS)
def test_what_is_written_by_hand_is_the_derivative(name):
    case = GRADIENTS[name].case("small")
    if case.variables[0].dtype == np.float32:
        case = case._replace(
            variables=tuple(each.astype(float) for each in case.variables),
            constants=tuple(each.astype(float) for each in case.constants),
        )
    xp = ag.namespace("numpy")
    directions = [np.cos(np.arange(x.size)).reshape(x.shape) for x in case.variables]

    def along(t):
        moved = (x + t * d for x, d in zip(case.variables, directions, strict=True))
        with ag.no_grad():
            return np.sum(np.asarray(case.value(xp, *moved, *case.constants)))

    products = by_hand.prepare(case)()
    if case.vectors:
        (p,), (x,), (d,), h = case.vectors, case.variables, directions, 1e-4
        points = (x + a * h * p + b * h * d for a in (1, -1) for b in (1, -1))
        values = [float(case.value(xp, each)) for each in points]
        expected = (values[0] - values[1] - values[2] + values[3]) / (4 * h * h)
    else:
        expected = (along(1e-6) - along(-1e-6)) / 2e-6
    found = sum(np.sum(g * d) for g, d in zip(products, directions, strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("name", BATCHES)
def test_many_derivatives_at_once_agree_with_a_loop_and_by_hand(name):
    case = BATCHES[name].case("small")
    expected = by_hand.prepare(case)()
    assert all(np.any(each) for each in expected)
    for way in (by_agnograd, by_agnograd_loop):
        found = way.prepare(case)()
        assert len(found) == len(expected) == len(case.variables)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12 * np.max(abs(theirs)))


@pytest.mark.parametrize("name", LAPLACIANS)
def test_laplacians_agree_with_the_trace_of_a_hessian_and_by_hand(name):
    case = LAPLACIANS[name].case("small")
    case = case.on(lambda x: x.astype(float))
    xp = ag.namespace("numpy")
    functions = SimpleNamespace(
        vmap=ag.vmap,
        grad=ag.grad,
        laplacian=lambda f: lambda *args: xp.linalg.trace(ag.hessian(f)(*args)),
    )
    expected = case.transformed(functions, xp)(*case.variables, *case.constants)
    assert all(np.any(each) for each in expected)
    for way in (by_agnograd, by_hand):
        for ours, theirs in zip(way.prepare(case)(), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12 * np.max(abs(theirs)))


EVERY = {**GRADIENTS, **BATCHES, **LAPLACIANS}


@pytest.mark.parametrize("workload", EVERY.values(), ids=EVERY)
def test_titles_tell_sizes(workload):
    assert workload.describe("full") != workload.describe("small")


def test_a_case_is_the_same_every_time():
    first, second = (WORKLOADS["attention"].case("small") for _ in range(2))
    for one, other in zip(first.variables, second.variables, strict=True):
        assert one.tolist() == other.tolist()


def test_element_wise_by_hand_keeps_what_it_needs_alone():
    steps, size = 6, 10_000
    case = WORKLOADS["element-wise"].make(np.random.default_rng(0), steps=steps, size=size)
    run = by_hand.prepare(case)
    run()
    assert peak_of(run) < (2 * steps + 3.1) * size * 8
