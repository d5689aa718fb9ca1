"""Functions of a library as custom ops, which ``torch.compile`` puts into its graphs as they are.

A trace has tensors without values, and kernels and rules need values. So a call is one op of a
graph, its gradients are another, and each runs on tensors with values when the graph does. The
second one computes the function once more.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import Any

import torch

import agnograd as ag
from agnograd.errors import UnsupportedFunctionError
from agnograd_engines import engine_function
from agnograd_torch._autocast import in_full, widened
from agnograd_torch._bridge import gradients, is_inexact
from agnograd_torch._tangents import likes_of, with_zeros

__all__ = ["call"]

Facts = list[tuple[tuple[int, ...], torch.dtype]]


class _Call:
    """One way to call a function: all but the tensors in its arguments, and what it returns."""

    def __init__(self, name: str, given: Any) -> None:
        self.name, self.given, self.function = name, given, engine_function("torch", name)
        self.kind = "one"  # or what several results are in: a list, or a tuple
        self.facts: dict[Any, Facts] = {}

    def run(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Call the function, and return its results in a list."""
        args, names, values = _joined(self.given, iter(tensors))
        found = self.function(*args, **dict(zip(names, values, strict=True)))
        if isinstance(found, torch.Tensor):
            return [found]
        if not all(isinstance(each, torch.Tensor) for each in found):
            raise UnsupportedFunctionError(
                f"{self.name} returns more than tensors, which torch.compile cannot have in a "
                "graph: call it outside of what is compiled"
            )
        self.kind = "list" if isinstance(found, list) else "tuple"
        return list(found)

    def like(self, tensors: Sequence[torch.Tensor]) -> Facts:
        """Return the shapes and dtypes of the results, by a run on ones.

        It is in a thread of its own, where there is no trace.
        """
        given = [(tuple(int(n) for n in x.shape), x.dtype) for x in tensors]
        key = tuple(given)
        if key not in self.facts:
            with ThreadPoolExecutor(1) as thread:
                self.facts[key] = thread.submit(self._of_ones, given).result()
        return self.facts[key]

    def _of_ones(self, given: Facts) -> Facts:
        try:
            found = self.run([torch.ones(shape, dtype=dtype) for shape, dtype in given])
        except Exception as error:
            error.add_note(
                "agnograd: for torch.compile, the function was run on tensors of ones, to see the "
                "shapes of its results"
            )
            raise
        return [(tuple(x.shape), x.dtype) for x in found]

    def pulled(
        self, tensors: Sequence[torch.Tensor], cotangents: Sequence[torch.Tensor], wanted: list[int]
    ) -> list[torch.Tensor]:
        """Return the gradients of the tensors at some places, by agnograd's reverse pass."""
        values = [x.detach() for x in tensors]
        function = attrgetter(self.name)(ag.namespace("torch"))
        inexact = [*map(is_inexact, cotangents)]

        def of_wanted(*given: Any) -> list[Any]:
            for place, each in zip(wanted, given, strict=True):
                values[place] = each
            args, names, others = _joined(self.given, iter(values))
            found = function(*args, **dict(zip(names, others, strict=True)))
            every = [found] if isinstance(found, ag.Variable) else found
            return [x for x, kind in zip(every, inexact, strict=True) if kind]

        _, pullback = ag.vjp(of_wanted, *(values[place] for place in wanted))
        given = [g.detach() for g, kind in zip(cotangents, inexact, strict=True) if kind]
        found = pullback(given)
        return [found] if isinstance(found, torch.Tensor) else list(found)

    def gradients(
        self, tensors: Sequence[torch.Tensor], cotangents: Sequence[torch.Tensor], wanted: list[int]
    ) -> list[torch.Tensor]:
        """Return the gradients of the tensors at some places, which PyTorch differentiates."""
        starts = [tensors[place] for place in wanted]
        return gradients(self.run(tensors), starts, cotangents, create_graph=True)


# By the text that stands for a call in graphs.
_calls: dict[str, _Call] = {}
_TENSOR, _TUPLE, _LIST, _VALUE = range(4)  # what the parts of a call begin with


def call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function as a custom op; PyTorch traces this."""
    tensors: list[torch.Tensor] = []
    given = _parted((args, tuple(kwargs), tuple(kwargs.values())), tensors)
    text = _text(name, given)
    found = torch.ops.agnograd.call([widened(x) for x in tensors], text)
    kind = _kind(text)
    if kind == "one":
        return found[0]
    return list(found) if kind == "list" else tuple(found)


def _parted(value: Any, tensors: list[torch.Tensor]) -> Any:
    """Return a value without its tensors, which go to the list."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return (_TENSOR,)
    if isinstance(value, tuple):
        return (_TUPLE, *[_parted(each, tensors) for each in value])
    if isinstance(value, list):
        return (_LIST, *[_parted(each, tensors) for each in value])
    return (_VALUE, value)


