"""Derivatives by differences: a function of arrays, and how its outputs change with them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agnograd._arrays.domains import domain_of
from agnograd._arrays.variable import Variable
from agnograd._hooks.entering import no_grad
from agnograd._transforms.gradients import vjp
from agnograd._util.trees import flatten, unflatten
from agnograd._util.trees import leaves as tree_leaves
from agnograd._util.trees import paths as tree_paths
from agnograd.errors import UnsupportedArrayError
from agnograd.testing._samples import nested
from agnograd.testing.host import all_on_host, inner

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain

__all__ = [
    "Problem",
    "constant",
    "cotangents",
    "difference",
    "drawn",
    "gradient",
    "is_inexact",
]

Function = Callable[..., list[Any]]


class Problem:
    """A function of arrays, in terms of those that have a gradient.

    Called with Variables in the places of ``values``, it returns the outputs that have a gradient.

    Attributes
    ----------
    values : list of Variable
        The arrays of floating-point or complex dtype among the arguments, untracked.
    names : list of str
        What the arguments are called in messages.
    arguments : tuple
        The arguments of ``f``.
    """

    def __init__(self, f: Callable[..., Any], args: Sequence[Any]) -> None:
        self._f = f
        self.arguments = tuple(args)
        self._leaves, self._tree = flatten(tuple(args))
        paths = tree_paths(tuple(args))
        self._chosen = [index for index, leaf in enumerate(self._leaves) if is_inexact(leaf)]
        if not self._chosen:
            raise UnsupportedArrayError("check_grad needs a floating-point or complex array")
        self.names = [_name(paths[index]) for index in self._chosen]
        self.values = [constant(self._leaves[index]) for index in self._chosen]

    def __call__(self, *variables: Any) -> list[Any]:
        """Return the outputs that have a gradient."""
        filled = list(self._leaves)
        for index, variable in zip(self._chosen, variables, strict=True):
            filled[index] = variable
        result = self._f(*unflatten(self._tree, filled))
        return [out for out in tree_leaves(result) if is_inexact(out)]


def is_inexact(leaf: Any) -> bool:
    """Return whether a value is an array of floating-point or complex dtype."""
    if isinstance(leaf, bool | int | str | list | tuple):
        return False
    try:
        domain: Domain = domain_of(leaf)
    except UnsupportedArrayError:
        return False
    return domain.is_inexact(domain.to_raw(leaf).dtype)


def constant(leaf: Any) -> Variable:
    """Return an array, a Variable or a number as a Variable that is not tracked."""
    domain: Domain = domain_of(leaf)
    variable: Variable = domain.Variable._make(domain.to_raw(leaf), None)
    return variable


def _name(path: Sequence[Any]) -> str:
    return f"argument {path[0]}" + "".join(f"[{part!r}]" for part in path[1:])


def gradient(function: Function, weights: list[Variable]) -> Function:
    """Return the gradient of a function's outputs, contracted with cotangents, as a function."""

    def function_of(*variables: Any) -> list[Any]:
        return list(vjp(function, *variables)[1](weights))

    return function_of


def drawn(like: Variable, rng: random.Random) -> Variable:
    """Return an array of the shape and dtype of another one, of numbers away from zero."""
    domain = like._domain
    count = domain.size(like.data) or 0
    numbers: list[Any] = [rng.uniform(0.5, 1.5) * rng.choice((-1, 1)) for _ in range(count)]
    if domain.is_complex(like.dtype):
        numbers = [complex(each, rng.uniform(0.5, 1.5)) for each in numbers]
    shape, options = tuple(like.shape), {"dtype": like.dtype, "device": domain.device(like.data)}
    library: Any = domain.library
    array = (
        library.asarray(nested(numbers, shape), **options)
        if count
        else library.zeros(shape, **options)
    )
    made: Variable = domain.Variable._make(array, None)
    return made


def cotangents(outputs: Sequence[Any], seed: int) -> list[Variable]:
    """Return fixed cotangents of a function's outputs."""
    rng = random.Random(seed)
    return [drawn(constant(out), rng) for out in outputs]


def difference(
    function: Function,
    weights: list[Variable],
    at: Callable[[int], Sequence[Variable]],
    step: float,
) -> float:
    """Return the derivative of the contracted outputs along a line, by the five-point formula.

    The formula is Abramowitz and Stegun's 25.3.6.

    Parameters
    ----------
    function : callable
        A function of Variables that returns a list of outputs.
    weights : list of Variable
        What the outputs are contracted with.
    at : callable
        ``at(k)`` gives the inputs k steps along the line.
    step : float
        The length of a step.
    """
    total, ones = 0.0, all_on_host(weights)
    for multiple, factor in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
        with no_grad():
            outputs = [constant(out) for out in function(*at(multiple))]
        total += factor * inner(ones, all_on_host(outputs))
    return total / (12 * step)
