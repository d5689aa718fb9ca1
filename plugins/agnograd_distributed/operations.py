"""Collectives as ops, in the namespace ``xp.dist``, each with its transpose as its rule.

The loss is the sum of the ranks' losses: the gradient that a rank gets for its own array is that of
the sum, so a rule returns what all ranks' cotangents say of it. Every rank records the same
collectives in the same order, and starts its pass from its own part of the loss.

What computes an op names ``backend``, though it needs none: then the op is one step of compiled
functions, and not a program of others. For sparse derivatives, each element of a result may depend
on all elements of this rank's array: what another rank has is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from agnograd.extend import device_of
from agnograd_distributed import ops
from agnograd_distributed._communicator import CommunicationError, Communicator

__all__ = [
    "all_gather",
    "all_sum",
    "all_to_all",
    "broadcast",
    "halo",
    "recv",
    "reduce_scatter",
    "send",
    "shift",
    "sum_to",
]


def _along(collective: Callable[[Any], Any], x: Any, axis: int, xp: Any) -> Any:
    """Compute a collective along an axis, which communicators take as the first one."""
    if axis in (0, -x.ndim):
        return collective(x)
    return xp.moveaxis(collective(xp.moveaxis(x, axis, 0)), 0, axis)


def all_sum(backend: Any, x: Any, comm: Communicator) -> Any:
    """Return the sum of the ranks' arrays, on all of them.

    Parameters
    ----------
    x : array
        Of one shape and dtype on all ranks.
    comm : Communicator
        The ranks.
    """
    return comm.all_sum(x)


def all_gather(xp: Any, backend: Any, x: Any, comm: Communicator, *, axis: int = 0) -> Any:
    """Return the ranks' arrays, all of one shape, one after the other along an axis."""
    return _along(comm.all_gather, x, axis, xp)


def reduce_scatter(xp: Any, backend: Any, x: Any, comm: Communicator, *, axis: int = 0) -> Any:
    """Return this rank's part, along an axis, of the sum of the ranks' arrays."""
    return _along(comm.reduce_scatter, x, axis, xp)


def all_to_all(xp: Any, backend: Any, x: Any, comm: Communicator, *, axis: int = 0) -> Any:
    """Return this rank's parts, along an axis, of the ranks' arrays, one after the other."""
    return _along(comm.all_to_all, x, axis, xp)


def broadcast(backend: Any, x: Any, comm: Communicator, *, root: int = 0) -> Any:
    """Return the array of the rank ``root``; others pass one of its shape and dtype."""
    return comm.broadcast(x, root)


def sum_to(xp: Any, backend: Any, x: Any, comm: Communicator, *, root: int = 0) -> Any:
    """Return the sum of the ranks' arrays on the rank ``root``, and zeros on all others."""
    comm.check_rank("sum_to", root)
    total = comm.all_sum(x)
    return total if comm.rank == root else xp.zeros_like(total)


def shift(
    xp: Any, backend: Any, x: Any, comm: Communicator, offset: int = 1, *, periodic: bool = False
) -> Any:
    """Return the array of the rank ``offset`` before this one.

    Where there is none, it is zeros, or that of a rank from the other end if ``periodic``.
    """
    to, source = comm.rank + offset, comm.rank - offset
    if periodic:
        to, source = to % comm.size, source % comm.size
    if 0 <= to < comm.size:
        comm.send(x, to)
    return comm.receive(x, source) if 0 <= source < comm.size else xp.zeros_like(x)


def send(xp: Any, backend: Any, x: Any, comm: Communicator, to: int) -> Any:
    """Send an array to another rank, and return a token, the number 0.

    The other rank receives the array by ``recv``. In a pass, its gradient comes back the other way:
    a pass reaches ``send`` if what it starts from depends on the token. Add the token to the loss,
    or give it to a later ``recv``. A message that nobody takes is an error on the rank that it is
    for, once it has waited for the communicator's timeout.

    Parameters
    ----------
    x : array
        What to send.
    comm : Communicator
        The ranks.
    to : int
        The rank that receives it.

    Returns
    -------
    array, shape ()
        The token, of the real dtype of ``x``, or the default one if ``x`` is not floating.
    """
    comm.send(x, to)
    floating = xp.isdtype(x.dtype, ("real floating", "complex floating"))
    dtype = xp.real(xp.empty((), dtype=x.dtype)).dtype if floating else None
    return xp.zeros((), dtype=dtype, device=device_of(x))


def recv(
    xp: Any,
    backend: Any,
    token: Any,
    comm: Communicator,
    source: int,
    *,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
) -> Any:
    """Return the array that another rank sent to this one by ``send``.

    Parameters
    ----------
    token : array
        What connects the result to the graph; its value does not matter, and gets a gradient of
        zeros. Pass an array that a pass on this rank reaches: the token of an earlier ``send``, or
        any array that gradients are taken with respect to, such as a parameter. The pass then sends
        the result's gradient back to the other rank, which waits for it.
    comm : Communicator
        The ranks.
    source : int
        The rank that sent it.
    shape : tuple of int, optional
        The shape of the array, by default that of the token.
    dtype : dtype, optional
        The dtype of the array, by default that of the token.

    Raises
    ------
    CommunicationError
        If the other rank sends nothing within the communicator's timeout, or an array of a
        different shape or dtype.
    """
    shape = tuple(token.shape if shape is None else shape)
    dtype = token.dtype if dtype is None else dtype
    like, start = xp.empty(shape, dtype=dtype, device=device_of(token)), monotonic()
    try:
        return comm.receive(like, source)
    except CommunicationError as error:
        if monotonic() - start < comm.timeout:  # something else failed, and is named
            raise
        raise CommunicationError(
            f"{error}. If rank {comm.rank} waits in a backward pass: rank {source} sends the "
            "gradient of what it received if its loss depends on that, and if its recv got a token "
            "that gradients are taken with respect to"
        ) from error


