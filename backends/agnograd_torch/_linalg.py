"""Linear algebra that the standard lacks, or PyTorch does not check, by PyTorch's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import array_api_compat.torch as xp
import torch

__all__ = ["KERNELS", "factors", "solved", "solved_by_adjoints"]


def eigh_upper(x: Any, /) -> Any:
    """Return eigenvalues and eigenvectors by the upper triangle."""
    return torch.linalg.eigh(x, UPLO="U")


def solve_adjoint(x1: Any, x2: Any, /) -> Any:
    """Solve by the adjoints of matrices; by those that are singular, the solution is NaN.

    Rounding may make an adjoint singular though the matrix was not: the other matrices of a batch
    have their gradients.
    """
    dtype = torch.promote_types(x1.dtype, x2.dtype)
    return solved_by_adjoints(factors(x1.to(dtype)), x2.to(dtype))


class Factors(NamedTuple):
    """The factors of square matrices, and which of these are singular."""

    compact: Any
    pivots: Any
    singular: Any


def factors(x: Any) -> Factors:
    """Return the LU factors of matrices, as ``torch.linalg.solve`` computes them on a CPU."""
    compact, pivots, info = torch.linalg.lu_factor_ex(x)
    return Factors(compact, pivots, info != 0)


def solved(x1: Any, of: Factors, x2: Any) -> Any:
    """Solve by matrices whose factors are known; by a singular one, raise as PyTorch does."""
    if bool(of.singular.any()):
        return torch.linalg.solve(x1, x2)
    if x2.ndim == 1:
        return torch.linalg.lu_solve(of.compact, of.pivots, x2[:, None])[:, 0]
    return torch.linalg.lu_solve(of.compact, of.pivots, x2)


def solved_by_adjoints(of: Factors, x2: Any) -> Any:
    """Solve by the adjoints of matrices whose factors are known."""
    found = torch.linalg.lu_solve(of.compact, of.pivots, x2, adjoint=True)
    return torch.where(of.singular[..., None, None], torch.nan, found)


def solve_triangle(x1: Any, x2: Any, /, *, lower: bool = True) -> Any:
    """Solve by one triangle of matrices."""
    return torch.linalg.solve_triangular(x1, x2, upper=not lower)


def tensordot(x1: Any, x2: Any, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Any:
    """Contract axes of equal lengths; PyTorch would broadcast those of length 1."""
    if isinstance(axes, int):
        lengths = [x1.shape[x1.ndim - axes :], x2.shape[:axes]]
    else:
        both = [(each,) if isinstance(each, int) else each for each in axes]
        pairs = zip((x1, x2), both, strict=True)
        lengths = [tuple(x.shape[axis] for axis in named) for x, named in pairs]
    if tuple(lengths[0]) != tuple(lengths[1]):
        raise ValueError(
            f"tensordot: the axes to contract must have the same lengths, not {tuple(lengths[0])} "
            f"and {tuple(lengths[1])}, of shapes {tuple(x1.shape)} and {tuple(x2.shape)}"
        )
    contracted: torch.Tensor = xp.tensordot(x1, x2, axes=axes)
    return contracted


KERNELS: dict[str, Callable[..., Any]] = {
    "linalg.eigh_upper": eigh_upper,
    "linalg.solve_adjoint": solve_adjoint,
    "linalg.solve_triangle": solve_triangle,
    "linalg.tensordot": tensordot,
    "tensordot": tensordot,
}
