"""A stand-in for NCCL as CuPy has it, for processes of the communicator ``local``.

It reads and writes host memory at the addresses that arrays of ``cupy_over_numpy`` give, and has
the functions that ``cupy.cuda.nccl`` documents, with their parameters by position. Importing it
puts both in CuPy's place.
"""

import ctypes
import sys
from types import ModuleType

import numpy as np

import cupy_over_numpy  # noqa: F401 - it takes CuPy's place
from agnograd_distributed import Local

DTYPES = {"FLOAT16": "f2", "FLOAT32": "f4", "FLOAT64": "f8", "INT32": "i4", "INT64": "i8"}
calls = []
aborted = False


class NcclError(RuntimeError):
    """What NCCL raises."""


def at(address, count, kind):
    """Return the memory at an address as an array."""
    dtype = np.dtype(DTYPES[kind])
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(memory, dtype)


class NcclCommunicator:
    """One rank's end; what goes between devices goes through files of the machine."""

    def __init__(self, ndev, commId, rank):  # noqa: N803 - as CuPy calls it
        assert commId == get_unique_id()
        self._local = Local()
        assert (self._local.size, self._local.rank) == (ndev, rank)
        self._sent = []

    def _all(self, name, address, count, kind):
        calls.append(name)
        own = at(address, count, kind)
        found = [np.empty_like(own)] * self._local.size
        for rank in range(self._local.size):
            found[rank] = self._local.broadcast(own, rank)
        return found

    def allReduce(self, sendbuf, recvbuf, count, datatype, op, stream):  # noqa: N802
        """Add up."""
        assert op == "SUM"
        at(recvbuf, count, datatype)[:] = sum(self._all("allReduce", sendbuf, count, datatype))

    def allGather(self, sendbuf, recvbuf, count, datatype, stream):  # noqa: N802
        """Take from all."""
        found = np.concatenate(self._all("allGather", sendbuf, count, datatype))
        at(recvbuf, len(found), datatype)[:] = found

    def reduceScatter(self, sendbuf, recvbuf, recvcount, datatype, op, stream):  # noqa: N802
        """Add up, and take a part."""
        assert op == "SUM"
        total = sum(self._all("reduceScatter", sendbuf, recvcount * self._local.size, datatype))
        start = recvcount * self._local.rank
        at(recvbuf, recvcount, datatype)[:] = total[start : start + recvcount]

    def broadcast(self, sendbuff, recvbuff, count, datatype, root, stream):
        """Take from one."""
        found = self._all("broadcast", sendbuff, count, datatype)
        at(recvbuff, count, datatype)[:] = found[root]

    def send(self, sendbuf, count, datatype, peer, stream):
        """Send to a rank, in a group."""
        assert grouped
        calls.append("send")
        self._local.send(at(sendbuf, count, datatype).copy(), peer)

    def recv(self, recvbuf, count, datatype, peer, stream):
        """Receive from a rank when the group ends."""
        into = at(recvbuf, count, datatype)
        grouped.append(lambda: np.copyto(into, self._local.receive(into, peer)))

    def check_async_error(self):
        """Raise what NCCL found meanwhile."""

    def abort(self):
        """Stop what runs."""
        global aborted
        aborted = True


grouped = []


def groupStart():  # noqa: N802
    """Begin a group."""
    grouped.append(lambda: None)


def groupEnd():  # noqa: N802
    """Do what was asked for in the group."""
    while grouped:
        grouped.pop(0)()


def get_unique_id():
    """Return what is the same for all ranks: bytes as numbers."""
    return tuple(range(-64, 64))


def install():
    """Be the module ``cupy.cuda.nccl``."""
    module = ModuleType("cupy.cuda.nccl")
    own = (NcclCommunicator, NcclError, groupStart, groupEnd, get_unique_id)
    vars(module).update({each.__name__: each for each in own}, available=True, NCCL_SUM="SUM")
    vars(module).update({f"NCCL_{name}": name for name in DTYPES})
    sys.modules["cupy.cuda.nccl"] = module


install()
