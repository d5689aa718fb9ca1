"""Jets and linear differential operators of functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from itertools import chain
from typing import Any

import agnograd as ag
from agnograd.errors import ArgumentError
from agnograd.extend.arguments import callable_in, flatten, map_leaves, positive_in, unflatten
from agnograd_taylor._points import Point, array_of, like
from agnograd_taylor._taylor import Expansion, Taylor

Function = Callable[..., Any]


def jet(
    f: Function, primals: Sequence[Any], series: Sequence[Sequence[Any]]
) -> tuple[Any, list[Any]]:
    """Return the value of a function, and its Taylor coefficients along a curve.

    For ``x(t) = x0 + x1 t + ... + xK t^K`` this is ``y(t) = f(x(t))`` to the order K. These are
    *coefficients*: a derivative of order k is ``factorial(k)`` times a coefficient, and
    ``derivatives_of`` and ``coefficients_of`` of ``agnograd_taylor`` convert them.

    Parameters
    ----------
    f : callable
        A function of arrays, or of pytrees of arrays.
    primals : sequence
        Its arguments x0.
    series : sequence
        For each argument x1, x2, ..., each with the structure, shapes and dtypes of the argument;
        None stands for zeros. A shorter one continues with zeros.

    Returns
    -------
    value : array or pytree
        ``f(*primals)``.
    series : list
        y1 to yK, each with the structure, shapes and dtypes of the value.

    Raises
    ------
    ArgumentError
        If ``series`` does not fit ``primals``, or an argument has no floating-point dtype.
    NoGradientError
        If an op has no derivative.
    LostGradientError
        If a series gets to a function of another library, or to a solver.

    Examples
    --------
    >>> import agnograd as ag
    >>> value, (first, second) = ag.jet(lambda x: x**3, (2.0,), ([1.0, 0.0],))
    >>> float(value), float(first), float(second)
    (8.0, 12.0, 6.0)
    """
    callable_in("ag.jet", f, "ag.jet(f, (x,), ([x1, x2],))")
    if not _are_sequences(primals, series) or len(primals) != len(series):
        raise ArgumentError(
            "ag.jet takes a tuple of arguments, and for each of them a list of coefficients: "
            "ag.jet(f, (x, y), ([x1, x2], [y1, y2]))"
        )
    order = max(map(len, series), default=0)
    leaves, tree = flatten(tuple(primals))
    given = [[array_of("ag.jet", leaf)] for leaf in leaves]
    for k in range(order):
        of_order = [each[k] if k < len(each) else None for each in series]
        coefficients = chain.from_iterable(
            _leaves_like(number, primal, each)
            for number, (primal, each) in enumerate(zip(primals, of_order, strict=True))
        )
        for one, coefficient in zip(given, coefficients, strict=True):
            one.append(None if coefficient is None else like(coefficient, one[0]))
    found = Taylor.expand(
        lambda *arrays: f(*unflatten(tree, arrays)), Expansion(order), given, fills=True
    )
    return found[0], found[1:]


def _are_sequences(primals: Any, series: Any) -> bool:
    several = isinstance(primals, tuple | list) and isinstance(series, tuple | list)
    return several and all(isinstance(each, tuple | list) for each in series)


def _leaves_like(number: int, primal: Any, coefficient: Any) -> list[Any]:
    """Return the leaves of a coefficient of an argument; None stands for zeros."""
    known, tree = flatten(primal)
    if coefficient is None:
        return [None] * len(known)
    found, own = flatten(coefficient)
    if own != tree:
        raise ArgumentError(
            f"ag.jet: a coefficient does not have the structure of argument {number}, {tree}"
        )
    return found


def taylor(f: Function, x: Any, v: Any, order: int) -> list[Any]:
    """Return the Taylor coefficients of ``f(x + t v)`` by t.

    Parameters
    ----------
    f : callable
        A function of an array, or of a pytree of arrays.
    x, v : array or pytree
        Where it is expanded, and along what; of the same structure, shapes and dtypes.
    order : int
        The highest order, at least 1.

    Returns
    -------
    list
        The coefficients of orders 0 to ``order``, each like ``f(x)``.

    Raises
    ------
    ArgumentError, NoGradientError, LostGradientError
        As for ``jet``.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> [round(float(c), 3) for c in ag.taylor(xp.exp, 0.0, 1.0, 4)]
    [1.0, 1.0, 0.5, 0.167, 0.042]
    """
    positive_in("ag.taylor: order", order)
    value, series = jet(f, (x,), ([v, *[None] * (order - 1)],))
    return [value, *series]


def laplacian(
    f: Function, *, weights: Any = None, lower: bool = False, pattern: Any = None
) -> Function:
    """Return a function that computes the Laplacian of ``f`` by its first argument.

    This is the sum of the second derivatives by each element, the trace of the Hessian. It takes
    one pass, in which second coefficients along all axes are carried as one sum.

    Parameters
    ----------
    f : callable
        A function of an array, or of a pytree of arrays, and of other arguments. Its result may
        have any shape.
    weights : array or pytree, optional
        Factors of the second derivatives, with the structure and shapes of the argument.
    lower : bool
        Whether to return the value and the first derivatives of the same pass, too.
    pattern : object, optional
        The pattern of the Hessian, as ``ag.sparsity(ag.grad(f), x)`` finds it. Elements whose
        mixed derivatives are all zero then share a direction: as many directions are followed as
        colours are needed, three for a sum over particles in space, and not one for each element.

    Returns
    -------
    callable
        Takes what ``f`` takes. It returns the Laplacian, like the value of ``f``, or a triple
        ``(value, jacobian, laplacian)``. A Jacobian has the axes of the value first, as that of
        ``ag.jacobian``. Results are raw arrays if all arguments and closures are.

    Raises
    ------
    ArgumentError, NoGradientError, LostGradientError
        When you call it: as for ``jet``, and if ``weights`` or ``pattern`` do not fit the argument.
        An ArgumentError is also raised if ``pattern`` is combined with ``weights`` or ``lower``,
        since elements that share a direction cannot be told apart.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> float(ag.laplacian(lambda x: xp.sum(x**3))(xp.asarray([1.0, 2.0]).data))
    18.0
    """
    callable_in("ag.laplacian", f, "ag.laplacian(f)(x)")
    if pattern is not None and (lower or weights is not None):
        raise ArgumentError(
            "ag.laplacian: pattern= lets elements share directions, and cannot be combined with "
            "lower= or weights=, which need each element by itself"
        )

    @wraps(f)
    def of(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        point = Point("ag.laplacian", x)
        factors = None if weights is None else point.flat("weights", weights)
        directions = point.axes() if pattern is None else point.shared(pattern)
        found = point.expand(lambda x: f(x, *args, **kwargs), directions, 2, factors)
        last = map_leaves(lambda c: c * 2.0, found[2])
        return (found[0], point.jacobian(found[0], found[1]), last) if lower else last

    return of


def biharmonic(f: Function) -> Function:
    """Return a function that computes the Laplacian of the Laplacian of ``f``.

    It follows fourth derivatives along n^2 directions for n elements, in one pass.

    Parameters
    ----------
    f : callable
        As for ``laplacian``.

    Returns
    -------
    callable
        Takes what ``f`` takes, and returns what is like the value of ``f``.

    Raises
    ------
    ArgumentError, NoGradientError, LostGradientError
        When you call it: as for ``jet``.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> float(ag.biharmonic(lambda x: xp.sum(x * x) ** 2)(xp.asarray([1.0, 2.0]).data))
    64.0
    """
    callable_in("ag.biharmonic", f, "ag.biharmonic(f)(x)")

    @wraps(f)
    def of(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        point = Point("ag.biharmonic", x)
        axes = [tuple(int(i == k) for i in range(point.size)) for k in range(point.size)]
        coefficients: dict[tuple[int, ...], float] = {}
        for i, one in enumerate(axes):
            for other in axes[: i + 1]:
                index = tuple(2 * (a + b) for a, b in zip(one, other, strict=True))
                coefficients[index] = 1.0 if one is other else 2.0
        return point.operator(lambda x: f(x, *args, **kwargs), coefficients)

    return of


def linear_pde(f: Function, coefficients: Mapping[tuple[int, ...], float]) -> Function:
    """Return a function that applies a linear differential operator to ``f``.

    Parameters
    ----------
    f : callable
        As for ``laplacian``.
    coefficients : mapping
        The constant coefficient of each partial derivative, by how often it differentiates by each
        element of the argument: ``{(1, 0): 1.0, (0, 2): -0.5}`` is the operator of a heat equation
        for elements t and x, and ``(0, 0)`` stands for the value.

    Returns
    -------
    callable
        Takes what ``f`` takes, and returns what is like the value of ``f``.

    Raises
    ------
    ArgumentError
        If an index is not a tuple of integers from 0 on; when you call it, if an index does not
        have one for each element.
    NoGradientError, LostGradientError
        When you call it: as for ``jet``.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> def wave(p):
    ...     return xp.sin(p[1] - 2.0 * p[0])
    >>> operator = ag.linear_pde(wave, {(2, 0): 1.0, (0, 2): -4.0})
    >>> abs(float(operator(xp.asarray([0.3, 0.1]).data))) < 1e-12
    True
    """
    callable_in("ag.linear_pde", f, "ag.linear_pde(f, {(1, 0): 1.0})")
    if not isinstance(coefficients, Mapping):
        raise ArgumentError(
            "ag.linear_pde takes coefficients by multi-index, such as {(2, 0): 1.0, (0, 2): 1.0}"
        )
    for index in coefficients:
        if not isinstance(index, tuple) or not all(isinstance(k, int) and k >= 0 for k in index):
            raise ArgumentError(
                f"ag.linear_pde: {index!r} is not a tuple of how often to differentiate by each "
                "element, such as (2, 0)"
            )

    @wraps(f)
    def of(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        return Point("ag.linear_pde", x).operator(lambda x: f(x, *args, **kwargs), coefficients)

    return of


def divergence(f: Function) -> Function:
    """Return a function that computes the divergence of a vector field.

    This is the trace of the Jacobian: one push for each element, all at once.

    Parameters
    ----------
    f : callable
        A function whose value has the structure and shapes of its first argument, an array or a
        pytree of arrays.

    Returns
    -------
    callable
        Takes what ``f`` takes, and returns a 0-d array.

    Raises
    ------
    ArgumentError, NoGradientError
        When you call it: as for ``jet``, and if the value does not have the argument's shapes.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> float(ag.divergence(lambda x: x**2)(xp.asarray([1.0, 2.0]).data))
    6.0
    """
    callable_in("ag.divergence", f, "ag.divergence(f)(x)")

    @wraps(f)
    def of(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        point = Point("ag.divergence", x)

        def along(*v: Any) -> Any:
            _, tangent = ag.jvp(
                lambda *leaves: f(unflatten(point.tree, leaves), *args, **kwargs),
                tuple(point.leaves),
                v,
            )
            found, tree = flatten(tangent)
            if tree != point.tree or [c.shape for c in found] != [c.shape for c in v]:
                raise ArgumentError(
                    "ag.divergence: the value of the function does not have the shapes of its "
                    "argument"
                )
            xp = ag.namespace(found[0])
            return sum(xp.sum(a * b) for a, b in zip(found, v, strict=True))

        xp = ag.namespace(point.leaves[0])
        parts = ag.vmap(along)(*point.axes())
        return point.given_as(xp.sum(parts))

    return of


# -- conversions -----------------------------------------------------------------------------------


def derivatives_of(coefficients: Sequence[Any]) -> list[Any]:
    """Return derivatives of orders 1, 2, ... for Taylor coefficients of these orders."""
    return [_scaled(each, float(math.factorial(k))) for k, each in enumerate(coefficients, 1)]


def coefficients_of(derivatives: Sequence[Any]) -> list[Any]:
    """Return Taylor coefficients of orders 1, 2, ... for derivatives of these orders."""
    return [_scaled(each, 1.0 / math.factorial(k)) for k, each in enumerate(derivatives, 1)]


def _scaled(tree: Any, factor: float) -> Any:
    return map_leaves(lambda c: c * factor, tree)
