"""Which direction a Jacobian takes, and what its passes need."""

import tracemalloc

import numpy as np
import pytest

import agnograd as ag
from agnograd._transforms import jacobian
from agnograd._transforms.pushforward import Pushforward
from agnograd._transforms.trace import Trace
from agnograd.errors import ArgumentError
from usual import usual


@pytest.fixture
def passes(monkeypatch):
    """Return a function that says what passes cost by the clock, and what counts them."""
    counts, costs, now = {"push": 0, "pull": 0}, {}, [0.0]

    def counted(name, function):
        def call(*args, **kwargs):
            cost = costs[name]
            now[0] += cost(counts[name]) if callable(cost) else cost
            counts[name] += 1
            return function(*args, **kwargs)

        return call

    usual(monkeypatch, jacobian.__name__)
    monkeypatch.setattr(Pushforward, "__call__", counted("push", Pushforward.__call__))
    monkeypatch.setattr(Trace, "pull", counted("pull", Trace.pull))
    monkeypatch.setattr(jacobian, "_clock", lambda: now[0])
    monkeypatch.setattr(jacobian, "PASS_ELEMENTS", 0)  # one pass after the other

    def set_up(push, pull):
        counts.update(push=0, pull=0)
        costs.update(push=push, pull=pull)
        return counts

    return set_up


def is_lazy(xp):
    return xp.empty(0)._domain.backend.capabilities.lazy


def linear(xp, results, arguments):
    """Return a function, its argument, and its Jacobian."""
    matrix = np.reshape(np.arange(results * arguments) % 7.0, (results, arguments))
    x = xp.ones(arguments, dtype=xp.float64)
    return (lambda x: xp.asarray(matrix) @ x), x.data, matrix


@pytest.mark.parametrize(
    ("results", "arguments", "push", "pull", "expected"),
    [
        # What is measured: two passes of the direction that needs fewer, and one of the other.
        (20, 10, 1.0, 1.0, {"push": 10, "pull": 1}),
        (20, 10, 5.0, 1.0, {"push": 2, "pull": 20}),
        (20, 10, 2.4, 1.0, {"push": 10, "pull": 1}),  # not clearly cheaper
        (20, 10, 2.6, 1.0, {"push": 2, "pull": 20}),
        (10, 20, 1.0, 1.0, {"push": 1, "pull": 10}),
        (10, 20, 1.0, 5.0, {"push": 20, "pull": 2}),
        (10, 10, 1.0, 1.0, {"push": 1, "pull": 10}),
        (10, 10, 1.0, 2.0, {"push": 10, "pull": 2}),
        (20, 10, lambda number: 1.0 if number else 99.0, 1.0, {"push": 10, "pull": 1}),
        # What the numbers of passes decide.
        (7, 8, 1.0, 99.0, {"push": 0, "pull": 7}),
        (8, 7, 99.0, 1.0, {"push": 7, "pull": 0}),
        (81, 10, 99.0, 1.0, {"push": 10, "pull": 0}),
        (10, 81, 1.0, 99.0, {"push": 0, "pull": 10}),
    ],
)
def test_the_direction_that_costs_less(
    xp, monkeypatch, passes, results, arguments, push, pull, expected
):
    monkeypatch.setattr(jacobian, "MEASURED_PASSES", 8)
    f, x, matrix = linear(xp, results, arguments)
    if is_lazy(xp):  # where the clock says nothing
        fewer = {"push": arguments} if arguments < results else {"pull": results}
        expected = {"push": 0, "pull": 0, **fewer}
    counts = passes(push, pull)
    np.testing.assert_array_equal(np.asarray(ag.jacobian(f)(x)), matrix)
    assert counts == expected
    for mode, taken in (("forward", {"push": arguments}), ("reverse", {"pull": results})):
        counts = passes(push, pull)
        np.testing.assert_array_equal(np.asarray(ag.jacobian(f, mode=mode)(x)), matrix)
        assert counts == {"push": 0, "pull": 0, **taken}


