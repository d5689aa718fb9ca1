"""Start the processes of the communicator ``local``, and see that none is left over."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Listener
from typing import Any

from agnograd_distributed._hub import Hub
from agnograd_distributed.local import ENVIRONMENT

__all__ = ["launch"]


def launch(
    size: int, command: Sequence[str], *, timeout: float = 60.0, faults: str = "", **options: Any
) -> list[int]:
    """Run a Python program as several processes that the communicator ``local`` connects.

    When one of them fails, the others are told, and those that have not ended after ``timeout`` are
    ended.

    Parameters
    ----------
    size : int
        How many processes.
    command : sequence of str
        The program and its arguments.
    timeout : float
        The seconds after which a rank that others wait for is late.
    faults : str
        Faults to plant, with commas between them: see ``agnograd_distributed.Fault``.
    **options
        Those of ``subprocess.Popen``.

    Returns
    -------
    list of int
        The exit code of each process, negative if a signal ended it.
    """
    key = secrets.token_bytes(16)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with (
        tempfile.TemporaryDirectory(prefix="agnograd-", dir=memory) as folder,
        Listener(backlog=4 * size) as listener,
    ):
        hub = Hub(listener, size, key)
        told = {"size": size, "address": listener.address, "key": key.hex(), "folder": folder}
        told |= {"timeout": timeout, "faults": faults}
        python = [sys.executable, *(f"-W{each}" for each in sys.warnoptions)]
        processes = [
            subprocess.Popen(
                [*python, "-m", "agnograd_distributed._rank", *command],
                env={**os.environ, ENVIRONMENT: json.dumps({**told, "rank": rank})},
                **options,
            )
            for rank in range(size)
        ]
        try:
            return _ended(processes, hub, timeout)
        finally:
            hub.close()
            for each in processes:
                each.kill()
                each.wait()


def _ended(processes: Sequence[subprocess.Popen[Any]], hub: Hub, timeout: float) -> list[int]:
    """Wait until all processes have ended, or are late after one of them failed."""
    deadline = None
    while True:
        codes = [each.poll() for each in processes]
        bad = [rank for rank, code in enumerate(codes) if code]
        if None not in codes:
            return [code for code in codes if code is not None]
        if bad:
            hub.fail(f"rank {bad[0]} ended with exit code {codes[bad[0]]}")
            deadline = deadline or time.monotonic() + timeout
        if deadline is not None and time.monotonic() > deadline:
            for each in processes:
                each.kill()
        time.sleep(0.01)
