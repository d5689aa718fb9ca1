"""A call of an op on one backend: what nodes and hooks know of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from agnograd._graph.nodes import FIRST, OP, Node
from agnograd.errors import FreedGraphError

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain
    from agnograd._hooks.active import ActiveHooks
    from agnograd._plugins.backend import Backend

# For each edge of a node: the edge, and the gradient for it or None.
Pairs = Sequence[tuple[Any, Any]]
Backward = Callable[..., Pairs]
# What a saved value is: the input of this number, "out" (or which of several outputs), "each" of a
# sequence of inputs, an array that is "constant" or of "unknown" origin, the names of "attributes";
# None for what is not an array.
Source = int | str | tuple[Any, ...] | None


def note(error: BaseException, op: Call) -> None:
    """Add to an error that it came up in the backward pass, and at which op."""
    if not any(each.startswith(_NOTE) for each in getattr(error, "__notes__", ())):
        error.add_note(f"{_NOTE} {op.name!r}")


_NOTE = "agnograd: in the backward pass, at op"


class Call:
    """An op on one backend, as nodes refer to it and as hooks see it.

    Attributes
    ----------
    name, chapter : str
        The op's name and chapter.
    parameters : mapping
        The options of this call by name (empty for a call that no hook observed).
    location : str or None
        ``file:line in function`` of the user's code that called the op. It is looked up if a hook
        reads it during the forward call, and kept for the backward pass; otherwise it is None.
    backend : Backend
        The backend that the op runs on. If the call moves arrays, the backend of its results.
    """

    __slots__ = ()

    name: str
    chapter: str
    domain: Domain
    parameters: Mapping[str, Any]
    backward: Backward
    # As backward, but a cotangent of 0 gives 0 where the derivative is not finite.
    guarded: Backward
    # As backward, on raw arrays, for a cotangent all of whose elements are a real one.
    of_ones: Backward
    # One step of a pass in which nobody looks at gradients, or None if the op needs more than that.
    step: Callable[..., Any] | None
    # As step, where a cotangent of 0 gives 0, and that of what comes next may mean the same.
    guarded_step: Callable[..., Any] | None
    # Of an element-wise op, for each input: whether its rule computes anything.
    works: tuple[bool, ...] | None
    # How gradients are added to what is there: that of the only input, or those of several.
    add: Callable[..., Any] | None
    accumulate: Callable[..., Any] | None
    # How a cotangent is changed, in place, into the gradient of the first input.
    overwrite: Callable[..., Any] | None
    # Whether it read one element of an array, whose gradient may wait for those of others.
    reads: bool
    # Whether nodes have a turn of their own in a pass: those that read one element need none.
    turn: bool
    # The op whose nodes save all that rules name, if nodes of this one do not.
    whole: Call | None
    # Whether a call with these saved values leaves elements of its inputs out.
    masks: Callable[[Node], bool] | None
    # Whether an output that nothing depends on has None for its cotangent, and not zeros.
    optional: bool
    saved_names: tuple[str, ...]
    sources: tuple[Source, ...]
    # Where a node's edges begin, and what takes the place of its op and saved values when they
    # are freed: an op whose derivative is an error, which knows the op that it stands for.
    first: int
    freed: tuple[Any, ...] | None
    origin: Call | None
    # Whether it is a negation, whose nodes begin with a reference to a large array.
    negates: bool
    # What restores saved values: the plugins that packed them, if any did.
    hooks: ActiveHooks | None
    # While the forward call runs, its place can be found.
    location_sought: bool
    found_location: str | None

    def observed(self, parameters: Mapping[str, Any]) -> Call:
        """Return what stands for one call that hooks observe."""
        raise NotImplementedError

    def packed_by(self, hooks: ActiveHooks) -> None:
        """Become a call whose node has saved values that plugins packed."""
        raise NotImplementedError

    def watched(self) -> Call:
        """Return, or become, what stands for a call whose result's gradient someone watches."""
        raise NotImplementedError

    def masking(self) -> Call:
        """Return what leaves elements of its inputs out; one that hooks observe is as before."""
        return self

    def when_freed(self) -> tuple[Any, ...]:
        """Return what takes the place of a node's op and saved values when they are freed."""
        raise NotImplementedError

    @property
    def location(self) -> str | None:
        """Where the user's code called the op, or None if no hook asked for it in time."""
        if self.location_sought and self.found_location is None:
            self.found_location = _caller(sys._getframe(1))  # type: ignore[misc]
        return self.found_location

    @property
    def backend(self) -> Backend:
        """The backend that the op runs on."""
        return self.domain.backend

    def unpack(self, saved: Sequence[Any]) -> Sequence[Any]:
        """Return saved values as they were before a ``save_value`` hook packed them."""
        if self.hooks is None:
            return saved
        return self.hooks.restore(saved)

    def __repr__(self) -> str:
        return f"<op {self.name} on {self.backend.name}>"


