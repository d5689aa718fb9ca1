"""States as decorators: of functions, coroutines and generators of both kinds."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractContextManager
from copy import copy
from typing import Any, TypeVar

from agnograd._hooks.state import current_mode, set_mode

State = AbstractContextManager[Any]
F = TypeVar("F", bound=Callable[..., Any])


def decorated(state: State, function: F) -> F:
    """Return a function of which every call runs in a state."""
    # Of an object that is called, it is its method that says what it is.
    told = (
        function
        if inspect.isroutine(function) or isinstance(function, functools.partial)
        else type(function).__call__
    )
    if inspect.iscoroutinefunction(told):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            own = copy(state)
            try:
                with own:
                    return await function(*args, **kwargs)
            finally:
                _leave(own)

        return coroutine  # type: ignore[return-value]
    if inspect.isasyncgenfunction(told):
        return _async_generator(state, function)  # type: ignore[return-value]
    if inspect.isgeneratorfunction(told):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            return (yield from _steps(state, function(*args, **kwargs)))

        return generator  # type: ignore[return-value]

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return _call(state, function, args, kwargs)

    return wrapper  # type: ignore[return-value]


def _call(
    state: State, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    outer = current_mode()
    try:
        with state:
            return function(*args, **kwargs)
    finally:
        set_mode(outer)


def _leave(own: State) -> None:
    """Leave a state that an interrupt kept from being left; otherwise this does nothing.

    What waits may be closed in another context, as by the garbage collector. There the state was
    not entered, and each call has one of its own, so that it leaves that of no other call.
    """
    own.__exit__(None, None, None)


def _steps(state: State, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Run a generator with the state entered while it runs, and left while it waits."""
    step: Callable[[], Any] = functools.partial(next, generator)
    while True:
        outer = current_mode()
        try:
            with state:
                value = step()
        except StopIteration as end:
            return end.value
        finally:
            set_mode(outer)
        try:
            step = functools.partial(generator.send, (yield value))
        except GeneratorExit:
            _call(state, generator.close, (), {})
            raise
        except BaseException as error:
            step = functools.partial(generator.throw, error)


def _async_generator(state: State, function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate an asynchronous generator: as ``_steps``, of which it has no ``yield from``."""

    @functools.wraps(function)
    async def async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        generator, own = function(*args, **kwargs), copy(state)
        step: Awaitable[Any] = anext(generator)
        while True:
            try:
                with own:
                    value = await step
            except StopAsyncIteration:
                return
            finally:
                _leave(own)
            try:
                step = generator.asend((yield value))
            except GeneratorExit:
                try:
                    with own:
                        await generator.aclose()
                finally:
                    _leave(own)
                raise
            except BaseException as error:
                step = generator.athrow(error)

    return async_generator
