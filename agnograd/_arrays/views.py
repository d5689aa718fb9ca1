"""Views: arrays that share their elements with a base, so that writes reach one another.

A view remembers the base it was taken from and how. A write to any member of a family of views
makes new values (nothing that a graph saved changes), re-points the base, and moves the family's
clock on; every other view of the family is taken afresh, and recorded afresh, when it is next
used. Plain Variables pay nothing for this: a view is of another class, which ops notice anyway.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import starmap
from operator import call
from typing import TYPE_CHECKING, Any

from agnograd._arrays.variable import Variable
from agnograd._graph.nodes import WATCH, Edge, Leaf, Watch, watch
from agnograd._hooks.state import current_mode, is_grad_enabled, set_mode
from agnograd._util.deferred import later
from agnograd.errors import GradientError

if TYPE_CHECKING:
    from agnograd._ops.op import Op


class Storage:
    """What a base and its views share: a clock that every write moves on."""

    __slots__ = ("writes",)

    def __init__(self) -> None:
        self.writes = 0


class View(Variable):
    """A Variable whose elements are those of another one.

    ``_strides`` says where its elements lie among the base's, once that was asked for.
    """

    __slots__ = (
        "_base",
        "_op",
        "_options",
        "_recorded",
        "_seen",
        "_strides",
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
    _strides: tuple[int, ...] | None
    _taken_node: Edge | None
    _taken_raw: Any

    @property
    def _raw(self) -> Any:
        self.refresh()
        return self._taken_raw

    @property
    def _node(self) -> Edge | None:  # type: ignore[override] # nobody gives a view another one
        self.refresh()
        return self._taken_node

    def refresh(self) -> None:
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
            fresh = retaken(view, view._base)
            rest = _let_watch(view._taken_node, fresh._node)
            view._taken_raw, view._taken_node = fresh._raw, fresh._node
            view._seen = view._storage.writes
            for step in rest:
                call(*step)


def view_of(op: Op, result: Variable, base: Variable, options: Mapping[str, Any]) -> Variable:
    """Return an op's result as a view of the Variable that it was taken from."""
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
    view._strides = None
    view._storage = storage
    view._seen = storage.writes
    return view


def retaken(view: View, base: Variable) -> Variable:
    """Take a view once more, of its base or of another one like it.

    It is recorded if it was the first time, whatever the state is where it is used next: it shows
    what was written then.
    """
    outer = current_mode()
    try:
        # Few programs write to views: what enters a state is imported then.
        with later("agnograd._hooks.entering", "entered")(
            recording=view._recorded,
            hooks=lambda: None,
            kept=lambda *nodes: nodes,
            tape=lambda node: True,
        ):
            taken: Variable = view._domain.take_view(view._op, base, view._options)
        return taken
    finally:
        set_mode(outer)  # as it is already, unless an interrupt came at the end of the block


def replace(variable: Variable, new: Variable, recorded: bool = True) -> None:
    """Give a Variable, and all that share its elements, a new value.

    While ops are recorded the Variable comes to stand for ``new``, gradient and all; under
    ``no_grad`` only its value changes, so that a leaf stays a leaf.

    Raises
    ------
    GradientError
        If ops are recorded, but the Variable is a view that was cut from the graph.
    """
    recorded = recorded and is_grad_enabled()
    # From the view that was written to its base, the base's base, and so on. No view is given its
    # new value: it is taken from its base when next used, so that its gradient and the base's are
    # one. A write that fails leaves the family as it was.
    while isinstance(variable, View):
        if recorded and variable._node is None:
            _check_connected(variable, new)
        new = variable._domain.put_view(variable._op, variable._base, new, variable._options)
        variable = variable._base
    _commit(variable, new, recorded)


def _check_connected(view: View, new: Variable) -> None:
    """Refuse a write through a view that is cut from the graph, if that needs the elements."""
    base: Variable = view
    while isinstance(base, View):
        base = base._base
    mode = current_mode()
    managed = mode is not None and mode.kept is not None  # where all else is a constant
    tracked = base._node is not None
    if (tracked and not managed) or (not view._recorded and (tracked or new._node is not None)):
        raise GradientError(
            "a view that was taken under no_grad, or in a GradManager's block, is written to while "
            "ops are recorded: its elements would be constants from now on, and their gradient "
            "lost. Take the view where ops are recorded, or write to its base, y[key] = value; to "
            "change only the value, write under no_grad"
        )


class InPlace:
    """An array whose elements are about to be written, which the result of the write refers to.

    They are written when the result takes the place of what the array was before.
    """

    __slots__ = ("array", "key", "value")

    def __init__(self, array: Any, key: Any, value: Any) -> None:
        self.array = array
        self.key = key
        self.value = value

    @property
    def shape(self) -> Any:
        """The array's shape."""
        return self.array.shape

    @property
    def dtype(self) -> Any:
        """The array's dtype."""
        return self.array.dtype

    @property
    def device(self) -> Any:
        """The array's device."""
        return self.array.device


def _commit(variable: Variable, new: Variable, recorded: bool) -> None:
    """Let a base stand for a new value, in one step: an interrupt comes before it or after it."""
    raw = new._raw
    steps: list[tuple[Any, ...]] = []
    if type(raw) is InPlace:
        steps.append((variable._domain.put, raw.array, raw.key, raw.value))
    else:
        steps.append((setattr, variable, "_raw", raw))
    if recorded and (variable._node is not None or new._node is not None):
        old = variable._node
        steps.append((setattr, variable, "_node", new._node))
        if type(old) is Leaf:  # its gradient is asked for there
            variable._leaf = old
        elif old is not None and old[WATCH] is not None:
            steps += _let_watch(old, new._node)
    storage: Storage | None = getattr(variable, "_storage", None)
    if storage is not None:
        steps.append((setattr, storage, "writes", storage.writes + 1))
    # Python looks for signals between its own instructions, and this is one of them.
    list(starmap(call, steps))


def _let_watch(old: Edge | None, new: Edge | None) -> list[tuple[Any, ...]]:
    """Let a new value's gradient be retained, if that of the old one is; return what is to do."""
    known: Watch | None = None if old is None else old[WATCH]
    if known is None or new is None or isinstance(new, Leaf):
        return []
    if not known.retained and known.grad is None:
        return []
    now = watch(new)
    now.retained, now.grad = known.retained, known.grad
    return [(setattr, known, "retained", False)]
