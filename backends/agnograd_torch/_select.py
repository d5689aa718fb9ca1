"""Arrays that are 0 where a mask says so, without a branch for each element.

``torch.where`` takes several times as long as an addition if the mask is not mostly the same from
one element to the next: a processor guesses which way each branch goes, and then goes back. What
keeps or clears all bits of an element takes as long for every mask. It gives the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad

from agnograd.extend import switch
from agnograd_compile.lowering import Ref
from agnograd_torch._calls import DirectCall

if TYPE_CHECKING:
    from agnograd_compile.lowering import Step, TracedProgram

__all__ = ["cleared", "kept", "select_call"]

# The fewest elements for which several calls take less time than one.
MASKED_ELEMENTS = switch("MASKED_ELEMENTS", 2**15, least=1, most=2**62, module=__name__)
# As wide as each dtype, whose bits are those of an element.
BITS = {torch.float32: torch.int32, torch.float64: torch.int64}


def select_call(step: Step, program: TracedProgram) -> DirectCall | None:
    """Return the call that is the same as a step ``where``, if it is 0 on one side of the mask."""
    if step.op != "where" or step.kwargs or len(step.args) != 3:
        return None
    mask, one, other = step.args
    if _is_zero(other, program) and _fits(step, mask, one, program):
        return DirectCall(kept, (mask, one))
    if _is_zero(one, program) and _fits(step, mask, other, program):
        return DirectCall(cleared, (mask, other))
    return None


def kept(mask: Any, x: Any) -> Any:
    """Return ``x`` where the mask is true, and 0 elsewhere."""
    if _is_tracked(x):
        return torch.where(mask, x, 0.0)
    return _bits(x, mask.to(BITS[x.dtype]).neg_())  # of true, all bits


def cleared(mask: Any, x: Any) -> Any:
    """Return 0 where the mask is true, and ``x`` elsewhere."""
    if _is_tracked(x):
        return torch.where(mask, 0.0, x)
    return _bits(x, mask.to(BITS[x.dtype]).sub_(1))  # of false, all bits


def _bits(x: Any, bits: Any) -> Any:
    """Return the elements of ``x`` with those of their bits that are given, in their memory."""
    return bits.bitwise_and_(x.view(bits.dtype)).view(x.dtype)


def _is_tracked(x: Any) -> bool:
    """Return whether PyTorch itself differentiates: it does not see through bits."""
    return x.requires_grad or forward_ad.unpack_dual(x).tangent is not None


def _is_zero(value: Any, program: TracedProgram) -> bool:
    """Return whether an argument is known to be 0, and not minus 0, which has other bits."""
    if type(value) is Ref:
        if value not in program.constants or program.facts[value].size != 1:
            return False
        value = program.constants[value].item()
    return type(value) in (int, float) and value == 0 and not str(value).startswith("-")


def _fits(step: Step, mask: Any, value: Any, program: TracedProgram) -> bool:
    """Return whether mask, value and result are large tensors of a CPU, alike in memory."""
    if type(mask) is not Ref or type(value) is not Ref:
        return False
    facts = program.facts
    of_mask, out = facts[mask], facts[step.outs[0]]
    if facts[value] != out or out.dtype not in BITS or of_mask.dtype != torch.bool:
        return False
    wide = tuple(stride * out.dtype.itemsize for stride in of_mask.strides or ())
    alike = of_mask.shape == out.shape and wide == out.strides
    return alike and out.size >= MASKED_ELEMENTS and torch.device(out.device).type == "cpu"
