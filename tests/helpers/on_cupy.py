"""What tests of CuPy have in common: the library if there is a device, and its stand-in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def cupy_or_skip():
    """Return the library; skip where it, or a device, is missing."""
    library = pytest.importorskip("cupy", reason="CuPy: pip install 'agnograd[cupy]'")
    try:
        count = library.cuda.runtime.getDeviceCount()
    except library.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"CuPy finds no device: {error}")
    if not count:
        pytest.skip("CuPy finds no device")
    return library


def passes_on_the_stand_in(*files):
    """Run files of ``tests/backends`` on what stands for CuPy where there is no device."""
    root = Path(__file__).parents[2]
    plugin = ["-p", "cupy_over_numpy", "-p", "no:cacheprovider", "--backend", "cupy"]
    tests = [f"tests/backends/{file}" for file in files]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin, *tests],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root / "tests" / "helpers")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    assert "CuPy finds no device" not in done.stdout
