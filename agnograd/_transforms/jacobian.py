"""Jacobians, by one pass for each element of the output or one push for each of the input."""

from __future__ import annotations

import functools
from collections.abc import Generator, Iterator
from time import perf_counter
from typing import Any, Literal

from agnograd._arrays.domains import domain_of
from agnograd._arrays.variable import Variable
from agnograd._hooks.entering import is_inside
from agnograd._ops.rule_helpers import known_size
from agnograd._transforms.moving import asarray
from agnograd._transforms.pushforward import Pushforward
from agnograd._transforms.trace import ArgNums, Function, Trace, outputs_of
from agnograd._util.checks import argnums_in, callable_in
from agnograd._util.trees import unflatten
from agnograd.errors import ArgumentError, NoGradientError

Direction = Literal["forward", "reverse", "auto"]
# One of both ways to all blocks: it pauses before its first pass, and after each.
Way = Generator[list[Any], None, list[list[Any]]]

# Costs are measured where even the better direction takes so many passes, and the other one at most
# so many times as many. The other one is chosen only if it costs so many times less.
_MANY, _CLEAR, _CHEAPER = 128, 8, 1.25
_UNITS = 2**18  # elements of unit vectors that are made at once
_clock = perf_counter


def jacobian(f: Function, argnums: ArgNums = 0, mode: Direction = "auto") -> Function:
    """Return a function that computes the Jacobian of ``f``.

    Parameters
    ----------
    f : callable
        A function of arrays that returns a real array or a pytree of real arrays.
    argnums : int or sequence of int
        As for ``value_and_grad``.
    mode : {"auto", "forward", "reverse"}
        "forward" pushes a tangent for each element of the arguments, and two if they are complex;
        "reverse" runs a pass for each element of the results. The default, "auto", chooses the
        direction of fewer passes. But if both take at least 128, and one at most 8 times as many as
        the other, it measures how long a pass of either direction takes, and chooses the other one
        if that takes at least 1.25 times less in all. The results of both differ by rounding, and
        "forward" needs more memory: name a direction if that matters. Nothing is measured on lazy
        or traced arrays, or inside a function that is itself being transformed.

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
    return blocks(f, positions, mode, measures=mode == "auto")


def blocks(f: Function, positions: ArgNums, mode: Direction, measures: bool) -> Function:
    """Return a function that computes all derivatives of results for arguments: see ``jacobian``.

    ``measures`` says whether the direction may depend on what passes cost.
    """

    @functools.wraps(f)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        trace = Trace(f, args, kwargs, positions, mode != "reverse")
        outputs, tree = outputs_of(trace.result, "ag.jacobian")
        if any(_is_complex(output) for output in outputs):
            raise NoGradientError("a complex output has no Jacobian of one array; use ag.vjp")
        rows = [trace.arranged(row) for row in _rows(trace, outputs, mode, measures)]
        return unflatten(tree, [row[0] if isinstance(positions, int) else row for row in rows])

    return jacobian_of


def _rows(
    trace: Trace, outputs: list[Variable], mode: Direction, measures: bool
) -> list[list[Any]]:
    """Return, for each output, its derivative for each input."""
    forward, reverse = _by_pushes(trace, outputs), _by_pulls(trace, outputs)
    if mode != "auto":
        return _finished(forward if mode == "forward" else reverse)
    pushes = sum(_size(x) * len(_directions(x)) for x in trace.inputs)
    pulls = sum(map(_size, outputs))
    (few, way), (many, other) = (pulls, reverse), (pushes, forward)
    if pushes < pulls:
        (few, way), (many, other) = (many, other), (few, way)
    measures = measures and few >= _MANY and many <= _CLEAR * few and not is_inside()
    if measures and all(map(_is_known, (*trace.inputs, *outputs))):
        next(way)
        next(other)
        # Of two passes, since rules may be compiled at the first one.
        cost = few * min(_seconds(way), _seconds(way))
        if _CHEAPER * many * _seconds(other) < cost:
            way, other = other, way
        other.close()  # it holds what it recorded
    return _finished(way)


def _seconds(way: Way) -> float:
    """Return how long the next pass takes."""
    start = _clock()
    for found in next(way):
        domain = domain_of(found)
        domain.backend.synchronize(found.data if isinstance(found, Variable) else found)
    return _clock() - start


def _finished(way: Way) -> list[list[Any]]:
    """Run all passes that are left, and return the blocks."""
    while True:
        try:
            next(way)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def _by_pulls(trace: Trace, outputs: list[Variable]) -> Way:
    """Return the derivatives of each output for each input, by a pass for each element of it."""
    yield []
    rows = []
    for output in outputs:
        parts = []
        for unit in _units(output):
            parts.append(trace.pull([output], [unit], retain=True))
            yield parts[-1]
        columns = [[part[index] for part in parts] for index in range(len(trace.inputs))]
        rows.append(
            [_block(trace, *pair, 0, output) for pair in zip(columns, trace.inputs, strict=True)]
        )
    return rows


def _by_pushes(trace: Trace, outputs: list[Variable]) -> Way:
    """Return the derivatives of each output for each input, by a push for each element of that."""
    push = Pushforward(trace, outputs)
    yield []
    rows: list[list[Any]] = [[] for _ in outputs]
    for index, x in enumerate(trace.inputs):
        before, after = [None] * index, [None] * (len(trace.inputs) - index - 1)
        totals: list[Any] = [0] * len(outputs)
        for direction in _directions(x):
            parts = []
            for unit in _units(x):
                along = x._domain.wrap(unit if direction == 1 else direction * unit)
                parts.append(push([*before, along, *after]))
                yield parts[-1]
            for place, output in enumerate(outputs):
                block = _block(trace, [part[place] for part in parts], x, -1, output)
                totals[place] = block if direction == 1 else totals[place] + direction * block
        for row, total in zip(rows, totals, strict=True):
            row.append(total)
    return rows


def _block(trace: Trace, parts: list[Any], x: Variable, axis: int, output: Variable) -> Any:
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


def _is_known(x: Variable) -> bool:
    """Return whether a value can be looked at: it is not lazy, and not traced."""
    if x._domain.backend.capabilities.lazy:
        return False
    if 0 in x.shape:
        return True
    try:
        x._domain.item(x._raw[(0,) * x.ndim])
    except (TypeError, RuntimeError):  # of a tracer in jax.jit, of a tensor in torch.func.vmap
        return False
    return True


def _is_complex(variable: Variable) -> bool:
    return variable._domain.is_complex(variable.dtype)


def _directions(x: Variable) -> tuple[complex, ...]:
    """Return along what an element changes: the real and the imaginary axis, if it has both."""
    return (1, 1j) if _is_complex(x) else (1,)


def _size(variable: Variable) -> int:
    return known_size(variable.shape)


def _units(variable: Variable) -> Iterator[Any]:
    """Yield the raw arrays of a shape that are one at one element and zero at all others."""
    size, raw = _size(variable), variable._domain.raw
    rows = max(1, _UNITS // max(size, 1))
    for first in range(0, size, rows):
        count = min(rows, size - first)
        eye = raw.eye(count, size, k=first, dtype=variable.dtype, device=variable.device)
        units = raw.reshape(eye, (count, *variable.shape))
        for index in range(count):
            yield units[index, ...]
