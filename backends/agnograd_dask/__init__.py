"""The Dask backend of agnograd: a pass over lazy arrays builds their gradients' task graph."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from agnograd.errors import UnsupportedArrayError
from agnograd.extend import (
    Backend,
    Capabilities,
    hookimpl,
    is_basic,
    is_plain_numpy,
    without_newaxis,
)

__all__ = ["DaskBackend", "backend"]


class DaskBackend(Backend):
    """Dask's arrays, through the namespace of array-api-compat and what that lacks.

    Nothing here computes but ``item``, ``to_host``, and Python's ``bool``, ``int`` and ``float``
    of an array.
    """

    name = "dask"
    modules = ("dask",)
    extra = "dask"
    capabilities = Capabilities(lazy=True, unknown_shapes=True)

    def namespace(self) -> ModuleType:
        """Return array-api-compat's namespace of ``dask.array``, and what that lacks."""
        from agnograd_dask import _namespace

        return _namespace

    def array_types(self) -> tuple[type, ...]:
        """Return ``dask.array.Array``, and that class of this backend that is faster."""
        import dask.array as da

        from agnograd_dask._layers import Layered

        return (da.Array, Layered)

    def kernels(self) -> Mapping[str, Callable[..., Any]]:
        """Return what reads the upper triangle, which the standard lacks."""
        from agnograd_dask import _linalg

        return {"linalg.eigh_upper": _linalg.eigh_upper}

    def pullbacks(self) -> Mapping[str, Mapping[str, Callable[..., Any]]]:
        """Return what makes one layer, or two, where a rule makes several."""
        from agnograd_dask._pullbacks import PULLBACKS

        return PULLBACKS

    def accepts(self, value: object) -> bool:
        """Return whether the operand is NumPy's, which Dask's functions and operators take."""
        return is_plain_numpy(value)

    def laid_out(self, gradient: Any, x: Any) -> Any:
        """Return a gradient in its input's chunks, if their sizes are known."""
        if gradient.chunks == x.chunks or math.isnan(math.prod(x.shape)):
            return gradient
        from agnograd_dask._axes import spread
        from agnograd_dask._layers import source

        if source(gradient) is gradient:
            return gradient.rechunk(x.chunks)
        return spread(gradient, x.shape, x.chunks)

    def again(self, x: Any, after: Any, *, kept: bool) -> Any:
        """Return an array whose tasks are others, and wait for what is known after the first run.

        Dask computes tasks of one name once, and keeps the result as long as any task needs it.
        """
        from agnograd_dask._again import again, known, waiting

        before = known([each for each in after if isinstance(each, self.array_types())])
        return waiting(x, before) if kept else again(x, before)

    def fingerprint(self, x: Any) -> Any:
        """Return the name of what is to be computed, which a write changes."""
        return x.name

    def operator(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return Python's operator; reading at several integer arrays is beyond Dask's."""
        if function is operator.getitem:
            return _get
        from agnograd_dask._elements import of_operator

        return of_operator(function, function)

    def set(self, x: Any, key: Any, value: Any) -> Any:
        """Return a copy of ``x`` with ``value`` at ``key``; Dask cannot write to an empty part."""
        from agnograd_dask._keys import is_mask, positions, set_at_mask, writes_positions

        parts = key if isinstance(key, tuple) else (key,)
        shape = getattr(value, "shape", ())
        named = all(is_basic(part) or _is_number(part) for part in parts)
        if not named and any(map(math.isnan, shape)):
            raise UnsupportedArrayError(
                "Dask writes no array whose size it has not computed yet, such as x[mask] * 2; "
                "use x = xp.where(mask, value, x) in place of x[mask] = value"
            )
        if is_mask(key):
            return set_at_mask(x, key, value)
        out, xp = x.copy(), self.namespace()
        if writes_positions(key, x.ndim, several=bool(shape)):
            where = positions(key, x.shape)
            if 0 in where.shape:
                return out
            flat = x.reshape(-1)
            flat[where.reshape(-1)] = (
                xp.broadcast_to(value, where.shape).reshape(-1) if shape else value
            )
            return flat.reshape(x.shape).rechunk(x.chunks)
        # Dask checks the shape of what is written at arrays of indices, also of none.
        if 0 not in (_get(x, key).shape if named else shape):
            if shape and any(part is None for part in parts):
                place = x[without_newaxis(key)].shape
                value = xp.broadcast_to(value, _get(x, key).shape).reshape(place)
            out[without_newaxis(key)] = value
        return out

    def put(self, x: Any, key: Any, value: Any) -> Any:
        """Return a copy, as ``set`` does: nothing is computed, and there is no memory to spare."""
        return self.set(x, key, value)

    def scatter_add(self, into: Any, key: Any, values: Any) -> Any:
        """Return the sum; at integer arrays it is one sum a chunk, and a tree of these."""
        if is_basic(key):
            from agnograd_dask._axes import viewed

            if viewed(into, key) is not None:  # of the same elements
                return into + self.namespace().reshape(values, into.shape)
            key = without_newaxis(key)
            here = into[key]
            return self.set(into, key, here + values.reshape(here.shape))
        if math.isnan(math.prod(values.shape)):
            raise UnsupportedArrayError(
                "what a mask selects has chunks of unknown sizes, and so no gradient: call "
                "compute_chunk_sizes() on x[mask].data before it is used, or take "
                "xp.where(mask, x, 0.0) instead of x[mask]"
            )
        if values.size == 0:
            return into
        size = math.prod(into.shape)
        from agnograd_dask._keys import at_mask, is_mask, positions

        if is_mask(key):
            added = at_mask(self.namespace().asarray(key), values, into.shape)
        else:
            from agnograd_dask._sums import along_first

            where = positions(key, into.shape)
            values = self.namespace().broadcast_to(values, where.shape)
            added = along_first(size, where.reshape(-1), values.reshape(-1)).reshape(into.shape)
        return into + added.rechunk(into.chunks)

    def scatter_add_axis(self, into: Any, indices: Any, values: Any, axis: int) -> Any:
        """Return the sum: one sum a chunk of ``values``, and a tree of these."""
        import dask.array as da

        from agnograd_dask._keys import positions
        from agnograd_dask._sums import along_first

        length = into.shape[axis]
        values = da.moveaxis(values, axis, 0)
        added = along_first(length, positions(indices, (length,)), values)
        return into + da.moveaxis(added, 0, axis).rechunk(into.chunks)

    def to_host(self, array: Any, *, dtype: Any = None, copy: bool | None = None) -> Any:
        """Compute the array, and return NumPy's."""
        import numpy as np

        return np.asarray(array.compute(), dtype=dtype, copy=copy)

    @contextmanager
    def counting_waits(self) -> Iterator[Callable[[], int]]:
        """Count how often something is computed."""
        from dask.callbacks import Callback

        started: list[Any] = []
        with Callback(start=started.append):
            yield lambda: len(started)

    @contextmanager
    def conformance(self) -> Iterator[None]:
        """Compute in this thread; NumPy warns there and then, not in an agnograd context."""
        import dask

        with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield


def _is_number(part: Any) -> bool:
    """Return whether a part of a key is an integer that is an array."""
    return _is_integers(part) and not part.ndim


def _get(x: Any, key: Any) -> Any:
    from agnograd_dask._keys import needs_positions, positions

    if not is_basic(key) and needs_positions(key, x.ndim):
        where = positions(key, x.shape)
        return x.reshape(-1)[where.reshape(-1)].reshape(where.shape)
    from agnograd_dask._axes import viewed

    out = viewed(x, key)
    if out is not None:
        return out
    return x[tuple(map(renamed, key if isinstance(key, tuple) else (key,)))]


def renamed(indices: Any) -> Any:
    """Return indices under another name.

    Dask reads at an array of the places where chunks begin, which is named by its values, as that
    of indices may be: then it takes the lengths of one for those of the other, and ``x[[0]]`` has
    the shape of ``x``.
    """
    return indices + 0 if _is_integers(indices) and hasattr(indices, "dask") else indices


def _is_integers(part: Any) -> bool:
    return str(getattr(part, "dtype", "")).startswith(("int", "uint"))


@hookimpl
def backend() -> Backend:
    """Return the backend."""
    return DaskBackend()
