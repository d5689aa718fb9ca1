"""Jacobians, by one pass for each element of the output or one push for each of the input."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from typing import Any, Literal

from agnograd._arrays.variable import Variable
from agnograd._graph.calls import Call
from agnograd._graph.nodes import FIRST, OP, edges_of
from agnograd._graph.paths import reachable
from agnograd._ops.rule_helpers import known_size
from agnograd._transforms.pushforward import Pushforward
from agnograd._transforms.trace import ArgNums, Function, Trace, outputs_of
from agnograd._util.checks import argnums_in, callable_in, positive_in
from agnograd._util.deferred import later
from agnograd._util.remaking import remade
from agnograd._util.switches import switch
from agnograd._util.trees import unflatten
from agnograd.errors import ArgumentError, NoGradientError

Direction = Literal["forward", "reverse", "auto"]

# How many elements of unit vectors are made at once: 2 MiB in float64.
UNIT_ELEMENTS = switch("UNIT_ELEMENTS", 2**18, least=1, most=2**62, module=__name__)
# How many elements an array of all passes has that are computed at once: larger ones leave the
# caches.
PASS_ELEMENTS = switch("PASS_ELEMENTS", 2**18, least=2**6, most=2**62, module=__name__)
# So many passes take less time than to make the first level of vmap.
FEW_PASSES = switch("FEW_PASSES", 16, least=0, most=2**62, module=__name__)


@remade
def jacobian(
    f: Function,
    argnums: ArgNums = 0,
    mode: Direction = "auto",
    *,
    chunk_size: int | None = None,
) -> Function:
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
        direction of fewer passes, and "reverse" if both take as many. The results of both differ by
        rounding, and "forward" needs more memory.
    chunk_size : int, optional
        How many of these passes, or tangents, are computed at once, by ``vmap``. By default it is
        so many that no array on the way has more than 2**18 elements; on lazy arrays it is 1.

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
        If ``f`` is not a function, ``mode`` is not one of the three, or ``chunk_size`` is not a
        positive integer.
    """
    callable_in("ag.jacobian", f, "ag.jacobian(f)(x)")
    positions = argnums_in("ag.jacobian", argnums)
    if not isinstance(mode, str) or mode not in ("auto", "forward", "reverse"):
        raise ArgumentError(f"mode is {mode!r}; it must be 'auto', 'forward' or 'reverse'")
    if chunk_size is not None:
        positive_in("ag.jacobian: chunk_size", chunk_size)
    return blocks(f, positions, mode, chunk_size)


def blocks(f: Function, positions: ArgNums, mode: Direction, chunk: int | None = None) -> Function:
    """Return a function of all derivatives of results by arguments: see ``jacobian``."""

    @functools.wraps(f)
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        trace = Trace(f, args, kwargs, positions, mode != "reverse")
        outputs, tree = outputs_of(trace, "ag.jacobian")
        if any(_is_complex(output) for output in outputs):
            raise NoGradientError("a complex output has no Jacobian of one array; use ag.vjp")
        rows = [trace.arranged(row) for row in _rows(trace, outputs, mode, chunk)]
        return unflatten(tree, rows)

    return jacobian_of


def _rows(
    trace: Trace, outputs: list[Variable], mode: Direction, chunk: int | None
) -> list[list[Any]]:
    """Return, for each output, its derivative for each input."""
    chunk = _together(trace, outputs) if chunk is None else chunk
    if mode == "auto":
        pushes = sum(_size(x) * len(_directions(x)) for x in trace.inputs)
        mode = "forward" if pushes < sum(map(_size, outputs)) else "reverse"
    return (_by_pushes if mode == "forward" else _by_pulls)(trace, outputs, chunk)


