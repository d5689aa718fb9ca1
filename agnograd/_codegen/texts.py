"""Functions that are written for ops: as they were when agnograd was built, or written now.

A wheel has a module in ``agnograd._built`` for each op of the standard, with the functions
that ``tools/functions.py`` wrote for it, and Python keeps their bytecode as that of all modules. A
function is found there by all that its text depends on: the op, but for what its functions compute;
the functions that may be written out in it, by their places in files; and the switches of the
process. In a checkout, and for other ops, each process writes what it calls.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any

from agnograd._ops.op import Op
from agnograd._util.deferred import built, facts_of, function_from, function_in, later
from agnograd._util.switches import MODE

# Those that write, by the functions that do.
WRITERS = {
    "backward_source": "agnograd._codegen.backward",
    "forward_source": "agnograd._codegen.forward",
    "step_source": "agnograd._codegen.backward",
}
_PLAIN = frozenset({bool, int, float, str})


def function_for(writer: str, scope: dict[str, Any], op: Op, *facts: Any) -> FunctionType:
    """Return the function whose text one of those that write makes of an op and other facts.

    The scope is given what functions that are written out find in their modules.
    """
    name, found = module_of(op.name), None
    if known := built(name):
        key = key_of(writer, op, *facts)
        found = known.get(key) or built(f"{name}_other").get(key)
    if found is None:
        names: list[str] = []
        text: str = later(WRITERS[writer], writer)(op, *facts, names)
        scope |= found_by(names, scope)
        return function_from(text, scope)
    define, names = found
    scope |= found_by(names, scope)
    return function_in(define, scope)


def key_of(writer: str, op: Op, *facts: Any) -> str:
    """Return all that a text depends on."""
    known = _OPS.get(id(op))
    if known is None:
        # Most of what an op may be is as it is by default.
        usual = Op._field_defaults.get
        own = [(n, told(x)) for n, x in op._asdict().items() if x is not usual(n, told)]
        known = _OPS[id(op)] = op, f"{MODE} {own}"
    return f"{writer} {told(facts)} {known[1]}"


# What several functions of an op depend on of it, by its identity.
_OPS: dict[int, tuple[Op, str]] = {}


def module_of(op: str) -> str:
    """Return the name of the module with an op's functions."""
    return f"op_{op.replace('.', '_')}"


def found_by(names: Iterable[str], scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what functions find in their modules, by names such as ``_kernel__np``.

    What they are called in the scope comes first.
    """
    for name in names:
        function, _, own = name.partition("__")
        known = scope[function].__globals__
        yield name, known[own] if own in known else getattr(builtins, own)


def told(value: Any) -> Any:
    """Return all of a value that a text may depend on, as what ``repr`` tells apart."""
    kind = type(value)
    if value is None or kind in _PLAIN:
        return value
    if kind is FunctionType:
        return facts_of(value) or ...
    if kind is BuiltinFunctionType:  # an operator, perhaps
        return value.__qualname__ if value.__module__ == "_operator" else ...
    if isinstance(value, tuple):
        return kind.__name__, *map(told, value)
    if isinstance(value, Mapping):
        return tuple((key, told(each)) for key, each in value.items())
    return ...
