"""What loops and branches are given: pytrees of arrays, which stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agnograd import Variable
from agnograd.errors import ArgumentError, UnsupportedArrayError
from agnograd.extend import is_python_scalar
from agnograd.extend.arguments import flatten, unflatten
from agnograd.extend.transforms import Domain, domain_of, highest, is_inside
from agnograd_loops._closing import here


class Arrays:
    """A pytree of arrays as Variables.

    Attributes
    ----------
    leaves : list of Variable
        The arrays; numbers became arrays beside them.
    tree
        The structure.
    """

    def __init__(self, what: str, value: Any, home: Domain | None = None) -> None:
        found, self.tree = flatten(value)
        self.what = what
        variables = [self._variable(place, leaf, found, home) for place, leaf in enumerate(found)]
        self.leaves = [here(each) for each in variables]

    def _variable(self, place: int, leaf: Any, all_of_them: Sequence[Any], home: Any) -> Variable:
        if isinstance(leaf, Variable):
            return leaf
        if is_python_scalar(leaf):
            arrays = [each for each in all_of_them if not is_python_scalar(each)]
            domain = home or domain_of(arrays[0] if arrays else 0.0)
        else:
            try:
                domain = domain_of(leaf)
            except UnsupportedArrayError:
                raise ArgumentError(
                    f"{self.what} has a {type(leaf).__name__} at {self.name(place)}; it must have "
                    "arrays and numbers only"
                ) from None
        return domain.Variable._make(domain.to_raw(leaf), None)

    def name(self, place: int) -> str:
        """Return what messages call a leaf: its path, ``[0]['w']`` say."""
        path = self.tree.paths()[place]
        return "".join(f"[{each!r}]" for each in path) or "its only leaf"

    def value(self, leaves: Sequence[Any] | None = None) -> Any:
        """Return the pytree, of these leaves or of others."""
        return unflatten(self.tree, self.leaves if leaves is None else leaves)

    def again(self, what: str, value: Any) -> list[Variable]:
        """Return the leaves of a pytree that has to be as this one is.

        Raises
        ------
        ArgumentError
            If its structure, a shape or a dtype is another one; the error names the leaf.
        """
        found, tree = flatten(value)
        if tree != self.tree:
            raise ArgumentError(f"{what} has structure {tree}; it must be {self.tree}, as before")
        leaves = []
        for place, (leaf, known) in enumerate(zip(found, self.leaves, strict=True)):
            if is_python_scalar(leaf):
                domain = known._domain
                leaf = domain.namespace.asarray(leaf, dtype=known.dtype)
            elif not isinstance(leaf, Variable):
                domain = domain_of(leaf)
                leaf = domain.Variable._make(domain.to_raw(leaf), None)
            if tuple(leaf.shape) != tuple(known.shape) or leaf.dtype != known.dtype:
                raise ArgumentError(
                    f"{what} has shape {tuple(leaf.shape)} and dtype {leaf.dtype} at "
                    f"{self.name(place)}; it must be {tuple(known.shape)} and {known.dtype}, as "
                    "before"
                )
            leaves.append(here(leaf))
        return leaves


def boolean(what: str, value: Any) -> Any:
    """Return a boolean, or a boolean array of shape (), as a Variable.

    Raises
    ------
    ArgumentError
        If it is something else.
    """
    (found,) = Arrays(what, value).leaves or (None,)
    if found is None or tuple(found.shape) or found.dtype != found._domain.raw.bool:
        raise ArgumentError(
            f"{what} is {value!r}; it must be a boolean, or a boolean array of shape ()"
        )
    return found


def given_as(value: Any, *trees: Any) -> Any:
    """Return results as arguments were given: raw, unless a Variable or a graph is in them."""
    found, tree = flatten(value)
    given = [leaf for each in trees for leaf in flatten(each)[0]]
    inside = is_inside() or any(isinstance(leaf, Variable) for leaf in given)
    inside = inside or any(isinstance(x, Variable) and x.requires_grad for x in found)
    if inside:
        return value
    return unflatten(tree, [x.data if isinstance(x, Variable) else x for x in found])


def home_of(*trees: Any) -> Domain | None:
    """Return the domain of the arrays in pytrees, None if there are only numbers."""
    leaves = [leaf for each in trees for leaf in flatten(each)[0] if not is_python_scalar(leaf)]
    return highest(domain_of(leaves[0]), leaves) if leaves else None
