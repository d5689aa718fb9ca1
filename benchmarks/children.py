"""Processes that measure, seen from their parent: one each, and only one is asked at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["KEEPING", "ONE_THREAD", "Child", "ChildError", "MissingLibraryError", "in_threads"]

ROOT = Path(__file__).parents[1]
THREADS = ("BLIS_NUM", "MKL_NUM", "NUMEXPR_NUM", "OMP_NUM", "OPENBLAS_NUM", "VECLIB_MAXIMUM")


def in_threads(count: int) -> dict[str, str]:
    """Return the settings of the libraries' own threads."""
    return {"NPROC": str(count), **{f"{name}_THREADS": str(count) for name in THREADS}}  # XLA's


ONE_THREAD = in_threads(1)
# So that glibc keeps what is freed. By default it gives memory at the end of its heap back, which
# is then cleared again, page by page, or does not: what happens to lie there decides.
KEEPING = {f"MALLOC_{name}_THRESHOLD_": str(4 * 10**9) for name in ("MMAP", "TRIM")}


class ChildError(Exception):
    """A child could not do what it was asked, or is gone."""


class MissingLibraryError(ChildError):
    """A child's library is not installed."""


class Child:
    """A process that measures one implementation; use it in a ``with`` statement.

    Parameters
    ----------
    name : str
        The implementation's name, or that of a module like those in ``implementations``.
    python : str, optional
        The interpreter to run; by default this one.
    patience : float
        How many seconds to wait for an answer, before the child is ended.
    keep_memory : bool
        Whether it keeps what it frees, or gives it back to the system as the C library sees fit.
    threads : int
        How many threads its libraries use.
    """

    def __init__(
        self,
        name: str,
        python: str = sys.executable,
        patience: float = 600.0,
        keep_memory: bool = False,
        threads: int = 1,
    ) -> None:
        self.name = name
        self.alive = True
        self._patience = patience
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by __exit__)
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        try:
            self._process = subprocess.Popen(
                [python, "-m", "benchmarks.child", name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                text=True,
                env={
                    **os.environ,
                    **in_threads(threads),
                    **(KEEPING if keep_memory else {}),
                    "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                },
            )
        except OSError as error:
            self._said.close()
            raise ChildError(f"{name}: {python} does not run: {error}") from error

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()
        self._said.close()

    def load(self) -> Mapping[str, Any]:
        """Let the child import its library; return what it says of itself."""
        answer = self.ask("load")
        if "missing" in answer:
            raise MissingLibraryError(f"{self.name} is left out: {answer['missing']}")
        return answer

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Return the answer to a request, which blocks until it is there.

        Raises
        ------
        ChildError
            The child reports a failure; or it is gone, or took too long, and is not alive.
        """
        patience = threading.Timer(self._patience, self._process.kill)
        patience.daemon = True
        patience.start()
        try:
            line = self._exchange(json.dumps({"do": do, **request}))
        finally:
            late = not patience.is_alive()
            patience.cancel()
        if not line:
            raise ChildError(self._end(late))
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise ChildError(f"{self.name}: {answer['failed']}")
        return answer

    def _exchange(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(line, file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return ""
        return self._process.stdout.readline()

    def _end(self, late: bool = False) -> str:
        """End the process; return how it went, with the last line that it said."""
        self.alive = False
        try:
            self._process.communicate(timeout=5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        if late:
            return f"{self.name}: no answer in {self._patience:g} s; its process was ended"
        self._said.seek(0)
        last = (self._said.read().strip() or "it said nothing").splitlines()[-1]
        return f"{self.name}: its process ended with status {self._process.returncode}: {last}"
