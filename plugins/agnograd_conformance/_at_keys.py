"""What a backend writes and adds at keys of every form, and what comes back from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from agnograd import autodiff
from agnograd.extend import Backend, domain_named

__all__ = ["gradients", "numbers", "put", "scatter_add", "set_"]

Numbers = list[float]


class _Place(NamedTuple):
    """A key as text and as a function of a namespace, and what comes of three elements there.

    ``given`` is added, and written. ``added`` is the sum of it and zeros, and ``set`` what writing
    it makes of 1, 2 and 4; at masks, what writing 9 makes of them. It is None where the standard
    has no writes.
    """

    text: str
    make: Callable[[Any], Any]
    given: float | Numbers
    added: Numbers
    set: Numbers | None


_PLACES = (
    _Place("[0]", lambda xp: 0, 5.0, [5, 0, 0], [5, 2, 4]),
    _Place("[-1]", lambda xp: -1, 5.0, [0, 0, 5], [1, 2, 5]),
    _Place("[...]", lambda xp: ..., [7.0, 8.0, 9.0], [7, 8, 9], [7, 8, 9]),
    _Place("[1:]", lambda xp: slice(1, None), [7.0, 8.0], [0, 7, 8], [1, 7, 8]),
    _Place("[::-2]", lambda xp: slice(None, None, -2), [7.0, 8.0], [8, 0, 7], [8, 2, 7]),
    _Place("[3:]", lambda xp: slice(3, None), [], [0, 0, 0], [1, 2, 4]),
    _Place("[mask]", lambda xp: _mask(xp, True), [7.0, 8.0], [7, 0, 8], [9, 2, 9]),
    _Place("[mask of none]", lambda xp: _mask(xp, False), [], [0, 0, 0], [1, 2, 4]),
    _Place("[integers]", lambda xp: (xp.asarray([2, 0, 2]),), [1.0, 2.0, 4.0], [2, 0, 5], None),
)


def scatter_add(backend: Backend, xp: Any) -> str | None:
    """Try what is added, also where positions repeat."""
    for place in _PLACES:
        given = _floats(xp, place.given)
        found = numbers(
            backend, backend.scatter_add(xp.zeros_like(_ramp(xp)), place.make(xp), given)
        )
        if found != place.added:
            return _differs(place, found, place.added)
    return None


def set_(backend: Backend, xp: Any) -> str | None:
    """Try writes to copies."""
    x = _ramp(xp)
    found = _of_writes(backend, lambda key, value: backend.set(x, key, value), xp)
    changed = numbers(backend, x) != [1, 2, 4]
    return "it changes its argument" if changed else found


def put(backend: Backend, xp: Any) -> str | None:
    """Try writes that need no copy."""
    return _of_writes(backend, lambda key, value: backend.put(_ramp(xp), key, value), xp)


def _of_writes(backend: Backend, write: Callable[[Any, Any], Any], xp: Any) -> str | None:
    for place in _PLACES:
        if place.set is None:
            continue
        value = 9.0 if "mask" in place.text or place.given == [] else place.given
        found = numbers(backend, write(place.make(xp), _floats(xp, value)))
        if found != place.set:
            return _differs(place, found, place.set)
    return None


def gradients(backend: Backend, xp: Any) -> str | None:
    """Try the gradient of what is read at each key."""
    masks = backend.capabilities.boolean_indexing and not backend.capabilities.unknown_shapes
    domain = domain_named(backend.name)
    for place in _PLACES:
        if "mask" in place.text and not masks:
            continue
        x = domain.Variable(_ramp(xp), True)
        try:
            read = x[place.make(xp)]
        except (IndexError, NotImplementedError, TypeError, ValueError):
            continue  # which the checks of `__getitem__` say
        ones = domain.Variable(xp.ones(read.shape, dtype=read.dtype), False)
        (g,) = autodiff.grad([read], [x], [ones])
        assert g is not None
        found = numbers(backend, g.data)
        expected = [1.0, 0.0, 2.0] if place.set is None else [float(k != 0) for k in place.added]
        if found != expected:
            return _differs(place, found, expected)
    return None


def _differs(place: _Place, found: Numbers, expected: Sequence[float]) -> str:
    return f"at {place.text} it gives {found}, and should give {[float(k) for k in expected]}"


def _mask(xp: Any, some: bool) -> Any:
    return xp.asarray([some, False, some])


def _ramp(xp: Any) -> Any:
    return _floats(xp, [1.0, 2.0, 4.0])


def _floats(xp: Any, values: float | Numbers) -> Any:
    """Return numbers as an array of the precision that all libraries have."""
    if values == []:
        return xp.zeros((0,), dtype=xp.float32)
    return xp.asarray(values, dtype=xp.float32)


def numbers(backend: Backend, array: Any) -> Numbers:
    """Return the elements of an array."""
    return [float(each) for each in backend.to_host(array).reshape(-1)]
