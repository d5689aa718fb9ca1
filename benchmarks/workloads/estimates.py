"""Workloads of estimation: regressions, networks, and what is fitted to data."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.case import Case

__all__ = [
    "layer_norm",
    "log_determinant",
    "logistic_regression",
    "polynomial",
    "rectified",
    "softmax_regression",
]


def logistic_regression(rng: np.random.Generator, *, points: int, parameters: int) -> Case:
    """Return the penalised loss of a logistic regression with labels 1 and -1."""

    def value(xp: Any, w: Any, x: Any, y: Any) -> Any:
        return xp.mean(xp.log1p(xp.exp(-y * (x @ w)))) + 0.01 * xp.sum(w * w)

    def by_hand(w: Any, x: Any, y: Any) -> Any:
        e = np.exp(-y * (x @ w))
        np.mean(np.log1p(e)) + 0.01 * np.sum(w * w)
        return (x.T @ (-y * e / (1 + e)) / y.size + 0.02 * w,)

    x = rng.standard_normal((points, parameters))
    y = np.sign(rng.standard_normal(points))
    return Case(value, by_hand, (rng.standard_normal(parameters),), (x, y))


def softmax_regression(
    rng: np.random.Generator, *, points: int, parameters: int, classes: int
) -> Case:
    """Return the cross-entropy of a softmax regression."""

    def value(xp: Any, w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        z = z - xp.max(z, axis=1, keepdims=True)
        total = xp.sum(xp.exp(z), axis=1, keepdims=True)
        return -xp.mean(xp.sum(y * (z - xp.log(total)), axis=1))

    def by_hand(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        z -= np.max(z, axis=1, keepdims=True)
        e = np.exp(z)
        total = np.sum(e, axis=1, keepdims=True)
        -np.mean(np.sum(y * (z - np.log(total)), axis=1))
        return (x.T @ (e / total - y) / len(y),)

    x = rng.standard_normal((points, parameters))
    y = np.eye(classes)[rng.integers(0, classes, points)]
    return Case(value, by_hand, (rng.standard_normal((parameters, classes)),), (x, y))


def layer_norm(rng: np.random.Generator, *, rows: int, width: int) -> Case:
    """Return a weighted sum of normalised rows, which pass through a gain and tanh."""

    def value(xp: Any, x: Any, gain: Any, weights: Any) -> Any:
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        variance = xp.mean(centred**2, axis=-1, keepdims=True)
        return xp.sum(weights * xp.tanh(centred / xp.sqrt(variance + 1e-5) * gain))

    def by_hand(x: Any, gain: Any, weights: Any) -> Any:
        centred = x - np.mean(x, axis=-1, keepdims=True)
        scale = 1 / np.sqrt(np.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)
        h = centred * scale
        t = np.tanh(h * gain)
        np.sum(weights * t)
        g = weights * (1 - t * t)
        of_gain = np.sum(g * h, axis=0)
        g *= gain
        mean, along = (np.mean(each, axis=-1, keepdims=True) for each in (g, g * h))
        return scale * (g - mean - h * along), of_gain

    x, weights = rng.standard_normal((2, rows, width))
    return Case(value, by_hand, (x, rng.standard_normal(width)), (weights,))


def rectified(rng: np.random.Generator, *, batch: int, layers: Any) -> Case:
    """Return the squared error of a network with one hidden layer, rectified, in float32."""

    def value(xp: Any, w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        error = xp.maximum(x @ w1 + b1, 0.0) @ w2 + b2 - y
        return xp.mean(error * error)

    def by_hand(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
        inner = x @ w1 + b1
        h = np.maximum(inner, 0.0)
        error = h @ w2 + b2 - y
        np.mean(error * error)
        g = np.float32(2 / error.size) * error
        g1 = (g @ w2.T) * (inner > 0.0)
        return x.T @ g1, np.sum(g1, axis=0), h.T @ g, np.sum(g, axis=0)

    inputs, hidden, outputs = layers
    shapes = [(inputs, hidden), (hidden,), (hidden, outputs), (outputs,)]
    shapes += [(batch, inputs), (batch, outputs)]
    arrays = [(0.3 * rng.standard_normal(each)).astype(np.float32) for each in shapes]
    return Case(value, by_hand, tuple(arrays[:4]), tuple(arrays[4:]))


def log_determinant(rng: np.random.Generator, *, size: int) -> Case:
    """Return the logarithm of the determinant of a covariance, by a factor of it."""

    def value(xp: Any, factor: Any, eye: Any) -> Any:
        return xp.linalg.slogdet(factor @ xp.matrix_transpose(factor) + eye)[1]

    def by_hand(factor: Any, eye: Any) -> Any:
        covariance = factor @ factor.T + eye
        np.linalg.slogdet(covariance)
        return (2 * np.linalg.inv(covariance) @ factor,)

    return Case(value, by_hand, (rng.standard_normal((size, size)),), (np.eye(size),))


def polynomial(rng: np.random.Generator, *, degree: int, points: int) -> Case:
    """Return the squared error of a polynomial, by Horner's scheme, of its coefficients."""

    def value(xp: Any, c: Any, x: Any, y: Any) -> Any:
        found = c[degree]
        for k in range(degree - 1, -1, -1):
            found = found * x + c[k]
        return xp.mean((found - y) ** 2)

    def by_hand(c: Any, x: Any, y: Any) -> Any:
        found = np.full_like(x, c[degree])
        for k in range(degree - 1, -1, -1):
            found *= x
            found += c[k]
        found -= y
        np.mean(found * found)
        g, gradient = (2 / x.size) * found, np.empty_like(c)
        for k in range(degree + 1):
            gradient[k] = np.sum(g)
            g *= x
        return (gradient,)

    x, y = rng.uniform(-1.0, 1.0, points), rng.standard_normal(points)
    return Case(value, by_hand, (rng.standard_normal(degree + 1),), (x, y))
