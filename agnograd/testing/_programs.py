"""The programs that plugins are tried on: each gives numbers that no plugin may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd import autodiff
from agnograd._arrays.variable import Variable
from agnograd._functions.checkpoint import checkpoint
from agnograd._functions.function import Function

__all__ = ["PROGRAMS", "PlantedError", "gradient"]

Numbers = list[complex]


class PlantedError(ArithmeticError):
    """What an op raises that was told to fail."""


class _Square(Function):
    """Compute x * x; fail forward or backward if told to."""

    def __init__(self, where: str | None) -> None:
        self.where = where

    def forward(self, xp: Any, x: Any) -> Any:
        if self.where == "forward":
            raise PlantedError("half way")
        self.save(x)
        return x * x

    def backward(self, xp: Any, g: Any) -> Any:
        if self.where == "backward":
            raise PlantedError("half way")
        (x,) = self.saved
        return 2.0 * x * g


def gradient(xp: Any, where: str | None = None) -> Numbers:
    """Return the gradient of a chain of ops; with ``where``, one of them fails there."""
    x = _leaf(xp, [0.5, 1.0, 2.0])
    y = xp.sin(x)
    for _ in range(3):
        y = _Square(where)(y) * 0.5 + y
    y = xp.sum(xp.exp(y))
    try:
        y.backward()
    finally:
        if where is not None and x.grad is not None:
            raise AssertionError("a pass that failed has changed a gradient")
    return _numbers(x.grad)


def _second(xp: Any) -> Numbers:
    """Return a second derivative, through a recorded pass and checkpoints, which nest passes."""

    @checkpoint
    def block(x: Any) -> Any:
        return x.__array_namespace__().sin(x) * x

    x = _leaf(xp, [0.5, 1.0])
    g: Any = autodiff.grad(xp.sum(block(block(x))), [x], create_graph=True)[0]
    return _numbers(autodiff.grad(xp.sum(g * g), [x])[0])


def _kinds(xp: Any) -> Numbers:
    """Return gradients of ops on empty, 0-d, integer, boolean and complex arrays, and writes."""
    x, scalar, empty = _leaf(xp, [[0.5, -1.0], [2.0, 3.0]]), _leaf(xp, 2.0), _leaf(xp, [])
    rows = xp.unstack(xp.concat([x, x * scalar]))
    y = rows[0] * rows[3] + 1.0
    y[0] = scalar
    found = xp.argmax(xp.abs(x), axis=1)
    y = y + xp.take(x[1, :], found) + xp.astype(x[:, 0] > 0.0, x.dtype)
    y = y + xp.where(x[:, 1] > 0.0, x[:, 1], y)
    total = xp.sum(y) + xp.sum(empty) + xp.astype(found[0], x.dtype)
    kind = xp.__array_namespace_info__().default_dtypes().get("complex floating")
    if kind is not None:
        wave = xp.exp(xp.astype(x, kind))
        total = total + xp.astype(xp.sum(xp.real(wave * wave)), x.dtype)
    total.backward()
    return [*_numbers(x.grad), *_numbers(scalar.grad), *_numbers(empty.grad)]


def _leaf(xp: Any, values: Any) -> Variable:
    widest = xp.__array_namespace_info__().default_dtypes()["real floating"]
    return Variable(xp.asarray(values, dtype=widest), requires_grad=True)


def _numbers(array: Any) -> Numbers:
    xp = array.__array_namespace__()
    flat = xp.reshape(array, (-1,))
    return [complex(flat[k].item()) for k in range(flat.shape[0])]


PROGRAMS: dict[str, Callable[[Any], Numbers]] = {
    "a gradient": gradient,
    "a second derivative": _second,
    "ops of every kind": _kinds,
}
