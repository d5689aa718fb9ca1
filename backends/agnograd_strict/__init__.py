"""The array-api-strict backend of agnograd: it has the standard and nothing else.

What runs here uses only the standard. array-api-strict computes with NumPy, and rejects all that
NumPy allows beyond the standard.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import FrameType, ModuleType
from typing import Any

from agnograd.errors import MixedBackendsWarning
from agnograd.extend import Backend, adjoint, hookimpl, is_plain_numpy

__all__ = ["StrictBackend", "backend"]


class StrictBackend(Backend):
    """array-api-strict's arrays; what computes is overridden where it is not strict enough."""

    name = "strict"
    modules = ("array_api_strict",)
    extra = "strict"
    known_as = "array_api_strict"  # SciPy then leaves out integer arrays beside an ellipsis
    taken_over = ("Device",)  # scikit-learn makes one to bring labels to the host

    def namespace(self) -> ModuleType:
        """Return ``array_api_strict``."""
        import array_api_strict

        return array_api_strict

    def array_types(self) -> tuple[type, ...]:
        """Return the type of strict arrays."""
        return (type(self.namespace().empty(0)),)

    def may_share(self, x: Any, y: Any) -> bool:
        """Compare the bounds of the memory of the arrays inside, which hold no other."""
        import numpy as np

        return np.may_share_memory(x._array, y._array)

    def fingerprint(self, x: Any) -> Any:
        """Return the bytes of the array."""
        return self.to_host(x).tobytes()

    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Return what is checked only on the first array, and what reads the other triangle."""
        xp = self.namespace()

        def cholesky(x: Any, /, *, upper: bool = False) -> Any:
            if not upper:
                return xp.linalg.cholesky(x)
            return adjoint(xp.linalg.cholesky(adjoint(x, xp)), xp)

        def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
            if x2.shape[axis] != 3:
                raise ValueError(f"cross: of vectors of length 3, not {x2.shape[axis]}")
            return xp.linalg.cross(x1, x2, axis=axis)

        return {"linalg.cholesky": cholesky, "linalg.cross": cross}

    def quiet(self) -> AbstractContextManager[Any]:
        """Return NumPy's context for it: it is NumPy that computes, and warns."""
        import numpy as np

        return np.errstate(divide="ignore", invalid="ignore", over="ignore")

    def accepts(self, value: object) -> bool:
        """Return whether the operand is NumPy's: it becomes a constant, with a warning."""
        return is_plain_numpy(value)

    def constant(self, value: Any, beside: Any = None) -> Any:
        """Return the array, with floating-point elements beside such an operand, as in NumPy."""
        import numpy as np

        warnings.warn(
            "AGNOGRAD: an array of NumPy's met one of backend 'strict', and is taken for a "
            "constant; raw arrays would refuse it, and so does CuPy: make it by a function of the "
            "namespace, or by ag.asarray(x, backend='strict')",
            MixedBackendsWarning,
            stacklevel=_depth(sys._getframe()),
        )
        dtype = getattr(beside, "dtype", None)
        if dtype is not None and value.dtype.kind in "biu":
            met = dtype if isinstance(dtype, np.dtype) else self._numpys(dtype)
            if met.kind in "fc":  # the standard does not promote integers to floating-point ones
                value = value.astype(np.result_type(value, met))
        return self.namespace().asarray(value)

    def _numpys(self, dtype: Any) -> Any:
        return self.to_host(self.namespace().empty(0, dtype=dtype)).dtype

    def to_host(self, array: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return a NumPy array; what is on a device that is not the host's is copied."""
        import numpy as np

        host = self.namespace().Device("CPU_DEVICE")
        if array.device != host:
            if copy is False:
                raise ValueError(f"an array on {array.device} needs a copy to the host: copy=False")
            array = array.to_device(host)
        return np.asarray(array, dtype=dtype, copy=copy)


def _depth(frame: FrameType | None) -> int:
    """Return how many calls away the code is that called agnograd."""
    depth = 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("agnograd"):
        frame, depth = frame.f_back, depth + 1
    return depth


@hookimpl
def backend() -> Backend:
    """Return the backend."""
    return StrictBackend()
