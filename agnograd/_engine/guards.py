"""Products of cotangents that are 0 with derivatives that are not finite."""

from __future__ import annotations

from typing import Any

from agnograd._hooks.state import current_mode
from agnograd._ops.rule_helpers import is_python_scalar

__all__ = ["guarded"]


def guarded(raw: Any, g: Any, partial: Any, xp: Any) -> Any:
    """Return ``g * partial``, but 0 where g is 0 and the partial derivative is not finite.

    It is the derivative that is replaced, not the product, which stays linear in g: where a
    cotangent happens to be 0, its own derivative is as before. Raw arrays, whose namespace is
    ``raw``, have none: there any derivative may be replaced where g is 0. A product that is
    recorded leaves elements out itself, and forward mode is told of it: what its derivatives make
    of these elements is guarded alike.
    """
    if is_python_scalar(partial):
        if partial - partial == 0:  # it is finite
            return g * partial
        partial = xp.full_like(g, partial)
    if xp is raw:
        return g * xp.where(g == 0, 0.0, partial)
    idle = xp.logical_and(g == 0, xp.logical_not(xp.isfinite(partial)))
    product = g * xp.where(idle, 0.0, partial)
    node = product._node
    if node is not None:
        node[2] = node[2].masking()  # its op: the module that names the place imports this one
        mode = current_mode()
        if mode is not None and mode.tape is not None:
            mode.tape.guard(node)
    return product
