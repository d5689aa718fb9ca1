"""Fit a linear model to an array that no worker of a Dask cluster could hold.

The cluster is made of processes on this machine, each with a limit on its memory. The model and its
gradient are array-API code, on the backend `dask`: a pass over lazy arrays builds a task graph, and
the cluster computes it chunk by chunk. It needs
`pip install 'agnograd[cluster]'`.
"""

import argparse
import sys
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.utils import format_bytes, parse_bytes

import agnograd as ag

NOISE = 0.1


def loss(weights: Any, features: Any, targets: Any) -> Any:
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


def fit(features: Any, targets: Any, steps: int, rate: float) -> Any:
    """Return the coefficients after some steps of gradient descent, and print the losses."""
    value_and_grad = ag.value_and_grad(loss)
    weights = np.zeros(features.shape[1])
    for step in range(1, steps + 1):
        lazy = value_and_grad(da.from_array(weights), features, targets)
        value, gradient = dask.compute(*lazy)  # the cluster's work: one pass over all chunks
        weights = weights - rate * gradient
        print(f"step {step}: loss {value:.6f}", flush=True)
    return weights


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--memory", default="512 MiB", help="the limit of each worker")
    parser.add_argument("--size", default="1 GiB", help="of the array of features")
    parser.add_argument("--chunk", default="16 MiB", help="the size of its chunks")
    parser.add_argument("--columns", type=int, default=16, help="how many coefficients to fit")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rate", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main() -> None:
    """Start a cluster, fit, and print the error of the coefficients."""
    try:
        from distributed import Client, LocalCluster
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
    if features.nbytes <= limit:
        sys.exit("the array is to be larger than a worker's limit: see --size and --memory")
    with (
        LocalCluster(
            n_workers=options.workers,
            threads_per_worker=1,
            memory_limit=limit,
            dashboard_address=None,
        ) as cluster,
        Client(cluster),
    ):
        weights = fit(features, targets, options.steps, options.rate)
    print(f"largest error of a coefficient: {np.max(np.abs(weights - truth)):.6f}")


if __name__ == "__main__":
    main()
