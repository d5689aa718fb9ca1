"""The communicator ``mpi``, by mpi4py: whatever ``mpiexec`` starts, on one machine or many."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from agnograd_distributed._communicator import CommunicationError, Communicator
from agnograd_distributed.kernels.host import Host, sum_of

__all__ = ["MPI"]

# What MPICH, Open MPI and those derived from them tell the processes that they start.
_STARTED = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS")
_GATHER, _MESSAGE = 1, 2  # tags


class MPI(Communicator):
    """The processes of an MPI communicator.

    Each collective begins with a short message from every rank to every other, so that a late rank,
    or one that calls something else, is named. Sums are MPI's own ``Iallreduce``. Most MPIs end
    all processes if one is killed. The ``AllReduce`` hook needs an MPI with
    ``MPI_THREAD_MULTIPLE``, since its thread communicates.

    Parameters
    ----------
    timeout : float
        The seconds after which a rank is late.
    comm : mpi4py.MPI.Comm, optional
        The processes, by default all of them. A duplicate of it is used.
    """

    def __init__(self, *, timeout: float = 60.0, comm: Any = None) -> None:
        from mpi4py import MPI as mpi  # noqa: N811 - starts MPI

        self._mpi = mpi
        self._comm = (mpi.COMM_WORLD if comm is None else comm).Dup()
        self.rank, self.size, self.timeout = self._comm.rank, self._comm.size, timeout
        self._sent: list[Any] = []  # requests, which keep what they send
        self._failure: str | None = None

    @classmethod
    def found(cls) -> bool:
        """Return whether an MPI started this process."""
        return find_spec("mpi4py") is not None and any(each in os.environ for each in _STARTED)

    def channel(self) -> MPI:
        """Return a communicator of the same ranks that another thread may use; a collective."""
        if self._mpi.Query_thread() < self._mpi.THREAD_MULTIPLE:
            raise CommunicationError(
                "this MPI does not let several threads communicate (MPI_THREAD_MULTIPLE), which "
                "a channel needs; take the mean of gradients after the pass instead"
            )
        self._gather("channel", b"")
        return MPI(timeout=self.timeout, comm=self._comm)

    def fail(self, reason: str) -> None:
        """Let all other ranks' next calls on this channel raise."""
        if self._failure is None:
            self._failure = reason
            self._tell(("failed", reason, b""), _GATHER)
            self._tell(("failed", reason, b""), _MESSAGE)

    def close(self) -> None:
        """Wait until what was sent has arrived, for as long as a rank may be late."""
        self._until(lambda: all(each.Test() for each in self._sent))
        self._sent.clear()

    def _gather(self, what: str, data: Any) -> Sequence[Any]:
        own = bytes(memoryview(data))
        self._check()
        self._sent = [each for each in self._sent if not each.Test()]
        self._tell(("data", what, own), _GATHER)
        found = [own] * self.size
        for source in range(self.size):
            if source != self.rank:
                called, found[source] = self._from(source, _GATHER, f"did not come to {what}")
                self._check_called(source, called, what)
        return found

    def _sum(self, host: Host, what: str) -> Host:
        what = f"{what} of {host.dtype} and shape {host.shape}"
        if host.dtype.char not in "fdFD":
            return sum_of(self._arrays(host, what))
        self._gather(what, b"")
        total: Host = host.copy()
        request = self._comm.Iallreduce(self._mpi.IN_PLACE, total)
        if not self._until(request.Test):
            self._give_up(f"a rank did not end {what} within {self.timeout:g} s; which, MPI hides")
        return total

    def _send(self, data: Any, to: int) -> None:
        self._check()
        message = "data", "send", bytes(data)
        self._sent.append(self._comm.isend(message, dest=to, tag=_MESSAGE))

    def _waits(self, source: int) -> bool:
        return bool(self._comm.iprobe(source=source, tag=_MESSAGE))

    def _receive(self, source: int) -> Any:
        self._check()
        _, data = self._from(source, _MESSAGE, f"sent nothing to rank {self.rank}")
        return data

    def _from(self, source: int, tag: int, missed: str) -> tuple[str, Any]:
        """Return what a rank sent: the collective that it calls, and its bytes."""
        found: list[Any] = []

        def arrived() -> bool:
            message = self._comm.improbe(source=source, tag=tag)
            if message is not None:
                found.append(message.recv())
            return bool(found)

        if not self._until(arrived):
            self._give_up(f"rank {source} {missed} within {self.timeout:g} s of rank {self.rank}")
        kind, what, data = found[0]
        if kind == "failed":
            self._failure = what
            raise CommunicationError(what)
        return what, data

    def _check(self) -> None:
        if self._failure is not None:
            raise CommunicationError(self._failure)

    def _tell(self, message: Any, tag: int) -> None:
        others = [each for each in range(self.size) if each != self.rank]
        self._sent += [self._comm.isend(message, dest=each, tag=tag) for each in others]
