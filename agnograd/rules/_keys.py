"""Reading and writing at keys for many members at once: batching rules.

If any array in a key is mapped, all of them are. Then the members' own numbers are one more array
of the key, the first one.
"""

import math
from collections.abc import Sequence, Set
from functools import cache
from numbers import Integral
from typing import Any, NamedTuple

from agnograd.errors import BatchingError
from agnograd.extend import device_of, in_full, is_basic, is_mask, with_rank

__all__ = ["add", "read", "write"]

Shape = tuple[int, ...]


def read(xp: Any, size: int, mapped: Set[str], x: Any, key: Any) -> Any:
    """Return ``x[key]`` of each member."""
    if "x" in mapped and is_basic(key):  # most often
        return xp.__getitem__(x, (slice(None), *(key if isinstance(key, tuple) else (key,))))
    shape = x.shape[1:] if "x" in mapped else x.shape
    key = _of_arrays(xp, size, mapped, key, shape)
    if (mask := _mask(xp, key)) is not None:
        _refuse_mapped(mapped)
        return xp.moveaxis(xp.__getitem__(xp.moveaxis(x, 0, mask.ndim), mask), 1, 0)
    place = Place.of(xp, key, shape, "key" in mapped)
    x = place.longer(xp, x, "x" in mapped)
    return place.read(xp, size, x) if "x" in mapped else place.read_one(xp, x)


def write(xp: Any, size: int, mapped: Set[str], x: Any, key: Any, value: Any) -> Any:
    """Return each member of ``x`` with ``value`` at ``key``."""
    x = x if "x" in mapped else in_full(xp, size, x)
    key = _of_arrays(xp, size, mapped, key, x.shape[1:])
    if (mask := _mask(xp, key)) is not None:
        return _write_mask(xp, size, mapped, x, mask, value)
    place = Place.of(xp, key, x.shape[1:], "key" in mapped)
    value = place.value(xp, x, value, "value" in mapped)
    written = xp.__setitem__(place.longer(xp, x), place.below(xp, size, x), value)
    return xp.reshape(written, x.shape) if place.new else written


def add(xp: Any, size: int, mapped: Set[str], values: Any, key: Any, shape: Shape) -> Any:
    """Return zeros of ``shape`` for each member with ``values`` added at ``key``."""
    key = _of_arrays(xp, size, mapped, key, shape)
    values = values if "values" in mapped else in_full(xp, size, values)
    if (mask := _mask(xp, key)) is not None:
        _refuse_mapped(mapped)
        rest = shape[mask.ndim :]
        into = (*mask.shape, size, *rest)
        found = xp.scatter_add(xp.moveaxis(values, 0, 1), mask, shape=into)
        return xp.moveaxis(found, mask.ndim, 0)
    place = Place.of(xp, key, shape, "key" in mapped)
    values = place.value(xp, values, values, True)
    added = xp.scatter_add(values, place.below(xp, size, values), shape=(size, *place.lengths))
    return xp.reshape(added, (size, *shape)) if place.new else added


# -- masks -----------------------------------------------------------------------------------------


def _mask(xp: Any, key: Any) -> Any:
    """Return the mask that a key is, or None."""
    only = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    return only if is_mask(only, xp) else None


class _Along(NamedTuple):
    """An index along an axis that is new, of length one: what a boolean without axes is."""

    index: Any


