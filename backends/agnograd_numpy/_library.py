"""NumPy as the standard has it: NumPy's own functions, and array-api-compat's for the others.

array-api-compat's namespace is imported when one of its functions is called first: that loads all
that NumPy itself loads lazily, and takes as long as ``import numpy``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from agnograd.extend import Deferred

__all__ = ["CHANGED"]

__array_api_version__ = "2025.12"

# What array-api-compat changes. NumPy's own functions of other names do as the standard says.
CHANGED = frozenset(
    (
        *("argsort", "astype", "clip", "count_nonzero", "finfo", "iinfo", "matmul"),
        *("matrix_transpose", "permute_dims", "sign", "sort", "take_along_axis", "unique_all"),
        *("unique_counts", "unique_inverse", "unique_values"),
    )
)
_EXTENSIONS = ("fft", "linalg")


def __array_namespace_info__() -> Any:  # noqa: N807 - the standard's name
    """Return array-api-compat's description of NumPy's dtypes and devices."""
    return _compat("__array_namespace_info__")()


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in CHANGED:
        found: Any = Deferred(partial(_compat, name))
    else:
        found = _compat(name) if name in _EXTENSIONS else getattr(np, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *CHANGED, *_EXTENSIONS, *dir(np)]


def _compat(name: str) -> Any:
    import array_api_compat.numpy as xp

    return getattr(xp, name)


# glibc gives memory at the end of its heap back to the system, until a large array was freed: then
# it keeps up to twice as much for arrays to come. A pass frees all that it made, and without this
# the next one waits for each page to be cleared. Nobody writes to the array, so it takes no memory.
np.empty(2**24, np.uint8)
