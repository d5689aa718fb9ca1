"""Python's operators on Variables: each is an op, specialised to its backend."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agnograd._arrays.conversions import as_operand, raw_key
from agnograd._arrays.protocols import Ufuncs
from agnograd._arrays.variable import Variable
from agnograd._arrays.views import InPlace, View, replace
from agnograd._codegen.deferring import compile_op
from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import same_key
from agnograd._plugins.op_sets import registered_in

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain

UNARY = {
    "__abs__": "abs",
    "__invert__": "bitwise_invert",
    "__neg__": "negative",
    "__pos__": "positive",
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
COMPARISONS = {
    "__eq__": "equal",
    "__ge__": "greater_equal",
    "__gt__": "greater",
    "__le__": "less_equal",
    "__lt__": "less",
    "__ne__": "not_equal",
}


_OPERATORS = {op: f"__{short}__" for short, op in BINARY.items()} | {
    op: special for special, op in COMPARISONS.items()
}


def as_ufunc(domain: Domain, name: str) -> Callable[..., Any] | None:
    """Return an op that is an operator of two arrays as a ufunc calls it, or None.

    Either operand may be another library's, which gets its chance to answer: the function returns
    NotImplemented then. Lists are arrays.
    """
    if name not in _OPERATORS:
        return None
    kernel = domain.backend.operator(getattr(operator, _OPERATORS[name]))
    return compile_op(registered_in("")[name][0], domain, kernel, "ufunc")


def add_operators(domain: Domain, ops: dict[str, Op]) -> None:
    """Give the Variable class of a backend its operators."""

    def compiled(name: str, special: str, form: Any) -> Callable[..., Any]:
        kernel = domain.backend.operator(getattr(operator, special))
        return compile_op(ops[name], domain, kernel, form)

    methods: dict[str, Callable[..., Any]] = {}
    for special, name in (UNARY | COMPARISONS).items():
        methods[special] = compiled(name, special, "operator")
    for short, name in BINARY.items():
        forward = methods[f"__{short}__"] = compiled(name, f"__{short}__", "operator")
        methods[f"__r{short}__"] = compiled(name, f"__{short}__", "reflected")
        in_place = getattr(operator, f"__i{short}__")
        methods[f"__i{short}__"] = _in_place(forward, in_place)
    domain.Variable._ufuncs = Ufuncs(domain)
    domain.put_later = compile_op(ops["__setitem__"], domain, InPlace)
    methods["__getitem__"] = compiled("__getitem__", "__getitem__", "operator")
    methods["__setitem__"] = _set_item
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
            raw = operand.detach()._raw if isinstance(operand, Variable) else operand
            raw_in_place(self._domain.copy(self._raw), raw)
            new = self._domain.namespace.astype(new, self.dtype)
        replace(self, new)
        return self

    return method


def _set_item(self: Variable, key: Any, value: Any, /) -> None:
    """Record a write: the Variable comes to stand for the new value."""
    if not _is_own_view(self, key, value):
        replace(self, self._domain.write(self, key, value))


def _is_own_view(x: Variable, key: Any, value: Any) -> bool:
    """Whether a value is what ``x[key]`` shows already, as it is at the end of ``x[key] += v``."""
    return (
        isinstance(value, View)
        and value._base is x
        and value._op.name == "__getitem__"
        and same_key(value._options["key"], raw_key(key))
    )
