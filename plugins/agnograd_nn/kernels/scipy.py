"""SciPy's special functions, on NumPy's arrays."""

from __future__ import annotations

from typing import Any

from agnograd_nn.activations import ndtr as by_series

__all__ = ["ndtr"]


def ndtr(xp: Any, x: Any) -> Any:
    """Return SciPy's ``special.ndtr``; without SciPy the series that is slower."""
    try:
        from scipy import special
    except ImportError:
        return by_series(xp, x)
    return special.ndtr(x)
