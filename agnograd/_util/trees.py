"""Pytrees by optree, imported on first use: it takes longer to import than all of agnograd.

Most often a tree is one array, or a number, which needs no optree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import cache
from types import ModuleType
from typing import Any

from agnograd.errors import ArgumentError


class _One:
    """The structure of a tree that is one leaf: optree's, once more is asked than their number."""

    num_leaves = 1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # by which C++ would take this for one of its own objects
            raise AttributeError(name)
        return getattr(_optree().treespec_leaf(), name)

    def __repr__(self) -> str:
        return "PyTreeSpec(*)"

    def __reduce__(self) -> str:
        return "ONE"  # a copy is the same object


ONE = _One()
_NUMBERS = frozenset({bool, int, float, complex})


def _optree() -> ModuleType:
    import optree

    return optree


def _is_leaf(tree: Any) -> bool:
    return hasattr(type(tree), "__dlpack__") or type(tree) in _NUMBERS


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a pytree and its structure."""
    if hasattr(type(tree), "__dlpack__") or type(tree) in _NUMBERS:  # as `_is_leaf`, no call
        return [tree], ONE
    found, structure = _optree().tree_flatten(tree)
    return found, ONE if structure.is_leaf() else structure


def flatten_in_order(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a pytree and its structure, to which here the order of keys belongs."""
    found, structure = _optree().tree_flatten(tree, namespace=_in_order())
    return found, ONE if structure.is_leaf() else structure


@cache
def _in_order() -> str:
    """Return a namespace of optree's in which dicts have the order of their keys."""
    import atexit

    namespace, entered = "agnograd, in order", ExitStack()
    entered.enter_context(_optree().dict_insertion_ordered(True, namespace=namespace))
    atexit.register(entered.close)  # until the process ends
    return namespace


def unflatten(structure: Any, leaves: Iterable[Any]) -> Any:
    """Return a pytree of the given structure."""
    if structure is ONE:
        (leaf,) = leaves
        return leaf
    return _optree().tree_unflatten(structure, leaves)


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a pytree."""
    found: list[Any] = [tree] if _is_leaf(tree) else _optree().tree_leaves(tree)
    return found


def map_leaves(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Return a pytree whose leaves are the function's values at the leaves of others."""
    if _is_leaf(tree) and not others:
        return function(tree)
    return _optree().tree_map(function, tree, *others)


def paths(tree: Any) -> list[tuple[Any, ...]]:
    """Return the path of keys and indices to each leaf."""
    found: list[tuple[Any, ...]] = _optree().tree_paths(tree)
    return found


def flatten_with_none(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a pytree, None among them, and its structure."""
    if _is_leaf(tree):
        return [tree], ONE
    found, structure = _optree().tree_flatten(tree, none_is_leaf=True)
    return found, structure


def axes_of(what: str, prefix: Any, tree: Any) -> list[int | None]:
    """Return an axis, or None, for each leaf of a tree, of which axes are given for a prefix."""
    if _is_leaf(tree) and (prefix is None or type(prefix) is int):
        return [prefix]
    try:
        found = _optree().tree_leaves(
            _optree().tree_broadcast_prefix(prefix, tree, none_is_leaf=True), none_is_leaf=True
        )
    except ValueError as error:
        raise ArgumentError(f"{what} does not fit what it is for: {error}") from error
    for axis in found:
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int)):
            raise ArgumentError(f"{what} has {axis!r}; each axis is an integer, or None")
    return list(found)
