"""Differential equations, as ``scipy.integrate`` has them.

SciPy chooses the steps, on the host and without gradients. With these fixed, the same
formula is then evaluated by the namespace, and recorded: the derivative is exactly that of the
approximation which is returned, in every order. That the choice depends on the arguments is left
out, which is of the order of the tolerances (Eberhard and Bischof, "Automatic differentiation of
numerical integration algorithms", 1999), as the steps control the error of the derivative, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from agnograd.extend import device_of, is_tracked
from agnograd_scipy import integrate
from agnograd_scipy._arrays import composed, given, inexact
from agnograd_scipy.adjoint import by_adjoint
from agnograd_scipy.events import Events
from agnograd_scipy.explicit import Explicit
from agnograd_scipy.problems import Problem, number
from agnograd_scipy.solutions import along
from agnograd_scipy.stiff import METHODS, Stiff

__all__ = ["Solution", "odeint", "solve_ivp"]


class Solution(NamedTuple):
    """The solution of an initial value problem.

    Attributes
    ----------
    t : array, shape (times,)
        The times.
    y : array, shape (n, times)
        The solution at these times.
    nfev : int
        How often SciPy called the function to choose the steps.
    t_events : list of array, shape (count,), or None
        For each event, the times at which it happened.
    y_events : list of array, shape (count, n), or None
        For each event, the solution at these times.
    status : int
        1 if a terminal event ended the solution, and else 0.
    """

    t: Any
    y: Any
    nfev: int
    t_events: list[Any] | None = None
    y_events: list[Any] | None = None
    status: int = 0


def solve_ivp(
    xp: Any,
    fun: Callable[..., Any],
    t_span: Sequence[Any],
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    args: Any = (),
    events: Any = None,
    *,
    adjoint: str = "discrete",
    **options: Any,
) -> Solution:
    """Solve dy/dt = fun(t, y, *args) from y0 on, ``scipy.integrate.solve_ivp``.

    Parameters
    ----------
    fun : callable
        ``fun(t, y, *args)`` returns an array of the shape of ``y``. It is made of array functions.
    t_span : pair of float or 0-d array
        Where time starts and ends. An end that is an array has a gradient.
    y0 : array, shape (n,)
        The initial values.
    method : {"RK45", "RK23", "DOP853", "Radau", "BDF"}
        SciPy's explicit Runge-Kutta methods, and those for stiff equations. Of what ``fun`` uses,
        the latter give a gradient only to ``args``, and ``y0`` is real.
    t_eval : array or sequence of float, shape (times,), optional
        The times at which the solution is wanted, in order; by default the ends of all steps,
        which gradients then hold fixed.
    args : tuple
        Further arguments of ``fun``. They have gradients, as everything that it uses.
    events : callable or sequence of callable, optional
        Each ``event(t, y, *args)`` returns a real 0-d array, and happens where that is 0. Its
        attribute ``terminal``, a bool or after how many times, says whether the solution ends
        there, and ``direction``, -1.0 or 1.0, from which sign it changes. Times of events have
        gradients, and the solution there has those through its time, too.
    adjoint : {"discrete", "continuous"}
        "discrete" gives the derivative of the steps that were taken, which are recorded. With
        "continuous" nothing is recorded but a few places of the solution, and SciPy solves the
        adjoint equation backwards: the derivative is that of the equation, within tolerances.
    **options
        SciPy's ``rtol``, ``atol``, ``max_step`` and ``first_step``. For "Radau" and "BDF" also
        ``sparse``: whether the Jacobian is computed by ``ag.sparse_jacobian``.

    Returns
    -------
    Solution
        With ``t`` and ``y``, and, if there are ``events``, ``t_events`` and ``y_events``.

    Raises
    ------
    RuntimeError
        If SciPy's steps get too small, for the solution or for its derivative.
    LostGradientError
        If, with "Radau", "BDF" or the continuous adjoint, ``fun`` uses tracked Variables that are
        not in ``args``.
    """
    names = ("rtol", "atol", "max_step", "first_step")
    _known(options, (*names, "sparse") if method in METHODS else names)
    if adjoint not in ("discrete", "continuous"):
        raise ValueError(f"adjoint must be 'discrete' or 'continuous', not {adjoint!r}")
    (y0,) = inexact(xp, y0)
    if y0.ndim != 1:
        raise ValueError(f"y0 has one axis, not shape {y0.shape}")
    problem = Problem(xp, fun, given(xp, tuple(t_span)), y0, tuple(given(xp, args)))
    solve = by_adjoint if adjoint == "continuous" else _by_steps
    points, values, watched, calls = solve(problem, method, options, t_eval, events)
    t, y = _stacked(xp, points, y0), _columns(xp, values, y0)
    if watched is None:
        return Solution(t, y, calls)
    rows = [xp.matrix_transpose(_columns(xp, each, y0)) for each in watched.values]
    t_events = [_stacked(xp, each, y0) for each in watched.times]
    return Solution(t, y, calls, t_events, rows, int(watched.ended is not None))


def _by_steps(
    problem: Problem, method: str, options: dict[str, Any], t_eval: Any, events: Any
) -> tuple[list[Any], list[Any], Events | None, int]:
    """Return times, the solution there, what happened, and how often SciPy called the function."""
    watched = None if events is None else Events(problem, events)
    stop = None if watched is None else watched.stop
    stepper = (Stiff if method in METHODS else Explicit)(problem, method, options, stop)
    points, values = along(problem, stepper, t_eval, watched)
    return points, values, watched, stepper.calls


def odeint(
    xp: Any,
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    *,
    rtol: float = 1.49012e-8,
    atol: float = 1.49012e-8,
    hmax: float = 0.0,
    h0: float = 0.0,
    tfirst: bool = False,
) -> Any:
    """Solve dy/dt = func(y, t, *args) from y0 on, ``scipy.integrate.odeint``.

    The steps are those of ``solve_ivp(method="DOP853")``, where SciPy's ``odeint`` takes LSODA's:
    equal within the tolerances, and slower where the equation is stiff.

    Parameters
    ----------
    func : callable
        ``func(y, t, *args)`` returns an array of the shape of ``y``, or a list of its elements. It
        is made of array functions.
    y0 : array, shape (n,), or list
        The initial values.
    t : array or sequence of float, shape (times,)
        The times at which the solution is wanted, in order, from that of ``y0`` on. An array has
        a gradient.
    args : tuple
        Further arguments of ``func``. They have gradients, as everything that it uses.
    rtol, atol : float
        The tolerances.
    hmax, h0 : float
        The longest and the first step; 0 leaves them to SciPy.
    tfirst : bool
        Whether it is ``func(t, y, *args)``.

    Returns
    -------
    array, shape (times, n)
    """
    (y0,) = inexact(xp, xp.asarray(y0) if isinstance(y0, list | tuple) else y0)
    y0 = xp.reshape(y0, (1,)) if not y0.ndim else y0

    def like(element: Any, y: Any) -> Any:
        if hasattr(element, "dtype"):
            return xp.reshape(xp.astype(element, y.dtype, copy=False), ())
        return xp.asarray(element, dtype=y.dtype, device=device_of(y))

    def fun(time: Any, y: Any, *args: Any) -> Any:
        found = func(time, y, *args) if tfirst else func(y, time, *args)
        if isinstance(found, list | tuple):
            found = xp.stack([like(each, y) for each in found])
        return xp.reshape(found, y.shape) if found.shape in ((), (1, *y.shape)) else found

    times: Any = xp.asarray(t) if hasattr(t, "dtype") else [float(each) for each in t]
    count = times.shape[0] if hasattr(times, "dtype") else len(times)
    if count < 2:
        return xp.reshape(y0, (1, -1))[:count, :]
    span = [times[0], times[-1]]
    if not (hasattr(times, "dtype") and is_tracked(times)):
        span = [number(each) for each in span]
    steps: dict[str, Any] = {"max_step": hmax, "first_step": h0}
    options = {name: step for name, step in steps.items() if step} | {"rtol": rtol, "atol": atol}
    solution = solve_ivp(xp, fun, span, y0, "DOP853", times, args, **options)
    return xp.matrix_transpose(solution.y)


def _known(options: dict[str, Any], names: Sequence[str]) -> None:
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}; there are {', '.join(names)}")


def _columns(xp: Any, values: Sequence[Any], y0: Any) -> Any:
    if values:
        return xp.stack(values, axis=-1)
    return xp.zeros((*y0.shape, 0), dtype=y0.dtype, device=device_of(y0))


def _stacked(xp: Any, points: Sequence[Any], y0: Any) -> Any:
    """Return times as an array, of the precision of the solution."""
    real = xp.real(y0).dtype if xp.isdtype(y0.dtype, "complex floating") else y0.dtype
    device = device_of(y0)
    if not any(hasattr(each, "dtype") for each in points):
        return xp.asarray([float(each) for each in points], dtype=real, device=device)
    return xp.stack([xp.asarray(each, dtype=real, device=device) for each in points])


composed(integrate, solve_ivp, odeint)
