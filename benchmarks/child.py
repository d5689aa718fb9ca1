"""The process that measures one implementation, when its parent asks.

``python -m benchmarks.child NAME`` reads requests from its standard input, a line of JSON each, and
answers each with a line of JSON on its standard output. Between requests it waits and does nothing.
Times are of the processor, in all threads of the process, where what others do meanwhile does not
count; or by the clock, if the parent asks for that.
It needs NumPy, the implementation's library, and this package, and nothing else.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.workloads import workload_named

__all__ = ["Measured", "module_of"]


def module_of(name: str) -> str:
    """Return the name of the module of an implementation; one with a dot in it is a module."""
    return name if "." in name else f"benchmarks.implementations.by_{name}"


class Measured:
    """An implementation, and the case that it is asked to compute.

    Each public method answers the request of its name.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._run: Callable[[], Any] | None = None

    def load(self) -> dict[str, Any]:
        """Import the implementation; say what it is, or that its library is missing."""
        try:
            self._implementation = importlib.import_module(module_of(self._name))
        except ModuleNotFoundError as error:
            return {"missing": str(error)}
        return {
            "version": self._implementation.version(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "lacks": sorted(self._implementation.LACKS),
            "compiles": getattr(self._implementation, "COMPILES", False),
        }

    def prepare(self, workload: str, sizes: str, gradients: str) -> dict[str, Any]:
        """Compute a case for the first time, and write its derivatives to a file."""
        self._run = None  # the case before may need much memory
        self._case = workload_named(workload).case(sizes)
        self._run = self._implementation.prepare(self._case)
        start = time.process_time()
        found = self._run()
        first = time.process_time() - start
        np.savez(gradients, *[np.asarray(each) for each in found])
        return {"first": first}

    def time(self, budget: float, by_clock: bool = False) -> dict[str, Any]:
        """Compute the case again and again for a while; return the seconds that each call took.

        The call that wakes the process up does not count, unless it takes longer than all of the
        budget.
        """
        clock = time.perf_counter if by_clock else time.process_time
        took = self._seconds(clock)
        if took > budget:
            return {"seconds": [took]}
        seconds = [self._seconds(clock)]
        while sum(seconds) < budget:
            seconds.append(self._seconds(clock))
        return {"seconds": seconds}

    def memory(self) -> dict[str, Any]:
        """Compute the case once; return the most bytes that it held at a time, results included.

        It counts what Python and NumPy allocate, and nothing that there was before, but for the
        buffers that a compiled function keeps.
        """
        assert self._run is not None
        kept = getattr(self._implementation, "kept", lambda case: 0)(self._case)
        for _ in range(3):  # whatever is made but once is there then
            self._run()
        tracemalloc.start()
        try:
            self._run()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        return {"bytes": peak + kept}

    def _seconds(self, clock: Callable[[], float]) -> float:
        assert self._run is not None
        start = clock()
        self._run()
        return clock() - start


def main() -> None:
    """Answer requests until there are no more."""
    # What a library prints is not an answer: it goes to the standard error.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        measured = Measured(sys.argv[1])
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = getattr(measured, request.pop("do"))(**request)
            except Exception as error:
                answer = {"failed": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
