"""A call of an op on one backend: what hooks see of it, what it computes with, what it saves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from types import FrameType
from typing import Any, NamedTuple

from agnograd._graph.nodes import FIRST, OP, Node, NoOp
from agnograd._plugins.backend import Backend, RawDomain
from agnograd._plugins.entry_points import OWN
from agnograd.errors import FreedGraphError

# For each edge of a node: the edge, and the gradient for it or None.
Pairs = Sequence[tuple[Any, Any]]
Backward = Callable[..., Pairs]
# What a saved value is: the input of this number, "out" (or which of several outputs), "each" of a
# sequence of inputs, an array that is "constant" or of "unknown" origin, the names of "attributes";
# None for what is not an array.
Source = int | str | tuple[Any, ...] | None


class Compiled:
    """What all calls of an op on one backend, and all variants of it, compute gradients with."""

    # The gradients of the inputs. As guarded, a cotangent of 0 gives 0 where the derivative is not
    # finite; of_ones is for raw arrays, and a cotangent all of whose elements are a real 1.
    backward: Backward
    guarded: Backward
    of_ones: Backward
    guards = False  # whether guarded differs from backward
    # As backward, where a cotangent and its gradients are one number for all elements; else None.
    of_uniform: Callable[[Any, Node], Pairs | None] | None = None
    # Of an element-wise op, for each input: whether its rule computes anything.
    works: tuple[bool, ...] | None = None
    # How gradients are added to what is there: that of the only input, or those of several.
    add: Callable[..., Any] | None = None
    accumulate: Callable[..., Any] | None = None
    # How a cotangent is changed, in place, into the gradient of the first input.
    overwrite: Callable[..., Any] | None = None
    optional = False  # whether an unused output has None for its cotangent, and not zeros
    by_rules = False  # whether what computes gradients is written in the standard
    negates = False  # whether nodes begin with a reference to a large array, whose negative it is
    gone = False  # whether the saved values were freed

    def __init__(self, chapter: str) -> None:
        self.chapter = chapter
        self.variants: dict[Any, Call] = {}

    @cached_property
    def freed(self) -> Compiled:
        """What calls compute with whose saved values were freed: there is only an error."""
        freed = Compiled(self.chapter)
        freed.backward = freed.guarded = _was_freed
        freed.gone = True  # without a reference to itself, which would be garbage to collect
        return freed


class Plan(NamedTuple):
    """What nodes of an op save: names, and what each value is."""

    names: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    masks: Callable[[Node], bool] | None = None  # whether a node's op left elements out
    whole: Call | None = None  # whose nodes save all that rules name, if these do not


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
    batch_size : int or None
        How many members of ``vmap`` lie along the first axis of its arrays.
    backend : Backend
        The backend that the op runs on. If the call moves arrays, the backend of its results.
    """

    # Most often one stands for all calls of an op. It has what a pass asks every node for, no more.
    __slots__ = (
        "__weakref__",  # plugins keep what belongs to a call in a WeakKeyDictionary
        "batch_size",
        "compiled",
        "domain",
        "first",  # where a node's edges begin
        "found_location",
        "freed",  # what replaces a node's op and saved values; None if it is in only one node
        "hooks",  # the plugins that packed saved values, and restore them
        "location_sought",  # while the forward call runs, its place can be found
        "name",
        "parameters",
        "plan",
        "reads",  # 0, or where the array is of which it read one element: gradients may wait
        "step",  # of a pass in which nobody looks at gradients; None if the op needs more than that
        "turn",  # whether nodes have one in a pass: those that read one element need none
    )
    began = NoOp.began

    def __init__(self, name: str, chapter: str, domain: RawDomain) -> None:
        self.name, self.compiled = name, Compiled(chapter)
        self.domain: Any = domain
        self.parameters: Mapping[str, Any] = {}
        self.step: Callable[..., Any] | None = None
        self.freed: tuple[Any, ...] | None = None
        self.hooks: Any = None
        self.reads, self.turn, self.location_sought = 0, True, False
        self.found_location: str | None = None
        self.batch_size: int | None = None
        self.saves(Plan())

    def saves(self, plan: Plan) -> None:
        """Say what nodes save."""
        self.plan, self.first = plan, FIRST + len(plan.names)

    def share(self) -> None:
        """Stand for all calls of the op that no hook observes, once all but functions is known."""
        gone = copy(self)
        self.freed = gone.freed = gone.when_freed()

    def observed(self, parameters: Mapping[str, Any]) -> Call:
        """Return what stands for one call that hooks observe: one is made for each of them."""
        call = _new(Call)
        call.name, call.domain, call.compiled = self.name, self.domain, self.compiled
        call.plan, call.first, call.step = self.plan, self.first, self.step
        call.reads, call.turn = 0, True
        call.freed = call.hooks = call.found_location = None
        call.parameters, call.location_sought = parameters, True
        call.batch_size = self.batch_size
        return call

    def when_freed(self) -> tuple[Any, ...]:
        """Return what replaces a node's op and saved values when they are freed.

        A call that is in only one node changes itself, since hooks are to see one object.
        """
        if self.freed is not None:
            return self.freed
        self.compiled, self.step = self.compiled.freed, None
        return self, *(None,) * (self.first - FIRST)

    def reading_leaf(self) -> Call:
        """Return what stands for calls that read one element of a leaf: nodes keep only the key."""
        call, whole = Call(self.name, self.chapter, self.domain), self.compiled
        call.saves(Plan(self.plan.names[:1], self.plan.sources[:1], whole=self))
        call.share()
        raw, own = self.domain.raw, call.compiled
        own.by_rules = True
        own.backward = lambda g, node, xp=raw: whole.backward(g, in_full(node), xp)
        own.guarded = lambda g, node, xp=raw: whole.guarded(g, in_full(node), xp)
        own.add = lambda g, node, into: whole.add(g, in_full(node), into)  # type: ignore[misc]
        call.reads, call.turn = call.first, False
        return call

    def watched(self) -> Call:
        """Return, or become, what stands for calls whose results' gradients someone watches."""
        if self.step is None and not self.reads:
            return self
        return self.variant("watched", reads=0, turn=True, step=None)

    def variant(self, name: str, **other: Any) -> Call:
        """Return a call with other attributes, one for all; one that is in one node becomes it."""
        known, key = self.compiled.variants, (name, self.hooks)
        if self.freed is not None and key in known:
            return known[key]
        call = self if self.freed is None else copy(self)
        for attribute, value in other.items():
            setattr(call, attribute, value)
        return call if call is self else known.setdefault(key, call)

    @property
    def chapter(self) -> str:
        """The op's chapter."""
        return self.compiled.chapter

    @property
    def location(self) -> str | None:
        """Where the user's code called the op, or None if no hook asked for it in time."""
        if self.location_sought and self.found_location is None:
            self.found_location = _caller(sys._getframe(1))
        return self.found_location

    @property
    def backend(self) -> Backend:
        """The backend that the op runs on."""
        backend: Backend = self.domain.backend
        return backend

    def unpack(self, saved: Sequence[Any]) -> Sequence[Any]:
        """Return saved values as they were before a ``save_value`` hook packed them."""
        return saved if self.hooks is None else self.hooks.restore(saved)

    def __repr__(self) -> str:
        return f"<op {self.name} on {self.backend.name}>"


