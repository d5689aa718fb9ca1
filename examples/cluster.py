"""Fit a model to data that is four times larger than the memory of all workers of a Dask cluster.

The cluster is made of processes on this machine, each with a limit on its memory; `cluster()` is
the one line to change for another one. The model and its gradient are array-API code, on the
backend `dask`: a pass over lazy arrays builds a task graph, and the cluster computes it chunk by
chunk. The derivative of the root of a mean depends on the whole mean, so that chunks of data would
be kept until that is known. `ag.checkpoint` makes Dask compute them again instead; `--keep` shows
the difference. It needs `pip install 'agnograd[cluster]'`.
"""

import argparse
import resource
import sys
import time
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.utils import format_bytes, parse_bytes

import agnograd as ag

NOISE = 0.1


def cluster(options: argparse.Namespace) -> Any:
    """Return the cluster, such as one of `dask_jobqueue`, `dask_kubernetes` or `coiled`."""
    from distributed import LocalCluster

    limit = parse_bytes(options.memory)
    workers = {"n_workers": options.workers, "threads_per_worker": 1, "memory_limit": limit}
    return LocalCluster(**workers, dashboard_address=None)


def mean_square(weights: Any, features: Any, targets: Any) -> Any:
    """Return the mean squared error of a linear model."""
    xp = weights.__array_namespace__()
    return xp.mean((features @ weights - targets) ** 2)


def problem(rows: int, columns: int, chunk: int, seed: int) -> tuple[Any, Any, Any]:
    """Return features and noisy targets, both lazy, and the coefficients that they come from."""
    rng = da.random.default_rng(seed)
    truth = np.random.default_rng(seed).uniform(-1.0, 1.0, columns)
    features = rng.standard_normal((rows, columns), chunks=(chunk, columns))
    noise = NOISE * rng.standard_normal(rows, chunks=chunk)
    return features, features @ truth + noise, truth


def fit(features: Any, targets: Any, steps: int, rate: float, keep: bool) -> Any:
    """Return the coefficients after some steps of gradient descent, and print the losses."""
    error = mean_square if keep else ag.checkpoint(mean_square)

    def loss(weights: Any) -> Any:
        return error(weights, features, targets) ** 0.5

    value_and_grad = ag.value_and_grad(loss)
    weights = np.zeros(features.shape[1])
    for step in range(1, steps + 1):
        lazy = value_and_grad(da.from_array(weights))
        value, gradient = dask.compute(*lazy)  # the cluster's work: all chunks, once or twice
        weights = weights - rate * gradient
        print(f"step {step}: loss {value:.6f}", flush=True)
    return weights


def used(dask_worker: Any) -> tuple[int, int]:
    """Return the bytes that a worker has written to its disk, and the most memory it has taken."""
    spilled = dask_worker.data.cumulative_metrics.get(("disk-write", "bytes"), 0)
    return int(spilled), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--memory", default="256 MiB", help="the limit of each worker")
    parser.add_argument("--size", default="2 GiB", help="of the array of features")
    parser.add_argument("--chunk", default="8 MiB", help="the size of its chunks")
    parser.add_argument("--columns", type=int, default=16, help="how many coefficients to fit")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rate", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="keep chunks instead: no checkpoint")
    return parser.parse_args()


def main() -> None:
    """Start a cluster, fit, and print the error of the coefficients and what workers needed."""
    try:
        from distributed import Client
    except ModuleNotFoundError:
        sys.exit("Dask's cluster is not installed: pip install 'agnograd[cluster]'")
    options = arguments()
    row = 8 * options.columns
    rows, chunk = parse_bytes(options.size) // row, parse_bytes(options.chunk) // row
    features, targets, truth = problem(rows, options.columns, chunk, options.seed)
    limit = parse_bytes(options.memory)
    print(
        f"{features.shape[0]} x {features.shape[1]} numbers, {format_bytes(features.nbytes)} in "
        f"{features.npartitions} chunks; {options.workers} workers of {format_bytes(limit)}"
    )
    if features.nbytes <= limit * options.workers:
        sys.exit("the array is to be larger than all workers' memory: see --size and --memory")
    with cluster(options) as workers, Client(workers) as client:
        start = time.perf_counter()
        weights = fit(features, targets, options.steps, options.rate, options.keep)
        took = time.perf_counter() - start
        spilled, peaks = zip(*client.run(used).values(), strict=True)
    print(f"largest error of a coefficient: {np.max(np.abs(weights - truth)):.6f}")
    print(
        f"{took:.1f} s; spilled: {format_bytes(sum(spilled))}; the most memory of a worker: "
        f"{format_bytes(max(peaks))}"
    )


if __name__ == "__main__":
    main()
