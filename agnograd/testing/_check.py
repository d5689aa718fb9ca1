"""Compare derivatives with finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from agnograd._arrays.variable import Variable
from agnograd._transforms.gradients import vjp
from agnograd._util.checks import callable_in, number_in
from agnograd.errors import ArgumentError, NoGradientError
from agnograd.testing.differences import Problem, cotangents, difference, gradient
from agnograd.testing.host import bits_of

__all__ = ["check_grad"]


def check_grad(
    f: Callable[..., Any],
    *args: Any,
    order: int = 2,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Compare derivatives with central differences, element by element.

    The output is contracted with fixed random cotangents, and the gradient of the result is
    compared. For the second order, that gradient is contracted and differentiated again.
    Differences use the five-point formula (Abramowitz and Stegun, 25.3.6), along the real axis and,
    for complex arrays, also along the imaginary axis.

    Parameters
    ----------
    f : callable
        A function of arrays that returns an array or a pytree of arrays. It gets Variables.
    *args
        Arrays or pytrees. Arrays of floating-point or complex dtype are differentiated; all other
        arguments are passed on. Derivatives must exist at, and around, the values of the arrays.
    order : {1, 2}
        The highest order to check.
    rtol, atol : float, optional
        The relative and absolute tolerance. The default is 1e-6, or 2e-2 if the argument or an
        output has single precision.

    Raises
    ------
    AssertionError
        If a derivative differs; the message names the order, argument, element and both values.
    ArgumentError
        If ``f`` is not a function, ``order`` is neither 1 nor 2, or a tolerance is not a number.
    NoGradientError
        If no output has a floating-point or complex dtype.
    UnsupportedArrayError
        If no argument has a floating-point or complex dtype.
    """
    callable_in("ag.check_grad", f, "ag.check_grad(f, x), with the arguments of f after it")
    if not isinstance(order, int) or order not in (1, 2):
        raise ArgumentError(f"ag.check_grad: order is {order!r}; it must be 1 or 2")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if tolerance is not None:
            number_in(f"ag.check_grad: {name}", tolerance)
    function: Any = Problem(f, args)
    values, names = function.values, function.names
    for level in range(1, order + 1):
        outputs, pullback = vjp(function, *values)
        if not outputs:
            raise NoGradientError(
                "ag.check_grad needs a function that returns floating-point or complex arrays: "
                "nothing that it returned has a gradient"
            )
        weights = cotangents(outputs, seed=level)
        _compare(function, values, weights, pullback(weights), names, level, rtol, atol)
        function = gradient(function, weights)


def _compare(
    function: Callable[..., Any],
    values: list[Variable],
    weights: list[Variable],
    gradients: Sequence[Variable],
    names: Sequence[str],
    level: int,
    rtol: float | None,
    atol: float | None,
) -> None:
    for index, (value, g) in enumerate(zip(values, gradients, strict=True)):
        domain = value._domain
        single = any(bits_of(each.dtype) == 32 for each in (value, *weights))
        default = 2e-2 if single else 1e-6
        relative = default if rtol is None else rtol
        absolute = default if atol is None else atol
        step = 3e-2 if single else 1e-3
        directions = (1.0, 1.0j) if domain.is_complex(value.dtype) else (1.0,)
        flat = domain.raw.reshape(g.data, (-1,))
        places = product(*map(range, value.shape)) if domain.size(value.data) else ()
        for element, place in enumerate(places):
            found = complex(domain.item(flat[element]))
            numeric = 0j
            for direction in directions:
                line = _line(values, index, element, step * direction)
                numeric += direction * difference(function, weights, line, step)
            if not abs(found - numeric) <= absolute + relative * abs(numeric):
                raise AssertionError(
                    f"order {level}, {names[index]}, element {place}: the derivative is "
                    f"{_plain(found)}, finite differences give {_plain(numeric)}"
                )


def _line(
    values: list[Variable], index: int, element: int, step: complex
) -> Callable[[int], list[Variable]]:
    """Return the inputs as a function of the steps that one element has moved."""
    domain, x = values[index]._domain, values[index].data
    xp = domain.raw
    here = xp.reshape(xp.arange(domain.size(x)), x.shape) == element

    def at(multiple: int) -> list[Variable]:
        by: complex = multiple * step
        amount = by if domain.is_complex(x.dtype) else complex(by).real
        moved = list(values)
        change = xp.where(here, xp.full_like(x, amount), xp.zeros_like(x))
        moved[index] = domain.Variable._make(x + change, None)
        return moved

    return at


def _plain(number: complex) -> complex | float:
    return number.real if number.imag == 0 else number
