"""Python's operators on Variables: each is an op, specialised to its backend."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agnograd._arrays.conversions import as_operand, raw_key
from agnograd._arrays.protocols import Ufuncs
from agnograd._arrays.variable import Variable
from agnograd._arrays.views import InPlace, View, replace, write
from agnograd._codegen.deferring import compile_op
from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import same_key

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain
    from agnograd._codegen.forward import Form

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
            # The backend says whether its in-place operator casts or refuses.
            operand = as_operand(self._domain, other, self)
            raw = operand._raw if isinstance(operand, Variable) else operand
            raw_in_place(self._domain.copy(self._raw), raw)
            new = self._domain.namespace.astype(new, self.dtype)
        replace(self, new)
        return self

    return method


def _set_item(self: Variable, key: Any, value: Any, /) -> None:
    """Record a write: the Variable comes to stand for the new value."""
    # At the end of ``x[key] += v``, the value is what ``x[key]`` shows already.
    shown = isinstance(value, View) and value._base is self and value._op.name == "__getitem__"
    if not (shown and same_key(value._options["key"], raw_key(key))):
        replace(self, write(self, key, value))
