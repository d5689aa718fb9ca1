"""Roots, fixed points and minima of ``scipy.optimize``, by the implicit function theorem.

Where f(x, theta) = 0 and the Jacobian J by x is regular, dx/dtheta is -J^-1 df/dtheta (Krantz and
Parks, "The implicit function theorem", 2002): a gradient g by x goes to theta as the pullback of
-w by f, with J^H w = g. Derivatives of higher order are those of this program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import agnograd as ag
from agnograd.errors import LostGradientError
from agnograd.extend import adjoint
from agnograd_scipy import optimize
from agnograd_scipy._arrays import arrays_in, given, inexact
from agnograd_scipy._host import from_host, host_methods, on_host, to_host

__all__ = ["fixed_point", "minimize", "root"]

_POLISH = 5  # steps of Newton's method at most, after SciPy's


class Implicit(ag.Function):
    """The solution x of f(x, *args) = 0: its value is given, and its derivative follows."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f

    def forward(self, xp: Any, x: Any, *args: Any) -> Any:
        """Return the solution."""
        out = x + 0
        self.save(out, *args)
        return out

    def backward(self, xp: Any, g: Any) -> Any:
        """Return the gradients of what f depends on."""
        first_order = not isinstance(g, ag.Variable)
        x, *args = self.saved
        if first_order:  # the function is one of Variables
            x, g, *args = (ag.Variable(each, requires_grad=False) for each in (x, g, *args))
        w = _solved(adjoint(_jacobian(self.f, x, args), ag.namespace(x)), g)
        _, pullback = ag.vjp(lambda *args: self.f(x, *args), *args)
        found = pullback(-w)
        return (None, *((each.data for each in found) if first_order else found))


def _jacobian(f: Callable[..., Any], x: Any, args: Sequence[Any] = ()) -> Any:
    """Return the derivative of f by a Variable x, as a matrix."""
    xp, size = ag.namespace(x), math.prod(x.shape)
    return xp.reshape(ag.jacobian(lambda x: f(x, *args))(x), (size, size))


def _solved(matrix: Any, g: Any) -> Any:
    xp = ag.namespace(g)
    return xp.reshape(xp.linalg.solve(matrix, xp.reshape(g, (matrix.shape[0],))), g.shape)


def _solution(
    xp: Any, f: Callable[..., Any], args: Any, x0: Any, solve: Callable[..., Any], name: str
) -> Any:
    """Return the solution of f(x, *args) = 0, connected to the arguments.

    ``solve(f, x0)`` finds it on the host, by a function of one array.
    """
    import optree  # which takes long

    x0, *_ = inexact(xp, x0, *arrays_in(args))
    if not isinstance(x0, ag.Variable):  # the function is one of Variables all the same
        return _solution(ag.namespace(x0), f, args, x0, solve, name).data
    leaves, tree = optree.tree_flatten(given(xp, args))
    kinds = ("real floating", "complex floating")
    places = [k for k, x in enumerate(leaves) if hasattr(x, "dtype") and xp.isdtype(x.dtype, kinds)]
    constant = [_detached(leaf) for leaf in leaves]

    def filled(x: Any, *arrays: Any) -> Any:
        known = dict(zip(places, arrays, strict=True))
        filling = [known.get(k, leaf) for k, leaf in enumerate(constant)]
        return f(x, *optree.tree_unflatten(tree, filling))

    start = _detached(x0)
    if getattr(filled(start, *(constant[k] for k in places)), "requires_grad", False):
        raise LostGradientError(
            f"{name}: the function uses a tracked Variable that is none of its arguments, and "
            "whose gradient would be lost: pass it in args, or x.detach()"
        )
    alone = lambda x: filled(x, *(constant[k] for k in places))  # noqa: E731
    found = from_host(solve(alone, start), start)
    return Implicit(filled)(_polished(alone, found), *(leaves[k] for k in places))


def _detached(x: Any) -> Any:
    return x.detach() if isinstance(x, ag.Variable) else x


def _polished(f: Callable[..., Any], x: Any) -> Any:
    """Take steps of Newton's method for as long as the residual gets smaller.

    A derivative at a place that is not a solution is none of the solution. Where the Jacobian is
    singular there is a solution all the same, but no derivative.
    """
    with ag.no_grad():
        residual = f(x)
        best = _size(residual)
        for _ in range(_POLISH):
            step = host_methods().solved(to_host(_jacobian(f, x)), to_host(residual))
            if step is None:
                break
            moved = x - from_host(step, x)
            residual = f(moved)
            size = _size(residual)
            if not size < best:
                break
            x, best = moved, size
    return x


def _size(residual: Any) -> float:
    return float(abs(to_host(residual)).max(initial=0.0))


def root(
    xp: Any,
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
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

    def solve(f: Callable[..., Any], start: Any) -> Any:
        jacobian = on_host(lambda x: _jacobian(f, x), start)
        shape = start.shape
        flat = lambda x: on_host(f, start)(x.reshape(shape)).reshape(-1)  # noqa: E731
        found = host_methods().root(
            flat,
            lambda x: jacobian(x.reshape(shape)),
            to_host(start).reshape(-1),
            method,
            tol=tol,
            options=options,
        )
        return found.reshape(shape)

    return _solution(xp, fun, args, x0, solve, "root")


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

    def solve(f: Callable[..., Any], start: Any) -> Any:
        image = on_host(lambda x: f(x) + x, start)
        return host_methods().fixed_point(image, to_host(start), xtol, maxiter)

    return _solution(xp, lambda x, *rest: func(x, *rest) - x, args, x0, solve, "fixed_point")


def minimize(
    xp: Any,
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "BFGS",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
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
    """

    def solve(f: Callable[..., Any], start: Any) -> Any:
        import optree

        args_: Any = optree.tree_map(_detached, given(ag.namespace(start), args))
        both = ag.value_and_grad(lambda x: fun(x, *args_))

        def at(x: Any) -> Any:
            value, gradient = both(from_host(x.reshape(start.shape), start))
            return float(to_host(value)), to_host(gradient).astype(float).reshape(-1)

        flat = to_host(start).reshape(-1)
        found = host_methods().minimum(at, flat, method=method, tol=tol, options=options)
        return found.reshape(start.shape)

    return _solution(xp, ag.grad(fun), args, x0, solve, "minimize")


_OPTIONS = "tol=None, options=None"
optimize.composed(f"optimize.root(fun, x0, args=(), method='hybr', {_OPTIONS})", root)
optimize.composed("optimize.fixed_point(func, x0, args=(), xtol=1e-8, maxiter=500)", fixed_point)
optimize.composed(f"optimize.minimize(fun, x0, args=(), method='BFGS', {_OPTIONS})", minimize)