def _together(trace: Trace, outputs: list[Variable]) -> int:
    """Return how many passes, or pushes, are computed at once."""
    if any(x._domain.backend.capabilities.lazy for x in (*trace.inputs, *outputs)):
        return 1
    if sum(map(_size, outputs)) <= FEW_PASSES or sum(map(_size, trace.inputs)) <= FEW_PASSES:
        return 1
    largest = max((_size(x) for x in (*trace.inputs, *outputs)), default=1)
    for node in reachable([output._node for output in outputs], trace.start):
        if isinstance(node[OP], Call):
            sources, edges = node[OP].plan.sources, edges_of(node)
            for source, value in zip(sources, node[FIRST:], strict=False):
                # An array that is not tracked is the same for all passes.
                if source == "out" or (isinstance(source, int) and edges[source] is not None):
                    largest = max(largest, prod(getattr(value, "shape", ())))
    return max(1, PASS_ELEMENTS // max(largest, 1))


def _by_pulls(trace: Trace, outputs: list[Variable], chunk: int) -> list[list[Any]]:
    """Return the derivatives of each output for each input, by a pass for each element of it."""
    rows = []
    for output in outputs:
        pull = _at_once(partial(_pulled, trace, output), output, chunk)
        parts = [pull(units, first) for first, units in _units(output, chunk)]
        columns = [[part[index] for part in parts] for index in range(len(trace.inputs))]
        pairs = zip(columns, trace.inputs, strict=True)
        rows.append([_block(trace, part, x, 0, output, chunk) for part, x in pairs])
    return rows


def _pulled(trace: Trace, output: Variable, unit: Any) -> list[Any]:
    return trace.pull([output], [unit], retain=True)


def _by_pushes(trace: Trace, outputs: list[Variable], chunk: int) -> list[list[Any]]:
    """Return the derivatives of each output for each input, by a push for each element of that."""
    push = Pushforward(trace, outputs)
    rows: list[list[Any]] = [[] for _ in outputs]
    for index, x in enumerate(trace.inputs):
        totals: list[Any] = [0] * len(outputs)
        for direction in _directions(x):
            along = _at_once(partial(_pushed, push, index, x, direction), x, chunk)
            parts = [along(units, first) for first, units in _units(x, chunk)]
            for place, output in enumerate(outputs):
                block = _block(trace, [part[place] for part in parts], x, -1, output, chunk)
                totals[place] = block if direction == 1 else totals[place] + direction * block
        for row, total in zip(rows, totals, strict=True):
            row.append(total)
    return rows


def _pushed(push: Pushforward, index: int, x: Variable, direction: complex, unit: Any) -> list[Any]:
    tangents: list[Any] = [None] * len(push.gradients)
    along = unit if direction == 1 else direction * unit
    tangents[index] = along if isinstance(along, Variable) else x._domain.wrap(along)
    return push(tangents)


def _at_once(
    way: Callable[..., list[Any]], like: Variable, chunk: int
) -> Callable[[Any, int], list[Any]]:
    """Return a pass, or a push, as a function of so many units at once: see ``_units``."""
    if chunk == 1:
        return lambda unit, first: way(unit)
    return partial(later("agnograd._batch.vmap", "at_once"), way, like._domain)


def _block(
    trace: Trace, parts: list[Any], x: Variable, axis: int, output: Variable, chunk: int
) -> Any:
    """Return the derivative of an output for an input, of its parts for elements of one of them."""
    # Gradients lie with the inputs, and tangents with the outputs.
    home = x._domain if axis == 0 or not parts else output._domain
    xp = home.namespace if trace.as_variables else home.raw
    shape = (*output.shape, *x.shape)
    if not parts:
        return xp.zeros(shape, dtype=x.dtype, device=x.device)
    if chunk == 1:
        block = xp.stack(parts, axis=axis)
    else:
        block = parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
        block = block if axis == 0 else xp.moveaxis(block, 0, -1)
    block = xp.reshape(block, shape)
    if home is x._domain:
        return block if block.dtype == x.dtype else xp.astype(block, x.dtype)
    asarray = later("agnograd._functions.moving", "asarray")  # few functions move arrays
    moved = asarray(block, backend=x, dtype=x.dtype, device=x.device)
    return moved if trace.as_variables else moved.data


def _is_complex(variable: Variable) -> bool:
    return variable._domain.is_complex(variable.dtype)  # type: ignore[no-any-return]


def _directions(x: Variable) -> tuple[complex, ...]:
    """Return along what an element changes: the real and the imaginary axis, if it has both."""
    return (1, 1j) if _is_complex(x) else (1,)


def _size(variable: Variable) -> int:
    return known_size(variable.shape)


def _units(variable: Variable, chunk: int) -> Iterator[tuple[int, Any]]:
    """Yield raw arrays that are one at one element, else zero, and the place of that.

    If ``chunk`` is not 1, several are along one more axis.
    """
    size, raw = _size(variable), variable._domain.raw
    rows = max(1, UNIT_ELEMENTS // max(size, 1))
    rows = max(rows // chunk, 1) * chunk
    for first in range(0, size, rows):
        count = min(rows, size - first)
        eye = raw.eye(count, size, k=first, dtype=variable.dtype, device=variable.device)
        units = raw.reshape(eye, (count, *variable.shape))
        for start in range(0, count, chunk):
            some = start if chunk == 1 else slice(start, min(start + chunk, count))
            yield first + start, units[some, ...]
