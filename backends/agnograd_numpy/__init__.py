"""The NumPy backend of agnograd, the default one."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import cached_property
from types import ModuleType
from typing import Any

from agnograd.errors import UnsupportedArrayError
from agnograd.extend import Backend, hookimpl, is_basic, switch

__all__ = ["NumpyBackend", "backend"]

# Up to how many elements counting takes less time than a reduction's start.
COUNTED_ELEMENTS = switch("COUNTED_ELEMENTS", 2**10, least=0, most=2**62, module=__name__)
# From how many elements on arrays leave the cache between one op and the next. Scalars, which have
# one element, are not arrays.
LARGE_ARRAY = switch("LARGE_ARRAY", 2**15, least=2, most=2**62, module=__name__)
# Longer arrays are told apart by some of their elements: to copy them takes long.
FINGERPRINT_BYTES = switch("FINGERPRINT_BYTES", 2**20, least=2**14, most=2**62, module=__name__)


class NumpyBackend(Backend):
    """NumPy's arrays, through the namespace of array-api-compat.

    NumPy gives 0-d results as scalars; inside agnograd they stay scalars, whose arithmetic
    is ten times as fast as that of 0-d arrays.
    """

    name = "numpy"
    modules = ("numpy",)
    large = LARGE_ARRAY

    @cached_property
    def _np(self) -> Any:
        """NumPy, which is imported when it is needed: an import statement costs each call."""
        import numpy as np

        return np

    def namespace(self) -> ModuleType:
        """Return ``array_api_compat.numpy``, of which only what is used is imported."""
        from agnograd_numpy import _library

        return _library

    def array_types(self) -> tuple[type, ...]:
        """Return ``numpy.ndarray``."""
        import numpy as np

        return (np.ndarray,)

    def dtype(self, name: str) -> Any:
        """Return the dtype of this name, or None."""
        named = getattr(self._np, name, None)
        return None if named is None else self._np.dtype(named)

    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Return NumPy's own functions and methods that need no layer around them."""
        from agnograd_numpy._kernels import KERNELS

        return KERNELS

    def pullbacks(self) -> Mapping[str, Mapping[str, Callable[..., Any]]]:
        """Return derivatives that take fewer calls, or make fewer arrays, than the rules."""
        from agnograd_numpy._pullbacks import PULLBACKS

        return PULLBACKS

    def scalar_types(self) -> tuple[type, ...]:
        """Return the types of NumPy's numeric and boolean scalars."""
        import numpy as np

        return tuple({np.dtype(code).type for code in np.typecodes["All"] if code not in "SUVOMm"})

    def array(self, value: Any) -> Any:
        """Return NumPy's scalars as 0-d arrays, and arrays that compute by NumPy's own rules.

        Raises
        ------
        UnsupportedArrayError
            If it is a matrix, or has masked elements: rules would compute something else.
        """
        np = self._np
        if not isinstance(value, np.ndarray):
            return np.asarray(value)
        if type(value) is np.ndarray or value.__array_priority__ <= 0.0:
            return value
        if isinstance(value, np.matrix):
            raise UnsupportedArrayError(
                "a numpy.matrix multiplies as matrices do where derivatives multiply element by "
                "element: pass np.asarray(m), and write a @ b for products of matrices"
            )
        if np.ma.is_masked(value):
            raise UnsupportedArrayError(
                "an array with masked elements is not differentiated, which would need the mask: "
                "pass m.filled(value), and leave elements out by np.where(m.mask, 0.0, x), say"
            )
        return np.asarray(value) if isinstance(value, np.ma.MaskedArray) else value

    def device(self, array: Any) -> str:
        """Return the only one."""
        return "cpu"

    def scalar(self, array: Any) -> Any:
        """Return a 0-d array as NumPy's scalar."""
        return array[()]

    def accepts(self, value: object) -> bool:
        """Return whether the operand is a nested list or tuple, as NumPy's operators allow."""
        return isinstance(value, list | tuple)

    def own(self, array: Any) -> Any:
        """Return the array, or a copy if it is a view, a scalar, or read-only."""
        np = self._np
        if type(array) is np.ndarray and array.base is None and array.flags.writeable:
            return array
        return np.array(array)

    def operator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the operator, but what is fastest for small matrices for ``operator.matmul``.

        Powers of scalars are those of the ufunc: NumPy's operator rounds them differently.
        """
        from agnograd_numpy._kernels import matmul

        known: dict[Any, Callable[..., Any]] = {
            operator.matmul: matmul,
            operator.pow: self._np.power,
        }
        return known.get(function, function)

    def alone(self, x: Any) -> bool:
        """Return whether the array owns its memory: views refer to the array that does."""
        np = self._np
        whole: bool = type(x) is np.ndarray and x.base is None and x.flags.owndata
        return whole and bool(x.flags.writeable)

    def may_share(self, x: Any, y: Any) -> bool:
        """Compare the bounds of their memory; nothing is ever written to a scalar."""
        array = self._np.ndarray
        if not isinstance(x, array) or not isinstance(y, array):
            return False
        return bool(self._np.may_share_memory(x, y))

    def fingerprint(self, x: Any) -> Any:
        """Return the bytes of an array, or of some all over one of more than a mebibyte."""
        if type(x) is not self._np.ndarray and isinstance(x, self._np.ma.MaskedArray):
            # Its own bytes have a value in place of masked elements, which np.ma.masked lacks.
            return self.fingerprint(x.data), self.fingerprint(self._np.ma.getmaskarray(x))
        if x.nbytes <= FINGERPRINT_BYTES:
            return x.tobytes()
        excess, key = x.nbytes // FINGERPRINT_BYTES, []
        for length in x.shape:
            step = min(excess + 1, length)
            key.append(slice(None, None, step))
            excess //= step
        return x[tuple(key)].tobytes()

    def counter(self) -> Callable[[Any], int]:
        """Return what reads the attribute ``size``."""
        return operator.attrgetter("size")

    def flat(self, x: Any) -> Any:
        """Return a view of an array that is contiguous, or of which all elements are one."""
        value = self.uniform(x)
        if value is not None:
            return self._np.broadcast_to(value, (x.size,))
        return x.reshape(-1) if x.flags.c_contiguous else None

    def uniform(self, x: Any) -> Any:
        """Return the one element of an array without strides."""
        return None if any(x.strides) else x[(0,) * x.ndim]

    def has_zeros(self, x: Any) -> bool:
        """Count those of small arrays, and look at large ones as far as the first."""
        if x.size > COUNTED_ELEMENTS:
            return not x.all()
        return bool(self._np.count_nonzero(x) != x.size)

    def has_nan(self, x: Any) -> bool:
        """Look at the sum of squares, which is NaN only if one of them is: a pass of BLAS."""
        total = x.dot(x) if x.ndim == 1 else self._np.vdot(x, x)
        return bool(total != total)

    def scatter_add(self, into: Any, key: Any, values: Any) -> Any:
        """Add in place; positions that may repeat go through ``numpy.add.at``."""
        np = self._np
        if not into.shape:
            into = self.array(into)  # a sum of 0-d arrays is a scalar
        if is_basic(key) or str(getattr(key, "dtype", "")) == "bool":
            into[key] += values
        elif type(key) is np.ndarray and into.ndim > 1:  # rows at an array of integers
            rows = np.broadcast_to(values, key.shape + into.shape[1:])
            rows = rows.reshape(key.size, *into.shape[1:])
            return self.scatter_add_axis(into, key.reshape(-1), rows, 0)
        else:
            np.add.at(into, key, values)
        return into

    def scatter_add_axis(self, into: Any, indices: Any, values: Any, axis: int) -> Any:
        """Add in place with ``numpy.add.at``, which is fastest at positions of one axis."""
        np = self._np
        if into.ndim == 1 or not into.flags.c_contiguous:
            np.add.at(np.moveaxis(into, axis, 0), indices, np.moveaxis(values, axis, 0))
            return into
        length, rest = into.shape[axis], math.prod(into.shape[axis % into.ndim + 1 :])
        # Positions of one axis say nothing of the others: an index must be its own.
        places = (np.arange(length) * rest)[indices]
        places = places[:, None] + np.arange(0, into.size, length * rest or 1)[:, None, None]
        places = places + np.arange(rest)
        np.add.at(into.reshape(-1), places.reshape(-1), values.reshape(-1))
        return into

    def set(self, x: Any, key: Any, value: Any) -> Any:
        """Return a copy of ``x`` with ``value`` at ``key``."""
        out = self._np.array(x)
        out[key] = value
        return out

    def quiet(self) -> Any:
        """Return NumPy's own context for it."""
        return self._np.errstate(divide="ignore", invalid="ignore", over="ignore")

    def to_host(self, array: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the array itself, converted as NumPy's protocol asks."""
        if type(array) is self._np.ndarray and dtype is None and not copy:
            return array
        return self._np.asarray(array, dtype=dtype, copy=copy)

    def sparse(
        self, values: Any, rows: Any, columns: Any, starts: Any, shape: tuple[int, int]
    ) -> Any:
        """Return a CSR array of SciPy, or NotImplemented if SciPy is not installed."""
        try:
            from scipy.sparse import csr_array
        except ImportError:
            return NotImplemented
        return csr_array((values, columns.copy(), starts.copy()), shape=shape)

    def item(self, array: Any) -> Any:
        """Return NumPy's own conversion to a Python scalar."""
        return array.item()


@hookimpl
def backend() -> Backend:
    """Return the backend."""
    return NumpyBackend()
