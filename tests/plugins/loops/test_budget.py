"""Loops within a budget of memory: the same gradients, and the fewest steps for the budget."""

import sys
import tracemalloc
from functools import cache
from math import comb

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError
from agnograd.extend import hookimpl
from arrays import leaf, values

BYTES = 3 * 8  # of a state of three numbers


def raw(xp, numbers, dtype="float64"):
    return xp.asarray(numbers, dtype=getattr(xp, dtype)).data


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12)


@cache
def fewest(count, slots):
    """Return the fewest steps to take again to reverse a loop with so many states, by search."""
    if count == 1:
        return 0
    if slots == 1:
        return count * (count - 1) // 2
    return min(
        ahead + fewest(ahead, slots) + fewest(count - ahead, slots - 1) for ahead in range(1, count)
    )


def times(count, slots):
    """Return how often a step is repeated at most."""
    return next(t for t in range(count) if comb(slots + t, slots) >= count)


def step_of(xp, calls=None):
    def step(x, i):
        if calls is not None:
            calls.append(i)
        return xp.sin(x) * 1.1 + 0.1 * i

    return step


def looped(step, x, count):
    for i in range(count):
        x = step(x, i)
    return x


@pytest.mark.parametrize(
    ("count", "room"), [(1, 1), (2, 2), (6, 4), (7, 5), (20, 6), (21, 7), (37, 8), (12, 99)]
)
def test_gradients_are_the_same_and_no_step_runs_in_vain(xp, count, room):
    calls, x = [], raw(xp, [0.5, 1.0, 2.0])
    step = step_of(xp, calls)

    def last(x):
        return xp.sum(ag.checkpoint_loop(step, x, count, budget=room * BYTES))

    value, gradient = ag.value_and_grad(last)(x)
    # Each step is recorded once. All but the last have run before; some run several times.
    slots = [each for each in range(1, count + 1) if each + times(count, each) <= room]
    assert len(calls) == count + min(fewest(count, each) for each in slots)
    assert calls[:count] == list(range(count))
    plain = ag.value_and_grad(lambda x: xp.sum(looped(step, x, count)))(x)
    close(value, plain[0])
    close(gradient, plain[1])


def test_more_states_than_steps_keep_them_all(xp):
    calls, x = [], raw(xp, [0.5, 1.0, 2.0])
    f = lambda x: xp.sum(ag.checkpoint_loop(step_of(xp, calls), x, 6, budget=10**9))  # noqa: E731
    ag.grad(f)(x)
    assert len(calls) == 6 + 5  # each but the last ran twice


def test_second_derivatives_and_forward_mode(xp):
    x, step = raw(xp, [0.5, 1.0, 2.0]), step_of(xp)
    f = lambda x: ag.checkpoint_loop(step, x, 6, budget=4 * BYTES)  # noqa: E731
    ag.check_grad(f, x)
    close(ag.jvp(f, x, x)[1], ag.jvp(lambda x: looped(step, x, 6), x, x)[1])
    rows = raw(xp, [[0.5, 1.0, 2.0], [1.0, -1.0, 0.0]])
    each = ag.vmap(ag.grad(lambda x: xp.sum(f(x))))(rows)
    close(each[0, ...], ag.grad(lambda x: xp.sum(f(x)))(x))


def test_pytrees_and_what_the_step_uses_besides_its_arguments(xp):
    w, x = leaf(xp, [0.5, 0.2, -0.3]), leaf(xp, [1.0, 2.0, 3.0]).detach()

    def step(state, i):
        velocity = state["v"] - w * state["x"]
        return {"x": state["x"] + 0.1 * velocity, "v": velocity}

    def energy(run):
        w.grad = None
        state = run(step, {"x": x, "v": x * 0.0})
        xp.sum(state["x"] ** 2 + state["v"] ** 2).backward()
        return values(w.grad)

    found = energy(lambda step, state: ag.checkpoint_loop(step, state, 9, budget=10 * BYTES))
    close(found, energy(lambda step, state: looped(step, state, 9)))


def test_no_more_states_are_kept_than_the_budget_has_room_for():
    xp, x = ag.namespace("numpy"), np.linspace(0.0, 1.0, 50_000)

    def peak(room):
        def last(x):
            step = step_of(xp)
            return xp.sum(ag.checkpoint_loop(step, x, 60, budget=room * x.nbytes))

        tracemalloc.start()
        try:
            ag.grad(last)(x)
            return tracemalloc.get_traced_memory()[1] / x.nbytes
        finally:
            tracemalloc.stop()

    peak(8)
    few, many = peak(8), peak(20)
    # What one step, its gradient and its rules need: from Python 3.14 on, one array stays longer.
    step = 3 + (sys.version_info >= (3, 14))
    assert 6 < few < 8 + step
    assert 17 < many < 20 + step


def test_a_budget_that_is_too_small_is_an_error(xp):
    x, step = raw(xp, [0.5, 1.0, 2.0]), step_of(xp)
    with pytest.raises(ArgumentError, match=r"room for 7 states of 24 bytes, and 60 steps need 8"):
        ag.checkpoint_loop(step, x, 60, budget=8 * BYTES - 1)
    with pytest.raises(ArgumentError, match="pass budget=48 or more"):
        ag.checkpoint_loop(step, x, 2, budget=BYTES)
    with pytest.raises(ArgumentError, match="1000000 steps need 23: pass budget=552 or more"):
        ag.checkpoint_loop(step, x, 10**6, budget=BYTES)


def test_hooks_see_the_name_of_the_step(xp):
    class Names:
        def __init__(self):
            self.seen = set()

        @hookimpl
        def backward_preprocess(self, op):
            self.seen.add((op.chapter, op.name))

    with ag.hooks(Names()) as (names,):
        x = leaf(xp, [0.5, 1.0, 2.0])
        xp.sum(ag.checkpoint_loop(step_of(xp), x, 4, budget=4 * BYTES)).backward()
    assert ("checkpoint", "step") in names.seen


def test_without_gradients_it_is_a_loop(xp):
    calls = []
    with ag.no_grad():
        out = ag.checkpoint_loop(step_of(xp, calls), leaf(xp, [0.5, 1.0, 2.0]), 9, budget=200)
    assert not out.requires_grad
    assert calls == list(range(9))
