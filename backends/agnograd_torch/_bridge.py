"""PyTorch's autograd on one side, agnograd's derivatives on the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from agnograd.errors import LostGradientError, RuleError
from agnograd.extend import Bridge, Flat, Program, Record

__all__ = ["TorchBridge", "gradients", "is_inexact"]


class TorchBridge(Bridge):
    """Programs become ``torch.autograd.Function``; functions and modules become records."""

    def export(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return the program's results, connected to PyTorch's graph if an input is."""
        if torch.is_grad_enabled() and any(x.requires_grad for x in inputs):
            results: tuple[torch.Tensor, ...] = _Exported.apply(program.record, *inputs)
            return results
        return program.outputs([x.detach() for x in inputs])

    def record(self, f: Flat, inputs: Sequence[Any], parameters: Sequence[Any] = ()) -> Record:
        """Run a function in a graph of its own, which begins at the inputs and parameters."""
        starts = [*(x.detach().requires_grad_() for x in inputs), *parameters]
        with torch.set_grad_enabled(bool(starts)):
            results = f(starts[: len(inputs)])
        for each in results:
            if not isinstance(each, torch.Tensor):
                raise RuleError(
                    f"the function returned {type(each).__name__}; it must return a tensor, or a "
                    "pytree of tensors"
                )
        _check_closed(results, starts)
        return TorchRecord(starts, results)

    def parameters(self, f: Any) -> Sequence[tuple[Any, Any]]:
        """Return a module's parameters that require a gradient."""
        if not isinstance(f, torch.nn.Module):
            return ()
        return [(each, each.detach()) for each in f.parameters() if each.requires_grad]

    def accumulate(self, parameter: Any, gradient: Any) -> None:
        """Add to the parameter's ``grad``."""
        if parameter.grad is None:
            parameter.grad = gradient.clone()
        else:
            parameter.grad.add_(gradient)


class TorchRecord:
    """A part of PyTorch's graph, from its inputs to its results; a ``Record``."""

    def __init__(self, inputs: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> None:
        self.inputs = inputs
        self.results = results
        self.outputs = [result.detach() for result in results]

    def pull(self, cotangents: Sequence[Any]) -> Sequence[Any]:
        """Return the gradients of the inputs; the graph is kept, until the record goes."""
        return gradients(self.results, self.inputs, cotangents, create_graph=False)

    def pulled(self, cotangents: Sequence[Any], places: Sequence[int]) -> TorchRecord:
        """Return the gradients as a graph of their own, from the inputs and cotangents."""
        given = [g.detach().requires_grad_(is_inexact(g)) for g in cotangents]
        values = [*self.inputs, *given]
        found = gradients(self.results, self.inputs, given, create_graph=True)
        return TorchRecord([values[place] for place in places], found)


def gradients(
    results: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], *, create_graph: bool
) -> list[Any]:
    """Return the gradients of inputs, as PyTorch computes them; the graph is kept.

    A cotangent of None stands for zeros.
    """
    pairs = [
        (out, g)
        for out, g in zip(results, cotangents, strict=True)
        if out.requires_grad and g is not None
    ]
    if not pairs:
        return [torch.zeros_like(x) for x in inputs]
    return list(
        torch.autograd.grad(
            [out for out, _ in pairs],
            inputs,
            [g for _, g in pairs],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
            materialize_grads=True,
        )
    )


class _Exported(torch.autograd.Function):  # type: ignore[misc]
    """An agnograd record in PyTorch's graph; its gradient is another one."""

    @staticmethod
    def forward(ctx: Any, record: Callable[[Sequence[Any]], Record], *inputs: Any) -> Any:
        ctx.record = record([x.detach() for x in inputs])
        ctx.save_for_backward(*inputs)
        outputs = tuple(ctx.record.outputs)
        ctx.mark_non_differentiable(*(each for each in outputs if not is_inexact(each)))
        return outputs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        # PyTorch raises here if an input was written to, or the graph is freed.
        inputs, record = ctx.saved_tensors, ctx.record
        values = (*inputs, *grads)
        places = [place for place, value in enumerate(values) if is_inexact(value)]
        given = [g.detach() for g in grads]
        if torch.is_grad_enabled() and any(value.requires_grad for value in values):
            found = iter(
                _Exported.apply(
                    lambda _: record.pulled(given, places), *(values[place] for place in places)
                )
            )
        else:
            found = iter(record.pull(given))
        return None, *(next(found) if is_inexact(x) else None for x in inputs)


def is_inexact(x: torch.Tensor) -> bool:
    """Return whether a tensor has a floating-point or complex dtype."""
    return bool(x.is_floating_point() or x.is_complex())


def _check_closed(results: Iterable[Any], starts: Sequence[Any]) -> None:
    """Raise if results depend on tensors that require a gradient and are not inputs."""
    known = {id(start) for start in starts}
    leaves = [each for each in results if each.requires_grad and each.grad_fn is None]
    stack = [each.grad_fn for each in results if each.grad_fn is not None]
    seen = set(stack)
    while stack:
        node = stack.pop()
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    if any(id(leaf) not in known for leaf in leaves):
        raise LostGradientError(
            "the function uses a tensor that requires a gradient and is none of its arguments: its "
            "gradient would be lost. Pass it as an argument, detach it, or make the function a "
            "torch.nn.Module that has it as a parameter"
        )
