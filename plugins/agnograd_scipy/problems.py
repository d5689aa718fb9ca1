"""Initial value problems, and how their time is that of SciPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import agnograd as ag
from agnograd_scipy._arrays import detached
from agnograd_scipy._host import from_host, on_host, to_host
from agnograd_scipy.jacobians import Linear

__all__ = ["Problem", "number"]


class Problem(NamedTuple):
    """An equation from a start to an end in time."""

    xp: Any
    fun: Callable[..., Any]  # fun(t, y, *args) is the derivative of y by time
    t_span: tuple[Any, Any]  # floats, or Variables without axes
    y0: Any  # a Variable
    args: tuple[Any, ...]

    @property
    def ends(self) -> tuple[float, float]:
        """The start and the end as SciPy takes them."""
        return number(self.t_span[0]), number(self.t_span[1])

    def slope(self, t: Any, y: Any, args: Sequence[Any] | None = None) -> Any:
        """Return the derivative, which has to be an array of the shape of ``y``."""
        found = self.fun(t, y, *(self.args if args is None else args))
        if getattr(found, "shape", None) != self.y0.shape:
            what = getattr(found, "shape", type(found).__name__)
            raise ValueError(f"fun returned {what}, and y has shape {self.y0.shape}")
        return found

    @property
    def plain(self) -> Problem:
        """The same without gradients."""
        return self._replace(t_span=self.ends, y0=detached(self.y0), args=detached(self.args))

    def on_numpy(self, t: float, y: Any) -> Any:
        """Return the derivative on the host, in the precision in which SciPy computes."""
        found = on_host(lambda y: self.slope(float(t), y), self.y0)(y)
        return found.astype(f"{found.dtype.kind}{16 if found.dtype.kind == 'c' else 8}")

    def jacobian(self, linear: Linear) -> Callable[..., Any]:
        """Return that of the derivative by ``y`` on the host, as a function of time and ``y``."""
        if not self.xp.isdtype(self.y0.dtype, "real floating"):
            raise ValueError(
                f"methods for stiff equations take real arrays, and y0 has dtype {self.y0.dtype}"
            )
        matrix = linear.jacobian(lambda y, t: self.slope(t, y))

        def jacobian(t: float, y: Any) -> Any:
            with ag.no_grad():
                return matrix(from_host(y, self.y0), float(t))

        return jacobian

    @property
    def scale(self) -> Any:
        """How much longer time is than SciPy's: 1, or what has the gradients of the ends."""
        start, end = self.ends
        return (self.t_span[1] - self.t_span[0]) / (end - start or 1.0) if self._moves else 1.0

    def time(self, t: float) -> Any:
        """Return a time that SciPy chose, with the gradients of the ends."""
        return self.t_span[0] + (t - self.ends[0]) * self.scale if self._moves else t

    @property
    def _moves(self) -> bool:
        return any(hasattr(each, "dtype") for each in self.t_span)


def number(x: Any) -> float:
    """Return a number or a 0-d array as a float, which has no gradient."""
    return float(to_host(x)) if hasattr(x, "dtype") else float(x)
