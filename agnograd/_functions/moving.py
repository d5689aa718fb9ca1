"""Moving arrays from one backend to another, with their gradients."""

from __future__ import annotations

import re
from typing import Any

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_named, domain_of
from agnograd._arrays.levels import beside, root_of
from agnograd._arrays.variable import Variable
from agnograd._functions.function import Function
from agnograd._plugins.backends import is_array
from agnograd.errors import AgnogradError, ArgumentError, NoGradientError, UnsupportedArrayError

# What libraries raise when they cannot give or take an array through DLPack.
_REFUSALS = (AttributeError, BufferError, NotImplementedError, RuntimeError, TypeError, ValueError)


def asarray(
    obj: Any, /, *, backend: object = None, dtype: Any = None, device: Any = None
) -> Variable:
    """Return ``obj`` as a Variable on a backend, connected to what it was computed from.

    An array of another backend is moved through DLPack, without a copy if both libraries can share
    the memory, and otherwise through a copy on the host. The move is an op, with derivatives of
    every order: the gradient moves back in the same way. Inside ``ag.vmap``, arrays belong to the
    backend of their library, and all members move at once.

    Parameters
    ----------
    obj : Variable, array, scalar or nested list
        What to move. A Variable that is already on the backend is returned unchanged.
    backend : str, array or Variable, optional
        The name of a backend, or an array of that backend. The default is the backend of ``obj``,
        and for scalars and lists of scalars the default backend.
    dtype : dtype or str, optional
        The backend's dtype, or the standard's name for it. The default is the dtype of ``obj``.
    device : device, optional
        The backend's device. By default the library decides where to put what it imports.

    Returns
    -------
    Variable
        A Variable with the shape of ``obj``. It requires a gradient if ``obj`` does.

    Raises
    ------
    UnsupportedArrayError
        If the backend does not have the dtype of ``obj``, as JAX has no float64 unless you enable
        it. Nothing is narrowed unless you pass ``dtype``.
    NoGradientError
        If an array that requires a gradient has an unknown shape.

    Examples
    --------
    >>> import agnograd as ag
    >>> x = ag.Variable([1.0, 2.0])
    >>> y = ag.asarray(x, backend="strict")
    >>> (y * y).__array_namespace__().sum(y * y).backward()
    >>> x.grad.data.tolist()
    [2.0, 4.0]
    """
    of = obj if backend is None else backend
    # Of levels above a library, its function `asarray` finds the highest.
    target = root_of(domain_named(of) if isinstance(of, str) else domain_of(of))
    dtype = target.dtype_named(dtype) if isinstance(dtype, str) else dtype
    try:
        moved: Variable = target.namespace.asarray(_moved(obj, target, dtype), dtype=dtype)
        if isinstance(obj, list | tuple):
            target.of_numbers(moved)
        return moved if device is None else moved.to_device(device)
    except (TypeError, ValueError) as error:
        if isinstance(error, AgnogradError):
            raise
        raise ArgumentError(
            f"asarray: backend {target.backend.name!r} makes no such array, for dtype={dtype!r} "
            f"and device={device!r}: {error}; give a dtype and a device that it has"
        ) from error


def _moved(obj: Any, target: Domain, dtype: Any) -> Any:
    """Return an object with every array in it on the target, a library."""
    if isinstance(obj, list | tuple):
        return [_moved(each, target, dtype) for each in obj]
    if not is_array(obj):
        return obj
    source = domain_of(obj)
    if root_of(source) is target:
        return obj
    target = beside(source, target)
    x = obj if isinstance(obj, Variable) else source.wrap(source.to_raw(obj))
    if dtype is not None:
        x = _narrowed(x, target, dtype)
    if x.requires_grad and x.size is None:
        raise NoGradientError(
            f"asarray: an array of shape {x.shape} on backend {source.backend.name!r} cannot be "
            "moved with its gradient, whose shape would not be known: compute its shape first "
            "(compute_chunk_sizes() of a Dask array), or pass x.detach()"
        )
    return Move(source, target)(x)


def _narrowed(x: Variable, target: Domain, dtype: Any) -> Variable:
    """Convert to the target's dtype what the target may not be able to hold before."""
    source = x._domain
    name, wanted = source.name_of(x.dtype), target.name_of(dtype)
    if wanted is None or source.dtype_or_none(wanted) is None or name == wanted:
        return x
    if name is None or target.dtype_or_none(name) is None or _bits(name) > _bits(wanted):
        narrowed: Variable = source.namespace.astype(x, source.dtype_named(wanted))
        return narrowed
    return x


def _bits(name: str) -> int:
    return int(re.sub(r"\D", "", name) or 8)


class Move(Function, constant_attributes=True, records_below=True):
    """The move of an array, whose derivative is the move back."""

    def __init__(self, source: Domain, target: Domain) -> None:
        self.source, self.target, self.backend = source, target, target.backend.name

    def forward(self, xp: Any, x: Any) -> Any:
        """Return the array on the target."""
        self.device = self.source.device(x)
        return carried(x, self.source, self.target)

    def backward(self, xp: Any, g: Any) -> Any:
        """Return the cotangent on the source, on the device of the argument."""
        if isinstance(g, Variable):
            return Move(self.target, self.source)(g).to_device(self.device)
        back = carried(g, self.target, self.source)
        if self.source.device(back) == self.device:
            return back
        return self.source.raw.to_device(back, self.device)


def carried(array: Any, source: Domain, target: Domain) -> Any:
    """Return a raw array of one backend as one of another, of the same shape and dtype."""
    if source.level:
        payload = array.payload
        home = domain_of(payload)
        there = beside(home, root_of(target))
        move = Move(home, there) if isinstance(payload, Variable) else None
        moved = carried(payload, home, there) if move is None else move(payload)
        return source.backend.moved(array, moved, target)  # type: ignore[attr-defined]
    array = source.backend.array(array)
    name, moved = source.name_of(array.dtype), None
    wanted = None if name is None else target.dtype_or_none(name)
    if wanted is not None:
        try:
            moved = target.backend.from_dlpack(array)
            if target.backend.alone(moved):  # it is not: writes would reach the other's array
                moved = target.copy(moved)
        except _REFUSALS:
            moved = target.library.asarray(source.backend.to_host(array, copy=True))
    if moved is None or moved.dtype != wanted:
        raise UnsupportedArrayError(
            f"asarray: an array of dtype {array.dtype} cannot be moved from backend "
            f"{source.backend.name!r} to {target.backend.name!r}, which has no such dtype as it is "
            "set up; pass one that it has, dtype='float32' say, to convert the array and its "
            "gradient"
        )
    return moved
