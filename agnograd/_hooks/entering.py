"""Entering a state, for a block of code or as a decorator: ``no_grad`` and the like."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import ExitStack
from functools import partial, wraps
from typing import Any, TypeVar

from agnograd._graph.nodes import RANK, Node, maker_of
from agnograd._graph.paths import reachable
from agnograd._hooks.state import Kept, Memo, Mode, Recorder, current_mode, set_mode
from agnograd._util.deferred import later

F = TypeVar("F", bound=Callable[..., Any])
_USUAL = Mode(True, None, None)


class entered:  # noqa: N801 - used as a statement: with entered(...)
    """Enter a state: a context manager that leaves everything that it is not given as it is."""

    __slots__ = ("_domain", "_hooks", "_inside", "_kept", "_memo", "_recording", "_tape")

    def __init__(
        self,
        recording: bool | None = None,
        hooks: bool = True,
        kept: Kept | None = None,
        tape: Recorder | None = None,
        inside: bool = False,
        level: Any = False,
        memo: Memo | None = None,
    ) -> None:
        self._domain = level
        self._memo = memo
        self._recording = recording
        self._hooks = hooks
        self._kept = kept
        self._tape = tape
        self._inside = inside

    # The state that is restored lives in the Mode that was entered, not here: one object can
    # be entered many times, nested, and in many threads.
    # An interrupt may come between any two calls, so that a block is never entered, or not left:
    # what is restored does not depend on the state that is found.
    def __enter__(self) -> Any:
        outer = current_mode()
        level = self.level_inside(outer)
        try:
            set_mode(level)
        except BaseException:
            set_mode(outer)
            raise

    def level_inside(self, outer: Mode | None) -> Mode:
        """Return a new level inside another one."""
        around = outer or _USUAL
        level = around.level if self._domain is False else self._domain
        state, beneath = around, around.beneath
        if level is not around.level:
            state = around.of(0 if level is None else level.level)
            beneath = state.beneath
            if level is not None and level.level > (state.level.level if state.level else 0):
                state, beneath = _USUAL, around  # what is entered around is of what is below
        return Mode(
            recording=around.recording if self._recording is None else self._recording,
            hooks=around.hooks if self._hooks else None,
            outer=outer,
            kept=self._kept or state.kept,
            tape=self._tape or state.tape,
            inside=self._inside or around.inside,
            owner=self,
            level=level,
            beneath=beneath,
            # What is hidden from hooks is not counted.
            memo=self._memo or (state.memo if self._hooks else None),
        )

    def __exit__(self, *error: Any) -> None:
        found, mode = False, None
        try:
            inner = mode = current_mode()
            found = True
            while mode is not None and mode.owner is not self:
                mode = mode.outer  # what is inside was not left
            if mode is None:
                return  # it was left already, or entered in another context, as by a generator
            set_mode(mode.outer)
            if inner is not mode or mode.closing is not None:
                _close(inner, mode.outer, error)
        except BaseException:
            if not found or current_mode() is inner:  # an interrupt came first
                self.__exit__(*error)
            elif mode is not None:
                _close(inner, mode.outer, error)  # what was not closed
            raise

    def __call__(self, function: F) -> F:
        """Decorate: every call of a function, coroutine or generator runs in this state.

        A generator runs in it, and leaves it while it waits.
        """
        # Of an object that is called, it is its method that says what it is.
        plain = inspect.isroutine(function) or isinstance(function, partial)
        told = function if plain else type(function).__call__
        kinds = {
            inspect.iscoroutinefunction: _coroutine,
            inspect.isasyncgenfunction: _async_generator,
            inspect.isgeneratorfunction: _generator,
        }
        decorate = next((kind for is_one, kind in kinds.items() if is_one(told)), _function)
        return wraps(function)(decorate(self, function))  # type: ignore[return-value]


def _close(inner: Mode | None, outer: Mode | None, error: tuple[Any, ...]) -> None:
    """End what is to end with some levels, the innermost first, whatever one of them raises."""
    with ExitStack() as stack:
        levels = []
        while inner is not outer and inner is not None:
            levels.append(inner)
            inner = inner.outer
        for level in reversed(levels):
            if level.closing is not None:
                stack.push(level.closing)
        stack.pop_all().__exit__(*error)


# What is decorated can be pickled together with its function: it refers to these by their names.
def _call(state: entered, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    outer = current_mode()
    try:
        with state:
            return function(*args, **kwargs)
    finally:
        set_mode(outer)


async def _awaited(
    state: entered, function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    from copy import copy  # few programs need it

    # What waits may be closed in another context, as by the garbage collector. There the state was
    # not entered, and each call has one of its own, so that it leaves that of no other call.
    own = copy(state)
    try:
        with own:
            return await function(*args, **kwargs)
    finally:
        own.__exit__(None, None, None)  # where an interrupt kept it from being left


def _function(state: entered, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _call(state, function, *args, **kwargs)

    return wrapper


def _coroutine(state: entered, function: Callable[..., Any]) -> Callable[..., Any]:
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        return await _awaited(state, function, *args, **kwargs)

    return coroutine


def _generator(state: entered, function: Callable[..., Any]) -> Callable[..., Any]:
    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        running = function(*args, **kwargs)
        step: Callable[[], Any] = partial(next, running)
        while True:
            try:
                value = _call(state, step)
            except StopIteration as end:
                return end.value
            try:
                step = partial(running.send, (yield value))
            except GeneratorExit:
                _call(state, running.close)
                raise
            except BaseException as error:
                step = partial(running.throw, error)

    return generator


def _async_generator(state: entered, function: Callable[..., Any]) -> Callable[..., Any]:
    async def async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        running = function(*args, **kwargs)
        step: Callable[[], Any] = running.__anext__
        while True:
            try:
                value = await _awaited(state, step)
            except StopAsyncIteration:
                return
            try:
                step = partial(running.asend, (yield value))
            except GeneratorExit:
                await _awaited(state, running.aclose)
                raise
            except BaseException as error:
                step = partial(running.athrow, error)

    return async_generator


def kept_now() -> Kept | None:
    """Return what drops the nodes that a gradient manager, or a pullback, takes for constants."""
    mode = current_mode()
    return None if mode is None else mode.kept


def recording_since(
    start: int,
    tape: Recorder | None = None,
    also: Iterable[Node | None] = (),
    inside: bool = False,
) -> entered:
    """Return a state that records; gradient managers outside of it let its own nodes pass.

    Its own are those that were made since ``start``, a rank: newer nodes rank lower. ``also`` are
    others that pass.
    """
    outer = kept_now()
    if outer is None:
        return INSIDE if inside and not tape else entered(recording=True, tape=tape, inside=inside)
    # A pass goes through an output to its op.
    ranks = frozenset(e[RANK] for node in also if node is not None for e in (node, maker_of(node)))

    def kept(*nodes: Node | None) -> tuple[Node | None, ...]:
        return tuple(
            node if node is not None and (node[RANK] < start or node[RANK] in ranks) else other
            for node, other in zip(nodes, outer(*nodes), strict=True)
        )

    return entered(recording=True, kept=kept, tape=tape, inside=inside)


def apart_from(outputs: Iterable[Node | None]) -> entered:
    """Return a state that records, and for which all that a run recorded is a constant.

    Then a pass through what a pullback returned ends at its cotangents: it does not go on into the
    run, which it would free although the pullback may be called again.
    """
    outer = kept_now()
    own = {node[RANK] for node in reachable(outputs)}

    def kept(*nodes: Node | None) -> tuple[Node | None, ...]:
        return tuple(
            None if node is None or node[RANK] in own else node
            for node in (nodes if outer is None else outer(*nodes))
        )

    return entered(recording=True, kept=kept)


# The state in which a function runs that is being transformed, and nobody takes note. Most often it
# is entered around no other. Then it is one object for all threads: a level is changed by nobody
# but those who made it.
INSIDE = entered(recording=True, inside=True)
OUTERMOST = INSIDE.level_inside(None)


def is_inside() -> bool:
    """Return whether a function runs that is being transformed.

    There everything is a Variable: what a nested transformation of raw arrays returns may depend
    on the outer one's arguments, and must stay connected to them.
    """
    mode = current_mode()
    return mode is not None and mode.inside


class _Switch(entered):
    """A state that also decorates without parentheses: ``@no_grad``."""

    __slots__ = ()
    _flag: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        if function is None:
            return super().__new__(cls)
        callable_in = later("agnograd._util.checks", "callable_in")
        name = f"ag.{cls.__name__}"
        callable_in(name, function, f"@{name} before a def, or with {name}(): around a block")
        return cls()(function)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        super().__init__(recording=self._flag)

    def __repr__(self) -> str:
        return f"ag.{type(self).__name__}()"


class no_grad(_Switch):  # noqa: N801 - PyTorch's name
    """Record nothing: a context manager and decorator, with or without parentheses.

    It affects only the current thread or asyncio task. On leaving, it restores the previous state,
    whatever was raised. Only a signal handler that raises in the very moment of leaving, as Ctrl-C
    does, can come first, as for every context manager that is written in Python.

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
    """Record again inside ``no_grad``: a context manager and decorator like it."""

    __slots__ = ()
    _flag = True


class set_grad_enabled(entered):  # noqa: N801 - PyTorch's name
    """Turn recording on or off by a flag: a context manager and decorator.

    Parameters
    ----------
    flag : bool
        Whether ops are recorded.
    """

    __slots__ = ()

    def __init__(self, flag: bool) -> None:
        flag_in = later("agnograd._util.checks", "flag_in")
        super().__init__(recording=flag_in("ag.set_grad_enabled: flag", flag))

    def __repr__(self) -> str:
        return f"ag.set_grad_enabled({self._recording})"
