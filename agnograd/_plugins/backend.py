"""A backend: what an array library has to tell agnograd."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from agnograd._ops.rule_helpers import is_mask
from agnograd._plugins.capabilities import Capabilities
from agnograd._util.switches import switch
from agnograd.errors import UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._plugins.bridges import Bridge

_HERE = nullcontext()
_CPU = 1  # DLPack's kDLCPU
# Of how many elements a few arrays stay in the caches of a processor.
BLOCK_ELEMENTS = switch("BLOCK_ELEMENTS", 2**14, least=2**6, most=2**62, module=__name__)
_SCALARS: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "integral": int,
    "real floating": float,
    "complex floating": complex,
}


class Backend:
    """One array library, as agnograd sees it.

    A subclass provides ``name``, ``modules``, ``namespace()`` and ``array_types()``. It overrides
    what its library does faster than the defaults, which use only the standard. A backend's module
    must not import its library before one of these methods is called.

    Attributes
    ----------
    name : str
        The name of its entry point.
    modules : tuple of str
        The top-level modules of the library's array types, by which agnograd finds the backend of
        an array without importing any library.
    extra : str
        The optional dependency of agnograd, or the requirement, that installs the library.
    capabilities : Capabilities
        What the library can and cannot do.
    ops : tuple of str or None
        The ops that an unfinished backend has, as names and patterns such as ``linalg.*``: the
        conformance suite checks these; by default all.
    known_as : str or None
        The ``__name__`` of the namespace, by default ``agnograd.`` and the name. Set it if
        programs recognise a library by this name and avoid what it lacks, but not if they then call
        the library's own functions, which take no Variables.
    taken_over : tuple of str
        The names beyond the standard that the namespace takes unchanged from the library's own.
    large : int or None
        The number of elements from which on element-wise rules get ``block`` elements at a time,
        where arrays are ``flat``, and nodes do not keep an array that is the negative of another;
        None for never. The library's arrays must then be writable and weakly referable.
    """

    name: str
    modules: tuple[str, ...]
    extra: str = ""
    capabilities: Capabilities = Capabilities()
    ops: tuple[str, ...] | None = None
    known_as: str | None = None
    taken_over: tuple[str, ...] = ()
    large: int | None = None
    level: int = 0  # how many others it stands on: an ``extend.Interpretation`` does
    whole: ClassVar[bool] = False  # whether, while it is entered, it takes over all ops below
    traces: ClassVar[bool] = False  # whether it notes ops, for a program that has no derivative
    taking_over: Any = None  # the highest domain, up to its own, that is whole
    # Whether any backend of the process computes on a current device: see ``on_device``.
    switching: ClassVar[bool] = False
    # Gives NumPy's backend; ``agnograd._plugins.backends`` sets it.
    _host: ClassVar[Callable[..., Backend]]

    def __repr__(self) -> str:
        return f"<backend {getattr(self, 'name', None)!r}: {type(self).__name__}>"

    def namespace(self) -> ModuleType:
        """Return the library's array-API namespace (array-api-compat's, where it has one)."""
        raise NotImplementedError(f"{type(self).__name__} must override namespace()")

    def array_types(self) -> tuple[type, ...]:
        """Return the types of the library's arrays."""
        raise NotImplementedError(f"{type(self).__name__} must override array_types()")

    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Return, by op name, callables that are faster than the namespace's functions."""
        return {}

    def pullbacks(self) -> Mapping[str, Mapping[str, Callable[..., Any]]]:
        """Return functions that do what rules do in fewer calls, by op name and by input.

        Each takes the cotangent ``g`` and what the op's rule for that input names, and changes
        neither. It returns the product of ``g`` and the conjugate of the derivative for an
        element-wise op (``lambda g, out: ...`` for ``tanh``), else the gradient, with the input's
        shape and dtype. The rule is used if it returns NotImplemented, and under ``create_graph``.
        """
        return {}

    def dtype(self, name: str) -> Any:
        """Return the dtype of this name as arrays have it, or None if the library has none."""
        xp = self.namespace()
        named = getattr(xp, name, None)  # which may be an object of another kind
        return None if named is None else xp.empty((0,), dtype=named).dtype

    def scalar_types(self) -> tuple[type, ...]:
        """Return the types of 0-d results that the library does not return as arrays."""
        return ()

    def array(self, value: Any) -> Any:
        """Return ``value``, an array or one of the scalar types, as an array.

        It gets scalars that users see, what becomes a Variable, and operands of a class derived
        from an array type. It may refuse an array whose own rules differ.
        """
        return value

    def scalar(self, array: Any) -> Any:
        """Return a 0-d array in the form of the library's own results: some return scalars."""
        return array

    def lift(self, value: Any) -> Any:
        """Return what a backend that this one stands on computes with, as an array of this one.

        It may be a Variable, with a gradient, and it is NotImplemented for anything else.
        """
        return NotImplemented

    def accepts(self, value: object) -> bool:
        """Return whether the library's operators take this operand, which is not its own array.

        Another library's array goes through ``constant``; anything else is left to the operators.
        """
        return False

    def constant(self, value: Any, beside: Any = None) -> Any:
        """Return another library's array, which ``accepts`` allows, as one of this library.

        ``beside`` is the other operand, an array or a scalar, if there is just one.
        """
        return self.namespace().asarray(value)

    def device(self, array: Any) -> Any:
        """Return an array's device, as creation functions take it.

        By default it is its ``device``, or what array-api-compat knows.
        """
        import array_api_compat

        return array_api_compat.device(array)

    def one_device(self) -> bool:
        """Return whether all arrays of the process are on one device."""
        return len(self.capabilities.devices) < 2

    def settings(self) -> Callable[[], str] | None:
        """Return what reads the settings that results depend on, such as how wide numbers are.

        Compiled functions have a program for each text that it returns. Each call compares them:
        it must be fast. None if there are no such settings.
        """
        return None

    def own(self, array: Any) -> Any:
        """Return a gradient if nothing else shares memory with it, and otherwise a copy."""
        return self.namespace().asarray(array, copy=True)

    def laid_out(self, gradient: Any, x: Any) -> Any:
        """Return a gradient with the same layout as its input ``x``, such as the same chunks."""
        return gradient

    def again(self, x: Any, after: Any, *, kept: bool) -> Any:
        """Return what a checkpoint's second run takes for its argument ``x``.

        A lazy library computes once what has the same graph, and keeps it. It returns an array that
        is computed again, once ``after`` is known, a list of cotangents, of which some may be None
        or another library's; if ``x`` is ``kept``, only what is made from it is computed again.
        """
        return x

    def set(self, x: Any, key: Any, value: Any) -> Any:
        """Return a copy of ``x`` with ``value`` at ``key``.

        The default writes to a copy, or selects each element from ``x`` or ``value`` if arrays are
        immutable, or the key is a mask and the library has no boolean indexing.
        """
        if self._selects(key):
            from agnograd._plugins.selection import written

            return written(self, x, key, value)
        out: Any = self.namespace().asarray(x, copy=True)
        out[key] = value
        return out

    def put(self, x: Any, key: Any, value: Any) -> Any:
        """Write ``value`` into ``x`` at ``key``; return ``x``, or what ``set`` returns instead."""
        if self._selects(key):
            return self.set(x, key, value)
        x[key] = value
        return x

    def _selects(self, key: Any) -> bool:
        able = self.capabilities
        return able.immutable or (not able.boolean_indexing and is_mask(key, self.namespace()))

    def alone(self, x: Any) -> bool:
        """Return whether memory is shared with ``x`` only by objects that refer to ``x`` itself.

        The number of references to such an array says whether anything else may see a write.
        """
        return False

    def is_abstract(self, x: Any) -> bool:
        """Return whether an array has no values, since the library itself traces a function."""
        return False

    def may_share(self, x: Any, y: Any) -> bool:
        """Return whether writing to one array could change the other one.

        It may be True even if they share no memory. The default is False for immutable arrays.
        """
        return not self.capabilities.immutable

    def strides(self, x: Any) -> tuple[int, ...] | None:
        """Return the bytes from one element to the next along each axis; None if unknown."""
        strides = getattr(x, "strides", None)
        return strides if isinstance(strides, tuple) else None

    def fingerprint(self, x: Any) -> Any:
        """Return a value that compares unequal once ``x`` was written to, or None if impossible.

        By it agnograd notices if a user's function writes to its arguments. It must be fast.
        """
        return None

    def counter(self) -> Callable[[Any], int]:
        """Return a fast function that returns the number of an array's elements."""
        return lambda x: prod(x.shape)

    @property
    def block(self) -> int:
        """The number of elements up to which a few arrays stay in the caches of the processors."""
        return BLOCK_ELEMENTS

    def flat(self, x: Any) -> Any:
        """Return a one-dimensional view of a large array's elements in row-major order, or None."""
        return None

    def uniform(self, x: Any) -> Any:
        """Return the scalar that all elements of a large array equal, if its layout says so.

        It may be a 0-d array on the same device, which must not be waited for. A cotangent of such
        a layout goes on as one number through ops that saved only numbers.
        """
        return None

    def has_zeros(self, x: Any) -> bool | None:
        """Return whether any element of an array, or a scalar, is 0; None if that is not known.

        Override it only where it takes less time than a product of arrays, and where neither a
        device nor a lazy library has to be waited for.
        """
        return None

    def has_nan(self, x: Any) -> bool:
        """Return whether any element is NaN; it may be True even if none is.

        It is called only where ``has_zeros`` knows the answer.
        """
        return True

    def scatter_add(self, into: Any, key: Any, values: Any) -> Any:
        """Add ``values`` to ``into`` at ``key``, maybe in place; repeated positions add up.

        The default takes basic keys, a boolean mask, and integers and integer arrays as in the
        standard. If arrays are immutable, it selects what belongs to each element.
        """
        from agnograd._plugins.selection import scatter_add

        return scatter_add(self, into, key, values)

    def scatter_add_axis(self, into: Any, indices: Any, values: Any, axis: int) -> Any:
        """Add slices of ``values`` to those of ``into`` that one-dimensional ``indices`` name.

        As in ``scatter_add``, maybe in place, and repeated indices add up.
        """
        from agnograd._plugins.selection import scatter_add_axis

        return scatter_add_axis(self.namespace(), into, indices, values, axis)

    def operator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what computes ``operator.add``, ``operator.getitem`` and so on, on raw arrays."""
        return function

    def reflected(self) -> Mapping[str, Callable[..., Any]]:
        """Return programs of operators between a number and an array, by names such as ``truediv``.

        They are for those that the library's own operator computes with other roundings than the
        standard's function does: ``lambda x1, x2, xp: ...`` calls functions of ``xp`` that give
        the same bits.
        """
        return {}

    def quiet(self) -> AbstractContextManager[Any]:
        """Return a context in which the library does not warn of infinite and undefined results."""
        return nullcontext()

    def from_dlpack(self, x: Any, **options: Any) -> Any:
        """Return an array over what an array of any library exports through DLPack.

        ``options`` are the standard's ``device`` and ``copy``, if the caller passed them.
        """
        return self.namespace().from_dlpack(x, **options)

    def to_host(self, array: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return what NumPy's ``__array__`` protocol expects of the array.

        NumPy converts the arrays that it knows. All others, and those that refuse NumPy, go through
        DLPack, which every array of the standard has.
        """
        host = self._host()
        refusal: Exception | None = None
        if hasattr(array, "__array__"):  # without it NumPy would take the array for one object
            try:
                return host.to_host(array, dtype=dtype, copy=copy)
            except Exception as error:
                if not hasattr(array, "__dlpack__"):
                    raise
                refusal = error
        try:
            kind = getattr(array, "__dlpack_device__", lambda: (_CPU, 0))()[0]
            found = host.from_dlpack(array, **({} if kind == _CPU else {"device": "cpu"}))
            return host.to_host(found, dtype=dtype, copy=copy)
        except Exception as error:
            if refusal is None:
                raise
            refusal.add_note(f"nor does DLPack give the array: {type(error).__name__}: {error}")
            raise refusal from error

    def item(self, array: Any) -> Any:
        """Return a 0-d array as a Python scalar."""
        xp, dtype = self.namespace(), array.dtype
        for kind, convert in _SCALARS.items():
            if xp.isdtype(dtype, kind):
                return convert(array)
        raise UnsupportedArrayError(f"dtype {dtype} has no Python scalar")

    def sparse(
        self, values: Any, rows: Any, columns: Any, starts: Any, shape: tuple[int, int]
    ) -> Any:
        """Return a sparse matrix as users of the library take it; NotImplemented: as a triple.

        All are arrays of the library, indices of int32 where that is enough. Entries come row by
        row; those of row ``i`` are between ``starts[i]`` and ``starts[i + 1]``. Indices must be
        copied if the result may be changed.
        """
        return NotImplemented

    def bridge(self) -> Bridge | None:
        """Return how functions cross to the library, if it computes derivatives itself."""
        return None

    def on_device(self, array: Any) -> AbstractContextManager[Any]:
        """Return a context in which work goes to the array's device; leaving restores the device.

        It is for libraries that compute on a current device, not where their arrays are: every
        rule runs, and gradients are added, on the device of the cotangent.
        """
        return _HERE

    def synchronize(self, array: Any = None) -> None:
        """Wait until the device has computed the array, or everything; by default do not wait."""

    def mark(self) -> Any:
        """Return a mark in time: a float of ``time.perf_counter``, or one of a device's timers."""
        return time.perf_counter()

    def elapsed(self, start: Any, stop: Any) -> float:
        """Return the seconds between two marks; it may wait for the device."""
        return float(stop - start)

    def memory(self) -> dict[str, int]:
        """Return figures of device memory in bytes by name; empty if nothing is known."""
        return {}

    def counting_waits(self) -> AbstractContextManager[Callable[[], int]] | None:
        """Return a context that counts how often values are waited for, or computed if lazy.

        Entering it gives a function that returns the number so far. None if the library cannot.
        """
        return None

    def conformance(self) -> AbstractContextManager[Any]:
        """Return a context for the conformance suite, with settings such as 64-bit numbers."""
        return nullcontext()


class RawDomain(Protocol):
    """A domain, as the layers below Variables know it: what is known of raw arrays."""

    backend: Backend
    level: int
    library: Any
    raw: Any
    namespace: Any
    Variable: Any
    blank: Iterator[Any]
    scope: Any
    viewable_types: frozenset[type]
    plain_types: frozenset[Any]
    complex_dtypes: frozenset[Any]
    inexact_dtypes: frozenset[Any]
    number_type: type | None
    large: int | None
    lays_out: bool
    held: Any

    def is_complex(self, dtype: Any, /) -> bool: ...
    def is_large(self, data: Any) -> bool: ...
    def copy(self, data: Any) -> Any: ...
    def own(self, g: Any, given: dict[int, Any], x: Any = None) -> Any: ...
    def count(self, data: Any, /) -> int: ...
    def device(self, data: Any, /) -> Any: ...
    def dtype_or_none(self, name: str) -> Any: ...
    def view(self, op: Any, result: Any, base: object, options: Any) -> Any: ...
    def views(self, op: Any, results: Any, base: object, options: Any) -> Any: ...
    def wrap(self, out: Any) -> Any: ...
    def wrap_outputs(self, out: Any, node: Any) -> Any: ...
