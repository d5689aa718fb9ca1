"""Functions to functions: gradients, and products with matrices of derivatives."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NoReturn, Self

from agnograd._arrays.levels import untracked
from agnograd._arrays.variable import Variable
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backends import is_array
from agnograd._transforms.jacobian import blocks
from agnograd._transforms.passes import tangent_of
from agnograd._transforms.pushforward import Pushforward
from agnograd._transforms.trace import ArgNums, Function, Trace, as_outputs, outputs_of
from agnograd._util.checks import argnums_in, callable_in, flag_in, pair_from, tuple_in
from agnograd._util.deferred import later
from agnograd._util.remaking import remade
from agnograd._util.trees import flatten, leaves, map_leaves, unflatten
from agnograd.errors import GradientError, NoGradientError


def _real_scalar(value: Any, what: str, inputs: Sequence[Variable]) -> Variable:
    """Return what a function returned as a Variable; it has to be a real number."""
    if isinstance(value, Variable):
        domain, raw = value._domain, value._raw
        if type(raw) is domain.number_type or (raw.shape == () and raw.dtype in domain.real_dtypes):
            return value
    return scalar_of(value, what, inputs, "real", "ag.jacobian or ag.vjp, which take any result")


def scalar_of(
    value: Any, what: str, inputs: Sequence[Variable], kind: str, instead: str
) -> Variable:
    """Return what a function returned as a Variable; it has to be a real or a complex number."""
    needs = f"{what} needs a function that returns a {kind} 0-d array, not"
    if not (is_python_scalar(value) or is_array(value)):
        raise NoGradientError(
            f"{needs} an object of type {type(value).__qualname__}: return one array, such as a "
            f"sum, or use {instead}"
        )
    (scalar,) = as_outputs([value], what, inputs)
    if scalar.shape != () or scalar._domain.is_complex(scalar.dtype) is not (kind == "complex"):
        raise NoGradientError(
            f"{needs} one of shape {scalar.shape} and dtype {scalar.dtype}: use {instead}"
        )
    return scalar


def _leaves_like(given: Any, tree: Any, what: str, of: str) -> list[Any]:
    leaves, found = flatten(given)
    if found != tree:
        raise GradientError(f"{what} of structure {found} do not fit {of} of structure {tree}")
    return leaves


@remade
def value_and_grad(f: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    """Return a function that computes the value of ``f`` and its gradient.

    Parameters
    ----------
    f : callable
        A function of arrays that returns a real 0-d array. It gets Variables.
    argnums : int or sequence of int
        The positions of the arguments to differentiate, each an array or a pytree of arrays.
    has_aux : bool
        Whether ``f`` returns a pair. Its second element is then returned undifferentiated.

    Returns
    -------
    callable
        Takes what ``f`` takes, and returns ``(value, gradient)``, or ``((value, aux), gradient)``.
        The gradient has the structure of the argument, and the shapes, dtypes and devices of its
        arrays. If ``argnums`` is a sequence, it is a tuple. If you pass raw arrays, you get raw
        arrays. If you pass Variables, or if a result depends on a tracked array that ``f`` closes
        over, you get Variables that are connected to what was tracked before. Inside a function
        that is itself being transformed, results are always Variables.

    Raises
    ------
    NoGradientError
        If ``f`` does not return a real 0-d array of floating-point dtype.
    UnsupportedArrayError
        If an argument to differentiate is not an array of floating-point or complex dtype.
    ArgumentError
        If ``f`` is not a function, or does not return a pair although ``has_aux`` is set.

    Examples
    --------
    >>> import agnograd as ag
    >>> value, gradient = ag.value_and_grad(lambda x: x**3)(2.0)
    >>> float(value), float(gradient)
    (8.0, 12.0)
    """
    return _gradient_of("value_and_grad", f, argnums, has_aux, with_value=True)


def _gradient_of(
    name: str, f: Function, argnums: ArgNums, has_aux: bool = False, with_value: bool = False
) -> Function:
    what = f"ag.{name}"
    callable_in(what, f, f"{what}(f)(x), where f(x) returns a real 0-d array")
    positions, with_aux = argnums_in(what, argnums), flag_in(f"{what}: has_aux", has_aux)

    @functools.wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        trace = Trace(f, args, kwargs, positions)
        value, aux = pair_from(what, trace.result) if with_aux else (trace.result, None)
        if with_aux:
            trace.connect(leaves(trace.result))
        scalar = _real_scalar(value, what, trace.inputs)
        gradient = trace.arranged(trace.pull_one(scalar))
        if with_value:  # of its own: the function may have kept its result, and write to it
            scalar = scalar._domain.Variable._make(scalar._raw, scalar._node)
            return trace.out((scalar, aux) if with_aux else scalar), gradient
        return (gradient, trace.out(aux)) if with_aux else gradient

    return differentiated


@remade
def grad(f: Function, argnums: ArgNums = 0, has_aux: bool = False) -> Function:
    """Return a function that computes the gradient of ``f``.

    Parameters, errors, and the form of the gradient are as for ``value_and_grad``.

    Returns
    -------
    callable
        Takes what ``f`` takes, and returns the gradient, or ``(gradient, aux)``.

    Examples
    --------
    >>> import agnograd as ag
    >>> float(ag.grad(ag.grad(lambda x: x**3))(2.0))
    12.0
    """
    return _gradient_of("grad", f, argnums, has_aux)


class OfOneRun(functools.partial[Any]):  # it is called without a call of Python's
    """A linear function of what one run has recorded: what ``vjp`` and ``linearize`` return.

    A copy is the same object, as of a function.
    """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "what ag.vjp and ag.linearize return needs the values of a run, which are in this "
            "process, and cannot be pickled: call ag.vjp(f, ...) or ag.linearize(f, ...) there"
        )


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
        Takes a cotangent with the value's structure, shapes and dtypes, and returns a tuple with
        the gradient for each argument. You can call it many times. It is differentiable: if you
        pass Variables you get Variables, even if ``args`` are raw. If at least one result has a
        floating-point or complex dtype, the cotangents of other results are ignored.

    Raises
    ------
    NoGradientError
        If no result of ``f`` has a floating-point or complex dtype.
    GradientError
        When you call the pullback, if a cotangent does not fit the value.
    UnsupportedArrayError
        If an argument is not an array of floating-point or complex dtype.

    Examples
    --------
    >>> import agnograd as ag
    >>> value, pullback = ag.vjp(lambda x, y: x * y, 2.0, 5.0)
    >>> [float(gradient) for gradient in pullback(1.0)]
    [5.0, 2.0]
    """
    callable_in("ag.vjp", f, "ag.vjp(f, x), with the arguments of f after it")
    trace = Trace(f, args, {}, tuple(range(len(args))))
    outputs, tree = outputs_of(trace, "ag.vjp")

    def pullback(cotangent: Any) -> Any:
        cotangents = _leaves_like(cotangent, tree, "cotangents", "a value")
        return trace.arranged(trace.pull(outputs, cotangents, retain=True))

    return trace.out(trace.result), OfOneRun(pullback)


