"""Derivatives of products, exactly, where zeros meet partial products that are out of range."""

import itertools
from fractions import Fraction
from math import inf, prod

import numpy as np
import pytest

import agnograd as ag
from arrays import host

POINTS = [
    [0.0, 2.0, 3.0],
    [0.0, 1e200, 1e200],
    [1e200, 1e200, 0.0, 1e200],
    [0.0, 1e-200, 1e-200, 1e200, 1e200],
    [1e-200, 1e-200, 0.0, 0.0, 1e300, 1e300],
    [1e200, 1e200, -2.0, 1e-200, 1e-200],
    [1e-300, 1e-300, 1e-300, 3.0],
    [-1e300, 1.0, 1e-300, 1e-100],
    [5e-324, 1e300, 1e300],
]


def rounded(x):
    try:
        return float(x)
    except OverflowError:
        return inf if x > 0 else -inf


def of_product(x, left_out):
    """Return the product of all numbers but some, or 0 where one is to be left out twice."""
    if len(set(left_out)) < len(left_out):
        return Fraction(0)
    return prod((each for i, each in enumerate(x) if i not in left_out), start=Fraction(1))


def of_partial_products(x, left_out):
    """Return that of the sum of all partial products that have what is left out."""
    least = max(left_out) + 1
    return sum(of_product(x[:count], left_out) for count in range(least, len(x) + 1))


PRODUCTS = {
    "prod": (lambda xp, x: xp.prod(x), of_product),
    "cumulative_prod": (lambda xp, x: xp.sum(xp.cumulative_prod(x)), of_partial_products),
}


def exact(derivative, x, order):
    numbers = [Fraction(each) for each in x]
    places = itertools.product(range(len(x)), repeat=order)
    found = [rounded(derivative(numbers, place)) for place in places]
    return np.reshape(found, (len(x),) * order)


def assert_is(found, expected):
    """Compare numbers, of which the largest may be infinite, and the tiniest 0."""
    found = np.where(np.abs(expected) > 1e307, np.clip(found, -1e307, 1e307), found)
    np.testing.assert_allclose(found, np.clip(expected, -1e307, 1e307), rtol=1e-12, atol=1e-307)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", ["prod", "cumulative_prod"])
@pytest.mark.parametrize("point", POINTS, ids=str)
def test_products_out_of_range_have_exact_derivatives_of_both_orders(xp, point, name, mode):
    function, derivative = PRODUCTS[name]
    x = xp.asarray(point, dtype=xp.float64).data
    with xp.empty(0)._domain.backend.quiet():
        of_one = lambda x: function(xp, x)  # noqa: E731
        first = ag.jacobian(of_one, mode=mode)(x)
        second = ag.jacobian(ag.grad(of_one), mode=mode)(x)
    assert_is(host(first), exact(derivative, point, 1))
    assert_is(host(second), exact(derivative, point, 2))


@pytest.mark.parametrize("point", POINTS[3:6], ids=str)
def test_determinants_of_such_diagonals_have_exact_gradients(point):
    xp = ag.namespace("numpy")
    with np.errstate(all="ignore"):
        found = ag.grad(lambda x: xp.linalg.det(xp.eye(x.shape[0]) * x))(np.asarray(point))
    assert_is(found, exact(of_product, point, 1))


@pytest.mark.parametrize("name", ["prod", "cumulative_prod"])
def test_long_products_leave_out_what_overflows_beside_a_zero(xp, name):
    function = PRODUCTS[name][0]
    point = [1.0] * 20 + [0.0, 1e200, 1e200, 1e200]
    x = xp.asarray(point, dtype=xp.float64).data
    with xp.empty(0)._domain.backend.quiet():
        found = host(ag.grad(lambda x: function(xp, x))(x))
    assert_is(found, exact(PRODUCTS[name][1], point, 1))


@pytest.mark.parametrize("name", ["prod", "cumulative_prod"])
def test_usual_products_are_as_exact_as_the_librarys(xp, name):
    x = xp.asarray([3.0, 7.0, 0.1, 11.0], dtype=xp.float64).data
    others = [each.tolist() for each in np.asarray([3.0, 7.0, 0.1, 11.0]) * np.ones((4, 4))]
    for i, row in enumerate(others):
        row[i] = 1.0
    if name == "prod":
        expected = np.prod(others, axis=1)
    else:
        expected = np.sum(np.triu(np.cumulative_prod(np.asarray(others), axis=1)), axis=1)
    found = host(ag.grad(lambda x: PRODUCTS[name][0](xp, x))(x))
    np.testing.assert_allclose(found, expected, rtol=4e-16)


@pytest.mark.filterwarnings("ignore:Casting complex values", "ignore:.*discards the imaginary")
@pytest.mark.parametrize("name", ["prod", "cumulative_prod"])
def test_a_product_of_real_parts_has_a_real_gradient(xp, name):
    z = xp.asarray([1 + 2j, 3 - 1j, 2 + 1j], dtype=xp.complex128).data
    op = getattr(xp, name)
    found = ag.grad(lambda z: xp.sum(op(z, dtype=xp.float64)))(z)
    assert found.dtype == xp.complex128
    of_parts = ag.grad(lambda x: xp.sum(op(x)))(xp.real(xp.asarray(z)).data)
    np.testing.assert_array_equal(host(found), host(of_parts))
    np.testing.assert_allclose(host(of_parts), {"p": [6, 2, 3], "c": [10, 3, 3]}[name[0]])
