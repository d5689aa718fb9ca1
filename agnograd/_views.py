"""Views: arrays that share their elements with a base, so that writes reach one another.

A view remembers the base it was taken from and how. A write to any member of a family of views
makes new values (nothing that a graph saved changes), re-points the base, and moves the family's
clock on; every other view of the family is taken afresh, and recorded afresh, when it is next
used. Plain Variables pay nothing for this: a view is of another class, which ops notice anyway.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agnograd._graph import Edge, Leaf
from agnograd._mode import entered, is_grad_enabled
from agnograd._variable import Variable

if TYPE_CHECKING:
    from agnograd._ops import Op

__all__ = ["View", "replace", "view_of"]


# A view that is taken again is recorded if it was the first time, wherever it is used next.
_RETAKING = {flag: entered(recording=flag, hooks=lambda: None) for flag in (False, True)}


class Storage:
    """What a base and its views share: a clock that every write moves on."""

    __slots__ = ("writes",)

    def __init__(self) -> None:
        self.writes = 0


class View(Variable):
    """A Variable whose elements are those of another one."""

    __slots__ = (
        "_base",
        "_op",
        "_options",
        "_recorded",
        "_seen",
        "_taken_node",
        "_taken_raw",
    )

    _is_view = True
    _base: Variable
    _op: Op
    _options: Mapping[str, Any]
    _recorded: bool
    _seen: int
    _storage: Storage
    _taken_node: Edge | None
    _taken_raw: Any

    @property
    def _raw(self) -> Any:
        self._refresh()
        return self._taken_raw

    @property
    def _node(self) -> Edge | None:  # type: ignore[override] # nobody gives a view another one
        self._refresh()
        return self._taken_node

    def _refresh(self) -> None:
        """Take the view afresh if the family was written to since."""
        if self._seen == self._storage.writes:
            return
        stale = []
        view: Variable = self
        # A chain of views may be long: no recursion.
        while isinstance(view, View) and view._seen != view._storage.writes:
            stale.append(view)
            view = view._base
        for view in reversed(stale):
            with _RETAKING[view._recorded]:
                fresh = view._domain.take_view(view._op, view._base, view._options)
            view._taken_raw, view._taken_node = fresh._raw, fresh._node
            view._seen = view._storage.writes


def view_of(op: Op, result: Variable, base: object, options: Mapping[str, Any]) -> Variable:
    """Return an op's result as a view of the Variable that it was taken from."""
    if not isinstance(base, Variable):
        return result
    storage: Storage | None = getattr(base, "_storage", None)
    if storage is None:
        storage = base._storage = Storage()
    data = result._raw
    if storage.writes and 2 * math.prod(data.shape) <= math.prod(base._raw.shape):
        # An array that is written to again and again: a copy of a small part of it leaves the
        # array free to be written in place, which spares a copy of the whole.
        data = result._domain.copy(data)
    view: View = object.__new__(result._domain.View)
    view._taken_raw, view._taken_node = data, result._node
    view._base = base
    view._op = op
    view._options = options
    view._recorded = is_grad_enabled()
    view._storage = storage
    view._seen = storage.writes
    return view


def replace(variable: Variable, new: Variable, recorded: bool = True) -> None:
    """Give a Variable, and all that share its elements, a new value.

    While ops are recorded the Variable comes to stand for ``new``, gradient and all; under
    ``no_grad`` its value alone changes, so that a leaf stays a leaf.
    """
    recorded = recorded and is_grad_enabled()
    # From the view that was written to its base, the base's base, and so on. No view is given its
    # new value: it is taken from its base when next used, so that its gradient and the base's are
    # one. A write that fails leaves the family as it was.
    while isinstance(variable, View):
        new = variable._domain.put_view(variable._op, variable._base, new, variable._options)
        variable = variable._base
    raw, node = new._raw, new._node
    variable._raw = raw
    if recorded:
        if isinstance(variable._node, Leaf):  # its gradient is asked for there
            variable._leaf = variable._node
        variable._node = node
    storage: Storage | None = getattr(variable, "_storage", None)
    if storage is not None:
        storage.writes += 1
