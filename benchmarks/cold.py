"""What a program that runs once waits for: imports, and what is done at the first call of each."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence

from benchmarks.children import ONE_THREAD

__all__ = ["PROGRAMS", "STAGES", "cold"]

STAGES = (
    "import",
    "first gradient",
    "second call",
    "first Hessian",
    "import scipy.special",
    "first special function",
)

# For each library, a statement for each stage. ``f`` is a function of ten ops, of ``xp`` and x.
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "agnograd": (
        "import agnograd as ag; xp = ag.namespace('numpy')",
        "ag.grad(f)(x)",
        "ag.grad(f)(x)",
        "ag.hessian(f)(x)",
        "import scipy.special",
        "ag.grad(lambda x: xp.sum(xp.special.gammaln(x)))(x)",
    ),
    "autograd": (
        "import autograd, autograd.numpy as xp",
        "autograd.grad(f)(x)",
        "autograd.grad(f)(x)",
        "autograd.hessian(f)(x)",
        "import scipy.special",
        "import autograd.scipy.special as s; autograd.grad(lambda x: xp.sum(s.gammaln(x)))(x)",
    ),
    "jax": (
        "import jax, jax.numpy as xp; jax.config.update('jax_platforms', 'cpu')",
        "jax.block_until_ready(jax.grad(f)(x))",
        "jax.block_until_ready(jax.grad(f)(x))",
        "jax.block_until_ready(jax.hessian(f)(x))",
        "import scipy.special",
        "jax.grad(lambda x: xp.sum(jax.scipy.special.gammaln(x)))(x)",
    ),
    "torch": (
        "import torch as xp; x = xp.tensor(x, requires_grad=True)",
        "xp.autograd.grad(f(x), x)",
        "xp.autograd.grad(f(x), x)",
        "xp.autograd.functional.hessian(f, x)",
        "import scipy.special",
        "xp.autograd.grad(xp.sum(xp.special.gammaln(x)), x)",
    ),
}

_BEGINNING = """
import json, time
import numpy as np

x = np.linspace(0.1, 0.9, 10)


def f(x):
    return xp.sum(xp.exp(-x * x) * xp.sin(3.0 * x) + xp.tanh(x) / (1.0 + x * x))


times = []
"""
_STAGE = """
start = time.process_time()
{}
times.append(time.process_time() - start)
"""


def cold(names: Sequence[str], rounds: int) -> tuple[dict[str, dict[str, float]], list[str]]:
    """Return milliseconds of the processor for each stage of each library, and who is left out.

    They are medians over processes, which take turns. A first process of each does not count: it
    compiles to bytecode.
    """
    times: dict[str, list[list[float]]] = {name: [] for name in names}
    left_out = []
    for i in range(rounds + 1):
        for name in list(times):
            found = _times(name)
            if isinstance(found, str):
                left_out.append(f"{name} is left out: {found}")
                del times[name]
            elif i:
                times[name].append(found)
    medians = {
        name: [statistics.median(each) * 1e3 for each in zip(*rows, strict=True)]
        for name, rows in times.items()
    }
    return {name: dict(zip(STAGES, row, strict=True)) for name, row in medians.items()}, left_out


def _times(name: str) -> list[float] | str:
    """Run a library's program in a new process; return its times, or which module is missing."""
    stages = "".join(_STAGE.format(statement) for statement in PROGRAMS[name])
    program = f"{_BEGINNING}{stages}print(json.dumps(times))"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**environment, **ONE_THREAD},
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1]
        if last.startswith("ModuleNotFoundError"):
            return last.partition(": ")[2]
        raise RuntimeError(f"the cold start of {name} failed: {last}")
    times: list[float] = json.loads(done.stdout)
    return times
