"""What differs between the keys of two calls, in words."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from reprlib import repr as shown
from typing import Any

from agnograd_compile._surroundings.inventory import Facts, Name
from agnograd_compile._surroundings.keys import FIELDS, TRACKED, Key, Same, is_by_text, name_of_leaf


def difference(old: Key, new: Key) -> str:
    """Return what the key of a call has that an earlier one had not, in plain words.

    Parameters
    ----------
    old, new : tuple
        The key of the arguments, as ``key_of`` returns it; the facts of the surroundings; a tuple
        with the keys of their arrays; the state of the thread; and, if programs depend on them,
        the elements of such arrays.
    """
    (arguments, facts, arrays, state, *elements) = old
    (new_arguments, new_facts, new_arrays, new_state, *new_elements) = new
    for found in (
        _of_arguments(arguments, new_arguments),
        _of_facts(facts, new_facts),
        _of_arrays(new_facts.arrays, arrays, new_arrays),
    ):
        for text in found:
            return text
    if state != new_state:
        return f"the state is {new_state} where it was {state}"
    if elements != new_elements:
        return "an array that it reads from outside has other elements"
    return "something else is different"


def _of_arguments(old: Key, new: Key) -> Iterator[str]:
    (tree, *before), (new_tree, *now) = old, new
    if tree != new_tree and None not in (tree, new_tree):
        yield f"the arguments have the structure {new_tree} where they had {tree}"
    elif tree != new_tree or len(before) != len(now):
        yield f"there are {_count(now)} in the arguments where there were {_count(before)}"
    else:
        for number, (one, other) in enumerate(zip(before, now, strict=True)):
            if one != other:
                yield of_values(name_of_leaf(tree, number), one, other)


def _count(leaves: Sequence[Any]) -> str:
    return f"{len(leaves)} arrays and other values"


def _of_facts(old: Facts, new: Facts) -> Iterator[str]:
    if old.names == new.names:
        for name, before, now in zip(new.names, old.values, new.values, strict=True):
            if before != now:
                yield f"{the(name)} is {_text(now)} where it was {_text(before)}"
    known, found = dict(old.structure), dict(new.structure)
    for name, key in found.items():
        if name not in known:
            yield f"{the(name)} is there, which was not"
        elif key != known[name]:
            yield f"{the(name)} is {_text(key)} where it was {_text(known[name])}"
    for name in known:
        if name not in found:
            yield f"{the(name)} is no longer there"
    if old.structure != new.structure:
        yield "what the function reads from outside is another object"


def _of_arrays(names: Sequence[Any], old: Key, new: Key) -> Iterator[str]:
    for name, before, now in zip(names, old, new, strict=False):
        if before != now:
            yield of_values(the(name), before, now)


def of_values(name: str, old: Key, new: Key) -> str:
    """Return how two keys of one value differ; ``name`` is what it is called."""
    if old[0] == new[0] == TRACKED:
        if old[1] != new[1]:
            return of_values(name, old[1], new[1])
        now, before = ("tracked", "not") if new[2] else ("not tracked", "tracked")
        return f"{name} is {now} where it was {before}"
    for field, before, now in zip(FIELDS, old, new, strict=False):
        if len(old) == len(new) > 2 and before != now:
            if field == "type":
                return f"{name} is a {_text(now)} where it was a {_text(before)}"
            return f"{name} has {field} {_text(now)} where it had {_text(before)}"
    return f"{name} is {_text(new)} where it was {_text(old)}"


def the(name: Name) -> str:
    """Return a name with the article that it needs."""
    return f"the {name}" if name.before else str(name)


def _text(key: Any) -> str:
    """Return how a message shows a key of a value or an array, or one of its fields."""
    if isinstance(key, Same):
        return repr(key)
    if isinstance(key, type):
        return key.__qualname__
    if not isinstance(key, tuple) or not key:
        return str(key)
    if key[0] == TRACKED:
        return f"a Variable with {_text(key[1])}"
    if isinstance(key[0], type) and len(key) == 2:
        kind, value = key
        if kind is float and isinstance(value, str):
            return repr(float.fromhex(value))
        return value if is_by_text(kind) else shown(value)
    if isinstance(key[0], type) and type(key[-1]) in (bytes, str):  # a scalar of a library
        return f"{key[0].__qualname__}({_number(key[1].char, key[2])})"
    if isinstance(key[0], type) and len(key) > 2:
        return f"a {key[0].__qualname__} of shape {tuple(key[1])} and dtype {key[2]}"
    if isinstance(key[0], Same) and len(key) == 2:
        length = key[1] if isinstance(key[1], int) else len(key[1])
        return f"a {key[0]!r} of length {length}"
    return str(key)


def _number(code: str, data: bytes | str) -> str:
    """Return the number that bytes stand for, by the code of their dtype; else these bytes."""
    if isinstance(data, str):
        return data
    try:
        return ", ".join(map(repr, struct.unpack(code, data)))
    except struct.error:  # complex numbers and dates
        return data.hex()
