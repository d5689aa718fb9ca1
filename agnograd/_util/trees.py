"""Pytrees by optree, imported on first use: it takes longer to import than all of agnograd."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any


def _optree() -> ModuleType:
    import optree

    return optree


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Return the leaves of a pytree and its structure."""
    found: tuple[list[Any], Any] = _optree().tree_flatten(tree)
    return found


def unflatten(structure: Any, leaves: Iterable[Any]) -> Any:
    """Return a pytree of the given structure."""
    return _optree().tree_unflatten(structure, leaves)


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of a pytree."""
    found: list[Any] = _optree().tree_leaves(tree)
    return found


def map_leaves(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Return a pytree whose leaves are the function's values at the leaves of others."""
    return _optree().tree_map(function, tree, *others)


def paths(tree: Any) -> list[tuple[Any, ...]]:
    """Return the path of keys and indices to each leaf."""
    found: list[tuple[Any, ...]] = _optree().tree_paths(tree)
    return found
