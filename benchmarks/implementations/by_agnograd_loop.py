"""Derivatives of many at once by agnograd, over NumPy: one after the other, in a loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

import agnograd as ag
from benchmarks.implementations import by_agnograd
from benchmarks.implementations.by_agnograd import LACKS, version
from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once."""
    if not case.many:
        return by_agnograd.prepare(case)
    functions = SimpleNamespace(
        vmap=_one_by_one,
        grad=ag.grad,
        jacobian=partial(ag.jacobian, chunk_size=1),
        hessian=lambda function: ag.jacobian(ag.grad(function), chunk_size=1),
    )
    transformed = case.transformed(functions, ag.namespace("numpy"))
    return lambda: transformed(*case.variables, *case.constants)


def _one_by_one(function: Callable[..., Any], axes: tuple[int | None, ...]) -> Callable[..., Any]:
    """Return what ``vmap`` gives of a function of several results, by a call for each member."""

    def of_all(*arrays: Any) -> Any:
        given = list(zip(arrays, axes, strict=True))
        size = next(len(array) for array, axis in given if axis == 0)
        rows = [
            function(*[array if axis is None else array[i] for array, axis in given])
            for i in range(size)
        ]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    return of_all
