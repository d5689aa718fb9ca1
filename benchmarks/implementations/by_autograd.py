"""Derivatives by HIPS autograd."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from types import SimpleNamespace
from typing import Any

import autograd
import autograd.numpy as anp

from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]

LACKS = frozenset({"vmap"})


def version() -> str:
    """Return autograd's version."""
    return installed("autograd")


def namespace() -> Any:
    """Return autograd's functions, by the names of the array API standard."""

    def diagonal(a: Any) -> Any:
        return anp.diagonal(a, axis1=-1, axis2=-2)  # its derivative knows only these axes

    linalg = SimpleNamespace(
        cholesky=anp.linalg.cholesky, solve=anp.linalg.solve, diagonal=diagonal
    )
    names = ("exp", "log", "max", "mean", "reshape", "sin", "sqrt", "sum", "tanh")
    functions = {name: getattr(anp, name) for name in names}
    return SimpleNamespace(**functions, permute_dims=anp.transpose, linalg=linalg, fft=anp.fft)


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once."""
    xp = namespace()
    every = tuple(range(len(case.variables)))

    def function(*variables: Any) -> Any:
        return case.value(xp, *variables, *case.constants)

    def gradients() -> Any:
        pullback, value = autograd.make_vjp(function, every)(*case.variables)
        return pullback(anp.ones_like(value))

    if case.vectors:
        (variable,), (vector,) = case.variables, case.vectors
        product = autograd.hessian_vector_product(function)
        return lambda: (product(variable, vector),)
    return gradients