def test_hessians_small_jacobians_and_those_inside_transformations_measure_nothing(
    xp, monkeypatch, passes
):
    f, x, _ = linear(xp, 200, 200)
    counts = passes(1.0, 99.0)
    ag.hessian(lambda x: xp.sum(f(x) ** 2))(x)
    assert counts == {"push": 0, "pull": 201}  # as many either way, of the same cost
    f, x, _ = linear(xp, 127, 127)
    counts = passes(1.0, 99.0)
    ag.jacobian(f)(x)
    assert counts == {"push": 0, "pull": 127}
    monkeypatch.setattr(jacobian, "MEASURED_PASSES", 8)
    f, x, matrix = linear(xp, 10, 10)
    counts = passes(1.0, 99.0)
    total = ag.grad(lambda x: xp.sum(ag.jacobian(lambda x: f(x) * x)(x)))(x)
    assert counts["push"] == 0
    np.testing.assert_allclose(np.asarray(total), matrix.sum(0) + matrix.sum(1))


def test_several_arguments_and_results_of_which_both_directions_know_a_part(
    xp, monkeypatch, passes
):
    monkeypatch.setattr(jacobian, "MEASURED_PASSES", 4)
    x = {"z": xp.asarray([1 + 2j, 2j], dtype=xp.complex128).data, "s": xp.ones(2).data}

    def f(x):
        return [xp.abs(x["z"]) * x["s"], xp.reshape(x["s"], (2, 1)), xp.ones(0)]

    passes(1.0, 1.0)
    expected = ag.jacobian(f, mode="reverse")(x)
    for push, pull in ((1.0, 1.0), (1.0, 99.0)):
        counts = passes(push, pull)
        found = ag.jacobian(f)(x)
        measured = {"push": 1, "pull": 4} if pull == 1.0 else {"push": 6, "pull": 2}
        assert counts == ({"push": 0, "pull": 4} if is_lazy(xp) else measured)
        for one, other in zip(found, expected, strict=True):
            for name in x:
                assert one[name].dtype == other[name].dtype
                np.testing.assert_allclose(np.asarray(one[name]), np.asarray(other[name]))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_many_passes_are_one(xp, monkeypatch, passes, mode):
    f, x, matrix = linear(xp, 20, 40)
    kind, most = ("pull", 20) if mode == "reverse" else ("push", 40)
    # By default as many as keep arrays small, but few are run one by one.
    for together, chunk, expected in (
        (0, None, most),
        (2**18, None, most if is_lazy(xp) else 1),
        (80, None, most if is_lazy(xp) else most // 2),
        (0, 8, (most + 7) // 8),
        (0, 1, most),
        (0, 1000, 1),
    ):
        monkeypatch.setattr(jacobian, "PASS_ELEMENTS", together)
        counts = passes(1.0, 1.0)
        found = ag.jacobian(f, mode=mode, chunk_size=chunk)(x)
        np.testing.assert_array_equal(np.asarray(found), matrix)
        assert counts[kind] == expected
    f, x, _ = linear(xp, 16, 16)
    monkeypatch.setattr(jacobian, "PASS_ELEMENTS", 2**18)
    counts = passes(1.0, 1.0)
    ag.jacobian(f, mode=mode)(x)
    assert counts[kind] == 16


@pytest.mark.parametrize("chunk_size", [0, -1, 1.5, True, "all"])
def test_a_chunk_has_a_size(chunk_size):
    with pytest.raises(ArgumentError, match="chunk_size"):
        ag.jacobian(lambda x: x, chunk_size=chunk_size)


def test_units_are_made_a_part_at_a_time(xp, monkeypatch):
    monkeypatch.setattr(jacobian, "UNIT_ELEMENTS", 20)
    f, x, matrix = linear(xp, 7, 9)
    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(np.asarray(ag.jacobian(f, mode=mode)(x)), matrix)


@pytest.mark.usual_switches
def test_memory_grows_with_the_jacobian_not_with_the_square_of_its_longer_side():
    xp, x = ag.namespace("numpy"), np.ones(2)
    f = ag.jacobian(lambda x: xp.broadcast_to(x[0] * x[1], (4000,)), mode="reverse")
    f(x)
    tracemalloc.start()
    try:
        f(x)
        assert tracemalloc.get_traced_memory()[1] < 2**23  # and not 4000 x 4000 x 8
    finally:
        tracemalloc.stop()
