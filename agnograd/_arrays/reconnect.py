"""What a node saved, as Variables that are connected to the graph again.

Nodes keep raw arrays only; together with their edges they are the Variables that a rule needs
under ``create_graph``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agnograd._arrays.variable import built
from agnograd._graph.nodes import OP, Node, Output, domain_at, edges_of, maker_of
from agnograd._hooks.state import current_mode
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backends import backend_of_array
from agnograd.errors import GradientError

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain
    from agnograd._graph.calls import Source


def connected(node: Node, values: Sequence[Any]) -> list[Any]:
    """Return the values that a node saved as Variables that are connected to the graph.

    A node saves only raw arrays; together with its edges they are the Variables that a rule
    needs under ``create_graph``. What a gradient manager, or a pullback, takes for constants is
    connected to nothing.
    """
    state = current_mode()
    sources = node[OP].plan.sources
    found = [_connect(v, source, node) for v, source in zip(values, sources, strict=True)]
    if state is not None and state.kept is not None:
        for value in found:
            for each in value if isinstance(value, tuple | list) else (value,):
                edge = getattr(each, "_node", None)
                if edge is not None and state.kept(maker_of(edge)) == (None,):
                    each._node = None
    return found


def _connect(value: Any, source: Source, node: Node) -> Any:
    if source is None or value is None or is_python_scalar(value):
        return value
    domain = node[OP].domain
    make = domain.Variable._make
    if source == "each":
        return [make(each, edge) for each, edge in zip(value, edges_of(node), strict=True)]
    if source == "constant":
        home = home_of(value, domain)
        return value if home is None else home.Variable._make(value, None)
    if source == "attributes":  # those with arrays, which a derivative must not read
        return None
    if source == "unknown":
        raise GradientError(
            f"{node[OP].name} saved an array that is neither an argument nor a result, so that "
            "its own derivative is unknown: under create_graph, save only arguments or results, "
            "and compute anything else in backward"
        )
    if isinstance(source, tuple):  # one of several results
        _, index, siblings = source
        return make(value, Output(node, index, siblings, domain))
    if isinstance(value, tuple | list):
        return domain.wrap_outputs(value, node)
    if source == "out":
        return make(value, node)
    edge = edges_of(node)[source]  # type: ignore[index]
    home = home_of(value, domain) if edge is None else domain_at(edge)
    return value if home is None else home.Variable._make(value, edge)


def home_of(value: Any, domain: Domain) -> Domain | None:
    """Return the domain of a saved value, None if it is not an array: its op's, or another one.

    An op that moves arrays saves some of a different backend from that of its results.
    """
    if isinstance(value, domain.array_types):
        return domain
    backend = backend_of_array(value)
    return None if backend is None else built.get(backend.name)
