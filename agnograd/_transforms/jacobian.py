"""Jacobians, by one pass for each element of the output or one push for each of the input."""

from __future__ import annotations

import functools
from typing import Any, Literal

from agnograd._arrays.variable import Variable
from agnograd._ops.rule_helpers import known_size
from agnograd._transforms.moving import asarray
from agnograd._transforms.trace import ArgNums, Function, Pushforward, Trace, outputs_of
from agnograd._util.checks import argnums_in, callable_in
from agnograd._util.trees import unflatten
from agnograd.errors import ArgumentError, NoGradientError

Direction = Literal["forward", "reverse", "auto"]


def jacobian(f: Function, argnums: ArgNums = 0, mode: Direction = "auto") -> Function:
    """Return a function that computes the Jacobian of ``f``.

    Parameters
    ----------
    f : callable
        A function of arrays that returns a real array or a pytree of real arrays.
    argnums : int or sequence of int
        As for ``value_and_grad``.
    mode : {"auto", "forward", "reverse"}
        "forward" pushes one tangent for each element of the arguments; "reverse" runs one pass for
        each element of the results. The default, "auto", chooses whichever is less work.

    Returns
    -------
    callable
        Takes what ``f`` takes. For an output of shape ``O`` and an argument of shape ``I`` it
        returns an array of shape ``O + I``. For pytrees it returns the structure of the output,
        and inside it the structure of the argument. If ``argnums`` is a sequence, there are tuples
        of these.

    Raises
    ------
    NoGradientError
        If an output is complex, because its derivative is not one array (use ``vjp``), or if no
        output has a floating-point dtype. If at least one does, the others have derivatives of
        zero.
    UnsupportedArrayError
        If the size of a result is unknown before the library computes it.
    ArgumentError
        If ``f`` is not a function, or ``mode`` is not one of the three.
    """
    callable_in("ag.jacobian", f, "ag.jacobian(f)(x)")
    positions = argnums_in("ag.jacobian", argnums)
    if not isinstance(mode, str) or mode not in ("auto", "forward", "reverse"):
        raise ArgumentError(f"mode is {mode!r}; it must be 'auto', 'forward' or 'reverse'")

    @functools.wraps(f)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        trace = Trace(f, args, kwargs, positions, mode != "reverse")
        outputs, tree = outputs_of(trace.result, "ag.jacobian")
        if any(_is_complex(output) for output in outputs):
            raise NoGradientError("a complex output has no Jacobian of one array; use ag.vjp")
        rows = [trace.arranged(row) for row in _rows(trace, outputs, mode)]
        return unflatten(tree, [row[0] if isinstance(positions, int) else row for row in rows])

    return jacobian_of


def _rows(trace: Trace, outputs: list[Variable], mode: Direction) -> list[list[Any]]:
    """Return, for each output, its derivative for each input."""
    if mode == "reverse" or (mode == "auto" and _size(trace.inputs) >= _size(outputs)):
        return [_pulled(trace, output) for output in outputs]
    push = Pushforward(trace, outputs)
    columns = [_pushed(trace, push, index, outputs) for index in range(len(trace.inputs))]
    return [[column[place] for column in columns] for place in range(len(outputs))]


def _pulled(trace: Trace, output: Variable) -> list[Any]:
    """Return the derivative of one output for each input."""
    parts = [trace.pull([output], [unit], retain=True) for unit in _units(output)]
    return [
        _block(trace, [part[index] for part in parts], 0, output, x)
        for index, x in enumerate(trace.inputs)
    ]


def _pushed(trace: Trace, push: Pushforward, index: int, outputs: list[Variable]) -> list[Any]:
    """Return the derivative of each output for one input."""
    x, others = trace.inputs[index], len(trace.inputs) - index - 1

    def along(direction: complex) -> list[Any]:
        units = [x._domain.wrap(direction * unit) for unit in _units(x)]
        parts = [push([*[None] * index, unit, *[None] * others]) for unit in units]
        return [
            _block(trace, [part[place] for part in parts], -1, output, x)
            for place, output in enumerate(outputs)
        ]

    if not _is_complex(x):
        return along(1)
    return [one + 1j * other for one, other in zip(along(1), along(1j), strict=True)]


def _block(trace: Trace, parts: list[Any], axis: int, output: Variable, x: Variable) -> Any:
    """Return the derivative of an output for an input, of its parts for elements of one of them."""
    # Gradients lie with the inputs, and tangents with the outputs.
    home = x._domain if axis == 0 or not parts else output._domain
    xp = home.namespace if trace.as_variables else home.raw
    shape = (*output.shape, *x.shape)
    if not parts:
        return xp.zeros(shape, dtype=x.dtype, device=x.device)
    block = xp.reshape(xp.stack(parts, axis=axis), shape)
    if home is x._domain:
        return block if block.dtype == x.dtype else xp.astype(block, x.dtype)
    moved = asarray(block, backend=x, dtype=x.dtype, device=x.device)
    return moved if trace.as_variables else moved.data


def _is_complex(variable: Variable) -> bool:
    return variable._domain.is_complex(variable.dtype)


def _size(variables: list[Variable]) -> int:
    return sum(known_size(variable.shape) for variable in variables)


def _units(variable: Variable) -> list[Any]:
    """Return the raw arrays of a shape that are one at one element and zero at all others."""
    size, raw = known_size(variable.shape), variable._domain.raw
    eye = raw.eye(size, dtype=variable.dtype, device=variable.device)
    return [raw.reshape(eye[index, ...], variable.shape) for index in range(size)]
