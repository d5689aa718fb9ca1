"""The state of a thread or task: whether ops are recorded, and which hooks are active."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from agnograd._graph.nodes import OP, Edge, Node

if TYPE_CHECKING:
    from agnograd._graph.calls import Call

Kept = Callable[..., tuple[Any, ...]]
Memo = Callable[["Call", Callable[..., Any]], Callable[..., Any]]


class Recorder:
    """What is notified of every node; this one keeps each as it is, for who needs the graph."""

    pushes = False  # whether tangents go along, also through views that are taken again

    def __call__(self, node: Node, out: Any, *call: Any) -> Any:
        """Take note of a node, and of its call: see ``Mode.recorded``.

        Return the node, of which others are notified, too, or what stands in its place: one node,
        or one for each of several results. If it is None, the node stays, and no other is notified.
        """
        return node

    def commits(self, leaves: Iterable[Edge]) -> None:
        """Take note that gradients are about to be added to those that leaves hold."""


class Mode:
    """One level of state; leaving it restores ``outer``, the level that it was entered on.

    ``owner`` is what entered it, and leaves it: an interrupt may keep others from leaving theirs,
    which then end with it. ``hooks`` are the active plugins, and ``observers`` the same if one of
    them looks at ops. ``kept``, while gradient managers are active, replaces by None the nodes of
    inputs that depend on nothing that a manager attached. ``tape`` is notified of every node.
    ``memo`` gives what is called in place of an op's kernel, and may know the result already.
    ``watches`` says whether anyone needs to be notified of nodes at all, ``looks`` whether ops are
    computed by ``compute``, ``usual`` whether ops are recorded and neither is so, and ``whole``
    whether ops of levels below are left to ``level``. ``inside`` says whether a function that is
    being transformed runs, ``level`` is the domain that stands on others in which it runs, if there
    is one, and ``beneath`` is the state in which that was entered: its ``kept`` and ``tape`` are of
    the nodes of domains below. ``batch_size`` is the number of members where these compute an op of
    many. ``closing`` is what ends with this object.
    """

    # Each op looks at some of these: without slots a small gradient takes 2 % longer.
    __slots__ = (
        "__weakref__",
        "batch_size",
        "beneath",
        "closing",
        "hooks",
        "inside",
        "kept",
        "level",
        "looks",
        "memo",
        "observers",
        "outer",
        "owner",
        "recording",
        "tape",
        "usual",
        "watches",
        "whole",
    )

    def __init__(
        self,
        recording: bool,
        hooks: Any,
        outer: Mode | None,
        kept: Kept | None = None,
        tape: Recorder | None = None,
        inside: bool = False,
        owner: object = None,
        level: Any = None,
        beneath: Mode | None = None,
        memo: Memo | None = None,
    ) -> None:
        self.level = level
        self.memo = memo
        self.beneath = beneath
        self.recording = recording
        self.outer = outer
        self.kept = kept
        self.tape = tape
        self.inside = inside
        self.owner = owner
        self.batch_size: int | None = None if outer is None else outer.batch_size
        self.closing: ExitStack | None = None
        self.activate(hooks)

    def activate(self, hooks: Any) -> None:
        """Set which plugins are active."""
        self.hooks = hooks
        self.observers = hooks if hooks is not None and hooks.observe_ops else None
        packs = hooks is not None and hooks.has("save_value")
        self.watches = packs or self.tape is not None
        # What runs at a level may take over the ops of levels below, also of arrays from outside.
        self.whole = None if self.level is None else self.level.backend.taking_over
        self.looks = self.observers is not None or self.kept is not None
        self.looks |= self.whole is not None or self.memo is not None
        if self.beneath is not None:
            self.watches |= self.beneath.watches
            self.looks |= self.beneath.looks
        self.usual = self.recording and not (self.watches or self.looks)

    def of(self, level: int) -> Mode:
        """Return the state whose ``kept`` and ``tape`` are of the nodes of a level."""
        mode = self
        while mode.beneath is not None and mode.level is not None and level < mode.level.level:
            mode = mode.beneath
        return mode

    def compute(
        self,
        op: Call,
        kernel: Callable[..., Any],
        arguments: tuple[Any, ...],
        inputs: tuple[Any, ...],
        parameters: dict[str, Any],
        nodes: tuple[Any, ...],
    ) -> tuple[Call, Any, tuple[Any, ...]]:
        """Compute an op where plugins look at it, or gradient managers are active.

        ``kernel`` computes it on ``arguments``. For hooks, ``inputs`` are the raw arrays among
        these, and ``parameters`` the options by name; ``nodes`` made the inputs. Return the op as
        hooks saw it, the raw result, and the nodes of the inputs that are recorded.
        """
        own = self if self.beneath is None else self.of(op.domain.level)
        if own.memo is not None:
            kernel = own.memo(op, kernel)
        if self.observers is None:
            out = kernel(*arguments)
        elif op.domain.level:
            backend: Any = op.domain.backend  # an interpretation
            call = (op, kernel, arguments, inputs, parameters)
            op, out = backend.observed(self.observers.forward, *call)
        else:
            if self.batch_size is not None:
                op = op.variant(f"{self.batch_size} members", batch_size=self.batch_size)
            op, out = self.observers.forward(op, kernel, arguments, inputs, parameters)
        if own.kept is not None and self.recording:
            nodes = own.kept(*nodes)
        return op, out, nodes

    def recorded(self, node: Node, out: Any, *call: Any) -> Any:
        """Tell those who watch of a node, and of its raw result; return what stands for the result.

        ``call``, for ops of op sets, is the op, its raw inputs, and its options by name.
        """
        tape = self.tape if self.beneath is None else self.of(node[OP].domain.level).tape
        known = node if tape is None else tape(node, out, *call)
        if known is not node:
            return node if known is None else known
        if self.hooks is not None and self.hooks.has("save_value"):
            self.hooks.save(node)
        return node


# Whether this process computes in the simple way that the fast one is held against: see
# ``agnograd._engine.reference``.
REFERENCE = os.environ.get("AGNOGRAD_REFERENCE", "0") not in ("", "0")

# None is the usual state (recording, no hooks), so that an op pays for only one test. A process
# with AGNOGRAD_PLUGINS starts in a state of its own, whose hooks
# agnograd._hooks.activation fills in.
_named = os.environ.get("AGNOGRAD_PLUGINS", "").split(",")
PROCESS_PLUGINS = [name.strip() for name in _named if name.strip()]
initial_mode = Mode(True, None, None) if PROCESS_PLUGINS else None
_MODE: ContextVar[Mode | None] = ContextVar("agnograd_mode", default=initial_mode)
current_mode, set_mode = _MODE.get, _MODE.set

# What a hook itself computes is neither recorded nor observed.
QUIET = Mode(False, None, None)


def is_grad_enabled() -> bool:
    """Return whether this thread and task records ops that have a tracked input."""
    mode = current_mode()
    return mode is None or mode.recording


class HookHandle:
    """A registered gradient hook; ``remove()`` removes it."""

    def __init__(self, hooks: dict[int, Callable[[Any], Any]], key: int) -> None:
        self._hooks, self._key = hooks, key

    def __repr__(self) -> str:
        return f"<hook on a gradient, {'active' if self._key in self._hooks else 'removed'}>"

    def remove(self) -> None:
        """Remove the hook; removing it twice does nothing."""
        self._hooks.pop(self._key, None)