def _of_arrays(xp: Any, size: int, mapped: Set[str], key: Any, lengths: Shape) -> Any:
    """Return a key with arrays in place of sequences; masks are the whole key, or indices.

    ``lengths`` are those of the axes of what it is a key of.
    """
    if isinstance(key, bool | list):
        return _as_array(xp, key)
    if isinstance(key, Integral):
        return int(key)  # NumPy's have a shape
    if not isinstance(key, tuple):
        return key
    given = [_as_array(xp, part) if isinstance(part, list | tuple) else part for part in key]
    ranks, axis = [_rank_of(xp, part) for part in given], 0
    parts: list[Any] = []
    for place, each in enumerate(given):
        if isinstance(each, bool):
            index = xp.arange(int(each))
            parts.append(_Along(in_full(xp, size, index) if "key" in mapped else index))
        elif isinstance(each, Integral):
            parts.append(int(each))
        elif len(key) == 1 or not is_mask(each, xp):
            parts.append(each)
        elif each.ndim:
            _refuse_mapped(mapped)
            _check_mask(each.shape, lengths[axis : axis + each.ndim])
            parts += xp.nonzero(each)
        else:
            (index,) = xp.nonzero(xp.reshape(each, (1,)))
            parts.append(_Along(in_full(xp, size, index) if "key" in mapped else index))
        axis = len(lengths) - sum(ranks[place + 1 :]) if each is ... else axis + ranks[place]
    return tuple(parts)


def _rank_of(xp: Any, part: Any) -> int:
    """Return how many axes a part of a key is for; an ellipsis is for those that are left."""
    if is_mask(part, xp):
        return int(part.ndim)
    return 0 if part is None or part is ... or isinstance(part, bool) else 1


def _check_mask(shape: Shape, lengths: Shape) -> None:
    """Check that a mask fits its axes, as far as lengths are known: Dask has NaN for others."""
    pairs = zip(shape, lengths, strict=False)
    if len(shape) != len(lengths) or any(a != b and a == a and b == b for a, b in pairs):
        raise IndexError(f"a mask of shape {shape} does not fit axes of lengths {(*lengths,)}")


def _as_array(xp: Any, part: Any) -> Any:
    return xp.asarray(part, dtype=xp.int64 if part in ([], ()) else None)


def _refuse_mapped(mapped: Set[str]) -> None:
    if "key" in mapped:
        raise BatchingError(
            "in vmap a mask that differs between members selects another number of elements for "
            "each: use xp.where(mask, x, 0), say, in place of x[mask]"
        )


def _write_mask(xp: Any, size: int, mapped: Set[str], x: Any, mask: Any, value: Any) -> Any:
    """Write at a mask: one that differs between members takes one value for all places."""
    shape = getattr(value, "shape", ())[int("value" in mapped) :]
    # Below, the mask may differ between members of another level: no place depends on it there.
    fits = math.prod(shape) == 1 and len(shape) <= x.ndim - mask.ndim
    one = "key" in mapped or ("value" in mapped and fits)
    return (_write_one if one else _write_several)(xp, size, mapped, x, mask, value)


def _write_several(xp: Any, size: int, mapped: Set[str], x: Any, mask: Any, value: Any) -> Any:
    """Write at a mask that is the same for all members, a value for each place or for all."""
    selected = x.ndim - mask.ndim  # as many axes as what the mask selects of a member has
    values, lead = value, int("value" in mapped)
    shape = tuple(getattr(value, "shape", ()))[lead:]
    kept = _without_leading(xp, x, value, shape, selected, mask)
    ones = (1,) * (selected - len(kept)) if lead else ()
    if len(kept) < len(shape) or ones:  # how many elements there are may not be known
        values = xp.reshape(value, (*(size,) * lead, *ones, *kept))
    if lead:
        values = xp.moveaxis(values, 0, 1)
    elif len(kept) == selected:
        values = xp.expand_dims(values, axis=1)  # behind the selected elements
    written = xp.__setitem__(xp.moveaxis(x, 0, mask.ndim), mask, values)
    return xp.moveaxis(written, mask.ndim, 0)


def _write_one(xp: Any, size: int, mapped: Set[str], x: Any, mask: Any, value: Any) -> Any:
    """Write one value for each member."""
    shape = getattr(value, "shape", ())[int("value" in mapped) :]
    if math.prod(shape) != 1:
        _refuse_mapped(mapped)
    lead = mask.shape if "key" in mapped else (1, *mask.shape)
    mask = xp.reshape(mask, (*lead, *(1,) * (x.ndim - len(lead))))
    count = size if "value" in mapped else 1
    if hasattr(value, "shape"):
        value = xp.reshape(value, (count,))
    if not hasattr(value, "dtype") or value.dtype != x.dtype:
        # The library writes it at a mask of its own: it may cast what is written, or refuse.
        place = xp.zeros((count,), dtype=x.dtype, device=device_of(x))
        value = xp.__setitem__(place, xp.ones((count,), dtype=mask.dtype), value)
    value = xp.reshape(value, (count, *(1,) * (x.ndim - 1)))
    return xp.where(mask, value, x)


