"""Derivatives by PyTorch, eagerly; those of many at once by ``torch.func``."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from benchmarks.workloads import Case

__all__ = ["LACKS", "prepare", "version"]

LACKS: frozenset[str] = frozenset()


def version() -> str:
    """Return PyTorch's version."""
    return str(torch.__version__)


def namespace() -> Any:
    """Return PyTorch's functions, by the names of the array API standard."""
    names = (
        "abs",
        "clip",
        "exp",
        "fft",
        "float64",
        "linalg",
        "log",
        "log1p",
        "mean",
        "reshape",
        "roll",
        "sin",
        "sqrt",
        "stack",
        "sum",
        "tanh",
        "where",
        "zeros",
    )
    functions = {name: getattr(torch, name) for name in names}
    others = {
        "concat": torch.concat,
        "matrix_transpose": operator.attrgetter("mT"),
        "max": torch.amax,
        "maximum": lambda x, least: torch.clamp(x, min=least),
        "permute_dims": torch.permute,
    }
    return SimpleNamespace(**functions, **others, nn=torch.nn.functional)


def laplacian(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a Laplacian by the first argument: by pushes of the gradient, all at once."""

    def of(x: torch.Tensor, *args: Any) -> Any:
        gradient = torch.func.grad(lambda x: function(x, *args))

        def along(v: torch.Tensor) -> Any:
            return v @ torch.func.jvp(gradient, (x,), (v,))[1]

        return torch.sum(torch.func.vmap(along)(torch.eye(x.numel(), dtype=x.dtype)))

    return of


def prepare(case: Case) -> Callable[[], Any]:
    """Return what computes the derivatives once."""
    torch.set_num_threads(1)
    xp = namespace()
    variables, constants, vectors = case.on(torch.asarray)[2:5]

    if case.many:
        functions = SimpleNamespace(
            vmap=torch.func.vmap,
            grad=torch.func.grad,
            jacobian=torch.func.jacrev,
            hessian=torch.func.hessian,
            laplacian=laplacian,
        )
        transformed = case.transformed(functions, xp)
        return lambda: transformed(*variables, *constants)

    def forward() -> Any:
        leaves = [each.detach().requires_grad_() for each in variables]
        return leaves, case.value(xp, *leaves, *constants)

    def gradients() -> Any:
        leaves, value = forward()
        value.backward(torch.ones_like(value))
        return [leaf.grad for leaf in leaves]

    def products() -> Any:
        leaves, value = forward()
        first = torch.autograd.grad(value, leaves, create_graph=True)
        return torch.autograd.grad(first, leaves, vectors)

    return products if case.vectors else gradients
