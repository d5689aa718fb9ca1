"""Examples run as users run them: in processes of their own, with warnings as errors."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def _done(name, arguments):
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def run(name, *arguments):
    """Run an example; return what it prints."""
    done = _done(name, arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(name, *arguments):
    """Run an example that has to fail; return what it says, which is no traceback."""
    done = _done(name, arguments)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr
