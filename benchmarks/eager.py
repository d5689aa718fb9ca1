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


def index_by_hand() -> Any:
    """Return the derivative of a sum over elements that are read one by one."""
    total, gradient = 0.0, np.zeros_like(VECTOR)
    for i in range(len(VECTOR)):
        total = total + VECTOR[i] * VECTOR[i]
    for i in range(len(VECTOR)):
        gradient[i] += 2 * VECTOR[i]
    return (gradient,)


def index() -> Any:
    """Return the same by agnograd."""
    x = ag.Variable(VECTOR)
    total: Any = 0.0
    for i in range(len(VECTOR)):
        total = total + x[i] * x[i]
    total.backward()
    return (x.grad.data,)


def fan_out_by_hand() -> Any:
    """Return the derivative of a sum of products of one array with many constants."""
    total, gradient = 0.0, np.zeros_like(MANY)
    for c in CONSTANTS:
        total += np.sum(MANY * c)
    for c in CONSTANTS:
        gradient += c
    return (gradient,)


def fan_out() -> Any:
    """Return the same by agnograd."""
    x = ag.Variable(MANY)
    total: Any = 0.0
    for c in CONSTANTS:
        total = total + xp.sum(x * c)
    total.backward()
    return (x.grad.data,)


def recurrent_by_hand() -> Any:
    """Return the derivatives of a recurrent network, through time."""
    w, u = RECURRENT
    hidden = [np.zeros((16, 64))]
    for step in STEPS:
        hidden.append(np.tanh(step @ w + hidden[-1] @ u))
    g = 2 * hidden[-1]
    gw, gu = np.zeros_like(w), np.zeros_like(u)
    for t in reversed(range(len(STEPS))):
        g = g * (1 - hidden[t + 1] * hidden[t + 1])
        gw += STEPS[t].T @ g
        gu += hidden[t].T @ g
        g = g @ u.T
    return gw, gu


def recurrent() -> Any:
    """Return the same by agnograd."""
    w, u = (ag.Variable(each) for each in RECURRENT)
    h: Any = np.zeros((16, 64))
    for step in STEPS:
        h = xp.tanh(step @ w + h @ u)
    xp.sum(h * h).backward()
    return w.grad.data, u.grad.data


rng = np.random.default_rng(0)
CHAIN = np.linspace(0.0, 1.0, 10)
WEIGHTS = [
    (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
    for shape in ((784, 1024), (1024, 1024), (1024, 10))
]
IMAGES = rng.standard_normal((256, 784)).astype(np.float32)
TARGETS = rng.standard_normal((256, 10)).astype(np.float32)

VECTOR = rng.standard_normal(2000)
MANY = rng.standard_normal(1_000_000)
# Windows of one array: fifty constants that need the memory of one.
_LONGER = rng.standard_normal(1_000_050)
CONSTANTS = [_LONGER[i : i + 1_000_000] for i in range(50)]
RECURRENT = [rng.standard_normal((32, 64)) * 0.1, rng.standard_normal((64, 64)) * 0.1]
STEPS = rng.standard_normal((100, 16, 32))

WORKLOADS = {
    "chain: 1,000 x sin(y * 0.9 + 0.1), 10 float64": (chain_by_hand, chain, 60),
    "MLP: 256x784, 1024-1024-10, tanh, float32": (mlp_by_hand, mlp, 20),
    "index: sum of x[i] * x[i], 2,000 float64": (index_by_hand, index, 20),
    "fan-out: sum of x * c, 50 constants of 1,000,000": (fan_out_by_hand, fan_out, 7),
    "recurrent: 100 steps, tanh, 16x32 to 64": (recurrent_by_hand, recurrent, 30),
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
