"""SciPy's methods for stiff equations, with gradients."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import LostGradientError
from arrays import host, leaf

integrate = pytest.importorskip("scipy.integrate", reason="SciPy: pip install 'agnograd[scipy]'")

METHODS = ("Radau", "BDF")
RATES = [0.04, 3e7, 1e4]


def made(xp, numbers):
    return leaf(xp, numbers, "float64").data


def robertson(t, y, k):
    """Return the rates of Robertson's three reactions, which differ by many orders."""
    xp = np if isinstance(y, np.ndarray) else ag.namespace(y)
    first, second, third = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
    return xp.stack([third - first, first - second - third, second])


def decay(t, y, p):
    """Return the slope of a part that follows a cosine at once, and of one that it drives."""
    xp = np if isinstance(y, np.ndarray) else ag.namespace(y)
    follows = -50.0 * p[0] * (y[0] - xp.cos(t * xp.ones_like(y[0])))
    return xp.stack([follows, -p[1] * y[1] * y[0]])


def brusselator(t, y, p):
    """Return the slope of the Brusselator in one dimension."""
    xp = ag.namespace(y)
    n = y.shape[0] // 2
    u, v, (a, b, d) = y[:n], y[n:], (p[0], p[1], p[2] * (n + 1) ** 2)
    wide, tall = (xp.concat([end[None], part, end[None]]) for end, part in ((a, u), (b / a, v)))
    reaction = u * u * v
    return xp.concat(
        [
            a + reaction - (b + 1.0) * u + d * (wide[2:] - 2.0 * u + wide[:-2]),
            b * u - reaction + d * (tall[2:] - 2.0 * v + tall[:-2]),
        ]
    )


