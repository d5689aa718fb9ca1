"""Standard draws as ops: functions of a key and a shape, and so constants of a graph."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from numbers import Integral
from operator import index
from typing import Any

from agnograd.extend import Backend, device_of, in_full
from agnograd_random import ops
from agnograd_random._draws import DRAWS, Draws, Words
from agnograd_random._exact import Arithmetic
from agnograd_random.threefry import is_of_numbers, key_words

__all__ = ["check_array", "check_count", "draw", "draw_members", "precision", "shape_of"]

_MOST = 2**31  # elements of one key, whose places are int32


def shape_of(shape: Any) -> tuple[int, ...]:
    """Return a shape, which may be a number of elements.

    Raises
    ------
    TypeError
        If it is neither integers nor one.
    ValueError
        If a length is negative.
    """
    try:
        found = (index(shape),) if hasattr(shape, "__index__") else tuple(map(index, shape))
    except TypeError:
        raise TypeError(
            f"xp.random: a shape is a tuple of integers, or one, not {shape!r}"
        ) from None
    if any(length < 0 for length in found):
        raise ValueError(f"xp.random: a shape has no negative lengths, but this is {found}")
    return found


def precision(name: str, dtype: Any, given: Sequence[Any], xp: Any) -> int:
    """Return how many bits numbers have.

    Raises
    ------
    TypeError
        If a parameter is not an array.
    ValueError
        If the dtype is neither float32 nor float64.
    """
    if name == "bits":
        return 32
    for each in given:
        dtype = check_array(name, each).dtype
    if dtype is None:
        dtype = xp.empty((0,)).dtype
    # Libraries have dtypes in several forms, such as NumPy's types.
    found = xp.empty((0,), dtype=dtype).dtype
    if not xp.isdtype(found, "real floating") or xp.finfo(found).bits not in (32, 64):
        raise ValueError(f"random.{name}: dtype must be float32 or float64, not {dtype!r}")
    return int(xp.finfo(found).bits)


def check_array(name: str, x: Any, axes: int = 0) -> Any:
    """Return an array; raise for anything else, and for one of fewer axes."""
    if not hasattr(x, "dtype"):
        kind = type(x).__name__
        raise TypeError(f"random.{name}: a parameter is an array, not a {kind}: pass xp.asarray(x)")
    if len(x.shape) < axes:
        raise ValueError(f"random.{name}: an array of {len(x.shape)} axes must have {axes} or more")
    return x


def check_count(name: str, count: int) -> None:
    """Raise if one key has not so many numbers."""
    if count > _MOST:
        raise ValueError(
            f"random.{name}: one key has {_MOST} numbers, not {count}; split the key, draw parts"
        )


def draw(
    name: str,
    arithmetic: type[Arithmetic],
    xp: Any,
    backend: Backend,
    key: Any,
    given: Sequence[Any],
    shape: Any = (),
    dtype: Any = None,
    device: Any = None,
) -> Any:
    """Return what a draw of ``DRAWS`` makes of a key.

    Parameters
    ----------
    name : str
    arithmetic : type
        How the library computes what has the same bits on all.
    key : key
        Or a stack of keys: an array, of shape (keys..., 2).
        A stack of keys gives a stack of results.
    given : sequence of array
        Parameters, of one shape, which is the result's. Its first axes are those of the keys.
    shape : tuple of int
        The shape of the result, if there are no parameters.
    """
    bits = precision(name, dtype, given, xp)
    device = device_of(given[0]) if given else device
    first, second = key_words(key, device, xp)
    device = device_of(first) if device is None else device
    stack = first.shape[:-1]
    own = given[0].shape[len(stack) :] if given else shape_of(shape)
    count = math.prod(own)
    exact = arithmetic(xp, bits)
    if not count or not math.prod(stack):
        dtype = xp.uint32 if name == "bits" else exact.dtype
        return xp.zeros((*stack, *own), dtype=dtype, device=device)
    check_count(name, count)
    places = xp.arange(count, dtype=xp.int32, device=device)
    places = xp.broadcast_to(places, (*stack, count))
    parameters = [xp.reshape(each, places.shape) for each in given]
    with backend.quiet():
        found = getattr(Draws(exact), name)(Words(xp, (first, second), places), *parameters)
    found = xp.astype(found, xp.uint32) if name == "bits" else found
    return xp.reshape(found, (*stack, *own))


def draw_members(
    name: str, xp: Any, size: int, mapped: Set[str], key: Any, **parameters: Any
) -> Any:
    """Return a draw of a batch: each member has its own numbers, also where all have one key."""
    given = [each if of in mapped else in_full(xp, size, each) for of, each in parameters.items()]
    if "key" not in mapped:
        if isinstance(key, Integral):
            key = xp.random.key(key, device=device_of(given[0]))
        elif is_of_numbers(key):
            key = xp.asarray(key, dtype=xp.uint32, device=device_of(given[0]))
        key = in_full(xp, size, key)
    return getattr(xp.random, name)(key, *given)


def _registered(name: str, doc: str) -> None:
    def forward(
        xp: Any,
        backend: Backend,
        key: Any,
        shape: Any = (),
        *,
        dtype: Any = None,
        device: Any = None,
    ) -> Any:
        return draw(name, Arithmetic, xp, backend, key, (), shape, dtype, device)

    def batch(xp: Any, key: Any, shape: Any, dtype: Any, device: Any) -> Any:
        return getattr(xp.random, name)(key, shape, dtype=dtype, device=device)

    forward.__doc__ = doc
    ops.constant(
        f"random.{name}(key, /, shape=(), *, dtype=None, device=None)",
        forward=forward,
        outputs="one",
        batch=batch,
    )


def bits(xp: Any, backend: Backend, key: Any, shape: Any = (), *, device: Any = None) -> Any:
    """Return random words of 32 bits, as uint32."""
    return draw("bits", Arithmetic, xp, backend, key, (), shape, None, device)


ops.constant(
    "random.bits(key, /, shape=(), *, device=None)",
    forward=bits,
    outputs="one",
    batch=lambda xp, key, shape, device: xp.random.bits(key, shape, device=device),
)
_DOCS = {name: (getattr(Draws, name).__doc__ or "") for name in DRAWS}
for _name in ("uniform", "normal", "exponential", "gumbel"):
    _registered(f"standard_{_name}", _DOCS[f"standard_{_name}"])
