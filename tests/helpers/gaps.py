"""Known gaps of libraries: tests that must fail on a backend, each with its error and its reason.

A line of ``tests/gaps/<backend>.txt`` is the name of an exception and the id of a test, in which
``*`` stands for anything; the comment above it says why. The other lines there are for the suite
array-api-tests.
"""

import builtins
import re
from pathlib import Path
from typing import NamedTuple

from agnograd import errors

FOLDER = Path(__file__).parents[1] / "gaps"


class Gap(NamedTuple):
    error: type[BaseException]
    test: str
    reason: str

    def is_of(self, test_id):
        return re.fullmatch(re.escape(self.test).replace(r"\*", ".*"), test_id) is not None


def gaps(backend):
    """Return what a backend's file says of the tests of this repository."""
    found, reason, above = [], "", False
    path = FOLDER / f"{backend}.txt"
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith("#"):
            reason, above = (f"{reason} " if above else "") + line.strip("# "), True
            continue
        above = False
        error, _, test = line.partition(" ")
        if test.startswith("tests/"):
            kind = getattr(builtins, error, None) or getattr(errors, error)
            found.append(Gap(kind, test, reason))
    return found
