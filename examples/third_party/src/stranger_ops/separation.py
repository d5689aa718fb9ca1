"""Angular separations by pyerfa on Variables: ``erfa.seps`` is differentiable, on every backend.

pyerfa's functions are NumPy ufuncs, written in C. NumPy asks a Variable what such a ufunc is, and
the Variable asks this protocol, which answers with an array-API program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd.extend import Protocol, operands

__all__ = ["Separation", "protocol"]


class Separation(Protocol):
    """Answers for the ufunc ``erfa.ufunc.seps``, which ``erfa.seps`` calls."""

    def ufunc(self, xp: Any, ufunc: Any) -> Callable[..., Any] | None:
        """Return the program on the Variables of a namespace; no other ufunc has an answer."""
        if ufunc.__name__ != "seps":
            return None
        import erfa.ufunc  # only where one of its ufuncs may be asked for

        if ufunc is not erfa.ufunc.seps:
            return None
        return lambda *angles: _separation(xp, *operands(xp, angles))


def _separation(xp: Any, al: Any, ap: Any, bl: Any, bp: Any) -> Any:
    """Return the angle between two directions, given by longitude and latitude in radians.

    The arc tangent is accurate for small and large angles (Vincenty's formula on a sphere), where
    the arc cosine would lose digits. At equal and at opposite directions there is no derivative.
    """
    east = xp.cos(bp) * xp.sin(bl - al)
    across = xp.cos(bp) * xp.cos(bl - al)
    north = xp.cos(ap) * xp.sin(bp) - xp.sin(ap) * across
    along = xp.sin(ap) * xp.sin(bp) + xp.cos(ap) * across
    return xp.atan2(xp.hypot(east, north), along)


protocol = Separation()
