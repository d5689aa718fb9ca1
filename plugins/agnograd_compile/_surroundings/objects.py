"""What values, objects and classes are, and have that a function can read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from functools import cached_property, partialmethod
from types import FunctionType, MappingProxyType, MemberDescriptorType, MethodType
from typing import Any

from agnograd import Variable, extend
from agnograd.extend.transforms import owners
from agnograd_compile._surroundings.reading import is_own, is_users

_PLAIN = (bool, int, float, complex, str, bytes, range, type(None), type(...), Enum)
# Immutable objects of these modules are values, too.
_VALUES = frozenset({"datetime", "decimal", "fractions", "pathlib", "re", "uuid", "zoneinfo"})
_FUNCTIONS = (FunctionType, classmethod, staticmethod, property, cached_property, partialmethod)
# Bases of users' classes that keep nothing of their own in an object.
_EMPTY_BASES = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})
# Objects of Python's own modules whose attributes are a program's to set.
_OPEN = frozenset(
    {
        *("types.SimpleNamespace", "argparse.Namespace", "threading.local", "_thread._local"),
        *("collections.UserDict", "collections.UserList", "collections.ChainMap"),
    }
)
# What each member of an enumeration has.
_OF_MEMBERS = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_"})
# Methods that are called only where an object is made, and those that no function's value needs.
_MAKING = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__"})
_SHOWING = frozenset(
    {
        *("__repr__", "__str__", "__format__", "__del__", "__reduce__", "__reduce_ex__"),
        *("__getstate__", "__setstate__", "__sizeof__", "__dir__", "__copy__", "__deepcopy__"),
        *("__class_getitem__", "__subclasshook__"),
    }
)


def is_value(value: Any) -> bool:
    """Return whether something is known by its value: it is immutable, and holds nothing else."""
    kind = type(value)
    if isinstance(value, _PLAIN):
        return not (is_users(kind.__module__) and _has_attributes(value))
    if kind.__hash__ is None or isinstance(value, type):
        return False
    if kind.__module__.partition(".")[0] in _VALUES:
        return True
    scalar = hasattr(kind, "tobytes") and hasattr(kind, "dtype")
    return scalar or any(base.__name__ == "dtype" for base in kind.__mro__[:2])


def _has_attributes(value: Any) -> bool:
    """Return whether a number, text or member of an enumeration has what may be changed."""
    own = dict_of(value) or {}
    if isinstance(value, Enum):
        return not own.keys() <= _OF_MEMBERS or not is_value(own.get("_value_"))
    return bool(own)


def is_array(value: Any) -> bool:
    """Return whether something is a raw array or a Variable; this looks at no plugin in vain."""
    kind = type(value)
    if kind in owners or isinstance(value, Variable):
        return True
    if hasattr(kind, "__array_namespace__") or hasattr(kind, "__dlpack__"):
        return True
    if is_users(kind.__module__) or is_closed(kind):
        return False
    return extend.is_array(value)


def qualified(kind: type) -> str:
    """Return the name of a type with its module's."""
    return f"{kind.__module__}.{kind.__qualname__}"


def is_open(kind: type) -> bool:
    """Return whether any attribute of such an object may be read, and not only those named.

    Those of fields may be, as of dataclasses, since Python or a library goes through them all, and
    so may those of pytrees. Those of classes of installed packages, and of what is derived from
    them, may be since the functions of such classes are not looked at.
    """
    if any(hasattr(kind, mark) for mark in ("__dataclass_fields__", "__attrs_attrs__")):
        return True
    optree = sys.modules.get("optree")
    if optree is not None and optree.register_pytree_node.get(kind) is not None:
        return True
    return any(not is_users(base.__module__) and not is_closed(base) for base in kind.__mro__)


def is_closed(kind: type) -> bool:
    """Return whether a class is one of Python's own, or of agnograd: its objects are not open."""
    if qualified(kind) in _OPEN:
        return False
    return is_own(kind.__module__) or kind.__module__.partition(".")[0] in sys.stdlib_module_names


