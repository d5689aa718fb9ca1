"""A backend of agnograd: array-api-strict, which adds at repeated rows by NumPy."""

from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from agnograd.extend import Backend, hookimpl

__all__ = ["RowsBackend", "backend"]


class RowsBackend(Backend):
    """array-api-strict's arrays, with the one method that NumPy makes faster.

    A raw array of the library belongs to agnograd's own backend for it; make arrays through
    ``agnograd.namespace("rows")``.
    """

    name = "rows"
    modules = ("array_api_strict",)

    def namespace(self) -> ModuleType:
        """Return ``array_api_strict``, importing it only now."""
        import array_api_strict

        return array_api_strict

    def array_types(self) -> tuple[type, ...]:
        """Return the type of strict arrays."""
        return (type(self.namespace().empty(0)),)

    def quiet(self) -> AbstractContextManager[Any]:
        """Return NumPy's context for it: it is NumPy that computes, and warns."""
        import numpy as np

        return np.errstate(divide="ignore", invalid="ignore", over="ignore")

    def scatter_add_axis(self, into: Any, indices: Any, values: Any, axis: int) -> Any:
        """Add with ``numpy.add.at``; the default multiplies with a selection."""
        import numpy as np

        total = np.array(into)
        moved = np.moveaxis(np.asarray(values), axis, 0)
        np.add.at(np.moveaxis(total, axis, 0), np.asarray(indices), moved)
        return self.namespace().asarray(total, device=into.device)


@hookimpl
def backend() -> Backend:
    """Return the backend."""
    return RowsBackend()
