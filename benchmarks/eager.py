"""Time agnograd's eager passes against derivatives that are written by hand in NumPy.

``python benchmarks/eager.py`` runs each workload, forward and backward, both ways in one process,
round by round in turn, checks that the gradients agree, and prints the ratio of the medians.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import agnograd as ag

xp = ag.namespace("numpy")


def chain_by_hand() -> Any:
    """Return the derivative of the chain by hand: cosines, last first."""
    y, inner = CHAIN, []
    for _ in range(1000):
        u = y * 0.9 + 0.1
        inner.append(u)
        y = np.sin(u)
    g = np.ones_like(y)
    while inner:
        g = g * np.cos(inner.pop()) * 0.9
    return (g,)


def chain() -> Any:
    """Return the same by agnograd."""
    x = y = ag.Variable(CHAIN)
    for _ in range(1000):
        y = xp.sin(y * 0.9 + 0.1)
    y.backward(np.ones_like(CHAIN))
    return (x.grad.data,)


def mlp_by_hand() -> Any:
    """Return the derivatives of the network's mean squared error by hand."""
    (w1, w2, w3), x, y = WEIGHTS, IMAGES, TARGETS
    h1 = np.tanh(x @ w1)
    h2 = np.tanh(h1 @ w2)
    error = h2 @ w3 - y
    np.mean(error * error)
    g = (2 / error.size) * error
    g3 = h2.T @ g
    g = (g @ w3.T) * (1 - h2 * h2)
    g2 = h1.T @ g
    g = (g @ w2.T) * (1 - h1 * h1)
    return x.T @ g, g2, g3


def mlp() -> Any:
    """Return the same by agnograd."""
    w1, w2, w3 = (ag.Variable(w) for w in WEIGHTS)
    h1 = xp.tanh(IMAGES @ w1)
    h2 = xp.tanh(h1 @ w2)
    error = h2 @ w3 - TARGETS
    xp.mean(error * error).backward()
    return tuple(w.grad.data for w in (w1, w2, w3))


rng = np.random.default_rng(0)
CHAIN = np.linspace(0.0, 1.0, 10)
WEIGHTS = [
    (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
    for shape in ((784, 1024), (1024, 1024), (1024, 10))
]
IMAGES = rng.standard_normal((256, 784)).astype(np.float32)
TARGETS = rng.standard_normal((256, 10)).astype(np.float32)

WORKLOADS = {
    "chain: 1,000 x sin(y * 0.9 + 0.1), 10 float64": (chain_by_hand, chain, 60),
    "MLP: 256x784, 1024-1024-10, tanh, float32": (mlp_by_hand, mlp, 20),
}


def seconds(function: Callable[[], Any]) -> float:
    """Return the time that one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    """Run the workloads and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, help="rounds of each workload")
    rounds = parser.parse_args().rounds
    for name, (by_hand, ours, usual) in WORKLOADS.items():
        for expected, found in zip(by_hand(), ours(), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6)
        times: dict[Any, list[float]] = {by_hand: [], ours: []}
        for _ in range(rounds or usual):
            for function, taken in times.items():
                taken.append(seconds(function))
        hand, agnograd = (statistics.median(taken) for taken in times.values())
        print(
            f"{name}: by hand {hand * 1e3:.2f} ms, agnograd {agnograd * 1e3:.2f} ms, "
            f"ratio {agnograd / hand:.2f}"
        )


if __name__ == "__main__":
    main()
