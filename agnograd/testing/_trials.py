"""The trials of a plugin: what is done with it, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agnograd._hooks.activation import hooks
from agnograd.testing._guards import Turns, TurnTaking, Unchanged
from agnograd.testing._programs import PROGRAMS, PlantedError, gradient

__all__ = ["TRIALS"]

Trial = Callable[[object, Any], None]


def _results_stay(plugin: object, xp: Any) -> None:
    for what, program in PROGRAMS.items():
        expected = program(xp)
        with hooks(plugin):
            for _ in range(2):
                _compare(what, program(xp), expected)


def _arrays_stay(plugin: object, xp: Any) -> None:
    with hooks(plugin, Unchanged(xp)):
        for program in PROGRAMS.values():
            program(xp)


def _failing(where: str) -> Trial:
    def trial(plugin: object, xp: Any) -> None:
        expected = gradient(xp)
        with hooks(plugin):
            for _ in range(2):
                _fail(xp, where)
                _compare("the next pass", gradient(xp), expected)

    return trial


def _scopes_nest(plugin: object, xp: Any) -> None:
    expected = gradient(xp)
    with hooks(plugin) as (outer,):
        with hooks(plugin, outer) as (inner, _):
            _compare("inside both", gradient(xp), expected)
        _compare("after the inner one", gradient(xp), expected)
        with hooks(inner):
            _fail(xp, "backward")
        _compare("after an inner one that failed", gradient(xp), expected)
    _compare("after all", gradient(xp), expected)


def _threads_share(where: str | None) -> Trial:
    """Return a trial with two threads, of which the second fails if told to."""

    def trial(plugin: object, xp: Any) -> None:
        expected = gradient(xp)
        with hooks(plugin) as (shared,):
            pass  # an instance, if a name or a class was given
        turns = Turns()

        def work(number: int) -> None:
            with turns.taken(number), hooks(shared, TurnTaking(turns, number)):
                if number == 1 and where is not None:
                    _fail(xp, where)
                else:
                    _compare(f"thread {number}", gradient(xp), expected)

        with ThreadPoolExecutor(2) as threads:
            done = [threads.submit(work, number) for number in range(2)]
        for each in done:
            each.result()

    return trial


def _fail(xp: Any, where: str) -> None:
    """Run a program that fails, and see that its own exception comes out of it."""
    try:
        gradient(xp, where)
    except PlantedError:
        return
    except Exception as error:
        error.add_note(f"it took the place of the exception that the op raised in its {where}")
        raise
    raise AssertionError(f"an op raised in its {where}, and no exception came out")


def _compare(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"{what}: the result is {found}, and {expected} without the plugin")


TRIALS: dict[str, Trial] = {
    "arrays that hooks get": _arrays_stay,
    "first and second derivatives": _results_stay,
    "an op that fails forward": _failing("forward"),
    "an op that fails backward": _failing("backward"),
    "nested scopes": _scopes_nest,
    "two threads": _threads_share(None),
    "two threads, one of which fails forward": _threads_share("forward"),
    "two threads, one of which fails backward": _threads_share("backward"),
}
