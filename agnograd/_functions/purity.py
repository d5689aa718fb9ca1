"""What the methods of a Function leave alone: arrays that they are given, and attributes.

An array that a method writes to is the user's own, or one that a graph has saved. And an array that
``forward`` keeps as an attribute is a constant to the graph, whatever it was computed from: the
derivative of ``backward`` would lack a part.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dis import get_instructions
from functools import lru_cache, partial
from types import CellType, CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any, NoReturn

from agnograd._arrays.domains import owner_of
from agnograd._arrays.variable import owners
from agnograd._util.deferred import become
from agnograd.errors import GradientError, RuleError

_DEPTH = 4  # of lists in lists, and in objects, that are looked through
_EMPTY = CellType()
# What classes have beside the values that a method may have put there.
_PARTS_OF_CLASSES = (str, tuple, type(None), FunctionType, classmethod, staticmethod, property)


def without_writes(compute: Callable[[], Any], what: str, **given: Sequence[Any]) -> Any:
    """Call a method; raise if raw arrays that it was given are not as they were.

    Not every backend can tell: see ``Backend.fingerprint``.
    """
    known = [(name, place, x) for name, xs in given.items() for place, x in enumerate(xs)]
    before = [fingerprint(x) for _, _, x in known]
    out = compute()
    for (name, place, x), mark in zip(known, before, strict=True):
        if mark is not None and fingerprint(x) != mark:
            raise RuleError(
                f"{what} wrote to {name}[{place}], an array that its caller or a graph needs as it "
                "was: let it compute a new array, or write to a copy, xp.asarray(x, copy=True)"
            )
    return out


def fingerprint(value: Any) -> Any:
    """Return what tells whether an array was written to, or None if nothing does."""
    domain = owners.get(type(value)) or owner_of(value)
    return None if domain is None else domain.backend.fingerprint(value)


def held_by(function: object) -> dict[str, list[Any]]:
    """Return which arrays with derivatives a function has in attributes, and where else it looks.

    That is in variables which are not its own: those that ``backward`` names.
    """
    found = {}
    for name, value in variables_of(getattr(type(function), "backward", None)):
        if arrays := list(_arrays_in(value, _DEPTH // 2)):
            found[f"the variable {name!r}"] = arrays
    for name, value in _attributes(function):
        if name == "_saved":  # what it is for
            continue
        if arrays := list(_arrays_in(value, _DEPTH)):
            found[name] = arrays
    return found


def attributes_since(
    before: dict[str, list[Any]], function: object, inputs: Sequence[Any]
) -> tuple[str, ...]:
    """Return the names, as ``held_by`` has them, of what has inputs or arrays that are new."""
    known = {id(each) for arrays in before.values() for each in arrays} - set(map(id, inputs))
    return tuple(
        name for name, arrays in held_by(function).items() if not known.issuperset(map(id, arrays))
    )


def refuse_attributes(function: Any, names: Sequence[str]) -> None:
    """Let an attribute of a function be an error from now on: the function is a copy.

    Raises
    ------
    GradientError
        If one of them is not an attribute: nobody would notice that it is read.
    """
    kind = type(function)
    for name in names:
        if not name.isidentifier():
            _refuse(kind, name, function)
    body = {name: property(partial(_refuse, kind, name)) for name in names}
    become(function, type(kind.__name__, (kind,), {"__slots__": (), **body}))


def _refuse(kind: type, name: str, function: object) -> NoReturn:
    read, where = f"self.{name}, an array that", "as an attribute"
    if not name.isidentifier():
        read, where = f"{name}, in which", "an array"
    raise GradientError(
        f"{kind.__name__}.backward reads {read} forward kept {where}: the graph takes it for a "
        "constant, and the derivative of backward would be wrong. Keep arrays by self.save(...), "
        "which gives them back in self.saved, and compute in backward what is neither an argument "
        "nor a result"
    )


def _attributes(function: object) -> Iterator[tuple[str, Any]]:
    yield from vars(function).items()
    for kind in type(function).__mro__:
        if kind.__module__.partition(".")[0] == "agnograd":
            return
        for name, value in tuple(vars(kind).items()):
            if not isinstance(value, _PARTS_OF_CLASSES):
                slot = isinstance(value, MemberDescriptorType)
                yield name, getattr(function, name, None) if slot else value


def variables_of(method: Any) -> Iterator[tuple[str, Any]]:
    """Yield the variables of modules and of enclosing functions that a method names."""
    code = getattr(method, "__code__", None)
    if code is None:
        return
    for name, cell in zip(code.co_freevars, method.__closure__ or (), strict=True):
        if cell != _EMPTY:
            yield name, cell.cell_contents
    for name in _globals_of(code):
        if name in method.__globals__:
            yield name, method.__globals__[name]


@lru_cache(1024)
def _globals_of(code: CodeType) -> tuple[str, ...]:
    """Return the variables of its module that a function names; not what it names of objects."""
    found = (each.argval for each in get_instructions(code) if each.opname == "LOAD_GLOBAL")
    return tuple(dict.fromkeys(found))


def _arrays_in(value: Any, depth: int) -> Iterator[Any]:
    """Yield the arrays of floating-point or complex dtype in a value, or in what it holds."""
    if (domain := owner_of(value)) is not None:
        if domain.is_inexact(value.dtype):
            yield value
    elif depth:
        for each in _parts_of(value):
            yield from _arrays_in(each, depth - 1)


def _parts_of(value: Any) -> Sequence[Any]:
    """Return what a container, a function or an object of the user's holds."""
    if isinstance(value, list | tuple | set | deque):
        return tuple(value)
    if isinstance(value, dict):
        return tuple(value.values())
    if isinstance(value, FunctionType):
        return tuple(cell.cell_contents for cell in value.__closure__ or () if cell != _EMPTY)
    if isinstance(value, partial):
        return (*value.args, *value.keywords.values())
    kind = type(value)
    if isinstance(value, type | ModuleType) or kind.__module__.partition(".")[0] == "agnograd":
        return ()
    slots = (vars(each).get("__slots__", ()) for each in kind.__mro__[:-1])
    names = (name for some in slots for name in ((some,) if type(some) is str else some))
    held = (getattr(value, name, None) for name in names)
    return (*getattr(value, "__dict__", {}).values(), *held)
