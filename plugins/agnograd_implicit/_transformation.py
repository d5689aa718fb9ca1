"""Derivatives of solutions by the implicit function theorem, whatever computed them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from reprlib import repr as shown
from typing import Any

from agnograd.errors import ArgumentError
from agnograd.extend.arguments import number_in, positive_in
from agnograd_implicit._conditions import equations_of
from agnograd_implicit._linear import METHODS, Solve
from agnograd_implicit._solution import Equation, Solution, SolverCall

__all__ = ["implicit"]

AnyFunction = Callable[..., Any]


def implicit(
    solver: AnyFunction | None = None,
    /,
    residual: AnyFunction | None = None,
    *,
    fixed_point: AnyFunction | None = None,
    objective: AnyFunction | None = None,
    equality: AnyFunction | None = None,
    solve: str | AnyFunction = "dense",
    preconditioner: AnyFunction | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
) -> AnyFunction:
    """Return a solver whose solutions have the derivatives of the equation that they solve.

    The solver runs as it is, on raw arrays. Nothing of it is recorded: derivatives of every order,
    in reverse and in forward mode, follow from the equation by the implicit function theorem. Each
    takes the solution of a linear system, of the Jacobian of the equation at the solution.

    Say which equation it is by exactly one of ``residual``, ``fixed_point`` and ``objective``. Each
    is a function of the solution and of the solver's positional arguments, made of array functions.

    Parameters
    ----------
    solver : callable
        ``solver(*args, **kwargs)`` returns the solution, an array or a pytree of arrays. It gets
        raw arrays, and may do with them what it likes, except write to them. Without ``solver``,
        ``implicit`` returns a decorator.
    residual : callable
        ``residual(x, *args)`` is 0 at the solution ``x``. It has the structure and the shapes of
        ``x``.
    fixed_point : callable
        ``fixed_point(x, *args)`` is ``x`` at the solution.
    objective : callable
        ``objective(x, *args)`` is a real 0-d array, which is stationary at the solution, as at a
        minimum.
    equality : callable, optional
        ``equality(x, *args)`` is 0, an array or a pytree of real arrays: ``objective`` is
        stationary under these constraints. Their gradients must be linearly independent.
    solve : {"dense", "cg", "gmres"} or callable
        How linear systems are solved. "dense" computes the Jacobian. The others take only products
        with it: "cg" if it is symmetric and definite, as at a minimum without constraints, and
        "gmres" in all cases. A function is called as ``solve(a, b)`` and returns the solution. Its
        ``b`` is a raw vector, and ``a`` has ``shape``, ``dtype``, ``matvec`` and ``rmatvec``, as
        SciPy's solvers take it.
    preconditioner : callable, optional
        For "cg" and "gmres": ``preconditioner(v, x, *args)`` is about the inverse of the Jacobian
        times ``v``. ``v`` has the structure of ``x``, and so has the result, which is linear in
        ``v``. It is made of array functions; "gmres" also uses its transpose.
    rtol : float, optional
        For "cg" and "gmres": how small their residual has to be, relative to the right hand side.
        The default is 1.8e-12, and 6.4e-6 in single precision.
    maxiter : int, optional
        For "cg" and "gmres": the most steps, by default 50 more than 10 for each unknown.

    Returns
    -------
    callable
        Takes what ``solver`` takes, and returns what it returns: raw arrays if all arrays are raw,
        and otherwise Variables. Arrays among keyword arguments, such as where a search starts, have
        no gradient, and the equation does not get them.

    Raises
    ------
    ArgumentError
        If there is not exactly one equation, or an option does not go with another one.
    RuleError
        When it is called, if the solver or the equation returns what does not fit.
    LostGradientError
        When it is called, if the equation uses a tracked Variable that is not an argument, or a
        keyword argument is one.
    SolverError
        In a backward pass, if the Jacobian is singular, or a method does not converge.

    Examples
    --------
    >>> import math
    >>> import agnograd as ag
    >>> @ag.implicit(residual=lambda x, a: x * x - a)
    ... def root(a):
    ...     return math.sqrt(a)
    >>> float(ag.grad(root)(4.0)), float(ag.grad(ag.grad(root))(4.0))
    (0.25, -0.03125)
    """
    given: dict[str, Any] = {
        "residual": residual,
        "fixed_point": fixed_point,
        "objective": objective,
    }
    options: dict[str, Any] = {"equality": equality, "preconditioner": preconditioner}
    for what, function in (("solver", solver), *given.items(), *options.items()):
        if function is not None and not callable(function):
            raise ArgumentError(f"ag.implicit: {what} must be a function, not {shown(function)}")
    if sum(each is not None for each in given.values()) != 1:
        raise ArgumentError(
            "ag.implicit takes exactly one of residual, fixed_point and objective: the equation "
            "that the solution satisfies, @ag.implicit(residual=f) say"
        )
    if equality is not None and objective is None:
        raise ArgumentError("ag.implicit: equality constrains an objective; give it, too")
    how = _solve(solve, preconditioner, rtol, maxiter)
    if equality is not None and solve == "cg":
        raise ArgumentError(
            "ag.implicit: solve='cg' is for definite matrices, and that of an optimum with "
            "constraints is not; use 'gmres' or 'dense'"
        )
    if solver is None:
        solving: Any = {"solve": solve, "rtol": rtol, "maxiter": maxiter}
        return functools.partial(implicit, **given, **options, **solving)
    run, equations, hidden = equations_of(solver, residual, fixed_point, objective, equality, how)
    name = str(getattr(solver, "__name__", type(solver).__name__))
    op: type[Solution] = type(name, (Solution,), {})  # the name that hooks see
    equation = Equation(name, run, equations, how, op)

    @functools.wraps(solver, updated=())
    def solution(*args: Any, **kwargs: Any) -> Any:
        found = SolverCall(equation, args, kwargs).result()
        return found[0] if hidden else found

    return solution


def _solve(solve: Any, preconditioner: Any, rtol: Any, maxiter: Any) -> Solve:
    """Return how linear systems are solved, of options that have been checked."""
    methods = ("dense", *METHODS)
    if not (callable(solve) or (isinstance(solve, str) and solve in methods)):
        raise ArgumentError(
            f"ag.implicit: solve is {shown(solve)}; it must be one of {', '.join(methods)}, or a "
            "function solve(a, b)"
        )
    for what, value in (("preconditioner", preconditioner), ("rtol", rtol), ("maxiter", maxiter)):
        if value is not None and solve not in METHODS:
            raise ArgumentError(
                f"ag.implicit: {what} is for solve='cg' and solve='gmres', not {shown(solve)}"
            )
    if rtol is not None:
        number_in("ag.implicit: rtol", rtol)
    if maxiter is not None:
        positive_in("ag.implicit: maxiter", maxiter)
    return Solve(solve, preconditioner, rtol, maxiter)