def _joined(given: Any, tensors: Any) -> Any:
    kind, *rest = given
    if kind == _TENSOR:
        return next(tensors)
    if kind == _VALUE:
        return rest[0]
    parts = [_joined(each, tensors) for each in rest]
    return parts if kind == _LIST else tuple(parts)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _text(name: str, given: Any) -> str:
    """Return the text that stands for a call; its values are kept beside it."""
    text = repr((name, given))
    if text not in _calls:
        _calls[text] = _Call(name, given)
    return text


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _kind(text: str) -> str:
    """Return whether a call returns one tensor, or several in a list or a tuple."""
    return _calls[text].kind


def _call_of(text: str) -> _Call:
    if text not in _calls:  # a graph was kept by another process
        _calls[text] = _Call(*literal_eval(text))
    return _calls[text]


@torch.library.custom_op("agnograd::call", mutates_args=())  # type: ignore[untyped-decorator]
def _forward(tensors: list[torch.Tensor], call: str) -> list[torch.Tensor]:
    """Run a call; results must not share memory with its tensors."""
    storages = {x.untyped_storage().data_ptr() for x in tensors}
    with torch.no_grad():
        found = _call_of(call).run([x.detach() for x in tensors])
    return [x.clone() if x.untyped_storage().data_ptr() in storages else x for x in found]


@_forward.register_fake  # type: ignore[untyped-decorator]
def _(tensors: list[torch.Tensor], call: str) -> list[torch.Tensor]:
    device = tensors[0].device
    return [
        torch.empty(shape, dtype=dtype, device=device)
        for shape, dtype in _call_of(call).like(tensors)
    ]


@torch.library.custom_op("agnograd::gradients", mutates_args=())  # type: ignore[untyped-decorator]
def _gradients(
    tensors: list[torch.Tensor], cotangents: list[torch.Tensor], wanted: list[int], call: str
) -> list[torch.Tensor]:
    """Return the gradients of a call's tensors at some places."""
    # PyTorch records nothing inside an op, and agnograd's own engine does.
    pulled = in_full(_call_of(call).pulled)
    return [g.clone() for g in pulled(tensors, cotangents, wanted)]


@_gradients.register_fake  # type: ignore[untyped-decorator]
def _(
    tensors: list[torch.Tensor], cotangents: list[torch.Tensor], wanted: list[int], call: str
) -> list[torch.Tensor]:
    return [torch.empty_like(tensors[place]) for place in wanted]


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    tensors, ctx.call = inputs
    ctx.save_for_backward(*tensors)
    ctx.likes = likes_of(output)


def _backward(ctx: Any, grads: Any) -> Any:
    given, tensors = with_zeros(grads, ctx.likes), list(ctx.saved_tensors)
    wanted = [place for place, needed in enumerate(ctx.needs_input_grad[0]) if needed]
    found = iter(torch.ops.agnograd.gradients(tensors, given, wanted, ctx.call))
    return [next(found) if place in wanted else None for place in range(len(tensors))], None


def _keep_both(ctx: Any, inputs: Any, output: Any) -> None:
    tensors, cotangents, ctx.wanted, ctx.call = inputs
    ctx.count = len(tensors)
    ctx.save_for_backward(*tensors, *cotangents)


def _backward_of_gradients(ctx: Any, grads: Any) -> Any:
    with torch.enable_grad():
        values = [x.view_as(x) for x in ctx.saved_tensors]
        tensors, cotangents = values[: ctx.count], values[ctx.count :]
        found = _call_of(ctx.call).gradients(tensors, cotangents, ctx.wanted)
        starts = [place for place, x in enumerate(values) if x.requires_grad]
        inputs = [values[place] for place in starts]
        found = gradients(found, inputs, grads, create_graph=torch.is_grad_enabled())
    every = dict(zip(starts, found, strict=True))
    return (
        [every.get(place) for place in range(ctx.count)],
        [every.get(place) for place in range(ctx.count, len(values))],
        None,
        None,
    )


_forward.register_autograd(_backward, setup_context=_keep)
_gradients.register_autograd(_backward_of_gradients, setup_context=_keep_both)
