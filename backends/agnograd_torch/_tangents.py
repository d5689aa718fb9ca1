"""Forward mode of PyTorch, through ops with rules for the other direction."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch._C import _functorch as functorch
from torch.autograd import forward_ad

from agnograd.errors import UnsupportedFunctionError
from agnograd_engines import Primitive

__all__ = ["dual", "is_forward_mode", "likes_of", "pushed", "with_zeros"]


def is_forward_mode(name: str) -> bool:
    """Return whether the innermost transformation is of forward mode.

    PyTorch loses tangents of tangents where a function has a rule for them: that of ``x**3`` gives
    a second derivative of 0. So the innermost ones must not meet that rule.
    """
    kinds = [each.key() for each in functorch.get_interpreter_stack()]
    innermost, left = bool(kinds[-1] == functorch.TransformType.Jvp), _quiet.levels
    if kinds.count(functorch.TransformType.Jvp) - left > 1 + (innermost and not left):
        raise UnsupportedFunctionError(
            f"{name}: PyTorch loses tangents of tangents here, of functions that have derivatives "
            "of their own; use reverse mode for one of the derivatives, as torch.func.hessian does"
        )
    return innermost


Likes = Sequence[tuple[Any, torch.dtype, Any]]


def likes_of(tensors: Sequence[torch.Tensor]) -> Likes:
    """Return the shape, dtype and device of each tensor."""
    return [(x.shape, x.dtype, x.device) for x in tensors]


def with_zeros(cotangents: Sequence[Any], likes: Likes) -> list[Any]:
    """Return cotangents with zeros in place of None."""
    return [
        torch.zeros(shape, dtype=dtype, device=device) if g is None else g
        for g, (shape, dtype, device) in zip(cotangents, likes, strict=True)
    ]


class _Quiet(threading.local):
    """In how many transformations of forward mode no tensor has tangents now."""

    levels = 0


_quiet = _Quiet()


def dual(
    function: Any, primitive: Primitive, arrays: Sequence[Any], options: tuple[Any, ...]
) -> Any:
    """Call an op with what tensors are without tangents, and give its results theirs."""
    duals = [
        forward_ad.unpack_dual(x) if isinstance(x, torch.Tensor) else (x, None) for x in arrays
    ]
    primals, tangents = (tuple(each) for each in zip(*duals, strict=True))
    out = function.apply(options, *primals)
    results = (out,) if primitive.op.outputs == "one" else out
    if any(t is not None for t in tangents):
        likes = likes_of(results)
        saved = primitive.save(primals, options, results)
        _quiet.levels += 1
        try:
            found = pushed(primitive, saved, tangents, likes)
        finally:
            _quiet.levels -= 1
        pairs = zip(results, found, strict=True)
        results = tuple(x if t is None else forward_ad.make_dual(x, t) for x, t in pairs)
    return primitive.rebuilt(results)


def pushed(
    primitive: Primitive, saved: Sequence[Any], tangents: Sequence[Any], likes: Sequence[Any]
) -> Any:
    """Return the tangents of all results, by partial derivatives or the transpose of `pull`."""
    wanted = [each is not None for each in tangents]
    dtypes = [each.dtype for each in tangents if each is not None]
    holomorphic = likes[0][1].is_complex or not any(each.is_complex for each in dtypes)
    if primitive.pushes and holomorphic:
        shape, dtype, _ = likes[0]
        return (primitive.push(saved, tangents, SimpleNamespace(shape=shape, dtype=dtype)),)
    inexact = [dtype.is_floating_point or dtype.is_complex for _, dtype, _ in likes]
    zeros = with_zeros([None] * len(likes), likes)
    there: list[int] = []  # the inputs that have a gradient: a rule may say that there is none

    def pullback(*given: Any) -> tuple[Any, ...]:
        left = iter(given)
        cotangents = [
            next(left) if kind else zero for kind, zero in zip(inexact, zeros, strict=True)
        ]
        found = primitive.pull(saved, cotangents, wanted)
        there[:] = [place for place, g in enumerate(found) if g is not None]
        return tuple(found[place] for place in there) or (torch.zeros(()),)

    starts = [zero for zero, kind in zip(zeros, inexact, strict=True) if kind]
    _, transpose = torch.func.vjp(pullback, *starts)
    found = iter(transpose(tuple(tangents[place] for place in there) or (torch.zeros(()),)))
    return tuple(next(found) if kind else None for kind in inexact)
