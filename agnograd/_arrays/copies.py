"""Deep copies: leaves are leaves of their own, all else stays connected, and views stay views."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from agnograd._arrays.views import chain_to, taken, view_of
from agnograd._graph.nodes import Leaf
from agnograd._hooks.entering import enable_grad, set_grad_enabled
from agnograd._hooks.state import current_mode, set_mode

if TYPE_CHECKING:
    from agnograd._arrays.variable import Variable


def deep_copy(variable: Variable, memo: dict[int, Any]) -> Variable:
    """Return a copy of a Variable, as ``copy.deepcopy`` has copied others by ``memo``.

    The copy of a view is a view of its base's copy: copied together, as in one container, they
    share their elements as before.
    """
    start, views = chain_to(variable, lambda view: id(view) in memo)
    outer = current_mode()
    try:
        copied: Variable | None = memo.get(id(start))
        if copied is None:
            copied = memo[id(start)] = _copy_of(start, memo)
        for view in views:
            with set_grad_enabled(view._recorded):
                again = taken(view, copied)
                if not again._is_view:
                    again = view_of(view._op, again, copied, view._options)
            copied = memo[id(view)] = again
        return copied
    finally:
        set_mode(outer)  # as it is already, unless an interrupt came at the end of a block


def _copy_of(variable: Variable, memo: dict[int, Any]) -> Variable:
    domain, node = variable._domain, variable._node
    if node is not None and (type(node) is not Leaf or hasattr(node, "argument")):
        with enable_grad():
            return domain.convert(variable, variable.dtype, copy=True)
    copied = domain.Variable(domain.copy(variable._raw), requires_grad=node is not None)
    leaf: Leaf | None = getattr(variable, "_leaf", None)
    if leaf is not None and leaf.grad is not None:
        if node is None:  # a gradient manager has let it go
            copied._leaf = Leaf.of(copied)
        copied._leaf.grad = copy.deepcopy(leaf.grad, memo)
    return copied
