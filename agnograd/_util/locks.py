"""Locks that are free in a forked child, where the thread that held one does not exist."""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

_locks: WeakSet[Lock] = WeakSet()
_Reentrant: Any = type(threading.RLock())  # written in C: no signal comes between its calls


class Lock(_Reentrant):  # type: ignore[misc]
    """A lock that the thread which holds it may take again, like ``threading.RLock``.

    If a process forks while another thread holds a lock, the child would wait for it forever,
    because that thread does not exist in the child. So this lock is free in every child. An object
    with a lock as an attribute can be pickled and deep-copied: the copy has its own lock.

    Examples
    --------
    >>> from agnograd.extend import Lock
    >>> lock = Lock()
    >>> with lock:
    ...     pass
    """

    def __init__(self) -> None:
        super().__init__()
        _locks.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Lock, ()


def _free_all() -> None:
    for lock in tuple(_locks):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(after_in_child=_free_all)
