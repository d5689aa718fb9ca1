"""The key of a call: what has to be the same for a program to be run again.

Arrays are known by their type, shape, dtype, memory layout and device, and everything else by its
type and value: ``1``, ``1.0`` and ``True`` are three values, and so are ``0.0`` and ``-0.0``, while
NaN is one.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from contextvars import ContextVar
from functools import lru_cache
from types import BuiltinFunctionType, MethodType, ModuleType
from typing import Any

from agnograd import Variable
from agnograd.errors import ArgumentError
from agnograd.extend import Backend, function_from, is_array, switch
from agnograd.extend.transforms import owner_of
from agnograd_compile._surroundings.objects import is_value
from agnograd_compile._surroundings.reading import is_users

Key = tuple[Any, ...]
# What the key of an array has, in this order; those of arrays without the last ones end earlier.
_ARRAYS = ("type", "shape", "dtype", "strides", "device", "weak type", "need for a gradient")
FIELDS = (*_ARRAYS, "the setting")  # of the library
TRACKED = "tracked"  # marks the key of a Variable
_OPTIONAL = ("weak_type", "requires_grad")  # attributes that not all arrays have
# Modules whose values may be equal and not the same: Decimal("1.0") and Decimal("1.00"), or a time
# of two zones. So may be ranges, of which one ends at 3 and one at 4.
_BY_TEXT = frozenset({"datetime", "decimal"})
# Whose values are equal only if they are the same.
_ALIKE: frozenset[type] = frozenset({bool, int, str, bytes, type(None), type(...)})
# The most bytes of an array that stand in a key as they are, and not by a hash.
KEY_BYTES = switch("KEY_BYTES", 1024, least=0, most=2**62, module=__name__)
# By type: those of libraries, and Python's own. Programs may make other classes for ever.
_BY_ID: Any = object.__hash__
_keyers: dict[type, Callable[[Any], Key]] = {}
_hosts: dict[type, Callable[[Any], Any]] = {}  # what gives their arrays as NumPy's


class Same:
    """An object that equals nothing but itself; it is kept alive, so that its identity is its own.

    Attributes
    ----------
    value : object
        The object.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Same and other.value is self.value

    def __hash__(self) -> int:
        return hash((Same, id(self.value)))

    def __repr__(self) -> str:
        name = getattr(self.value, "__qualname__", None)
        return name if isinstance(name, str) else f"a {type(self.value).__qualname__}"


# -- keys of arguments and arrays -----------------------------------------------------------------


def key_of(leaves: Sequence[Any], tree: Any) -> Key:
    """Return the key of arguments: their structure, and what is known of each leaf.

    Parameters
    ----------
    leaves : sequence
        Arrays, Variables, and hashable objects.
    tree : treespec
        The structure of ``(args, kwargs)``, as ``flatten`` returns it.

    Raises
    ------
    ArgumentError
        If a leaf is neither an array nor hashable.
    """
    keys = [tree]
    for leaf in leaves:
        keyer = _keyers.get(type(leaf))
        if keyer is None:
            try:
                keyer = _keyer_of(leaf)
            except TypeError:
                raise _unhashable(leaf, name_of_leaf(tree, len(keys) - 1)) from None
        keys.append(keyer(leaf))
    return tuple(keys)


def key_of_array(array: Any) -> Key:
    """Return what programs know of a raw array or a Variable."""
    return (_keyers.get(type(array)) or _keyer_of(array))(array)


def expressions(array: Any) -> list[str | None]:
    """Return what the key of an array has, as expressions of it: ``{0}.shape``, say.

    They are in the order of ``FIELDS``, without the setting; None is for what the array lacks.
    """
    owner = owner_of(array)
    strides = "strides" if isinstance(getattr(array, "strides", None), tuple) else ""
    if not strides and callable(getattr(array, "stride", None)):
        strides = "stride()"
    # JAX makes a device of the sharding: to compare that takes a fifth of the time.
    place = next((each for each in ("sharding", "device") if hasattr(array, each)), "")
    if owner is None or owner.backend.one_device():
        place = ""
    rest = [each if hasattr(array, each) else "" for each in _OPTIONAL]
    every = ("shape", "dtype", strides, place, *rest)
    return ["type({0})", *(f"{{0}}.{each}" if each else None for each in every)]


