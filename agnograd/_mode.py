"""The state of a thread or task: whether ops are recorded, and which hooks are active."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator
from contextlib import ExitStack
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from agnograd._graph import Node
    from agnograd._hooks import ActiveHooks

__all__ = [
    "PROCESS_PLUGINS",
    "QUIET",
    "Mode",
    "current_mode",
    "enable_grad",
    "entered",
    "initial_mode",
    "is_grad_enabled",
    "no_grad",
    "recording_since",
    "reset_mode",
    "set_grad_enabled",
    "set_mode",
]

F = TypeVar("F", bound=Callable[..., Any])
Kept = Callable[..., tuple[Any, ...]]


class Recorder(Protocol):
    """What hears of every node: ``append`` says whether others shall hear of it, too."""

    def append(self, node: Node, out: Any, /) -> bool: ...


class Mode:
    """One level of state; leaving it restores ``outer``, the level that it was entered on.

    ``hooks`` are the active plugins, and ``observers`` the same if one of them looks at ops.
    ``kept``, while gradient managers are active, replaces by None the nodes of inputs that depend
    on nothing that a manager attached. ``tape`` hears of every node. ``watches`` says whether
    anyone needs to be told of nodes at all. ``closing`` is what ends with the level.
    """

    __slots__ = ("closing", "hooks", "kept", "observers", "outer", "recording", "tape", "watches")

    def __init__(
        self,
        recording: bool,
        hooks: ActiveHooks | None,
        outer: Mode | None,
        kept: Kept | None = None,
        tape: Recorder | None = None,
    ) -> None:
        self.recording = recording
        self.outer = outer
        self.kept = kept
        self.tape = tape
        self.closing: ExitStack | None = None
        self.activate(hooks)

    def activate(self, hooks: ActiveHooks | None) -> None:
        """Set which plugins are active."""
        self.hooks = hooks
        self.observers = hooks if hooks is not None and hooks.observe_ops else None
        packs = hooks is not None and hooks.has("save_value")
        self.watches = packs or self.tape is not None

    def recorded(self, node: Node, out: Any) -> None:
        """Tell those who watch of a node, and of its raw result."""
        if self.tape is not None and not self.tape.append(node, out):
            return
        if self.hooks is not None and self.hooks.has("save_value"):
            self.hooks.save(node)


# None is the usual state (recording, no hooks), so that an op pays for one test alone. A process
# with AGNOGRAD_PLUGINS starts in a state of its own, whose hooks agnograd._activation fills in.
PROCESS_PLUGINS = [
    n.strip() for n in os.environ.get("AGNOGRAD_PLUGINS", "").split(",") if n.strip()
]
initial_mode = Mode(True, None, None) if PROCESS_PLUGINS else None
_MODE: ContextVar[Mode | None] = ContextVar("agnograd_mode", default=initial_mode)
current_mode = _MODE.get


# What a hook itself computes is neither recorded nor observed.
QUIET = Mode(False, None, None)
set_mode, reset_mode = _MODE.set, _MODE.reset


class entered:  # noqa: N801 - used as a statement: with entered(...)
    """Enter a state: a context manager that leaves everything that it is not given as it is."""

    __slots__ = ("_hooks", "_kept", "_recording", "_tape")

    def __init__(
        self,
        recording: bool | None = None,
        hooks: Callable[[], ActiveHooks | None] | None = None,
        kept: Kept | None = None,
        tape: Recorder | None = None,
    ) -> None:
        self._recording = recording
        self._hooks = hooks
        self._kept = kept
        self._tape = tape

    # The state that is restored lives in the Mode that was entered, not here: one object can
    # be entered many times, nested, and in many threads.
    def __enter__(self) -> None:
        outer = current_mode()
        recording = self._recording
        if recording is None:
            recording = outer is None or outer.recording
        hooks = outer.hooks if outer is not None else None
        if self._hooks is not None:
            hooks = self._hooks()
        kept = self._kept or (outer.kept if outer is not None else None)
        tape = self._tape or (outer.tape if outer is not None else None)
        _MODE.set(Mode(recording, hooks, outer, kept, tape))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        mode = current_mode()
        assert mode is not None
        _MODE.set(mode.outer)

    def __call__(self, function: F) -> F:
        """Decorate: every call of a function, coroutine or generator runs in this state."""
        import inspect

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def coroutine(*args: Any, **kwargs: Any) -> Any:
                with self:
                    return await function(*args, **kwargs)

            return coroutine  # type: ignore[return-value]
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
                return (yield from _steps(self, function(*args, **kwargs)))

            return generator  # type: ignore[return-value]

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]


def _steps(state: entered, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Run a generator with the state entered while it runs, and left while it waits."""
    step: Callable[[], Any] = functools.partial(next, generator)
    while True:
        try:
            with state:
                value = step()
        except StopIteration as end:
            return end.value
        try:
            step = functools.partial(generator.send, (yield value))
        except GeneratorExit:
            with state:
                generator.close()
            raise
        except BaseException as error:
            step = functools.partial(generator.throw, error)


def recording_since(start: int, tape: Recorder | None = None) -> entered:
    """Return a state that records; gradient managers outside of it let its own nodes pass.

    Its own are those that were made since ``start``, a rank: newer nodes rank lower.
    """
    mode = current_mode()
    outer = mode.kept if mode is not None else None
    kept = None if outer is None else functools.partial(_kept_or_newer, outer, start)
    return entered(recording=True, kept=kept, tape=tape)


def _kept_or_newer(outer: Kept, start: int, *nodes: Any) -> tuple[Any, ...]:
    others = outer(*nodes)
    return tuple(
        node if other is not None or (node is not None and node[0] < start) else None
        for node, other in zip(nodes, others, strict=True)
    )


class _Switch(entered):
    """A state that also decorates without parentheses: ``@no_grad``."""

    __slots__ = ()
    _flag: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        switch = super().__new__(cls)
        entered.__init__(switch, recording=cls._flag)
        return switch if function is None else switch(function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        """Take the function to decorate, if the class itself is the decorator."""

    def __repr__(self) -> str:
        return f"ag.{type(self).__name__}()"


class no_grad(_Switch):  # noqa: N801 - PyTorch's name
    """Record nothing: a context manager and decorator, with and without parentheses.

    Per thread and per asyncio task. The state of before is restored on leaving, whatever happens.

    Examples
    --------
    >>> import agnograd as ag
    >>> x = ag.Variable(2.0)
    >>> with ag.no_grad():
    ...     (x * x).requires_grad
    False
    >>> @ag.no_grad
    ... def square(x):
    ...     return x * x
    >>> square(x).requires_grad
    False
    """

    __slots__ = ()
    _flag = False


class enable_grad(_Switch):  # noqa: N801 - PyTorch's name
    """Record again inside of ``no_grad``: a context manager and decorator like it."""

    __slots__ = ()
    _flag = True


class set_grad_enabled(entered):  # noqa: N801 - PyTorch's name
    """Record, or not, by a flag: a context manager and decorator.

    Parameters
    ----------
    flag : bool
        Whether ops are recorded.
    """

    __slots__ = ()

    def __init__(self, flag: bool) -> None:
        super().__init__(recording=bool(flag))

    def __repr__(self) -> str:
        return f"ag.set_grad_enabled({self._recording})"


def is_grad_enabled() -> bool:
    """Return whether ops are recorded in this thread and task, where an input is tracked."""
    mode = current_mode()
    return mode is None or mode.recording
