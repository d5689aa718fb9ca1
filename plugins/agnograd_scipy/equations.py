"""Differential equations, as ``scipy.integrate`` has them.

SciPy chooses the steps, on the host and without gradients. With these fixed, the same
formula is then evaluated by the namespace, and recorded: the derivative is exactly that of the
approximation which is returned, in every order. That the choice depends on the arguments is left
out, which is of the order of the tolerances (Eberhard and Bischof, "Automatic differentiation of
numerical integration algorithms", 1999), as the steps control the error of the derivative, too.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import agnograd as ag
from agnograd.extend import device_of, is_tracked
from agnograd_scipy import integrate, stiff
from agnograd_scipy._arrays import given, inexact
from agnograd_scipy._host import host_methods, on_host, to_host

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
    """

    t: Any
    y: Any
    nfev: int


def _number(x: Any) -> float:
    return float(to_host(x)) if hasattr(x, "dtype") else float(x)


def solve_ivp(
    xp: Any,
    fun: Callable[..., Any],
    t_span: Sequence[Any],
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    args: Any = (),
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
    **options
        SciPy's ``rtol``, ``atol``, ``max_step`` and ``first_step``. For "Radau" and "BDF" also
        ``sparse``: whether the Jacobian is computed by ``ag.sparse_jacobian``.

    Returns
    -------
    Solution
        With ``t`` and ``y``.

    Raises
    ------
    RuntimeError
        If SciPy's steps get too small, for the solution or for its derivative.
    LostGradientError
        If, with "Radau" or "BDF", ``fun`` uses tracked Variables that are not in ``args``.
    """
    implicit = method in stiff.METHODS
    names = ("rtol", "atol", "max_step", "first_step")
    _known(options, (*names, "sparse") if implicit else names)
    (y0,) = inexact(xp, y0)
    if y0.ndim != 1:
        raise ValueError(f"y0 has one axis, not shape {y0.shape}")
    args, t_span = given(xp, args), given(xp, tuple(t_span))
    ends = [_number(each) for each in t_span]

    slope = _slope(fun, args, y0)
    solved = _implicitly if implicit else _explicitly
    times, steps, calls = solved(xp, slope, t_span, ends, y0, args, method, options)
    if t_eval is None:
        points, values = times, [y0, *(step.end for step in steps)]
    else:
        found = list(_Wanted(t_eval, times, ends).found(steps))
        points, values = [at for at, _ in found], [value for _, value in found]
    return Solution(_stacked(xp, points, y0), _columns(xp, values, y0), calls)


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
        span = [_number(each) for each in span]
    steps = {"max_step": hmax, "first_step": h0}
    options = {name: step for name, step in steps.items() if step} | {"rtol": rtol, "atol": atol}
    solution = solve_ivp(xp, fun, span, y0, "DOP853", times, args, **options)
    return xp.matrix_transpose(solution.y)


def _explicitly(
    xp: Any,
    slope: Callable[..., Any],
    t_span: Sequence[Any],
    ends: Sequence[float],
    y0: Any,
    args: Sequence[Any],
    method: str,
    options: dict[str, Any],
) -> tuple[list[Any], Iterator[Any], int]:
    """Return the ends of steps, the steps, and how often SciPy called the function."""
    at_start = slope(t_span[0], y0)
    tracked = ag.is_grad_enabled() and any(map(is_tracked, (at_start, y0, *t_span)))
    choose = _controlled_steps if tracked else _steps_of
    times, formula, calls = choose(slope, ends, y0, args, method, options)
    start, scale = _scaled(t_span, ends)
    times = [start + (t - ends[0]) * scale for t in times]
    return times, _steps(slope, formula, times, y0, at_start), calls


def _implicitly(
    xp: Any,
    slope: Callable[..., Any],
    t_span: Sequence[Any],
    ends: Sequence[float],
    y0: Any,
    args: Sequence[Any],
    method: str,
    options: dict[str, Any],
) -> tuple[list[Any], Iterator[Any], int]:
    """Return the same of a method for stiff equations."""
    stepper = stiff.Stepper(xp, slope, y0, args, method, options.pop("sparse", False))
    chosen, calls = stepper.choose(ends, options)
    start, scale = _scaled(t_span, ends)
    stops = [each.t + each.h for each in chosen]
    times = [start + (t - ends[0]) * scale for t in (ends[0], *stops)]
    return times, stepper.steps(chosen, start, scale), calls


def _scaled(t_span: Sequence[Any], ends: Sequence[float]) -> tuple[Any, Any]:
    """Return where time starts, and how much longer it is than SciPy's; both may be tracked."""
    if any(hasattr(each, "dtype") for each in t_span):
        return t_span[0], (t_span[1] - t_span[0]) / (ends[1] - ends[0] or 1.0)
    return ends[0], 1.0


def _slope(fun: Callable[..., Any], args: Sequence[Any], y0: Any) -> Callable[..., Any]:
    """Return the function of t and y, which has to return an array of the shape of y."""

    def slope(t: Any, y: Any, args: Sequence[Any] = args) -> Any:
        found = fun(t, y, *args)
        if getattr(found, "shape", None) != y0.shape:
            what = getattr(found, "shape", type(found).__name__)
            raise ValueError(f"fun returned {what}, and y has shape {y0.shape}")
        return found

    return slope


def _steps_of(
    slope: Callable[..., Any],
    ends: Sequence[float],
    y0: Any,
    args: Sequence[Any],
    method: str,
    options: dict[str, Any],
) -> Any:
    """Return the times at which SciPy's steps end, the method, and how often it called fun."""

    def on_numpy(t: float, y: Any) -> Any:
        return on_host(lambda y: slope(float(t), y), y0)(y)

    return host_methods().accepted_steps(on_numpy, ends, to_host(y0), method, **options)


def _controlled_steps(
    slope: Callable[..., Any],
    ends: Sequence[float],
    y0: Any,
    args: Sequence[Any],
    method: str,
    options: dict[str, Any],
) -> Any:
    """Return the same of steps that control the error of a derivative, too."""
    kernels = import_module("agnograd_scipy.kernels.sensitivities")
    both = kernels.Sensitivity(slope, y0, args)
    tolerances = kernels.controlled(y0, **options)
    try:
        return host_methods().accepted_steps(both, ends, both.start, method, **tolerances)
    except RuntimeError as error:
        _steps_of(slope, ends, y0, args, method, options)  # else the error is the solution's
        raise RuntimeError(
            f"{error} That is the derivative's error, which stays above the tolerances, while the "
            "solution's does not: the derivative may be infinite somewhere. For the solution "
            "without a derivative, call solve_ivp under ag.no_grad(), or detach what fun uses"
        ) from error


def _steps(
    slope: Callable[..., Any], formula: Any, times: Sequence[Any], y0: Any, first: Any
) -> Iterator[Step]:
    """Take the steps that SciPy chose, one after the other."""
    y, slope_now = y0, first
    for t, then in pairwise(times):
        step = Step(slope, formula, t, then - t, y, slope_now)
        yield step
        y, slope_now = step.end, step.slope


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


class _Wanted:
    """The times at which a solution is wanted, by the step that each is in."""

    def __init__(self, t_eval: Any, times: Sequence[Any], ends: Sequence[float]) -> None:
        sign = 1.0 if ends[1] >= ends[0] else -1.0
        numbers = [sign * float(each) for each in to_host(t_eval)]
        stops = [sign * _number(each) for each in times[1:]]
        first, last = sorted(sign * each for each in ends)
        if numbers != sorted(numbers) or any(not first <= each <= last for each in numbers):
            raise ValueError("t_eval is to be in order, and within t_span")
        self.still = ends[0] == ends[1]
        self.members: dict[int, list[Any]] = {}
        for index, number in enumerate(numbers):
            step = min(bisect.bisect_left(stops, number), len(stops) - 1)
            array = hasattr(t_eval, "dtype")
            self.members.setdefault(step, []).append(t_eval[index] if array else sign * number)

    def found(self, steps: Iterable[Step]) -> Iterator[tuple[Any, Any]]:
        """Return each of the times and the solution there."""
        for index, step in enumerate(steps):
            for at in self.members.get(index, ()):
                yield at, step.at(0.0 if self.still else (at - step.t) / step.h)


class Step:
    """One step of a Runge-Kutta method (Hairer, Norsett and Wanner, "Solving ordinary differential
    equations I", 1993, sections II.1 and II.6).
    """  # noqa: D205

    def __init__(
        self, fun: Callable[..., Any], method: Any, t: Any, h: Any, y: Any, slope: Any
    ) -> None:
        self.fun, self.method, self.t, self.h, self.y = fun, method, t, h, y
        self.stages = [slope]
        for row, c in zip(method.a[1:], method.c[1:], strict=True):
            self._stage(row, c)
        self.end = y + self._sum(method.b, h)
        self.slope = fun(t + h, self.end)  # with which the next step starts
        self.stages.append(self.slope)

    def _stage(self, row: Sequence[float], c: float) -> None:
        self.stages.append(self.fun(self.t + c * self.h, self.y + self._sum(row, self.h)))

    def _sum(self, factors: Sequence[Any], by: Any) -> Any:
        """Return the sum of the stages, each times its factor, times ``by``."""
        total: Any = 0
        for factor, stage in zip(factors, self.stages, strict=False):
            if not isinstance(factor, float) or factor:
                total = total + factor * stage
        return by * total

    def at(self, x: Any) -> Any:
        """Return the solution within the step, at the fraction x of it."""
        if not self.method.d:
            powers = [sum(p * x ** (k + 1) for k, p in enumerate(row)) for row in self.method.p]
            return self.y + self._sum(powers, self.h)
        if len(self.stages) == len(self.method.b) + 1:
            for row, c in zip(self.method.further, self.method.further_c, strict=True):
                self._stage(row, c)
        change, first = self.end - self.y, self.stages[0]
        terms = [
            change,
            self.h * first - change,
            2 * change - self.h * (first + self.slope),
            *(self._sum(row, self.h) for row in self.method.d),
        ]
        out: Any = 0
        for k, term in enumerate(reversed(terms)):
            out = (out + term) * (x if k % 2 == 0 else 1 - x)
        return self.y + out


integrate.composed(
    "integrate.solve_ivp(fun, t_span, y0, method='RK45', t_eval=None, args=(), **options)",
    solve_ivp,
)
integrate.composed(
    "integrate.odeint(func, y0, t, args=(), *, rtol=1.49012e-8, atol=1.49012e-8, hmax=0.0, h0=0.0, "
    "tfirst=False)",
    odeint,
)
