"""Events of ``solve_ivp``: SciPy's, with the derivatives of their times."""

import math

import numpy as np
import pytest

import agnograd as ag
from arrays import host, leaf

integrate = pytest.importorskip("scipy.integrate", reason="SciPy: pip install 'agnograd[scipy]'")

METHODS = ("RK23", "RK45", "DOP853", "Radau", "BDF")
END = (0.0, 100.0)


def made(xp, numbers):
    return leaf(xp, numbers, "float64").data


def ball(t, y, g):
    """Return the slope of height and speed."""
    xp = np if isinstance(y, np.ndarray) else ag.namespace(y)
    return xp.stack([y[1], 0.0 * y[0] - g])


def hit(t, y, g):
    return y[0]


hit.terminal = True
hit.direction = -1.0


def top(t, y, g):
    return y[1]


def swing(t, y, g):
    xp = np if isinstance(y, np.ndarray) else ag.namespace(y)
    return xp.stack([y[1], -g * y[0]])


@pytest.mark.parametrize("method", METHODS)
def test_events_are_scipys(xp, method):
    y0, g = [0.0, 10.0], 9.81
    for t_eval in (None, np.linspace(0.0, 10.0, 11)):
        given = {"events": [hit, top]}
        found = xp.integrate.solve_ivp(
            ball, END, made(xp, y0), method, t_eval, (made(xp, g),), **given
        )
        expected = integrate.solve_ivp(ball, END, y0, method, t_eval=t_eval, args=(g,), **given)
        assert found.status == expected.status == 1
        np.testing.assert_allclose(host(found.t), expected.t, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(host(found.y), expected.y, rtol=1e-9, atol=1e-9)
        for ours, theirs in (
            (found.t_events, expected.t_events),
            (found.y_events, expected.y_events),
        ):
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(host(one), other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_times_of_events_have_exact_derivatives(xp, method):
    """A ball is back after 2 v / g, and then as fast as it was."""

    def back(y0, g):
        options = {"args": (g,), "events": hit, "rtol": 1e-8, "atol": 1e-10}
        found = xp.integrate.solve_ivp(ball, END, y0, method, **options)
        return found.t_events[0][0] + 0.5 * found.y[1, -1] + found.y_events[0][0, 1]

    v, g = 10.0, 9.81
    y0, gravity = made(xp, [0.0, v]), made(xp, g)
    by_y0, by_g = ag.grad(back, (0, 1))(y0, gravity)
    # From a height, the time is that of falling further at the speed v, and the end is faster.
    np.testing.assert_allclose(host(by_y0), [1 / v - 1.5 * g / v, 2 / g - 1.5], rtol=1e-6)
    assert float(host(by_g)) == pytest.approx(-2 * v / g**2, rel=1e-6)
    second = ag.hessian(lambda g: back(y0, g))(gravity)
    assert float(host(second)) == pytest.approx(4 * v / g**3, rel=1e-5)
    _, tangent = ag.jvp(lambda g: back(y0, g), gravity, made(xp, 1.0))
    assert float(host(tangent)) == pytest.approx(float(host(by_g)), rel=1e-9)


def test_directions_and_counts():
    xp = ag.namespace("numpy")
    y0, g = np.asarray([1.0, 0.0]), np.asarray(1.0)

    def happened(direction, terminal=False):
        def zero(t, y, g):
            return y[0]

        zero.direction, zero.terminal = direction, terminal
        options = {"args": (g,), "events": zero, "rtol": 1e-9, "atol": 1e-9}
        found = xp.integrate.solve_ivp(swing, (0.0, 10.0), y0, "DOP853", **options)
        return host(found.t_events[0]), found

    half = math.pi / 2
    np.testing.assert_allclose(happened(0.0)[0], half * np.asarray([1, 3, 5]), rtol=1e-7)
    np.testing.assert_allclose(happened(-1.0)[0], half * np.asarray([1, 5]), rtol=1e-7)
    np.testing.assert_allclose(happened(1.0)[0], [3 * half], rtol=1e-7)
    times, found = happened(0.0, terminal=2)
    np.testing.assert_allclose(times, half * np.asarray([1, 3]), rtol=1e-7)
    assert found.status == 1
    assert float(found.t.data[-1]) == times[-1]
    none, found = happened(1.0, terminal=2)
    assert found.status == 0
    assert float(found.t.data[-1]) == 10.0
    assert none.shape == (1,)


def test_an_event_may_not_happen(xp):
    y0, g = made(xp, [1.0, 0.0]), made(xp, 1.0)
    found = xp.integrate.solve_ivp(swing, (0.0, 1.0), y0, args=(g,), events=[hit])
    assert found.status == 0
    assert found.t_events[0].shape == (0,)
    assert found.y_events[0].shape == (0, 2)
    without = xp.integrate.solve_ivp(swing, (0.0, 1.0), y0, args=(g,))
    assert without.t_events is without.y_events is None


def test_the_time_of_an_event_depends_on_when_the_solution_starts():
    xp = ag.namespace("numpy")
    y0, g = np.asarray([0.0, 10.0]), np.asarray(9.81)

    def back(start):
        found = xp.integrate.solve_ivp(ball, (start, 100.0), y0, args=(g,), events=hit)
        return found.t_events[0][0]

    assert float(ag.grad(back)(np.asarray(1.0))) == pytest.approx(1.0, rel=1e-9)


def test_what_is_no_event_is_an_error():
    xp = ag.namespace("numpy")
    with pytest.raises(TypeError, match="an event is a function, not a float"):
        xp.integrate.solve_ivp(swing, (0.0, 1.0), np.ones(2), args=(np.ones(()),), events=[0.5])

    def broken(t, y, g):
        raise ValueError("planted")

    with pytest.raises(ValueError, match="planted"):
        xp.integrate.solve_ivp(swing, (0.0, 1.0), np.ones(2), args=(np.ones(()),), events=broken)
