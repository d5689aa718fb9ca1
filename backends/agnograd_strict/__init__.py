"""The array-api-strict backend of agnograd: it has the standard and nothing else.

What runs here uses the standard alone. array-api-strict computes with NumPy, and rejects all that
NumPy allows beyond the standard.
"""

from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from agnograd.extend import Backend, hookimpl

__all__ = ["StrictBackend", "backend"]


class StrictBackend(Backend):
    """array-api-strict's arrays; no method that computes is overridden."""

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

    def quiet(self) -> AbstractContextManager[Any]:
        """Return NumPy's context for it: it is NumPy that computes, and warns."""
        import numpy as np

        return np.errstate(divide="ignore", invalid="ignore", over="ignore")

    def to_host(self, array: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return a NumPy array; what is on a device that is not the host's is copied."""
        import numpy as np

        host = self.namespace().Device("CPU_DEVICE")
        if array.device != host:
            if copy is False:
                raise ValueError(f"an array on {array.device} needs a copy to the host: copy=False")
            array = array.to_device(host)
        return np.asarray(array, dtype=dtype, copy=copy)


@hookimpl
def backend() -> Backend:
    """Return the backend."""
    return StrictBackend()