_new = object.__new__
_OPS = "._codegen.plain", "._functions.derivative"  # modules where ops run, beside generated code


def note(error: BaseException, op: Call) -> None:
    """Add to an error that it came up in the backward pass, and at which op."""
    place = "agnograd: in the backward pass, at op"
    if not any(each.startswith(place) for each in getattr(error, "__notes__", ())):
        error.add_note(f"{place} {op.name!r}")


def in_full(node: Node) -> Node:
    """Return a node with all that its rules name: one that reads a leaf is made so."""
    whole = node[OP].plan.whole
    if whole is None:
        return node
    *start, key, leaf = node  # which has its facts: an element was read
    return [*start[:OP], whole, key, *leaf.facts, leaf]


def _was_freed(g: Any, node: Node, xp: Any = None) -> Any:
    raise FreedGraphError(
        f"the values that {node[OP].name!r} saved were freed by an earlier backward pass; pass "
        "retain_graph=True to that pass if the graph is needed again"
    )


def _caller(frame: FrameType | None) -> str | None:
    """Return the first place outside of agnograd above the op's own function."""
    seen_op = False
    while frame is not None:
        code, name = frame.f_code, frame.f_globals.get("__name__", "")
        made = code.co_filename.startswith("<agnograd ") or name.startswith("agnograd.ops.")
        if made or f"{name}.".startswith(OWN):
            seen_op = seen_op or made or name.endswith(_OPS)
        elif seen_op:
            return f"{code.co_filename}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
    return None
