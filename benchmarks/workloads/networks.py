"""Workloads of neural networks: matrix products, and what stands between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.case import Case

__all__ = ["embedding", "mlp", "recurrent"]


def mlp(rng: np.random.Generator, *, batch: int, layers: Any, dtype: str) -> Case:
    """Return the mean squared error of a network with two hidden layers."""

    def value(xp: Any, w1: Any, w2: Any, w3: Any, x: Any, y: Any) -> Any:
        h1 = xp.tanh(x @ w1)
        h2 = xp.tanh(h1 @ w2)
        error = h2 @ w3 - y
        return xp.mean(error * error)

    def by_hand(w1: Any, w2: Any, w3: Any, x: Any, y: Any) -> Any:
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

    def normal(rows: int, columns: int, scale: float = 1.0) -> Any:
        return (rng.standard_normal((rows, columns)) * scale).astype(dtype)

    pairs = (layers[i : i + 2] for i in range(3))
    weights = tuple(normal(rows, columns, rows**-0.5) for rows, columns in pairs)
    return Case(value, by_hand, weights, (normal(batch, layers[0]), normal(batch, layers[-1])))


def recurrent(rng: np.random.Generator, *, steps: int, batch: int, size: int, hidden: int) -> Case:
    """Return the squares of a recurrent network's last state."""

    def value(xp: Any, w: Any, u: Any, xs: Any, h: Any) -> Any:
        for step in xs:
            h = xp.tanh(step @ w + h @ u)
        return xp.sum(h * h)

    def by_hand(w: Any, u: Any, xs: Any, h: Any) -> Any:
        states = [h]
        for step in xs:
            states.append(np.tanh(step @ w + states[-1] @ u))
        g = 2 * states[-1]
        gw, gu = np.zeros_like(w), np.zeros_like(u)
        for t in reversed(range(len(xs))):
            g = g * (1 - states[t + 1] * states[t + 1])
            gw += xs[t].T @ g
            gu += states[t].T @ g
            g = g @ u.T
        return gw, gu

    weights = rng.standard_normal((size, hidden)) * 0.1, rng.standard_normal((hidden, hidden)) * 0.1
    start = np.zeros((batch, hidden))
    return Case(value, by_hand, weights, (rng.standard_normal((steps, batch, size)), start))


def embedding(rng: np.random.Generator, *, rows: int, columns: int, reads: int) -> Case:
    """Return a sum over rows of a table that an array of indices reads, many of them repeatedly."""

    def value(xp: Any, table: Any, indices: Any) -> Any:
        return xp.sum(xp.tanh(table[indices]))

    def by_hand(table: Any, indices: Any) -> Any:
        t = table[indices]
        np.tanh(t, out=t)
        np.sum(t)
        t *= t
        g = np.subtract(1.0, t, out=t)
        gradient = np.zeros_like(table)
        places = indices[:, None] * columns + np.arange(columns)
        # On flat arrays this is several times faster than on rows.
        np.add.at(gradient.reshape(-1), places.reshape(-1), g.reshape(-1))
        return (gradient,)

    table = rng.standard_normal((rows, columns))
    return Case(value, by_hand, (table,), (rng.integers(0, rows, reads),))
