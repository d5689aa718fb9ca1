"""What arrays of NumPy's can beside the standard: methods and attributes, on any backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Self

from agnograd._arrays.protocols import Protocols
from agnograd._util.deferred import later

Axis = int | tuple[int, ...] | None


class Answered(Protocols):
    """Declares the methods that a protocol answers; their bodies are put in below."""

    __slots__ = ()

    # -- reductions: axis=None is over all axes ---------------------------------------------------

    def sum(self, axis: Axis = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Return the sum; ``options`` are keepdims, initial and where."""

    def prod(self, axis: Axis = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Return the product; ``options`` are keepdims, initial and where."""

    def mean(self, axis: Axis = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Return the mean; ``options`` are keepdims and where."""

    def var(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: float = 0, **options: Any
    ) -> Any:
        """Return the variance; ``options`` are keepdims, where, mean and correction."""

    def std(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: float = 0, **options: Any
    ) -> Any:
        """Return the standard deviation; ``options`` are keepdims, where, mean and correction."""

    def max(self, axis: Axis = None, out: Any = None, **options: Any) -> Any:
        """Return the largest element; ``options`` are keepdims, initial and where."""

    def min(self, axis: Axis = None, out: Any = None, **options: Any) -> Any:
        """Return the smallest element; ``options`` are keepdims, initial and where."""

    def all(self, axis: Axis = None, out: Any = None, **options: Any) -> Any:
        """Return whether all elements are true; ``options`` are keepdims and where."""

    def any(self, axis: Axis = None, out: Any = None, **options: Any) -> Any:
        """Return whether any element is true; ``options`` are keepdims and where."""

    def argmax(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Return where the largest element is."""

    def argmin(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Return where the smallest element is."""

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the running sums."""

    def cumprod(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the running products."""

    # -- shapes: the results are views, where the standard's are ----------------------------------

    def ravel(self, order: str = "C") -> Any:
        """Return the array with one axis."""

    def squeeze(self, axis: Axis = None) -> Any:
        """Return the array without axes of length 1."""

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Return the array with two axes exchanged."""

    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        """Return the array with elements repeated."""

    # -- elements ---------------------------------------------------------------------------------

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", **options: Any) -> Any:
        """Return the array with another dtype; ``options`` are subok and copy."""

    def copy(self, order: str = "C") -> Any:
        """Return a copy, connected."""

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """Return the elements, rounded to even where two are as near."""

    def conj(self) -> Any:
        """Return the complex conjugate; of real arrays the array."""

    def dot(self, b: Any, out: Any = None) -> Any:
        """Return the product of matrices, vectors or scalars."""

    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
    ) -> Any:
        """Return the sum along a diagonal."""

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """Return a diagonal."""

    def take(
        self, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
    ) -> Any:
        """Return elements at indices."""

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """Return the slices for which a condition holds."""

    def choose(self, choices: Sequence[Any], out: Any = None, mode: str = "raise") -> Any:
        """Return elements of several arrays, chosen by this one."""

    def nonzero(self) -> Any:
        """Return the indices of what is not zero, one array for each axis, in a tuple."""

    def argsort(
        self, axis: int | None = -1, kind: Any = None, order: Any = None, **options: Any
    ) -> Any:
        """Return the indices that would sort the array."""

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Return where values would be put in this sorted array."""


def _answered(declared: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that calls a protocol's answer with the arguments as they are given."""
    # A protocol knows what differs from NumPy's function of this name by another one.
    own = "ndarray." if declared.__name__ in ("astype", "compress", "conj") else ""

    @wraps(declared)
    def method(self: Methods, *args: Any, **options: Any) -> Any:
        return self._call(own + declared.__name__, *args, **options)

    return method


for _declared in [each for name, each in vars(Answered).items() if not name.startswith("_")]:
    setattr(Answered, _declared.__name__, _answered(_declared))


class Methods(Answered):
    """The methods and attributes of NumPy's arrays that are beyond the standard's.

    Each is what a protocol answers (``agnograd_numpy_functions``), with NumPy's arguments. Those
    that write (``fill``, ``sort``, ``partition``, ``put``) are recorded, as ``x[key] = v``.
    """

    __slots__ = ()

    def _call(self, name: str, /, *args: Any, **options: Any) -> Any:
        method_named = later("agnograd._plugins.protocols", "method_named")
        return method_named(name)(self._domain.namespace, (self, *args), options)

    conjugate = Answered.conj

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """Return the array with another shape, given as numbers or as one tuple."""
        lengths = shape[0] if len(shape) == 1 else shape
        return self._call("reshape", lengths, order, copy=copy)

    def flatten(self, order: str = "C") -> Any:
        """Return a copy with one axis."""
        return self.ravel(order).copy()

    def transpose(self, *axes: Any) -> Any:
        """Return the array with its axes in another order, by default the reverse."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self._call("transpose", order or None)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """Return the elements, limited to an interval."""
        return self._call("clip", min, max, out)

    @property
    def real(self) -> Any:
        """The real part, a view."""
        return self._call("real")

    @real.setter
    def real(self, value: Any) -> None:
        self._call("real")[...] = value

    @property
    def imag(self) -> Any:
        """The imaginary part, of complex arrays a view."""
        return self._call("imag")

    @imag.setter
    def imag(self, value: Any) -> None:
        self._domain.namespace.imag(self)[...] = value

    def __divmod__(self, other: Any, /) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any, /) -> tuple[Any, Any]:
        return other // self, other % self

    # -- writes, recorded -------------------------------------------------------------------------

    def fill(self, value: Any) -> None:
        """Write one value to all elements."""
        self[...] = value

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Write values at indices of the flat array."""
        self._call("put", indices, values, mode)

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, **options: Any) -> None:
        """Sort the array in place."""
        self._domain.replace(self, self._call("sort", axis, kind, order, **options))

    def partition(
        self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
    ) -> None:
        """Sort the array in place, which partitions it at any element."""
        self._domain.replace(self, self._call("partition", kth, axis, kind, order))

    # -- outside of the graph ---------------------------------------------------------------------

    def tolist(self) -> Any:
        """Return the values as Python scalars, in nested lists, without a gradient."""
        return self._domain.backend.to_host(self.data).tolist()

    @property
    def flat(self) -> Self:
        """The elements along one axis, a view: to iterate over, to read and to write."""
        return self._domain.every_element(self)  # type: ignore[no-any-return]

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        info, dtype = self._domain.namespace, self._raw.dtype
        if info.isdtype(dtype, "bool"):
            return 1
        limits = info.iinfo if info.isdtype(dtype, "integral") else info.finfo
        parts = 2 if self._domain.is_complex(dtype) else 1
        return int(limits(dtype).bits) * parts // 8

    @property
    def nbytes(self) -> int | None:
        """The bytes of all elements, or None where a lazy backend does not know their number."""
        size = self._domain.size(self._raw)
        return None if size is None else size * self.itemsize
