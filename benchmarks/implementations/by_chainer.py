"""Derivatives by Chainer, whose last version needs NumPy 1.23 or older: give it ``--python``."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import chainer
import numpy as np
from chainer import functions

from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]

LACKS = frozenset({"fft", "linalg", "vmap"})


def version() -> str:
    """Return Chainer's version."""
    return str(chainer.__version__)


def namespace() -> Any:
    """Return Chainer's functions, by the names of the array API standard."""
    names = ("exp", "log", "max", "mean", "reshape", "sin", "sqrt", "sum", "tanh")
    same = {name: getattr(functions, name) for name in names}
    nn = SimpleNamespace(
        avg_pool2d=functions.average_pooling_2d,
        conv2d=lambda x, weight, bias, stride, padding: functions.convolution_2d(
            x, weight, bias, stride, padding
        ),
        cross_entropy=functions.softmax_cross_entropy,
        linear=functions.linear,
        max_pool2d=lambda x, kernel, stride, padding, ceil_mode: functions.max_pooling_2d(
            x, kernel, stride, padding, cover_all=ceil_mode
        ),
        relu=functions.relu,
    )
    return SimpleNamespace(**same, concat=functions.concat, nn=nn, permute_dims=functions.transpose)


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once."""
    xp = namespace()

    def forward() -> Any:
        leaves = [chainer.Variable(each) for each in case.variables]
        return leaves, case.value(xp, *leaves, *case.constants)

    def gradients() -> Any:
        leaves, value = forward()
        value.grad = np.ones(value.shape, value.dtype)
        value.backward()
        return [leaf.grad for leaf in leaves]

    def products() -> Any:
        leaves, value = forward()
        first = chainer.grad([value], leaves, enable_double_backprop=True)
        vectors = [chainer.Variable(each) for each in case.vectors]
        return [each.array for each in chainer.grad(first, leaves, vectors)]

    return products if case.vectors else gradients
