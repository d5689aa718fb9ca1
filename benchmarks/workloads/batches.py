"""Workloads of many derivatives at once: one for each example, or along each direction."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.case import Case

__all__ = ["jacobian", "logistic_hessian", "per_example"]


def per_example(rng: np.random.Generator, *, batch: int, layers: Any, loss: str) -> Case:
    """Return a network's loss of one example, to be differentiated for each of many."""

    def scores(xp: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any) -> Any:
        return xp.tanh(x @ w1 + b1) @ w2 + b2

    def squared_error(xp: Any, *arrays: Any) -> Any:
        *others, y = arrays
        error = scores(xp, *others) - y
        return 0.5 * xp.sum(error * error)

    def cross_entropy(xp: Any, *arrays: Any) -> Any:
        *others, y = arrays
        z = scores(xp, *others)
        z = z - xp.max(z)
        return xp.log(xp.sum(xp.exp(z))) - xp.sum(y * z)

    def by_hand(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        h = np.tanh(x @ w1 + b1)
        z = h @ w2 + b2
        if loss == "squared error":
            g = z - y
            0.5 * np.sum(g * g, axis=1)
        else:
            z -= np.max(z, axis=1, keepdims=True)
            e = np.exp(z)
            total = np.sum(e, axis=1, keepdims=True)
            np.log(total[:, 0]) - np.sum(y * z, axis=1)
            g = e / total - y
        g1 = (g @ w2.T) * (1 - h * h)
        return x[:, :, None] * g1[:, None, :], g1, h[:, :, None] * g[:, None, :], g

    inputs, hidden, outputs = layers
    w1 = rng.standard_normal((inputs, hidden)) * inputs**-0.5
    w2 = rng.standard_normal((hidden, outputs)) * hidden**-0.5
    variables = (w1, np.full(hidden, 0.1), w2, np.full(outputs, 0.1))
    labels = np.eye(outputs)[rng.integers(0, outputs, batch)]
    value = squared_error if loss == "squared error" else cross_entropy
    constants = (rng.standard_normal((batch, inputs)), labels)
    return Case(value, by_hand, variables, constants, many="examples")


def jacobian(rng: np.random.Generator, *, size: int) -> Case:
    """Return a function of two products with a matrix, for its Jacobian."""

    def value(xp: Any, x: Any, a: Any) -> Any:
        return xp.tanh(a @ xp.sin(a @ x))

    def by_hand(x: Any, a: Any) -> Any:
        inner = a @ x
        y = np.tanh(a @ np.sin(inner))
        return ((1 - y * y)[:, None] * (a * np.cos(inner)) @ a,)

    matrix = rng.standard_normal((size, size)) * size**-0.5
    return Case(value, by_hand, (rng.standard_normal(size),), (matrix,), many="jacobian")


def logistic_hessian(rng: np.random.Generator, *, points: int, parameters: int) -> Case:
    """Return the negative log-posterior of a logistic regression, for its Hessian."""

    def value(xp: Any, w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        return xp.sum(xp.log1p(xp.exp(z)) - y * z) + 0.5 * xp.sum(w * w)

    def by_hand(w: Any, x: Any, y: Any) -> Any:
        p = 1 / (1 + np.exp(-(x @ w)))
        return ((x.T * (p * (1 - p))) @ x + np.eye(w.size),)

    x = rng.standard_normal((points, parameters))
    w = rng.standard_normal(parameters) * parameters**-0.5
    y = (x @ w + rng.standard_normal(points) > 0).astype(float)
    return Case(value, by_hand, (w,), (x, y), many="hessian")
