"""Workloads of many small ops, one after the other or side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.case import Case

__all__ = ["chain", "fan_out", "fan_out_of_numbers", "index", "oscillator"]


def chain(rng: np.random.Generator, *, steps: int, size: int) -> Case:
    """Return a long chain of cheap ops on a short array."""

    def value(xp: Any, y: Any) -> Any:
        for _ in range(steps):
            y = xp.sin(y * 0.9 + 0.1)
        return y

    def by_hand(y: Any) -> Any:
        inner = []
        for _ in range(steps):
            u = y * 0.9 + 0.1
            inner.append(u)
            y = np.sin(u)
        g = np.ones_like(y)
        while inner:
            g = g * np.cos(inner.pop()) * 0.9
        return (g,)

    return Case(value, by_hand, (np.linspace(0.0, 1.0, size),))


def index(rng: np.random.Generator, *, size: int) -> Case:
    """Return a sum over elements that are read one by one."""

    def value(xp: Any, x: Any) -> Any:
        total: Any = 0.0
        for i in range(size):
            total = total + x[i] * x[i]
        return total

    def by_hand(x: Any) -> Any:
        total, gradient = 0.0, np.zeros_like(x)
        for i in range(size):
            total = total + x[i] * x[i]
        for i in range(size):
            gradient[i] += 2 * x[i]
        return (gradient,)

    return Case(value, by_hand, (rng.standard_normal(size),))


def fan_out(rng: np.random.Generator, *, constants: int, size: int) -> Case:
    """Return a sum of products of one array with many constants.

    The constants are windows of one array: many that need the memory of one.
    """
    longer = rng.standard_normal(size + constants)
    windows = [longer[i : i + size] for i in range(constants)]
    return Case(_products, _products_by_hand, (rng.standard_normal(size),), (windows,))


def fan_out_of_numbers(rng: np.random.Generator, *, constants: int, size: int) -> Case:
    """Return a sum of products of one array with many Python numbers."""
    numbers = [1.0 + i / constants for i in range(constants)]

    # Not among the case's constants, since those become arrays of each library.
    def value(xp: Any, x: Any) -> Any:
        return _products(xp, x, numbers)

    def by_hand(x: Any) -> Any:
        return _products_by_hand(x, numbers)

    return Case(value, by_hand, (rng.standard_normal(size),))


def _products(xp: Any, x: Any, many: Any) -> Any:
    total: Any = 0.0
    for c in many:
        total = total + xp.sum(x * c)
    return total


def _products_by_hand(x: Any, many: Any) -> Any:
    total, gradient = 0.0, np.zeros_like(x)
    for c in many:
        total += np.sum(x * c)
    for c in many:
        gradient += c
    return (gradient,)


def oscillator(rng: np.random.Generator, *, steps: int) -> Case:
    """Return a damped spring's position after many steps of scalars, by stiffness and damping.

    By hand it uses NumPy's scalars, as what reads elements of arrays gets them.
    """
    dt = 10.0 / steps

    def value(xp: Any, k: Any, c: Any) -> Any:
        x: Any = 1.0
        v: Any = 0.0
        for _ in range(steps):
            v = v - dt * (k * x + c * v)
            x = x + dt * v
        return x

    def by_hand(k: Any, c: Any) -> Any:
        k, c = k[()], c[()]
        x, v, path = np.float64(1.0), np.float64(0.0), []
        for _ in range(steps):
            path.append((x, v))
            v = v - dt * (k * x + c * v)
            x = x + dt * v
        gx, gv = np.float64(1.0), np.float64(0.0)
        gk, gc = np.float64(0.0), np.float64(0.0)
        while path:
            x, v = path.pop()
            gv = gv + dt * gx
            step = dt * gv
            gk = gk - step * x
            gc = gc - step * v
            gx = gx - step * k
            gv = gv - step * c
        return gk, gc

    return Case(value, by_hand, (np.asarray(1.3), np.asarray(0.2)))
