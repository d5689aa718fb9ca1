"""How long imports take, each in a new process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

__all__ = ["STATEMENTS", "imports"]

STATEMENTS = {
    "numpy": "import numpy",
    "agnograd": "import agnograd",
    "agnograd and a namespace": "import agnograd; agnograd.namespace('numpy')",
}


def imports(rounds: int) -> dict[str, float]:
    """Return milliseconds for each statement, more than an empty program takes.

    They are medians of rounds in which the programs take turns, after one that does not count: it
    compiles to bytecode.
    """
    programs = {"nothing": "pass", **STATEMENTS}
    times: dict[str, list[float]] = {name: [] for name in programs}
    for i in range(rounds + 1):
        for name, program in programs.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True)
            if i:
                times[name].append(time.perf_counter() - start)
    nothing = statistics.median(times["nothing"])
    return {name: (statistics.median(times[name]) - nothing) * 1e3 for name in STATEMENTS}
