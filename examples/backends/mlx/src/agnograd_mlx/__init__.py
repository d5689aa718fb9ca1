"""A backend of agnograd: the arrays of MLX."""

from types import ModuleType
from typing import Any

from agnograd.extend import Backend, Capabilities, hookimpl

__all__ = ["MlxBackend", "backend"]


class MlxBackend(Backend):
    """MLX's arrays.

    MLX has the names of the standard, and most of its functions; ``_namespace`` adds keywords.
    Ops build a graph that is computed when a value is asked for. An array can be written to, but
    shares its memory with no other that is seen to change.
    """

    name = "mlx"
    modules = ("mlx",)
    # There are float64 arrays on the CPU, and none on Apple's GPUs: single precision is for all.
    capabilities = Capabilities(
        lazy=True,
        float64=False,
        boolean_indexing=False,
        data_dependent_shapes=False,
        devices=("cpu", "gpu"),
    )

    # MLX lacks the first three, and gives eigenvalues in a different order from LAPACK, which the
    # suite takes for other values.
    ops = ("!fft.hfft", "!fft.ihfft", "!nextafter", "!linalg.eig", "!linalg.eigvals")

    def namespace(self) -> ModuleType:
        """Return MLX's functions with the standard's keywords."""
        from agnograd_mlx._namespace import xp

        return xp

    def array_types(self) -> tuple[type, ...]:
        """Return MLX's array."""
        import mlx.core as mx

        return (mx.array,)

    def device(self, array: Any) -> Any:
        """Return the default device: arrays live in memory that all devices share."""
        return self.namespace().default_device()


@hookimpl
def backend() -> Backend:
    """Return the backend."""
    return MlxBackend()
