"""Workloads of Laplacians: of a network by its inputs, and of a loss that is made of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.case import Case

__all__ = ["network_laplacian", "network_loss"]


def network(xp: Any, x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any) -> Any:
    """Return what a network with two hidden layers gives for one point, a number."""
    h = xp.tanh(xp.tanh(x @ w1 + b1) @ w2 + b2)
    return (h @ w3)[..., 0]


class Layer:
    """A hidden layer of a forward Laplacian, by hand: values, first derivatives and Laplacians.

    First derivatives are along all inputs, and lie along the first axis.
    """

    def __init__(self, h: Any, first: Any, second: Any, w: Any, b: Any) -> None:
        self.given, self.w = (h, first, second), w
        if first is None:  # h are the inputs
            self.pushed, self.moved = w[:, None, :], 0.0
        else:
            rows = first.reshape(-1, w.shape[0])
            self.pushed = (rows @ w).reshape(*first.shape[:-1], -1)
            self.moved = second @ w
        self.y = np.tanh(h @ w + b)
        self.slope = 1 - self.y * self.y
        self.squares = np.einsum("dbh,dbh->bh", self.pushed, self.pushed)
        self.first = self.pushed * self.slope
        self.second = self.slope * (self.moved - 2 * self.y * self.squares)

    def back(self, g: Any, g_first: Any, g_second: Any) -> tuple[Any, ...]:
        """Return the gradients of the parameters and of what the layer was given."""
        y, slope, (h, first, second) = self.y, self.slope, self.given
        g_moved, g_squares = g_second * slope, -2 * y * slope * g_second
        g_pushed = 2 * self.pushed * g_squares
        g_slope = g_second * (self.moved - 2 * y * self.squares)
        if g_first is not None:
            g_pushed = g_pushed + g_first * slope
            g_slope = g_slope + np.einsum("dbh,dbh->bh", g_first, self.pushed)
        g_z = (g - 2 * slope * self.squares * g_second - 2 * y * g_slope) * slope
        g_w = h.T @ g_z
        if first is None:
            return g_w + g_pushed.sum(axis=1), g_z.sum(axis=0), ()
        rows = g_pushed.reshape(-1, self.w.shape[1])
        g_w += first.reshape(-1, self.w.shape[0]).T @ rows + second.T @ g_moved
        below = (g_z @ self.w.T, (rows @ self.w.T).reshape(first.shape), g_moved @ self.w.T)
        return g_w, g_z.sum(axis=0), below


def network_laplacian(rng: np.random.Generator, *, points: int, layers: Any) -> Case:
    """Return a network, for its Laplacian at each point."""

    def by_hand(x: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any) -> Any:
        layer = Layer(x, None, None, w1, b1)
        layer = Layer(layer.y, layer.first, layer.second, w2, b2)
        return ((layer.second @ w3)[:, 0],)

    x, parameters = _drawn(rng, points, layers)
    return Case(network, by_hand, (x,), parameters, many="laplacians")


def network_loss(rng: np.random.Generator, *, points: int, layers: Any) -> Case:
    """Return a network, for the gradient by its parameters of the sum of squared Laplacians."""

    def value(xp: Any, *arrays: Any) -> Any:
        *parameters, x = arrays
        return network(xp, x, *parameters)

    def by_hand(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, x: Any) -> Any:
        one = Layer(x, None, None, w1, b1)
        two = Layer(one.y, one.first, one.second, w2, b2)
        g = 2 * two.second @ w3
        g_w2, g_b2, below = two.back(np.zeros_like(two.y), None, g @ w3.T)
        g_w1, g_b1, _ = one.back(*below)
        return g_w1, g_b1, g_w2, g_b2, two.second.T @ g

    x, parameters = _drawn(rng, points, layers)
    return Case(value, by_hand, parameters, (x,), many="loss of laplacians")


def _drawn(rng: np.random.Generator, points: int, layers: Any) -> tuple[Any, tuple[Any, ...]]:
    inputs, one, two = layers

    def normal(*shape: int) -> Any:
        return (rng.standard_normal(shape) * shape[0] ** -0.5).astype(np.float32)

    parameters = (normal(inputs, one), normal(one), normal(one, two), normal(two), normal(two, 1))
    return rng.standard_normal((points, inputs)).astype(np.float32), parameters
