"""Workloads of scientific computing: large arrays, decompositions, transforms, second order."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.case import Case

__all__ = ["convolution", "elementwise", "gaussian_process", "rosenbrock"]


def elementwise(rng: np.random.Generator, *, steps: int, size: int) -> Case:
    """Return a sum over element-wise ops on a large array.

    By hand it saves only what the derivative needs, and frees it as it goes back.
    """

    def value(xp: Any, y: Any) -> Any:
        for _ in range(steps):
            y = xp.exp(-y * y) * 0.5 + xp.sin(y)
        return xp.sum(y)

    def by_hand(y: Any) -> Any:
        saved = []
        for _ in range(steps):
            e = np.exp(-y * y)
            saved.append((y, e))
            y = e * 0.5 + np.sin(y)
        np.sum(y)
        g = np.ones_like(y)
        while saved:
            y, e = saved.pop()
            g = g * (np.cos(y) - y * e)
        return (g,)

    return Case(value, by_hand, (rng.standard_normal(size),))


def gaussian_process(rng: np.random.Generator, *, points: int) -> Case:
    """Return the negative log-likelihood of a Gaussian process, by three logarithms.

    They are those of the variance, of the length, and of the noise's variance. The derivative by
    hand is equation 5.9 of Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006.
    """

    def value(xp: Any, theta: Any, squares: Any, y: Any, eye: Any) -> Any:
        kernel = xp.exp(theta[0] - 0.5 * squares * xp.exp(-2.0 * theta[1]))
        lower = xp.linalg.cholesky(kernel + xp.exp(theta[2]) * eye)
        z = xp.linalg.solve(lower, y)
        return 0.5 * xp.sum(z * z) + xp.sum(xp.log(xp.linalg.diagonal(lower)))

    def by_hand(theta: Any, squares: Any, y: Any, eye: Any) -> Any:
        scaled = squares * np.exp(-2.0 * theta[1])
        kernel = np.exp(theta[0] - 0.5 * scaled)
        noise = np.exp(theta[2])
        covariance = kernel + noise * eye
        lower = np.linalg.cholesky(covariance)
        inverse = np.linalg.inv(covariance)
        alpha = inverse @ y
        0.5 * (y @ alpha) + np.sum(np.log(np.diagonal(lower)))
        g = 0.5 * (inverse - np.outer(alpha, alpha))
        along = g * kernel
        return (np.stack([np.sum(along), np.sum(along * scaled), noise * np.trace(g)]),)

    x = np.sort(rng.uniform(0.0, 10.0, points))
    y = np.sin(x) + 0.3 * rng.standard_normal(points)
    squares = (x[:, None] - x[None, :]) ** 2
    return Case(value, by_hand, (np.log([1.5, 0.8, 0.2]),), (squares, y, np.eye(points)))


def rosenbrock(rng: np.random.Generator, *, size: int) -> Case:
    """Return the Hessian of Rosenbrock's function, to be multiplied with a vector."""

    def value(xp: Any, x: Any) -> Any:
        a = x[1:] - x[:-1] * x[:-1]
        b = 1.0 - x[:-1]
        return xp.sum(100.0 * a * a + b * b)

    def by_hand(x: Any, p: Any) -> Any:
        beside = -400.0 * x[:-1]
        product = np.zeros_like(p)
        product[1:] += 200.0 * p[1:] + beside * p[:-1]
        product[:-1] += (1200.0 * x[:-1] * x[:-1] - 400.0 * x[1:] + 2.0) * p[:-1] + beside * p[1:]
        return (product,)

    x, p = rng.standard_normal((2, size))
    return Case(value, by_hand, (x,), vectors=(p,))


def convolution(rng: np.random.Generator, *, size: int) -> Case:
    """Return the squared error of a circular convolution, which Fourier transforms compute."""

    def value(xp: Any, x: Any, k: Any, y: Any) -> Any:
        error = xp.fft.irfft(xp.fft.rfft(x) * xp.fft.rfft(k), n=size) - y
        return xp.sum(error * error)

    def by_hand(x: Any, k: Any, y: Any) -> Any:
        of_x, of_k = np.fft.rfft(x), np.fft.rfft(k)
        error = np.fft.irfft(of_x * of_k, n=size) - y
        np.sum(error * error)
        g = np.fft.rfft(2.0 * error)
        gx = np.fft.irfft(g * np.conj(of_k), n=size)
        return gx, np.fft.irfft(g * np.conj(of_x), n=size)

    x, k, y = rng.standard_normal((3, size))
    return Case(value, by_hand, (x, k / size**0.5), (y,))
