"""What Variables are connected to, for those who do not read nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from agnograd._arrays.variable import Variable
from agnograd._codegen.products import behind_mask as node_behind_mask
from agnograd._engine.arrivals import leaves_out
from agnograd._graph.calls import Call
from agnograd._graph.nodes import OP, RANK, Output, next_rank
from agnograd._graph.paths import older, reachable


def rank_of(x: Any) -> int | None:
    """Return the rank of what made a Variable, or None if it is not tracked.

    By ranks one tells apart Variables that share an array. What is newer ranks lower.
    """
    node = getattr(x, "_node", None)
    return None if node is None else int(node[RANK])


def made_from(variables: Iterable[Variable]) -> set[int]:
    """Return the ranks of all that tracked Variables are computed from, and their own."""
    return {node[RANK] for node in reachable([each._node for each in variables])}


def connected(f: Callable[..., Sequence[Variable]], *args: Any) -> tuple[Sequence[Variable], bool]:
    """Return the Variables that a function returns, and whether they depend on what was recorded.

    If no argument is tracked, they do if the function uses a tracked Variable from outside, whose
    gradient would be lost.
    """
    start = next_rank()
    found = f(*args)
    return found, any(older([each._node for each in found], start))


def leave_out(variables: Iterable[Variable]) -> bool:
    """Return whether an op that made Variables leaves elements of its inputs out, as a mask does.

    In the cotangents of such elements 0 means that nothing is asked, and a gradient of 0 is right
    even where the derivative is not finite.
    """
    return any(
        isinstance(node, Output) or (isinstance(node[OP], Call) and leaves_out(node, None))
        for node in reachable([each._node for each in variables])
    )


def behind_mask(variable: Variable) -> Variable:
    """Return a Variable from which passes go on as if such an op had made it."""
    node = variable._node
    if node is None:
        return variable
    behind: Variable = variable._domain.Variable._make(variable._raw, node_behind_mask(node))
    return behind
