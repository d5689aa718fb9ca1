"""The thread that communicates while a pass goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from time import perf_counter
from typing import Any

__all__ = ["Sending"]


class Sending:
    """A thread that does one job after the other; after one that failed, all others fail like it.

    Attributes
    ----------
    events : list of tuple
        What was done: a name, when it started and stopped by ``time.perf_counter``, and how many
        bytes it sent.
    """

    def __init__(self, name: str) -> None:
        self.events: list[tuple[str, float, float, int]] = []
        self._error: BaseException | None = None
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, name: str, nbytes: int, job: Callable[..., Any], *arguments: Any) -> Any:
        """Let a job be done after those before it; return its future."""
        future: Future[Any] = Future()
        self._jobs.put((future, name, nbytes, job, arguments))
        return future

    def end(self) -> None:
        """End the thread when all jobs are done, and wait for that."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (item := self._jobs.get()) is not None:
            future, name, nbytes, job, arguments = item
            start = perf_counter()
            try:
                if self._error is not None:
                    raise self._error
                result = job(*arguments)
            except BaseException as error:  # it is raised where someone waits for the job
                self._error = error
                future.set_exception(error)
            else:
                self.events.append((name, start, perf_counter(), nbytes))
                future.set_result(result)
            del item, future, job, arguments  # gradients are not kept until the next one
