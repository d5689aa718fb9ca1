"""Passes of a level: what was recorded below, with cotangents or tangents of a level above."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from agnograd._arrays.domain import Domain
from agnograd._arrays.levels import over, stands_on
from agnograd._arrays.variable import Variable
from agnograd._engine.ends import raw_seed, seed_of
from agnograd._engine.run import run_pass
from agnograd._graph.nodes import ByNode, Edge
from agnograd._hooks.entering import enable_grad
from agnograd._hooks.state import is_grad_enabled
from agnograd.errors import GradientError

_SAME = nullcontext()


class OtherLevelError(GradientError):
    """A cotangent, or a tangent, is of a level that does not stand on that of the run."""


def tangent_of(x: Variable, tangent: Any) -> Variable:
    """Return the tangent of an input as a Variable, of its own domain or of a level above."""
    if isinstance(tangent, Variable) and tangent._domain.level > x._domain.level:
        return seed_at(tangent._domain, x, tangent, "a tangent")
    return seed_of(x, tangent, "a tangent")  # type: ignore[no-any-return]


def seed_at(level: Domain, output: Variable, cotangent: Any, what: str = "a cotangent") -> Variable:
    """Return the cotangent of an output, or a tangent, as a Variable of a level above it."""
    level, seed = over(level, output._domain), cotangent
    if not stands_on(level, output._domain):
        made, here = output._domain.backend.name, level.backend.name
        raise OtherLevelError(
            f"{what} of {here} is given for a value of {made}, on which that does not stand: a "
            "compiled function inside vmap uses a pullback, or a pushforward, that was made "
            "elsewhere; make it in the function, or do not compile this function"
        )
    if not isinstance(cotangent, level.Variable):
        given = raw_seed(output, cotangent, what) if cotangent is None else cotangent
        seed = level.raised(given, True)
        if not isinstance(seed, level.Variable):
            seed = level.Variable._make(level.to_raw(seed), None)
    if seed.shape != output.shape or seed.dtype != output.dtype:
        raise GradientError(
            f"{what} of shape {seed.shape} and dtype {seed.dtype} does not fit a value of shape "
            f"{output.shape} and dtype {output.dtype}; each member must have the value's"
        )
    return seed  # type: ignore[no-any-return]


def pass_at(
    level: Domain, pairs: Sequence[tuple[Edge, Variable]], targets: Sequence[Edge], connects: bool
) -> ByNode[Any]:
    """Run a pass of cotangents of a level above the graph; what it computes is of that level."""
    backend: Any = level.backend
    # Where what is tracked below is tracked at the level, rules have to be recorded there.
    tracked = any(g._node is not None for _, g in pairs) or (connects and backend.whole)
    tracked = tracked and is_grad_enabled()
    seeds = [(node, g if tracked else g._raw) for node, g in pairs]
    with enable_grad() if tracked or connects else _SAME:
        return run_pass(
            seeds,
            targets=targets,
            create_graph=tracked,
            retain_graph=True,
            level=partial(over, level),
            connects=connects,
        )


def at_level(level: Domain, value: Any, of: Variable) -> Variable:
    """Return what a pass of a level found for a Variable from below; None counts as zeros."""
    value, level = zeros_of(of) if value is None else value, over(level, of._domain)
    return value if isinstance(value, Variable) else level.Variable._make(level.to_raw(value), None)


def zeros_of(x: Variable) -> Any:
    """Return the gradient, or the tangent, of what is connected to nothing."""
    return x._domain.raw.zeros_like(x._domain.backend.array(x._raw))
