"""What a communicator is: a few primitives of processes, and the collectives made of them."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from time import monotonic, sleep
from typing import Any, NoReturn

from agnograd.errors import AgnogradError
from agnograd.extend import backend_of, device_of
from agnograd_distributed.kernels.host import (
    dtype_of,
    from_bytes,
    from_host,
    joined,
    parted,
    stacked,
    sum_of,
    to_host,
)

__all__ = ["CommunicationError", "Communicator", "communicator", "not_taken"]

GROUP = "agnograd.communicators"


class CommunicationError(AgnogradError, RuntimeError):
    """Processes could not communicate; the message names the rank that is the cause."""


class Communicator:
    """Processes that compute together, each known by its rank.

    A subclass sets ``rank``, ``size`` and ``timeout``, and provides ``_gather``, ``_send``,
    ``_receive`` and ``channel``. All collectives are made of these; it may override those that
    its library has, such as ``_sum``. Its entry point in ``agnograd.communicators`` names it.

    Every rank calls the same collectives in the same order. Arrays are raw arrays of any backend,
    and go through host memory, but for those that the subclass ``_takes`` where they are. Results
    are new arrays of the backend, dtype and device of what a rank passed, the same bit for bit on
    all ranks if they are the same array.

    Attributes
    ----------
    rank, size : int
        The number of this process, from 0, and how many there are.
    timeout : float
        The seconds after which a rank that others wait for is late.
    """

    rank: int = 0
    size: int = 1
    timeout: float = 60.0

    _next_look = 0.0  # when to look for messages that nobody takes
    _unread: frozenset[int] = frozenset()  # ranks whose next message waited at the last look

    # -- what a subclass provides ---------------------------------------------------------------

    @classmethod
    def found(cls) -> bool:
        """Return whether this process was started for such a communicator; for ``"auto"``."""
        return False

    def channel(self) -> Communicator:
        """Return a communicator of the same ranks that another thread may use; a collective."""
        raise NotImplementedError

    def _gather(self, what: str, data: Any) -> Sequence[Any]:
        """Return what every rank passed, in the order of ranks, as buffers of bytes.

        ``data`` is a buffer, whose length may differ between ranks. ``what`` names the collective:
        if the ranks' differ, or a rank fails or is late, a ``CommunicationError`` names it. Results
        are read before the next call, and never written to.
        """
        raise NotImplementedError

    def _send(self, data: Any, to: int) -> None:
        """Send a buffer of bytes to a rank, without waiting for it."""
        raise NotImplementedError

    def _receive(self, source: int) -> Any:
        """Return the next buffer of bytes that a rank sent to this one."""
        raise NotImplementedError

    def _waits(self, source: int) -> bool:
        """Return whether a buffer that a rank sent waits to be received; False if unknown."""
        return False

    def fail(self, reason: str) -> None:
        """Let all other ranks' calls raise, now and later, with a reason that names this rank."""

    def close(self) -> None:
        """Leave: no other rank waits for this one from now on."""

    def _sum(self, host: Any, what: str) -> Any:
        """Return the sum of the ranks' arrays in host memory, all of one shape and dtype."""
        return sum_of(self._arrays(host, what))

    def _mean(self, hosts: Sequence[Any], results: Sequence[Any], what: str) -> None:
        """Put means over the ranks of arrays in host memory into other arrays; all of one dtype.

        ``results`` are in C order, and belong to the caller, who has no other use for what is in
        them. ``hosts`` are as long; nothing is written to them.
        """
        total = self._sum(joined(hosts), what)
        total /= self.size
        parted(total, results)

    def _takes(self, array: Any) -> bool:
        """Return whether ``_collective`` communicates an array where it is, as between devices."""
        return False

    def _collective(self, name: str, source: Any, result: Any, root: int) -> None:
        """Write a collective's result to an array; ``root`` is the rank that ``broadcast`` sends.

        Raises
        ------
        CommunicationError
            If a rank fails, or the collective does not end within the timeout.
        """
        raise NotImplementedError

    # -- what is made of it ---------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, rank {self.rank} of {self.size}>"

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            self._check_unread(leaving=True)
            self.close()
            return
        if not isinstance(error, CommunicationError):
            self.fail(f"rank {self.rank} raised {type(error).__name__}: {error}")
        with suppress(CommunicationError):
            self.close()

    def objects(self, value: Any) -> list[Any]:
        """Return what every rank passed: any objects that can be pickled."""
        data = self._gather("objects", pickle.dumps(value))
        return [pickle.loads(bytes(each)) for each in data]

    def barrier(self) -> None:
        """Wait for all ranks."""
        self._gather("barrier", b"")

    def all_sum(self, array: Any) -> Any:
        """Return the sum of the ranks' arrays, all of one shape and dtype."""
        if self._takes(array):
            return self._where_it_is("all_sum", array, array.shape)
        return from_host(self._sum(to_host(array), "all_sum"), array)

    def all_gather(self, array: Any) -> Any:
        """Return the ranks' arrays, all of one shape, one after the other along the first axis."""
        if not array.ndim:
            raise ValueError("all_gather: the array must have an axis; pass one of shape (1,)")
        if self._takes(array):
            length, *others = array.shape
            return self._where_it_is("all_gather", array, (self.size * length, *others))
        return from_host(stacked(self._arrays(to_host(array), "all_gather")), array)

    def reduce_scatter(self, array: Any) -> Any:
        """Return this rank's part, along the first axis, of the sum of the ranks' arrays."""
        if self._takes(array):
            part = self._part(array, "reduce_scatter")
            shape = part.stop - part.start, *array.shape[1:]
            return self._where_it_is("reduce_scatter", array, shape)
        host = to_host(array)
        part = self._part(host, "reduce_scatter")
        arrays = self._arrays(host, "reduce_scatter")
        return from_host(sum_of([each[part] for each in arrays]), array)

    def all_to_all(self, array: Any) -> Any:
        """Return this rank's parts, along the first axis, of the ranks' arrays, one after another.

        What rank ``r`` gets as its part ``s`` is the part ``r`` of rank ``s``.
        """
        if self._takes(array):
            self._part(array, "all_to_all")
            return self._where_it_is("all_to_all", array, array.shape)
        host = to_host(array)
        part = self._part(host, "all_to_all")
        arrays = self._arrays(host, "all_to_all")
        return from_host(stacked([each[part] for each in arrays]), array)

    def broadcast(self, array: Any, root: int = 0) -> Any:
        """Return the array of the rank ``root``; others pass one of the same shape and dtype."""
        self.check_rank("broadcast", root)
        if self._takes(array):
            return self._where_it_is("broadcast", array, array.shape, root)
        host = to_host(array)
        arrays = self._arrays(host, f"broadcast from {root}", self.rank == root)
        return from_host(arrays[root].copy(), array)

    def send(self, array: Any, to: int) -> None:
        """Send an array to a rank, which has to ``receive`` it."""
        self.check_rank("send", to)
        self._check_unread()
        host = to_host(array)
        self._send(pickle.dumps((host.dtype.str, host.shape, host.tobytes())), to)

    def receive(self, like: Any, source: int) -> Any:
        """Return the array that a rank sent, of the shape and dtype of another one."""
        self.check_rank("receive", source)
        self._unread -= {source}
        self._check_unread()
        dtype, shape, data = pickle.loads(self._receive(source))
        expected = dtype_of(like), tuple(like.shape)
        if (dtype, shape) != (expected[0].str, expected[1]):
            raise CommunicationError(
                f"rank {self.rank} expected an array of shape {expected[1]} and dtype "
                f"{expected[0]} from rank {source}, which sent one of shape {shape} and dtype "
                f"{dtype}; both must be the same"
            )
        return from_host(from_bytes(bytearray(data), dtype, shape), like)

    def _check_unread(self, leaving: bool = False) -> None:
        """Raise on all ranks if a message waits for longer than the timeout, or when leaving."""
        now = monotonic()
        if now < self._next_look and not leaving:
            return
        waiting = frozenset(each for each in range(self.size) if self._waits(each))
        late = waiting if leaving else self._unread & waiting
        if late:
            # Not as a subclass does, which stops its collectives: none runs here.
            Communicator._give_up(self, not_taken(min(late), self.rank))
        self._unread, self._next_look = waiting, now + self.timeout

    def _check_called(self, source: int, called: str, what: str) -> None:
        """Raise on all ranks if another one calls something else."""
        if called != what:
            self._give_up(
                f"rank {source} calls {called}, but rank {self.rank} calls {what}; all ranks must "
                "call the same"
            )

    def _give_up(self, reason: str) -> NoReturn:
        """Let all ranks raise."""
        self.fail(reason)
        raise CommunicationError(reason)

    def check_rank(self, what: str, rank: int) -> None:
        """Raise unless a rank exists."""
        if not 0 <= rank < self.size:
            raise ValueError(f"{what}: there is no rank {rank}; ranks are 0 to {self.size - 1}")

    def _arrays(self, host: Any, what: str, sends: bool = True) -> list[Any]:
        """Return the ranks' arrays, views that are good until the next call."""
        self._check_unread()
        what = f"{what} of {host.dtype} and shape {host.shape}"
        data = self._gather(what, host.reshape(-1).view("u1") if sends and host.size else b"")
        if not host.size:
            return [host] * self.size
        return [
            from_bytes(each, host.dtype.str, host.shape) if len(each) else None for each in data
        ]

    def _where_it_is(self, name: str, array: Any, shape: Sequence[int], root: int = 0) -> Any:
        """Return a collective's result; a short message before it names a rank that is late."""
        self._check_unread()
        sent = f" from {root}" if name == "broadcast" else ""
        self._gather(f"{name}{sent} of {array.dtype} and shape {tuple(array.shape)}", b"")
        xp = backend_of(array).namespace()
        result = xp.empty(tuple(shape), dtype=array.dtype, device=device_of(array))
        if 0 not in array.shape:
            self._collective(name, array, result, root)
        return result

    def _until(
        self, condition: Callable[[], bool], check: Callable[[], object] = lambda: None
    ) -> bool:
        """Return whether a condition came to hold before the timeout; ``check`` may raise."""
        deadline, pause = monotonic() + self.timeout, 0.0
        while not condition():
            if monotonic() > deadline:
                return False
            check()
            sleep(pause)  # other threads and, on a crowded machine, other ranks go on
            pause = min(pause + 1e-5, 1e-3)
        return True

    def _part(self, array: Any, what: str) -> slice:
        """Return where this rank's part is along the first axis."""
        if not array.ndim or array.shape[0] % self.size:
            raise ValueError(
                f"{what}: the first axis of an array of shape {tuple(array.shape)} cannot be "
                f"divided into {self.size} equal parts, one for each rank"
            )
        length = array.shape[0] // self.size
        return slice(self.rank * length, (self.rank + 1) * length)


