"""How what a function returns changes with all that it uses."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.extend import sensitivity


def leaf(xp, value):
    return ag.Variable(xp.asarray(value, dtype=xp.float64).data)


def test_it_is_proportional_to_the_derivative(xp):
    x = leaf(xp, [0.5, 2.0])
    once = sensitivity(lambda: x * 1.0)
    assert sensitivity(lambda: x * 3.0) == pytest.approx(3.0 * once)
    assert sensitivity(lambda: 5.0 - x) == pytest.approx(-once)


def test_all_that_a_function_uses_has_a_part(xp):
    x, y = leaf(xp, 2.0), leaf(xp, 3.0) * 1.0  # a leaf, and a value that was made before
    alone = sensitivity(lambda: x * 1.0), sensitivity(lambda: y * 1.0)
    assert all(abs(each) > 0.1 for each in alone)
    assert sensitivity(lambda: x * x.detach() + y) not in (alone[0], alone[1], None)


def test_complex_values_count(xp):
    z = ag.Variable(xp.asarray(1 + 2j, dtype=xp.complex128).data)
    assert sensitivity(lambda: z * 2.0) == pytest.approx(2 * sensitivity(lambda: z * 1.0))


def test_what_depends_on_nothing_has_none(xp):
    x = leaf(xp, 1.0)
    assert sensitivity(lambda: x.detach() * 2.0) is None
    assert sensitivity(lambda: 2.0) is None
    with ag.no_grad():
        assert sensitivity(lambda: x * 2.0) is None


def test_nothing_of_the_call_is_recorded(xp):
    def f(x):
        sensitivity(lambda: xp.exp(x) * x)
        return x * x

    x = xp.asarray(3.0, dtype=xp.float64).data
    assert float(ag.jvp(f, x, x)[1]) == 18.0
    assert float(ag.grad(f)(x)) == 6.0
    assert float(ag.grad(lambda y: ag.grad(f)(y))(x)) == 2.0
    assert np.isclose(float(ag.jvp(ag.grad(f), x, x)[1]), 6.0)
