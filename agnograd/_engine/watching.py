"""Showing gradients to those who asked: hooks on values, and the hooks of plugins on leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agnograd._graph.nodes import Edge, Leaf, Watch, domain_at, raw_gradient
from agnograd._hooks.entering import enable_grad, no_grad
from agnograd.errors import GradientError

if TYPE_CHECKING:
    from agnograd._hooks.active import ActiveHooks


def watched(node: Edge, watch: Watch, g: Any, create_graph: bool) -> Any:
    """Let the hooks that users registered on a value see, and replace, its gradient."""
    for hook in tuple(watch.hooks.values()):
        g = replaced(hook, g, domain_at(node), create_graph)
    return g


def replaced(hook: Callable[[Any], Any], g: Any, domain: Any, create_graph: bool) -> Any:
    """Return what a hook makes of a gradient: the gradient itself, or another one like it."""
    grad = g if create_graph else domain.Variable._make(g, None)
    with enable_grad() if create_graph else no_grad():
        new = hook(grad)
    if new is None:
        return g
    new = domain.as_gradient(new)
    if new.shape != grad.shape or new.dtype != grad.dtype:
        raise GradientError(
            f"a hook returned a gradient of shape {new.shape} and dtype {new.dtype}, in place "
            f"of one of shape {grad.shape} and dtype {grad.dtype}; return one like it, or None"
        )
    return new if create_graph else new._raw


def announce(leaf: Leaf, g: Any, hooks: ActiveHooks) -> None:
    """Tell plugins that a leaf's gradient is final."""
    variable = leaf.variable()
    if variable is not None and hooks.has("gradient_ready"):
        hooks.run("gradient_ready", variable, raw_gradient(g))
