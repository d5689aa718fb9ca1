"""The communicator ``torch``, by torch.distributed: what ``torchrun`` starts, gloo or NCCL."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Sequence
from datetime import timedelta
from importlib.util import find_spec
from itertools import count
from typing import Any

from agnograd_distributed._communicator import CommunicationError, Communicator
from agnograd_distributed.kernels.host import Host

__all__ = ["Torch"]

_numbers = count()


class Torch(Communicator):
    """The processes of ``torch.distributed``, whose process group is made unless there is one.

    Short messages, and those from one rank to another, go through its key-value store: so a late
    rank, or one that calls something else, is named. Sums are ``all_reduce`` of the group, on the
    current GPU if that is one of NCCL.

    Parameters
    ----------
    timeout : float
        The seconds after which a rank is late.
    backend : str
        ``"gloo"`` or ``"nccl"``, for a process group that is made.
    """

    def __init__(self, *, timeout: float = 60.0, backend: str = "gloo") -> None:
        import torch
        import torch.distributed as dist

        if not dist.is_initialized():
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
            if called != what:
                reason = f"rank {source} calls {called}, but rank {self.rank} calls {what}"
                self._give_up(f"{reason}; all ranks must call the same")
            found.append(each)
        return found

    def _sum(self, host: Host, what: str) -> Host:
        self._gather(f"{what} of {host.dtype} and shape {host.shape}", b"")
        total = self._torch.asarray(host.copy(), device="cuda" if self._nccl else "cpu")
        try:
            self._torch.distributed.all_reduce(total, group=self._group)
        except RuntimeError as error:
            reason = self._failure() or f"a rank ended in {what}: {error}"
            raise CommunicationError(reason) from error
        return total.cpu().numpy()  # type: ignore[no-any-return]

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
        deadline, pause = time.monotonic() + self.timeout, 0.0
        while not self._store.check([key]):
            reason = self._failure()
            if reason is not None:
                raise CommunicationError(reason)
            if time.monotonic() > deadline:
                self._give_up(f"{late} within {self.timeout:g} s of rank {self.rank}")
            time.sleep(pause)
            pause = min(pause + 1e-5, 1e-3)
        return self._store.get(key)  # type: ignore[no-any-return]

    def _failure(self) -> str | None:
        if not self._everyone.check(["failed"]):
            return None
        return self._everyone.get("failed").decode()  # type: ignore[no-any-return]

    def _give_up(self, reason: str) -> None:
        self.fail(reason)
        raise CommunicationError(self._failure() or reason)
