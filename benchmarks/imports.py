"""How long imports take, each in a new process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

__all__ = ["STATEMENTS", "imports"]

# By what is imported: what a process does before, and what is timed.
STATEMENTS = {
    "numpy": ("", "import numpy"),
    "agnograd": ("", "import agnograd"),
    "agnograd and a namespace, above numpy": (
        "import numpy",
        "import agnograd; agnograd.namespace('numpy')",
    ),
}


def imports(rounds: int) -> dict[str, float]:
    """Return milliseconds of the processor for each statement.

    They are medians of rounds in which the statements take turns, after one that does not count: it
    compiles to bytecode.
    """
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for i in range(rounds + 1):
        for name, (before, statement) in STATEMENTS.items():
            took = _seconds(before, statement)
            if i:
                times[name].append(took)
    return {name: statistics.median(each) * 1e3 for name, each in times.items()}


def _seconds(before: str, statement: str) -> float:
    program = (
        f"import time; {before}\n"
        f"s = time.process_time(); {statement}; print(time.process_time() - s)"
    )
    arguments = [sys.executable, "-c", program]
    # Installed packages come with bytecode: this one shall have its own, too.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(arguments, capture_output=True, check=True, text=True, env=environment)
    return float(done.stdout)
