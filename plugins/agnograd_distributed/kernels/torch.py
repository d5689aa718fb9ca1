"""The communicator ``torch``, by torch.distributed: what ``torchrun`` starts, gloo or NCCL."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from datetime import timedelta
from importlib.util import find_spec
from itertools import count
from typing import Any, NoReturn

from agnograd_distributed._communicator import CommunicationError, Communicator
from agnograd_distributed.kernels.host import Host

__all__ = ["Torch"]

_numbers = count()


class Torch(Communicator):
    """The processes of ``torch.distributed``, whose process group is made unless there is one.

    Short messages, and those from one rank to another, go through its key-value store: so a late
    rank, or one that calls something else, is named. Floating-point tensors stay where they are in
    collectives: on the CPU with gloo, and on the GPU with NCCL. Other arrays are summed by the
    group as well, and go through the store for all other collectives.

    Parameters
    ----------
    timeout : float
        The seconds after which a rank is late.
    backend : str
        ``"gloo"`` or ``"nccl"``, for a process group that is made. With NCCL, each process takes
        the GPU of its ``LOCAL_RANK`` as the current one.
    """

    def __init__(self, *, timeout: float = 60.0, backend: str = "gloo") -> None:
        import torch
        import torch.distributed as dist

        if not dist.is_initialized():
            if backend == "nccl":
                torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
            dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
        self._begin(torch, dist.group.WORLD, timeout)

    def _begin(self, torch: Any, group: Any, timeout: float) -> None:
        self._torch, self._group, self.timeout = torch, group, timeout
        dist = torch.distributed
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._nccl = dist.get_backend(group) == "nccl"
        store = dist.distributed_c10d._get_default_store()
        self._store = dist.PrefixStore(f"agnograd-{next(_numbers)}", store)
        self._everyone = dist.PrefixStore("agnograd", store)
        self._rounds = 0
        self._messages: dict[tuple[int, int], int] = {}

    @classmethod
    def found(cls) -> bool:
        """Return whether ``torchrun``, or one like it, started this process."""
        told = {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= {*os.environ}
        return told and find_spec("torch") is not None

    def channel(self) -> Torch:
        """Return a communicator of the same ranks that another thread may use; a collective."""
        self._gather("channel", b"")
        made = object.__new__(type(self))
        group = self._torch.distributed.new_group(timeout=timedelta(seconds=self.timeout))
        made._begin(self._torch, group, self.timeout)
        return made

    def fail(self, reason: str) -> None:
        """Let all other ranks' calls raise, now and later."""
        self._everyone.compare_set("failed", "", reason)

    def _gather(self, what: str, data: Any) -> Sequence[Any]:
        own = bytes(memoryview(data))
        self._rounds += 1
        self._store.set(f"{self._rounds}/{self.rank}", pickle.dumps((what, own)))
        if self._rounds > 2:  # who comes to a round has read all of the one before
            self._store.delete_key(f"{self._rounds - 2}/{self.rank}")
        found = []
        for source in range(self.size):
            late = f"rank {source} did not come to {what}"
            called, each = pickle.loads(self._wait(f"{self._rounds}/{source}", late))
            self._check_called(source, called, what)
            found.append(each)
        return found

    def _sum(self, host: Host, what: str) -> Host:
        if host.dtype.char not in "fdFD":
            return super()._sum(host, what)  # type: ignore[no-any-return]
        self._gather(f"{what} of {host.dtype} and shape {host.shape}", b"")
        total = self._torch.asarray(host.copy(), device="cuda" if self._nccl else "cpu")
        self._collective(what, total, total, 0)
        return total.cpu().numpy()  # type: ignore[no-any-return]

    def _takes(self, array: Any) -> bool:
        if not isinstance(array, self._torch.Tensor) or array.is_cuda != self._nccl:
            return False
        return bool(array.is_floating_point() or array.is_complex())

    def _collective(self, name: str, source: Any, result: Any, root: int) -> None:
        dist, group = self._torch.distributed, self._group
        source = source.contiguous()
        if source.is_complex():  # not all of these functions know complex numbers
            source, result = (self._torch.view_as_real(each) for each in (source, result))
        try:
            if name == "all_gather":
                gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
                work = gather(result, source, group, async_op=True)
            elif name == "reduce_scatter":
                scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
                work = scatter(result, source, group=group, async_op=True)
            elif name == "all_to_all":
                work = dist.all_to_all_single(result, source, group=group, async_op=True)
            else:
                result.copy_(source)
                if name == "broadcast":
                    work = dist.broadcast(result, root, group, async_op=True)
                else:
                    work = dist.all_reduce(result, group=group, async_op=True)
            # PyTorch ends the process if one of NCCL takes too long; gloo raises an error.
            if self._nccl and not self._until(work.is_completed, self._check):
                raise RuntimeError(f"it took longer than {self.timeout:g} s")
            work.wait()
        except CommunicationError:
            raise
        except RuntimeError as error:
            self._give_up(f"a rank ended in {name}: {error}")

    def _check(self) -> None:
        """Raise if a rank has failed."""
        reason = self._failure()
        if reason is not None:
            raise CommunicationError(reason)

    def _waits(self, source: int) -> bool:
        number = self._messages.get((source, self.rank), 0)
        return bool(self._store.check([f"{source}-{self.rank}/{number}"]))

    def _send(self, data: Any, to: int) -> None:
        self._store.set(self._key(self.rank, to), bytes(data))

    def _receive(self, source: int) -> Any:
        key = self._key(source, self.rank)
        found = self._wait(key, f"rank {source} sent nothing to rank {self.rank}")
        self._store.delete_key(key)
        return found

    def _key(self, source: int, to: int) -> str:
        number = self._messages.get((source, to), 0)
        self._messages[source, to] = number + 1
        return f"{source}-{to}/{number}"

    def _wait(self, key: str, late: str) -> bytes:
        """Return what a rank puts in the store, or raise if it is late or any rank failed."""
        if not self._until(lambda: self._store.check([key]), self._check):
            self._give_up(f"{late} within {self.timeout:g} s of rank {self.rank}")
        return self._store.get(key)  # type: ignore[no-any-return]

    def _failure(self) -> str | None:
        if not self._everyone.check(["failed"]):
            return None
        return self._everyone.get("failed").decode()  # type: ignore[no-any-return]

    def _give_up(self, reason: str) -> NoReturn:
        self.fail(reason)
        raise CommunicationError(self._failure() or reason)
