"""Workloads of physics and of time: potentials, differential equations, and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.case import Case

__all__ = ["gated", "heat", "lorenz", "moving_window", "pairs", "piecewise", "valley"]


def valley(rng: np.random.Generator, *, size: int) -> Case:
    """Return Rosenbrock's function."""

    def value(xp: Any, x: Any) -> Any:
        return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    def by_hand(x: Any) -> Any:
        left = x[:-1]
        a, b = x[1:] - left * left, 1.0 - left
        np.sum(100.0 * a * a + b * b)
        gradient = np.zeros_like(x)
        gradient[1:] = 200.0 * a
        gradient[:-1] -= 400.0 * a * left + 2.0 * b
        return (gradient,)

    return Case(value, by_hand, (rng.standard_normal(size),))


def pairs(rng: np.random.Generator, *, particles: int) -> Case:
    """Return the energy of particles that repel each other nearby, and attract each other afar."""

    def value(xp: Any, x: Any) -> Any:
        apart = x[:, None, :] - x[None, :, :]
        inverse = 1.0 / (xp.sum(apart * apart, axis=-1) + 1.0)
        return xp.sum(inverse**3 - inverse)

    def by_hand(x: Any) -> Any:
        apart = x[:, None, :] - x[None, :, :]
        inverse = 1.0 / (np.sum(apart * apart, axis=-1) + 1.0)
        square = inverse * inverse
        np.sum(square * inverse - inverse)
        along = 4.0 * (square - 3.0 * square * square)
        return (np.sum(along[:, :, None] * apart, axis=1),)

    return Case(value, by_hand, (rng.standard_normal((particles, 3)),))


def lorenz(rng: np.random.Generator, *, steps: int) -> Case:
    """Return the squared distance from zero after steps of Lorenz's equations, by Euler."""
    step = 0.01

    def value(xp: Any, state: Any) -> Any:
        for _ in range(steps):
            x, y, z = state[0], state[1], state[2]
            speed = xp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])
            state = state + step * speed
        return xp.sum(state * state)

    def by_hand(state: Any) -> Any:
        x, y, z = state.tolist()
        path = []
        for _ in range(steps):
            path.append((x, y, z))
            speed = 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z
            x, y, z = x + step * speed[0], y + step * speed[1], z + step * speed[2]
        gx, gy, gz = 2.0 * x, 2.0 * y, 2.0 * z
        for x, y, z in reversed(path):
            gx, gy, gz = (
                gx + step * (-10.0 * gx + (28.0 - z) * gy + y * gz),
                gy + step * (10.0 * gx - gy + x * gz),
                gz + step * (-x * gy - 8.0 / 3.0 * gz),
            )
        return (np.asarray([gx, gy, gz]),)

    return Case(value, by_hand, (1.0 + 0.1 * rng.standard_normal(3),))


def heat(rng: np.random.Generator, *, steps: int, points: int) -> Case:
    """Return the squares of temperatures on a ring after steps of the heat equation."""

    def value(xp: Any, u: Any) -> Any:
        for _ in range(steps):
            u = u + 0.1 * (xp.roll(u, 1) - 2.0 * u + xp.roll(u, -1))
        return xp.sum(u**2)

    def smoothed(u: Any) -> Any:
        for _ in range(steps):
            u = u + 0.1 * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1))
        return u

    def by_hand(u: Any) -> Any:
        u = smoothed(u)
        np.sum(u * u)
        return (smoothed(2.0 * u),)  # the steps are symmetric matrices

    return Case(value, by_hand, (rng.standard_normal(points),))


def piecewise(rng: np.random.Generator, *, size: int) -> Case:
    """Return a sum of pieces, which ``where`` puts together, times a clipped array."""

    def value(xp: Any, x: Any) -> Any:
        pieces = xp.where(x > 0.0, xp.sqrt(xp.abs(x)), xp.exp(x))
        return xp.sum(pieces * xp.clip(x, -1.0, 1.0))

    def by_hand(x: Any) -> Any:
        positive, root, e = x > 0.0, np.sqrt(np.abs(x)), np.exp(x)
        pieces, clipped = np.where(positive, root, e), np.clip(x, -1.0, 1.0)
        np.sum(pieces * clipped)
        return (np.where(positive, 0.5 / root, e) * clipped + pieces * (np.abs(x) <= 1.0),)

    return Case(value, by_hand, (rng.standard_normal(size),))


def moving_window(rng: np.random.Generator, *, length: int, width: int) -> Case:
    """Return the squares of a signal that was smoothed by weights in a window, and bounded."""
    count = length - width + 1

    def value(xp: Any, weights: Any, x: Any) -> Any:
        smooth = weights[0] * x[:count]
        for k in range(1, width):
            smooth = smooth + weights[k] * x[k : k + count]
        return xp.sum(xp.tanh(smooth) ** 2)

    def by_hand(weights: Any, x: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(x, width)
        t = np.tanh(windows @ weights)
        np.sum(t * t)
        g = 2.0 * t * (1.0 - t * t)
        of_x = np.zeros_like(x)
        for k in range(width):
            of_x[k : k + count] += weights[k] * g
        return g @ windows, of_x

    return Case(value, by_hand, (rng.standard_normal(width), rng.standard_normal(length)))


def gated(rng: np.random.Generator, *, steps: int, batch: int, size: int, hidden: int) -> Case:
    """Return the squares of what a gated recurrent unit remembers of a sequence.

    Cho and others, Learning phrase representations using RNN encoder-decoder, 2014.
    """

    def value(xp: Any, of_update: Any, of_reset: Any, of_new: Any, x: Any) -> Any:
        h = xp.zeros((batch, hidden), dtype=xp.float64)
        for t in range(steps):
            both = xp.concat([x[t, ...], h], axis=1)
            update = 1.0 / (1.0 + xp.exp(-(both @ of_update)))
            reset = 1.0 / (1.0 + xp.exp(-(both @ of_reset)))
            new = xp.tanh(xp.concat([x[t, ...], reset * h], axis=1) @ of_new)
            h = h + update * (new - h)
        return xp.sum(h * h)

    def by_hand(of_update: Any, of_reset: Any, of_new: Any, x: Any) -> Any:
        h, saved = np.zeros((batch, hidden)), []
        for t in range(steps):
            both = np.concatenate([x[t], h], axis=1)
            update = 1.0 / (1.0 + np.exp(-(both @ of_update)))
            reset = 1.0 / (1.0 + np.exp(-(both @ of_reset)))
            inner = np.concatenate([x[t], reset * h], axis=1)
            new = np.tanh(inner @ of_new)
            saved.append((h, both, update, reset, inner, new))
            h = h + update * (new - h)
        np.sum(h * h)
        g = 2.0 * h
        gradients = [np.zeros_like(each) for each in (of_update, of_reset, of_new)]
        for h, both, update, reset, inner, new in reversed(saved):
            g_update = g * (new - h) * update * (1.0 - update)
            g_new = g * update * (1.0 - new * new)
            g_inner = (g_new @ of_new.T)[:, size:]
            g_reset = g_inner * h * reset * (1.0 - reset)
            of_both = g_update @ of_update.T + g_reset @ of_reset.T
            g = g * (1.0 - update) + g_inner * reset + of_both[:, size:]
            gradients[0] += both.T @ g_update
            gradients[1] += both.T @ g_reset
            gradients[2] += inner.T @ g_new
        return tuple(gradients)

    weights = rng.standard_normal((3, size + hidden, hidden)) * (size + hidden) ** -0.5
    return Case(value, by_hand, tuple(weights), (rng.standard_normal((steps, batch, size)),))
