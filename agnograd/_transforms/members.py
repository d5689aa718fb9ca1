"""Functions that cannot be batched, such as another library's: one member after the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agnograd._arrays.levels import derived, is_tracked, levels_up
from agnograd._arrays.variable import Variable
from agnograd._batch.arrays import Batches
from agnograd._functions.function import Function
from agnograd._functions.runs import Prepared
from agnograd._transforms.gradients import vjp
from agnograd._util.trees import flatten, unflatten
from agnograd.errors import BatchingWarning


def is_above(args: tuple[Any, ...]) -> bool:
    """Return whether an array among arguments belongs to a level, such as that of ``vmap``."""
    return bool(derived) and any(type(each) in derived for each in flatten(args)[0])


def member_by_member(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function for one member after the other; derivatives of any order do so, too."""
    prepared = Prepared(f, args, kwargs, lambda x: isinstance(x, Variable) or type(x) in derived)
    arrays = prepared.take()
    warn_of_members(prepared.name, arrays)
    results = _each(lambda *members: tuple(prepared(members)), prepared.name)(*arrays)
    return unflatten(prepared.structure, results)


def warn_of_members(name: str, arrays: Sequence[Any]) -> None:
    """Warn if a function is called for one member of ``vmap`` after the other."""
    if any(isinstance(_backend_of(each), Batches) for each in arrays):
        warnings.warn(
            f"AGNOGRAD: {name} cannot be batched, and is called for one member of vmap after the "
            "other",
            BatchingWarning,
            stacklevel=levels_up(),
        )


def each_member(
    above: Callable[..., tuple[Any, ...]],
    arrays: Sequence[Any],
    below: Callable[..., tuple[Any, ...]],
) -> tuple[Any, ...]:
    """Call a function of raw arrays that is not made of ops.

    ``below`` is called with arrays of a library. Of those of a level, such as that of ``vmap``,
    each member is given to ``above``, which may get Variables.
    """
    backend = next(filter(None, map(_backend_of, arrays)), None)
    if backend is None:
        return below(*arrays)
    found: tuple[Any, ...] = backend.each_member(above, arrays)
    return found


def same_for_all(x: Any) -> Any:
    """Return the array of a library that an array of a level stands for, if it is one for all.

    None if members have different ones, or if it is tracked: what is computed of it is connected
    to it.
    """
    while type(x) in derived or isinstance(x, Variable):
        if isinstance(x, Variable):
            if x._node is not None:
                return None
            x = x._raw
        elif x.run is not None:
            return None
        else:
            x = x.payload
    return x


def _each(f: Callable[..., tuple[Any, ...]], name: str) -> Function:
    kind: type[_EachMember] = type(name, (_EachMember,), {})  # the name that hooks see
    return kind(f)


class _EachMember(Function, constant_attributes=True, records_below=True):
    """A function of arrays of a level, as an op: ``f`` takes members, and returns a tuple."""

    def __init__(self, f: Callable[..., tuple[Any, ...]]) -> None:
        self.f = f

    def forward(self, xp: Any, *arrays: Any) -> Any:
        """Call the function for each member."""
        self.save(*arrays)
        return self._looped(self.f, arrays)

    def backward(self, xp: Any, *grads: Any) -> Any:
        """Pull each member's cotangents back."""
        pull = partial(_pulled, self.f, len(grads))
        values = (*grads, *self.saved)
        if not any(map(is_tracked, values)) and not any(isinstance(x, Variable) for x in values):
            return self._looped(pull, values)
        found = _each(pull, f"{type(self).__name__}_vjp")(*values)
        if any(isinstance(each, Variable) for each in values):
            return found
        return tuple(each.data for each in found)  # in a pass that is not recorded

    def _looped(self, f: Callable[..., tuple[Any, ...]], arrays: Sequence[Any]) -> Any:
        found = each_member(f, arrays, f)
        return tuple(x.data if isinstance(x, Variable) else x for x in found)


def _backend_of(array: Any) -> Any:
    """Return the interpretation of an array of a level, None for another one."""
    level = derived.get(type(array))
    return None if level is None else level.backend


def _pulled(f: Callable[..., tuple[Any, ...]], count: int, *values: Any) -> tuple[Any, ...]:
    """Return the cotangents of a member's arguments, of those of its results and of these."""
    results, pull = vjp(f, *values[count:])
    return tuple(pull(tuple(values[:count]) if len(results) > 1 else (values[0],)))
