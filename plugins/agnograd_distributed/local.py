"""The communicator ``local``: processes of one machine, with nothing but Python's library."""

from __future__ import annotations

import atexit
import json
import mmap
import os
from collections import defaultdict, deque
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from itertools import count
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any
from weakref import WeakSet

from agnograd.extend import switch
from agnograd_distributed._communicator import CommunicationError, Communicator, not_taken
from agnograd_distributed._faults import Faults
from agnograd_distributed.kernels.shares import Shares

__all__ = ["Local", "leave"]

ENVIRONMENT = "AGNOGRAD_DISTRIBUTED_LOCAL"  # where the launcher says who a process is
_open: WeakSet[Local] = WeakSet()
_numbers = count()  # of the communicators of this process, made in the same order by all ranks
# How many bytes go with a message; more go through a file in memory.
INLINE_BYTES = switch("INLINE_BYTES", 2**14, least=0, most=2**20, module=__name__)


class Local(Communicator):
    """Processes that ``python -m agnograd_distributed -n SIZE`` started on this machine.

    Messages go through the launcher, arrays through files that all of them map, in memory where
    the system has a folder for that. The launcher knows of each process that ends.

    Parameters
    ----------
    timeout : float, optional
        The seconds after which a rank is late; by default what the launcher was given.
    """

    def __init__(self, *, timeout: float | None = None) -> None:
        if not self.found():
            raise CommunicationError(
                "this process was not started as one of several: run the program by "
                "`python -m agnograd_distributed -n 2 program.py`"
            )
        told = json.loads(os.environ[ENVIRONMENT])
        faults = Faults(told["faults"], told["rank"])
        timeout = told["timeout"] if timeout is None else timeout
        self._begin(told, timeout, faults, f"{next(_numbers)}")

    def _begin(self, told: dict[str, Any], timeout: float, faults: Faults, name: str) -> None:
        self._told, self._faults, self._name = told, faults, name
        self.rank, self.size, self.timeout = told["rank"], told["size"], timeout
        self._channels = 0
        self._failure: str | None = None
        self._messages: dict[int, deque[Any]] = defaultdict(deque)
        # Written in turns: who comes to a round has read all that belongs to the one before.
        self._written = [_File(self._path(f"{name}.{self.rank}.{turn}")) for turn in (0, 1)]
        # Parts of gradients for other ranks, and sums for all: a rank writes to either only when
        # all others have read what was there.
        self._parts, self._sums = (
            _File(self._path(f"{name}.{self.rank}.{what}")) for what in ("parts", "sums")
        )
        self._read: dict[str, mmap.mmap] = {}
        self._rounds = self._sent = 0
        self._connection = Client(told["address"], authkey=bytes.fromhex(told["key"]))
        self._connection.send((self.rank, name))
        _open.add(self)
        atexit.register(self.close)

    @classmethod
    def found(cls) -> bool:
        """Return whether the launcher started this process."""
        return ENVIRONMENT in os.environ

    def channel(self) -> Local:
        """Return a communicator of the same ranks that another thread may use."""
        made = object.__new__(type(self))
        self._channels += 1
        name = f"{self._name}-{self._channels}"
        made._begin(self._told, self.timeout, self._faults, name)
        return made

    def fail(self, reason: str) -> None:
        """Let all other ranks' calls raise, now and later."""
        if self._failure is None:
            self._tell("failed", reason)
            with suppress(CommunicationError):
                while True:  # until the launcher says it to all, before this rank is gone
                    self._next(None)

    def close(self) -> None:
        """Leave: no other rank waits for this one from now on.

        Raises
        ------
        CommunicationError
            If another rank has failed, which this one did not know, or has sent it a message that
            it has not taken.
        """
        if self._connection.closed:
            return
        atexit.unregister(self.close)
        _open.discard(self)
        try:
            self._tell("bye")
            if self._failure is None:  # else it has been raised
                while self._next(None)[0] != "gone":
                    pass
                for source, messages in self._messages.items():
                    if messages:
                        raise CommunicationError(not_taken(source, self.rank))
        finally:
            self._connection.close()

    def _gather(self, what: str, data: Any) -> Sequence[Any]:
        data = memoryview(data)
        file = self._written[self._rounds % 2]
        self._rounds += 1
        return self._round(what, bytes(data) if data.nbytes <= INLINE_BYTES else file.write(data))

    def _round(self, what: str, payload: Any) -> list[Any]:
        """Return what every rank passed, once all have: bytes, or what is in a file."""
        self._post("round", what, payload)
        while True:
            kind, *rest = self._next(None)
            if kind == "ok":
                return [each if type(each) is bytes else self._mapped(*each) for each in rest[0]]

    def _mean(self, hosts: Sequence[Any], results: Sequence[Any], what: str) -> None:
        nbytes = sum(each.nbytes for each in results)
        if self.size == 1 or nbytes <= INLINE_BYTES:
            super()._mean(hosts, results, what)
            return
        what = f"{what} of {nbytes} bytes of {results[0].dtype}"
        shares = Shares(hosts, results, self.rank, self.size)
        shares.write_parts(self._parts.room(nbytes))
        parts = self._round(what, self._parts.payload(nbytes))
        shares.write_sums(parts, self._sums.room(nbytes))
        shares.read_means(self._round(f"{what}, sums", self._sums.payload(nbytes)))

    def _send(self, data: Any, to: int) -> None:
        if len(data) > INLINE_BYTES:
            self._sent += 1
            file = _File(self._path(f"{self._name}.{self.rank}.to.{self._sent}"))
            data = file.write(memoryview(data))
        self._post("send", to, data)

    def _waits(self, source: int) -> bool:
        while not self._connection.closed and self._connection.poll(0):
            self._next(None)
        return bool(self._messages[source])

    def _receive(self, source: int) -> Any:
        while not self._messages[source]:
            self._next(source)
        payload = self._messages[source].popleft()
        if type(payload) is bytes:
            return payload
        name, size = payload
        try:
            return bytes(self._mapped(name, size)[:])
        finally:
            self._read.pop(name)
            os.unlink(name)

    def _next(self, source: int | None) -> Any:
        """Return the next message from the launcher; it keeps those of other ranks."""
        try:
            if not self._connection.poll(self.timeout):
                self._tell("late", self.timeout, source)
                if not self._connection.poll(self.timeout):
                    raise EOFError
            message = self._connection.recv()
        except (EOFError, OSError):
            message = "failed", f"the launcher does not answer rank {self.rank}"
        if message[0] == "failed":
            self._failure = self._failure or message[1]
            raise CommunicationError(self._failure)
        if message[0] == "message":
            self._messages[message[1]].append(message[2])
        return message

    def _post(self, *message: Any) -> None:
        """Send a message, unless something has failed."""
        if self._failure is not None:
            raise CommunicationError(self._failure)
        if self._connection.closed:
            raise CommunicationError(f"rank {self.rank} has left: its communicator is closed")
        if self._faults.before_message():
            self._tell(*message)

    def _tell(self, *message: Any) -> None:
        try:
            self._connection.send(message)
        except OSError:
            return  # who reads next sees why

    def _path(self, name: str) -> str:
        return str(Path(self._told["folder"], name))

    def _mapped(self, name: str, size: int) -> memoryview:
        """Return what another rank wrote to a file."""
        known = self._read.get(name)
        if known is None or len(known) < size:
            with open(name, "rb") as file:
                known = self._read[name] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return memoryview(known)[:size]


def leave(control: Local) -> None:
    """Close all communicators of this process but one; raise what none of them has raised yet."""
    known = any(each._failure is not None for each in _open)
    for each in {*_open} - {control}:
        with suppress(CommunicationError) if known else nullcontext():
            each.close()


class _File:
    """A file that one rank writes and others map; it grows, and keeps its pages."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._map: mmap.mmap | None = None

    def room(self, size: int) -> memoryview:
        """Return the memory of the file's first bytes."""
        if self._map is None or len(self._map) < size:
            with open(self._path, "a+b") as file:
                file.truncate(size)
                self._map = mmap.mmap(file.fileno(), size)
        return memoryview(self._map)[:size]

    def write(self, data: memoryview) -> tuple[str, int]:
        """Write bytes, and return where others find them."""
        self.room(data.nbytes)[:] = data.cast("B")
        return self.payload(data.nbytes)

    def payload(self, size: int) -> tuple[str, int]:
        """Return where others find the first bytes."""
        return self._path, size
