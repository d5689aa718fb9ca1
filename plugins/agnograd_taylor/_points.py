"""Where an operator is applied: the leaves of an argument, and directions in which it goes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import agnograd as ag
from agnograd import Variable
from agnograd.errors import ArgumentError
from agnograd.extend import device_of, is_python_scalar
from agnograd.extend.arguments import flatten, map_leaves, unflatten
from agnograd.extend.transforms import domain_of
from agnograd_taylor._directions import coloured, plan
from agnograd_taylor._integration import bare
from agnograd_taylor._taylor import Expansion, Taylor


class Point:
    """An argument of a function, as arrays.

    Attributes
    ----------
    leaves : list of arrays
        The arrays of it.
    tree
        Its structure.
    size : int
        The number of all elements.
    """

    def __init__(self, what: str, x: Any) -> None:
        found, self.tree = flatten(x)
        self.what = what
        self.leaves = [array_of(what, leaf) for leaf in found]
        if not self.leaves:
            raise ArgumentError(f"{what}: the argument has no arrays")
        self.sizes = [math.prod(leaf.shape) for leaf in self.leaves]
        self.size = sum(self.sizes)

    def axes(self) -> list[Any]:
        """Return one direction for each element: for each leaf, with a first axis for them."""
        return self._parts(self._array(None))

    def shared(self, pattern: Any) -> list[Any]:
        """Return directions of several elements each, by the pattern of a Hessian."""
        if getattr(pattern, "shape", None) != (self.size, self.size):
            raise ArgumentError(
                f"{self.what}: pattern must be that of the Hessian, for {self.size} elements of "
                "the argument: ag.sparsity(ag.grad(f), x)"
            )
        colours = coloured(
            zip(pattern.rows.tolist(), pattern.columns.tolist(), strict=True), self.size
        )
        chosen = [[float(each == k) for each in colours] for k in range(max(colours) + 1)]
        return self._parts(self._array(chosen))

    def flat(self, name: str, values: Any) -> Any:
        """Return numbers for all elements in one row, which are given as the argument is."""
        found, tree = flatten(values)
        shapes = [getattr(each, "shape", None) for each in found]
        if tree != self.tree or shapes != [x.shape for x in self.leaves]:
            raise ArgumentError(
                f"{self.what}: {name} must have the structure and shapes of the argument"
            )
        xp = ag.namespace(self.leaves[0])
        return self.given_as(xp.concat([xp.reshape(each, (-1,)) for each in found]))

    def given_as(self, array: Any) -> Any:
        """Return an array as the argument is given: raw, unless a Variable is in it."""
        tracked = isinstance(array, Variable) and array.requires_grad
        if tracked or any(isinstance(leaf, Variable) for leaf in self.leaves):
            return array
        return bare(array)

    def expand(
        self, f: Callable[..., Any], directions: Sequence[Any], order: int, weights: Any = None
    ) -> list[Any]:
        """Return coefficients along directions, the last one summed, and the lower ones not."""

        def along(v: Sequence[Any], weight: Any) -> list[Any]:
            run = Expansion(order, raw(v[0]), None if weight is None else raw(weight))
            series = [
                [x, each, *[None] * (order - 1)] for x, each in zip(self.leaves, v, strict=True)
            ]
            return Taylor.expand(
                lambda *arrays: f(unflatten(self.tree, arrays)), run, series, fills=True
            )

        axes = [None, *[0] * (order - 1), None]
        in_axes = (0, None if weights is None else 0)
        found: list[Any] = ag.vmap(along, in_axes, axes)(list(directions), weights)
        return found

    def jacobian(self, value: Any, rows: Any) -> Any:
        """Return first derivatives along all axes, with the axes of the value first."""

        def of_leaf(array: Any, found: Any) -> Any:
            xp, parts, start = ag.namespace(found), [], 0
            for leaf, size in zip(self.leaves, self.sizes, strict=True):
                part = xp.moveaxis(found[start : start + size, ...], 0, -1)
                part = xp.reshape(part, (*array.shape, *leaf.shape))
                parts.append(part if isinstance(found, Variable) else bare(part))
                start += size
            return unflatten(self.tree, parts)

        return map_leaves(of_leaf, value, rows)

    def operator(self, f: Callable[..., Any], coefficients: Mapping[tuple[int, ...], float]) -> Any:
        """Return what a linear differential operator with these coefficients gives."""
        for index in coefficients:
            if len(index) != self.size:
                raise ArgumentError(
                    f"{self.what}: {index} has {len(index)} numbers, for {self.size} elements"
                )
        directions, factors = plan(coefficients)
        of_value = coefficients.get((0,) * self.size, 0.0)
        order = max(factors, default=0)
        if not order:
            return map_leaves(lambda y: y * of_value, f(unflatten(self.tree, self.leaves)))
        weights = [self.given_as(self._array(factors[k])) for k in sorted(factors)]
        rows = self._parts(self._array(directions))
        found = self.expand(f, rows, order, weights[-1])
        total = found[order]
        for k, weight in zip(sorted(factors)[:-1], weights, strict=False):
            total = map_leaves(lambda y, c, w=weight: y + _contracted(w, c), total, found[k])
        return map_leaves(lambda y, c: y + c * of_value, total, found[0]) if of_value else total

    def _array(self, values: Any) -> Any:
        """Return numbers as an array like the first leaf; None stands for an identity matrix."""
        first = self.leaves[0]
        xp, options = ag.namespace(first), {"dtype": first.dtype, "device": device_of(first)}
        return xp.eye(self.size, **options) if values is None else xp.asarray(values, **options)

    def _parts(self, rows: Any) -> list[Any]:
        """Return rows of all elements as arrays like the leaves, with a first axis for the rows."""
        xp, found, start = ag.namespace(self.leaves[0]), [], 0
        for leaf, size in zip(self.leaves, self.sizes, strict=True):
            part = xp.reshape(rows[:, start : start + size], (rows.shape[0], *leaf.shape))
            found.append(self.given_as(xp.astype(part, leaf.dtype)))
            start += size
        return found


def _contracted(weights: Any, coefficients: Any) -> Any:
    """Return the weighted sum along the first axis."""
    xp = ag.namespace(coefficients)
    out = xp.tensordot(xp.astype(weights, coefficients.dtype), coefficients, axes=1)
    return out if isinstance(coefficients, Variable) else bare(out)


def array_of(what: str, value: Any) -> Any:
    """Return an argument as an array, of a floating-point or complex dtype."""
    if is_python_scalar(value):
        return ag.asarray(value * 1.0).data
    domain = domain_of(value)
    if not domain.is_inexact(value.dtype):
        raise ArgumentError(
            f"{what}: an argument has dtype {value.dtype}, by which nothing can be differentiated; "
            "it must be floating-point or complex"
        )
    return value


def like(value: Any, x: Any) -> Any:
    """Return a coefficient of an argument, as an array of its shape and dtype."""
    array = array_of("ag.jet", value)
    if tuple(array.shape) != tuple(x.shape) or array.dtype != x.dtype:
        raise ArgumentError(
            f"ag.jet: a coefficient has shape {tuple(array.shape)} and dtype {array.dtype}, its "
            f"argument {tuple(x.shape)} and {x.dtype}"
        )
    return array


def raw(array: Any) -> Any:
    """Return the array of a level that a Variable holds."""
    return array.data if isinstance(array, Variable) else array
