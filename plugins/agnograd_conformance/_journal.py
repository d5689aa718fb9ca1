"""A report on disk while its run goes on: what a run that dies has found so far."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["Journal"]


class Journal:
    """A report in a file that is complete JSON after every result.

    A library may take the whole process down with it: then the file says which checks were
    running. What ends well is written once more, in order.
    """

    def __init__(self, path: Path, report: dict[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("w", encoding="utf-8")
        self._running: list[str] = []
        fields = {key: value for key, value in report.items() if key not in _WHILE_RUNNING}
        self._file.write(json.dumps(fields)[:-1] + ', "results": [')
        self._end = self._file.tell()
        self._separator = "\n"
        self._close_brackets()

    def start(self, name: str) -> None:
        """Note that something runs."""
        self._running.append(name)
        self._close_brackets()

    def stop(self, name: str) -> None:
        """Note that it does not run any more."""
        if name in self._running:
            self._running.remove(name)

    def note(self, found: dict[str, Any]) -> None:
        """Note what came of an item."""
        self._file.seek(self._end)
        self._file.write(self._separator + json.dumps(found))
        self._end, self._separator = self._file.tell(), ",\n"
        self._close_brackets()

    def close(self) -> None:
        """Leave the file as it is."""
        self._file.close()

    def _close_brackets(self) -> None:
        self._file.seek(self._end)
        rest = {"running": self._running, "finished": False}
        self._file.write("],\n" + json.dumps(rest)[1:] + "\n")
        self._file.truncate()
        self._file.flush()


# What stands behind the results.
_WHILE_RUNNING = ("results", "running", "finished")
