"""``vmap``: a function of one member, computed for many of them at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_of, owner_of
from agnograd._arrays.variable import Variable
from agnograd._batch.arrays import Batched, Batches, Members
from agnograd._batch.units import Units
from agnograd._levels.border import Border
from agnograd._levels.interpreted import payload_of
from agnograd._ops.batching import in_full
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._util.checks import callable_in, positive_in
from agnograd._util.remaking import remade
from agnograd._util.trees import axes_of, flatten_with_none, map_leaves, unflatten
from agnograd.errors import ArgumentError, BatchingError

Axes = Any


@remade
def vmap(
    f: Callable[..., Any],
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that computes ``f`` for all members of arrays at once.

    ``f`` is written for one member. Every op that it calls is computed for all members in one call
    of the array library, by the op's batching rule. It composes with all other transformations:
    ``ag.vmap(ag.grad(f))`` gives a gradient for each member.

    Parameters
    ----------
    f : callable
        A function of arrays, or of pytrees of them, that returns arrays. It gets Variables, each of
        which is one member of an argument. What it closes over is the same for all members, and
        keeps its gradient.
    in_axes : int, None or pytree
        For each positional argument, the axis along which its members lie, or None if the argument
        is the same for all members. An integer stands for all arguments; a tuple has one entry for
        each. An entry may be a pytree that is a prefix of its argument's.
    out_axes : int, None or pytree
        Where the axis of the members is to be in the results: as ``in_axes``, a prefix of what
        ``f`` returns. None returns a result once that is the same for all members.
    chunk_size : int, optional
        The most members that are computed at once; the results of all parts are put together. By
        default it is all of them.

    Returns
    -------
    callable
        Takes what ``f`` takes, with the axes of members, and returns what ``f`` returns, with
        theirs. Keyword arguments are the same for all members. If you pass raw arrays, you get raw
        arrays. If an array is a Variable, or if what ``f`` closes over is tracked, you get
        Variables, which are connected.

    Raises
    ------
    ArgumentError
        If ``f`` is not a function, if an axis does not exist, or if arrays have different numbers
        of members.
    BatchingError
        If the function needs the value of one member, as ``if x > 0`` does, or if the shape of a
        result would depend on such values.

    Examples
    --------
    >>> import agnograd as ag
    >>> xp = ag.namespace("numpy")
    >>> x = xp.asarray([[1.0, 2.0], [3.0, 4.0]]).data
    >>> ag.vmap(xp.sum)(x).tolist()
    [3.0, 7.0]
    >>> ag.vmap(ag.grad(lambda x: xp.sum(x * x)))(x).tolist()
    [[2.0, 4.0], [6.0, 8.0]]
    """
    callable_in("ag.vmap", f, "ag.vmap(lambda x: xp.sum(x)), say")
    if chunk_size is not None:
        positive_in("ag.vmap: chunk_size", chunk_size)

    @functools.wraps(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        given = _Given(args, in_axes)
        size, kwargs = given.size, kwargs and map_leaves(given.constant, kwargs)
        if chunk_size is None or size <= chunk_size:
            return given.run(f, kwargs, out_axes, 0, size)
        parts = [
            given.run(f, kwargs, out_axes, start, min(start + chunk_size, size))
            for start in range(0, size, chunk_size)
        ]
        return _joined(parts, out_axes)

    return mapped


def at_once(f: Callable[[Any], list[Any]], domain: Domain, rows: Any, first: int) -> list[Any]:
    """Return what a function of one array gives for arrays that are one at one element, else zero.

    The first of these is one at the element ``first``, and each other one at the next. They are
    raw arrays of ``domain``: another one may serve the same library.
    """
    border, run = Border(Batches, [domain.wrap(rows)]), Members(rows.shape[0], len(rows.shape) == 2)
    given = border.array(rows, run)
    if run.has_units:
        given._raw.units = Units(first, border.functions(rows).ones_like(rows[:, 0]))
    results = []
    for each in border.call(run, f, [given], {}):
        payload = each._raw.payload
        if each._raw.run is None:
            payload = in_full(border.functions(payload), run.size, payload)
        results.append(payload)
    return results


class _Given:
    """The arguments of a call: their arrays, and the axis of the members of each."""

    def __init__(self, args: tuple[Any, ...], in_axes: Axes) -> None:
        self.leaves, self.tree = flatten_with_none(args)
        if isinstance(in_axes, list):
            in_axes = tuple(in_axes)
        prefix = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        self.axes = axes_of("ag.vmap: in_axes", prefix, args)
        sizes: dict[int, int] = {}  # by the places of arguments, for an error
        for place, (leaf, axis) in enumerate(zip(self.leaves, self.axes, strict=True)):
            if axis is None:
                continue
            if leaf is None:  # nothing is there, for any member
                self.axes[place] = None
                continue
            shape = getattr(leaf, "shape", None)
            if shape is None:
                raise ArgumentError(
                    f"ag.vmap: {leaf!r} is not an array, and has no axis {axis}: give in_axes=None "
                    "for what is the same for all members"
                )
            rank = len(shape)
            if not -rank <= axis < rank:
                raise ArgumentError(
                    f"ag.vmap: in_axes names axis {axis} of an array of shape {tuple(shape)}; give "
                    "in_axes=None for what is the same for all members"
                )
            self.axes[place] = axis % rank
            sizes[place] = shape[axis]
        if not sizes:
            raise ArgumentError(
                "ag.vmap: no argument has members: give an axis in in_axes, and pass what is "
                "mapped by position"
            )
        if len({*sizes.values()}) > 1:
            found = ", ".join(
                f"{sizes[place]} of shape {tuple(self.leaves[place].shape)} along axis "
                f"{self.axes[place]}"
                for place in sizes
            )
            raise ArgumentError(f"ag.vmap: arrays have different numbers of members: {found}")
        self.size = next(iter(sizes.values()))
        # Of two libraries, that of what has members computes; the other one's are constants.
        leaves = self.leaves
        if None in self.axes:
            others = (place for place in range(len(leaves)) if place not in sizes)
            leaves = [leaves[place] for place in (*sizes, *others)]
        self.border = Border(Batches, leaves)

    def run(self, f: Any, kwargs: Any, out_axes: Axes, start: int, stop: int) -> Any:
        """Call the function for some of the members; return its results with their axes."""
        members = Members(stop - start)
        lifted = [
            self._lifted(leaf, axis, members, start, stop)
            for leaf, axis in zip(self.leaves, self.axes, strict=True)
        ]
        result = self.border.call(members, f, unflatten(self.tree, lifted), kwargs)
        return self._out(result, out_axes, members)

    def constant(self, leaf: Any) -> Any:
        """Return what is the same for all members; arrays as Variables that may be written to."""
        if is_python_scalar(leaf) or owner_of(leaf) is None:
            return leaf
        domain = self.border.domain
        array = domain.backend.lift(leaf)
        return leaf if array is NotImplemented else domain.Variable._make(array, None)

    def _lifted(self, leaf: Any, axis: int | None, run: Members, start: int, stop: int) -> Any:
        if axis is None:
            return self.constant(leaf)
        border = self.border
        payload = border.payload(leaf)
        xp = border.functions(payload)
        if axis:
            payload = xp.moveaxis(payload, axis, 0)
        if stop - start < self.size:
            payload = payload[start:stop, ...]
        return border.array(payload, run)

    def _out(self, result: Any, out_axes: Axes, run: Members) -> Any:
        found, tree = flatten_with_none(result)
        axes = axes_of("ag.vmap: out_axes", out_axes, result)
        out: list[tuple[Any, Domain | None]] = []
        for leaf, axis in zip(found, axes, strict=True):
            home = None if leaf is None else self.border.home(leaf)
            out.append((None if home is None else self._left(leaf, axis, run, home), home))
        return unflatten(tree, self.border.handed(out))

    def _left(self, leaf: Any, axis: int | None, run: Members, domain: Domain) -> Any:
        """Return a result of a domain with an axis for the members, as an array from below it."""
        backend: Any = domain.backend
        array = leaf._raw if isinstance(leaf, domain.Variable) else leaf
        if not isinstance(array, Batched):
            array = backend.lift(leaf)
            if array is NotImplemented:
                if not (is_python_scalar(leaf) or isinstance(leaf, list | tuple)):
                    raise BatchingError(
                        f"ag.vmap: the function returned an object of type {type(leaf).__name__}; "
                        "it must return arrays, or pytrees of them"
                    )
                array = domain.library.asarray(leaf)
        payload = payload_of(array, run)
        xp = backend.functions(payload)
        if isinstance(payload, Variable) and payload._domain is not backend.below:
            payload = xp.asarray(payload)
        if array.run is None:
            if axis is None:
                return payload
            payload = in_full(xp, run.size, payload)
        elif axis is None:
            raise ArgumentError(
                "ag.vmap: out_axes is None for a result that differs between members: give the "
                "axis where they are to be"
            )
        rank = len(payload.shape)
        if not -rank <= axis < rank:
            raise ArgumentError(
                f"ag.vmap: out_axes names axis {axis} of a result of {rank} axes, its members' "
                "included"
            )
        return payload if axis % rank == 0 else xp.moveaxis(payload, 0, axis % rank)


def _joined(parts: Sequence[Any], out_axes: Axes) -> Any:
    """Return the results of all parts of the members, each along its axis."""
    columns, tree = [], None
    for part in parts:
        found, tree = flatten_with_none(part)
        columns.append(found)
    axes = axes_of("ag.vmap: out_axes", out_axes, parts[0])
    joined = []
    for axis, *each in zip(axes, *columns, strict=True):
        if axis is None or each[0] is None:
            joined.append(each[0])
            continue
        domain = domain_of(each[0])
        xp = domain.namespace if isinstance(each[0], Variable) else domain.raw
        joined.append(xp.concat(each, axis=axis))
    return unflatten(tree, joined)
