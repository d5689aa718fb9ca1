"""Known gaps of libraries: tests that must fail on a backend, each with its error and its reason.

A line of ``tests/gaps/<backend>.txt`` is the name of an exception and the id of a test, in which
``*`` stands for anything; the comment above it says why. The other lines there are for the
conformance suite, and for array-api-tests.
"""

from pathlib import Path

from agnograd.testing.gaps import read_gaps

FOLDER = Path(__file__).parents[1] / "gaps"


def gaps(backend):
    """Return what a backend's file says of the tests of this repository."""
    path = FOLDER / f"{backend}.txt"
    return read_gaps(path, lambda line: " tests/" in line) if path.exists() else []
