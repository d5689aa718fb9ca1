"""Keys that PyTorch does not take: indices of some integer dtypes, and negative steps.

It takes arrays of bytes for masks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from numbers import Integral
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agnograd.extend import is_basic

if TYPE_CHECKING:
    import torch

__all__ = [
    "as_key",
    "forward_steps",
    "has_backward_steps",
    "index_kernels",
    "positions",
    "read",
]

# The types of keys that hold no array.
_PLAIN = frozenset({int, slice, type(...), type(None)})
_TAKEN = frozenset({"torch.bool", "torch.int64", "bool", "int64"})


def as_index(part: Any) -> Any:
    """Return a part of a key, an array of integers as one of int64: bytes would be a mask."""
    dtype = getattr(part, "dtype", None)
    if dtype is None or str(dtype) in _TAKEN:
        return part
    import torch

    if isinstance(part, Integral):  # a NumPy scalar, which is not an array
        return int(part)
    found = torch.as_tensor(part)
    inexact = found.dtype.is_floating_point or found.dtype.is_complex
    return part if inexact else found.to(torch.int64)


def as_key(key: Any) -> Any:
    """Return a key whose arrays of integers are of int64."""
    if isinstance(key, tuple):
        return tuple([part if type(part) in _PLAIN else as_index(part) for part in key])
    return as_index(key)


def read(x: torch.Tensor, key: Any) -> torch.Tensor:
    """Return what a key reads; steps may be negative."""
    if type(key) not in _PLAIN:
        key = as_key(key)
    try:
        return x[key]
    except ValueError:
        if not has_backward_steps(key):
            raise
        return _turned(x, key) if is_basic(key) else x.flatten()[positions(x, key)]


def _turned(x: torch.Tensor, key: Any) -> torch.Tensor:
    key, turned = forward_steps(key, x.shape)
    return x[key].flip(turned)


def forward_steps(key: Any, shape: Sequence[int]) -> tuple[Any, tuple[int, ...]]:
    """Return a basic key with only positive steps, and the axes of its result to flip.

    Examples
    --------
    >>> forward_steps((0, slice(None, None, -2)), (2, 4))
    ((0, slice(1, 5, 2)), (0,))
    """
    parts = key if isinstance(key, tuple) else (key,)
    if not any(map(is_backward, parts)):
        return key, ()
    consumed = sum(part is not None and part is not Ellipsis for part in parts)
    turned: list[int] = []
    made: list[Any] = []
    axis = place = 0  # of the array, and of the result
    for part in parts:
        if part is Ellipsis:
            axis += len(shape) - consumed
            place += len(shape) - consumed
        else:
            if is_backward(part):
                turned.append(place)
                at = range(*part.indices(shape[axis]))[::-1]
                part = slice(at.start, at.stop, at.step)
            axis += part is not None
            place += part is None or isinstance(part, slice)
        made.append(part)
    return tuple(made), tuple(turned)


def is_backward(part: Any) -> bool:
    """Return whether a part of a key is a slice with a negative step."""
    return isinstance(part, slice) and (part.step or 1) < 0


def has_backward_steps(key: Any) -> bool:
    """Return whether there is a slice with a negative step, which PyTorch refuses."""
    return any(map(is_backward, key if isinstance(key, tuple) else (key,)))


def positions(x: torch.Tensor, key: Any) -> torch.Tensor:
    """Return the positions in a flattened tensor that a key reads, one with index arrays.

    Slices with negative steps are read first: nobody knows here where index arrays put their axes.
    """
    import torch

    first: list[Any] = []
    then: list[Any] = []
    for part in key if isinstance(key, tuple) else (key,):
        backward = is_backward(part)
        first += [part if backward or part is ... else slice(None)] * _axes_of(part)
        then.append(slice(None) if backward else part)
    places = torch.arange(x.numel(), device=x.device).reshape(x.shape)
    return _turned(places, tuple(first))[tuple(then)]


def _axes_of(part: Any) -> int:
    """Return how many axes of an array a part of a key names, or 1 for an ellipsis."""
    if part is None or isinstance(part, bool):
        return 0
    is_mask = str(getattr(part, "dtype", "")).endswith("bool")
    return part.ndim if is_mask else 1


def index_kernels(xp: ModuleType) -> Mapping[str, Callable[..., Any]]:
    """Return the functions of indices, with indices of every integer dtype."""

    def of_every_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def called(x: Any, indices: Any, /, **options: Any) -> Any:
            return function(x, as_index(indices), **options)

        return called

    names = ("repeat", "take", "take_along_axis")
    return {name: of_every_dtype(getattr(xp, name)) for name in names}
