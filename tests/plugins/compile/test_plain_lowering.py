"""Compiled functions on libraries without a lowering of their own: Dask and array-api-strict."""

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._lowerings import lowering_for, plain


def loss(xp):
    def f(x, w):
        hidden = xp.tanh(x @ w)
        return xp.sum(hidden * hidden) / xp.mean(xp.exp(hidden[0, :]))

    return f


def arrays(xp):
    random = np.random.default_rng(5)
    return [xp.asarray(random.normal(size=shape).tolist()).data for shape in ((4, 3), (3, 2))]


@pytest.mark.parametrize("library", ["dask", "strict"])
def test_values_and_gradients_are_those_of_the_plain_function(library):
    try:
        xp = ag.namespace(library)
    except ImportError as error:
        pytest.skip(str(error))
    assert lowering_for(library, "auto") is plain
    f = ag.value_and_grad(loss(xp), argnums=(0, 1))
    compiled, given = ag.compile(f), arrays(xp)
    for _ in range(2):
        found, expected = compiled(*given), f(*given)
        pairs = zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True)
        for one, other in pairs:
            assert type(one) is type(other)
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
        given = [each * 0.5 for each in given]


@pytest.mark.parametrize("library", ["dask", "strict"])
def test_branches_on_values_are_traced_again(library):
    try:
        xp = ag.namespace(library)
    except ImportError as error:
        pytest.skip(str(error))
    compiled = ag.compile(lambda x: xp.exp(x) if float(xp.sum(x)) == 3.0 else x * float(xp.max(x)))
    ones = xp.ones(3).data
    for given, expected in ((ones, np.exp(np.ones(3))), (ones * 2.0, 4.0), (ones, np.e)):
        np.testing.assert_allclose(np.asarray(compiled(given)), expected)


def test_dask_computes_nothing_but_what_python_looks_at():
    pytest.importorskip("dask", reason="Dask: pip install 'agnograd[dask]'")
    from dask.callbacks import Callback

    class Counting(Callback):
        runs = 0

        def _start(self, graph):
            self.runs += 1

    xp = ag.namespace("dask")
    given = arrays(xp)
    compiled = ag.compile(ag.value_and_grad(loss(xp), argnums=(0, 1)))
    with Counting() as counting:
        for _ in range(3):
            compiled(*given)
    assert counting.runs == 0
    looking = ag.compile(lambda x: x * 2.0 if bool(xp.sum(x) > -100.0) else x)
    with Counting() as counting:
        looking(given[0])
        first = counting.runs
        looking(given[0])
    assert counting.runs - first == 1
