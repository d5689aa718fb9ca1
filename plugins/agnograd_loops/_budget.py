"""Loops within a budget of memory: a schedule of checkpoints says which states are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd import Variable, checkpoint
from agnograd.errors import ArgumentError
from agnograd.extend.arguments import callable_in, flatten, positive_in
from agnograd.extend.transforms import domain_of
from agnograd_loops._schedule import repetitions, steps_ahead


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
    found = flatten(state)[0]
    size = max(sum(_bytes(each) for each in found), 1)
    slots = _slots(count, budget // size)
    if not slots:
        needed = min(each + repetitions(count, each) for each in range(1, count.bit_length() + 1))
        raise ArgumentError(
            f"{what}: a budget of {budget} bytes has room for {budget // size} states of {size} "
            f"bytes, and {count} steps need {needed}: pass budget={needed * size} or more"
        )

    def steps(state: Any, first: int, count: int, slots: int) -> Any:
        while count > 1:
            ahead = steps_ahead(count, slots)
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


def _slots(count: int, room: int) -> int:
    """Return how many states to keep where there is room for so many arrays; 0 if none will do.

    As deep as steps are repeated, passes wait for others, each with the gradient of a state.
    """
    for slots in range(min(room, count), 0, -1):
        if slots + repetitions(count, slots) <= room:
            return slots
    return 0
