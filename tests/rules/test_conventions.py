"""Points without a derivative: what agnograd's table of conventions says, row by row."""

import math
import warnings

import numpy as np
import pytest

import agnograd as ag


def gradients(xp, f, *values):
    """Return the gradients of the sum of f at 1-d arrays (or scalars) as lists."""
    arrays = [xp.asarray(value, dtype=xp.float64).data for value in values]
    found = ag.grad(lambda *x: xp.sum(f(*x)), argnums=tuple(range(len(arrays))))(*arrays)
    found = [np.asarray(g).tolist() for g in found]
    return found[0] if len(found) == 1 else found


@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_for_an_extreme_share_equally(xp, name):
    tie = [1.0, 1.0, 0.0] if name == "max" else [1.0, 1.0, 2.0]
    assert gradients(xp, getattr(xp, name), tie) == [0.5, 0.5, 0.0]
    assert gradients(xp, lambda x: getattr(xp, name)(x, axis=0), tie) == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_two_equal_arguments_share_equally(xp, name):
    assert gradients(xp, getattr(xp, name), 1.0, 1.0) == [0.5, 0.5]
    assert gradients(xp, lambda x: getattr(xp, name)(x, x), 1.0) == 1.0
    assert gradients(xp, lambda x: getattr(xp, name)(x, 1.0), 1.0) == 0.5


def test_absolute_value_and_sign_at_zero(xp):
    assert gradients(xp, xp.abs, [0.0, -1.0]) == [0.0, -1.0]
    assert gradients(xp, xp.sign, 0.0) == 0.0
    zero = xp.asarray(0j, dtype=xp.complex128).data
    assert complex(ag.grad(xp.abs)(zero)) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy divides by abs(z)
        assert complex(ag.grad(lambda z: xp.real(xp.sign(z)))(zero)) == 0
    assert gradients(xp, lambda x: xp.copysign(x, -1.0), [0.0, 2.0]) == [0.0, -1.0]


def test_norms_at_zero(xp):
    assert gradients(xp, xp.linalg.vector_norm, [0.0, 0.0]) == [0.0, 0.0]
    assert gradients(xp, lambda x: xp.linalg.vector_norm(x, axis=0), [0.0, 0.0]) == [0.0, 0.0]
    assert gradients(xp, xp.linalg.vector_norm, [3.0, 4.0]) == pytest.approx([0.6, 0.8])


def test_deviation_of_constants(xp):
    assert gradients(xp, xp.std, [2.0, 2.0, 2.0]) == [0.0, 0.0, 0.0]
    assert gradients(xp, lambda x: xp.std(x, correction=1), [2.0, 2.0]) == [0.0, 0.0]
    assert gradients(xp, xp.std, 3.0) == 0.0


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:divide by", "ignore:invalid")
@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("correction", [2, 3.0])
def test_deviation_without_degrees_of_freedom(xp, name, correction):
    found = gradients(xp, lambda x: getattr(xp, name)(x, correction=correction), [1.0, 2.0])
    assert [math.isnan(each) for each in found] == [True, True]


def test_angle_and_length_at_the_origin(xp):
    assert gradients(xp, xp.atan2, 0.0, 0.0) == [0.0, 0.0]
    assert gradients(xp, xp.hypot, 0.0, 0.0) == [0.0, 0.0]


def test_clip_is_one_on_the_closed_interval(xp):
    points = [-2.0, -1.0, 0.0, 1.0, 2.0]
    assert gradients(xp, lambda x: xp.clip(x, -1.0, 1.0), points) == [0.0, 1.0, 1.0, 1.0, 0.0]
    assert gradients(xp, lambda x: xp.clip(x, -1.0), points) == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert gradients(xp, lambda x: xp.clip(x, max=1.0), points) == [1.0, 1.0, 1.0, 1.0, 0.0]


