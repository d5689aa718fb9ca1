"""An op as a ``torch.autograd.Function``, whose derivatives are those of its rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from agnograd_engines import Primitive
from agnograd_torch._autocast import in_full
from agnograd_torch._bridge import is_inexact
from agnograd_torch._tangents import likes_of, pushed, with_zeros

__all__ = ["functions"]

Results = tuple[torch.Tensor, ...]


def functions(primitive: Primitive) -> tuple[Any, Any]:
    """Return an op as a function for PyTorch, and as one for its transformations.

    These need a function that does not get its context, of which PyTorch asks the signature at each
    call: that takes longer than all else.
    """
    kept = _Kept(primitive)
    one = kept.one

    class Plain(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, options: tuple[Any, ...], *arrays: Any) -> Any:
            results = primitive.compute(arrays, options)
            kept.keep(ctx, options, arrays, results)
            return results[0] if one else results

        @staticmethod
        @in_full
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return None, *kept.pulled(ctx, cotangents)

        @staticmethod
        @in_full
        def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
            # What is saved still has its tangents, which rules must not see.
            saved = [_primal(each) for each in kept.saved_in(ctx)]
            found = pushed(primitive, saved, tangents, ctx.likes)
            return found[0] if one else found

    class Transformed(Plain):
        @staticmethod
        def forward(options: tuple[Any, ...], *arrays: Any) -> Any:  # type: ignore[override]
            results = primitive.compute(arrays, options)
            return results[0] if one else results

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            options, *arrays = inputs
            kept.keep(ctx, options, arrays, (output,) if one else output)

        @staticmethod
        def vmap(info: Any, in_dims: Any, options: tuple[Any, ...], *arrays: Any) -> Any:
            results = _batched(primitive, info.batch_size, in_dims[1:], arrays, options)
            return (results[0], 0) if one else (results, (0,) * len(results))

    for each in (Plain, Transformed):  # PyTorch's errors name these
        each.__name__ = each.__qualname__ = primitive.op.name
        behind = each._backward_cls
        behind.__name__ = behind.__qualname__ = f"{primitive.op.name}Backward"
    return Plain, Transformed


class _Kept:
    """What contexts of an op's functions keep, and how its rules use that."""

    def __init__(self, primitive: Primitive) -> None:
        self.primitive = primitive
        self.one = primitive.op.outputs == "one"
        self.optional = primitive.op.outputs == "optional"

    def keep(self, ctx: Any, options: Any, arrays: Any, results: Results) -> None:
        """Keep what the rules need, the tensors in PyTorch's own way."""
        saved = list(self.primitive.save(arrays, options, results))
        kept = []
        for place in self.primitive.arrays_saved:
            if isinstance(saved[place], torch.Tensor):
                kept.append(saved[place])
                saved[place] = _Kept
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)
        ctx.others = saved
        ctx.likes = likes_of(results)
        # Zeros could not be told from what has no tangent, and so needs no rule.
        ctx.set_materialize_grads(False)
        if not self.one:
            ctx.mark_non_differentiable(*(x for x in results if not is_inexact(x)))

    def saved_in(self, ctx: Any) -> list[Any]:
        """Return what was kept."""
        kept = iter(ctx.saved_tensors)
        return [next(kept) if each is _Kept else each for each in ctx.others]

    def pulled(self, ctx: Any, cotangents: Sequence[Any]) -> list[Any]:
        """Return the gradients of the arrays that need one."""
        if not self.optional and any(g is None for g in cotangents):
            cotangents = with_zeros(cotangents, ctx.likes)
        return self.primitive.pull(self.saved_in(ctx), cotangents, ctx.needs_input_grad[1:])


def _batched(
    primitive: Primitive, size: int, dims: Any, arrays: Any, options: tuple[Any, ...]
) -> Results:
    """Return the results for many members, which lie along an axis of some arrays."""
    pairs = list(zip(arrays, dims, strict=True))
    given = [x if dim is None else x.movedim(dim, 0) for x, dim in pairs]
    return primitive.batched(size, [dim is not None for dim in dims], given, options)


def _primal(x: Any) -> Any:
    return forward_ad.unpack_dual(x).primal if isinstance(x, torch.Tensor) else x
