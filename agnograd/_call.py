"""A call of an op on one backend: what nodes and hooks know of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence, Set
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from agnograd._graph import FIRST, OP, Node
from agnograd.errors import FreedGraphError

if TYPE_CHECKING:
    from agnograd._backends import Backend
    from agnograd._domain import Domain
    from agnograd._hooks import ActiveHooks

__all__ = ["Backward", "Call", "Pairs", "Source"]

# For each edge of a node: the edge, and the gradient for it or None.
Pairs = Sequence[tuple[Any, Any]]
Backward = Callable[..., Pairs]
# What a saved value is: the input of this number, "out" (or which of several outputs), "each" of a
# sequence of inputs, an array that is "constant" or of "unknown" origin; None for what is no array.
Source = int | str | tuple[Any, ...] | None


class Call:
    """An op on one backend, as nodes refer to it and as hooks see it.

    Attributes
    ----------
    name, chapter : str
        The op's name and chapter.
    parameters : mapping
        The options of this call by name (empty for a call that no hook observed).
    location : str or None
        ``file:line in function`` of the user's code that called the op. It is found when a hook
        reads it during the forward call, and kept for the backward pass; else it is None.
    backend : Backend
        The backend that it runs on; of a call that moves arrays, the one of its results.
    """

    __slots__ = (
        "_freed_kind",
        "_location",
        "_observed_kind",
        "accumulate",
        "add",
        "adding",
        "backward",
        "chapter",
        "domain",
        "first",
        "freed",
        "guarded",
        "hooks",
        "location_sought",
        "masks",
        "name",
        "optional",
        "origin",
        "overwrite",
        "parameters",
        "reads",
        "saved_names",
        "simple",
        "single",
        "sources",
    )

    def __init__(self, name: str, chapter: str, domain: Domain, single: bool = False) -> None:
        self.name = name
        self.chapter = chapter
        self.domain = domain
        self.parameters: Mapping[str, Any] = {}
        self.backward: Backward = _no_backward
        # As backward, but a cotangent of 0 gives 0 where the derivative is not finite.
        self.guarded: Backward = _no_backward
        # As backward, but products are added to gradients that have arrived already.
        self.adding: Backward | None = None
        # How gradients are added to what is there: that of the only input, or those of several.
        self.add: Callable[..., Any] | None = None
        self.accumulate: Callable[..., Any] | None = None
        # How a cotangent is changed, in place, into the gradient of the first input.
        self.overwrite: Callable[..., Any] | None = None
        # Whether it reads an array at a key, and can add at many keys as at one.
        self.reads = False
        # Whether a call with these saved values leaves elements of its inputs out.
        self.masks: Callable[[Node], bool] | None = None
        # Whether an output that nothing depends on has None for its cotangent, and not zeros.
        self.optional = False
        # One output, and nothing but a backward function: the engine's usual case.
        self.simple = True
        self.saved_names: tuple[str, ...] = ()
        self.sources: tuple[Source, ...] = ()
        # Where a node's edges begin, and what takes the place of its op and saved values when they
        # are freed: an op whose derivative is an error, which knows the op that it stands for.
        self.first = FIRST
        self.freed: tuple[Any, ...] | None = None
        self.origin: Call | None = None
        # Whether this stands for one call, and not for all calls of an op.
        self.single = single
        self.hooks: ActiveHooks | None = None
        self._location: str | None = None
        # While the forward call runs, its place can be found.
        self.location_sought = False
        self._observed_kind: type[Call] | None = None
        self._freed_kind: type[Call] | None = None

    def saves(self, names: Sequence[str], sources: Sequence[Source]) -> None:
        """Say what nodes of this op save: names, and what each value is."""
        self.saved_names = tuple(names)
        self.sources = tuple(sources)
        self.first = FIRST + len(self.saved_names)

    def becomes(self, attribute: str, function: Callable[..., Any]) -> None:
        """Set a function of this call and of its copies."""
        setattr(self, attribute, function)
        if self._observed_kind is not None:
            setattr(self._observed_kind, attribute, staticmethod(function))

    # Copies share everything with this call as attributes of a class, which is made when the first
    # one is needed: they are made for each op while a plugin looks at ops, and have to be cheap.

    def observed(self, parameters: Mapping[str, Any]) -> Call:
        """Return a copy for one call that hooks observe; it is freed by a name of its own."""
        kind = self._observed_kind
        if kind is None and not self.single:
            self._freed_kind = self._kind({"origin"}, **_FREED)
            kind = self._observed_kind = self._kind(_OF_ONE_CALL, freed=None)
        call: Call = self if kind is None else _new(kind)
        call.parameters = parameters
        call.location_sought = True
        call._location = None
        return call

    def when_freed(self) -> tuple[Any, ...]:
        """Return what takes the place of a node's op and saved values when they are freed."""
        if self.freed is not None:
            return self.freed
        if self._freed_kind is None:
            freed = Call(self.name, self.chapter, self.domain)
            freed.saved_names, freed.sources = self.saved_names, self.sources
            freed.backward, freed.guarded, freed.first = _was_freed, _was_freed, self.first
        else:
            freed = object.__new__(self._freed_kind)
        freed.origin = self
        return freed, *(None,) * len(self.saved_names)

    def _kind(self, own: Set[str], **changes: Any) -> type[Call]:
        """Return a class whose instances share all that is not their ``own`` with this call."""
        shared = {name: getattr(self, name) for name in Call.__slots__} | changes
        body = {
            name: staticmethod(value) if callable(value) else value
            for name, value in shared.items()
            if name not in own
        }
        return type("Call", (Call,), body)

    @property
    def location(self) -> str | None:
        """Where the user's code called the op, or None if no hook asked for it in time."""
        if self.location_sought and self._location is None:
            self._location = _caller(sys._getframe(1))
        return self._location

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


_new = object.__new__
_OF_ONE_CALL = {"_location", "location_sought", "parameters"}


def _was_freed(g: Any, node: Node, xp: Any = None) -> Any:
    raise FreedGraphError(
        f"the values that {node[OP].name!r} saved were freed by an earlier backward pass; pass "
        "retain_graph=True to that pass if the graph is needed again"
    )


_FREED = {
    "backward": _was_freed,
    "guarded": _was_freed,
    "adding": None,
    "masks": None,
    "add": None,
    "accumulate": None,
    "overwrite": None,
    "simple": True,
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
