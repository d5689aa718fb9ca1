"""CuPy's own kernels."""

from __future__ import annotations

from typing import Any

from cupyx.scipy import special

__all__ = ["ndtr"]


def ndtr(x: Any) -> Any:
    """Return CuPy's ``special.ndtr``."""
    return special.ndtr(x)
