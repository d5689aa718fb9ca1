"""PyTorch's functions for steps of programs, without what only unknown arguments need."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from agnograd.extend import is_basic
from agnograd_compile.lowering import Fact, Ref, Step

__all__ = ["IN_PLACE", "UPDATES", "DirectCall", "direct_call"]


class DirectCall(NamedTuple):
    """A call that is the same as a step: a function, its arguments, and its options."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    options: Mapping[str, Any] = {}


Facts = Mapping[Ref, Fact]

# What PyTorch calls some of the standard's functions.
SHORT = {"divide": "div", "multiply": "mul", "subtract": "sub", "equal": "eq", "not_equal": "ne"}
SHORT |= {"greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le"}


def _named(names: str) -> dict[str, Callable[..., Any]]:
    """Return PyTorch's functions by the standard's names."""
    return {name: getattr(torch, SHORT.get(name, name)) for name in names.split()}


# Of two arrays. Those of the standard promote 0-d tensors, as PyTorch does not.
ARITHMETIC = _named("add divide multiply subtract")
# Which take a number as either operand.
NUMBERS = ARITHMETIC | _named("bitwise_and bitwise_or bitwise_xor floor_divide pow remainder")
# Which take a number as the second operand.
SECOND = _named("equal greater greater_equal less less_equal not_equal")
ARRAYS = "atan2 copysign hypot logaddexp logical_and logical_or logical_xor maximum minimum"
BINARY = NUMBERS | SECOND | _named(ARRAYS)
# Of one array, and no options: the namespace has PyTorch's own.
NAMES = "abs acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 negative"
NAMES += " reciprocal sin sinh sqrt square tan tanh"
UNARY = _named(NAMES)
# Whose result may take the memory of an argument: each element is read before it is written.
IN_PLACE = frozenset({*BINARY, *UNARY})
# Which add to their first argument, by methods of the backend.
UPDATES = frozenset({"@scatter_add", "@scatter_add_axis"})
_EXACT = 2**24  # up to which every integer is a number of float32


def direct_call(step: Step, facts: Facts) -> DirectCall | None:
    """Return the call of PyTorch's own function that is the same as a step, or None."""
    if step.op in BINARY:
        return _binary(step, facts)
    if step.op in UNARY:
        return None if step.kwargs else DirectCall(UNARY[step.op], step.args)
    write = _OTHERS.get(step.op)
    return None if write is None else write(step, facts)


def _binary(step: Step, facts: Facts) -> DirectCall | None:
    if step.kwargs or len(step.args) != 2:
        return None
    function, refs = BINARY[step.op], [x for x in step.args if type(x) is Ref]
    if len(refs) == 2:
        one, two = (facts[ref] for ref in refs)
        same = one.dtype == two.dtype or (one.shape and two.shape)
        return DirectCall(function, step.args) if same else None
    x1, x2 = step.args
    if len(refs) != 1 or step.op not in (NUMBERS | SECOND if type(x1) is Ref else NUMBERS):
        return None
    number = x2 if type(x1) is Ref else x1
    if type(number) not in (bool, int, float, complex):
        return None
    if step.op in ARITHMETIC:
        number = _as_array(number, facts[refs[0]], facts[step.outs[0]])
    return DirectCall(function, (x1, number) if type(x1) is Ref else (number, x2))


def _as_array(number: Any, beside: Fact, out: Fact) -> Any:
    """Return a number as the tensor that PyTorch would make of it in each call."""
    whole = type(number) is int and abs(number) <= _EXACT
    if not whole and type(number) is not float:
        return number
    if out.dtype != beside.dtype or out.dtype not in (torch.float32, torch.float64):
        return number
    if torch.device(beside.device).type != "cpu":
        return number  # a device gets numbers as arguments of its kernels
    return torch.tensor(number, dtype=out.dtype)


def _reduction(function: Callable[..., Any]) -> Callable[[Step, Facts], DirectCall | None]:
    def write(step: Step, facts: Facts) -> DirectCall | None:
        options = dict(step.kwargs)
        axis, keepdims = options.pop("axis", None), options.pop("keepdims", False)
        if options.pop("dtype", None) is not None or options or len(step.args) != 1:
            return None
        if axis is None:
            return None if keepdims else DirectCall(function, step.args)
        if axis == ():
            return None
        return DirectCall(function, (*step.args, axis), {"keepdim": True} if keepdims else {})

    return write


def _matmul(step: Step, facts: Facts) -> DirectCall | None:
    one, two = (facts[x] for x in step.args)
    if one.dtype != two.dtype or step.kwargs:
        return None
    matrices = len(one.shape) == len(two.shape) == 2
    return DirectCall(torch.mm if matrices else torch.matmul, step.args)


def _matrix_transpose(step: Step, facts: Facts) -> DirectCall | None:
    last = len(facts[step.args[0]].shape) - 1
    return DirectCall(torch.transpose, (*step.args, last - 1, last)) if last > 0 else None


def _renamed(
    function: Callable[..., Any], *names: str
) -> Callable[[Step, Facts], DirectCall | None]:
    """Return what writes a call by position, of an op whose options have these names."""

    def write(step: Step, facts: Facts) -> DirectCall | None:
        options = {name: value for name, value in step.kwargs.items() if value is not None}
        given = (*step.args, *(options.pop(n) for n in names[len(step.args) :] if n in options))
        if options or len(given) != len(names):
            return None
        return DirectCall(function, given)

    return write


def _expand_dims(step: Step, facts: Facts) -> DirectCall | None:
    found = _renamed(torch.unsqueeze, "x", "axis")(step, facts)
    return found if found is not None and type(found.args[1]) is int else None


def _where(step: Step, facts: Facts) -> DirectCall | None:
    if step.kwargs:
        return None
    chosen = [facts[each].dtype for each in step.args[1:] if type(each) is Ref]
    known = type(step.args[0]) is Ref and len(set(chosen)) == 1
    return DirectCall(torch.where, step.args) if known else None


def _getitem(step: Step, facts: Facts) -> DirectCall | None:
    """Write an index that PyTorch takes: one without arrays, and without negative steps."""
    key = step.args[1]
    parts = key if isinstance(key, tuple) else (key,)
    if not is_basic(key) or not all(map(_is_taken, parts)):
        return None
    return DirectCall(operator.getitem, step.args)


def _is_taken(part: Any) -> bool:
    if isinstance(part, slice):
        bounds = (part.start, part.stop, part.step)
        plain = all(each is None or type(each) is int for each in bounds)
        return plain and (part.step is None or part.step > 0)
    return part is None or part is ... or type(part) is int


_OTHERS: dict[str, Callable[[Step, Facts], DirectCall | None]] = {
    "__getitem__": _getitem,
    "broadcast_to": _renamed(torch.broadcast_to, "x", "shape"),
    "expand_dims": _expand_dims,
    "matmul": _matmul,
    "matrix_transpose": _matrix_transpose,
    "mean": _reduction(torch.mean),
    "permute_dims": _renamed(torch.permute, "x", "axes"),
    "reshape": _renamed(torch.reshape, "x", "shape"),
    "sum": _reduction(torch.sum),
    "where": _where,
}
