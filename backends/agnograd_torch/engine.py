"""Ops as functions that PyTorch differentiates, transforms, and compiles."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch._C import _functorch as functorch
from torch.autograd import forward_ad

from agnograd.errors import UnsupportedFunctionError
from agnograd.extend import Calling, Engine, Primitive
from agnograd_torch import _custom

__all__ = ["TorchEngine", "engine"]


class TorchEngine(Engine):
    """Ops become ``torch.autograd.Function``s, and custom ops where ``torch.compile`` traces."""

    backend = "torch"

    def function(self, primitive: Primitive) -> Calling:
        """Return what applies one of the op's functions."""
        plain, transformed = _functions(primitive)
        one = primitive.op.outputs == "one"
        transforms = torch._C._are_functorch_transforms_active
        recording = torch.is_grad_enabled

        def call(arrays: tuple[Any, ...], options: tuple[Any, ...]) -> Any:
            for x in arrays:
                if type(x) is not torch.Tensor:
                    if not any(isinstance(each, torch.Tensor) for each in arrays):
                        return primitive.rebuilt(primitive.compute(arrays, options))
                    arrays = primitive.operands(arrays)
                    break
            if transforms():
                if _is_forward_mode(primitive.op.name):
                    return _dual(transformed, primitive, arrays, options)
                found = transformed.apply(options, *arrays)
            elif recording() or forward_ad._current_level >= 0:
                found = plain.apply(options, *arrays)
            else:  # as in most passes, where rules call functions
                return primitive.rebuilt(primitive.compute(arrays, options))
            return found if one else primitive.rebuilt(found)

        return call

    tracing = staticmethod(torch.compiler.is_compiling)
    traced = staticmethod(_custom.call)

    def asarray(self, raw: Callable[..., Any]) -> Callable[..., Any]:
        """Return what leaves tensors in PyTorch's graph: its own ``asarray`` may not."""

        def asarray(x: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
            if isinstance(x, torch.Tensor):
                return x.to(device=device or x.device, dtype=dtype or x.dtype, copy=bool(copy))
            return raw(x, dtype=dtype, device=device, copy=copy)

        return asarray

    def constant(self, value: Any) -> torch.Tensor:
        """Return a tensor that shares the memory of NumPy's array if it can."""
        shared = value.flags.writeable and min(value.strides, default=0) >= 0
        return torch.asarray(value if shared else value.copy())


def _functions(primitive: Primitive) -> tuple[Any, Any]:
    """Return an op as a function for PyTorch, and as one for its transformations.

    These need a function that does not get its context, of which PyTorch asks the signature at each
    call: that takes longer than all else.
    """
    one, optional = primitive.op.outputs == "one", primitive.op.outputs == "optional"

    def keep(ctx: Any, options: Any, arrays: Any, results: tuple[torch.Tensor, ...]) -> None:
        saved = list(primitive.save(arrays, options, results))
        kept = []
        for place in primitive.arrays_saved:
            if isinstance(saved[place], torch.Tensor):
                kept.append(saved[place])
                saved[place] = _Kept
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)
        ctx.others = saved
        # Zeros could not be told from what has no tangent, and so needs no rule.
        ctx.set_materialize_grads(False)
        if not one:
            ctx.mark_non_differentiable(*(each for each in results if not _is_inexact(each)))
        ctx.likes = [(each.shape, each.dtype, each.device) for each in results]

    def saved_in(ctx: Any) -> list[Any]:
        kept = iter(ctx.saved_tensors)
        return [next(kept) if each is _Kept else each for each in ctx.others]

    class Plain(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, options: tuple[Any, ...], *arrays: Any) -> Any:
            results = primitive.compute(arrays, options)
            keep(ctx, options, arrays, results)
            return results[0] if one else results

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            if not optional and any(g is None for g in cotangents):
                cotangents = _filled(cotangents, ctx.likes)
            found = primitive.pull(saved_in(ctx), cotangents, ctx.needs_input_grad[1:])
            return None, *found

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
            # What is saved still has its tangents, which rules must not see.
            saved = [_primal(each) for each in saved_in(ctx)]
            found = _pushed(primitive, saved, tangents, ctx.likes)
            return found[0] if one else found

    class Transformed(Plain):
        @staticmethod
        def forward(options: tuple[Any, ...], *arrays: Any) -> Any:  # type: ignore[override]
            results = primitive.compute(arrays, options)
            return results[0] if one else results

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            options, *arrays = inputs
            keep(ctx, options, arrays, (output,) if one else output)

        @staticmethod
        def vmap(info: Any, in_dims: Any, options: tuple[Any, ...], *arrays: Any) -> Any:
            dims = in_dims[1:]
            given = [
                x if dim is None else x.movedim(dim, 0) for x, dim in zip(arrays, dims, strict=True)
            ]
            mapped = [dim is not None for dim in dims]
            results = primitive.batched(info.batch_size, mapped, given, options)
            return (results[0], 0) if one else (results, (0,) * len(results))

    for each in (Plain, Transformed):
        each.__name__ = each.__qualname__ = primitive.op.name
    return Plain, Transformed


def _is_forward_mode(name: str) -> bool:
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


class _Quiet(threading.local):
    """In how many transformations of forward mode no tensor has tangents now."""

    levels = 0


_quiet = _Quiet()


def _dual(
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
        likes = [(each.shape, each.dtype, each.device) for each in results]
        saved = primitive.save(primals, options, results)
        _quiet.levels += 1
        try:
            found = _pushed(primitive, saved, tangents, likes)
        finally:
            _quiet.levels -= 1
        pairs = zip(results, found, strict=True)
        results = tuple(x if t is None else forward_ad.make_dual(x, t) for x, t in pairs)
    return primitive.rebuilt(results)


class _Kept:
    """What stands for an array that PyTorch keeps for a context."""


def _filled(cotangents: Sequence[Any], likes: Sequence[Any]) -> tuple[Any, ...]:
    """Return cotangents with zeros for those of results that nothing depends on."""
    return tuple(
        torch.zeros(shape, dtype=dtype, device=device) if g is None else g
        for g, (shape, dtype, device) in zip(cotangents, likes, strict=True)
    )


def _primal(x: Any) -> Any:
    return forward_ad.unpack_dual(x).primal if isinstance(x, torch.Tensor) else x


def _is_inexact(x: torch.Tensor) -> bool:
    return bool(x.is_floating_point() or x.is_complex())


def _pushed(
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
    zeros = [torch.zeros(shape, dtype=dtype, device=on) for shape, dtype, on in likes]

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


engine = TorchEngine()
