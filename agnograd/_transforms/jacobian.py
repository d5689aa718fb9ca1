"""Jacobians, by one pass for each element of the output or one push for each of the input."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Literal

from agnograd._arrays.domains import domain_of
from agnograd._arrays.variable import Variable
from agnograd._hooks.entering import enable_grad
from agnograd._hooks.state import current_mode, set_mode
from agnograd._ops.rule_helpers import known_size
from agnograd._transforms.forward import Tape
from agnograd._transforms.moving import asarray
from agnograd._transforms.trace import ArgNums, Function, Trace, differentiable, outputs_of
from agnograd._util.checks import argnums_in, callable_in
from agnograd._util.trees import map_leaves, unflatten
from agnograd.errors import ArgumentError, NoGradientError

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain

Direction = Literal["forward", "reverse", "auto"]


def jacobian(f: Function, argnums: ArgNums = 0, mode: Direction = "auto") -> Function:
    """Return a function that computes the Jacobian of ``f``.

    Parameters
    ----------
    f : callable
        A function of arrays that returns a real array or a pytree of real arrays.
    argnums : int or sequence of int
        The positions of the arguments to differentiate.
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
        tape = None if mode == "reverse" else Tape()
        trace = Trace(f, args, kwargs, positions, tape)
        outputs, tree = outputs_of(trace.result)
        differentiable(outputs, "ag.jacobian")
        for output in outputs:
            if output._domain.is_complex(output.dtype):
                raise NoGradientError("a complex output has no Jacobian of one array; use ag.vjp")
        rows = _rows(trace, tape, outputs, always=mode == "forward")
        blocks = [row[0] if isinstance(positions, int) else row for row in rows]
        return unflatten(tree, blocks)

    return jacobian_of


def _rows(
    trace: Trace, tape: Tape | None, outputs: list[Variable], always: bool
) -> list[tuple[Any, ...]]:
    """Return, for each output, its derivative for each differentiated argument."""
    inputs = [each.variable for group in trace.inputs for each in group]
    outer = current_mode()
    try:
        if tape is not None and always:
            trace.check(tape, outputs)
        elif tape is not None:
            fewer = _size(inputs) < _size(outputs)
            tape = tape if fewer and trace.unheard(tape, outputs) is None else None
        if tape is not None:
            return _pushed(trace, tape, inputs, outputs)
        return [_pulled(trace, output) for output in outputs]
    finally:
        set_mode(outer)


def _size(variables: list[Variable]) -> int:
    return sum(known_size(variable.shape) for variable in variables)


def _pulled(trace: Trace, output: Variable) -> tuple[Any, ...]:
    """Return the derivative of one output array, for each differentiated argument."""
    reshape = output._domain.raw.reshape
    rows = [
        trace.pull([output], [reshape(unit, output.shape)], retain=True) for unit in _units(output)
    ]

    def stacked(like: Any, *parts: Any) -> Any:
        domain = domain_of(like)
        xp = domain.namespace if isinstance(like, Variable) else domain.raw
        shape = (*output.shape, *like.shape)
        if not parts:
            return xp.zeros(shape, dtype=like.dtype)
        return xp.reshape(xp.stack(parts), shape)

    likes = trace.arranged(
        v if trace.as_variables else v.data for inputs in trace.inputs for v, _ in inputs
    )
    with enable_grad():
        return tuple(
            map_leaves(stacked, like, *(row[i] for row in rows)) for i, like in enumerate(likes)
        )


def _pushed(
    trace: Trace, tape: Tape, inputs: list[Variable], outputs: list[Variable]
) -> list[tuple[Any, ...]]:
    """Return, for each output, its derivative for each differentiated argument."""
    columns = [_columns(trace, tape, inputs, index, outputs) for index in range(len(inputs))]
    return [trace.arranged(column[place] for column in columns) for place in range(len(outputs))]


def _columns(
    trace: Trace, tape: Tape, inputs: list[Variable], index: int, outputs: list[Variable]
) -> list[Any]:
    """Return the derivatives of all outputs for one input array."""
    variable = inputs[index]
    domain = variable._domain
    tangents = [v._make(v._domain.raw.zeros_like(v._raw), None) for v in inputs]

    def push(unit: Any) -> list[Any]:
        moved = domain.Variable._make(domain.raw.reshape(unit, variable.shape), None)
        return trace.push(tape, [*tangents[:index], moved, *tangents[index + 1 :]], outputs)

    along = [push(unit) for unit in _units(variable)]
    across = [push(1j * unit) for unit in _units(variable)] if _is_complex(variable) else []

    def names(of: Domain) -> Any:
        return of.namespace if trace.as_variables else of.raw

    def joined(parts: list[list[Any]], place: int, output: Variable) -> Any:
        shape = (*output.shape, *variable.shape)
        if not parts:
            return names(domain).zeros(shape, dtype=variable.dtype, device=variable.device)
        xp = names(output._domain)
        stacked = xp.reshape(xp.stack([part[place] for part in parts], axis=-1), shape)
        if output._domain is domain:
            return xp.astype(stacked, variable.dtype, copy=False)
        moved = asarray(stacked, backend=variable, dtype=variable.dtype, device=variable.device)
        return moved if trace.as_variables else moved.data

    with enable_grad():
        blocks = [joined(along, place, output) for place, output in enumerate(outputs)]
        if across:
            turned = [joined(across, place, output) for place, output in enumerate(outputs)]
            blocks = [one + 1j * other for one, other in zip(blocks, turned, strict=True)]
        return blocks


def _is_complex(variable: Variable) -> bool:
    return variable._domain.is_complex(variable.dtype)


def _units(variable: Variable) -> list[Any]:
    """Return the raw flat arrays that are one at one element and zero at all others."""
    size = known_size(variable.shape)
    eye = variable._domain.raw.eye(size, dtype=variable.dtype, device=variable.device)
    return [eye[index, ...] for index in range(size)]