def _without_leading(xp: Any, x: Any, value: Any, shape: Shape, rank: int, mask: Any) -> Shape:
    """Return the shape of what is written to a part of so many axes, without those before them.

    They are of length one. Not every library takes them everywhere: it is asked, by a key that is
    a mask, too, or names one element, or all.
    """
    extra = len(shape) - rank
    if extra <= 0:
        return shape
    if mask is None:
        key, axes = (... if rank else 0), max(rank, 1)
    else:
        key, axes = xp.ones((1,) * mask.ndim, dtype=mask.dtype), rank - 1 + mask.ndim
    part = xp.zeros((1,) * axes, dtype=x.dtype)
    xp.__setitem__(part, key, xp.zeros((1,) * len(shape), dtype=value.dtype))
    return shape[extra:]


# -- integers, slices and arrays of integers -------------------------------------------------------


class Place(NamedTuple):
    """Where a key of one member points, and what is selected there.

    ``parts`` has one entry for each axis of these ``lengths`` (and None for new ones), of which
    ``new`` are the member's only for this key. ``rank`` is the number of axes of its arrays, None
    without arrays; ``at`` is where these stand among the result's, and ``kept`` is how many axes
    the result has that are not of arrays.
    """

    parts: tuple[Any, ...]
    lengths: Shape
    new: Sequence[int]
    mapped: bool
    kept: int
    rank: int | None
    at: int = 0

    @classmethod
    def of(cls, xp: Any, key: Any, lengths: Shape, mapped: bool) -> "Place":
        """Return the place that a key points to in a member with axes of these lengths."""
        parts, lengths, new = _whole(key, lengths)
        ranks = [len(part.shape) - mapped for part in parts if hasattr(part, "shape")]
        kept = sum(part is None or isinstance(part, slice) for part in parts)
        if not ranks:
            return cls(parts, lengths, new, mapped, kept, None)
        rank = max(ranks)
        at = _arrays_at(xp, _form(parts, 1 + mapped)) if kept else 0
        if mapped:
            parts = tuple(with_rank(xp, p, rank) if hasattr(p, "shape") else p for p in parts)
        return cls(parts, lengths, new, mapped, kept, rank, at)

    @property
    def whole(self) -> bool:
        """Whether each axis has an integer or an array: the standard has arrays only so."""
        return not any(part is ... or isinstance(part, slice) for part in self.parts)

    def longer(self, xp: Any, x: Any, members: int = 1) -> Any:
        """Return an array with the axes that are new for the key, behind those of members."""
        for axis in self.new:
            x = xp.expand_dims(x, axis=axis + members)
        return x

    def below(self, xp: Any, size: int, beside: Any) -> tuple[Any, ...]:
        """Return the key of all members, with arrays on the device of another array."""
        if self.rank is None or not (self.mapped or self.whole):
            return (slice(None), *self.parts)
        numbers = xp.arange(size, device=device_of(beside))
        rows = xp.reshape(numbers, (size, *(1,) * self.rank))
        return (rows, *self.parts)

    def read(self, xp: Any, size: int, x: Any) -> Any:
        """Return what each member of ``x`` has there."""
        out = xp.__getitem__(x, self.below(xp, size, x))
        return xp.moveaxis(out, *moved) if (moved := self._moved(xp)) else out

    def read_one(self, xp: Any, x: Any) -> Any:
        """Return what each member has there that reads, at arrays of its own, the same ``x``."""
        out, rank = xp.__getitem__(x, self.parts), self.rank or 0
        at = _arrays_at(xp, _form(self.parts)) if self.kept else 0
        if at == 0 and (self.at == 0 or rank == 0):
            return out
        places = (0, *range(1 + self.at, 1 + self.at + rank))
        return xp.moveaxis(out, tuple(range(at, at + 1 + rank)), places)

    def value(self, xp: Any, into: Any, value: Any, mapped: bool) -> Any:
        """Return what is to be written there, or added, as the key of all members takes it."""
        if not hasattr(value, "shape"):
            return value
        rank = self.kept + (self.rank or 0)
        shape = value.shape[1:] if mapped else value.shape
        kept = _without_leading(xp, into, value, shape, rank, None)
        lead = (value.shape[0],) if mapped else ()
        moved = self._moved(xp)
        if not (mapped or moved):
            return value if kept == shape else xp.reshape(value, kept)
        ones = (1,) * (rank - len(kept))
        value = xp.reshape(value, (*(lead or (1,)), *ones, *kept))
        return xp.moveaxis(value, *reversed(moved)) if moved else value

    def _moved(self, xp: Any) -> tuple[Shape, Shape] | None:
        """Return where the axes of arrays are that the key of all members selects, and belong."""
        mixed = self.mapped or self.whole  # with the numbers of the members, they come first
        if not self.rank or (mixed and self.at == 0):
            return None
        at = 1 if mixed else _arrays_at(xp, ":" + _form(self.parts))
        sources, places = (tuple(range(a, a + self.rank)) for a in (at, 1 + self.at))
        return None if sources == places else (sources, places)


