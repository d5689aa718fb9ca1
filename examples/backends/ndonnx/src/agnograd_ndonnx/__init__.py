"""A backend of agnograd: the arrays of ndonnx, whose programs are ONNX graphs."""

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

from agnograd.extend import Backend, Capabilities, hookimpl, with_keywords

__all__ = ["NdonnxBackend", "backend"]


class NdonnxBackend(Backend):
    """The arrays of ndonnx.

    An array without a value, ``ndonnx.argument(...)``, stands for an input of the ONNX program;
    what is computed from it is a graph. Constants have values.
    """

    name = "ndonnx"
    modules = ("ndonnx",)
    capabilities = Capabilities(lazy=True, complex=False, unknown_shapes=True)
    # What ndonnx has not written yet, and the product that it computes by logarithms.
    ops = (
        *("!fft.*", "!linalg.*", "!atan2", "!nextafter"),
        "!cumprod",
        "!cumulative_prod",
    )

    def namespace(self) -> ModuleType:
        """Return ndonnx, in which little is not as the standard has it."""
        import ndonnx as ndx

        given = {
            "expand_dims": _expand_dims,
            "hypot": _hypot,  # which rules use
            "copysign": _copysign,
            "conj": ndx.positive,  # there are no complex arrays
            "real": ndx.positive,
        }
        return with_keywords(ndx, lacks={}, given=given)

    def array_types(self) -> tuple[type, ...]:
        """Return ndonnx's array."""
        import ndonnx as ndx

        return (ndx.Array,)

    def operator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return an operator; reading takes an array of integers that stands by itself, too."""
        return _read if function is operator.getitem else function

    def to_host(self, array: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the value of a constant."""
        return super().to_host(array.unwrap_numpy(), dtype=dtype, copy=copy)


def _expand_dims(x: Any, /, axis: int) -> Any:
    import ndonnx as ndx

    return ndx.expand_dims(x, axis=axis)


def _hypot(x1: Any, x2: Any, /) -> Any:
    """Return the root of the sum of squares, of which none is too large."""
    import ndonnx as ndx

    x1, x2 = map(ndx.abs, _both(x1, x2))
    large, small = ndx.maximum(x1, x2), ndx.minimum(x1, x2)
    ratio = small / ndx.where(large == 0, 1.0, large)
    return ndx.where(ndx.isinf(large), large, large * ndx.sqrt(1 + ratio * ratio))


def _both(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return two operands as arrays: a Python number takes the other one's dtype."""
    import ndonnx as ndx

    dtype = ndx.result_type(x1, x2)
    return ndx.asarray(x1, dtype=dtype), ndx.asarray(x2, dtype=dtype)


def _copysign(x1: Any, x2: Any, /) -> Any:
    import ndonnx as ndx

    x1, x2 = _both(x1, x2)
    size = ndx.abs(x1)
    negative = (x2 < 0) | ((x2 == 0) & (1 / x2 < 0))
    return ndx.where(negative, -size, size)


def _read(x: Any, key: Any) -> Any:
    integers = hasattr(key, "dtype") and "int" in str(key.dtype).lower()
    return x[(key,) if integers else key]


@hookimpl
def backend() -> Backend:
    """Return the backend."""
    return NdonnxBackend()
