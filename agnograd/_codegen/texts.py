"""What is written for ops, kept for later processes: to write it takes longer than to load it.

A text is found by all that it depends on: the op, but for what its functions compute; the functions
that may be written out in it, as they were compiled; the sources of the modules that write; and
the switches of the process.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any

from agnograd._util.deferred import facts_of, later
from agnograd._util.kept import BEGINNING, digest, kept
from agnograd._util.switches import MODE

# Those that write, by the functions that do.
WRITERS = {
    "backward_source": "agnograd._codegen.backward",
    "forward_source": "agnograd._codegen.forward",
    "step_source": "agnograd._codegen.backward",
}
# All modules of agnograd that they use.
SOURCES = (
    *("_codegen/backward.py", "_codegen/forward.py", "_codegen/inline.py", "_graph/nodes.py"),
    *("_ops/op.py", "_ops/saved.py", "_util/deferred.py", "_util/signatures.py"),
    "_util/switches.py",
)
_PLAIN = frozenset({bool, int, float, str})


def text_of(writer: str, scope: dict[str, Any], *facts: Any) -> str:
    """Return what one of the functions that write makes of facts.

    The scope is given what functions that are written out find in their modules.
    """

    def write() -> tuple[str, list[str]]:
        names: list[str] = []
        text: str = later(WRITERS[writer], writer)(*facts, names)
        return text, names

    sources = _sources()
    if sources is None:
        text, names = write()
    else:
        text, names = kept(f"{sources!r} {MODE!r} {writer} {told(facts)}", write, _are_as_read)
    scope |= found_by(names, scope)
    return text


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
        return value.__module__, value.__qualname__
    if isinstance(value, tuple):
        return kind.__name__, *map(told, value)
    if isinstance(value, Mapping):
        return tuple((key, told(each)) for key, each in value.items())
    return ...


@cache
def _sources() -> bytes | None:
    """Return a hash of all modules that write; None if they may not be what is in memory."""
    root = os.path.dirname(os.path.dirname(__file__))
    found = []
    try:
        for name in SOURCES:
            with open(os.path.join(root, name), "rb") as file:
                if os.fstat(file.fileno()).st_mtime > BEGINNING:
                    return None
                found.append(digest(file.read()))
    except OSError:
        return None
    return b"".join(found)


@cache
def _are_as_read() -> bool:
    """Return whether the sources are still those that were read, now that all are imported."""
    for writer, module in WRITERS.items():
        later(module, writer)
    return _sources.__wrapped__() == _sources()
