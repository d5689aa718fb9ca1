"""Products with Gauss-Newton matrices, which are never formed."""

from __future__ import annotations

from typing import Any

from agnograd._arrays.variable import Variable
from agnograd._transforms.gradients import grad, vjp
from agnograd._transforms.passes import tangent_of
from agnograd._transforms.pushforward import Pushforward
from agnograd._transforms.trace import Function, Trace, outputs_of
from agnograd._util.checks import callable_in
from agnograd._util.trees import flatten, unflatten
from agnograd.errors import GradientError


def gnvp(f: Function, *args: Any, loss: Function | None = None) -> tuple[Any, Function]:
    """Return the value of ``f`` at ``args``, and the product of its Gauss-Newton matrix.

    The matrix is Jᵀ H J, with the Jacobian J of ``f`` and the Hessian H of ``loss`` at the value.
    It is what remains of the Hessian of ``loss(f(x))`` without the second derivatives of ``f``, and
    is positive semidefinite if ``loss`` is convex (Schraudolph, "Fast curvature matrix-vector
    products for second-order gradient descent", 2002). No matrix is formed: a product is a push
    of tangents, a pass through the gradient of ``loss``, and a pass back. ``f`` and ``loss`` run
    once, so the product suits solvers that call it often, such as conjugate gradients.

    Parameters
    ----------
    f : callable
        A function of arrays that returns an array or a pytree of arrays, such as residuals. It gets
        Variables.
    *args
        Arrays or pytrees of arrays.
    loss : callable, optional
        A function of the value of ``f`` that returns a real 0-d array. By default half the sum of
        squares, whose Hessian is the identity: then the matrix is Jᵀ J.

    Returns
    -------
    value : array or pytree
        ``f(*args)``.
    product : callable
        Takes vectors with the structure, shapes and dtypes of ``args``, and returns a tuple with
        the product for each argument. You can call it many times. It is linear, and differentiable:
        if you pass Variables you get Variables, even if ``args`` are raw.

    Raises
    ------
    NoGradientError, UnsupportedArrayError
        As for ``vjp``; also if ``loss`` does not return a real 0-d array.
    GradientError
        When you call the product, if the vectors do not fit the arguments.

    Examples
    --------
    >>> import agnograd as ag
    >>> value, product = ag.gnvp(lambda x: x**2, 3.0)
    >>> float(product(1.0)[0])  # the square of 2 x
    36.0
    """
    callable_in("ag.gnvp", f, "ag.gnvp(f, x), with the arguments of f after it")
    if loss is not None:
        callable_in("ag.gnvp: loss", loss, "ag.gnvp(f, x, loss=lambda y: xp.sum(y**2) / 2)")
    trace = Trace(f, args, {}, tuple(range(len(args))), True)
    structure = flatten(args)[1]
    outputs, tree = outputs_of(trace, "ag.gnvp")
    push, value = Pushforward(trace, outputs), trace.out(trace.result)
    curvature = None if loss is None else vjp(grad(loss), value)[1]
    trace.result = None  # what it was computed from is not needed again

    def product(*vectors: Any) -> tuple[Any, ...]:
        leaves, found = flatten(vectors)
        if found != structure:
            raise GradientError(
                f"vectors of structure {found} do not fit arguments of structure {structure}"
            )
        as_variables = any(isinstance(leaf, Variable) for leaf in leaves)
        along = push(list(map(tangent_of, trace.inputs, leaves)), as_variables)
        if curvature is not None:  # a Hessian is symmetric: its pullback is its product
            along = flatten(curvature(unflatten(tree, along))[0])[0]
        return trace.arranged(trace.pull(outputs, along, retain=True))

    return value, product
