"""States as decorators: of functions, coroutines and generators of both kinds."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractContextManager
from copy import copy
from functools import partial, wraps
from operator import call
from typing import Any

from agnograd._hooks.state import current_mode, set_mode

State = AbstractContextManager[Any]


def decorated(state: State, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of which every call runs in a state.

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
    kind = next((kind for is_one, kind in kinds.items() if is_one(told)), _function)
    return wraps(function)(kind(state, function))


def _function(state: State, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outer = current_mode()
        try:
            with state:
                return function(*args, **kwargs)
        finally:
            set_mode(outer)

    return wrapper


def _generator(state: State, function: Callable[..., Any]) -> Callable[..., Any]:
    run = _function(state, call)

    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        running = function(*args, **kwargs)
        step: Callable[[], Any] = partial(next, running)
        while True:
            try:
                value = run(step)
            except StopIteration as end:
                return end.value
            try:
                step = partial(running.send, (yield value))
            except GeneratorExit:
                run(running.close)
                raise
            except BaseException as error:
                step = partial(running.throw, error)

    return generator


def _coroutine(state: State, function: Callable[..., Awaitable[Any]]) -> Callable[..., Any]:
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        # What waits may be closed in another context, as by the garbage collector. There the state
        # was not entered, and each call has one of its own, so that it leaves that of no other.
        own = copy(state)
        try:
            with own:
                return await function(*args, **kwargs)
        finally:
            own.__exit__(None, None, None)  # where an interrupt kept it from being left

    return coroutine


def _async_generator(state: State, function: Callable[..., Any]) -> Callable[..., Any]:
    run = _coroutine(state, call)

    async def async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        running = function(*args, **kwargs)
        step: Callable[[], Any] = running.__anext__
        while True:
            try:
                value = await run(step)
            except StopAsyncIteration:
                return
            try:
                step = partial(running.asend, (yield value))
            except GeneratorExit:
                await run(running.aclose)
                raise
            except BaseException as error:
                step = partial(running.athrow, error)

    return async_generator
