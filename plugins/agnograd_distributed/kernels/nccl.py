"""The communicator ``nccl``, by CuPy: collectives from device to device, one for each process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from agnograd_distributed._communicator import Communicator, communicator
from agnograd_distributed.kernels.host import Host

__all__ = ["NCCL"]

# By the character of a dtype: the name of NCCL's type, and how many of them an element is.
_TYPES = {
    "e": ("FLOAT16", 1),
    "f": ("FLOAT32", 1),
    "d": ("FLOAT64", 1),
    "F": ("FLOAT32", 2),
    "D": ("FLOAT64", 2),
    "i": ("INT32", 1),
    "l": ("INT64", 1),
}


class NCCL(Communicator):
    """Processes with a device each, of which CuPy's arrays go from device to device.

    Another communicator says who the ranks are, and carries everything else: short messages, which
    name a rank that is late, messages from one rank to another, and arrays in host memory.
    ``cupy.cuda.nccl`` documents NCCL's functions.

    Parameters
    ----------
    timeout : float
        The seconds after which a rank is late.
    host : Communicator, optional
        The other communicator, by default the one that the processes were started with.
    device : int, optional
        The device of this process, which becomes the current one. By default the ranks take the
        devices of a machine in turns.

    Raises
    ------
    ImportError
        If CuPy, or NCCL, is not installed.
    """

    def __init__(
        self, *, timeout: float = 60.0, host: Communicator | None = None, device: int | None = None
    ) -> None:
        import cupy
        from cupy.cuda import nccl

        if not nccl.available:
            raise ImportError("CuPy finds no NCCL: pip install nvidia-nccl-cu13, or -cu12")
        host = host or communicator()
        host.timeout = timeout
        if device is None:
            device = host.rank % cupy.cuda.runtime.getDeviceCount()
        cupy.cuda.Device(device).use()
        self._begin(cupy, nccl, host, device)

    def _begin(self, cupy: Any, library: Any, host: Communicator, device: int) -> None:
        self._cupy, self._library, self._host, self._device = cupy, library, host, device
        self.rank, self.size, self.timeout = host.rank, host.size, host.timeout
        self._made: Any = None  # NCCL's communicator, from the first collective on

    def channel(self) -> NCCL:
        """Return a communicator of the same ranks that another thread may use; a collective."""
        made = object.__new__(type(self))
        made._begin(self._cupy, self._library, self._host.channel(), self._device)
        return made

    def fail(self, reason: str) -> None:
        """Let all other ranks' calls raise, now and later."""
        self._host.fail(reason)

    def close(self) -> None:
        """Leave: no other rank waits for this one from now on."""
        self._host.close()

    def _gather(self, what: str, data: Any) -> Any:
        return self._host._gather(what, data)

    def _send(self, data: Any, to: int) -> None:
        self._host._send(data, to)

    def _receive(self, source: int) -> Any:
        return self._host._receive(source)

    def _waits(self, source: int) -> bool:
        return self._host._waits(source)

    def _sum(self, host: Host, what: str) -> Host:
        return self._host._sum(host, what)  # type: ignore[no-any-return]

    def _mean(self, hosts: Sequence[Host], results: Sequence[Host], what: str) -> None:
        self._host._mean(hosts, results, what)

    def _takes(self, array: Any) -> bool:
        return isinstance(array, self._cupy.ndarray) and array.dtype.char in _TYPES

    def _collective(self, name: str, source: Any, result: Any, root: int) -> None:
        cupy, library = self._cupy, self._library
        with cupy.cuda.Device(self._device):
            comm = self._communicator()
            kind, each = _TYPES[source.dtype.char]
            source = cupy.ascontiguousarray(source)
            given, taken = source.data.ptr, result.data.ptr
            count, kind = each * source.size, getattr(library, f"NCCL_{kind}")
            stream, done = cupy.cuda.get_current_stream(), cupy.cuda.Event()
            if name == "all_sum":
                comm.allReduce(given, taken, count, kind, library.NCCL_SUM, stream.ptr)
            elif name == "all_gather":
                comm.allGather(given, taken, count, kind, stream.ptr)
            elif name == "reduce_scatter":
                part = count // self.size
                comm.reduceScatter(given, taken, part, kind, library.NCCL_SUM, stream.ptr)
            elif name == "broadcast":
                comm.broadcast(given, taken, count, kind, root, stream.ptr)
            else:
                self._all_to_all(source, result, count // self.size, kind, stream.ptr)
            done.record(stream)
            try:
                ended = self._until(lambda: done.done, comm.check_async_error)
            except library.NcclError as error:
                self._give_up(f"a rank ended in {name}; which, NCCL hides: {error}")
            if not ended:
                self._give_up(f"a rank did not end {name} within {self.timeout:g} s")

    def _give_up(self, reason: str) -> NoReturn:
        """Stop what runs on the device, and let all ranks raise."""
        self._made.abort()
        self._made = None
        super()._give_up(reason)

    def _all_to_all(self, source: Any, result: Any, count: int, kind: int, stream: int) -> None:
        """Send a part to each rank, and receive one from each, in one go."""
        nbytes = source.nbytes // self.size
        self._library.groupStart()
        for rank in range(self.size):
            self._made.send(source.data.ptr + rank * nbytes, count, kind, rank, stream)
            self._made.recv(result.data.ptr + rank * nbytes, count, kind, rank, stream)
        self._library.groupEnd()

    def _communicator(self) -> Any:
        """Return NCCL's communicator of this process's device; making it is a collective."""
        if self._made is None:
            own = self._library.get_unique_id() if self.rank == 0 else None
            of_all = self._host.objects(own)[0]
            self._made = self._library.NcclCommunicator(self.size, of_all, self.rank)
        return self._made
