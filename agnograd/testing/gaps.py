"""Known gaps of a library: what must fail, with which error, and why."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from agnograd import errors

__all__ = ["Gap", "GapError", "exception_named", "read_gaps"]


class GapError(ValueError):
    """A file of gaps cannot be read, or names what does not exist."""


class Gap(NamedTuple):
    """One line of a file of gaps.

    Attributes
    ----------
    error : type
        The exception that it leads to.
    pattern : str
        What fails, in which ``*`` stands for anything.
    reason : str
        The comment above it.
    """

    error: type[BaseException]
    pattern: str
    reason: str

    def __str__(self) -> str:
        return f"{self.error.__name__} {self.pattern}"

    def is_of(self, name: str) -> bool:
        """Return whether something of this name is meant."""
        return re.fullmatch(re.escape(self.pattern).replace(r"\*", ".*"), name) is not None


def exception_named(name: str) -> type[BaseException] | None:
    """Return an exception of Python or ``agnograd.errors``."""
    found = getattr(builtins, name, None) or getattr(errors, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def read_gaps(
    path: Path, wanted: Callable[[str], bool] = lambda line: ".py::" not in line
) -> list[Gap]:
    """Return the gaps of a file.

    A line is the name of an exception and a pattern; the comment lines above it are the reason.

    Parameters
    ----------
    path : Path
        The file.
    wanted : callable, optional
        Which lines are meant; by default those that name no test in a ``.py`` file: one file may
        serve several suites.

    Raises
    ------
    GapError
        If it is not text, or a line has another form, no reason, or names no exception.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise GapError(f"{path} is not UTF-8 text: {error}") from error
    found, reason, above = [], "", False
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            reason, above = (f"{reason} " if above else "") + line.strip("# "), True
            continue
        above = False
        if not line.strip() or not wanted(line):
            continue
        name, _, pattern = line.partition(" ")
        kind = exception_named(name)
        if kind is None:
            raise GapError(
                f"{path}:{number}: {name!r} is not an exception of Python or agnograd.errors"
            )
        if not pattern or not reason:
            raise GapError(f"{path}:{number}: a gap has a pattern, and a reason above it")
        found.append(Gap(kind, pattern, reason))
    return found
