"""Chains of scalar reads, sums, scatters and writes: few steps on arrays, and the same bits."""

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._passes.passes import run
from agnograd_compile._programs.program import CHAIN
from traced import check, ops, raw, traced

XP = ag.namespace("numpy")
R = np.random.default_rng(3)
X = R.normal(size=40) * 10.0 ** R.integers(-8, 8, size=40)
OTHERS = [[X[::-1].copy()], [np.where(X > 0, X, -0.0)], [np.full(40, np.inf)]]


def after(f, *arrays, **settings):
    return check(traced("numpy", f, *arrays), *arrays, lowered=True, **settings)


def total(terms):
    s = terms[0]
    for term in terms[1:]:
        s = s + term
    return s


@pytest.mark.accelerated
@pytest.mark.parametrize("backend", ["numpy", "strict", "torch"], indirect=True)
def test_a_loop_over_elements_and_its_gradient(backend, xp):
    x = raw(backend, X)

    def f(x):
        s = xp.asarray(0.0, dtype=xp.float64)
        for i in range(40):
            s = s + x[i] * x[i]
        return s

    program = traced(backend, ag.value_and_grad(f), x)
    made = check(program, x, others=[[raw(backend, each)] for (each,) in OTHERS])
    assert len(program.steps) > 300
    assert ops(made) == ["multiply", CHAIN, "add", "add"]


@pytest.mark.parametrize(
    "terms",
    [
        lambda x: [x[i] for i in range(40)],
        lambda x: [x[i] for i in reversed(range(40))],
        lambda x: [x[i] for i in range(0, 40, 3)],
        lambda x: [x[-i] for i in range(1, 30)],
        lambda x: [x[i * i % 37] for i in range(20)],
        lambda x: [XP.abs(x[i] * 2.0 - x[39 - i]) / 3 for i in range(40)],
        lambda x: [x[i] * (0.1 * i) for i in range(40)],
        lambda x: [x[i] * x[0] for i in range(40)],
        lambda x: [XP.sqrt(XP.abs(x[i])) for i in range(1, 40)],
        lambda x: [XP.where(x[i] > 0, x[i], 0.5 * x[i]) for i in range(40)],
        lambda x: [-x[i] for i in range(12)],
    ],
)
def test_sums_of_what_is_computed_alike(terms):
    made = after(lambda x: total(terms(x)), X, others=OTHERS)
    assert CHAIN in ops(made)
    assert len(made.steps) < 16
    again = after(lambda x: XP.asarray(0.25) + total([x[3], *terms(x)]), X, others=OTHERS)
    assert CHAIN in ops(again)


@pytest.mark.parametrize(
    "terms",
    [
        lambda x: [x[i] for i in range(4)],  # too few
        lambda x: [XP.sin(x[i]) for i in range(40)],  # another result in arrays
        lambda x: [x[i] ** 2 for i in range(40)],
        lambda x: [(x[i] * x[i + 1]) if i % 2 else (x[i] + 1.0) for i in range(39)],
        lambda x: [XP.sum(x * i) for i in range(10)],
    ],
)
def test_others_stay(terms):
    assert CHAIN not in ops(after(lambda x: total(terms(x)), X, others=OTHERS[:2]))


def test_each_from_the_one_before():
    def f(x):
        s, t = x[0], x[1]
        for i in range(2, 40):
            t = t * 0.5
            s = s + t * x[i]
        return s

    assert CHAIN in ops(after(f, X, others=OTHERS[:2]))


def test_a_sum_that_is_read_in_between():
    def f(x):
        s = x[0]
        for i in range(1, 40):
            s = s + x[i]
            if i == 20:
                middle = s * 2.0
        return s, middle

    assert ops(after(f, X, others=OTHERS)).count(CHAIN) == 2


def test_sums_on_either_side():
    def f(x):
        s = x[0]
        for i in range(1, 40):
            s = x[i] + s
        return s

    assert ops(after(f, X, others=OTHERS)) == ["__getitem__", "take", CHAIN]


