"""Views: arrays that share their elements with a base, so that writes reach one another.

A view remembers the base it was taken from and how. A write to any member of a family of views
makes new values (nothing that a graph saved changes), re-points the base, and moves the family's
clock on; every other view of the family is taken afresh, and recorded afresh, when it is next
used. Plain Variables pay nothing for this: a view is of another class, which ops notice anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from inspect import BoundArguments
from itertools import starmap
from operator import attrgetter, call
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

from agnograd._arrays.variable import Variable
from agnograd._graph.nodes import WATCH, Edge, Leaf, Watch, watch
from agnograd._hooks.state import Recorder, current_mode, is_grad_enabled, set_mode
from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import row_strides
from agnograd._plugins.op_sets import registered_in
from agnograd._util.deferred import become, later
from agnograd._util.signatures import parameters_of
from agnograd.errors import GradientError, MixedBackendsError

_lone = Variable._make(object(), None)
ALONE = getrefcount(_lone._raw)  # the count of what only one attribute refers to


class Storage:
    """What a base and its views share: a clock that every write moves on."""

    writes = 0


class View(Variable):
    """A Variable whose elements are those of another one.

    ``_strides`` says where its elements lie among the base's, once that was asked for.
    """

    __slots__ = ("_base", "_edge", "_op", "_options", "_recorded", "_seen", "_shown", "_strides")

    _is_view = True
    _base: Variable
    _shown: Any  # not `_data`, which masked arrays look for
    _edge: Edge | None
    _op: Op
    _options: Mapping[str, Any]
    _recorded: bool
    _seen: int
    _storage: Storage
    _strides: tuple[int, ...] | None

    @property
    def _raw(self) -> Any:
        self.refresh()
        return self._shown

    @property
    def _node(self) -> Edge | None:  # type: ignore[override] # nobody gives a view another one
        self.refresh()
        return self._edge

    def refresh(self) -> None:
        """Take the view afresh if the family was written to since."""
        if self._seen == self._storage.writes:
            return
        for view in chain_to(self, lambda view: view._seen == view._storage.writes)[1]:
            fresh = _taken_as_before(view)
            rest = _let_watch(view._edge, fresh._node)
            view._shown, view._edge = fresh._raw, fresh._node
            view._seen = view._storage.writes
            for step in rest:
                call(*step)


def chain_to(
    variable: Variable, known: Callable[[View], bool] = lambda view: False
) -> tuple[Variable, list[View]]:
    """Return where a chain of views starts, a base or a ``known`` view, and the views from there.

    A chain may be long: no recursion.
    """
    views: list[View] = []
    while isinstance(variable, View) and not known(variable):
        views.append(variable)
        variable = variable._base
    return variable, views[::-1]


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
    view._shown, view._edge = data, result._node
    view._base = base
    view._op, view._options = op, options
    view._recorded = is_grad_enabled()
    view._strides = None
    view._storage = storage
    view._seen = storage.writes
    return view


def _taken(view: View, base: Variable) -> Variable:
    """Take a view once more, of its base or of another one like it."""
    op, options = view._op, view._options
    given = BoundArguments(op.signature, {op.arrays[0]: base, **options})
    result = attrgetter(op.name)(view._domain.namespace)(*given.args, **given.kwargs)
    found: Variable = result if op.outputs == "one" else result[options["index"]]
    return found if found._is_view else view_of(op, found, base, options)


def _taken_as_before(view: View) -> Variable:
    """Take a view of its base once more, after a write.

    It is recorded if it was the first time, whatever the state is where it is used next: it shows
    what was written then. Only tangents go along with it as with other values.
    """
    mode = current_mode()
    tape = None if mode is None else mode.tape
    return _entered(
        partial(_taken, view, view._base),
        recording=view._recorded,
        hooks=False,
        kept=None if mode is None or mode.kept is None else lambda *nodes: nodes,
        tape=tape if tape is not None and tape.pushes else Recorder(),
    )


def _entered(compute: Callable[[], Variable], **state: Any) -> Variable:
    """Compute something in another state."""
    outer = current_mode()
    try:
        # Few programs write to views, or copy: what enters a state is imported then.
        with later("agnograd._hooks.entering", "entered")(**state):
            return compute()
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
    base, views = chain_to(variable)
    # From the view that was written to its base, the base's base, and so on. No view is given its
    # new value: it is taken from its base when next used, so that its gradient and the base's are
    # one. A write that fails leaves the family as it was.
    for view in reversed(views):
        if recorded and view._node is None:
            _check_connected(view, base, new)
        put = view._op.view
        assert put is not None
        xp = view._domain.namespace
        known = {"base": view._base, "value": new, "xp": xp, "write": write, **view._options}
        new = put(**{name: known[name] for name in parameters_of(put)})
    _commit(base, new, recorded)


def _check_connected(view: View, base: Variable, new: Variable) -> None:
    """Refuse a write through a view that is cut from the graph, if that needs the elements."""
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


def write(x: Variable, key: Any, value: Any) -> Variable:
    """Return ``x`` with ``value`` at ``key``.

    It is written in place, when the result takes the place of ``x``, if ``x`` is all that refers to
    its array: then neither the graph, nor a view, nor the user needs it as it was, and none may
    come to need it (``agnograd._codegen.products``). A hook may yet fail, and let the write have no
    effect: then it is a copy, too.
    """
    mode, domain = current_mode(), x._domain
    if (
        (mode is None or mode.observers is None)
        and not x._is_view
        and getrefcount(x._raw) == ALONE
        and not getweakrefcount(x._raw)
        and domain.backend.alone(x._raw)
    ):
        return domain.put_later(x, key, value)  # type: ignore[no-any-return]
    written: Variable = domain.namespace.__setitem__(x, key, value)
    return written


class InPlace:
    """An array whose elements are about to be written, which the result of the write refers to.

    They are written when the result takes the place of what the array was before, and those
    ``along`` with it: pairs of the array's tangent and what is written there.
    """

    __slots__ = ("along", "array", "key", "value")

    def __init__(self, array: Any, key: Any, value: Any) -> None:
        self.array = array
        self.key = key
        self.value = value
        self.along: tuple[tuple[Any, Any], ...] = ()

    def __getattr__(self, name: str) -> Any:  # its shape, dtype and device
        return getattr(self.array, name)


def _commit(variable: Variable, new: Variable, recorded: bool) -> None:
    """Let a base stand for a new value, in one step: an interrupt comes before it or after it."""
    raw = new._raw
    steps: list[tuple[Any, ...]] = []
    if type(raw) is InPlace:
        for array, value in ((raw.array, raw.value), *raw.along):
            steps.append((variable._domain.put, array, raw.key, value))
    else:
        steps.append((setattr, variable, "_raw", raw))
    if recorded and (variable._node is not None or new._node is not None):
        old = variable._node
        steps.append((setattr, variable, "_node", new._node))
        if type(old) is Leaf:  # its gradient is asked for there
            variable._leaf = old
        else:
            steps += _let_watch(old, new._node)
    storage: Storage | None = getattr(variable, "_storage", None)
    if new._domain is not variable._domain:
        _check_moves_up(variable, new, storage)
        steps.append((become, variable, new._domain.Variable))
    if storage is not None:
        steps.append((setattr, storage, "writes", storage.writes + 1))
    # Python looks for signals between its own instructions, and this is one of them.
    list(starmap(call, steps))


def _check_moves_up(variable: Variable, new: Variable, storage: Storage | None) -> None:
    """Refuse a write of a value of a level above into an array that others know as it is."""
    if new._domain.backend.whole:
        new._domain.backend.refuse_write()
    if type(variable._node) is Leaf or storage is not None:
        what = "a leaf" if type(variable._node) is Leaf else "an array that has views"
        raise MixedBackendsError(
            f"a value on {new._domain.backend.name!r} is written to {what} on "
            f"{variable._domain.backend.name!r}: write to a copy that is made in the function, as "
            "by xp.asarray(x, copy=True)"
        )


def _let_watch(old: Edge | None, new: Edge | None) -> list[tuple[Any, ...]]:
    """Let a new value's gradient be retained, if that of the old one is; return what is to do."""
    known: Watch | None = None if old is None else old[WATCH]
    if known is None or not (known.retained or known.grad is not None):
        return []
    if new is None or isinstance(new, Leaf):
        return []
    now = watch(new)
    now.retained, now.grad = known.retained, known.grad
    return [(setattr, known, "retained", False)]


