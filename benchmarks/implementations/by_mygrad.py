"""Derivatives by MyGrad, as it is after installation."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mygrad

from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]

LACKS = frozenset({"fft", "linalg", "second order", "vmap"})


def version() -> str:
    """Return MyGrad's version."""
    return str(mygrad.__version__)


def namespace() -> Any:
    """Return MyGrad's functions, by the names of the array API standard."""
    names = ("exp", "log", "max", "mean", "reshape", "sin", "sqrt", "sum", "tanh")
    functions = {name: getattr(mygrad, name) for name in names}
    return SimpleNamespace(**functions, permute_dims=mygrad.transpose)


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once."""
    xp = namespace()

    def gradients() -> Any:
        leaves = [mygrad.tensor(each, copy=False) for each in case.variables]
        case.value(xp, *leaves, *case.constants).backward()
        return [leaf.grad for leaf in leaves]

    return gradients
