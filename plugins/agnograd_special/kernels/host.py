"""SciPy's functions on arrays of any library that lie on the host."""

from typing import Any

import numpy as np

from agnograd.errors import UnsupportedArrayError
from agnograd.extend import Backend, device_of, is_python_scalar
from agnograd_special.kernels.numpy import compute

__all__ = ["call"]


def call(name: str, xp: Any, backend: Backend, /, *args: Any, **options: Any) -> Any:
    """Return SciPy's result as arrays of a backend's.

    Raises
    ------
    UnsupportedArrayError
        If the arrays lie on a device other than the host.
    """
    arrays = [arg for arg in args if arg is not None and not is_python_scalar(arg)]
    try:
        seen = iter([backend.to_host(array, copy=False) for array in arrays])
    except (TypeError, ValueError) as error:
        raise UnsupportedArrayError(
            f"backend {backend.name!r} has no function special.{name} of its own, and its arrays "
            f"cannot be shared with SciPy, which computes on the host: {error}"
        ) from error
    host = [arg if arg is None or is_python_scalar(arg) else next(seen) for arg in args]
    out = compute(name, *host, **options)
    device = device_of(arrays[0]) if arrays else None
    if isinstance(out, tuple):
        return tuple(xp.asarray(np.asarray(each), device=device) for each in out)
    return xp.asarray(np.asarray(out), device=device)