def linearize(f: Function, *args: Any) -> tuple[Any, Function]:
    """Return the value of ``f`` at ``args``, and the pushforward of tangents.

    ``f`` runs once. What every push needs is recorded then, and is used again, so that a push costs
    about as much as a pass. For one tangent ``jvp`` is cheaper.

    Parameters
    ----------
    f : callable
        As for ``vjp``.
    *args
        Arrays or pytrees of arrays.

    Returns
    -------
    value : array or pytree
        ``f(*args)``.
    push : callable
        Takes tangents with the structure, shapes and dtypes of ``args``, and returns the tangent of
        the value, as ``jvp`` does. You can call it many times. It is linear, and differentiable: if
        you pass Variables you get Variables, even if ``args`` are raw.

    Raises
    ------
    NoGradientError, UnsupportedArrayError
        As for ``vjp``.
    GradientError
        When you call the pushforward, if the tangents do not fit the arguments.

    Examples
    --------
    >>> import agnograd as ag
    >>> value, push = ag.linearize(lambda x, y: x * y, 2.0, 5.0)
    >>> float(push(1.0, 0.0)), float(push(0.0, 1.0))
    (5.0, 2.0)
    """
    callable_in("ag.linearize", f, "ag.linearize(f, x), with the arguments of f after it")
    _, _, value, push = _linearized(f, args, "ag.linearize", "tangents")
    return value, OfOneRun(push)