def is_by_content(kind: type) -> bool:
    """Return whether an object may be replaced by another one with the same attributes.

    An object with a state that is not in its attributes may not.
    """
    if hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__attrs_attrs__"):
        return True
    bases = [base for base in kind.__mro__ if not is_users(base.__module__)]
    return is_users(kind.__module__) and all(qualified(each) in _EMPTY_BASES for each in bases)


def attributes_of(value: Any, names: set[str] | None) -> Iterator[tuple[str, Any, bool]]:
    """Yield name, value, and whether it is in ``__dict__``, of an object's attributes.

    ``names`` are those that are read; None stands for all.
    """
    kind = type(value)
    if names is not None and isinstance(value, Enum):
        names = names | {"_value_"}  # which code names ``value``
    for name, each in tuple((dict_of(value) or {}).items()):
        if type(name) is str and (name in names if names is not None else not _is_special(name)):
            yield name, each, True
    for name, slot in _slots(kind):
        if names is None or name in names:
            with suppress(AttributeError):  # nothing is in it yet
                yield name, slot.__get__(value, kind), False


def missing_slots(value: Any) -> Iterator[str]:
    """Yield the names of an object's slots in which nothing is."""
    for name, slot in _slots(type(value)):
        try:
            slot.__get__(value)
        except AttributeError:
            yield name


def _slots(kind: type) -> Iterator[tuple[str, Any]]:
    for base in kind.__mro__:
        if base.__module__ != "builtins":
            for name, slot in tuple(vars(base).items()):
                if isinstance(slot, MemberDescriptorType) and not _is_special(name):
                    yield name, slot


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def dict_of(value: Any) -> dict[str, Any] | None:
    """Return the ``__dict__`` of an object, None if it has none; no code of its class runs."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return own if isinstance(own, dict) else None


def wrapped_in(value: Any) -> Any:
    """Return the function that another one, or an object, says that it wraps, or None."""
    own = dict_of(value)
    if own is not None and "__wrapped__" in own:
        return own["__wrapped__"]
    if is_users(type(value).__module__):  # whose ``__getattr__`` might run
        return None
    with suppress(Exception):
        return getattr(value, "__wrapped__", None)
    return None


def handed_on(value: Any) -> Iterator[Any]:
    """Yield what an object of agnograd, or of Python, may have from the user.

    That is the function that it wraps, and functions in the attributes of agnograd's objects.
    """
    wrapped = wrapped_in(value)
    if callable(wrapped):
        yield wrapped
    if isinstance(value, FunctionType):
        registry = vars(value).get("registry")  # of functools.singledispatch
        if isinstance(registry, MappingProxyType):
            yield from registry.values()
    if is_own(type(value).__module__):
        for _, each, _ in attributes_of(value, None):
            if is_handed_on(each):
                yield each


def is_handed_on(value: Any) -> bool:
    """Return whether something in a wrapper is what it wraps, and no state of its own."""
    if isinstance(value, Variable) or hasattr(type(value), "__dlpack__"):
        return True
    if isinstance(value, tuple):
        return any(map(is_handed_on, value))
    kind = value if isinstance(value, type) else type(value)
    return callable(value) and (
        isinstance(value, FunctionType | MethodType)
        or not is_closed(kind)
        or wrapped_in(value) is not None
        or kind.__module__ == "functools"
    )


def members_of(kind: type, names: set[str], constructed: bool) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the members of a user's class, but for its bases', that are read.

    Python, and the functions of classes that it derives from, call methods that nothing names.
    """
    bases = [base for base in kind.__mro__ if not is_users(base.__module__)]
    for name, value in tuple(vars(kind).items()):
        if isinstance(value, MemberDescriptorType) or name in ("__dict__", "__weakref__"):
            continue
        called = isinstance(value, _FUNCTIONS) and (
            (name.startswith("__") and name not in _SHOWING)
            or any(name in vars(base) for base in bases)
        )
        if (called or name in names) and (constructed or name not in _MAKING):
            yield name, value


def inner_functions(value: Any) -> Iterator[Any]:
    """Yield the functions that a descriptor calls."""
    for name in ("__func__", "fget", "fset", "func", "method"):
        inner = getattr(value, name, None)
        if callable(inner):
            yield inner
