"""SciPy's functions, on NumPy's arrays."""

from typing import Any

try:
    import scipy.special as library
except ImportError as error:
    raise ModuleNotFoundError(
        "special functions are computed by SciPy, which is not installed; install it with: "
        "pip install 'agnograd[special]'",
        name="scipy",
    ) from error

__all__ = ["library"]


def __getattr__(name: str) -> Any:
    return getattr(library, name)
