"""Run HIPS autograd's own tests on agnograd: ``python -m tests.peers.autograd``.

The tests are those of the source distribution of the version that is installed, which pip brings
from the package index, or of a checkout: ``--checkout ../autograd``. Other arguments go to pytest.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


def downloaded(folder):
    """Return the unpacked source distribution of the autograd that is installed."""
    source = f"autograd=={version('autograd')}"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary=:all:"]
    subprocess.run([*pip, "--dest", folder, source], check=True)
    with tarfile.open(next(Path(folder).glob("autograd-*.tar.gz"))) as archive:
        # Python 3.11.4 has filters, and 3.12 warns where none is named.
        known = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(folder, **known)
    return next(Path(folder).glob("autograd-*/"))


def main():
    """Run the tests; the exit status is pytest's."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers.autograd", description=__doc__)
    parser.add_argument("--checkout", type=Path, help="a checkout of HIPS/autograd")
    options, others = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        tests = (options.checkout or downloaded(folder)) / "tests"
        path = os.pathsep.join([str(HERE), str(ROOT), os.environ.get("PYTHONPATH", "")])
        # SciPy asks arrays for their namespace when it is imported with this variable only.
        environment = os.environ | {"PYTHONPATH": path, "SCIPY_ARRAY_API": "1"}
        command = ["-m", "pytest", "-p", "shim", "-p", "no:cacheprovider", "-c", os.devnull]
        return subprocess.run(
            [sys.executable, *command, "--rootdir", tests, "-q", "-rx", *others, "."],
            cwd=tests,
            env=environment,
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