class SharedCall(Call):
    """All calls of an op on one backend, as far as no hook observes them.

    Parameters
    ----------
    name, chapter : str
        The op's name and chapter.
    domain : Domain
        The backend's types and namespaces.
    single : bool
        Whether this stands for one call, and not for all calls of an op.
    """

    __slots__ = (
        "_observed_kind",
        "_single",
        "_variants",
        "accumulate",
        "add",
        "backward",
        "chapter",
        "domain",
        "first",
        "found_location",
        "freed",
        "guarded",
        "guarded_step",
        "hooks",
        "location_sought",
        "masks",
        "name",
        "negates",
        "of_ones",
        "optional",
        "origin",
        "overwrite",
        "parameters",
        "reads",
        "saved_names",
        "sources",
        "step",
        "turn",
        "whole",
        "works",
    )

    def __init__(self, name: str, chapter: str, domain: Domain, single: bool = False) -> None:
        self.name = name
        self.chapter = chapter
        self.domain = domain
        self.parameters = {}
        self.backward = self.guarded = self.of_ones = _no_backward
        self.works = self.add = self.accumulate = self.overwrite = self.masks = None
        self.step = self.guarded_step = None
        self.reads = self.optional = self.negates = False
        self.turn = True
        self.saved_names: tuple[str, ...] = ()
        self.sources: tuple[Source, ...] = ()
        self.first = FIRST
        self.freed = self.origin = self.hooks = self.whole = None
        self.location_sought = False
        self.found_location = None
        self._single = single
        self._variants: dict[str, SharedCall] = {}
        self._observed_kind: type[ObservedCall] | None = None

    def saves(self, names: Sequence[str], sources: Sequence[Source]) -> None:
        """Say what nodes of this op save: names, and what each value is."""
        self.saved_names = tuple(names)
        self.sources = tuple(sources)
        self.first = FIRST + len(self.saved_names)

    def becomes(self, attribute: str, function: Callable[..., Any]) -> None:
        """Set a function of this call, of its variants and of those that hooks observe."""
        for call in (self, *self._variants.values()):
            if getattr(call, attribute) is not None:
                setattr(call, attribute, function)
        if self._observed_kind is not None:
            setattr(self._observed_kind, attribute, staticmethod(function))

    def observed(self, parameters: Mapping[str, Any]) -> Call:
        """Return what stands for one call that hooks observe."""
        kind = self._observed_kind
        if kind is None:
            if self._single:
                self.parameters = parameters
                self.location_sought = True
                return self
            kind = self._observed_kind = ObservedCall.of(self)
        call = _new(kind)
        call.parameters = parameters
        call.location_sought = True
        call.found_location = call.hooks = None
        return call

    def lean(self, restoring: ActiveHooks) -> SharedCall:
        """Return what stands for calls whose nodes keep less than rules name."""
        return self._variant("lean", hooks=restoring, step=None)

    def reading(self) -> SharedCall:
        """Return what stands for calls that read one element of an array."""
        return self._variant("reading", reads=True, turn=False)

    def reading_leaf(self) -> SharedCall:
        """Return what stands for calls that read one element of a leaf: nodes keep only the key.

        The leaf, to which their edge goes, knows its shape and dtype.
        """
        call = SharedCall(self.name, self.chapter, self.domain)
        call.saves(self.saved_names[:1], self.sources[:1])
        call.backward = lambda g, node, xp=self.domain.raw: self.backward(g, in_full(node), xp)
        call.guarded = lambda g, node, xp=self.domain.raw: self.guarded(g, in_full(node), xp)
        call.add = lambda g, node, into: self.add(g, in_full(node), into)  # type: ignore[misc]
        call.whole, call.reads, call.turn = self, True, False
        call.freed = call.when_freed()
        return call

    def watched(self) -> SharedCall:
        """Return what stands for calls whose results' gradients someone watches."""
        if self.step is None and not self.reads:
            return self
        return self._variant("watched", reads=False, turn=True, step=None)

    def masking(self) -> SharedCall:
        """Return what stands for calls that leave elements of their inputs out."""
        return self._variant("masking", masks=_always, step=None)

    def _variant(self, name: str, **other: Any) -> SharedCall:
        """Return a call that differs in some attributes: one for all that are made so."""
        if name not in self._variants:
            variant: SharedCall = _new(SharedCall)
            for each in SharedCall.__slots__:
                setattr(variant, each, other[each] if each in other else getattr(self, each))
            self._variants[name] = variant
        return self._variants[name]

    def packed_by(self, hooks: ActiveHooks) -> None:
        """Become a call whose node has saved values that plugins packed."""
        assert self._single, "other nodes have not"
        self.hooks, self.step = hooks, None

    def when_freed(self) -> tuple[Any, ...]:
        """Return what takes the place of a node's op and saved values when they are freed."""
        if self.freed is not None:
            return self.freed
        freed = SharedCall(self.name, self.chapter, self.domain)
        freed.saved_names, freed.sources = self.saved_names, self.sources
        freed.backward, freed.guarded, freed.first = _was_freed, _was_freed, self.first
        freed.origin = self
        return freed, *(None,) * len(self.saved_names)


