"""A network trained by two processes: what the mean of their gradients adds to a step.

Each process computes gradients of the same network on a batch of its own, and takes a step of
gradient descent: by agnograd with ``AllReduce`` and the communicator ``local``, and by PyTorch with
``DistributedDataParallel`` over gloo. Both programs are in this file, which the launcher of each
library starts: ``distributed.py FOLDER NAME WIDTH LAYERS BATCH TURNS``. Each process writes what it
measured into a file of its own: lines that several print at once may be mixed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.children import ONE_THREAD, ROOT

__all__ = ["LAUNCHERS", "distributed"]

RATE = 0.01
STEPS = 5  # of each kind in a turn, after two that are not timed
# How two processes are started, by what computes the gradients.
LAUNCHERS = {
    "agnograd": ("agnograd_distributed", "-n", "2"),
    "torch": ("torch.distributed.run", "--standalone", "--nproc-per-node", "2"),
}


def distributed(
    names: Sequence[str], width: int, layers: int, batch: int, rounds: int, turns: int = 3
) -> tuple[dict[str, list[dict[str, float]]], list[str]]:
    """Return what was measured, by library and round, and who is left out.

    In each round every library starts two processes. In these, steps with and without the mean take
    turns.

    Parameters
    ----------
    names : sequence of str
        Of ``LAUNCHERS``.
    width, layers, batch : int
        The network has ``layers`` square layers; each process has its own batch.
    rounds, turns : int
        How often processes are started, and how often the two kinds of steps take turns in them.

    Returns
    -------
    dict
        For each library and round, the medians of the seconds of all steps of both processes,
        ``without`` the mean and ``with`` it, and their ``ratio``; and for agnograd the share of the
        communication that was ``hidden``, of both.

    Raises
    ------
    RuntimeError
        If a process failed, or their parameters differ in the end.
    """
    left_out = [
        f"{name} is left out: No module named {name!r}"
        for name in names
        if importlib.util.find_spec(name) is None
    ]
    names = [name for name in names if importlib.util.find_spec(name) is not None]
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            found[name].append(summed_up(run(name, width, layers, batch, turns)))
    return found, left_out


def run(name: str, *sizes: int) -> list[dict[str, Any]]:
    """Return what each of two processes has measured."""
    paths = filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", *LAUNCHERS[name], __file__, folder, name, *map(str, sizes)],
            capture_output=True,
            text=True,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)},
        )
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr.strip()}")
        return [json.loads(path.read_text()) for path in Path(folder).glob("*.json")]


def summed_up(told: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the medians of what processes have measured, and shares of sums."""
    without, taken = (
        statistics.median([took for each in told for took in each[kind]])
        for kind in ("without", "with")
    )
    found = {"without": without, "with": taken, "ratio": taken / without}
    if "seconds" in told[0]:
        found["hidden"] = sum(each["hidden"] for each in told) / sum(
            each["seconds"] for each in told
        )
    return found


# -- the programs: what one process does, and returns what it measured -----------------------------


def by_agnograd(width: int, layers: int, batch: int, turns: int) -> dict[str, Any]:
    """Train by agnograd on NumPy arrays."""
    import agnograd as ag
    from agnograd_distributed import AllReduce, communicator

    comm, xp = communicator(), ag.namespace("numpy")
    images, labels = examples(width, batch, comm.rank)

    def network() -> tuple[list[Any], Callable[[], None]]:
        weights, biases = ([ag.Variable(each) for each in a] for a in parameters(width, layers))
        params: list[Any] = [*weights, *biases]

        def step() -> None:
            for each in params:
                each.grad = None
            h = xp.asarray(images)
            for w, b in zip(weights, biases, strict=True):
                h = xp.tanh(h @ w + b)
            xp.mean((h - labels) ** 2).backward()
            for each in params:
                each.data[...] -= RATE * each.grad.data

        return params, step

    _, alone = network()
    params, together = network()
    found: dict[str, Any] = {"without": [], "with": [], "seconds": 0.0, "hidden": 0.0}
    for _ in range(turns):
        found["without"] += seconds(alone, comm.barrier)
        with ag.hooks(AllReduce(comm, params)) as (reduce,):
            found["with"] += seconds(together, comm.barrier)
            for kind in ("seconds", "hidden"):
                found[kind] += reduce.to_dict()[kind]
    check_same(comm.objects([each.data.tobytes() for each in params]))
    return found


def by_torch(width: int, layers: int, batch: int, turns: int) -> dict[str, Any]:
    """Train by PyTorch."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    images, labels = map(torch.asarray, examples(width, batch, dist.get_rank()))

    def network() -> Any:
        made: list[Any] = []
        for w, b in zip(*parameters(width, layers), strict=True):
            linear = torch.nn.Linear(width, width)
            linear.load_state_dict({"weight": torch.asarray(w.T), "bias": torch.asarray(b)})
            made += [linear, torch.nn.Tanh()]
        return torch.nn.Sequential(*made)

    def stepping(model: Any) -> Callable[[], None]:
        optimizer = torch.optim.SGD(model.parameters(), RATE)

        def step() -> None:
            optimizer.zero_grad()
            torch.mean((model(images) - labels) ** 2).backward()
            optimizer.step()

        return step

    model = network()
    alone, together = stepping(network()), stepping(DistributedDataParallel(model))
    found: dict[str, Any] = {"without": [], "with": []}
    for _ in range(turns):
        found["without"] += seconds(alone, dist.barrier)
        found["with"] += seconds(together, dist.barrier)
    everyone: list[Any] = [None, None]
    own = [each.detach().numpy().tobytes() for each in model.parameters()]
    dist.all_gather_object(everyone, own)
    check_same(everyone)
    dist.destroy_process_group()
    return found


def parameters(width: int, layers: int) -> tuple[list[Any], list[Any]]:
    """Return the weights and biases that all processes start with."""
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(width, width)).astype("f4") for _ in range(layers)]
    return [w / np.float32(width**0.5) for w in weights], [np.zeros(width, "f4") for _ in weights]


def examples(width: int, batch: int, rank: int) -> tuple[Any, Any]:
    """Return the images and labels of one process."""
    rng = np.random.default_rng(1 + rank)
    return rng.normal(size=(batch, width)).astype("f4"), rng.normal(size=(batch, 1)).astype("f4")


def seconds(step: Callable[[], None], barrier: Callable[[], Any]) -> list[float]:
    """Return what each step takes, of some that processes begin together."""
    step()
    step()
    barrier()
    times = [perf_counter()]
    for _ in range(STEPS):
        step()
        times.append(perf_counter())
    return [stop - start for start, stop in pairwise(times)]


def check_same(everyone: Sequence[Any]) -> None:
    """Raise unless all processes have the same parameters, bit for bit."""
    if any(each != everyone[0] for each in everyone):
        raise RuntimeError("the parameters of the processes differ")


if __name__ == "__main__":
    folder, name, *sizes = sys.argv[1:]
    program = {"agnograd": by_agnograd, "torch": by_torch}[name]
    measured = program(*map(int, sizes))
    Path(folder, f"{os.getpid()}.json").write_text(json.dumps(measured))
