"""Gradients of functions that return more than a real number: element by element, holomorphic."""

from __future__ import annotations

import functools
from typing import Any

from agnograd._arrays.variable import Variable
from agnograd._transforms.gradients import scalar_of
from agnograd._transforms.trace import ArgNums, Function, Trace, outputs_of
from agnograd._util.checks import argnums_in, callable_in
from agnograd._util.remaking import remade
from agnograd.errors import NoGradientError, UnsupportedArrayError


@remade
def elementwise_grad(f: Function, argnums: ArgNums = 0) -> Function:
    """Return a function that computes the derivative of an element-wise function, in one pass.

    It is the gradient of the sum of all elements that ``f`` returns. If each element of the result
    depends only on the element of the argument at its place, this is the derivative of ``f`` at
    each element. Otherwise each element is the sum of a column of the Jacobian: for an argument
    that is broadcast, the sum over all places to which its element goes.

    Parameters
    ----------
    f : callable
        A function of arrays that returns a real array, or a pytree of them. It gets Variables.
    argnums : int or sequence of int
        As for ``grad``.

    Returns
    -------
    callable
        Takes what ``f`` takes. The gradient has the form that ``grad`` gives it: the structure of
        the argument, and the shapes, dtypes and devices of its arrays.

    Raises
    ------
    NoGradientError
        If ``f`` returns integers, or complex numbers, which have a ``holomorphic_grad``.
    UnsupportedArrayError
        If an argument to differentiate is not an array of floating-point or complex dtype.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> ag.elementwise_grad(lambda x: x**3)(xp.asarray([1.0, 2.0]).data).tolist()
    [3.0, 12.0]
    """
    what = "ag.elementwise_grad"
    callable_in(what, f, f"{what}(f)(x), where f(x) is computed element by element")
    positions = argnums_in(what, argnums)

    @functools.wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        trace = Trace(f, args, kwargs, positions)
        outputs, _ = outputs_of(trace, what)
        for output in outputs:
            if output._domain.is_complex(output.dtype):
                raise NoGradientError(
                    f"{what} needs a function that returns real arrays, not {output.dtype}: use "
                    "ag.holomorphic_grad, or let the function return a real or imaginary part"
                )
        return trace.arranged(trace.pull(outputs, list(map(_ones, outputs)), retain=False))

    return differentiated


@remade
def holomorphic_grad(f: Function, argnums: ArgNums = 0) -> Function:
    """Return a function that computes the complex derivative of a holomorphic function.

    This is f'(z), the limit of (f(z + h) - f(z)) / h. ``grad`` has another convention, dL/da +
    i dL/db at z = a + ib for a real L, and is therefore the conjugate of the complex derivative
    where L is the real part of a holomorphic function. Whether ``f`` is holomorphic is not checked:
    if it is not, as with ``conj``, ``abs`` or ``real``, the result is the conjugate of the gradient
    of its real part, which is not a derivative of ``f``.

    Parameters
    ----------
    f : callable
        A function of arrays that returns a complex 0-d array. It gets Variables.
    argnums : int or sequence of int
        The positions of the arguments to differentiate, each a complex array or a pytree of them.

    Returns
    -------
    callable
        Takes what ``f`` takes. The derivative has the form that ``grad`` gives the gradient: the
        structure of the argument, and the shapes, dtypes and devices of its arrays.

    Raises
    ------
    NoGradientError
        If ``f`` does not return a complex 0-d array.
    UnsupportedArrayError
        If an argument to differentiate is not an array of complex dtype.

    Examples
    --------
    >>> import agnograd as ag
    >>> complex(ag.holomorphic_grad(lambda z: z**3)(1 + 2j))
    (-9+12j)
    """
    what = "ag.holomorphic_grad"
    callable_in(what, f, f"{what}(f)(z), where f(z) returns a complex 0-d array")
    positions = argnums_in(what, argnums)

    @functools.wraps(f)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        trace = Trace(f, args, kwargs, positions)
        for x in trace.inputs:
            if not x._domain.is_complex(x.dtype):
                raise UnsupportedArrayError(
                    f"{what} needs complex arguments to differentiate, not {x.dtype}: convert them "
                    "to a complex dtype, or use ag.grad of a real function"
                )
        trace.connect([trace.result])
        instead = "ag.vmap for each of several elements, and ag.grad for a real function"
        output = scalar_of(trace.result, what, trace.inputs, "complex", instead)
        gradients = trace.pull([output], [_ones(output)], retain=False)
        # For the cotangent 1, the pass returns conj(f'(z)): see the convention of ``grad``.
        pairs = zip(trace.inputs, gradients, strict=True)
        return trace.arranged([_conjugate(x, g) for x, g in pairs])

    return differentiated


def _ones(output: Variable) -> Any:
    return output._domain.raw.ones_like(output._domain.backend.array(output._raw))


def _conjugate(x: Variable, g: Any) -> Any:
    domain = x._domain
    if isinstance(g, Variable):
        return domain.namespace.conj(g)
    return domain.backend.array(domain.raw.conj(g))  # some libraries return a scalar
