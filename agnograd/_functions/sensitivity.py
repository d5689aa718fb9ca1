"""How what a function returns changes with all that it uses: for methods that adapt by values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_of
from agnograd._arrays.variable import Variable
from agnograd._engine.run import run_pass
from agnograd._functions.numeric import inner
from agnograd._graph.nodes import Node, next_rank
from agnograd._graph.paths import older
from agnograd._hooks.entering import recording_since
from agnograd._hooks.state import Recorder, is_grad_enabled
from agnograd._ops.rule_helpers import known_size


class _Alone(Recorder):
    """Keeps nodes without notifying others: nobody differentiates them again."""

    def __call__(self, node: Node, out: Any, *call: Any) -> None:
        return None


def sensitivity(f: Callable[[], Any]) -> float | None:
    """Return how the result of a function changes in one direction of everything that it uses.

    A method that adapts to values, such as one that chooses intervals, does not adapt to
    derivatives, which may vary where values do not. If it also adapts to this number, it does.

    Parameters
    ----------
    f : callable
        ``f()`` returns an array, and may use any Variables. The call is not recorded.

    Returns
    -------
    float or None
        The result is multiplied by numbers without a regular pattern, which are always the same,
        and summed. The gradient of that sum, with respect to all tracked values that ``f`` uses, is
        contracted with such numbers again. None if the result depends on nothing that is tracked,
        or if recording is turned off.

    Raises
    ------
    MissingRuleError
        If an op in ``f`` has no derivative.

    Examples
    --------
    >>> import agnograd as ag
    >>> from agnograd.extend import sensitivity
    >>> x = ag.Variable(3.0)
    >>> round(sensitivity(lambda: x**2) / sensitivity(lambda: x), 6)
    6.0
    """
    if not is_grad_enabled():
        return None
    start = next_rank()
    with recording_since(start, tape=_Alone()):
        out = f()
        if not isinstance(out, Variable) or out._node is None:
            return None
        edges = sorted(older([out._node], start), reverse=True)
        with out._domain.backend.quiet():
            found = run_pass([(out._node, irregular(out._raw, out._domain))], targets=edges)
            given = ((place, found.of(edge)) for place, edge in enumerate(edges))
            return sum(
                inner([g], [irregular(g, domain_of(g), 1 + 7 * place)])
                for place, g in given
                if g is not None
            )


def irregular(like: Any, domain: Domain, first: int = 1) -> Any:
    """Return a raw array like another one, of numbers without a pattern, between -1 and 1.

    It raises if the shape is not known before the library computes it, as of ``x[mask]`` in Dask.
    """
    xp, dtype, device = domain.raw, like.dtype, domain.device(like)
    real = xp.abs(xp.zeros((), dtype=dtype)).dtype  # finfo's is a string in some libraries
    values = xp.sin(xp.arange(first, first + known_size(like.shape), dtype=real, device=device))
    values = xp.astype(xp.reshape(values, like.shape), dtype)
    return (1 + 0.5j) * values if domain.is_complex(dtype) else values