@pytest.mark.parametrize("span", [(0.0, 0.6), pytest.param((0.6, 0.0), marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", METHODS)
def test_steps_are_scipys(xp, method, span):
    y0, p = [0.3, 1.0], [0.1, 0.7]
    times = np.linspace(*span, 7)
    for t_eval in (None, times):
        options = {"rtol": 1e-6, "atol": 1e-8, "max_step": 0.2}
        found = xp.integrate.solve_ivp(
            decay, span, made(xp, y0), method, t_eval, (made(xp, p),), **options
        )
        expected = integrate.solve_ivp(
            decay, span, y0, method, t_eval=t_eval, args=(np.asarray(p),), **options
        )
        np.testing.assert_allclose(host(found.t), expected.t, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(host(found.y), expected.y, rtol=1e-4, atol=1e-6)


def by_differences(f, at, steps):
    """Return the derivative by each number, in units of its step, by four values."""
    columns = []
    for step in np.diag(steps):
        before, near, after, far = (f(at + k * step) for k in (-2, -1, 1, 2))
        columns.append((before - 8.0 * near + 8.0 * after - far) / 12.0)
    return np.stack(columns, axis=-1)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_robertsons_problem_agrees_with_differences(method):
    xp = ag.namespace("numpy")
    span, y0, k = (0.0, 40.0), np.asarray([1.0, 0.0, 0.0]), np.asarray(RATES)

    def end(k):
        options = {"rtol": 1e-9, "atol": 1e-13}
        return xp.integrate.solve_ivp(robertson, span, y0, method, args=(k,), **options).y[:, -1]

    def by_scipy(k):
        options = {"method": "Radau", "rtol": 1e-11, "atol": 1e-14}
        return integrate.solve_ivp(robertson, span, y0, args=(k,), **options).y[:, -1]

    steps = 1e-2 * k
    differences = by_differences(by_scipy, k, steps)
    np.testing.assert_allclose(ag.jacobian(end)(k) * steps, differences, rtol=1e-6, atol=1e-14)


@pytest.mark.parametrize("sparse", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("method", [pytest.param("Radau", marks=pytest.mark.slow), "BDF"])
def test_the_brusselator_agrees_with_differences(method, sparse):
    xp = ag.namespace("numpy")
    n, span = 5, (0.0, 0.5)
    places = np.linspace(0.0, 1.0, n + 2)[1:-1]
    y0 = made(xp, np.concatenate([1.0 + np.sin(2.0 * np.pi * places), np.full(n, 3.0)]))

    def end(p, method, **options):
        options |= {"rtol": 1e-9, "atol": 1e-11}
        solution = xp.integrate.solve_ivp(brusselator, span, y0, method, args=(p,), **options)
        return xp.sum(solution.y[:, -1] ** 2)

    p = np.asarray([1.0, 3.0, 0.02])
    steps = 1e-2 * p
    gradient = host(ag.grad(lambda p: end(p, method, sparse=sparse))(made(xp, p)))
    differences = by_differences(lambda p: float(host(end(made(xp, p), "RK45"))), p, steps)
    np.testing.assert_allclose(gradient * steps, differences, rtol=1e-6)


def exact(y0, p, t):
    """Return the second part of the solution of ``decay``."""
    xp = ag.namespace(y0)
    k = 50.0 * p[0]
    start = y0[0] - k * k / (1.0 + k * k)
    integral = start * (1.0 - xp.exp(-k * t)) / k
    integral = integral + k * (k * xp.sin(t) + 1.0 - xp.cos(t)) / (1.0 + k * k)
    return y0[1] * xp.exp(-p[1] * integral)


@pytest.mark.parametrize("method", METHODS)
def test_every_argument_has_its_derivatives(xp, method):
    """By initial values, parameters and times; to second order, and forward."""

    def end(y0, p, t):
        options = {"rtol": 1e-5, "atol": 1e-7}
        return xp.integrate.solve_ivp(decay, (0.0, t), y0, method, args=(p,), **options).y[1, -1]

    given = made(xp, [0.3, 1.0]), made(xp, [1.0, 0.7]), made(xp, 0.2)
    y0, p, t = (ag.Variable(each, requires_grad=False) for each in given)
    found = ag.grad(end, (0, 1, 2))(y0, p, t)
    for one, other in zip(found, ag.grad(exact, (0, 1, 2))(y0, p, t), strict=True):
        np.testing.assert_allclose(host(one), host(other), rtol=1e-3, atol=1e-5)
    hessian = host(ag.hessian(lambda p: end(y0, p, t))(p))
    expected = host(ag.hessian(lambda p: exact(y0, p, t))(p))
    np.testing.assert_allclose(hessian, expected, rtol=3e-3, atol=1e-4)
    v = made(xp, [0.5, -1.0])
    _, tangent = ag.jvp(lambda p: end(y0, p, t), p, v)
    assert float(host(tangent)) == pytest.approx(float(host(found[1]) @ host(v)), rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_the_gradient_by_a_time_is_the_slope(method):
    xp = ag.namespace("numpy")
    y0, p, times = np.asarray([0.3, 1.0]), np.asarray([1.0, 0.7]), np.asarray([0.1, 0.33])

    def at(times):
        options = {"rtol": 1e-8, "atol": 1e-10}
        return xp.integrate.solve_ivp(decay, (0.0, 0.4), y0, method, times, (p,), **options).y

    jacobian, y = ag.jacobian(at)(times), at(times)
    for k, t in enumerate(times):
        slope = decay(t, host(y)[:, k], p)
        np.testing.assert_allclose(jacobian[:, k, k], slope, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_mistakes_are_named(xp, method):
    y0, p = made(xp, [0.3, 1.0]), ag.Variable(made(xp, [1.0, 0.7]))
    with pytest.raises(LostGradientError, match=f"{method}: the function uses a tracked Variable"):
        xp.integrate.solve_ivp(lambda t, y: decay(t, y, p), (0.0, 1.0), y0, method)
    with pytest.raises(ValueError, match="take real arrays"):
        xp.integrate.solve_ivp(lambda t, y: y, (0.0, 1.0), leaf(xp, [1j], "complex128"), method)
    with pytest.raises(TypeError, match="unknown option 'jac'"):
        xp.integrate.solve_ivp(decay, (0.0, 1.0), y0, method, None, (p,), jac=None)
    with pytest.raises(TypeError, match="unknown option 'sparse'"):
        xp.integrate.solve_ivp(decay, (0.0, 1.0), y0, args=(p,), sparse=True)
    with pytest.raises(RuntimeError, match="solve_ivp: "):
        xp.integrate.solve_ivp(lambda t, y: y * y, (0.0, 2.0), made(xp, [1.0]), method)
    with pytest.raises(ValueError, match="fun returned"):
        xp.integrate.solve_ivp(lambda t, y: y[:1], (0.0, 1.0), y0, method)
    for t_eval in (None, [0.5]):
        still = xp.integrate.solve_ivp(decay, (0.5, 0.5), y0, method, t_eval, (p,))
        np.testing.assert_array_equal(host(still.y)[:, -1], [0.3, 1.0])


@pytest.mark.parametrize("method", METHODS)
def test_there_may_be_nothing_to_solve(method):
    xp = ag.namespace("numpy")
    for t_eval, count in ((None, 2), ([0.2, 0.5, 1.0], 3)):
        found = xp.integrate.solve_ivp(lambda t, y: y, (0.0, 1.0), np.zeros(0), method, t_eval)
        assert found.y.shape == (0, count)