def test_bounds_of_clip_have_what_the_array_has_not(xp):
    assert gradients(xp, xp.clip, 1.0, 1.0, 1.0) == [1.0, 0.0, 0.0]
    assert gradients(xp, xp.clip, 0.0, 1.0, 2.0) == [0.0, 1.0, 0.0]
    assert gradients(xp, xp.clip, 3.0, 1.0, 2.0) == [0.0, 0.0, 1.0]


def test_powers_of_zero(xp):
    assert gradients(xp, xp.pow, 0.0, 0.0) == [0.0, 0.0]
    assert gradients(xp, xp.pow, 0.0, 2.0) == [0.0, 0.0]
    assert gradients(xp, xp.pow, 0.0, 1.0) == [1.0, 0.0]
    assert gradients(xp, lambda x: x**0, 0.0) == 0.0
    assert gradients(xp, lambda x: x**2, 0.0) == 0.0
    assert gradients(xp, lambda x: 0.0**x, 2.0) == 0.0
    assert gradients(xp, lambda x: 0.0**x, 0.0) == 0.0
    assert gradients(xp, lambda x: x**0.0, 0.0) == 0.0
    assert gradients(xp, lambda x: 2.0**x, 3.0) == pytest.approx(8 * math.log(2))
    assert math.isnan(gradients(xp, lambda x: (-2.0) ** x, 2.0))


def test_products_with_zeros(xp):
    assert gradients(xp, xp.prod, [0.0, 2.0, 3.0]) == [6.0, 0.0, 0.0]
    assert gradients(xp, xp.prod, [0.0, 0.0, 3.0]) == [0.0, 0.0, 0.0]
    assert gradients(xp, xp.cumulative_prod, [0.0, 2.0, 3.0]) == [9.0, 0.0, 0.0]


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_division_by_pythons_zero_is_as_by_an_arrays(xp, zero):
    expected = gradients(xp, lambda x: x / xp.asarray(float(zero), dtype=xp.float64), 2.0)
    assert abs(expected) == math.inf
    assert gradients(xp, lambda x: x / zero, 2.0) == expected
    assert gradients(xp, lambda x: xp.divide(x, zero), 2.0) == expected


def test_steps_have_zero_derivative(xp):
    for name in ("floor", "ceil", "trunc", "round"):
        assert gradients(xp, getattr(xp, name), [1.0, 1.5]) == [0.0, 0.0]


def test_complex_gradients_point_uphill(xp):
    z = xp.asarray(1 + 2j, dtype=xp.complex128).data
    assert complex(ag.grad(lambda z: xp.abs(z) ** 2)(z)) == pytest.approx(2 + 4j)
    assert complex(ag.grad(xp.real)(z)) == 1
    assert complex(ag.grad(xp.imag)(z)) == 1j


def test_a_real_input_of_a_complex_op_has_a_real_gradient(xp):
    x = xp.asarray(2.0, dtype=xp.float64).data
    z = xp.asarray(1 + 3j, dtype=xp.complex128).data
    g = ag.grad(lambda x: xp.real(x * z) + xp.imag(x * z))(x)
    assert g.dtype == xp.float64
    assert float(g) == 4.0


def test_repeated_indices_read_add_up_and_written_keep_the_last():
    xp = ag.namespace("numpy")  # integer arrays in writes go beyond the standard

    def write(x, v):
        y = x * 1.0
        y[[0, 0, 1]] = v
        return y * xp.asarray([1.0, 10.0, 100.0])

    assert gradients(xp, write, [1.0] * 3, [2.0] * 3) == [[0.0, 0.0, 100.0], [0.0, 1.0, 10.0]]
    assert gradients(xp, lambda v: write(xp.zeros(3), v), 2.0) == 11.0
    rows = xp.asarray([0, 0, 1])
    assert gradients(xp, lambda x: xp.take(x, rows), [1.0, 2.0]) == [2.0, 1.0]


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_division_by_pythons_complex_zero_is_not_a_number(xp):
    z = xp.asarray(1 + 2j, dtype=xp.complex128).data
    found = complex(ag.grad(lambda z: xp.real(z / 0j))(z))
    assert math.isnan(found.real)
    assert math.isnan(found.imag)
