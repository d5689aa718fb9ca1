"""A run of the command: measures a file's calls in a process of its own, and survives its end."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from agnograd_certify._file import CallsError
from agnograd_certify._findings import Finding
from agnograd_certify._report import cell

__all__ = ["CallsRun"]

Note = Callable[[int, int, list[dict[str, Any]]], None]


@dataclass
class CallsRun:
    """What a file's calls come to, on the backends that are named, or on all that are installed.

    A call may take ``timeout`` seconds on a backend. ``cells`` is what was found, also if the run
    was stopped.
    """

    calls: Path
    library: str
    backends: Sequence[str] | None
    checks: Sequence[str]
    environment: dict[str, str]
    timeout: float
    cells: list[dict[str, Any]] = field(default_factory=list)
    _done: list[tuple[str, str]] = field(default_factory=list)
    _total: int = 0

    def __call__(self, note: Note) -> None:
        """Run everything; ``note`` gets how many pairs of calls and backends are done, of how many.

        Raises
        ------
        CallsError
            If the setup of the file fails, or the process ends before the first call.
        """
        while True:
            begun, ended = self._until_it_ends(note)
            if ended is None:
                return
            if begun is None:
                raise CallsError(f"the setup of the calls ended the process: {ended.reason}")
            call, backend = begun
            found = dict.fromkeys(self.checks, Finding("skipped")) | {"gradient": ended}
            cells = [cell(call, backend, *each) for each in found.items()]
            self._add(call, backend, cells, note)

    def _add(self, call: str, backend: str, cells: list[dict[str, Any]], note: Note) -> None:
        self.cells += cells
        self._done.append((call, backend))
        note(len(self._done), self._total, cells)

    def _task(self) -> dict[str, Any]:
        """Return what the process is told."""
        return {
            "calls": os.fspath(self.calls),
            "library": self.library,
            "backends": self.backends,
            "checks": self.checks,
            "done": self._done,
        }

    def _until_it_ends(self, note: Note) -> tuple[tuple[str, str] | None, Finding | None]:
        """Run a process to its end; return what it was at and why it ended, if not by itself."""
        command = [sys.executable, "-m", "agnograd_certify._worker"]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | self.environment,
            start_new_session=True,  # an interrupt from the keyboard is for this process
        )
        assert process.stdin is not None
        assert process.stdout is not None
        begun: tuple[str, str] | None = None
        try:
            with contextlib.suppress(BrokenPipeError):  # it ended before it read that
                process.stdin.write(json.dumps(self._task()))
                process.stdin.close()
            lines = _lines(process.stdout)
            while True:
                try:
                    line = lines.get(timeout=self.timeout)
                except queue.Empty:
                    reason = f"it took longer than {self.timeout:g} s; --timeout allows more"
                    return begun, Finding("hung", reason)
                if line is None:
                    code = process.wait()
                    return begun, Finding("crashed", f"the process ended with status {code}")
                message = json.loads(line)
                if "finished" in message:
                    return None, None
                if "error" in message:
                    raise CallsError(message["error"])
                if "calls" in message:
                    self._total = len(message["calls"]) * len(message["backends"])
                elif "begun" in message:
                    begun = tuple(message["begun"])
                else:
                    call, backend = message["ended"]
                    self._add(call, backend, message["cells"], note)
        finally:
            _end(process)
            process.stdout.close()


def _end(process: subprocess.Popen[str]) -> None:
    """End a process, and those that it started, which may hold its output open."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:  # on Windows
        process.kill()
    process.wait()


def _lines(stream: IO[str]) -> queue.Queue[str | None]:
    """Return a queue of a stream's lines, None at its end: a thread reads it."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        with contextlib.suppress(ValueError):  # it was closed
            for line in stream:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines
