"""Derivatives against finite differences."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from agnograd._mode import no_grad
from agnograd._namespace import domain_of
from agnograd._transforms import vjp
from agnograd._trees import flatten, unflatten
from agnograd._trees import leaves as tree_leaves
from agnograd._trees import paths as tree_paths
from agnograd._variable import Variable
from agnograd.errors import UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._domain import Domain

__all__ = ["check_grad"]


def check_grad(
    f: Callable[..., Any],
    *args: Any,
    order: int = 2,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Compare derivatives with central differences, element by element.

    The output is contracted with fixed random cotangents, whose gradient is compared; for the
    second order, that gradient is contracted and differentiated again. Differences are taken by
    the five-point formula (Abramowitz and Stegun, 25.3.6), along the real and, for complex
    arrays, the imaginary axis.

    Parameters
    ----------
    f : callable
        A function of arrays that returns an array or a pytree of arrays. It gets Variables.
    *args
        Arrays or pytrees; those of floating-point or complex dtype are differentiated, all others
        are passed on. Derivatives must exist at, and around, their values.
    order : {1, 2}
        The highest order that is checked.
    rtol, atol : float, optional
        Tolerances, relative and absolute; by default 1e-6, and 2e-2 where the argument or an
        output is of single precision.

    Raises
    ------
    AssertionError
        If a derivative differs; the message names the order, argument, element and both values.
    """
    leaves, tree = flatten(args)
    paths = tree_paths(args)
    chosen = [index for index, leaf in enumerate(leaves) if _is_inexact(leaf)]
    if not chosen:
        raise UnsupportedArrayError("check_grad needs a floating-point or complex array")
    names = [_name(paths[index]) for index in chosen]
    values = [_raw(leaves[index]) for index in chosen]

    def function(*variables: Any) -> list[Any]:
        filled = list(leaves)
        for index, variable in zip(chosen, variables, strict=True):
            filled[index] = variable
        result = f(*unflatten(tree, filled))
        return [out for out in tree_leaves(result) if _is_inexact(out)]

    for level in range(1, order + 1):
        weights = _weights(function, values, seed=level)
        _compare(function, values, weights, names, level, rtol, atol)
        function = _gradient(function, weights)


def _gradient(function: Callable[..., Any], weights: list[Any]) -> Callable[..., Any]:
    def gradient(*variables: Any) -> list[Any]:
        return list(vjp(function, *variables)[1](weights))

    return gradient


def _is_inexact(leaf: Any) -> bool:
    if isinstance(leaf, bool | int | str | list | tuple):
        return False
    try:
        domain: Domain = domain_of(leaf)
    except UnsupportedArrayError:
        return False
    return domain.is_inexact(domain.to_raw(leaf).dtype)


def _raw(leaf: Any) -> Any:
    return domain_of(leaf).to_raw(leaf)


def _name(path: Sequence[Any]) -> str:
    return f"argument {path[0]}" + "".join(f"[{part!r}]" for part in path[1:])


def _evaluate(function: Callable[..., Any], values: Sequence[Any]) -> list[Any]:
    with no_grad():
        return [_raw(out) for out in function(*(_constant(value) for value in values))]


def _constant(value: Any) -> Variable:
    return Variable(value, requires_grad=False)


def _weights(function: Callable[..., Any], values: Sequence[Any], seed: int) -> list[Any]:
    """Return fixed cotangents of the function's outputs, away from zero."""
    rng = random.Random(seed)
    weights = []
    for out in _evaluate(function, values):
        domain: Domain = domain_of(out)
        count = domain.size(out) or 0
        drawn: list[Any] = [rng.uniform(0.5, 1.5) * rng.choice((-1, 1)) for _ in range(count)]
        if domain.is_complex(out.dtype):
            drawn = [complex(each, rng.uniform(0.5, 1.5)) for each in drawn]
        flat = domain.raw.asarray(drawn, dtype=out.dtype)
        weights.append(domain.raw.reshape(flat, out.shape))
    return weights


def _contracted(function: Callable[..., Any], values: Sequence[Any], weights: list[Any]) -> float:
    """Return the real part of the outputs' product with the conjugated weights, summed."""
    total = 0.0
    for out, weight in zip(_evaluate(function, values), weights, strict=True):
        domain: Domain = domain_of(out)
        product = domain.raw.conj(weight) * out if domain.is_complex(out.dtype) else weight * out
        number = complex(domain.item(domain.raw.sum(product)))
        total += number.real
    return total


def _compare(
    function: Callable[..., Any],
    values: list[Any],
    weights: list[Any],
    names: Sequence[str],
    level: int,
    rtol: float | None,
    atol: float | None,
) -> None:
    gradients = vjp(function, *values)[1](weights)
    for index, (value, gradient) in enumerate(zip(values, gradients, strict=True)):
        domain: Domain = domain_of(value)
        single = any(_is_single(each) for each in (value, *weights))
        default = 2e-2 if single else 1e-6
        relative = default if rtol is None else rtol
        absolute = default if atol is None else atol
        step = 3e-2 if single else 1e-3
        directions = (1.0, 1.0j) if domain.is_complex(value.dtype) else (1.0,)
        flat = domain.raw.reshape(gradient, (-1,))
        for element in range(domain.size(value) or 0):
            found = complex(domain.item(flat[element]))
            numeric = 0j
            for direction in directions:
                numeric += direction * _difference(
                    function, values, weights, index, element, step * direction
                )
            if not abs(found - numeric) <= absolute + relative * abs(numeric):
                place = _unraveled(element, value.shape)
                raise AssertionError(
                    f"order {level}, {names[index]}, element {place}: the derivative is "
                    f"{_plain(found)}, finite differences give {_plain(numeric)}"
                )


def _is_single(value: Any) -> bool:
    return any(name in str(value.dtype) for name in ("float32", "complex64"))


def _difference(
    function: Callable[..., Any],
    values: list[Any],
    weights: list[Any],
    index: int,
    element: int,
    step: complex,
) -> float:
    def at(multiple: int) -> float:
        moved = list(values)
        moved[index] = _moved(values[index], element, multiple * step)
        return _contracted(function, moved, weights)

    return (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / (12 * abs(step))


def _moved(value: Any, element: int, by: complex) -> Any:
    """Return a copy of an array with a number added to one element."""
    domain: Domain = domain_of(value)
    xp = domain.raw
    here = xp.reshape(xp.arange(domain.size(value)), value.shape) == element
    amount = by if domain.is_complex(value.dtype) else complex(by).real
    return value + xp.where(here, xp.full_like(value, amount), xp.zeros_like(value))


def _unraveled(element: int, shape: Sequence[int]) -> tuple[int, ...]:
    place: list[int] = []
    for length in reversed(shape):
        place.append(element % length)
        element //= length
    return tuple(reversed(place))


def _plain(number: complex) -> complex | float:
    return number.real if number.imag == 0 else number
