"""How what a function returns changes with all that it uses: for methods that adapt by values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agnograd._arrays.domains import domain_of
from agnograd._arrays.variable import Variable
from agnograd._engine.run import run_pass
from agnograd._graph.nodes import next_rank
from agnograd._graph.paths import older
from agnograd._hooks.entering import recording_since
from agnograd._hooks.state import is_grad_enabled
from agnograd._ops.rule_helpers import known_size
from agnograd._transforms.numeric import inner

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain


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
    # No recorder outside is notified: nobody differentiates these nodes again.
    with recording_since(start, tape=lambda node: False):
        out = f()
        if not isinstance(out, Variable) or out._node is None:
            return None
        edges = sorted(older([out._node], start), reverse=True)
        seed = irregular(out.shape, out.dtype, out.device, out._domain)
        with out._domain.backend.quiet():
            found = run_pass([(out._node, seed)], targets=edges)
            total = 0.0
            for place, edge in enumerate(edges):
                if (g := found.of(edge)) is not None:
                    domain, first = domain_of(g), 1 + 7 * place
                    direction = irregular(g.shape, g.dtype, domain.device(g), domain, first)
                    total += inner([g], [direction])
            return total


def irregular(
    shape: tuple[int, ...], dtype: Any, device: Any, domain: Domain, first: int = 1
) -> Any:
    """Return a raw array of numbers of no regular pattern, between -1 and 1, or complex.

    It raises if the shape is not known before the library computes it, as of ``x[mask]`` in Dask.
    """
    count, xp = known_size(shape), domain.raw
    real = xp.abs(xp.zeros((), dtype=dtype)).dtype  # finfo's is a string in some libraries
    values = xp.sin(xp.arange(first, first + count, dtype=real, device=device))
    values = xp.astype(xp.reshape(values, shape), dtype)
    return (1 + 0.5j) * values if domain.is_complex(dtype) else values
