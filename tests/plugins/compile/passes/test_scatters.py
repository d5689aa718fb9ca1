"""Additions to one part of an array of zeros: one of them, and the same bits."""

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._passes.passes import run
from traced import check, ops, raw, traced

NAMES = ("uniform", "identities", "common", "scatters", "dead")
R = np.random.default_rng(5)
X = R.normal(size=12)
OTHERS = [[-X], [np.where(X > 0, 0.0, -0.0)], [np.where(X > 0, np.inf, np.nan)]]


def scattered(program):
    return ops(program).count("@scatter_add")


@pytest.mark.accelerated
@pytest.mark.parametrize("backend", ["numpy", "strict", "torch"], indirect=True)
def test_the_gradient_of_slices_that_are_read_several_times(backend, xp):
    x = raw(backend, X)

    def f(x):
        a = x[1:] - x[:-1] * x[:-1]
        b = 1.0 - x[:-1]
        return xp.sum(100.0 * a * a + b * b)

    program = traced(backend, ag.grad(f), x)
    made = check(program, x, others=[[raw(backend, each)] for (each,) in OTHERS], names=NAMES)
    assert scattered(program) > 2
    assert scattered(made) == 2


def elements(xp, x):
    return [xp.cos(x[3]), xp.sin(x[3])]


def every_second(xp, x):
    return [x[::2] * x[::2] * x[::2]]


def rows(xp, x):
    y = xp.reshape(x, (3, 4))
    return [xp.cos(y[1, 1:]), xp.sin(y[1, 1:])]


@pytest.mark.accelerated
@pytest.mark.parametrize("f", [elements, every_second, rows])
def test_other_keys(f):
    xp = ag.namespace("numpy")
    gradient = ag.grad(lambda x: sum(xp.sum(each) for each in f(xp, x)))
    program = traced("numpy", gradient, X)
    made = check(program, X, others=OTHERS, names=NAMES, lowered=True)
    assert scattered(made) < scattered(program)


def test_what_is_not_added_to_zeros_or_to_another_part_stays():
    xp = ag.namespace("numpy")

    def f(x):
        y = xp.exp(x)
        y[:-1] += x[1:]
        y[:-1] += x[1:] * x[1:]
        return y

    program = traced("numpy", f, X)
    assert run(program, ("scatters",)).steps == program.steps
    program = traced("numpy", ag.grad(lambda x: xp.sum(x[1:] * x[:-1])), X)
    assert run(program, ("scatters",)).steps == program.steps


def test_one_that_is_read_by_another_step_stays():
    xp = ag.namespace("numpy")

    def f(x):
        first = ag.grad(lambda x: xp.sum(x[1:] ** 2))(x)
        return first, ag.grad(lambda x: xp.sum(x[1:] ** 2) + xp.sum(x[1:] ** 3))(x)

    program = traced("numpy", f, X)
    check(program, X, others=OTHERS, names=NAMES, lowered=True)


@pytest.mark.parametrize("backend", ["numpy", "strict", "torch"], indirect=True)
def test_an_addition_to_all_of_some_zeros_is_a_sum(backend, xp):
    x = raw(backend, X)

    def squares(x):
        total = 0.0
        for i in range(x.shape[0]):
            total = total + x[i] * x[i]
        return total

    program = traced(backend, ag.grad(squares), x)
    made = check(program, x, others=[[raw(backend, each)] for (each,) in OTHERS])
    assert not scattered(made)
    assert not made.constants


@pytest.mark.accelerated
@pytest.mark.parametrize("key", [slice(None, None, -1), slice(1, None), slice(0, 12, 2), 3])
def test_an_addition_to_others_stays_one(key):
    xp = ag.namespace("numpy")
    program = traced("numpy", ag.grad(lambda x: xp.sum(xp.exp(x[key]))), X)
    made = check(program, X, others=OTHERS, names=NAMES, lowered=True)
    assert scattered(made) == 1


def test_zeros_with_a_sign_stay():
    xp = ag.namespace("numpy")

    def f(x):
        y = ag.grad(lambda y: xp.sum(y[0:12] * x))(x)
        return -ag.grad(lambda z: xp.sum(z[:] * 0.0))(-x) + y

    check(traced("numpy", f, X), X, others=OTHERS, lowered=True)
