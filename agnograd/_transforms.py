"""Functions to functions: gradients, vector-Jacobian products, Jacobians, Hessians."""

from __future__ import annotations

import functools
from typing import Any

from agnograd._forward import Tape
from agnograd._jacobian import jacobian
from agnograd._namespace import domain_of
from agnograd._seeds import seed_of
from agnograd._trace import ArgNums, Function, Trace, outputs_of
from agnograd._trees import flatten, map_leaves, unflatten
from agnograd._variable import Variable
from agnograd.errors import GradientError, NoGradientError

__all__ = ["grad", "hessian", "hvp", "jvp", "stop_gradient", "value_and_grad", "vjp"]


def _scalar(value: Any, what: str) -> Variable:
    if not isinstance(value, Variable):
        value = domain_of(value).Variable._make(domain_of(value).to_raw(value), None)
    if value.shape != () or value._domain.is_complex(value.dtype):
        raise NoGradientError(
            f"{what} needs a function that returns a real 0-d array, not one of shape "
            f"{value.shape} and dtype {value.dtype}; use ag.jacobian or ag.vjp"
        )
    scalar: Variable = value
    return scalar


def value_and_grad(f: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the value of ``f`` and its gradient.

    Parameters
    ----------
    f : callable
        A function of arrays that returns a real 0-d array. It gets Variables.
    argnums : int or sequence of int
        The positions of the arguments to differentiate; each is an array or a pytree of arrays.
    has_aux : bool
        Whether ``f`` returns a pair, whose second element is passed on undifferentiated.

    Returns
    -------
    callable
        Takes what ``f`` takes, and returns ``(value, gradient)``, or ``((value, aux), gradient)``.
        The gradient has the structure of the argument, and each array in it the shape, dtype and
        device of the argument's; for a sequence ``argnums`` it is a tuple. Raw arrays in give raw
        arrays out, Variables in give Variables out, connected to what was tracked before. Inside
        of a function that is being transformed itself, results are always Variables.

    Raises
    ------
    NoGradientError
        If ``f`` does not return a real 0-d array.
    UnsupportedArrayError
        If an argument to differentiate is no array of floating-point or complex dtype.

    Examples
    --------
    >>> import agnograd as ag
    >>> value, gradient = ag.value_and_grad(lambda x: x**3)(2.0)
    >>> float(value), float(gradient)
    (8.0, 12.0)
    """

    @functools.wraps(f)
    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        trace = Trace(f, args, kwargs, argnums)
        value, aux = trace.result if has_aux else (trace.result, None)
        value = _scalar(value, "value_and_grad")
        gradients = trace.pull([value], [None], retain=False)
        gradient = gradients[0] if isinstance(argnums, int) else gradients
        return trace.out((value, aux) if has_aux else value), gradient

    return value_and_gradient


def grad(f: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    """Return a function that gives the gradient of ``f``.

    Parameters
    ----------
    f : callable
        A function of arrays that returns a real 0-d array. It gets Variables.
    argnums : int or sequence of int
        The positions of the arguments to differentiate; each is an array or a pytree of arrays.
    has_aux : bool
        Whether ``f`` returns a pair, whose second element is passed on undifferentiated.

    Returns
    -------
    callable
        Takes what ``f`` takes, and returns the gradient as ``value_and_grad`` does, or
        ``(gradient, aux)``.

    Raises
    ------
    NoGradientError, UnsupportedArrayError
        As ``value_and_grad``.

    Examples
    --------
    >>> import agnograd as ag
    >>> float(ag.grad(ag.grad(lambda x: x**3))(2.0))
    12.0
    """
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, g = both(*args, **kwargs)
        return (g, value[1]) if has_aux else g

    return gradient


def vjp(f: Function, *args: Any) -> tuple[Any, Function]:
    """Return the value of ``f`` at ``args``, and the pullback of cotangents.

    Parameters
    ----------
    f : callable
        A function of arrays that returns an array or a pytree of arrays. It gets Variables.
    *args
        Arrays or pytrees of arrays.

    Returns
    -------
    value : array or pytree
        ``f(*args)``.
    pullback : callable
        Takes a cotangent of the value's structure, shapes and dtypes, and returns a tuple: the
        gradient for each argument. It can be called many times.

    Raises
    ------
    GradientError
        By the pullback, if a cotangent does not fit the value.
    UnsupportedArrayError
        If an argument is no array of floating-point or complex dtype.

    Examples
    --------
    >>> import agnograd as ag
    >>> value, pullback = ag.vjp(lambda x, y: x * y, 2.0, 5.0)
    >>> [float(gradient) for gradient in pullback(1.0)]
    [5.0, 2.0]
    """
    trace = Trace(f, args, {}, tuple(range(len(args))))
    outputs, tree = outputs_of(trace.result)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        cotangents, given = flatten(cotangent)
        if given != tree:
            raise GradientError(
                f"a cotangent of structure {given} does not fit a value of structure {tree}; it "
                "must have the value's"
            )
        return trace.pull(outputs, cotangents, retain=True)

    return trace.out(trace.result), pullback


def jvp(f: Function, args: Any, tangents: Any) -> tuple[Any, Any]:
    """Return the value of ``f`` at ``args``, and its derivative along ``tangents``.

    Parameters
    ----------
    f : callable
        A function of arrays that returns an array or a pytree of arrays. It gets Variables.
    args : array or tuple
        Its arguments: arrays or pytrees of arrays.
    tangents : array or tuple
        As ``args``: the same structure, shapes and dtypes.

    Returns
    -------
    value : array or pytree
        ``f(*args)``.
    tangent : array or pytree
        The derivative, of the value's structure, shapes and dtypes.

    Raises
    ------
    GradientError
        If the tangents do not fit the arguments.

    Examples
    --------
    >>> import agnograd as ag
    >>> value, tangent = ag.jvp(lambda x: x**3, 2.0, 10.0)
    >>> float(value), float(tangent)
    (8.0, 120.0)
    """
    single = not isinstance(args, tuple)
    args, tangents = ((args,), (tangents,)) if single else (args, tuple(tangents))
    tape = Tape()
    trace = Trace(f, args, {}, tuple(range(len(args))), tape)
    leaves, tree = flatten(tangents)
    if tree != flatten(args)[1]:
        raise GradientError(
            f"tangents of structure {tree} do not fit arguments of structure {flatten(args)[1]}; "
            "they must have the arguments'"
        )
    inputs = [each for group in trace.inputs for each in group]
    given = [seed_of(each.variable, leaf) for each, leaf in zip(inputs, leaves, strict=True)]
    outputs, tree = outputs_of(trace.result)
    pushed = trace.push(tape, given, outputs)
    return trace.out(trace.result), unflatten(tree, pushed)


def hessian(f: Function, argnums: ArgNums = 0) -> Function:
    """Return a function that gives the second derivatives of ``f``.

    Parameters
    ----------
    f : callable
        A function of arrays that returns a real 0-d array. It gets Variables.
    argnums : int or sequence of int
        The positions of the arguments to differentiate.

    Returns
    -------
    callable
        Takes what ``f`` takes. For an argument of shape ``I`` it returns an array of shape
        ``I + I``; for pytrees and for a sequence ``argnums``, what ``jacobian`` of the gradient
        returns.

    Raises
    ------
    NoGradientError
        If ``f`` does not return a real 0-d array, or an argument is complex.

    Examples
    --------
    >>> import agnograd as ag
    >>> float(ag.hessian(lambda x: x**3)(2.0))
    12.0
    """
    return jacobian(grad(f, argnums), argnums)


def hvp(f: Function, args: Any, vectors: Any) -> Any:
    """Return the product of the Hessian of ``f`` with vectors, without forming the Hessian.

    Parameters
    ----------
    f : callable
        A function that returns a real 0-d array.
    args : array or tuple
        Its arguments.
    vectors : array or tuple
        As ``args``: the same structure, shapes and dtypes.

    Returns
    -------
    array or tuple
        As ``args``.

    Raises
    ------
    NoGradientError
        If ``f`` does not return a real 0-d array.
    GradientError
        If the vectors do not fit the arguments.

    Examples
    --------
    >>> import agnograd as ag
    >>> float(ag.hvp(lambda x: x**3, 2.0, 10.0))
    120.0
    """
    single = not isinstance(args, tuple)
    args = (args,) if single else args
    vectors = (vectors,) if single else tuple(vectors)
    gradient = grad(f, tuple(range(len(args))))
    # The Hessian is symmetric: the pullback of the gradient is its product.
    products = vjp(gradient, *args)[1](vectors)
    return products[0] if single else products


def stop_gradient(x: Any) -> Any:
    """Return the same values, cut from the graph: constants, whose gradient is nothing.

    Parameters
    ----------
    x : array or pytree
        What to cut off. Raw arrays, and what is no array, are returned as they are.

    Returns
    -------
    array or pytree
        The same structure and values, without a copy.

    Examples
    --------
    >>> import agnograd as ag
    >>> float(ag.grad(lambda x: x * ag.stop_gradient(x))(3.0))
    3.0
    """
    return map_leaves(lambda leaf: leaf.detach() if isinstance(leaf, Variable) else leaf, x)
