"""The key of a call: what has to be the same for a program to be run again.

Arrays are known by their type, shape, dtype, memory layout and device, and everything else by its
type and value: ``1``, ``1.0`` and ``True`` are three values, and so are ``0.0`` and ``-0.0``, while
NaN is one.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextvars import ContextVar
from types import BuiltinFunctionType, MethodType, ModuleType
from typing import Any

from agnograd import Variable
from agnograd.errors import ArgumentError
from agnograd.extend import is_array, switch
from agnograd.extend.transforms import Domain, owner_of
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
                raise _unhashable(leaves, tree) from None
        keys.append(keyer(leaf))
    return tuple(keys)


def key_of_array(array: Any) -> Key:
    """Return what programs know of a raw array or a Variable."""
    return (_keyers.get(type(array)) or _keyer_of(array))(array)


def has_layout(array: Any) -> bool:
    """Return whether the key of something is its type, shape, dtype and strides: a NumPy array."""
    return is_array(array) and _array_keyer(array) is _layout_of


def attributes_of(array: Any) -> dict[str, Any]:
    """Return what of an array, besides its type and dtype, decides about its key.

    By the text that gives them after a dot, these are the values of attributes, and of methods
    without arguments. Arrays for which they are equal have one key. There are none for what is not
    an ordinary array with values.
    """
    if has_layout(array):
        return {"shape": array.shape, "strides": array.strides}
    owner = owner_of(array) if is_array(array) else None
    if owner is None or not _is_ordinary(array, owner):
        return {}
    found = {"shape": array.shape}
    if isinstance(getattr(array, "strides", None), tuple):
        found["strides"] = array.strides
    elif callable(getattr(array, "stride", None)):
        found["stride()"] = array.stride()
    # JAX makes a device of the sharding: to compare that takes a fifth of the time.
    place = "sharding" if hasattr(array, "sharding") else "device"
    places = () if owner.backend.one_device() else (place,)
    names = [name for name in (*places, *_OPTIONAL) if hasattr(array, name)]
    return found | {name: getattr(array, name) for name in names}


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


def _layout_of(array: Any) -> Key:
    return type(array), array.shape, array.dtype, array.strides


def _array_keyer(value: Any) -> Callable[[Any], Key]:
    """Return the function that gives the keys of arrays of a type, by the attributes they have."""
    kind, owner = type(value), owner_of(value)
    devices: Sequence[str] = () if owner is None else owner.backend.capabilities.devices
    device = len(devices) > 1 and hasattr(value, "device")
    rest = [name for name in _OPTIONAL if hasattr(value, name)]
    settings = None if owner is None else owner.backend.settings()
    if isinstance(getattr(value, "strides", None), tuple) and not (device or rest or settings):
        return _layout_of
    read: Callable[[], Any] = settings or (lambda: None)
    if callable(getattr(value, "stride", None)) and device and rest == ["requires_grad"]:
        return lambda a: (
            kind,
            a.shape,
            a.dtype,
            a.stride(),
            a.device,
            None,
            a.requires_grad,
            read(),
        )

    def of_array(array: Any) -> Key:
        strides = getattr(array, "strides", None)
        return (
            kind,
            tuple(array.shape),
            array.dtype,
            strides if isinstance(strides, tuple) else None,
            array.device if device else None,
            getattr(array, "weak_type", None),
            getattr(array, "requires_grad", None),
            read(),
        )

    return of_array


def _unhashable(leaves: Iterable[Any], tree: Any) -> ArgumentError:
    for number, leaf in enumerate(leaves):
        try:
            _keyer_of(leaf)
        except TypeError:
            kind = type(leaf).__qualname__
            return ArgumentError(
                f"ag.compile: {name_of_leaf(tree, number)} is a {kind}, which is neither an array "
                "nor a value that never changes: give its arrays instead, in a tuple, list or "
                "dict; register the class with optree as a pytree; or name the argument in static="
            )
    raise AssertionError("all leaves have keys")


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
    """Return a hashable value as a key that tells it apart from all that is not the same."""
    kind = type(value)
    if kind is float:
        return (float, value) if value and value == value else (float, value.hex())
    if is_by_text(kind):
        return kind, repr(value)
    if isinstance(value, tuple):
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
        return key_of_array(value), *fingerprint([value])
    try:
        hash(value)
    except TypeError:
        raise ArgumentError(
            f"ag.compile: a {kind.__qualname__} is in an argument that static= names; it must be "
            "hashable, an array, or a list, tuple, dict or set of such"
        ) from None
    return value_key(value)


def fingerprint(arrays: Iterable[Any]) -> Key:
    """Return what all elements of arrays are.

    Those of a short array stand for themselves, and those of a longer one by their hash of 128
    bits. A lazy array is known by what its backend knows it by, and an array that has no values
    yet, as under a transformation, by its identity.
    """
    return tuple(map(_elements, arrays))


def _elements(array: Any) -> Any:
    data = elements_of(array)
    if type(data) is not bytes or len(data) <= KEY_BYTES:
        return data
    return hashlib.blake2b(data, digest_size=16).digest()


def elements_of(array: Any) -> Any:
    """Return the elements of an array; if they cannot be read, what it is known by instead."""
    raw = array._raw if isinstance(array, Variable) else array
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


def host_of(raw: Any) -> Callable[[Any], Any] | None:
    """Return what gives a raw array as one of NumPy's, if it is an ordinary one with values."""
    found = _hosts.get(type(raw))
    if found is None:
        owner = owner_of(raw)
        if owner is not None and _is_ordinary(raw, owner):
            found = _hosts[type(raw)] = owner.backend.to_host
    return found


def is_immutable(raw: Any) -> bool:
    """Return whether something is an ordinary raw array to which nobody can write."""
    owner = owner_of(raw) if is_array(raw) and not isinstance(raw, Variable) else None
    return owner is not None and owner.backend.capabilities.immutable and _is_ordinary(raw, owner)


def _is_ordinary(raw: Any, owner: Domain) -> bool:
    """Return whether a raw array of a domain has values, and nothing that others do not have."""
    backend = owner.backend
    return type(raw) in owner.plain_types and not (backend.level or backend.capabilities.lazy)


_keyers.update(
    dict.fromkeys((bool, int, float, complex, str, bytes, type(None), type(...)), value_key)
)
