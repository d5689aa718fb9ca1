"""The launcher's end of the communicator ``local``: it brings the ranks' messages together.

A rank has a connection for each of its channels. What it sends is a tuple: ``("round", what,
payload)``, answered by ``("ok", payloads)`` when all ranks have sent theirs; ``("send", to,
payload)``, which arrives there as ``("message", source, payload)``; ``("late", source)``, if it has
waited too long; ``("failed", reason)``; and ``("bye",)``, answered by ``("gone",)``. As soon as
anything fails, every connection gets ``("failed", reason)``, and nothing but ``("gone",)`` from
then on. As all ranks get the end of a round from here, either all of them that are alive see it
succeed, or none.
"""

from __future__ import annotations

import select
import threading
import time
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from multiprocessing.reduction import ForkingPickler
from queue import SimpleQueue
from typing import Any

from agnograd.extend import switch
from agnograd_distributed._communicator import not_taken

__all__ = ["Hub", "Line"]

# A message of so many bytes fits wherever a connection has room.
MESSAGE_BYTES = switch("MESSAGE_BYTES", 2**11, least=0, most=2**11, module=__name__)


class Line:
    """The connection to a rank on a channel. Nobody waits for a rank that does not read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._queue: SimpleQueue[Any] = SimpleQueue()
        self._sending = threading.Lock()
        threading.Thread(target=self._write, daemon=True).start()

    def put(self, message: Any) -> None:
        """Let a message be sent after those before it; None closes the connection."""
        self._queue.put(message)

    def answer(self, message: Any) -> None:
        """Send a message at once if that takes no waiting, which spares a change of threads."""
        data = ForkingPickler.dumps(message)
        if len(data) > MESSAGE_BYTES or not self._sending.acquire(blocking=False):
            self.put(message)
            return
        try:
            if self._queue.empty() and _has_room(self._connection):
                self._connection.send_bytes(data)
            else:
                self.put(message)
        except OSError:
            pass  # the rank is gone, as whoever reads from it tells
        finally:
            self._sending.release()

    def _write(self) -> None:
        while (message := self._queue.get()) is not None:
            with self._sending:
                try:
                    self._connection.send(message)
                except OSError:
                    return
        self._connection.close()


class _Channel:
    """One channel of all ranks: their connections, and the round that is under way."""

    def __init__(self) -> None:
        self.lines: dict[int, Line] = {}
        self.waiting: dict[int, tuple[str, Any]] = {}  # by rank: the collective, and the payload
        self.early: dict[int, list[Any]] = {}  # messages to ranks that are yet to connect
        self.left: set[int] = set()


class Hub:
    """Connect ranks with each other, and tell all of them of a failure.

    Parameters
    ----------
    listener : Listener
        Without a key, which it would ask for while others wait.
    size : int
        The number of ranks.
    key : bytes
        What ranks know, and nobody else.
    """

    def __init__(self, listener: Listener, size: int, key: bytes) -> None:
        self._listener, self._size, self._key = listener, size, key
        self._closed = False
        self._channels: dict[str, _Channel] = {}
        self._lock = threading.Lock()
        self.failure: str | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._closed = True
        self._listener.close()

    def fail(self, reason: str) -> None:
        """Tell all ranks of a failure; only the first one counts."""
        with self._lock:
            self._fail(reason)

    def _fail(self, reason: str) -> None:
        if self.failure is None:
            self.failure = reason
            for channel in self._channels.values():
                for line in channel.lines.values():
                    line.put(("failed", reason))

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except OSError:  # it is closed, or whoever came is gone, or there are too many files
                time.sleep(0.01)
                continue
            threading.Thread(target=self._welcome, args=(connection,), daemon=True).start()

    def _welcome(self, connection: Connection) -> None:
        """Serve whoever knows the key: a stranger, who may say nothing at all, is left alone."""
        try:
            deliver_challenge(connection, self._key)
            answer_challenge(connection, self._key)
        except (AuthenticationError, OSError, EOFError):
            connection.close()
            return
        self._serve(connection)

    def _serve(self, connection: Connection) -> None:
        """Take the messages of one rank on one channel until it leaves."""
        rank, name = connection.recv()
        line = Line(connection)
        with self._lock:
            channel = self._channels.setdefault(name, _Channel())
            channel.lines[rank] = line
            for message in channel.early.pop(rank, ()):
                line.put(message)
            if self.failure is not None:
                line.put(("failed", self.failure))
        while True:
            try:
                kind, *rest = connection.recv()
            except (EOFError, OSError):
                self.fail(f"rank {rank} ended before the others were done")
                return
            if kind == "bye":
                with self._lock:
                    channel.left.add(rank)
                    self._check_left(channel)
                line.put(("gone",))
                line.put(None)
                return
            with self._lock:
                getattr(self, f"_on_{kind}")(channel, rank, *rest)

    def _on_round(self, channel: _Channel, rank: int, what: str, payload: Any) -> None:
        channel.waiting[rank] = what, payload
        first = min(channel.waiting)
        for other, (theirs, _) in channel.waiting.items():
            if theirs != channel.waiting[first][0]:
                self._fail(
                    f"rank {other} calls {theirs}, but rank {first} calls "
                    f"{channel.waiting[first][0]}; all ranks must call the same"
                )
                return
        if len(channel.waiting) == self._size and self.failure is None:
            payloads = [channel.waiting[each][1] for each in range(self._size)]
            channel.waiting.clear()
            for line in channel.lines.values():
                line.answer(("ok", payloads))
        else:
            self._check_left(channel)

    def _on_send(self, channel: _Channel, rank: int, to: int, payload: Any) -> None:
        message = "message", rank, payload
        if to in channel.left:
            self._fail(not_taken(rank, to))
        elif to in channel.lines:
            channel.lines[to].put(message)
        else:
            channel.early.setdefault(to, []).append(message)

    def _on_late(self, channel: _Channel, rank: int, seconds: float, source: int | None) -> None:
        if source is None:
            late = sorted({*range(self._size)} - {*channel.waiting})
            names = " and ".join(f"rank {each}" for each in late)
            what = channel.waiting[rank][0] if rank in channel.waiting else "a collective"
            self._fail(f"{names} did not come to {what} within {seconds:g} s of rank {rank}")
        else:
            self._fail(f"rank {source} sent nothing to rank {rank} within {seconds:g} s")

    def _on_failed(self, channel: _Channel, rank: int, reason: str) -> None:
        self._fail(reason)

    def _check_left(self, channel: _Channel) -> None:
        if channel.left and channel.waiting:
            self._fail(f"rank {min(channel.left)} has left, but other ranks wait for it")


def _has_room(connection: Connection) -> bool:
    """Return whether a connection takes a short message now, though nobody reads."""
    if not hasattr(select, "poll"):  # Windows
        return False
    poll = select.poll()
    poll.register(connection, select.POLLOUT)
    return bool(poll.poll(0))
