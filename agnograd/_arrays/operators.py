"""Python's operators on Variables: each is an op, specialised to its backend."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from agnograd._arrays.conversions import as_operand, raw_key
from agnograd._arrays.domain import Domain
from agnograd._arrays.levels import root_of
from agnograd._arrays.protocols import Ufuncs
from agnograd._arrays.variable import Variable
from agnograd._arrays.views import InPlace, View, replace, write
from agnograd._codegen.deferring import compile_op
from agnograd._ops.op import Form, Op
from agnograd._ops.rule_helpers import same_key

# The op that each of Python's operators is.
UNARY = {"abs": "abs", "invert": "bitwise_invert", "neg": "negative", "pos": "positive"}
COMPARISONS = {
    "eq": "equal",
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "ne": "not_equal",
}
BINARY = {
    "add": "add",
    "and": "bitwise_and",
    "floordiv": "floor_divide",
    "lshift": "bitwise_left_shift",
    "matmul": "matmul",
    "mod": "remainder",
    "mul": "multiply",
    "or": "bitwise_or",
    "pow": "pow",
    "rshift": "bitwise_right_shift",
    "sub": "subtract",
    "truediv": "divide",
    "xor": "bitwise_xor",
}
_KINDS = ("bool", "unsigned integer", "signed integer", "real floating", "complex floating")
# By the ops of two arrays.
OF_TWO = {op: f"__{short}__" for short, op in (BINARY | COMPARISONS).items()}


def compiled(domain: Domain, op: Op, special: str, form: Form) -> Callable[..., Any]:
    """Return the function of an op whose kernel is one of Python's operators."""
    kernel = domain.backend.operator(getattr(operator, special))
    return compile_op(op, domain, kernel, form)


def add_operators(domain: Domain, ops: dict[str, Op]) -> None:
    """Give the Variable class of a backend its operators."""
    methods = {"__setitem__": _set_item}
    for short, name in ({"getitem": "__getitem__"} | UNARY | COMPARISONS | BINARY).items():
        special = f"__{short}__"
        methods[special] = compiled(domain, ops[name], special, "operator")
        if short in BINARY:
            methods[f"__r{short}__"] = compiled(domain, ops[name], special, "reflected")
            in_place = getattr(operator, f"__i{short}__")
            methods[f"__i{short}__"] = _in_place(methods[special], in_place)
    domain.Variable._ufuncs = Ufuncs(domain)
    domain.put_later = compile_op(ops["__setitem__"], domain, InPlace)
    for special, method in methods.items():
        method.__name__ = special
        method.__qualname__ = f"Variable.{special}"
        setattr(domain.Variable, special, method)


def _in_place(forward: Callable[..., Any], raw_in_place: Callable[..., Any]) -> Any:
    def method(self: Variable, other: Any, /) -> Any:
        new = forward(self, other)
        if new is NotImplemented:
            return NotImplemented
        if new.shape != self.shape or new.dtype != self.dtype:
            _check_fits(self, other, new, raw_in_place)
            new = self._domain.namespace.astype(new, self.dtype)
        replace(self, new)
        return self

    return method


def _check_fits(x: Variable, other: Any, new: Variable, raw_in_place: Callable[..., Any]) -> None:
    """Raise if an in-place operator does not cast what it gives to the array, or not in its shape.

    The library is asked, by arrays of ones, as a level above it has no such operators. NumPy's
    rules hold where a library has none: an array keeps its shape, and the kind of its dtype.
    """
    root = root_of(new._domain)
    operand = as_operand(new._domain, other, new)
    known = [(_length(one), _length(own)) for one, own in zip(new.shape, x.shape, strict=False)]
    fits = len(new.shape) == len(x.shape) and all(one == own for one, own in known)

    def like(array: Variable) -> Any:
        # One element stands for all, unless shapes are what the operator has to look at.
        shape = [min(_length(each), 1) if fits else _length(each) for each in array.shape]
        return root.raw.ones(tuple(shape), dtype=array.dtype, device=array.device)

    place = like(x)
    if raw_in_place(place, like(operand) if isinstance(operand, Variable) else operand) is place:
        return
    if not fits:
        raise ValueError(
            f"an in-place operator cannot give an array of shape {x.shape} the shape {new.shape}: "
            "make a new array, as by x = x + y"
        )
    if _kind(root, new.dtype) > _kind(root, x.dtype):
        raise TypeError(
            f"an in-place operator cannot cast what it gives from {new.dtype} to {x.dtype}: make a "
            "new array, as by x = x + y, or cast it before, by xp.astype"
        )


def _length(length: Any) -> int:
    """Return the length of an axis, 1 for one that is unknown: as NaN is, or None."""
    return length if length is not None and length == length else 1


def _kind(root: Domain, dtype: Any) -> int:
    """Return the place of a dtype's kind among all: an array takes its own and those before."""
    return next(place for place, kind in enumerate(_KINDS) if root.library.isdtype(dtype, kind))


def _set_item(self: Variable, key: Any, value: Any, /) -> None:
    """Record a write: the Variable comes to stand for the new value."""
    # At the end of ``x[key] += v``, the value is what ``x[key]`` shows already.
    shown = isinstance(value, View) and value._base is self and value._op.name == "__getitem__"
    if not (shown and same_key(value._options["key"], raw_key(key))):
        replace(self, write(self, key, value))