# -- where the elements of views lie among their bases', which says what can be a view of a view ---

# What is not a view is taken to be laid out in rows, on every backend: some libraries have no
# memory that a program could see, and a program has one value on all of them.
Strides = tuple[int, ...]


def strides_of(variable: Variable) -> Strides:
    """Return how many elements apart the neighbours along each axis of a Variable are."""
    start, views = chain_to(variable, lambda view: view._strides is not None)
    strides = (isinstance(start, View) and start._strides) or row_strides(start.shape)
    for view in views:
        found = _result_strides(view._op, view._base, strides, view.shape, view._options)
        # A view that no strides describe (``every_element``) is as good as in rows.
        strides = view._strides = row_strides(view.shape) if found is None else found
    return strides


def _result_strides(
    op: Op, base: Variable, strides: Strides, out_shape: Strides, options: Mapping[str, Any]
) -> Strides | None:
    """Return the strides of an op's result, or None if there are none."""
    if op.strides is None:
        return row_strides(out_shape)
    known = {
        "x_shape": base.shape,
        "x_strides": strides,
        "x_dtype": base.dtype,
        "out_shape": out_shape,
        "xp": base._domain.raw,
        **options,
    }
    found: Strides | None = op.strides(**{name: known[name] for name in parameters_of(op.strides)})
    return found


