"""Loops that go on until a condition no longer holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import agnograd as ag
from agnograd.errors import ArgumentError, BatchingError
from agnograd.extend.arguments import callable_in, positive_in
from agnograd_loops._carry import Arrays, boolean, given_as
from agnograd_loops._closing import Closed, NotClosed, UsesOthersError
from agnograd_loops._programs import Body, While, called, facts_of, inexact, program_around
from agnograd_loops._schedule import checked

_RETURNED = "ag.while_loop: the carry that step returned"


def while_loop(
    condition: Callable[[Any], Any],
    step: Callable[[Any], Any],
    carry: Any,
    *,
    max_steps: int | None = None,
    checkpoint: int | str | None = None,
) -> Any:
    """Repeat ``carry = step(carry)`` while ``condition(carry)`` is true.

    It is the loop that it says, and has derivatives in both modes, of any order. In a program that
    ``ag.compile`` makes, it is one step, whatever the number of iterations: the functions are
    traced once. It stays a loop of Python there, with a program for each number of iterations, if
    one of them looks at a value, such as in ``if carry > 0``, has an effect, or writes to an array
    from outside. In ``ag.vmap``, members that have come to their end stand still until all have.

    Parameters
    ----------
    condition : callable
        Takes the carry, and returns a boolean, or a boolean array of shape ().
    step : callable
        Takes the carry, and returns the next one, with the same structure, shapes and dtypes.
        Variables that it uses from outside are differentiated, too.
    carry : array or pytree
        The first carry. Numbers become arrays.
    max_steps : int, optional
        After so many iterations the loop ends, whatever the condition says.
    checkpoint : int or "log", optional
        How many carries the backward pass keeps at a time in a program, as for ``scan``. Elsewhere
        the number of iterations is not known before, and the graph keeps what each of them needs.

    Returns
    -------
    array or pytree
        The last carry: raw arrays if the first one has no Variable, and nothing that is tracked is
        used.

    Raises
    ------
    ArgumentError
        If an argument is none of these, or if a carry is not like the first one. The error names
        the leaf.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> def root(a):
    ...     def far(x):
    ...         return xp.abs(x * x - a) > 1e-12
    ...
    ...     return ag.while_loop(far, lambda x: 0.5 * (x + a / x), a)
    >>> round(float(ag.grad(root)(4.0)), 12)
    0.25
    """
    what = "ag.while_loop"
    callable_in(f"{what}: condition", condition, f"{what}(lambda carry: carry < 9, step, carry)")
    callable_in(f"{what}: step", step, f"{what}(condition, lambda carry: carry, carry)")
    checked(what, checkpoint)
    if max_steps is not None:
        positive_in(f"{what}: max_steps", max_steps)
    state, found = Arrays(f"{what}: the carry", carry), None
    if not state.leaves:
        raise ArgumentError(f"{what}: the carry has no arrays")
    if program_around(state.leaves):
        found = _in_program(condition, step, state, max_steps, checkpoint)
    if found is None:
        found = _in_python(condition, step, state, max_steps)
    return given_as(state.value(found), carry)


def _holds(condition: Callable[[Any], Any], carry: Any) -> Any:
    return boolean("ag.while_loop: what condition returned", condition(carry))


def _in_python(
    condition: Callable[[Any], Any], step: Callable[[Any], Any], state: Arrays, limit: int | None
) -> Sequence[Any]:
    leaves, going = state.leaves, _holds(condition, state.value())
    for _ in itertools.count() if limit is None else range(limit):
        goes_on, differ = _decided(going)
        if not goes_on:
            break
        new = state.again(_RETURNED, step(state.value(leaves)))
        holds = _holds(condition, state.value(new))
        if differ:
            xp = ag.namespace(going)
            new = [xp.where(going, a, b) for a, b in zip(new, leaves, strict=True)]
            holds = xp.logical_and(going, holds)
        leaves, going = new, holds
    return leaves


def _decided(going: Any) -> tuple[bool, bool]:
    """Return whether there is another iteration, and whether members of ``vmap`` differ in that."""
    differ = False
    while True:
        try:
            return bool(going), differ
        except BatchingError:
            members, differ = going.data.payload, True
            going = ag.namespace(members).any(members)


def _in_program(
    condition: Callable[[Any], Any],
    step: Callable[[Any], Any],
    state: Arrays,
    limit: int | None,
    checkpoint: int | str | None,
) -> Sequence[Any] | None:
    count = len(state.leaves)

    def flat(*leaves: Any) -> list[Any]:
        new = state.again(_RETURNED, step(state.value(leaves)))
        return [*new, _holds(condition, state.value(new))]

    try:
        closed = Closed(flat, state.leaves)
        arrays = [*state.leaves, *closed.outside]
        counts = count, 0, len(closed.outside)
        body = Body(closed, counts, inexact(arrays), facts_of(closed.taken()))
        going = _holds(condition, state.value())
        return called(While(body, limit, checkpoint), (*arrays, going))[:count]
    except (NotClosed, UsesOthersError):
        return None