def _keyer_of(value: Any) -> Callable[[Any], Key]:
    """Return the function that gives the keys of values of a type; raise if there is none."""
    kind = type(value)
    if isinstance(value, Variable):
        domain = value._domain

        def of_variable(variable: Any) -> Key:
            return TRACKED, key_of_array(variable._raw), variable._node is not None

        known = kind in (domain.Variable, domain.View)
        return _keyers.setdefault(kind, of_variable) if known else of_variable
    if is_array(value):
        found = _array_keyer(value)
        owner = owner_of(value)
        known = owner is not None and kind in owner.array_types
        return _keyers.setdefault(kind, found) if known else found
    if not is_constant(value):
        raise TypeError
    return value_key


def is_constant(value: Any) -> bool:
    """Return whether something is a value: whatever is equal to it is the same, now and later.

    Objects that are equal only to themselves may change, as generators of random numbers do.
    Functions, classes and modules of the user's have variables.
    """
    kind = type(value)
    parts = (value.start, value.stop, value.step) if kind is slice else value
    try:
        hash(parts)
    except Exception:  # a memoryview raises a ValueError, and classes of users anything
        return False
    if is_value(value) or kind.__name__ in ("ufunc", "Device"):
        return True
    if isinstance(value, type | ModuleType):
        return not is_users(value.__module__ if isinstance(value, type) else value.__name__)
    if isinstance(value, BuiltinFunctionType):  # else of an object, which may change
        return isinstance(value.__self__, ModuleType | type | None)
    return kind.__hash__ is not _BY_ID and not isinstance(value, MethodType | ContextVar)


def _array_keyer(value: Any) -> Callable[[Any], Key]:
    """Return the function that gives the keys of arrays of a type, by the attributes they have."""
    owner = owner_of(value)
    settings = None if owner is None else owner.backend.settings()
    fields = [*expressions(value), "read()" if settings else None]
    while fields[-1] is None:
        fields.pop()
    keyer: Callable[[Any], Key] = _maker(", ".join(map(str, fields)).replace("{0}", "a"))(settings)
    return keyer


@lru_cache(64)
def _maker(text: str) -> Callable[..., Any]:
    text = f"def make(read):\n def layout_of(a):\n  return ({text})\n return layout_of"
    return function_from(text, {}, keep=False)


def _unhashable(leaf: Any, name: str) -> ArgumentError:
    return ArgumentError(
        f"ag.compile: {name} is a {type(leaf).__qualname__}, which is neither an array nor a value "
        "that never changes: give its arrays instead, in a tuple, list or dict; register the class "
        "with optree as a pytree; or name the argument in static="
    )


def name_of_leaf(tree: Any, number: int) -> str:
    """Return what messages call a leaf of ``(args, kwargs)``: ``argument 0['w']``, say."""
    if tree is None:  # all arguments are leaves
        return f"argument {number}"
    paths = tree.paths()
    if number >= len(paths) or len(paths[number]) < 2:
        return f"leaf {number} of the arguments"
    _, first, *inner = paths[number]
    return f"argument {first!r}" + "".join(f"[{each!r}]" for each in inner)


# -- keys of values -------------------------------------------------------------------------------


