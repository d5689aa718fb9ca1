"""What plugins learn of the leaves of a pass, and what they may put in place of its gradients."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from agnograd._graph.nodes import RANK, Edge, Leaf, Value, raw_gradient
from agnograd._graph.paths import last_uses
from agnograd.errors import GradientError

# The argument ``this`` is the pass, an ``agnograd._engine.run.Pass``.


def leaves_of(this: Any, roots: Iterable[Edge]) -> tuple[Value, ...]:
    """Return the leaves that a pass reaches, in the order in which their gradients are final."""
    last = last_uses(roots, this.path)
    last |= {root[RANK]: (root[RANK], 0, root) for root in roots if isinstance(root, Leaf)}
    uses = sorted(last.values(), key=itemgetter(0, 1))
    found = [leaf.variable() for *_, leaf in uses if _asked(this, leaf)]
    return tuple([each for each in found if each is not None])


def replace(this: Any) -> None:
    """Let plugins replace the gradients of leaves: all of them, or none if one fails."""
    final: dict[int, tuple[Edge, Any]] = this.arrivals.final
    known = [
        (node, g) for node, g in final.values() if isinstance(node, Leaf) and _asked(this, node)
    ]
    known = [(node, g) for node, g in known if node.variable() is not None]
    if this.ends and not known:
        return  # a part of another pass, which has the leaves
    variables = tuple([node.variable() for node, _ in known])
    grads = tuple([raw_gradient(g) for _, g in known])
    pairs = this.hooks.run("replace_gradients", variables, grads)
    if pairs is None:
        return
    if this.create_graph or this.level is not None or any(node.domain.level for node, _ in known):
        raise GradientError(
            "an active plugin replaces gradients, but those of a pass that is recorded "
            "(create_graph=True) or that runs inside vmap cannot be replaced; leave the plugin's "
            "`with ag.hooks(...)` block first"
        )
    for leaf, g in _checked(pairs):
        if g is None:
            final.pop(leaf[RANK], None)
        else:
            final[leaf[RANK]] = leaf, g


def _asked(this: Any, leaf: Leaf) -> bool:
    """Return whether a pass was asked for the gradient of a leaf, and is not a part of another."""
    return leaf[RANK] not in this.ends and (this.to_all or leaf[RANK] in this.targets)


def _checked(pairs: Iterable[tuple[Value, Any]]) -> list[tuple[Leaf, Any]]:
    """Return leaves with their new gradients, all of which must fit."""
    found: list[tuple[Leaf, Any]] = []
    g: Any
    for index, (variable, g) in enumerate(pairs):
        if not isinstance(variable._node, Leaf):
            raise GradientError(
                f"replace_gradients: pair {index} has a Variable that is not a leaf"
            )
        x: Any = variable._raw
        fits: bool = isinstance(g, variable._domain.array_types)
        if g is not None and not (fits and (g.shape, g.dtype) == (x.shape, x.dtype)):
            raise GradientError(
                f"replace_gradients: pair {index} has a {type(g).__name__} of shape "
                f"{getattr(g, 'shape', None)} and dtype {getattr(g, 'dtype', None)} for a leaf of "
                f"shape {x.shape} and dtype {x.dtype}; return a raw array like the leaf's"
            )
        found.append((variable._node, g))
    return found
