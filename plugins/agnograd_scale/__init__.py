"""Dynamic loss scaling: small gradients survive in narrow dtypes, steps that overflow do not."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from math import inf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from array_api_compat import array_namespace

from agnograd.extend import Lock, Uncopied, hookimpl

if TYPE_CHECKING:
    import agnograd as ag

__all__ = ["Scale"]


class _Passes(threading.local):
    """What one thread has done since its last step."""

    def __init__(self) -> None:
        self.listening = False
        self.factor: float | None = None  # by which its gradients are scaled
        self.count = 0
        self.finite: list[Any] = []  # whether each gradient was: arrays, which nobody waits for


class Scale(Uncopied):
    """Multiply the loss by a factor, divide the gradients by it, and find the factor.

    A step whose gradients have an infinity or a NaN is left out, and the factor shrinks; after
    ``interval`` steps without one it grows.

    Parameters
    ----------
    factor : float
        The first factor. The default is the largest power of two that float16 has.
    growth, backoff : float
        What the factor is multiplied with when it grows, and when it shrinks.
    interval : int
        After how many steps without overflow it grows.

    Attributes
    ----------
    factor : float
        The factor of the next pass.
    taken, skipped : int
        How many steps were taken, and how many left out.

    Examples
    --------
    >>> import agnograd as ag
    >>> w = ag.Variable([3.0])
    >>> with ag.hooks("scale") as (scaler,):
    ...     scaler.backward(w * w)
    ...     scaler.step(lambda gradients: print(gradients[0]), [w])
    [6.]
    True
    """

    def __init__(
        self,
        *,
        factor: float = 2.0**15,
        growth: float = 2.0,
        backoff: float = 0.5,
        interval: int = 2000,
    ) -> None:
        _check_numbers(interval, factor=factor, growth=growth, backoff=backoff)
        if not (0 < factor < inf and 1 <= growth < inf and 0 < backoff < 1 and interval >= 1):
            raise ValueError(
                "scale: factor must be positive, growth at least 1, both finite, backoff between 0 "
                f"and 1, and interval at least 1, not {factor}, {growth}, {backoff}, {interval}"
            )
        self.factor = factor
        self.growth = growth
        self.backoff = backoff
        self.interval = interval
        self.taken = self.skipped = 0
        self._good = 0
        self._passes = _Passes()
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"Scale({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"

    @hookimpl
    def gradient_ready(self, grad: Any) -> None:
        """Note whether a leaf's gradient overflowed."""
        if self._passes.listening:
            self._passes.finite.append(_is_finite(grad))

    def backward(self, loss: ag.Variable, **options: Any) -> None:
        """Run a backward pass of the scaled loss; several of them add up until the next step.

        Parameters
        ----------
        loss : Variable
            The loss, unscaled.
        **options
            Those of ``Variable.backward``, without ``loss_scale``.
        """
        passes = self._passes
        heard = len(passes.finite)
        factor = self.factor if passes.factor is None else passes.factor
        passes.listening = True
        try:
            loss.backward(loss_scale=factor, **options)
        except BaseException:
            del passes.finite[heard:]
            raise
        finally:
            passes.listening = False
        if len(passes.finite) == heard:
            raise RuntimeError(
                "the scaler has not seen any gradient: activate it with `with ag.hooks(scaler):`, "
                "and make the loss depend on leaves"
            )
        passes.factor = factor
        passes.count += 1

    def step(
        self, update: Callable[[list[Any]], object], parameters: Iterable[ag.Variable]
    ) -> bool:
        """Call ``update(gradients)`` with the gradients divided by the factor, if none overflowed.

        ``grad`` of the parameters is None afterwards.

        Parameters
        ----------
        update : callable
            Gets one raw gradient for each parameter, in float32 if the parameter's dtype is
            narrower (there it might vanish), and None for one without a gradient.
        parameters : iterable of Variable
            The leaves to update.

        Returns
        -------
        bool
            Whether the step was taken.
        """
        passes, parameters = self._passes, list(parameters)
        if passes.factor is None:
            raise RuntimeError("there is nothing to step by: call scaler.backward(loss) before")
        gradients = [_divided(each.grad, passes.factor) for each in parameters]
        finite = passes.finite
        if passes.count > 1:  # their sums may have overflowed
            finite = finite + [_is_finite(g) for g in gradients if g is not None]
        taken = all(bool(each) for each in finite)
        passes.factor, passes.count, passes.finite = None, 0, []
        self._adapt(taken)
        try:
            if taken:
                update(gradients)
        finally:
            for each in parameters:
                each.grad = None
        return taken

    def _adapt(self, taken: bool) -> None:
        with self._lock:
            if not taken:
                self.skipped += 1
                self._good = 0
                self.factor *= self.backoff
                return
            self.taken += 1
            self._good += 1
            if self._good == self.interval:
                self._good = 0
                self.factor *= self.growth

    def to_dict(self) -> dict[str, Any]:
        """Return what ``Scale(**options)`` needs to go on with the same factor."""
        names = ("factor", "growth", "backoff", "interval")
        return {name: getattr(self, name) for name in names}


def _check_numbers(interval: object, **others: object) -> None:
    for name, value in others.items():
        if not isinstance(value, Real) or isinstance(value, bool):
            raise TypeError(f"scale: {name} must be a number, not {value!r}")
    if not isinstance(interval, Integral) or isinstance(interval, bool):
        raise TypeError(f"scale: interval must be an int, not {interval!r}")


def _divided(grad: ag.Variable | None, factor: float) -> Any:
    if grad is None:
        return None
    g = grad.data
    xp = array_namespace(g)
    if xp.finfo(g.dtype).bits < 32:
        g = xp.astype(g, xp.float32)
    return g / factor


def _is_finite(g: Any) -> Any:
    xp = array_namespace(g)
    return xp.all(xp.isfinite(g))
