"""What a pass over a thousand chunks makes: tasks, layers, and the time that its graph takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import agnograd as ag

__all__ = ["PROGRAMS", "lazy"]


def linear(weights: Any, x: Any, y: Any) -> Any:
    """Return the mean square of a linear model's errors."""
    xp = ag.namespace(x)
    return xp.mean((x @ weights[1] - y) ** 2)


def network(weights: Any, x: Any, y: Any) -> Any:
    """Return the mean square of the errors of a network with one hidden layer."""
    xp = ag.namespace(x)
    error = xp.tanh(x @ weights[0]) @ weights[2] - y
    return xp.mean(error * error)


def softmax(weights: Any, x: Any, y: Any) -> Any:
    """Return a mean cross-entropy."""
    xp = ag.namespace(x)
    z = x @ weights[0]
    z = z - xp.max(z, axis=1, keepdims=True)
    return xp.mean(xp.log(xp.sum(xp.exp(z), axis=1)) - xp.sum(z * y[:, None], axis=1))


PROGRAMS: Mapping[str, Callable[..., Any]] = {
    "linear": linear,
    "network": network,
    "softmax": softmax,
}


def lazy(chunks: int, rounds: int) -> dict[str, dict[str, float]]:
    """Return, by program, numbers of tasks and of layers, and milliseconds.

    ``forward`` and ``both`` count the tasks of a value, and of it and its gradients; ``optimised``
    those of both after Dask has optimised them. ``layers`` counts the array ops that both take.
    """
    return {name: _measured(program, chunks, rounds) for name, program in PROGRAMS.items()}


def _measured(program: Callable[..., Any], chunks: int, rounds: int) -> dict[str, float]:
    import dask
    import dask.array as da

    random = da.random.default_rng(0)
    x = random.standard_normal((chunks * 100, 20), chunks=(100, 20))
    y = random.standard_normal(chunks * 100, chunks=100)
    weights = [da.from_array(np.ones(shape)) for shape in ((20, 8), (20,), (8,))]
    value_and_grad = ag.value_and_grad(program)
    times = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        value, gradients = value_and_grad(weights, x, y)
        times.append(1e3 * (time.perf_counter() - start))
    found = (value, *gradients)
    given = {name for each in (x, y, *weights) for name in each.dask.layers}
    layers = {name for each in found for name in each.dask.layers} - given
    milliseconds = statistics.median(times[1:])
    return {
        "forward": _tasks(value),
        "both": _tasks(*found),
        "optimised": _tasks(*dask.optimize(*found)),
        "layers": len(layers),
        "milliseconds": milliseconds,
        "a layer": milliseconds / len(layers),
    }


def _tasks(*arrays: Any) -> int:
    return len({key for each in arrays for key in dict(each.dask)})
