"""The elements of arrays outside a function, as far as its programs depend on them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from agnograd._arrays.variable import Variable
from agnograd._surroundings.inventory import Name
from agnograd._surroundings.keys import Key, Same, elements_of

# Elements of an array that no op of a program uses: all of a short one, and some of a longer one.
# Each of these is far from the others, and takes as long to read as hundreds in a row.
_SHORT, _SAMPLE = 128, 32
_KEPT = 2**22  # bytes: the elements of shorter arrays are kept to compare with, not hashed again


class WatchedArrays:
    """Which arrays outside a function are part of the keys of its calls by their elements.

    Python made something of those that are *used*: each of their elements counts. Those that are
    *seen* are met by no op, so that Python may at most look at them. They have to be the same
    objects, and if they are large only some of their elements are looked at.
    """

    def __init__(self) -> None:
        self._used: frozenset[Name] = frozenset()
        self._seen: frozenset[Name] = frozenset()
        self._known: dict[Name, tuple[bytes, Any]] = {}
        self._samples: dict[int, tuple[Same, Any]] = {}
        self._places: tuple[Any, ...] = (None, None, None, [])

    def __bool__(self) -> bool:
        return bool(self._used or self._seen)

    def use(self, names: Iterable[Name]) -> None:
        """Add arrays of which Python made something."""
        self._used |= frozenset(names)

    def see(self, names: Iterable[Name]) -> None:
        """Add arrays that Python may look at."""
        self._seen |= frozenset(names)

    def key(self, arrays: Sequence[Any], names: tuple[Name, ...]) -> Key:
        """Return what the elements are now; ``names`` are those of all arrays."""
        used, seen = self._used, self._seen
        known, known_used, known_seen, places = self._places
        if known is not names or known_used is not used or known_seen is not seen:  # seldom
            places = [
                (place, name, name in used)
                for place, name in enumerate(names)
                if name in used or name in seen
            ]
            self._places = names, used, seen, places
        return tuple(
            [
                self._whole(name, arrays[place]) if is_used else self._sample(place, arrays[place])
                for place, name, is_used in places
            ]
        )

    def _sample(self, place: int, array: Any) -> Key:
        """Return an array by itself, and some of its elements; the same key while they are."""
        raw = array._raw if isinstance(array, Variable) else array
        key = _places(tuple(raw.shape))
        data = elements_of(raw if key is None else raw[key])
        known = self._samples.get(place)
        if known is None or known[0].value is not raw or known[1] != data:
            known = self._samples[place] = Same(raw), data
        return known

    def _whole(self, name: Name, array: Any) -> Any:
        """Return all elements, as a digest that is computed again only if they have changed."""
        data = elements_of(array)
        if type(data) is not bytes:
            return data
        known = self._known.get(name)
        if known is not None and known[0] == data:
            return known[1]
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if len(data) <= _KEPT:
            self._known[name] = data, digest
        return digest


@lru_cache(1024)
def _places(shape: tuple[int, ...]) -> tuple[slice, ...] | None:
    """Return the key of a part that has few elements, or None where all are few."""
    size = prod(shape)
    if size <= _SHORT:
        return None
    excess, key = -(-size // _SAMPLE), []
    for length in shape:
        step = min(excess, length)
        key.append(slice(None, None, step))
        excess = -(-excess // step)
    return tuple(key)
