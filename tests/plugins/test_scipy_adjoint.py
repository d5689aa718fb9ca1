"""The continuous adjoint of ``solve_ivp``: gradients by an equation that is solved backwards."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import LostGradientError
from arrays import host, leaf

pytest.importorskip("scipy.integrate", reason="SciPy: pip install 'agnograd[scipy]'")

METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF")
FINE = {"rtol": 1e-8, "atol": 1e-10}
BOTH = ("discrete", "continuous")


def made(xp, numbers, dtype="float64"):
    return leaf(xp, numbers, dtype).data


def driven(t, y, p):
    """Return the slope of a pair whose parameters also stand for themselves, without ``y``."""
    xp = ag.namespace(y)
    first, second = y[0], y[1]
    return xp.stack([p[0] * second + xp.sin(3.0 * p[1] * t), -p[1] * first * xp.cos(second)])


def last(problem, adjoint, method="RK45", **options):
    """Return a function of initial values, parameters and the end, by one of the adjoints."""
    options = FINE | {"adjoint": adjoint} | options

    def end(y0, p, t):
        xp = ag.namespace(y0)
        return xp.integrate.solve_ivp(problem, (0.2, t), y0, method, args=(p,), **options).y[:, -1]

    return end


def arguments(xp):
    return made(xp, [0.7, -0.4]), made(xp, [0.9, 1.3]), made(xp, 1.5)


@pytest.mark.parametrize("method", METHODS)
def test_first_derivatives_are_those_of_the_discrete_adjoint(method):
    agree(ag.namespace("numpy"), method)


def test_every_library_has_the_continuous_adjoint(xp):
    agree(xp, "RK45")


def agree(xp, method):
    given = arguments(xp)
    options = {"rtol": 1e-5, "atol": 1e-7} if method in ("RK23", "BDF", "Radau") else {}
    found = []
    for adjoint in BOTH:
        end = last(driven, adjoint, method, **options)
        found.append(ag.grad(lambda *given, end=end: xp.sum(end(*given)), (0, 1, 2))(*given))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(host(one), host(other), rtol=3e-4, atol=1e-5)


@pytest.mark.parametrize("method", ["DOP853", pytest.param("BDF", marks=pytest.mark.slow)])
def test_higher_derivatives_are_those_of_the_discrete_adjoint(method):
    xp = ag.namespace("numpy")
    y0, p, t = arguments(xp)
    hessians, tangents = [], []
    options = {"rtol": 1e-5, "atol": 1e-7}
    for adjoint in BOTH:
        end = last(driven, adjoint, method, **options)

        def one(y0, p, t, end=end):
            return xp.sum(xp.sin(end(y0, p, t)))

        hessians.append(ag.hessian(one, (0, 1, 2))(y0, p, t))
        tangents.append(ag.jvp(one, (y0, p, t), (p, y0, t))[1])
    for one, other in zip(*map(leaves, hessians), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)
    assert float(tangents[0]) == pytest.approx(float(tangents[1]), rel=1e-3)


def leaves(tree):
    import optree

    return [host(each) for each in optree.tree_leaves(tree)]


@pytest.mark.slow
def test_third_derivatives():
    """The solution at t = 1 is y0 * exp(p)."""
    xp = ag.namespace("numpy")

    def growth(p):
        options = FINE | {"adjoint": "continuous", "args": (p,)}
        y0 = np.asarray([2.0])
        return xp.integrate.solve_ivp(lambda t, y, p: p * y, (0.0, 1.0), y0, **options).y[0, -1]

    third = ag.grad(ag.grad(ag.grad(growth)))(np.asarray(0.5))
    assert float(third) == pytest.approx(2.0 * np.exp(0.5), rel=1e-6)


@pytest.mark.parametrize("span", [(0.2, 1.5), (1.5, 0.2)])
def test_many_times_and_both_directions(span):
    """Cotangents at many times, some of them at the ends, and gradients by the times themselves."""
    xp = ag.namespace("numpy")
    y0, p, _ = arguments(xp)
    times = np.linspace(*span, 9)
    weights = np.cos(np.arange(18.0)).reshape(2, 9)

    def total(y0, p, times, adjoint):
        options = FINE | {"adjoint": adjoint, "t_eval": times, "args": (p,)}
        return xp.sum(weights * xp.integrate.solve_ivp(driven, span, y0, "DOP853", **options).y)

    found = [ag.grad(total, (0, 1, 2))(y0, p, times, adjoint) for adjoint in BOTH]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_the_ends_of_time_have_gradients():
    xp = ag.namespace("numpy")
    y0, p, _ = arguments(xp)

    def total(start, end, adjoint):
        options = FINE | {"adjoint": adjoint, "args": (p,), "max_step": 0.3}
        found = xp.integrate.solve_ivp(driven, (start, end), y0, "DOP853", **options)
        return xp.sum(xp.sin(found.y[:, -1])) + found.t[-1]

    at = np.asarray(0.2), np.asarray(1.5)
    found = [ag.grad(total, (0, 1))(*at, adjoint) for adjoint in BOTH]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_complex_solutions_and_arguments_in_trees():
    xp = ag.namespace("numpy")

    def turning(t, y, tree, count):
        return (tree["rate"] * 1j - tree["parts"][0]) * y + count * tree["parts"][1] * xp.sin(t)

    def size(y0, tree, adjoint):
        options = FINE | {"adjoint": adjoint, "args": (tree, np.asarray(2))}
        found = xp.integrate.solve_ivp(turning, (0.0, 2.0), y0, "DOP853", **options)
        return xp.sum(xp.real(found.y[:, -1]) ** 2 + xp.imag(found.y[:, -1]))

    y0 = np.asarray([1.0 - 0.5j, 0.3 + 2.0j])
    tree = {"rate": np.asarray([1.5, 0.7]), "parts": [np.asarray(0.2), np.asarray(0.4 - 0.1j)]}
    found = [leaves(ag.grad(size, (0, 1))(y0, tree, adjoint)) for adjoint in BOTH]
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_an_integral_of_what_does_not_depend_on_the_solution():
    """The cotangent is constant, and steps are short enough for the parameter all the same."""
    xp = ag.namespace("numpy")

    def integral(p, method):
        options = {"rtol": 1e-5, "atol": 1e-7, "adjoint": "continuous", "args": (p,)}
        y0 = np.zeros(1)

        def waves(t, y, p):
            return xp.cos(10.0 * p * t) + 0.0 * y

        return xp.integrate.solve_ivp(waves, (0.0, 3.0), y0, method, **options).y[0, -1]

    p = np.asarray(0.9)
    expected = 3.0 * np.cos(30.0 * p) / p - np.sin(30.0 * p) / (10.0 * p * p)
    for method in METHODS:
        assert float(ag.grad(integral)(p, method)) == pytest.approx(expected, rel=1e-4)


def ball(t, y, g):
    xp = ag.namespace(y)
    return xp.stack([y[1], 0.0 * y[0] - g])


def hit(t, y, g):
    return y[0]


hit.terminal, hit.direction = 1, -1.0


def top(t, y, g):
    return y[1]


@pytest.mark.parametrize("times", [None, [0.5, 1.0, 5.0]])
def test_events(xp, times):
    """A ball is back after 2 v / g, and then as fast as it was; at its top half way."""

    def back(y0, g):
        options = FINE | {"args": (g,), "events": [hit, top], "t_eval": times}
        found = xp.integrate.solve_ivp(ball, (0.0, 9.0), y0, adjoint="continuous", **options)
        assert found.status == 1
        assert found.t.shape == (2,) if times else host(found.t)[-1] == host(found.t_events[0])[0]
        end = found.y_events[0][0, 1] if times else found.y[1, -1]
        return found.t_events[0][0] + found.t_events[1][0] + end + found.y_events[0][0, 1]

    v, g = 10.0, 9.81
    y0, gravity = made(xp, [0.0, v]), made(xp, g)
    by_y0, by_g = ag.grad(back, (0, 1))(y0, gravity)
    # From a height, the time is that of falling further at the speed v, and the end is faster.
    np.testing.assert_allclose(host(by_y0), [1 / v - 2 * g / v, 3 / g - 2], rtol=1e-6)
    assert float(host(by_g)) == pytest.approx(-3 * v / g**2, rel=1e-6)
    second = ag.hessian(lambda g: back(y0, g))(gravity)
    assert float(host(second)) == pytest.approx(6 * v / g**3, rel=1e-5)


def chain(t, y, p):
    """Return the slope of unknowns that their neighbours move."""
    xp = ag.namespace(y)
    end = xp.zeros_like(y[:1])
    return p * (xp.concat([y[1:], end]) - 2.0 * y + xp.concat([end, y[:-1]]))


@pytest.mark.parametrize("method", ["Radau", pytest.param("BDF", marks=pytest.mark.slow)])
def test_sparse_jacobians(method):
    xp = ag.namespace("numpy")
    y0, p = np.sin(np.arange(9.0)), np.asarray(30.0)

    def size(p, **options):
        options = FINE | {"args": (p,)} | options
        return xp.sum(
            xp.integrate.solve_ivp(chain, (0.0, 0.1), y0, method, **options).y[:, -1] ** 2
        )

    expected = ag.grad(size)(p, adjoint="continuous")
    found = ag.grad(size)(p, adjoint="continuous", sparse=True)
    assert float(found) == pytest.approx(float(expected), rel=1e-9)
    assert float(found) == pytest.approx(float(ag.grad(size)(p)), rel=1e-6)


def test_few_places_are_kept():
    from agnograd_scipy.kernels.steps import Equation
    from agnograd_scipy.kernels.trajectory import Trajectory

    for steps in (0, 1, 7, 50, 1000):
        options = {"max_step": 1.0} | ({"first_step": 1.0} if steps else {})
        equation = Equation(lambda t, y: 0.0 * y, None, "RK23", options)
        trajectory = Trajectory(equation, (0.0, float(steps)), np.ones(1))
        assert len(list(trajectory.steps())) == max(steps, 1)
        parts = [(start, end) for start, end, _ in trajectory.parts()]
        assert len(trajectory._kept) <= max((8 * steps) ** 0.5, 2)
        assert all(end - start <= max((2 * steps) ** 0.5, 1) for start, end in parts)
        ends = [float(steps), *(start for start, _ in parts)]
        assert [end for _, end in parts] == ends[:-1]
        assert ends[-1] == 0.0


@pytest.mark.slow
def test_memory_grows_with_the_root_of_the_steps():
    import tracemalloc

    xp = ag.namespace("numpy")
    y0 = np.sin(np.arange(1000.0))

    def peak(steps, adjoint):
        def size(p):
            options = {"args": (p,), "max_step": 0.01, "t_eval": [0.01 * steps]}
            found = xp.integrate.solve_ivp(
                chain, (0.0, 0.01 * steps), y0, "RK23", adjoint=adjoint, **options
            )
            return xp.sum(found.y)

        tracemalloc.start()
        ag.grad(size)(np.asarray(1.0))
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    few, many = peak(30, "continuous"), peak(120, "continuous")
    assert many < 2.5 * few
    assert many < 0.3 * peak(120, "discrete")


def test_options_are_those_of_the_first_solution():
    """A first step may be longer than what is left between two places."""
    xp = ag.namespace("numpy")

    def growth(p, adjoint):
        steps = {"first_step": 0.4, "max_step": 0.4, "rtol": 1e-6, "atol": np.asarray([1e-8])}
        options = steps | {"args": (p,), "adjoint": adjoint}
        y0 = np.ones(1)
        return xp.integrate.solve_ivp(lambda t, y, p: p * y, (0.0, 1.0), y0, **options).y[0, -1]

    p = np.asarray(0.5)
    for adjoint in BOTH:
        assert float(ag.grad(growth)(p, adjoint)) == pytest.approx(np.exp(0.5), rel=1e-4)
    second = ag.grad(ag.grad(growth))(p, "continuous")
    assert float(second) == pytest.approx(np.exp(0.5), rel=1e-4)


def test_an_error_of_fun_in_a_backward_pass_leaves_gradients_as_they_were():
    xp = ag.namespace("numpy")
    p = ag.Variable(np.asarray(0.5))
    calls = []

    def fun(t, y, p):
        if calls:
            raise ValueError("planted")
        return p * y

    end = xp.integrate.solve_ivp(fun, (0.0, 1.0), np.ones(1), args=(p,), adjoint="continuous").y[
        0, -1
    ]
    calls.append(1)
    with pytest.raises(ValueError, match="planted"):
        end.backward(retain_graph=True)
    assert p.grad is None
    calls.clear()
    end.backward()
    assert float(p.grad) == pytest.approx(np.exp(0.5), rel=1e-3)


def test_mistakes_are_named():
    xp = ag.namespace("numpy")
    y0, p, _ = arguments(xp)
    solve = xp.integrate.solve_ivp
    with pytest.raises(ValueError, match="adjoint must be 'discrete' or 'continuous', not 'exact'"):
        solve(driven, (0.0, 1.0), y0, args=(p,), adjoint="exact")
    with pytest.raises(ValueError, match="method must be one of RK23, "):
        solve(driven, (0.0, 1.0), y0, "LSODA", args=(p,), adjoint="continuous")
    outside = ag.Variable(p)
    with pytest.raises(LostGradientError, match="fun uses a tracked Variable"):
        solve(lambda t, y: driven(t, y, outside), (0.0, 1.0), y0, adjoint="continuous")

    def around(p):
        return solve(lambda t, y: driven(t, y, p), (0.0, 1.0), y0, adjoint="continuous").y

    with pytest.raises(LostGradientError, match="an array of a function that is transformed"):
        ag.sparsity(around, p, mode="local")
    with ag.no_grad():
        still = solve(lambda t, y: driven(t, y, outside), (0.0, 1.0), y0, adjoint="continuous")
    assert still.y.shape[0] == 2

    def end(y0):
        found = solve(lambda t, y: xp.sqrt(y), (0.0, 1.0), y0, adjoint="continuous")
        return found.y[0, -1]

    with pytest.raises(RuntimeError, match=r"the derivative of fun is not finite at t = 1\.0"):
        ag.grad(end)(np.zeros(1))


def test_a_cotangent_that_is_not_finite_gives_gradients_that_are_not():
    xp = ag.namespace("numpy")
    y0, p, t = arguments(xp)
    end = last(driven, "continuous")
    found = ag.grad(lambda y0, p: xp.sum(end(y0, p, t)) * np.nan, (0, 1))(y0, p)
    assert all(np.all(np.isnan(each)) for each in found)


@pytest.mark.parametrize("method", METHODS)
def test_there_may_be_nothing_to_do(method):
    xp = ag.namespace("numpy")
    y0, p, _ = arguments(xp)

    def end(y0, p, **options):
        options |= {"args": (p,), "adjoint": "continuous"}
        return xp.sum(xp.integrate.solve_ivp(driven, (0.5, 0.5), y0, method, **options).y[:, -1])

    for options in ({}, {"t_eval": [0.5]}):
        by_y0, by_p = ag.grad(end, (0, 1))(y0, p, **options)
        np.testing.assert_array_equal(by_y0, [1.0, 1.0])
        np.testing.assert_array_equal(by_p, [0.0, 0.0])
    none = xp.integrate.solve_ivp(
        lambda t, y: y, (0.0, 1.0), np.zeros(0), method, [0.5], adjoint="continuous"
    )
    assert none.y.shape == (0, 1)
