"""The elements of arrays outside a function, as far as its programs depend on them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from agnograd.extend import switch
from agnograd_compile._surroundings.inventory import Name
from agnograd_compile._surroundings.keys import (
    Key,
    Same,
    elements_of,
    host_of,
    is_immutable,
    raw_of,
)

# Elements of an array that no op of a program uses: all of a short one, and some of a longer one.
# Each of these is far from the others, and takes as long to read as hundreds in a row. Fewer would
# see less than the documentation says.
COMPARED_ELEMENTS = switch("COMPARED_ELEMENTS", 128, least=128, most=2**62, module=__name__)
SAMPLED_ELEMENTS = switch("SAMPLED_ELEMENTS", 32, least=32, most=2**20, module=__name__)
# The elements of shorter arrays are kept to compare with, and not hashed again.
COMPARED_BYTES = switch("COMPARED_BYTES", 2**22, least=0, most=2**62, module=__name__)
# How many bytes are copied at a time, to be hashed: so many stay in the first cache.
HASHED_BYTES = switch("HASHED_BYTES", 2**14, least=2**6, most=2**62, module=__name__)


# What an array that is seen has to be: itself, with the elements that a function reads. There is no
# function if nobody can write to the array.
Sample = tuple[Any, Callable[[], Any] | None, Any]


class WatchedArrays:
    """Which arrays outside a function are part of the keys of its calls by their elements.

    Python made something of those that are *used*: each of their elements counts. Those that are
    *seen* are met by no op, so that Python may at most look at them. They have to be the same
    objects, and if they are large only some of their elements are looked at.

    Attributes
    ----------
    names : dict of Name to bool
        All of them, and whether they are used. It is another object once there are more, or once
        more of each count.
    """

    def __init__(self) -> None:
        self.names: dict[Name, bool] = {}
        # What an array was, all its elements or an array that nobody can write to; their digest.
        self._known: dict[Name, tuple[bytearray | Same, bytes]] = {}
        self._samples: dict[int, tuple[Key, Callable[[], Any] | None]] = {}
        self._places: tuple[Any, Any, list[tuple[int, Name, bool]]] = (None, None, [])

    def __bool__(self) -> bool:
        return bool(self.names)

    def add(self, names: Iterable[Name], used: bool) -> None:
        """Add arrays of which Python made something, or that it may look at."""
        known = self.names
        added = {name: used for name in names if name not in known or used > known[name]}
        if added:
            self.names = known | added

    def key(self, arrays: Sequence[Any], names: tuple[Name, ...]) -> Key:
        """Return what the elements are now; ``names`` are those of all arrays."""
        places = self._placed(names)
        return tuple(
            [
                self._whole(name, arrays[place]) if is_used else self._sample(place, arrays[place])
                for place, name, is_used in places
            ]
        )

    def samples(self, elements: Key, names: tuple[Name, ...]) -> dict[int, Sample] | None:
        """Return what has to be true for arrays to have elements that ``key`` has just returned.

        It is the sample that an array has to have, by its place among all arrays; None if there is
        more to compare, or not every array is an ordinary one.
        """
        found: dict[int, Sample] = {}
        for (place, name, is_used), known in zip(self._placed(names), elements, strict=True):
            if is_used:
                of, digest = self._known.get(name, (None, None))
                if type(of) is not Same or digest != known:
                    return None
                found[place] = of.value, None, None
                continue
            raw, data = known[0].value, known[1]
            if host_of(raw) is None or type(data) not in (bytes, type(None)):
                return None
            found[place] = raw, _reader_of(raw), data
        return found

    def _placed(self, names: tuple[Name, ...]) -> list[tuple[int, Name, bool]]:
        """Return where these arrays are among all, and whether they are used."""
        watched = self.names
        known, of, places = self._places
        if known is not names or of is not watched:  # seldom
            pairs = enumerate(names)
            places = [(place, name, watched[name]) for place, name in pairs if name in watched]
            self._places = names, watched, places
        return places

    def _sample(self, place: int, array: Any) -> Key:
        """Return an array by itself, and some of its elements; the same key while they are."""
        raw = raw_of(array)
        known, read = self._samples.get(place, ((), None))
        if not known or known[0].value is not raw:
            known, read = (Same(raw), None), _reader_of(raw)
        data = read() if read else None
        if data != known[1]:
            known = known[0], data
        self._samples[place] = known, read
        return known

    def _whole(self, name: Name, array: Any) -> Any:
        """Return all elements, as a digest that is computed again only if they have changed."""
        known = self._known.get(name)
        raw = raw_of(array)
        if known is not None and type(known[0]) is Same and known[0].value is raw:
            return known[1]
        data = _host_of(raw)
        if type(data) is not bytes and not hasattr(data, "tobytes"):
            return data
        if known is not None and type(known[0]) is bytearray and _are_equal(known[0], data):
            return known[1]
        hashed, kept = hashlib.blake2b(digest_size=16), bytearray()
        size = len(data) if type(data) is bytes else data.nbytes
        is_kept = size <= COMPARED_BYTES and not is_immutable(raw)
        for piece in _pieces(data):
            hashed.update(piece)
            if is_kept:
                kept += piece
        digest = hashed.digest()
        if is_immutable(raw):
            self._known[name] = Same(raw), digest
        elif is_kept:
            self._known[name] = kept, digest
        return digest


def _reader_of(raw: Any) -> Callable[[], Any] | None:
    """Return what reads some elements of an array, or all; None if nobody can write to it.

    NumPy does that by a view that is made but once: the array has the layout that it had.
    """
    if is_immutable(raw):
        return None
    key, to_host = _places(tuple(raw.shape)), host_of(raw)
    if to_host is not None and to_host(raw) is raw:
        found: Callable[[], Any] = (raw if key is None else raw[key]).tobytes
        return found
    return lambda: elements_of(raw if key is None else raw[key])


def _host_of(raw: Any) -> Any:
    """Return an array as one of NumPy's; of one that is not ordinary, what ``elements_of`` does."""
    to_host = host_of(raw) or elements_of
    try:
        return to_host(raw)
    except Exception:  # whatever a library raises where there are no values
        return elements_of(raw)


def _pieces(data: Any) -> Iterator[bytes]:
    """Yield the elements of an array, some at a time; bytes as they are."""
    if type(data) is bytes:
        yield data
        return
    count = max(HASHED_BYTES // max(data.itemsize, 1), 1)
    if data.size <= count or not data.flags.c_contiguous:
        yield data.tobytes()
        return
    flat = data.reshape(-1)
    for at in range(0, data.size, count):
        yield flat[at : at + count].tobytes()


def _are_equal(known: bytearray, data: Any) -> bool:
    """Return whether an array has elements that were seen, or bytes are those.

    What lies in a row is compared where it is: a ``bytearray`` does that with any memory, as bytes.
    """
    if type(data) is bytes or data.flags.c_contiguous:
        found: Any = known.__eq__(data)
        if type(found) is bool:  # not for dates, which have no buffer
            return found
    return bool(known == data.tobytes())


@lru_cache(1024)
def _places(shape: tuple[int, ...]) -> tuple[slice, ...] | None:
    """Return the key of a part that has few elements, or None where all are few."""
    size = prod(shape)
    if size <= COMPARED_ELEMENTS:
        return None
    excess, key = -(-size // SAMPLED_ELEMENTS), []
    for length in shape:
        step = min(excess, length)
        key.append(slice(None, None, step))
        excess = -(-excess // step)
    return tuple(key)
