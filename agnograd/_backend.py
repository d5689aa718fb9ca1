"""A backend: what an array library has to tell agnograd."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from math import prod
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agnograd._capabilities import Capabilities
from agnograd.errors import UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._bridges import Bridge

__all__ = ["Backend"]


_HERE = nullcontext()


class Backend:
    """One array library, as agnograd sees it.

    A subclass gives ``name``, ``modules``, ``namespace()`` and ``array_types()``, and overrides
    what its library does faster than the defaults, which are written in the standard alone. The
    module of a backend must not import its library before one of these methods is called.

    Attributes
    ----------
    name : str
        The name of its entry point.
    modules : tuple of str
        The top-level modules that the library's array types come from; by them the backend of
        an array is found without importing any library.
    extra : str
        The optional dependency of agnograd, or the requirement, that installs the library.
    capabilities : Capabilities
        What the library can do and cannot.
    ops : tuple of str or None
        The ops that the conformance suite checks, as names and patterns such as ``linalg.*``; by
        default all. A backend that is not finished lists what it has.
    known_as : str or None
        The ``__name__`` of the namespace, by default ``agnograd.`` and the name. Programs that
        know the library by its name spare it what it lacks; or they call functions of its own,
        which take no Variables, and then this is not for it.
    taken_over : tuple of str
        What the namespace has as it is in the library's own, beside what the standard names.
    large : int or None
        From how many elements on the rules of element-wise ops are applied to ``block`` elements
        at a time, where arrays are ``flat``, and nodes keep no array that is the negative of
        another one; None for never. The library's arrays can be written to then, and can be
        referred to weakly.
    """

    name: str
    modules: tuple[str, ...]
    extra: str = ""
    capabilities: Capabilities = Capabilities()
    ops: tuple[str, ...] | None = None
    known_as: str | None = None
    taken_over: tuple[str, ...] = ()
    large: int | None = None

    def __repr__(self) -> str:
        return f"<backend {getattr(self, 'name', None)!r}: {type(self).__name__}>"

    def namespace(self) -> ModuleType:
        """Return the library's array-API namespace (array-api-compat's, where it has one)."""
        raise NotImplementedError(f"{type(self).__name__} must override namespace()")

    def array_types(self) -> tuple[type, ...]:
        """Return the types of the library's arrays."""
        raise NotImplementedError(f"{type(self).__name__} must override array_types()")

    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Return functions that compute ops faster than those of the namespace, by op name.

        They take and return what the standard says, and may be any callables.
        """
        return {}

    def pullbacks(self) -> Mapping[str, Mapping[str, Callable[..., Any]]]:
        """Return functions that do what rules do in fewer calls, by op name and by input.

        Each takes the cotangent ``g`` and what the op's rule for that input names, and changes
        neither. Of an element-wise op it returns the product of ``g`` and the conjugate of the
        derivative (``lambda g, out: ...`` for ``tanh``), of others the gradient, of the input's
        shape and dtype (``lambda g, x2, x1_dtype: ...`` for ``matmul``); or NotImplemented, which
        leaves it to the rule. Passes under ``create_graph`` use the rules.
        """
        return {}

    def dtype(self, name: str) -> Any:
        """Return the dtype of this name as arrays have it, or None if the library has none.

        A library's names for dtypes may be objects of another kind.
        """
        xp = self.namespace()
        named = getattr(xp, name, None)
        return None if named is None else xp.empty((0,), dtype=named).dtype

    def scalar_types(self) -> tuple[type, ...]:
        """Return types of 0-d results that the library does not give as arrays.

        They stand for arrays inside of agnograd; ``array`` turns them into arrays for users.
        """
        return ()

    def array(self, value: Any) -> Any:
        """Return ``value``, an array or one of the scalar types, as an array.

        A backend with scalar types is asked for these alone; one without may refuse arrays here.
        """
        return value

    def scalar(self, array: Any) -> Any:
        """Return a 0-d array as the library's own results are: as a scalar, if it gives scalars."""
        return array

    def accepts(self, value: object) -> bool:
        """Return whether the library's operators take this operand, which is no array of it.

        Another library's arrays become constants by ``constant``; all else is left to operators.
        """
        return False

    def constant(self, value: Any, beside: Any = None) -> Any:
        """Return another library's array, which ``accepts`` allows, as one of this library.

        ``beside`` is the other operand, if there is just one: an array, which has a dtype, or a
        scalar.
        """
        return self.namespace().asarray(value)

    def own(self, array: Any) -> Any:
        """Return the array, or a copy unless it is one that nothing else shares memory with.

        Gradients that are handed to users pass through here.
        """
        return self.namespace().asarray(array, copy=True)

    def laid_out(self, gradient: Any, x: Any) -> Any:
        """Return a gradient that is laid out as its input ``x``, chunk by chunk, say.

        Gradients that are handed to users pass through here.
        """
        return gradient

    def set(self, x: Any, key: Any, value: Any) -> Any:
        """Return a copy of ``x`` with ``value`` at ``key``."""
        out = self.namespace().asarray(x, copy=True)
        out[key] = value
        return out

    def put(self, x: Any, key: Any, value: Any) -> Any:
        """Write ``value`` into ``x`` at ``key``, in place; return ``x``."""
        x[key] = value
        return x

    def alone(self, x: Any) -> bool:
        """Return whether nothing shares memory with ``x`` that does not refer to ``x`` itself.

        Of such an array the number of references says whether anything else may see a write.
        """
        return False

    def counter(self) -> Callable[[Any], int]:
        """Return a fast function that gives the number of an array's elements."""
        return lambda x: prod(x.shape)

    @property
    def block(self) -> int:
        """Of how many elements a few arrays stay in the caches of the processors in use."""
        return 2**14

    def flat(self, x: Any) -> Any:
        """Return a one-dimensional view of an array's elements in row-major order, or None.

        This is called for arrays of ``large`` elements or more.
        """
        return None

    def uniform(self, x: Any) -> Any:
        """Return the scalar that all elements of an array are, if its layout says so, or None.

        This is called for what ``flat`` has a view of.
        """
        return None

    def scatter_add(self, into: Any, key: Any, values: Any) -> Any:
        """Add ``values`` to ``into`` at ``key``, repeated positions adding up.

        ``into`` may be changed in place; the result is returned. The default takes basic keys,
        a boolean mask, and integers and integer arrays as the standard has them.
        """
        from agnograd._scatter import scatter_add

        return scatter_add(self.namespace(), into, key, values)

    def scatter_add_axis(self, into: Any, indices: Any, values: Any, axis: int) -> Any:
        """Add slices of ``values`` to those of ``into`` that one-dimensional ``indices`` name.

        Repeated indices add up. ``into`` may be changed in place; the result is returned.
        """
        from agnograd._scatter import scatter_add_axis

        return scatter_add_axis(self.namespace(), into, indices, values, axis)

    def operator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what computes a Python operator (of module ``operator``) on raw arrays.

        ``operator.getitem``, reading at a key, is one of them.
        """
        return function

    def quiet(self) -> AbstractContextManager[Any]:
        """Return a context in which the library does not warn of infinite and undefined results."""
        return nullcontext()

    def from_dlpack(self, x: Any, **options: Any) -> Any:
        """Return an array over what an array of any library exports through DLPack.

        ``options`` are the standard's ``device`` and ``copy``, where they were given.
        """
        return self.namespace().from_dlpack(x, **options)

    def to_host(self, array: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return what NumPy's ``__array__`` protocol expects of the array.

        It is NumPy that converts what it knows; all else comes through DLPack, which every array of
        the standard has.
        """
        from agnograd._backends import backend_named  # which imports this module

        host = backend_named("numpy")
        if not hasattr(array, "__array__"):  # NumPy would take it for one object
            array = host.from_dlpack(array)
        return host.to_host(array, dtype=dtype, copy=copy)

    def item(self, array: Any) -> Any:
        """Return a 0-d array as a Python scalar."""
        xp = self.namespace()
        for kind, convert in (
            ("bool", bool),
            ("integral", int),
            ("real floating", float),
            ("complex floating", complex),
        ):
            if xp.isdtype(array.dtype, kind):
                return convert(array)
        raise UnsupportedArrayError(f"dtype {array.dtype} has no Python scalar")

    def bridge(self) -> Bridge | None:
        """Return how functions cross over, if the library computes derivatives itself."""
        return None

    def on_device(self, array: Any) -> AbstractContextManager[Any]:
        """Return a context in which work goes to the array's device; then it is as it was.

        It is for libraries that compute on a current device, and not where their arrays are. Where
        it is overridden, every rule runs, and gradients are added, on the device of the cotangent.
        """
        return _HERE

    def synchronize(self, array: Any = None) -> None:
        """Wait until the device has computed the array (or everything); the host by default."""

    def mark(self) -> Any:
        """Return a mark in time, on the device if the library has device timers.

        A float is a time of the host's clock, ``time.perf_counter``.
        """
        return time.perf_counter()

    def elapsed(self, start: Any, stop: Any) -> float:
        """Return the seconds between two marks; it may wait for the device."""
        seconds: float = stop - start
        return seconds

    def memory(self) -> dict[str, int]:
        """Return figures of device memory in bytes by name; empty where nothing is known."""
        return {}

    def counting_waits(self) -> AbstractContextManager[Callable[[], int]] | None:
        """Return a context that counts how often values are waited for, or None if it cannot.

        The context gives a function that returns the number so far. A lazy library counts how
        often it computes.
        """
        return None

    def conformance(self) -> AbstractContextManager[Any]:
        """Return a context with the settings that the conformance suite runs in.

        They are those that programs make at their start: that there are 64-bit numbers, say.
        """
        return nullcontext()
