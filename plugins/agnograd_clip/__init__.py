"""Clip gradients: each element for itself, or all of them together by their norm."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import optree
from array_api_compat import array_namespace

from agnograd.extend import Uncopied, hookimpl

if TYPE_CHECKING:
    import agnograd as ag

__all__ = ["Clip", "by_norm", "by_value", "norm"]


class _Reached(threading.local):
    """The leaves that this thread's passes have reached, and those of the passes that run."""

    def __init__(self) -> None:
        self.leaves: WeakValueDictionary[int, ag.Variable] = WeakValueDictionary()
        self.passes: list[list[ag.Variable]] = []


class Clip(Uncopied):
    """Clip the ``grad`` of all leaves that backward passes reach while this is active.

    Its hooks change no gradient: clipping is a call, between the last pass and the step. Each
    thread clips what its own passes have reached.

    Examples
    --------
    >>> import agnograd as ag
    >>> w = ag.Variable([3.0, 4.0])
    >>> with ag.hooks("clip") as (clip,):
    ...     (w * w).__array_namespace__().sum(w * w).backward()
    ...     float(clip.by_norm(1.0))
    10.0
    >>> w.grad.data.round(6).tolist()
    [0.6, 0.8]
    """

    def __init__(self) -> None:
        self._reached = _Reached()

    @hookimpl
    def backward_start(self) -> None:
        """Note that a pass runs."""
        self._reached.passes.append([])

    @hookimpl
    def gradient_ready(self, variable: ag.Variable) -> None:
        """Note a leaf."""
        if self._reached.passes:
            self._reached.passes[-1].append(variable)

    @hookimpl
    def backward_finish(self, error: BaseException | None) -> None:
        """Keep the leaves of a pass that succeeded: a failed one has changed no ``grad``."""
        leaves = self._reached.passes.pop() if self._reached.passes else []
        if error is None:
            self._reached.leaves.update({id(leaf): leaf for leaf in leaves})

    def by_norm(self, limit: float, parameters: Iterable[ag.Variable] | None = None) -> Any:
        """Scale all ``grad`` together so that their norm is at most ``limit``.

        Parameters
        ----------
        limit : float
            The largest norm, positive.
        parameters : iterable of Variable, optional
            Whose ``grad`` to clip; by default all leaves that were reached.

        Returns
        -------
        array
            The norm of before, raw. If it is not finite, nothing has changed.
        """
        leaves, gradients = self._gradients(parameters)
        clipped, length = by_norm(gradients, limit)
        _assign(leaves, clipped)
        return length

    def by_value(self, limit: float, parameters: Iterable[ag.Variable] | None = None) -> None:
        """Bring each element of each ``grad`` to between ``-limit`` and ``limit``.

        The parameters are those of ``by_norm``. Complex gradients are an error.
        """
        leaves, gradients = self._gradients(parameters)
        _assign(leaves, by_value(gradients, limit))

    def _gradients(
        self, parameters: Iterable[ag.Variable] | None
    ) -> tuple[list[ag.Variable], list[Any]]:
        chosen = self._reached.leaves.values() if parameters is None else parameters
        leaves = [leaf for leaf in chosen if leaf.grad is not None]
        if not leaves:
            raise ValueError(
                "there is no gradient to clip: run a backward pass inside `with ag.hooks(...)`, "
                "or pass the parameters that have a grad"
            )
        return leaves, [leaf.grad.data for leaf in leaves if leaf.grad is not None]


def _assign(leaves: list[ag.Variable], gradients: list[Any]) -> None:
    for leaf, gradient in zip(leaves, gradients, strict=True):
        leaf.grad = gradient


def norm(gradients: Any) -> Any:
    """Return the norm of all elements of a pytree of arrays together, in float32 or wider."""
    squares = [_squares(g) for g in optree.tree_leaves(gradients)]
    if not squares:
        raise ValueError("there is no gradient to take the norm of: pass one array at least")
    return array_namespace(squares[0]).sqrt(sum(squares[1:], squares[0]))


def _squares(g: Any) -> Any:
    xp = array_namespace(g)
    size = xp.abs(g)
    if xp.finfo(size.dtype).bits < 32:  # whose squares overflow soon
        size = xp.astype(size, xp.float32)
    return xp.sum(size * size)


def by_norm(gradients: Any, limit: float) -> tuple[Any, Any]:
    """Return a pytree of gradients scaled to a norm of at most ``limit``, and the norm of before.

    If that norm is not finite the gradients stay as they are. No value is waited for.
    """
    if not limit > 0:
        raise ValueError(f"limit must be positive, not {limit}")
    length = norm(gradients)
    xp = array_namespace(length)
    if limit == inf:  # the norm is what is asked for
        return gradients, length
    factor = limit / xp.maximum(length, xp.full_like(length, limit))
    factor = xp.where(xp.isfinite(length), factor, xp.ones_like(factor))

    def scaled(g: Any) -> Any:
        real = g if xp.isdtype(g.dtype, "real floating") else xp.real(g)
        return g * xp.astype(factor, real.dtype)

    return optree.tree_map(scaled, gradients), length


def by_value(gradients: Any, limit: float) -> Any:
    """Return a pytree of gradients with each element between ``-limit`` and ``limit``."""
    if not limit > 0:
        raise ValueError(f"limit must be positive, not {limit}")

    def clipped(g: Any) -> Any:
        xp = array_namespace(g)
        if not xp.isdtype(g.dtype, "real floating"):
            raise TypeError(
                f"a gradient of dtype {g.dtype} has no order to clip it by; clip by the norm"
            )
        return xp.clip(g, -limit, limit)

    return optree.tree_map(clipped, gradients)
