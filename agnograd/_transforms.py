"""Functions to functions: gradients, vector-Jacobian products, Jacobians, Hessians."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from agnograd._domain import Domain
from agnograd._engine import run_pass
from agnograd._fit import is_python_scalar
from agnograd._graph import Edge, Leaf
from agnograd._mode import enable_grad, is_grad_enabled
from agnograd._namespace import domain_of
from agnograd._trees import flatten, leaves, map_leaves, unflatten
from agnograd._variable import Variable
from agnograd.autodiff import Owner, seed
from agnograd.errors import GradientError, NoGradientError, UnsupportedArrayError

__all__ = ["grad", "hessian", "hvp", "jacobian", "stop_gradient", "value_and_grad", "vjp"]

Function = Callable[..., Any]
ArgNums = int | Sequence[int]

# Inside of a transformed function everything is a Variable: what a nested transformation of raw
# arrays returns may depend on the outer one's arguments, and must stay connected to them.
_inside: ContextVar[bool] = ContextVar("agnograd_inside", default=False)


class Trace:
    """One run of a function: its differentiated inputs, its result, and the way back.

    Parameters
    ----------
    f : callable
        The function.
    args, kwargs
        Its arguments, pytrees of arrays and anything else.
    argnums : int or sequence of int
        The positions of the arguments to differentiate.
    """

    def __init__(
        self, f: Function, args: tuple[Any, ...], kwargs: dict[str, Any], argnums: ArgNums
    ) -> None:
        positions = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        self.positions = tuple(_position(each, len(args)) for each in positions)
        self.connected = _inside.get() or any(
            isinstance(leaf, Variable) for leaf in leaves((args, kwargs))
        )
        # Under no_grad a connected result has nothing to be connected to.
        self.create_graph = self.connected and is_grad_enabled()
        lifted = list(args)
        self.inputs: list[list[Variable]] = []
        self.trees: list[Any] = []
        for position in range(len(args)):
            if position not in self.positions:
                lifted[position] = map_leaves(_constant, args[position])
        for position in self.positions:
            found, tree = flatten(args[position])
            variables = [_differentiated(leaf, position) for leaf in found]
            lifted[position] = unflatten(tree, variables)
            self.inputs.append(variables)
            self.trees.append(tree)
        token = _inside.set(True)
        try:
            with enable_grad():
                self.result = f(*lifted, **map_leaves(_constant, kwargs))
        finally:
            _inside.reset(token)

    def pull(
        self, outputs: Sequence[Variable], cotangents: Sequence[Any], retain: bool
    ) -> tuple[Any, ...]:
        """Return the gradients for each differentiated argument, in its own structure."""
        seeds: list[tuple[Edge, Any]] = []
        for output, cotangent in zip(outputs, cotangents, strict=True):
            g = seed(output, cotangent)
            if output._node is not None:
                seeds.append((output._node, g if self.create_graph else g._data))
        targets = {v._node for variables in self.inputs for v in variables if v._node is not None}
        with enable_grad():
            found = run_pass(
                seeds,
                targets=targets,
                create_graph=self.create_graph,
                retain_graph=retain or self.create_graph,
            )
        owner = Owner(seeds)
        return tuple(
            unflatten(tree, [self._gradient(found, variable, owner) for variable in variables])
            for tree, variables in zip(self.trees, self.inputs, strict=True)
        )

    def _gradient(self, found: dict[Edge, Any], variable: Variable, owner: Owner) -> Any:
        domain = variable._domain
        g = found.get(variable._node)  # type: ignore[arg-type]
        if g is None:
            g = domain.raw.zeros_like(domain.backend.array(variable._data))
        if self.connected:
            return owner.variable(g, domain)
        return owner.raw(g, domain)

    def out(self, value: Any) -> Any:
        """Return results as the caller gave the arguments: raw arrays or Variables."""
        if self.connected:
            keep = self.create_graph
            return map_leaves(
                lambda v: v if keep or not isinstance(v, Variable) else v.detach(), value
            )
        return map_leaves(lambda v: v.data if isinstance(v, Variable) else v, value)


def _position(argnum: int, count: int) -> int:
    if not -count <= argnum < count:
        raise IndexError(f"argnums names argument {argnum}, but {count} positional ones were given")
    return argnum % count


def _differentiated(leaf: Any, position: int) -> Variable:
    """Return a Variable of its own for an input: its gradient is that of this place alone."""
    domain: Domain = domain_of(leaf)
    if isinstance(leaf, Variable):
        leaf._refresh()
        data, tracked = leaf._data, leaf._node is not None and is_grad_enabled()
    else:
        data, tracked = domain.to_raw(leaf), False
    if data.dtype not in domain.inexact_dtypes:
        raise UnsupportedArrayError(
            f"argument {position} has dtype {data.dtype}, and no gradient: differentiate with "
            "respect to floating-point or complex arrays (see argnums), or convert it first"
        )
    if tracked:
        variable: Variable = domain.namespace.astype(leaf, leaf.dtype, copy=False)
        return variable
    variable = domain.Variable._make(data, None)
    variable._node = Leaf(variable)
    return variable


def _constant(leaf: Any) -> Any:
    """Return an array among the other arguments as a Variable; all else as it is."""
    if is_python_scalar(leaf) or isinstance(leaf, Variable | str | list | tuple):
        return leaf
    try:
        domain: Domain = domain_of(leaf)
    except UnsupportedArrayError:
        return leaf
    return domain.Variable._make(domain.to_raw(leaf), None)


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
        arrays out, Variables in give Variables out, connected if they were tracked.

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
    """Return a function that gives the gradient of ``f``; see ``value_and_grad``.

    With ``has_aux`` it returns ``(gradient, aux)``.

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
    value
        ``f(*args)``.
    pullback : callable
        Takes a cotangent of the value's structure, shapes and dtypes, and returns a tuple: the
        gradient for each argument. It can be called many times.
    """
    trace = Trace(f, args, {}, tuple(range(len(args))))
    outputs, tree = _outputs(trace.result)

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        cotangents, given = flatten(cotangent)
        if given != tree:
            raise GradientError(f"a cotangent of structure {given} does not fit a value of {tree}")
        return trace.pull(outputs, cotangents, retain=True)

    return trace.out(trace.result), pullback


def _outputs(result: Any) -> tuple[list[Variable], Any]:
    found, tree = flatten(result)
    outputs = []
    for leaf in found:
        if not isinstance(leaf, Variable):
            domain: Domain = domain_of(leaf)
            leaf = domain.Variable._make(domain.to_raw(leaf), None)
        leaf._refresh()
        outputs.append(leaf)
    return outputs, tree


def jacobian(f: Function, argnums: ArgNums = 0) -> Function:
    """Return a function that gives the Jacobian of ``f``, by one pass for each output element.

    Parameters
    ----------
    f : callable
        A function of arrays that returns a real array or a pytree of real arrays.
    argnums : int or sequence of int
        The positions of the arguments to differentiate.

    Returns
    -------
    callable
        Takes what ``f`` takes. For an output of shape ``O`` and an argument of shape ``I`` it
        returns an array of shape ``O + I``; for pytrees, the structure of the output and, inside
        of it, that of the argument; for a sequence ``argnums``, tuples of them.

    Raises
    ------
    NoGradientError
        If an output is complex: its derivative is not one array; use ``vjp``.
    """

    @functools.wraps(f)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        trace = Trace(f, args, kwargs, argnums)
        outputs, tree = _outputs(trace.result)
        blocks = []
        for output in outputs:
            block = _rows(trace, output)
            blocks.append(block[0] if isinstance(argnums, int) else block)
        return unflatten(tree, blocks)

    return jacobian_of


def _rows(trace: Trace, output: Variable) -> tuple[Any, ...]:
    """Return the derivative of one output array, for each differentiated argument."""
    domain = output._domain
    if domain.is_complex(output.dtype):
        raise NoGradientError("a complex output has no Jacobian of one array; use ag.vjp")
    raw = domain.raw
    size = output.size or 0
    unit = raw.eye(size, dtype=output.dtype, device=output.device)
    rows = [
        trace.pull([output], [raw.reshape(unit[i, ...], output.shape)], retain=True)
        for i in range(size)
    ]

    def stacked(like: Any, *parts: Any) -> Any:
        xp = domain.namespace if isinstance(like, Variable) else raw
        shape = (*output.shape, *like.shape)
        if not parts:
            return xp.zeros(shape, dtype=like.dtype)
        return xp.reshape(xp.stack(parts), shape)

    likes = tuple(
        unflatten(tree, [v if trace.connected else v.data for v in variables])
        for tree, variables in zip(trace.trees, trace.inputs, strict=True)
    )
    with enable_grad():
        return tuple(
            map_leaves(stacked, like, *(row[i] for row in rows)) for i, like in enumerate(likes)
        )


def hessian(f: Function, argnums: ArgNums = 0) -> Function:
    """Return a function that gives the second derivatives of ``f``, which returns a scalar.

    For an argument of shape ``I`` they are an array of shape ``I + I``; see ``jacobian``.
    """
    return jacobian(grad(f, argnums), argnums)


def hvp(f: Function, args: Any, vectors: Any) -> Any:
    """Return the product of the Hessian of ``f`` with vectors, without forming the Hessian.

    Parameters
    ----------
    f : callable
        A function that returns a real 0-d array.
    args : tuple, or one array
        Its arguments.
    vectors : tuple, or one array
        As ``args``: the same structure, shapes and dtypes.

    Returns
    -------
    tuple, or one array
        As ``args``.
    """
    single = not isinstance(args, tuple)
    args = (args,) if single else args
    vectors = (vectors,) if single else tuple(vectors)
    gradient = grad(f, tuple(range(len(args))))
    # The Hessian is symmetric: the pullback of the gradient is its product.
    products = vjp(gradient, *args)[1](vectors)
    return products[0] if single else products


def stop_gradient(x: Any) -> Any:
    """Return the same values, cut from the graph: an array, or a pytree of arrays."""
    return map_leaves(lambda leaf: leaf.detach() if isinstance(leaf, Variable) else leaf, x)