def not_taken(source: int, rank: int) -> str:
    """Return what is wrong if a rank does not take a message, and what to do."""
    return (
        f"rank {rank} has not taken a message from rank {source}. If that is the gradient of what "
        f"rank {rank} sent, its pass must reach the send: add the token that xp.dist.send returns "
        "to the loss, or give it to a later recv"
    )


class Single(Communicator):
    """The communicator ``none``: one process, which can talk only to itself."""

    def __init__(self) -> None:
        self._messages: deque[Any] = deque()

    def channel(self) -> Communicator:
        """Return another one."""
        return Single()

    def _gather(self, what: str, data: Any) -> Sequence[Any]:
        return [data]

    def _send(self, data: Any, to: int) -> None:
        self._messages.append(data)

    def _waits(self, source: int) -> bool:
        return bool(self._messages)

    def _receive(self, source: int) -> Any:
        if not self._messages:
            raise CommunicationError("there is one rank, and it has sent nothing to itself")
        return self._messages.popleft()


def communicator(name: str = "auto", **options: Any) -> Communicator:
    """Return the communicator of this process and those that were started with it.

    Parameters
    ----------
    name : str
        The name of an entry point in ``agnograd.communicators``: ``"none"``, ``"local"``,
        ``"mpi"``, ``"torch"``, or one of another distribution. ``"auto"`` takes the first of them
        that this process was started for, and ``"none"`` if it was for none.
    **options
        What the communicator takes: ``timeout`` in seconds, for all of them but ``"none"``.

    Raises
    ------
    ValueError
        If no communicator has this name.
    ImportError
        If the library that it needs is not installed.
    """
    known: dict[str, EntryPoint] = {each.name: each for each in entry_points(group=GROUP)}
    if name == "auto":
        candidates = [each for each in _ORDER if each in known] + sorted({*known} - {*_ORDER})
        for each in candidates:
            kind = _loaded(known[each], missing_is_none=True)
            if kind is not None and kind.found():
                return kind(**options)  # type: ignore[no-any-return]
        return Single()
    if name not in known:
        raise ValueError(f"no communicator is named {name!r}; there are {', '.join(sorted(known))}")
    return _loaded(known[name])(**options)  # type: ignore[no-any-return]


_ORDER = ("local", "mpi", "torch")


def _loaded(entry: EntryPoint, missing_is_none: bool = False) -> Any:
    try:
        return entry.load()
    except ImportError as error:
        if missing_is_none:
            return None
        raise ImportError(
            f"the communicator {entry.name!r} needs a library that is not installed: {error}"
        ) from error