def _spread(token: Any, shape: Any, dtype: Any, xp: Any) -> Any:
    """Return a token as a gradient: zeros of a shape and dtype."""
    return xp.broadcast_to(xp.astype(token, dtype), shape)


def halo(
    xp: Any, x: Any, comm: Communicator, width: int = 1, *, axis: int = 0, periodic: bool = False
) -> Any:
    """Return an array with the borders of the neighbouring ranks' arrays around it.

    For domain decomposition: the ranks' arrays are parts of one array along an axis.

    Parameters
    ----------
    x : array
        This rank's part.
    comm : Communicator
        The ranks.
    width : int
        How many elements along the axis come from each neighbour, at most as many as a part has.
    axis : int
        The axis that is divided.
    periodic : bool
        Whether the first rank and the last one are neighbours. Otherwise zeros are at the ends.
    """
    length = x.shape[axis]
    if not 0 < width <= length:
        raise ValueError(
            f"halo: width must be from 1 to {length}, the length of axis {axis}, not {width}"
        )
    rows = xp.moveaxis(x, axis, 0)
    before = xp.dist.shift(rows[length - width :, ...], comm, 1, periodic=periodic)
    after = xp.dist.shift(rows[:width, ...], comm, -1, periodic=periodic)
    return xp.moveaxis(xp.concat([before, rows, after], axis=0), 0, axis)


def _registered(signature: str, **declared: Any) -> None:
    """Register a collective, whose rule is a collective of all ranks as well."""
    ops.linear(signature, pattern="values", effects=True, **declared)


_registered(
    "dist.all_sum(x, /, comm)",
    x=lambda g, comm, xp: xp.dist.all_sum(g, comm),
    forward=all_sum,
    batch=lambda xp, x, comm: xp.dist.all_sum(x, comm),
)
_registered(
    "dist.all_gather(x, /, comm, *, axis=0)",
    x=lambda g, comm, axis, xp: xp.dist.reduce_scatter(g, comm, axis=axis),
    forward=all_gather,
    batch="axis",
)
_registered(
    "dist.reduce_scatter(x, /, comm, *, axis=0)",
    x=lambda g, comm, axis, xp: xp.dist.all_gather(g, comm, axis=axis),
    forward=reduce_scatter,
    batch="axis",
)
_registered(
    "dist.all_to_all(x, /, comm, *, axis=0)",
    x=lambda g, comm, axis, xp: xp.dist.all_to_all(g, comm, axis=axis),
    forward=all_to_all,
    batch="axis",
)
_registered(
    "dist.broadcast(x, /, comm, *, root=0)",
    x=lambda g, comm, root, xp: xp.dist.sum_to(g, comm, root=root),
    forward=broadcast,
    batch=lambda xp, x, comm, root: xp.dist.broadcast(x, comm, root=root),
)
_registered(
    "dist.sum_to(x, /, comm, *, root=0)",
    x=lambda g, comm, root, xp: xp.dist.broadcast(g, comm, root=root),
    forward=sum_to,
    batch=lambda xp, x, comm, root: xp.dist.sum_to(x, comm, root=root),
)
_registered(
    "dist.shift(x, /, comm, offset=1, *, periodic=False)",
    x=lambda g, comm, offset, periodic, xp: xp.dist.shift(g, comm, -offset, periodic=periodic),
    forward=shift,
    batch=lambda xp, x, comm, offset, periodic: xp.dist.shift(x, comm, offset, periodic=periodic),
)
# Both transposes name a token of this rank, `out` or the cotangent `g`: so second derivatives reach
# what they record. Their values do not matter.
_registered(
    "dist.send(x, /, comm, to)",
    x=lambda g, out, x_shape, x_dtype, comm, to, xp: xp.dist.recv(
        out + g, comm, to, shape=x_shape, dtype=x_dtype
    ),
    forward=send,
    casts=True,
    batch=lambda xp, size, x, comm, to: xp.broadcast_to(xp.dist.send(x, comm, to), (size,)),
)
_registered(
    "dist.recv(token, /, comm, source, *, shape=None, dtype=None)",
    token=lambda g, token_shape, token_dtype, comm, source, xp: _spread(
        xp.dist.send(g, comm, source), token_shape, token_dtype, xp
    ),
    forward=recv,
    batch=lambda xp, size, token, comm, source, shape, dtype: xp.dist.recv(
        token,
        comm,
        source,
        shape=(size, *(token.shape[1:] if shape is None else shape)),
        dtype=dtype,
    ),
)
ops.composed("dist.halo(x, /, comm, width=1, *, axis=0, periodic=False)", halo)
