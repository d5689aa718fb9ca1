"""Roots, fixed points and minima of ``scipy.optimize``, with the derivatives of ``ag.implicit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnograd as ag
from agnograd_scipy import optimize
from agnograd_scipy._arrays import arrays_in, composed, constants, given, inexact
from agnograd_scipy._host import from_host, host_methods, on_host, to_host
from agnograd_scipy.jacobians import Matrix, linear, polished

__all__ = ["fixed_point", "least_squares", "minimize", "root"]

# What SciPy finds: ``solve(start, jacobian, *args)`` takes Variables, and returns a solution on the
# host. The Jacobian is that of what is 0 at the solution.
Solve = Callable[..., Any]


def _solution(
    xp: Any,
    name: str,
    solve: Solve,
    x0: Any,
    args: Any,
    f: Callable[..., Any],
    sparse: bool = False,
    **equation: Any,
) -> Any:
    """Return what SciPy finds, connected to the arguments.

    ``f(x, *args)`` is 0 there, which ``equation`` says in the terms of ``ag.implicit``.
    """
    x0, *_ = inexact(xp, x0, *arrays_in(args))
    system = linear(sparse)

    def solver(*args: Any, x0: Any) -> Any:
        known, start = constants(args), constants(x0)
        at = lambda x: f(x, *known)  # noqa: E731
        jacobian = system.jacobian(at)
        found = solve(start, jacobian, *known).reshape(start.shape)
        return polished(at, jacobian, from_host(found, start))

    solver.__name__ = name
    start = x0.detach() if isinstance(x0, ag.Variable) else x0
    found = ag.implicit(solver, solve=system.solve, **equation)(*given(xp, args), x0=start)
    return found.data if isinstance(found, ag.Variable) and start is x0 else found


def root(
    xp: Any,
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    sparse: bool = False,
) -> Any:
    """Return where a function is 0, the ``x`` of ``scipy.optimize.root``.

    SciPy finds it on the host, with agnograd's Jacobian; steps of Newton's method follow as long as
    they get closer.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns a real array of the shape of ``x``. It is made of array functions.
    x0 : array
        Where the search starts. It has no gradient.
    args : tuple
        Further arguments. The arrays among them have gradients.
    method, tol, options
        SciPy's.
    sparse : bool
        Whether the Jacobian is computed by ``ag.sparse_jacobian``. Then, in place of the methods
        "hybr" and "lm", which are for dense matrices, it is Newton's method with steps that may be
        shortened; it takes the option ``maxiter``.

    Returns
    -------
    array
        Of the shape of ``x0``, and the dtype to which it and the arrays in ``args`` are promoted.

    Raises
    ------
    RuntimeError
        If SciPy finds none.
    LostGradientError
        If ``fun`` uses tracked Variables that are none of its arguments.
    """

    def solve(start: Any, jacobian: Matrix, *args: Any) -> Any:
        flat = _flat(fun, jacobian, start, args)
        if sparse and method in ("hybr", "lm"):
            return host_methods().newton(*flat, tol, **(options or {}))
        return host_methods().root(*flat, method, tol=tol, options=options)

    return _solution(xp, "root", solve, x0, args, fun, sparse, residual=fun)


def _flat(
    fun: Callable[..., Any], jacobian: Matrix, start: Any, args: Any
) -> tuple[Callable[[Any], Any], Matrix, Any]:
    """Return a function and its Jacobian as SciPy takes them, of vectors, and where to start."""
    value = on_host(lambda x: fun(x, *args), start)

    def flat(x: Any) -> Any:
        return value(x.reshape(start.shape)).astype(float).reshape(-1)

    def matrix(x: Any) -> Any:
        with ag.no_grad():
            return jacobian(from_host(x.reshape(start.shape), start)).astype(float)

    return flat, matrix, to_host(start).astype(float).reshape(-1)


def fixed_point(
    xp: Any,
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    xtol: float = 1e-8,
    maxiter: int = 500,
) -> Any:
    """Return x where ``func(x, *args)`` is x, ``scipy.optimize.fixed_point``.

    See ``root``, of whose kind it is.

    Parameters
    ----------
    func : callable
        ``func(x, *args)`` returns a real array of the shape of ``x``.
    x0 : array
        Where the search starts. It has no gradient.
    args : tuple
        Further arguments. The arrays among them have gradients.
    xtol, maxiter
        SciPy's.
    """

    def solve(start: Any, _: Matrix, *args: Any) -> Any:
        image = on_host(lambda x: func(x, *args), start)
        return host_methods().fixed_point(image, to_host(start), xtol, maxiter)

    residual = lambda x, *args: func(x, *args) - x  # noqa: E731
    return _solution(xp, "fixed_point", solve, x0, args, residual, fixed_point=func)


def minimize(
    xp: Any,
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "BFGS",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    sparse: bool = False,
) -> Any:
    """Return where a function is least, the ``x`` of ``scipy.optimize.minimize``.

    There the gradient is 0: the rest is as with ``root``, of the gradient. The Hessian must be
    regular.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns a real 0-d array. It is made of array functions.
    x0 : array
        Where the search starts. It has no gradient.
    args : tuple
        Further arguments. The arrays among them have gradients.
    method : str
        One of SciPy's methods that use the gradient, without bounds and constraints.
    tol, options
        SciPy's.
    sparse : bool
        Whether the Hessian is computed by ``ag.sparse_jacobian`` of the gradient. SciPy gets it
        with the methods "Newton-CG", "trust-ncg", "trust-krylov" and "trust-constr".
    """

    def solve(start: Any, jacobian: Matrix, *args: Any) -> Any:
        both = ag.value_and_grad(lambda x: fun(x, *args))

        def at(x: Any) -> Any:
            value, gradient = both(from_host(x.reshape(start.shape), start))
            return float(to_host(value)), to_host(gradient).astype(float).reshape(-1)

        _, hessian, x = _flat(ag.grad(fun), jacobian, start, args)
        precision = to_host(start).dtype
        hess = hessian if sparse else None
        return host_methods().minimum(at, x, precision, method, hess, tol=tol, options=options)

    return _solution(xp, "minimize", solve, x0, args, ag.grad(fun), sparse, objective=fun)


def least_squares(
    xp: Any,
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "trf",
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    max_nfev: int | None = None,
    sparse: bool = False,
) -> Any:
    """Return where a sum of squares is least, the ``x`` of ``scipy.optimize.least_squares``.

    See ``minimize``, of whose kind it is: the derivative has the second derivatives of ``fun``, and
    is that of the minimum also where residuals are not small.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args)`` returns a real array, of residuals. It is made of array functions.
    x0 : array
        Where the search starts. It has no gradient.
    args : tuple
        Further arguments. The arrays among them have gradients.
    method, ftol, xtol, gtol, max_nfev
        SciPy's. There are no bounds, and the loss is linear.
    sparse : bool
        Whether the Jacobian and the Hessian are computed by ``ag.sparse_jacobian``. It goes with
        all methods but "lm".
    """

    def solve(start: Any, _: Matrix, *args: Any) -> Any:
        own = linear(sparse).jacobian(lambda x: fun(x, *args))
        options = {"ftol": ftol, "xtol": xtol, "gtol": gtol, "max_nfev": max_nfev}
        flat = _flat(fun, own, start, args)
        return host_methods().least_squares(*flat, method=method, **options)

    def objective(x: Any, *args: Any) -> Any:
        residuals = fun(x, *args)
        return 0.5 * ag.namespace(x).sum(residuals * residuals)

    gradient = ag.grad(objective)
    return _solution(xp, "least_squares", solve, x0, args, gradient, sparse, objective=objective)


composed(optimize, root, fixed_point, minimize, least_squares)