def keeps_places(op: Op, result: Variable, base: Variable, options: Mapping[str, Any]) -> bool:
    """Return whether an op that copies where it has to gives a view of a view.

    It raises if it does not, and was told not to copy.
    """
    if _result_strides(op, base, strides_of(base), result.shape, options) is not None:
        return True
    if options["copy"] is False:
        raise ValueError(
            f"{op.name} of this view needs a copy, but copy is False: its elements do not lie in "
            f"rows of shape {result.shape}; leave copy out"
        )
    return False


def is_in_rows(variable: Variable) -> bool:
    """Return whether the elements of a Variable lie one after another, in row-major order."""
    shape = variable.shape
    rows = zip(shape, strides_of(variable), row_strides(shape), strict=True)
    return 0 in shape or all(length == 1 or one == other for length, one, other in rows)


def every_element(variable: Variable) -> Variable:
    """Return all elements along one axis, in row-major order: a view, wherever they lie."""
    found: Variable = variable._domain.namespace.reshape(variable, (-1,))
    if found._is_view:
        return found
    op, _ = registered_in("")["reshape"]
    return view_of(op, found, variable, {"shape": (-1,), "copy": None})


# -- deep copies: leaves are leaves of their own, all else stays connected, and views stay views ---


def deep_copy(variable: Variable, memo: dict[int, Any]) -> Variable:
    """Return a copy of a Variable, as ``copy.deepcopy`` has copied others by ``memo``.

    The copy of a view is a view of its base's copy: copied together, as in one container, they
    share their elements as before.
    """
    start, views = chain_to(variable, lambda view: id(view) in memo)
    copied: Variable | None = memo.get(id(start))
    if copied is None:
        copied = memo[id(start)] = _copy_of(start, memo)
    for view in views:
        copied = _entered(partial(_taken, view, copied), recording=view._recorded)
        memo[id(view)] = copied
    return copied


def _copy_of(variable: Variable, memo: dict[int, Any]) -> Variable:
    domain, node = variable._domain, variable._node
    if node is not None and (type(node) is not Leaf or hasattr(node, "argument")):
        convert = partial(domain.convert, variable, variable.dtype, copy=True)
        return _entered(convert, recording=True)
    copied: Variable = domain.Variable(domain.copy(variable._raw), requires_grad=node is not None)
    leaf: Leaf | None = getattr(variable, "_leaf", None)
    if leaf is not None and leaf.grad is not None:
        if node is None:  # a gradient manager has let it go
            copied._leaf = Leaf.of(copied)
        copied._leaf.grad = later("copy", "deepcopy")(leaf.grad, memo)
    return copied
