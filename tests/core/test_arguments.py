"""What functions of op packs are given, as the ops of a namespace take it."""

import operator
from fractions import Fraction

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays.domains import domain_named
from agnograd.errors import MixedBackendsError, NoGradientError, UnsupportedArrayError
from agnograd.extend import is_plain_numpy, operand
from arrays import leaf, values


def test_operands_are_variables_and_pythons_scalars(xp):
    x = leaf(xp, [1.0, 2.0])
    assert operand(xp, x) is x
    assert [operand(xp, each) for each in (2, 0.5, 1j, True)] == [2, 0.5, 1j, True]
    for given in (x.data, [1.0, 2.0]):
        found = operand(xp, given)
        assert type(found) is type(xp.ones(2))
        assert values(found).tolist() == [1.0, 2.0]


def test_another_librarys_scalar_is_a_number():
    assert type(operand(ag.namespace("strict"), np.float64(0.5))) is float


def test_a_namespace_of_raw_arrays_gets_raw_arrays(backend):
    raw = domain_named(backend).raw
    x = raw.asarray([1.0, 2.0])
    assert type(operand(raw, x)) is type(operand(raw, [1.0, 2.0])) is type(x)
    assert operand(raw, 0.5) == 0.5


def test_another_backends_array_is_an_error():
    x = ag.namespace("strict").ones(2)
    for given in (x, x.data):
        with pytest.raises(MixedBackendsError, match=r"ag\.asarray\(x, backend='numpy'\)"):
            operand(ag.namespace("numpy"), given)


def test_arrays_with_rules_of_their_own_are_not_plain():
    assert is_plain_numpy(np.ones(2))
    for other in (np.ma.ones(2), np.ones((1, 2)).view(np.matrix), [1.0], 1.0):
        assert not is_plain_numpy(other)


def test_a_list_with_variables_in_it_is_an_array(xp):
    a, x = leaf(xp, 2.0), leaf(xp, [1.0, 4.0])
    pair = [a, 3.0]
    for found, expected in (
        (xp.mean(pair), 2.5),
        (xp.sum([[a, 1.0], [a, a]]), 7.0),
        (xp.sum(xp.multiply(x, pair)), 14.0),
        (xp.sum(x * pair), 14.0),
        (xp.sum(pair * x), 14.0),
        (pair @ x, 14.0),
        (np.sum(np.multiply(pair, x)), 14.0),
        (xp.linalg.vector_norm([a, a * 0]), 2.0),
    ):
        assert values(found) == expected
        assert found.requires_grad
    with pytest.raises(MixedBackendsError):
        xp.sum([a, ag.namespace("numpy" if a.device != "cpu" else "strict").ones(())])


def test_numpys_ufuncs_take_lists(xp):
    x = leaf(xp, [1.0, 4.0])
    assert values(np.add(x, [1.0, 2.0])).tolist() == [2.0, 6.0]
    assert values(np.subtract((1.0, 2.0), x)).tolist() == [0.0, -2.0]
    assert values(np.matmul(x, [1.0, 2.0])) == 9.0
    assert values(np.greater(x, [2.0, 2.0])).tolist() == [False, True]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda xp, x, s: xp.std(x, correction=s), "correction"),
        (lambda xp, x, s: np.var(x, ddof=s), "correction"),
        (lambda xp, x, s: xp.linalg.vector_norm(x, ord=s), "ord"),
        (lambda xp, x, s: np.linalg.norm(x, ord=s), "ord"),
    ],
)
def test_an_option_loses_no_gradient(xp, call, name):
    x, s = leaf(xp, [1.0, 4.0, 2.0]), leaf(xp, 1.0)
    with pytest.raises(NoGradientError, match=f"{name!r} requires a gradient, and is not an input"):
        call(xp, x, s)
    expected = values(call(xp, x, 1.0))
    assert values(call(xp, x, s.detach())) == expected
    with ag.no_grad():
        assert values(call(xp, x, s)) == expected


class Holding:
    """An array with units, say: it holds an array, and answers NumPy's functions."""

    def __init__(self, magnitude):
        self.magnitude = magnitude

    def __array_function__(self, function, types, args, kwargs):
        return Holding(function(*(getattr(each, "magnitude", each) for each in args), **kwargs))


def test_an_object_that_holds_an_array_is_told_how_it_is_differentiated():
    with pytest.raises(UnsupportedArrayError, match=r"differentiate by x\.magnitude.*Holding\(a"):
        ag.grad(lambda x: x)(Holding(np.ones(2)))


def test_the_namespace_makes_no_variable_of_what_answers_numpys_functions(xp):
    x = ag.Variable(xp.asarray([1.0, 2.0]).data)
    for function in (xp.sum, xp.exp, lambda held: xp.where(x > 0, held, 0.0)):
        with pytest.raises(UnsupportedArrayError, match=r"Holding.*NumPy's function"):
            function(Holding(x))
    assert np.sum(Holding(x)).magnitude.requires_grad


@pytest.mark.parametrize(
    ("f", "gradient"),
    [
        (lambda xp, x: xp.divide(x, [1.0, 2.0]), [1.0, 0.5]),
        (lambda xp, x: xp.divide((1.0, 2.0), x), [-0.25, -0.125]),
        (lambda xp, x: xp.matmul([[1.0, 2.0]], x), [1.0, 2.0]),
        (lambda xp, x: xp.tensordot(x, [3.0, 4.0], axes=1), [3.0, 4.0]),
        (lambda xp, x: xp.take(x, [1, 1]), [0.0, 2.0]),
    ],
    ids=["divisor", "dividend", "matrix", "tensor", "indices"],
)
def test_a_list_of_numbers_is_an_array(xp, f, gradient):
    x = leaf(xp, [2.0, 4.0])
    xp.sum(f(xp, x)).backward()
    np.testing.assert_allclose(values(x.grad), gradient)


@pytest.mark.parametrize("mix", [operator.truediv, operator.mul, operator.pow])
def test_a_fraction_is_a_number_like_pythons(xp, mix):
    x = leaf(xp, 2.0)
    found, expected = mix(x, Fraction(1, 2)), mix(x, 0.5)
    assert found.dtype == expected.dtype
    found.backward()
    part = x.grad
    x.grad = None
    expected.backward()
    assert values(part) == values(x.grad)
    assert values(mix(Fraction(1, 2), x)) == mix(0.5, 2.0)