def value_key(value: Any) -> Key:
    """Return a value as a key that tells it apart from all that is not the same."""
    kind = type(value)
    if kind in _ALIKE:  # most often
        return kind, value
    if kind is float:
        return (float, value) if value and value == value else (float, value.hex())
    if is_by_text(kind):
        return kind, repr(value)
    if isinstance(value, tuple | list):
        return kind, tuple(map(value_key, value))
    if kind is slice:
        return slice, tuple(map(value_key, (value.start, value.stop, value.step)))
    if kind is frozenset:
        return frozenset, frozenset(map(value_key, value))
    if hasattr(kind, "dtype") and hasattr(kind, "tobytes"):  # a scalar of a library
        padded = value.dtype.char in "gG"  # with bytes that mean nothing
        return kind, value.dtype, str(value) if padded else value.tobytes()
    if isinstance(value, float):  # of a class of the user's own
        return kind, value.hex()
    return kind, value


def is_by_text(kind: type) -> bool:
    """Return whether the key of a value of a type has the text that stands for it."""
    return kind is complex or kind is range or kind.__module__ in _BY_TEXT


def content_key(value: Any) -> Key:
    """Return any value as a key, by its content: lists, dicts, sets and arrays too.

    It is for arguments that are named in ``static=``.

    Raises
    ------
    ArgumentError
        If there is something in it that is neither an array nor hashable.
    """
    kind = type(value)
    if isinstance(value, Mapping):
        return kind, tuple((value_key(name), content_key(each)) for name, each in value.items())
    if isinstance(value, list | tuple | deque):
        return kind, tuple(map(content_key, value))
    if isinstance(value, Set):
        return kind, frozenset(map(content_key, value))
    if isinstance(value, bytearray):
        return kind, bytes(value)
    if is_array(value):
        return key_of_array(value), fingerprint(value)
    try:
        hash(value)
    except TypeError:
        raise ArgumentError(
            f"ag.compile: a {kind.__qualname__} is in an argument that static= names; it must be "
            "hashable, an array, or a list, tuple, dict or set of such"
        ) from None
    return value_key(value)


def fingerprint(array: Any) -> Any:
    """Return what all elements of an array are.

    Those of a short array stand for themselves, and those of a longer one by their hash of 128
    bits. A lazy array is known by what its backend knows it by, and an array that has no values
    yet, as under a transformation, by its identity.
    """
    data = elements_of(array)
    if type(data) is not bytes or len(data) <= KEY_BYTES:
        return data
    return hashlib.blake2b(data, digest_size=16).digest()


def elements_of(array: Any) -> Any:
    """Return the elements of an array; if they cannot be read, what it is known by instead."""
    raw = raw_of(array)
    to_host = host_of(raw)
    if to_host is None:
        owner = owner_of(raw)
        if owner is None or owner.backend.level:
            return Same(raw)
        if owner.backend.capabilities.lazy:
            return owner.backend.fingerprint(raw) or Same(raw)
    try:
        if to_host is None:  # it may have a mask, or attributes
            return pickle.dumps(raw)
        data: bytes = to_host(raw).tobytes()
    except Exception:  # whatever a library raises where there are no values
        return Same(raw)
    return data


def raw_of(array: Any) -> Any:
    """Return the raw array of a Variable; a raw array as it is."""
    return array._raw if isinstance(array, Variable) else array


def host_of(raw: Any) -> Callable[[Any], Any] | None:
    """Return what gives a raw array as one of NumPy's, if it is an ordinary one with values."""
    found = _hosts.get(type(raw))
    if found is None and (backend := backend_of(raw)) is not None:
        found = _hosts[type(raw)] = backend.to_host
    return found


def is_immutable(raw: Any) -> bool:
    """Return whether something is an ordinary raw array to which nobody can write."""
    backend = backend_of(raw)
    return backend is not None and backend.capabilities.immutable


def backend_of(raw: Any) -> Backend | None:
    """Return the backend of a raw array that has values, and nothing that others do not have."""
    owner = owner_of(raw)
    if owner is None or type(raw) not in owner.plain_types:
        return None
    backend = owner.backend
    return None if backend.level or backend.capabilities.lazy else backend


_keyers.update(dict.fromkeys((*_ALIKE, float, complex), value_key))