def _whole(key: Any, lengths: Shape) -> tuple[tuple[Any, ...], Shape, Sequence[int]]:
    """Return a key with a part for each axis, the axes' lengths, and which axes are new."""
    parts = key if isinstance(key, tuple) else (key,)
    used = sum(not (part is None or part is ... or isinstance(part, _Along)) for part in parts)
    if used > len(lengths):
        raise IndexError(f"a key of {used} indices for an array of {len(lengths)} axes")
    at = next((i for i, part in enumerate(parts) if part is ...), len(parts))
    between = (slice(None),) * (len(lengths) - used) or parts[at : at + 1]
    every = (*parts[:at], *between, *parts[at + 1 :])
    if not any(type(part) is _Along for part in every):  # most often
        return every, lengths, ()
    left = iter(lengths)
    longer: list[int] = []
    new: list[int] = []
    found: list[Any] = []
    for part in every:
        if isinstance(part, _Along):
            new.append(len(longer))
            longer.append(1)
            part = part.index
        elif not (part is None or part is ...):
            longer.append(next(left))
        found.append(part)
    return tuple(found), tuple(longer), new


def _form(parts: Sequence[Any], rank: int = 1) -> str:
    """Return what a key consists of, a character for each part.

    That is ``a`` for an array with at least as many axes as ``rank``, ``0`` for one with fewer,
    ``i`` for an integer, ``:`` for a slice, ``n`` for None and ``.`` for an ellipsis.
    """
    return "".join(
        [
            _FORMS[type(part)]
            if type(part) in _FORMS
            else ("a" if len(getattr(part, "shape", ())) >= rank else "0")
            for part in parts
        ]
    )


_FORMS = {int: "i", slice: ":", type(None): "n", type(...): "."}


@cache
def _arrays_at(xp: Any, form: str) -> int:
    """Return where the axes of arrays stand among those of the result, by what a key consists of.

    The library is asked: in some an integer beside arrays is one of them, as in NumPy, and in
    others it takes its axis away before. The standard has no keys where it matters.
    """
    if "a" not in form or not {*form} & {":", "n"}:
        return 0
    zeros = xp.zeros((2,), dtype=xp.arange(1).dtype)
    indices = {"a": zeros, "0": zeros[0]}
    others = {"i": 0, ":": slice(None), "n": None, ".": ...}
    key = tuple((indices | others)[part] for part in form)
    x = xp.zeros((1,) * sum(part not in "n." for part in form))
    try:
        out = xp.__getitem__(x, key)
    except IndexError:
        return 0
    return int(out.shape.index(2))
