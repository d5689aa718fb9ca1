"""Loops over the first axes of arrays, and loops that count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import agnograd as ag
from agnograd.errors import ArgumentError
from agnograd.extend import device_of
from agnograd.extend.arguments import callable_in, flatten, map_leaves, unflatten
from agnograd_loops._carry import Arrays, given_as, home_of
from agnograd_loops._closing import Closed, NotClosed, UsesOthersError
from agnograd_loops._programs import Body, Scan, called, facts_of, inexact, program_around
from agnograd_loops._schedule import checked, slots_for, steps_ahead
from agnograd_loops._while import while_loop

_RETURNED = "ag.scan: the carry that step returned"


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    carry: Any,
    xs: Any = None,
    *,
    length: int | None = None,
    reverse: bool = False,
    checkpoint: int | str | None = None,
) -> tuple[Any, Any]:
    """Repeat ``carry, y = step(carry, x)`` for each element along the first axis of ``xs``.

    It is the loop that it says, of ops that are recorded, observed and transformed as elsewhere. In
    a program that ``ag.compile`` makes, it is one step: the function is traced once, and not for
    each element. It stays a loop of Python there, too, if the function looks at a value, such as in
    ``if carry > 0``, has an effect, or writes to an array from outside.

    Parameters
    ----------
    step : callable
        Takes the carry and an element of ``xs``, and returns a pair: the next carry, with the same
        structure, shapes and dtypes, and anything made of arrays, or None. Variables that it uses
        from outside are differentiated, too.
    carry : array or pytree
        The first carry. Numbers become arrays.
    xs : array or pytree, optional
        Arrays whose first axes have one length.
    length : int, optional
        The number of elements, if ``xs`` has no arrays.
    reverse : bool
        Whether to begin with the last element. The y of an element is in its place all the same.
    checkpoint : int or "log", optional
        How many carries the backward pass keeps at a time. It computes the others again, as few as
        possible. With "log" both what it keeps and how often it repeats a step grow with the
        logarithm of the length.

    Returns
    -------
    carry : array or pytree
        The last carry.
    ys : array or pytree
        What the function returned, stacked along a new first axis. Results are raw arrays if all
        arrays are that are given, and nothing that is tracked is used.

    Raises
    ------
    ArgumentError
        If an argument is none of these, lengths differ, or a carry is not like the first one. The
        error names the leaf.

    Notes
    -----
    If there is no element, the function runs once, of zeros, to see what it returns.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> def compounded(rate, payments):
    ...     def step(balance, payment):
    ...         balance = balance * (1.0 + rate) + payment
    ...         return balance, balance
    ...
    ...     return ag.scan(step, 0.0, payments)[0]
    >>> payments = xp.asarray([100.0, 100.0]).data
    >>> float(compounded(0.1, payments)), float(ag.grad(compounded)(0.1, payments))
    (210.0, 100.0)
    """
    what = "ag.scan"
    callable_in(f"{what}: step", step, f"{what}(lambda carry, x: (carry, y), carry, xs)")
    checked(what, checkpoint)
    home = home_of(carry, xs)
    state, over = Arrays(f"{what}: the carry", carry, home), Arrays(f"{what}: xs", xs, home)
    count = _count(over, length)
    found = None
    if count and state.leaves and program_around((*state.leaves, *over.leaves)):
        found = _in_program(step, state, over, count, reverse, checkpoint)
    if found is None and count:
        found = _in_python(step, state, over, count, reverse, checkpoint)
    out: tuple[Any, Any] = given_as(found or _of_none(step, state, over), carry, xs)
    return out


def fori_loop(
    n: Any,
    step: Callable[[Any, Any], Any],
    carry: Any,
    *,
    checkpoint: int | str | None = None,
) -> Any:
    """Repeat ``carry = step(i, carry)`` for i from 0 to n - 1.

    Parameters
    ----------
    n : int or array
        The number of iterations. In a program, an integer array of shape () may differ from call to
        call.
    step : callable
        Takes i, an int64 array of shape (), and the carry, and returns the next carry.
    carry : array or pytree
        The first carry. Numbers become arrays.
    checkpoint : int or "log", optional
        How many carries the backward pass keeps at a time, as for ``scan``.

    Returns
    -------
    array or pytree
        The last carry, as ``scan`` returns it.

    Raises
    ------
    ArgumentError
        As for ``scan``.

    Examples
    --------
    >>> import agnograd as ag
    >>> def power(x):
    ...     return ag.fori_loop(3, lambda i, y: y * x, 1.0)
    >>> float(ag.grad(power)(2.0))
    12.0
    """
    what = "ag.fori_loop"
    callable_in(f"{what}: step", step, f"{what}(n, lambda i, carry: carry, carry)")
    home = home_of(carry, n)
    xp = ag.namespace() if home is None else home.namespace
    if type(n) is int:
        numbers = xp.arange(n, dtype=xp.int64).data
        return scan(lambda c, i: (step(i, c), None), carry, numbers, checkpoint=checkpoint)[0]
    if getattr(n, "shape", None) != () or not xp.isdtype(n.dtype, "integral"):
        raise ArgumentError(f"{what}: n is {n!r}; it must be an int, or an integer array")
    _, found = while_loop(
        lambda pair: pair[0] < n,
        lambda pair: (pair[0] + 1, step(*pair)),
        (xp.zeros((), dtype=xp.int64).data, carry),
        checkpoint=checkpoint,
    )
    return found


def _count(over: Arrays, length: int | None) -> int:
    """Return how many elements there are."""
    counts = {} if length is None else {length: "length="}
    for place, x in enumerate(over.leaves):
        if not x.ndim:
            raise ArgumentError(f"ag.scan: xs has no axis to go over at {over.name(place)}")
        counts.setdefault(x.shape[0], f"xs at {over.name(place)}")
    if not counts:
        raise ArgumentError("ag.scan needs xs, or length=, to know how many iterations there are")
    if len(counts) > 1:
        found = ", ".join(f"{count} by {name}" for count, name in counts.items())
        raise ArgumentError(f"ag.scan: the number of iterations is {found}; these must be equal")
    (count,) = counts
    if type(count) is not int or count < 0:
        raise ArgumentError(f"ag.scan: length is {count!r}; it must be an integer from 0 on")
    return count


def _parted(out: Any) -> tuple[Any, Any]:
    if isinstance(out, tuple) and len(out) == 2:
        return out
    raise ArgumentError(
        f"ag.scan: step returned {type(out).__name__}; it must return a pair, the next carry and "
        "y, which may be None"
    )


def _in_python(
    step: Callable[..., Any],
    state: Arrays,
    over: Arrays,
    count: int,
    reverse: bool,
    checkpoint: int | str | None,
) -> tuple[Any, Any]:
    columns = [ag.namespace(x).unstack(x) for x in over.leaves]
    rows: list[Any] = list(zip(*columns, strict=True)) or [()] * count
    trees: list[Any] = []

    def repeated(leaves: Sequence[Any], rows: Sequence[Any], slots: int | None) -> Any:
        ys = []
        while slots is not None and len(rows) > 1:
            ahead = steps_ahead(len(rows), slots)
            leaves, more = again(leaves, rows[:ahead], slots)
            ys += more
            rows, slots = rows[ahead:], slots - 1
        for row in rows:
            next_carry, y = _parted(step(state.value(leaves), over.value(row)))
            leaves, (found, tree) = state.again(_RETURNED, next_carry), flatten(y)
            trees.append(tree)
            ys.append(found)
        return leaves, ys

    again = ag.checkpoint(repeated)
    if reverse:
        rows.reverse()
    leaves, ys = repeated(state.leaves, rows, slots_for(checkpoint, count))
    for number, tree in enumerate(trees[:count]):
        if tree != trees[0]:
            raise ArgumentError(
                f"ag.scan: y has structure {tree} in iteration {number}, and {trees[0]} before"
            )
    if reverse:
        ys.reverse()
    stacks = [ag.namespace(column[0]).stack(column) for column in zip(*ys, strict=True)]
    return state.value(leaves), unflatten(trees[0], stacks)


def _of_none(step: Callable[..., Any], state: Arrays, over: Arrays) -> tuple[Any, Any]:
    """Return what a loop of no iterations returns."""

    def zeros(x: Any, shape: tuple[int, ...]) -> Any:
        return ag.namespace(x).zeros(shape, dtype=x.dtype, device=device_of(x))

    with ag.no_grad():
        element = over.value([zeros(x, x.shape[1:]) for x in over.leaves])
        _, y = _parted(step(state.value(), element))
    return state.value(), map_leaves(lambda x: zeros(x, (0, *x.shape)), y)


def _in_program(
    step: Callable[..., Any],
    state: Arrays,
    over: Arrays,
    count: int,
    reverse: bool,
    checkpoint: int | str | None,
) -> tuple[Any, Any] | None:
    carry = len(state.leaves)
    trees: list[Any] = []

    def flat(*leaves: Any) -> list[Any]:
        out = _parted(step(state.value(leaves[:carry]), over.value(leaves[carry:])))
        y, tree = flatten(out[1])
        trees[:] = [tree]
        return [*state.again(_RETURNED, out[0]), *y]

    first = [x[0, ...] for x in over.leaves]
    try:
        closed = Closed(flat, [*state.leaves, *first])
        arrays = [*state.leaves, *over.leaves, *closed.outside]
        counts = carry, len(first), len(closed.outside)
        body = Body(closed, counts, inexact(arrays), facts_of(closed.taken()))
        found = called(Scan(body, count, reverse, checkpoint), arrays)
    except (NotClosed, UsesOthersError):
        return None
    ys = found[carry : len(body.results)]
    return state.value(found[:carry]), unflatten(trees[0], ys)
