"""Loops within a budget of memory: a schedule of checkpoints says which states are kept."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

from agnograd._arrays.domains import domain_of
from agnograd._arrays.variable import Variable
from agnograd._functions.checkpoint import checkpoint
from agnograd._util.checks import callable_in, positive_in
from agnograd._util.trees import leaves
from agnograd.errors import ArgumentError


def checkpoint_loop(step: Callable[[Any, int], Any], state: Any, count: int, budget: int) -> Any:
    """Return the last state of a loop, of whose states the graph keeps only a few at a time.

    It computes ``for i in range(count): state = step(state, i)``. The backward pass needs the
    states in the opposite order. Those that were not kept are computed again from the last one
    before them that was, by the binomial schedule of Griewank and Walther ("Algorithm 799:
    revolve", 2000), which takes the fewest steps for a number of kept states. With s of them, no
    step runs more than t + 1 times if the loop has at most (s + t)! / (s! t!) steps. So ten states,
    and a gradient for each of ten repetitions, are enough for 184,756 steps. Variables that
    ``step`` uses besides its arguments also get gradients.

    Parameters
    ----------
    step : callable
        ``step(state, i)`` returns the next state, which has the structure, shapes and dtypes of
        ``state``. As for ``checkpoint``, it must compute the same thing whenever it runs, and must
        not write to arrays that it gets or uses.
    state : array or pytree
        The first state.
    count : int
        The number of steps.
    budget : int
        The bytes that kept states may take, and the gradients of states while passes wait for
        others. What the graph of a single step keeps comes on top. A pass that is itself recorded
        (``create_graph=True``) keeps what its own graph needs.

    Returns
    -------
    array or pytree
        The last state.

    Raises
    ------
    ArgumentError
        If an argument is none of these, or if the budget is too small. The error says how many
        bytes are enough; they grow with the logarithm of ``count``.

    Examples
    --------
    >>> import agnograd as ag
    >>> def last(x):
    ...     return ag.checkpoint_loop(lambda x, i: x * x, x, 3, budget=24)
    >>> float(last(2.0)), float(ag.grad(last)(2.0))
    (256.0, 1024.0)
    """
    what = "ag.checkpoint_loop"
    callable_in(f"{what}: step", step, f"{what}(lambda state, i: state, state, count, budget)")
    positive_in(f"{what}: count", count)
    positive_in(f"{what}: budget", budget)
    found = leaves(state)
    size = max(sum(_bytes(each) for each in found), 1)
    slots = _slots(count, budget // size)
    if not slots:
        needed = min(each + _times(count, each) for each in range(1, count.bit_length() + 1))
        raise ArgumentError(
            f"{what}: a budget of {budget} bytes has room for {budget // size} states of {size} "
            f"bytes, and {count} steps need {needed}: pass budget={needed * size} or more"
        )

    def steps(state: Any, first: int, count: int, slots: int) -> Any:
        while count > 1:
            ahead = _ahead(count, slots)
            state = again(state, first, ahead, slots)
            first, count, slots = first + ahead, count - ahead, slots - 1
        return step(state, first)

    steps.__name__ = getattr(step, "__name__", "step")  # what hooks see
    again = checkpoint(steps)
    return steps(state, 0, count, slots)


def _bytes(leaf: Any) -> int:
    domain = domain_of(leaf)
    x = leaf if isinstance(leaf, Variable) else domain.Variable._make(domain.to_raw(leaf), None)
    nbytes: int | None = x.nbytes
    if nbytes is None:
        raise ArgumentError(
            "ag.checkpoint_loop: the size of an array in the state is not known, so that nobody "
            "can say how many states fit into the budget: compute it first"
        )
    return nbytes


def _ahead(count: int, slots: int) -> int:
    """Return how many steps to take to the next state that is kept, of the steps that are left.

    With the fewest repetitions t that suffice for s states, those steps have s states and t - 1
    repetitions, which are enough for C(s + t - 1, s). The rest has one state less, and is to have
    at least the C(s + t - 2, s - 1) steps for which t - 1 repetitions would be enough.
    """
    times = _times(count, slots)
    return min(comb(slots + times - 1, slots), count - comb(slots + times - 2, slots - 1))


def _times(count: int, slots: int) -> int:
    """Return how often a step is repeated at most, where so many states are kept at a time."""
    times = 0
    while comb(slots + times, slots) < count:
        times += 1
    return times


def _slots(count: int, room: int) -> int:
    """Return how many states to keep where there is room for so many arrays; 0 if none will do.

    As deep as steps are repeated, passes wait for others, each with the gradient of a state.
    """
    for slots in range(min(room, count), 0, -1):
        if slots + _times(count, slots) <= room:
            return slots
    return 0