class ObservedCall(Call):
    """One call that hooks observe. All that it shares with other calls is in its class.

    One is made for each op while a plugin looks at ops: they have to be small, and cheap to make.
    """

    __slots__ = ("found_location", "hooks", "location_sought", "parameters")

    _freed_kind: type[ObservedCall]
    _packed_kind: type[ObservedCall]
    _nothing: tuple[None, ...]

    @staticmethod
    def of(call: SharedCall) -> type[ObservedCall]:
        """Return the class of the calls of an op."""
        own = {*ObservedCall.__slots__, *("_observed_kind", "_single", "_variants")}
        shared = {name: getattr(call, name) for name in SharedCall.__slots__ if name not in own}
        shared |= {"freed": None, "_nothing": (None,) * len(call.saved_names)}
        freed = shared | _FREED | {"origin": property(lambda self: self)}
        shared["_freed_kind"] = _kind(freed)
        return _kind(shared | {"_packed_kind": _kind(shared | {"step": None})})

    def packed_by(self, hooks: ActiveHooks) -> None:
        """Become a call whose node has saved values that plugins packed."""
        self.hooks = hooks
        self.__class__ = self._packed_kind

    def watched(self) -> ObservedCall:
        """Become a call that takes no step of its own: it is in only one node."""
        if self.step is not None:
            self.__class__ = self._packed_kind
        return self

    def when_freed(self) -> tuple[Any, ...]:
        """Become a call whose derivative is an error: it is in only one node."""
        self.__class__ = self._freed_kind
        return self, *self._nothing


def _always(node: Node) -> bool:
    return True


def _kind(shared: Mapping[str, Any]) -> type[ObservedCall]:
    body = {n: staticmethod(value) if callable(value) else value for n, value in shared.items()}
    return type("Call", (ObservedCall,), {"__slots__": (), **body})


_new = object.__new__


def in_full(node: Node) -> Node:
    """Return a node with all that its rules name: one that reads a leaf is made so."""
    whole = node[OP].whole
    if whole is None:
        return node
    *start, key, leaf = node  # which has its facts: an element was read
    return [*start[:OP], whole, key, *leaf.facts, leaf]


def _was_freed(g: Any, node: Node, xp: Any = None) -> Any:
    was_freed(node[OP].name)


def was_freed(name: str) -> NoReturn:
    """Say that an op's saved values are needed and gone."""
    raise FreedGraphError(
        f"the values that {name!r} saved were freed by an earlier backward pass; pass "
        "retain_graph=True to that pass if the graph is needed again"
    )


_FREED = {
    "backward": _was_freed,
    "guarded": _was_freed,
    "works": None,
    "masks": None,
    "add": None,
    "accumulate": None,
    "overwrite": None,
    "step": None,
}


def _no_backward(*_: Any) -> Any:
    raise AssertionError("a call without a backward function was recorded")


def _caller(frame: FrameType | None) -> str | None:
    """Return the first place outside of agnograd above the op's own function."""
    seen_op = False
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        internal = name == "agnograd" or name.startswith("agnograd.")
        if internal:
            seen_op = seen_op or _is_op(frame.f_code)
        elif seen_op:
            code = frame.f_code
            return f"{code.co_filename}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return None


def _is_op(code: CodeType) -> bool:
    return code.co_filename.startswith("<agnograd ")
