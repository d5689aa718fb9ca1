"""Programs that run as several processes: written by a test, started by a launcher."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

HEAD = """
import json, os, sys
import numpy as np
import agnograd as ag
import agnograd_distributed as ad
from agnograd_distributed import CommunicationError, communicator

comm = communicator()

def tell(**found):
    with open(os.path.join({folder!r}, f"told-{{comm.rank}}"), "a") as file:
        file.write(json.dumps(found) + "\\n")
"""
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}
LOCAL = (sys.executable, "-m", "agnograd_distributed", "-n")


def run(folder, size, body, *, options=("--timeout", "20"), start=LOCAL, fails=False):
    """Run a program on some ranks; return what each told, a list of lists of dicts.

    A rank that was killed may have told nothing. All must succeed, unless the program ``fails``.
    """
    Path(folder).mkdir(exist_ok=True)
    program = Path(folder) / "program.py"
    program.write_text(HEAD.format(folder=str(folder)) + textwrap.dedent(body))
    done = subprocess.run(
        [*start, str(size), *options, str(program)],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert bool(done.returncode) == fails, done.stderr
    return [_told(Path(folder) / f"told-{rank}") for rank in range(size)]


def _told(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
