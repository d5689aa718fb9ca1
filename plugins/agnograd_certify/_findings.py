"""What a check of a call came to, and at which line of the certified library it was decided."""

from __future__ import annotations

import contextlib
import linecache
import re
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType

from agnograd import backends, errors
from agnograd.extend import backend_named
from agnograd.testing.gaps import exception_named

__all__ = [
    "BAD",
    "CHECKS",
    "STATUSES",
    "Finding",
    "innermost",
    "of_error",
    "place_of",
    "said",
    "short",
]

CHECKS = {
    "gradient": "The gradient is that of central differences on plain NumPy arrays.",
    "second": "The gradient of the gradient is that of differences of the gradient.",
    "forward": "A push of tangents agrees with the gradient.",
    "vmap": "vmap over two members gives the values and gradients of single calls.",
    "compiled": "A compiled call gives the call's values and gradients, traced and run again.",
    "dtype": "Single precision stays single: the results, and the gradients.",
}
STATUSES = {
    "right": "It holds.",
    "no gradient": "The result is piecewise constant: differences are zero as well.",
    "not smooth": "Differences of two step widths disagree at every element.",
    "unsupported": "The library does not take plain arrays of this backend there either.",
    "skipped": "The gradient is not right, and so there is nothing to compare with.",
    "wrong": "The value, or a derivative, is another one.",
    "lost": "A result that depends on the arrays is not connected to them, and nothing said so.",
    "warned": "A result lost its gradient, or a part of it, and a LostGradientWarning said so.",
    "NaN": "The derivative is not finite where differences are.",
    "refused": "An exception says what is not possible.",
    "widened": "A result has double precision though all arrays have single.",
    "broken": "The call fails on plain NumPy arrays.",
    "crashed": "The process ended.",
    "hung": "The call took longer than it may.",
}
# What an exit status and a badge hold against a library. What fails as these do is in a file of
# gaps by the name of an exception.
BAD = {
    "wrong": "AssertionError",
    "lost": "LostGradientError",
    "warned": "LostGradientWarning",
    "NaN": "FloatingPointError",
    "refused": "Exception",
    "widened": "AssertionError",
    "broken": "Exception",
    "crashed": "SystemError",
    "hung": "TimeoutError",
}


@dataclass
class Finding:
    """What a check of a call on a backend came to.

    Attributes
    ----------
    status : str
        One of ``STATUSES``.
    reason : str
        Why, if there is something to say.
    where : str
        The line of the certified library where it was decided, as ``file:line in function: code``;
        empty where it is not known.
    error : str
        The exception's name, for a file of gaps: the nearest one of Python or ``agnograd.errors``.
    warnings : list of str
        What the call warned of on the backend, and did not on plain NumPy arrays.
    """

    status: str
    reason: str = ""
    where: str = ""
    error: str = ""
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.error = self.error or BAD.get(self.status, "")

    @property
    def bad(self) -> bool:
        """Whether it is held against the library."""
        return self.status in BAD


def of_error(status: str, error: BaseException, theirs: Sequence[str]) -> Finding:
    """Return the finding that an exception is."""
    found = innermost(list(traceback.walk_tb(error.__traceback__)), theirs)
    where = "" if found is None else place_of(*found)
    return Finding(status, said(error), where, _listed(type(error)))


def said(error: BaseException) -> str:
    """Return an exception's name and message, in one line."""
    message = "(its text raises an exception)"
    with contextlib.suppress(Exception):
        message = str(error)
    # Where an expression is called by agnograd has no name that says anything.
    message = re.sub(r" \((<agnograd[^>]*>|\S+agnograd/_built/\w+\.py):\d+\)", "", message)
    # A certificate does not say where on this machine a library is installed.
    message = re.sub(
        r"(?<![^\s'\"(])(/|[A-Za-z]:\\)[^\s:]+\.py\b", lambda found: _relative(found[0]), message
    )
    return short(f"{type(error).__name__}: {message}")


def short(text: str) -> str:
    """Return a text in one line of at most 400 characters."""
    return " ".join(text.split())[:400]


def _listed(kind: type) -> str:
    """Return the name of the nearest base that a file of gaps can name."""
    return next(base.__name__ for base in kind.__mro__ if exception_named(base.__name__) is base)


def innermost(
    frames: Sequence[tuple[FrameType, int]], theirs: Sequence[str]
) -> tuple[str, int, str] | None:
    """Return the file, line and function of the innermost frame in the certified library.

    Where none is, it is the innermost one in code of neither agnograd, Python, nor an array
    library; None if there is none of these either. The innermost of the given frames is the last.
    """
    for others in (False, True):
        for frame, line in reversed(frames):
            root = str(frame.f_globals.get("__name__") or "").partition(".")[0]
            if root in theirs or (others and not _known(root)):
                return frame.f_code.co_filename, line, frame.f_code.co_name
    return None


@cache
def _known(root: str) -> bool:
    """Return whether a package is one of agnograd, of Python, or an array library."""
    if root.startswith("agnograd") or root in _HELPERS or root in sys.stdlib_module_names:
        return root != "__main__"
    for name in backends():
        with contextlib.suppress(errors.PluginError):
            if root in backend_named(name).modules:
                return True
    return False


# An empty one is that of expressions in a file of calls.
_HELPERS = ("", "array_api_compat", "optree", "pluggy", "_pytest", "pytest")


def place_of(filename: str, line: int, function: str = "") -> str:
    """Return a line of a file: ``package/module.py:12 in function: its code``, no absolute path."""
    text = linecache.getline(filename, line).strip()
    inside = f" in {function}" if function and not function.startswith("<") else ""
    return f"{_relative(filename)}:{line}{inside}" + (f": {text}" if text else "")


def _relative(filename: str) -> str:
    """Return a file's name as it is imported, or from the folder that the program runs in."""
    path = Path(filename)
    if not path.is_absolute():
        return filename
    roots = [Path(each or ".").absolute() for each in (*sys.path, "")]
    inside = [path.relative_to(root).as_posix() for root in roots if path.is_relative_to(root)]
    return min(inside, key=len, default=path.name)