def _linearized(
    f: Function, args: tuple[Any, ...], what: str, name: str
) -> tuple[Trace, list[Variable], Any, Function]:
    """Return a run of a function, its results, its value, and what pushes tangents, by a name."""
    trace = Trace(f, args, {}, tuple(range(len(args))), True)
    structure = flatten(args)[1]
    outputs, tree = outputs_of(trace, what)
    value, pushforward = trace.out(trace.result), Pushforward(trace, outputs)
    trace.result = None  # what it was computed from is not needed again

    def push(*tangents: Any) -> Any:
        leaves = _leaves_like(tangents, structure, name, "arguments")
        given = list(map(tangent_of, trace.inputs, leaves))
        as_variables = any(isinstance(leaf, Variable) for leaf in leaves)
        return unflatten(tree, pushforward(given, as_variables))

    return trace, outputs, value, push


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
    trace, outputs, value, push = _linearized(f, args, "ag.gnvp", "vectors")
    curvature = None if loss is None else vjp(grad(loss), value)[1]

    def product(*vectors: Any) -> Any:
        along = push(*vectors)
        if curvature is not None:  # a Hessian is symmetric: its pullback is its product
            (along,) = curvature(along)
        return trace.arranged(trace.pull(outputs, flatten(along)[0], retain=True))

    return value, product


def jvp(f: Function, args: Any, tangents: Any) -> tuple[Any, Any]:
    """Return the value of ``f`` at ``args``, and its derivative along ``tangents``.

    A tangent goes along with each value, and no graph is kept. If ``f`` itself runs a backward pass
    through values that depend on ``args``, or one that adds to the ``grad`` of arrays outside, it
    is stopped there and called again, and all of it is recorded. No gradient is added twice, but
    all else that ``f`` does before this pass happens twice, such as draws of random numbers. Use
    ``grad`` or ``vjp`` in ``f`` to avoid this, or ``linearize``, which calls ``f`` only once.

    Parameters
    ----------
    f : callable
        As for ``vjp``.
    args : array or tuple
        The arguments of ``f``: arrays or pytrees of arrays.
    tangents : array or tuple
        The same structure, shapes and dtypes as ``args``.

    Returns
    -------
    value : array or pytree
        ``f(*args)``.
    tangent : array or pytree
        The derivative, with the value's structure, shapes and dtypes. If at least one result has a
        floating-point or complex dtype, the tangents of other results are zeros.

    Raises
    ------
    NoGradientError, UnsupportedArrayError
        As for ``vjp``.
    GradientError
        If the tangents do not fit the arguments.

    Examples
    --------
    >>> import agnograd as ag
    >>> value, tangent = ag.jvp(lambda x: x**3, 2.0, 10.0)
    >>> float(value), float(tangent)
    (8.0, 120.0)
    """
    callable_in("ag.jvp", f, "ag.jvp(f, x, tangent), or ag.jvp(f, (x, y), (tangent, other))")
    args, tangents = tuple_in("ag.jvp", args, tangents, "tangents")
    leaves = _leaves_like(tangents, flatten(args)[1], "tangents", "arguments")
    run = later("agnograd._transforms.duals", "run_with_tangents")  # few programs need it
    trace, push = run(f, args, leaves)
    outputs, tree = outputs_of(trace, "ag.jvp")
    return trace.out(trace.result), unflatten(tree, push(outputs))


@remade
def hessian(f: Function, argnums: ArgNums = 0) -> Function:
    """Return a function that computes the second derivatives of ``f``.

    Parameters are as for ``value_and_grad``.

    Returns
    -------
    callable
        Takes what ``f`` takes. For an argument of shape ``I`` it returns an array of shape
        ``I + I``. For pytrees, or if ``argnums`` is a sequence, it returns what ``jacobian`` of the
        gradient returns.

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
    # Symmetric: either direction takes as many passes, and those of a kind cost the same.
    gradient, positions = _gradient_of("hessian", f, argnums), argnums_in("ag.hessian", argnums)
    return blocks(gradient, positions, "auto")


def hvp(f: Function, args: Any, vectors: Any) -> Any:
    """Return the product of the Hessian of ``f`` with vectors, without forming the Hessian.

    Parameters
    ----------
    f : callable
        A function that returns a real 0-d array.
    args, vectors : array or tuple
        The arguments of ``f``, and vectors of the same structure, shapes and dtypes.

    Returns
    -------
    array or tuple
        The product, with the structure, shapes and dtypes of ``args``.

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
    args, vectors = tuple_in("ag.hvp", args, vectors, "vectors")
    # The Hessian is symmetric: the pullback of the gradient is its product.
    products = vjp(_gradient_of("hvp", f, tuple(range(len(args)))), *args)[1](vectors)
    return products[0] if single else products


def stop_gradient(x: Any) -> Any:
    """Return the same values, cut off from the graph: constants without a gradient.

    Parameters
    ----------
    x : array or pytree
        What to cut off. Raw arrays, and anything that is not an array, are returned unchanged.

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
    return map_leaves(
        lambda leaf: leaf.detach() if isinstance(leaf, Variable) else untracked(leaf), x
    )
