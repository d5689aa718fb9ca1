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
    """Return a function that returns what counts passes from then on."""
    counts = {"push": 0, "pull": 0}

    def counted(name, function):
        def call(*args, **kwargs):
            counts[name] += 1
            return function(*args, **kwargs)

        return call

    usual(monkeypatch, jacobian.__name__)
    monkeypatch.setattr(Pushforward, "__call__", counted("push", Pushforward.__call__))
    monkeypatch.setattr(Trace, "pull", counted("pull", Trace.pull))
    monkeypatch.setattr(jacobian, "PASS_ELEMENTS", 0)  # one pass after the other

    def begun():
        counts.update(push=0, pull=0)
        return counts

    return begun


def is_lazy(xp):
    return xp.empty(0)._domain.backend.capabilities.lazy


def linear(xp, results, arguments):
    """Return a function, its argument, and its Jacobian."""
    matrix = np.reshape(np.arange(results * arguments) % 7.0, (results, arguments))
    x = xp.ones(arguments, dtype=xp.float64)
    return (lambda x: xp.asarray(matrix) @ x), x.data, matrix


@pytest.mark.parametrize(
    ("results", "arguments", "expected"),
    [
        (20, 10, {"push": 10}),
        (10, 20, {"pull": 10}),
        (10, 10, {"pull": 10}),  # as many either way
        (201, 200, {"push": 200}),
        (200, 201, {"pull": 200}),
        (0, 3, {}),
    ],
)
def test_the_direction_of_fewer_passes(xp, passes, results, arguments, expected):
    f, x, matrix = linear(xp, results, arguments)
    for mode, taken in (
        ("auto", expected),
        ("forward", {"push": arguments}),
        ("reverse", {"pull": results}),
    ):
        counts = passes()
        np.testing.assert_array_equal(np.asarray(ag.jacobian(f, mode=mode)(x)), matrix)
        assert counts == {"push": 0, "pull": 0, **taken}


def test_hessians_take_reverse_passes(xp, passes):
    f, x, _ = linear(xp, 20, 20)
    counts = passes()
    ag.hessian(lambda x: xp.sum(f(x) ** 2))(x)
    assert counts == {"push": 0, "pull": 21}  # as many either way, of the same cost


def test_a_jacobian_is_the_same_bits_in_each_run(xp):
    x = xp.linspace(0.1, 0.9, 150, dtype=xp.float64).data

    def f(x):
        return xp.concat([xp.sin(x) * xp.sum(x), xp.exp(x[:20])])

    first = np.asarray(ag.jacobian(f)(x))
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(ag.jacobian(f)(x)), first)


def test_several_arguments_and_results(xp, passes):
    x = {"z": xp.asarray([1 + 2j, 2j], dtype=xp.complex128).data, "s": xp.ones(2).data}

    def f(x):
        return [xp.abs(x["z"]) * x["s"], xp.reshape(x["s"], (2, 1)), xp.ones(0)]

    expected = ag.jacobian(f, mode="reverse")(x)
    for mode, taken in (("auto", {"pull": 4}), ("forward", {"push": 6})):
        counts = passes()
        found = ag.jacobian(f, mode=mode)(x)
        assert counts == {"push": 0, "pull": 0, **taken}
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
        counts = passes()
        found = ag.jacobian(f, mode=mode, chunk_size=chunk)(x)
        np.testing.assert_array_equal(np.asarray(found), matrix)
        assert counts[kind] == expected
    f, x, _ = linear(xp, 16, 16)
    monkeypatch.setattr(jacobian, "PASS_ELEMENTS", 2**18)
    counts = passes()
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