def test_elements_of_matrices():
    m = R.normal(size=(5, 8))
    rows = after(lambda m: total([m[i, j] for i in range(5) for j in range(8)]), m)
    assert CHAIN in ops(rows)
    assert ops(rows) == ["__getitem__", "reshape", "__getitem__", CHAIN]
    column = after(
        lambda m: total([m[i, 3] for i in range(5)] * 2 + [m[0, i] for i in range(8)]), m
    )
    assert column.steps
    second = after(lambda m: total([m[1, j] * m[j % 5, 2] for j in range(8)] * 1), m)
    assert second.steps
    slanted = np.asfortranarray(m)
    after(lambda m: total([m[i, j] for i in range(5) for j in range(8)]), slanted)
    after(lambda m: total([m[i, 2] for i in range(5)] + [m[4, j] for j in range(8)]), m[:, ::-1])


def gradient(terms):
    return ag.value_and_grad(lambda x: total(terms(x)))


@pytest.mark.parametrize(
    "terms",
    [
        lambda x: [x[i] * x[i + 1] for i in range(39)],
        lambda x: [x[i] * x[0] for i in range(40)],
        lambda x: [XP.sin(x[i]) for i in range(40)],
        lambda x: [x[i * i % 37] * 3.0 for i in range(30)],
        lambda x: [x[i] * x[i] * x[i] for i in reversed(range(40))],
    ],
)
def test_scatters(terms):
    made = after(gradient(terms), X, others=OTHERS[:2])
    assert ops(made).count("@scatter_add") <= 6 or terms(X)[0] == X[0] * X[0]


@pytest.mark.accelerated
def test_scatters_into_matrices():
    m = R.normal(size=(6, 7))
    terms = lambda m: [m[i, j] * m[5 - i, j] for i in range(6) for j in range(7)]  # noqa: E731
    made = after(gradient(terms), m, others=[[m * 0.3]])
    assert ops(made).count("@scatter_add") == 2


def test_writes():
    def f(x):
        y = XP.zeros_like(x)
        for i in range(40):
            y[i] = x[i] * (y[i - 1] if i else 2.0)
        return XP.sum(y)

    others = [[np.linspace(0.5, 1.5, 40)]]
    assert ops(after(f, X / 1e8, others=others)).count("__setitem__") == 1
    after(ag.value_and_grad(f), X / 1e8, others=others)


def test_writes_to_the_same_place():
    def f(x):
        y = x * 2.0
        for i in range(20):
            y[i // 2] = x[i] * 3.0
        return y

    made = after(f, X, others=OTHERS)
    assert ops(made).count("__setitem__") == 1
    assert len(made.steps) == 4


def test_single_precision_and_integers():
    single = X.astype("float32")
    f = gradient(lambda x: [x[i] * x[i] for i in range(40)])
    made = after(f, single / 1e4)
    assert CHAIN in ops(made)
    whole = R.integers(-9, 9, size=40)
    assert CHAIN in ops(after(lambda x: total([x[i] * 2 for i in range(40)]), whole))
    assert CHAIN in ops(after(lambda x: total([x[i] * (i - 3) for i in range(40)]), whole))
    # The product with 0.5 has another dtype than the elements.
    after(lambda x: total([x[i] * 0.5 for i in range(40)]), whole)
    after(lambda x, y: total([x[i] * y[i] for i in range(40)]), whole, single)


def test_guards_between():
    def f(x):
        s = x[0]
        for i in range(1, 20):
            if x[i] > -1e9:
                s = s + x[i]
        return s

    made = after(f, X, others=[[np.full(40, -1e10)], *OTHERS[:1]])
    assert CHAIN in ops(made)


def test_a_chain_that_ends_in_two_places_stays_correct():
    def f(x):
        s = x[0]
        for i in range(1, 20):
            s = s + x[i]
        return s, s * s, s + s

    assert CHAIN in ops(after(f, X, others=OTHERS[:2]))


@pytest.mark.accelerated
def test_long_chains_do_not_recurse():
    x = np.linspace(-1.0, 1.0, 3000)

    def f(x):
        s = x[0]
        for i in range(1, 3000):
            s = s + x[i] * x[i - 1]
        return s

    made = run(traced("numpy", ag.value_and_grad(f), x))
    assert len(made.steps) < 20
