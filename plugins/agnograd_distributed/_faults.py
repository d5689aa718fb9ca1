"""Planted faults of the communicator ``local``, for tests of what must survive them."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import NamedTuple

__all__ = ["Fault", "Faults"]


class Fault(NamedTuple):
    """What happens to one message that a rank sends: ``KIND:RANK@NUMBER``, or with ``:SECONDS``.

    ``kill`` ends the process by a signal before it sends the message; ``raise`` raises an error in
    its place; ``drop`` loses the message; ``delay`` waits for some seconds first.
    """

    kind: str
    rank: int
    number: int
    seconds: float = 0.0

    @classmethod
    def parsed(cls, text: str) -> Fault:
        """Return the fault that a text says."""
        kind, _, rest = text.partition(":")
        place, _, seconds = rest.partition(":")
        rank, _, number = place.partition("@")
        try:
            if kind not in ("kill", "raise", "drop", "delay"):
                raise ValueError(kind)
            return cls(kind, int(rank), int(number), float(seconds or 0.0))
        except ValueError as error:
            raise ValueError(
                f"a fault is KIND:RANK@NUMBER, or delay:RANK@NUMBER:SECONDS, with a KIND of kill, "
                f"raise, drop or delay; {text!r} is not"
            ) from error


class Faults:
    """The faults of one process, and how many messages it has sent on all its channels."""

    def __init__(self, text: str, rank: int) -> None:
        planted = [Fault.parsed(each) for each in text.split(",") if each]
        self._planted = {each.number: each for each in planted if each.rank == rank}
        self._sent = 0
        self._lock = threading.Lock()

    def before_message(self) -> bool:
        """Let a fault happen before the next message, and return whether that is sent."""
        with self._lock:
            fault = self._planted.get(self._sent)
            self._sent += 1
        if fault is None:
            return True
        if fault.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault.kind == "raise":
            raise RuntimeError(f"a planted fault, at message {fault.number}")
        time.sleep(fault.seconds)
        return fault.kind != "drop"
