"""Reading and writing at keys for many members at once: batching rules.

If any array in a key is mapped, all of them are. Then the members' own numbers are one more array
of the key, the first one.
"""

import math
from collections.abc import Sequence, Set
from typing import Any, NamedTuple

from agnograd.errors import BatchingError
from agnograd.extend import device_of, is_basic, is_mask

__all__ = ["add", "read", "write"]

Shape = tuple[int, ...]


def read(xp: Any, size: int, mapped: Set[str], x: Any, key: Any) -> Any:
    """Return ``x[key]`` of each member."""
    if "x" in mapped and is_basic(key):  # most often
        return xp.__getitem__(x, (slice(None), *(key if isinstance(key, tuple) else (key,))))
    lead = x.shape[: int("x" in mapped)]
    key, shape = _of_arrays(xp, mapped, key, x.shape[len(lead) :])
    if (mask := _mask(xp, key)) is not None:
        _refuse_mapped(mapped)
        return _rows_first(xp, xp.__getitem__(_masked_first(xp, x, mask), mask), 1)
    x = _with_axes(xp, x, (*lead, *shape))
    place = Place.of(xp, key, shape, "key" in mapped)
    if "x" not in mapped:  # the members read one array
        return place.members_first(xp, xp.__getitem__(x, place.parts))
    return place.read(xp, size, x)


def write(xp: Any, size: int, mapped: Set[str], x: Any, key: Any, value: Any) -> Any:
    """Return each member of ``x`` with ``value`` at ``key``."""
    if "x" not in mapped:
        x = xp.broadcast_to(xp.expand_dims(x, axis=0), (size, *x.shape))
    key, shape = _of_arrays(xp, mapped, key, x.shape[1:])
    if (mask := _mask(xp, key)) is not None:
        return _write_mask(xp, size, mapped, x, mask, value)
    place = Place.of(xp, key, shape, "key" in mapped)
    below = place.below(xp, size, x)
    into = _with_axes(xp, x, (size, *shape))
    written = xp.__setitem__(into, below, place.value(xp, value, "value" in mapped))
    return _with_axes(xp, written, x.shape)


def add(xp: Any, size: int, mapped: Set[str], values: Any, key: Any, shape: Shape) -> Any:
    """Return zeros of ``shape`` for each member with ``values`` added at ``key``."""
    key, full = _of_arrays(xp, mapped, key, shape)
    if "values" not in mapped:
        values = xp.broadcast_to(xp.expand_dims(values, axis=0), (size, *values.shape))
    if (mask := _mask(xp, key)) is not None:
        _refuse_mapped(mapped)
        rest = shape[mask.ndim :]
        into = (*mask.shape, size, *rest)
        found = xp.scatter_add(xp.moveaxis(values, 0, 1), mask, shape=into)
        return _rows_first(xp, found, mask.ndim)
    place = Place.of(xp, key, full, "key" in mapped)
    below = place.below(xp, size, values)
    found = xp.scatter_add(place.value(xp, values, True), below, shape=(size, *full))
    return _with_axes(xp, found, (size, *shape))


# -- masks -----------------------------------------------------------------------------------------


def _mask(xp: Any, key: Any) -> Any:
    """Return the mask that a key is, or None."""
    only = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    return only if _is_mask(xp, only) else None


def _is_mask(xp: Any, part: Any) -> bool:
    return hasattr(part, "dtype") and is_mask(part, xp)


def _of_arrays(xp: Any, mapped: Set[str], key: Any, lengths: Shape) -> tuple[Any, Shape]:
    """Return a key with arrays in place of sequences, and the lengths of the axes that it is for.

    A mask is the whole key, or becomes indices. One without axes, as True is, beside other parts
    of the key stands for an index of an axis of its own, of length one.
    """
    parts = [
        _as_array(xp, part) if isinstance(part, list | tuple | bool) else part
        for part in (key if isinstance(key, tuple) else (key,))
    ]
    if len(parts) == 1:
        return parts[0], lengths
    found: list[Any] = []
    full, axis = [*lengths], 0
    ranks = [part.ndim if _is_mask(xp, part) else int(part is not None) for part in parts]
    for part, rank in zip(parts, ranks, strict=True):
        if part is ...:
            axis += len(lengths) - (sum(ranks) - 1)
            found.append(part)
        elif _is_mask(xp, part):
            _refuse_mapped(mapped)
            if not rank:
                full.insert(axis, 1)
                part, rank = xp.reshape(part, (1,)), 1
            _check_mask(part.shape, full[axis : axis + rank])
            found += xp.nonzero(part)
            axis += rank
        else:
            found.append(part)
            axis += rank
    return tuple(found), tuple(full)


def _check_mask(shape: Shape, lengths: Sequence[int]) -> None:
    """Check that a mask fits its axes, as far as lengths are known: Dask has NaN for others."""
    if len(shape) != len(lengths) or any(
        one != other and one == one and other == other
        for one, other in zip(shape, lengths, strict=True)
    ):
        raise IndexError(f"a mask of shape {shape} does not fit axes of lengths {(*lengths,)}")


def _as_array(xp: Any, part: Any) -> Any:
    return xp.asarray(part, dtype=None if part or part is False else xp.int64)


def _with_axes(xp: Any, x: Any, shape: Shape) -> Any:
    """Return an array with axes of length one more, or fewer."""
    return x if len(x.shape) == len(shape) else xp.reshape(x, shape)


def _refuse_mapped(mapped: Set[str]) -> None:
    if "key" in mapped:
        raise BatchingError(
            "in vmap a mask that differs between members selects another number of elements for "
            "each: use xp.where(mask, x, 0), say, in place of x[mask]"
        )


def _masked_first(xp: Any, x: Any, mask: Any) -> Any:
    return xp.moveaxis(x, 0, mask.ndim)


