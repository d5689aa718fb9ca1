"""Plugins that watch another plugin: what it does to arrays, and to threads that share it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from agnograd._arrays.domains import domain_of
from agnograd._arrays.variable import Variable
from agnograd._graph.calls import Call
from agnograd.hookspecs import hookimpl
from agnograd.testing._recorder import give_hooks

__all__ = ["TurnTaking", "Turns", "Unchanged"]


class Unchanged:
    """Raise if other plugins change an array that a hook gets."""

    def __init__(self, xp: Any) -> None:
        self._domain = domain_of(xp.asarray(0.0))

    @contextmanager
    def _around(self, hook: str, op: Call | None = None, **values: Any) -> Iterator[None]:
        library, types = self._domain.library, self._domain.array_types
        given = [
            (name, each.data if isinstance(each, Variable) else each)
            for name, value in values.items()
            for each in (value if isinstance(value, Sequence) else [value])
        ]
        kept = [
            (name, x, library.asarray(x, copy=True)) for name, x in given if isinstance(x, types)
        ]
        yield
        for name, array, copy in kept:
            # What is undefined differs from itself.
            if not library.all((array == copy) | ((array != array) & (copy != copy))):
                place = f" of op {op.name!r}" if op is not None else ""
                raise AssertionError(f"hook {hook!r} changed an array in `{name}`{place}")


give_hooks(
    Unchanged,
    "with self._around({hook}{given}): return (yield)",
    "op inputs outputs grad_outputs grad_inputs variable grad grads value",
    without="restore_value",
    wrapper=True,
    tryfirst=True,
)


class Turns:
    """Whose turn it is, of two threads of which one runs at a time.

    Parameters
    ----------
    patience : float
        The seconds after which a thread that waits will wait for ever, and says so.
    """

    def __init__(self, patience: float = 10.0) -> None:
        self._patience = patience
        self._changed = threading.Condition()
        self._turn = 0
        self._gone: set[int] = set()

    @contextmanager
    def taken(self, number: int) -> Iterator[None]:
        """Wait for this thread's first turn, and leave all turns to the other in the end."""
        try:
            self._wait(number)
            yield
        finally:
            with self._changed:
                self._gone.add(number)
                self._turn = 1 - number
                self._changed.notify_all()

    def give(self, number: int) -> None:
        """Let the other thread run until it gives the turn back, or ends."""
        with self._changed:
            self._turn = 1 - number
            self._changed.notify_all()
        self._wait(number)

    def _wait(self, number: int) -> None:
        def ours() -> bool:
            return self._turn == number or 1 - number in self._gone

        with self._changed:
            if not self._changed.wait_for(ours, self._patience):
                raise AssertionError(
                    f"the other thread has not come to its next op in {self._patience:g} s: "
                    "it may wait for a lock that the plugin keeps while an op runs"
                )


class TurnTaking:
    """Change threads after every preprocess hook, so that each op runs amid one of the other's."""

    def __init__(self, turns: Turns, number: int) -> None:
        self._turns = turns
        self._number = number

    @hookimpl(trylast=True)
    def forward_preprocess(self) -> None:
        """Give the turn away."""
        self._turns.give(self._number)

    backward_start = backward_preprocess = forward_preprocess
