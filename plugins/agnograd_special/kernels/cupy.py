"""CuPy's functions, ``cupyx.scipy.special``."""

from typing import Any

import cupyx.scipy.special as library

__all__ = ["library"]


def __getattr__(name: str) -> Any:
    return getattr(library, name)
