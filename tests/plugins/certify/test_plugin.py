"""``pytest --differentiable`` certifies what tests declare; without it nothing happens."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HELPERS = Path(__file__).parents[2] / "helpers"
TESTS = """
import numpy as np
import planted_library as planted
from agnograd_certify import differentiable

x = np.asarray([0.5, 1.5])
CALLS = [
    differentiable(planted.sound, x, 3.0),
    differentiable(planted.sound, x, 3.0),
    differentiable(planted.doubled, x),
    differentiable(planted.by_asarray, x),
]


@differentiable(planted.detached, x)
@differentiable(planted.sound, x, scale=np.asarray(2.0))
def test_usual():
    assert planted.sound(x, 0.0) == 0.0


class TestMethods:
    ONE = differentiable(planted.sound, x).named("mine")

    @differentiable(planted.behind_product, x)
    def test_method(self):
        pass
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs pytest on tests that declare calls."""
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    (tmp_path / "test_mine.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -W error\n")

    def pytest_of(*options):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return pytest_of


def test_without_the_option_tests_are_as_they_were(run):
    done = run()
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_the_plugin_imports_nothing_of_agnograd():
    loaded = "set(sys.modules)"
    code = f"import sys, pytest, agnograd; a = {loaded}; import agnograd_certify.plugin; "
    code += f"print(*({loaded} - a))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"agnograd_certify", "agnograd_certify.plugin"}


def test_each_call_is_a_test_on_each_backend(run, tmp_path):
    files = "--differentiable-html=c.html", "--differentiable-json=c.json"
    options = "--differentiable", "--differentiable-backend=numpy,strict", "-rA", *files
    done = run(*options, "--differentiable-checks=gradient,vmap", "--differentiable-badge=b.svg")
    assert done.returncode == 1
    assert "PASSED test_mine.py::CALLS::sound(float64[2], 3.0)[strict]" in done.stdout
    assert "PASSED test_mine.py::CALLS::sound(float64[2], 3.0) #2[numpy]" in done.stdout
    assert "PASSED test_mine.py::TestMethods::ONE::mine[numpy]" in done.stdout
    failed = ("CALLS::doubled", "CALLS::by_asarray", "test_usual::detached")
    for name in (*failed, "TestMethods::test_method::behind_product"):
        assert f"FAILED test_mine.py::{name}(float64[2])[numpy]" in done.stdout
    assert "at planted_library.py:" in done.stdout
    assert "plain arrays of strict are not supported: the result is a ndarray" in done.stdout
    assert "7 failed, 10 passed, 1 skipped" in done.stdout
    assert "4 of 8 calls are differentiable on numpy, strict; 7 new findings" in done.stdout
    found = json.loads((tmp_path / "c.json").read_text())
    assert len(found["cells"]) == 8 * 2 * 2
    assert found["library"] == "planted_library"
    assert "agnograd" in (tmp_path / "c.html").read_text()
    assert "4/8" in (tmp_path / "b.svg").read_text()


@pytest.mark.slow
def test_known_gaps_pass_and_are_strict(run, tmp_path):
    gaps = tmp_path / "gaps.txt"
    options = "--differentiable", "--differentiable-backend=numpy", "--differentiable-gaps=gaps.txt"
    gaps.write_text(
        "# Known.\nAssertionError doubled*\nTypeError by_asarray*\nTypeError detached*\n"
        "FloatingPointError behind_product*\nTypeError elsewhere(x)*\n"
    )
    done = run(*options, "--differentiable-checks=gradient")
    assert done.returncode == 0, done.stdout
    assert "0 new findings, 4 known gaps, 0 stale" in done.stdout
    with gaps.open("a") as file:
        file.write("TypeError mine*\n")
    done = run(*options, "--differentiable-checks=gradient", "-k", "mine")
    assert done.returncode == 1
    assert "stale  TypeError mine*" in done.stdout


@pytest.mark.slow
def test_calls_can_be_selected_and_run_in_processes(run):
    pytest.importorskip("xdist")
    options = "--differentiable", "--differentiable-backend=numpy", "-m", "differentiable"
    done = run(*options, "-n2", "--differentiable-checks=gradient")
    assert "4 failed, 4 passed" in done.stdout
    assert "4 of 8 calls are differentiable on numpy; 4 new findings" in done.stdout


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--differentiable-backend=nothing", "nothing"),
        ("--differentiable-checks=third", "no check is called 'third'"),
        ("--differentiable-gaps=none.txt", "none.txt"),
    ],
)
def test_mistakes_are_usage_errors(run, option, said):
    done = run("--differentiable", option)
    assert done.returncode == 4
    assert "ERROR: --differentiable: " in done.stderr
    assert said in done.stderr
