"""Gradients of functions that return more than a real number."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import NoGradientError, UnsupportedArrayError


def raw(xp, numbers, dtype="float64"):
    return xp.asarray(numbers, dtype=getattr(xp, dtype)).data


def close(found, expected):
    if isinstance(found, ag.Variable):
        found = found.detach()
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-12)


def test_an_elementwise_function_has_its_derivative_at_each_element(xp):
    x = raw(xp, [[0.5, 1.0], [2.0, -3.0]])
    found = ag.elementwise_grad(lambda x: xp.sin(x) * x)(x)
    assert type(found) is type(x)
    close(found, np.cos(np.asarray(x)) * np.asarray(x) + np.sin(np.asarray(x)))


def test_derivatives_of_higher_order(xp):
    x = raw(xp, [0.5, 1.0, 2.0])
    f = lambda x: xp.exp(2.0 * x)  # noqa: E731
    for order in range(1, 4):
        f = ag.elementwise_grad(f)
        close(f(x), 2.0**order * np.exp(2.0 * np.asarray(x)))
    ag.check_grad(ag.elementwise_grad(lambda x: xp.sin(x) * x), x)


def test_several_arguments_of_which_one_is_broadcast(xp):
    x, y = raw(xp, [[1.0, 2.0], [3.0, 4.0]]), raw(xp, [5.0, 6.0])
    by_x, by_y = ag.elementwise_grad(lambda x, y: x * y, argnums=(0, 1))(x, y)
    close(by_x, [[5.0, 6.0], [5.0, 6.0]])
    close(by_y, [4.0, 6.0])  # the sum over the rows


def test_otherwise_it_is_the_sum_of_each_column_of_the_jacobian(xp):
    x, m = raw(xp, [1.0, 2.0]), raw(xp, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    f = lambda x: {"products": xp.matmul(m, x), "squares": x * x}  # noqa: E731
    jacobian = ag.jacobian(f)(x)
    expected = sum(np.asarray(block).sum(axis=0) for block in jacobian.values())
    close(ag.elementwise_grad(f)(x), expected)


def test_the_structure_of_arguments_and_what_is_tracked_stay(xp):
    w, x = ag.Variable(raw(xp, [2.0, 3.0])), raw(xp, [1.0, 2.0])
    found = ag.elementwise_grad(lambda p: 2.0 * p["x"] ** 2)({"x": x})
    close(found["x"], [4.0, 8.0])
    xp.sum(ag.elementwise_grad(lambda x: x**3)(w)).backward()
    close(w.grad, [12.0, 18.0])


def test_members_of_vmap(xp):
    rows = raw(xp, [[1.0, 2.0], [3.0, 4.0]])
    close(ag.vmap(ag.elementwise_grad(lambda x: x**3))(rows), 3 * np.asarray(rows) ** 2)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_holomorphic_function_has_its_complex_derivative(xp, dtype):
    z = raw(xp, 0.5 + 1.5j, dtype)
    cases = {
        xp.exp: np.exp,
        xp.sin: np.cos,
        lambda z: z**3: lambda z: 3 * z**2,
        lambda z: 1j * z / (z + 2.0): lambda z: 2j / (z + 2.0) ** 2,
    }
    for f, derivative in cases.items():
        found = ag.holomorphic_grad(f)(z)
        assert type(found) is type(z)
        assert found.dtype == z.dtype
        np.testing.assert_allclose(complex(found), derivative(complex(z)), rtol=1e-5)


def test_it_is_the_limit_of_a_difference_from_every_direction(xp):
    f, z = (lambda z: xp.sum(xp.exp(z) * z)), np.asarray([0.3 - 0.2j, 1.0 + 0.5j])
    found = np.asarray(ag.holomorphic_grad(f)(raw(xp, z, "complex128")))
    for direction in (1e-6, 1e-6j, 1e-6 - 1e-6j):
        for place in range(2):
            step = direction * np.eye(2)[place]
            high, low = (
                complex(f(raw(xp, each, "complex128")).data) for each in (z + step, z - step)
            )
            np.testing.assert_allclose(found[place], (high - low) / (2 * direction), rtol=1e-8)


def test_complex_derivatives_of_higher_order_and_by_several_arguments(xp):
    z, w = raw(xp, 1.0 + 2.0j, "complex128"), raw(xp, 0.5 - 1.0j, "complex128")
    second = ag.holomorphic_grad(ag.holomorphic_grad(lambda z: z**4))(z)
    np.testing.assert_allclose(complex(second), 12 * (1.0 + 2.0j) ** 2)
    by_z, by_w = ag.holomorphic_grad(lambda z, w: z * z * w, (0, 1))(z, w)
    np.testing.assert_allclose(complex(by_z), 2 * complex(z) * complex(w))
    np.testing.assert_allclose(complex(by_w), complex(z) ** 2)


def test_it_is_the_conjugate_of_the_gradient_of_the_real_part(xp):
    z = raw(xp, [1.0 + 2.0j, 0.5j], "complex128")
    f = lambda z: xp.sum(z * z * z)  # noqa: E731
    gradient = ag.grad(lambda z: xp.real(f(z)))(z)
    close(ag.holomorphic_grad(f)(z), np.conj(np.asarray(gradient)))


def test_holomorphic_functions_of_each_member(xp):
    z = raw(xp, [1.0 + 2.0j, 0.5j], "complex128")
    close(ag.vmap(ag.holomorphic_grad(xp.exp))(z), np.exp(np.asarray(z)))


def test_values_of_other_kinds_are_errors(xp):
    x, z = raw(xp, [1.0, 2.0]), raw(xp, [1.0j, 2.0], "complex128")
    with pytest.raises(NoGradientError, match=r"use ag\.holomorphic_grad"):
        ag.elementwise_grad(xp.exp)(z)
    with pytest.raises(NoGradientError, match="floating-point or complex numbers, not"):
        ag.elementwise_grad(lambda x: x > 0)(x)
    with pytest.raises(UnsupportedArrayError, match="complex arguments to differentiate"):
        ag.holomorphic_grad(lambda x: xp.sum(x) * 1j)(x)
    with pytest.raises(NoGradientError, match="complex 0-d array, not one of shape"):
        ag.holomorphic_grad(xp.exp)(z)
    with pytest.raises(NoGradientError, match=r"ag\.grad for a real function"):
        ag.holomorphic_grad(lambda z: xp.sum(xp.abs(z)))(z)
    with pytest.raises(NoGradientError, match="not an object of type tuple"):
        ag.holomorphic_grad(lambda z: (z[0], z[1]))(z)
