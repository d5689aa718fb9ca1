"""The third-party distribution, found through its entry points alone."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agnograd.testing.gaps import read_gaps
from distributions import install

FOLDER = Path(__file__).parents[2] / "examples" / "third_party"
BACKENDS = FOLDER.parent / "backends"
PUBLIC = {"agnograd", "agnograd.errors", "agnograd.extend", "agnograd.testing"}


@pytest.mark.slow
def test_its_tests_pass(tmp_path):
    for name in ("array_api_strict", "erfa", "scipy"):
        pytest.importorskip(name, reason="pip install 'agnograd[strict,examples]'")
    install(FOLDER, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=FOLDER,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped" not in done.stdout


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.name)
def test_it_imports_what_everyone_may(path):
    assert imported_of_ours(path) <= PUBLIC


@pytest.mark.parametrize("path", sorted(BACKENDS.glob("*/src/**/*.py")), ids=lambda path: path.name)
def test_backends_import_what_authors_may(path):
    assert imported_of_ours(path) <= {"agnograd.extend", "agnograd.errors"}


@pytest.mark.parametrize("path", sorted(BACKENDS.glob("*/gaps.txt")), ids=lambda p: p.parent.name)
def test_gaps_of_a_backend_have_reasons(path):
    assert read_gaps(path)


def imported_of_ours(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module]
        else:
            continue
        found |= {name for name in names if name.partition(".")[0] == "agnograd"}
    return found