def _rows_first(xp: Any, out: Any, axis: int) -> Any:
    return xp.moveaxis(out, axis, 0)


def _write_mask(xp: Any, size: int, mapped: Set[str], x: Any, mask: Any, value: Any) -> Any:
    """Write at a mask: one that differs between members takes one value for all places."""
    if "key" not in mapped:
        values, selected = value, x.ndim - mask.ndim  # as many axes as what the mask selects has
        if "value" in mapped:
            ones = (1,) * max(selected - (value.ndim - 1), 0)
            if ones:  # how many elements there are may not be known
                values = xp.reshape(value, (size, *ones, *value.shape[1:]))
            values = xp.moveaxis(values, 0, 1)
        elif getattr(value, "ndim", 0) == selected:
            values = xp.expand_dims(value, axis=1)  # behind the selected elements
        written = xp.__setitem__(_masked_first(xp, x, mask), mask, values)
        return _rows_first(xp, written, mask.ndim)
    rest = x.ndim - mask.ndim
    shape = getattr(value, "shape", ())[1 if "value" in mapped else 0 :]
    if math.prod(shape) != 1:
        _refuse_mapped(mapped)
    if hasattr(value, "shape"):
        kept = (size,) if "value" in mapped else (1,)
        value = xp.astype(xp.reshape(value, (*kept, *(1,) * (x.ndim - 1))), x.dtype)
    return xp.where(xp.reshape(mask, (*mask.shape, *(1,) * rest)), value, x)


# -- integers, slices and arrays of integers -------------------------------------------------------


class Place(NamedTuple):
    """Where a key of one member points, and what is selected there.

    ``parts`` has one entry for each axis (and None for new ones). ``rank`` is the number of axes of
    its arrays, None without arrays; ``at`` is where these stand among the result's. ``shape`` is
    what a member's result has.
    """

    parts: tuple[Any, ...]
    rank: int | None
    at: int
    mapped: bool
    lengths: Shape  # of the array's axes
    kept: int  # the number of the result's axes that are not of arrays

    @classmethod
    def of(cls, xp: Any, key: Any, lengths: Shape, mapped: bool) -> "Place":
        """Return the place that a key points to in a member with axes of these lengths."""
        parts = _whole(key, len(lengths))
        arrays = [i for i, part in enumerate(parts) if hasattr(part, "shape")]
        kept = sum(part is None or isinstance(part, slice) for part in parts)
        if not arrays:
            return cls(parts, None, 0, mapped, lengths, kept)
        rank = max(len(parts[i].shape) for i in arrays) - mapped
        if mapped:
            parts = tuple(
                _ranked(xp, part, rank) if i in arrays else part for i, part in enumerate(parts)
            )
        # As NumPy has it: integers count as arrays where there are any, and the axes of arrays that
        # are not beside each other come first.
        taken = [i for i, part in enumerate(parts) if not (part is None or isinstance(part, slice))]
        beside = taken == [*range(taken[0], taken[-1] + 1)]
        at = sum(1 for part in parts[: taken[0]]) if beside else 0
        return cls(parts, rank, at, mapped, lengths, kept)

    @property
    def whole(self) -> bool:
        """Whether each axis has an integer or an array: the standard has arrays only so."""
        return not any(part is None or isinstance(part, slice) for part in self.parts)

    def members_first(self, xp: Any, out: Any) -> Any:
        """Return what a mapped key selects of one array, with the members first."""
        return xp.moveaxis(out, self.at, 0) if self.at else out

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
        for source, destination in self._moves():
            out = xp.moveaxis(out, source, destination)
        return out

    def value(self, xp: Any, value: Any, mapped: bool) -> Any:
        """Return what is to be written there, or added, as the key of all members takes it."""
        if not hasattr(value, "shape"):
            return value
        rank = self.kept + (self.rank or 0)
        shape = value.shape[1:] if mapped else value.shape
        extra = max(len(shape) - rank, 0)  # leading axes of length one, which NumPy allows
        lead = (value.shape[0],) if mapped else ()
        moves = self._moves()
        if not (mapped or moves):
            return xp.reshape(value, shape[extra:]) if extra else value
        ones = (1,) * max(rank - len(shape), 0)
        value = xp.reshape(value, (*(lead or (1,)), *ones, *shape[extra:]))
        for source, destination in reversed(moves):
            value = xp.moveaxis(value, destination, source)
        return value

    def _moves(self) -> list[tuple[Any, Any]]:
        """Return how the axes move that the key of all members selects: from where, to where."""
        if self.rank is None:
            return []
        if self.mapped or self.whole:  # the axes of arrays follow the members
            if self.at == 0 or self.rank == 0:
                return []
            sources = tuple(range(1, 1 + self.rank))
            return [(sources, tuple(range(1 + self.at, 1 + self.at + self.rank)))]
        taken = [i for i, p in enumerate(self.parts) if not (p is None or isinstance(p, slice))]
        beside = taken == [*range(taken[0], taken[-1] + 1)]
        return [] if beside else [(self.rank, 0)]  # the axes of arrays come before the members


def _whole(key: Any, rank: int) -> tuple[Any, ...]:
    """Return a key with a part for each axis."""
    parts = key if isinstance(key, tuple) else (key,)
    used = sum(part is not None and part is not ... for part in parts)
    dots = [i for i, part in enumerate(parts) if part is ...]
    at = dots[0] if dots else len(parts)
    return (*parts[:at], *(slice(None),) * (rank - used), *parts[at + 1 :])


def _ranked(xp: Any, part: Any, rank: int) -> Any:
    """Return a mapped array of a key whose members have so many axes."""
    size, *shape = part.shape
    return xp.reshape(part, (size, *(1,) * (rank - len(shape)), *shape))
