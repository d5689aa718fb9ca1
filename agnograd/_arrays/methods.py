"""What arrays of NumPy's can beside the standard: methods and attributes, on any backend.

Each is what a protocol answers (``agnograd_numpy_functions``), with NumPy's arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agnograd._arrays.protocols import Protocols
from agnograd._util.deferred import later

if TYPE_CHECKING:
    from agnograd._arrays.variable import Variable

Axis = int | tuple[int, ...] | None


class Methods(Protocols):
    """The methods and attributes of NumPy's arrays that are beyond the standard's.

    Those that write (``fill``, ``sort``, ``partition``, ``put``) are recorded, as ``x[key] = v``.
    """

    __slots__ = ()

    def _call(self, name: str, /, *args: Any, **options: Any) -> Any:
        method_named = later("agnograd._plugins.protocols", "method_named")
        return method_named(name)(self._domain.namespace, (self, *args), options)

    if TYPE_CHECKING:

        @property
        def dtype(self) -> Any: ...

    def _replace(self, new: Variable) -> None:
        self._domain.replace(self, new)  # type: ignore[arg-type]  # this is one

    # -- reductions: axis=None is over all axes ---------------------------------------------------

    def sum(self, axis: Axis = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Return the sum; ``options`` are keepdims, initial and where."""
        return self._call("sum", axis, dtype, out, **options)

    def prod(self, axis: Axis = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Return the product; ``options`` are keepdims, initial and where."""
        return self._call("prod", axis, dtype, out, **options)

    def mean(self, axis: Axis = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        """Return the mean; ``options`` are keepdims and where."""
        return self._call("mean", axis, dtype, out, **options)

    def var(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: float = 0, **options: Any
    ) -> Any:
        """Return the variance; ``options`` are keepdims, where, mean and correction."""
        return self._call("var", axis, dtype, out, ddof, **options)

    def std(
        self, axis: Axis = None, dtype: Any = None, out: Any = None, ddof: float = 0, **options: Any
    ) -> Any:
        """Return the standard deviation; ``options`` are keepdims, where, mean and correction."""
        return self._call("std", axis, dtype, out, ddof, **options)

    def max(self, axis: Axis = None, out: Any = None, **options: Any) -> Any:
        """Return the largest element; ``options`` are keepdims, initial and where."""
        return self._call("max", axis, out, **options)

    def min(self, axis: Axis = None, out: Any = None, **options: Any) -> Any:
        """Return the smallest element; ``options`` are keepdims, initial and where."""
        return self._call("min", axis, out, **options)

    def all(self, axis: Axis = None, out: Any = None, **options: Any) -> Any:
        """Return whether all elements are true; ``options`` are keepdims and where."""
        return self._call("all", axis, out, **options)

    def any(self, axis: Axis = None, out: Any = None, **options: Any) -> Any:
        """Return whether any element is true; ``options`` are keepdims and where."""
        return self._call("any", axis, out, **options)

    def argmax(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Return where the largest element is."""
        return self._call("argmax", axis, out, keepdims=keepdims)

    def argmin(self, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
        """Return where the smallest element is."""
        return self._call("argmin", axis, out, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the running sums."""
        return self._call("cumsum", axis, dtype, out)

    def cumprod(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the running products."""
        return self._call("cumprod", axis, dtype, out)

    # -- shapes: the results are views, where the standard's are ----------------------------------

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """Return the array with another shape, given as numbers or as one tuple."""
        lengths = shape[0] if len(shape) == 1 else shape
        return self._call("reshape", lengths, order, copy=copy)

    def ravel(self, order: str = "C") -> Any:
        """Return the array with one axis."""
        return self._call("ravel", order)

    def flatten(self, order: str = "C") -> Any:
        """Return a copy with one axis."""
        return self._call("ravel", order).copy()

    def squeeze(self, axis: Axis = None) -> Any:
        """Return the array without axes of length 1."""
        return self._call("squeeze", axis)

    def transpose(self, *axes: Any) -> Any:
        """Return the array with its axes in another order, by default the reverse."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self._call("transpose", order or None)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Return the array with two axes exchanged."""
        return self._call("swapaxes", axis1, axis2)

    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        """Return the array with elements repeated."""
        return self._call("repeat", repeats, axis)

    # -- elements ---------------------------------------------------------------------------------

    def astype(self, dtype: Any, order: str = "K", casting: str = "unsafe", **options: Any) -> Any:
        """Return the array with another dtype; ``options`` are subok and copy."""
        return self._call("ndarray.astype", dtype, order, casting, **options)

    def copy(self, order: str = "C") -> Any:
        """Return a copy, connected."""
        return self._call("copy", order)

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """Return the elements, limited to an interval."""
        return self._call("clip", min, max, out)

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """Return the elements, rounded to even where two are as near."""
        return self._call("round", decimals, out)

    def conj(self) -> Any:
        """Return the complex conjugate; of real arrays the array."""
        return self._call("ndarray.conj")

    conjugate = conj

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

    def dot(self, b: Any, out: Any = None) -> Any:
        """Return the product of matrices, vectors or scalars."""
        return self._call("dot", b, out)

    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
    ) -> Any:
        """Return the sum along a diagonal."""
        return self._call("trace", offset, axis1, axis2, dtype, out)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """Return a diagonal."""
        return self._call("diagonal", offset, axis1, axis2)

    def take(
        self, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
    ) -> Any:
        """Return elements at indices."""
        return self._call("take", indices, axis, out, mode)

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """Return the slices for which a condition holds."""
        return self._call("ndarray.compress", condition, axis, out)

    def choose(self, choices: Sequence[Any], out: Any = None, mode: str = "raise") -> Any:
        """Return elements of several arrays, chosen by this one."""
        return self._call("choose", choices, out, mode)

    def nonzero(self) -> tuple[Variable, ...]:
        """Return the indices of what is not zero, one array for each axis."""
        places: tuple[Variable, ...] = self._call("nonzero")
        return places

    def argsort(
        self, axis: int | None = -1, kind: Any = None, order: Any = None, **options: Any
    ) -> Any:
        """Return the indices that would sort the array."""
        return self._call("argsort", axis, kind, order, **options)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Return where values would be put in this sorted array."""
        return self._call("searchsorted", v, side, sorter)

    # -- an operator that the standard lacks -----------------------------------------------------

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
        self._replace(self._call("sort", axis, kind, order, **options))

    def partition(
        self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
    ) -> None:
        """Sort the array in place, which partitions it at any element."""
        self._replace(self._call("partition", kth, axis, kind, order))

    # -- outside of the graph ---------------------------------------------------------------------

    def tolist(self) -> Any:
        """Return the values as Python scalars, in nested lists, without a gradient."""
        return self._domain.backend.to_host(self.data).tolist()

    @property
    def flat(self) -> Variable:
        """The elements along one axis, a view: to iterate over, to read and to write."""
        return self._domain.every_element(self)  # type: ignore[arg-type]  # this is one

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        info = self._domain.namespace
        if info.isdtype(self.dtype, "bool"):
            return 1
        limits = info.iinfo if info.isdtype(self.dtype, "integral") else info.finfo
        parts = 2 if self._domain.is_complex(self.dtype) else 1
        return int(limits(self.dtype).bits) * parts // 8

    @property
    def nbytes(self) -> int | None:
        """The bytes of all elements, or None where a lazy backend does not know their number."""
        return None if self.size is None else self.size * self.itemsize
