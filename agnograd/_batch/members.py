"""Functions of all members at once, for what is called inside ``vmap`` but computed below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_of
from agnograd._arrays.variable import Variable
from agnograd._batch.arrays import Batched, Batches, Members
from agnograd._levels.border import Border
from agnograd._util.trees import flatten, flatten_in_order, unflatten


@dataclass(frozen=True)
class ResultOfMembers:
    """What stands around the arrays of a result: its structure, and which arrays have members.

    ``own`` has, for each leaf, whether it has members, or None if it is not an array of the run.
    """

    own: tuple[bool | None, ...]
    tree: Any


class OfMembers:
    """A function of the arrays of all members, which lie along their first axes.

    Parameters
    ----------
    f : callable
        The function of one member.
    tree
        The structure of its arguments.
    own : sequence of bool
        For each leaf of them, whether it has members; the others are the same for all.
    """

    def __init__(self, f: Callable[..., Any], tree: Any, own: Sequence[bool]) -> None:
        self.f, self.tree, self.own = f, tree, tuple(own)
        self.__name__ = self.__qualname__ = str(getattr(f, "__qualname__", type(f).__name__))

    def __call__(self, *leaves: Any) -> tuple[list[Any], ResultOfMembers]:
        """Return the leaves of the result, and what stands around them."""
        border = Border(Batches, leaves)
        run = Members(next(x.shape[0] for x, own in zip(leaves, self.own, strict=True) if own))
        given = [
            border.into(leaf, run) if own else leaf
            for leaf, own in zip(leaves, self.own, strict=True)
        ]
        args, kwargs = unflatten(self.tree, given)
        found, tree = flatten(border.call(run, self.f, args, kwargs))
        arrays = [x._raw if isinstance(x, border.domain.Variable) else x for x in found]
        own = [x.run is not None if isinstance(x, Batched) else None for x in arrays]
        return border.out(found, run), ResultOfMembers(tuple(own), tree)


class Given(NamedTuple):
    """The arguments of a call in ``vmap``: payloads, which of them have members, their run."""

    leaves: list[Any]
    own: tuple[bool, ...]
    tree: Any
    run: Members


def given_in(level: Domain, args: Any, kwargs: Any) -> Given | None:
    """Return the arguments of a call in ``vmap``, or None if the function has to run as it is.

    That is so outside ``vmap``, in one that is traced, and where gradients are recorded for each
    member.
    """
    backend: Any = level.backend
    if not isinstance(backend, Batches) or backend.below.backend.whole:
        return None
    found, tree = flatten_in_order((args, kwargs))
    run: Members | None = None
    leaves, own = [], []
    for leaf in found:
        array = leaf._raw if isinstance(leaf, level.Variable) else None
        if array is None and isinstance(leaf, (Variable, Batched)) and domain_of(leaf).level:
            return None
        if array is not None and leaf.requires_grad:
            return None
        if array is not None and array.run is not None:
            run = array.run.meet(run)
            if run.has_units:
                return None
        leaves.append(leaf if array is None else _below(backend.below, array.payload))
        own.append(getattr(array, "run", None) is not None)
    return None if run is None else Given(leaves, tuple(own), tree, run)


def _below(domain: Domain, payload: Any) -> Any:
    """Return a payload as functions below take it: within ``vmap``, as a Variable."""
    bare = domain.level and not isinstance(payload, Variable)
    return domain.Variable._make(payload, None) if bare else payload


def computed(level: Domain, given: Given, of_members: Callable[..., Any]) -> Any:
    """Return what ``OfMembers`` gives, or its compiled form, as arrays of many members."""
    backend: Any = level.backend
    with backend._entered_below:
        found, layout = of_members(*given.leaves)
    results = []
    for leaf, own in zip(found, layout.own, strict=True):
        if own is not None:
            payload = leaf if not isinstance(leaf, Variable) or leaf._node else leaf.data
            array = backend.array_class(payload, given.run if own else None)
            leaf = level.Variable._make(array, None)
        results.append(leaf)
    return unflatten(layout.tree, results)
