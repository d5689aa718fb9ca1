"""The command: files of calls, known gaps, exit statuses, reports, and processes that end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from click.testing import CliRunner

from agnograd._cli.main import main
from agnograd.testing.gaps import Gap
from agnograd_certify import _calls
from agnograd_certify._file import CallsError, read_calls
from agnograd_certify._findings import said as told
from agnograd_certify._gaps import against

HELPERS = Path(__file__).parents[2] / "helpers"
PROGRAM = Path(sys.executable).with_name("agnograd")
SETUP = 'setup = "from planted_library import *"\n'.replace("import *", "import {names}")
INPUTS = "\n[inputs]\nx = [0.5, 1.5]\n"


def calls_of(*calls, more=""):
    names = ", ".join(sorted({re.match(r"\w+", each)[0] for each in calls}))
    return f"{SETUP.format(names=names)}calls = {json.dumps(calls)}\n{more}{INPUTS}"


def command(*options):
    """Run the command; it measures in a process of its own."""
    return CliRunner().invoke(main, ["certify", *options])


@pytest.fixture
def certify(tmp_path, monkeypatch):
    """Return a function that runs the command on calls, with one backend and the gradient."""
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    monkeypatch.chdir(tmp_path)

    def run(text, *options, quick=("--backend=numpy", "--checks=gradient")):
        (tmp_path / "calls.toml").write_text(text)
        return command("planted_library", "--calls=calls.toml", *quick, *options)

    return run


def test_everything_right_is_certified(certify, tmp_path):
    files = "--html=out/c.html", "--json=out/c.json", "--badge=out/b.svg"
    done = certify(
        calls_of("sound(x)", "sound(x, 3.0)", "rounded(x)"),
        *files,
        quick=["--backend=numpy,strict"],
    )
    assert done.exit_code == 0, done.output
    assert "planted_library: 2 of 2 calls are differentiable on numpy, " in done.stdout
    found = json.loads((tmp_path / "out/c.json").read_text())
    assert (found["certified"], found["right"], found["total"]) == (True, 2, 2)
    assert list(found["backends"]) == ["numpy", "strict"]
    assert len(found["cells"]) == 3 * 2 * 6
    assert ElementTree.parse(tmp_path / "out/b.svg").getroot().get("aria-label") == (
        "differentiable: 2/2"
    )
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"c.html", "c.json", "b.svg"}


def test_each_defect_is_found_and_said(certify, tmp_path):
    calls = ("sound(x)", "doubled(x)", "detached(x)", "by_float(x)", "behind_product(x)")
    done = certify(calls_of(*calls, "by_asarray(x)"), "--badge=b.json")
    assert done.exit_code == 1
    for status, call in zip(
        ("wrong", "lost", "warned", "NaN", "refused"), (*calls[1:], "by_asarray(x)"), strict=True
    ):
        assert f"{status}  {call}  gradient on numpy" in done.stdout
    assert re.search(r"at planted_library.py:\d+ in by_asarray: return np.asarray", done.stdout)
    assert json.loads((tmp_path / "b.json").read_text()) == {
        "schemaVersion": 1,
        "label": "differentiable",
        "message": "1/6",
        "color": "#b3261e",
    }


@pytest.mark.slow
def test_known_gaps_are_written_kept_and_strict(certify, tmp_path):
    text, gaps = calls_of("sound(x)", "doubled(x)", "by_asarray(x)"), tmp_path / "gaps.txt"
    assert certify(text, "--gaps=gaps.txt").exit_code == 1  # there is none yet
    done = certify(text, "--gaps=gaps.txt", "--update-gaps", "--json=report.json")
    assert done.exit_code == 0
    assert "wrong  doubled(x)  gradient on numpy" in done.stdout  # what is added is said
    assert "0 new findings, 2 known gaps, 0 stale" in done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["certified"], report["new"], report["known"]) == (True, 0, 2)
    assert {path.name for path in tmp_path.iterdir() if "gaps" in path.name} == {"gaps.txt"}
    written = gaps.read_text()
    assert "\nAssertionError doubled(x)::gradient[numpy]\n" in written
    assert "\nLostGradientError by_asarray(x)::gradient[numpy]\n" in written
    done = certify(text, "--gaps=gaps.txt")
    assert done.exit_code == 0, done.stdout
    assert "0 new findings, 2 known gaps, 0 stale" in done.stdout
    # A reason is kept, and a line that is stale is told and then goes.
    gaps.write_text(re.sub("# wrong: .*", "# Our own reason.", written))
    mended = text.replace('"by_asarray(x)"', '"sound(x, 1.0)"').replace("by_asarray, ", "")
    done = certify(mended, "--gaps=gaps.txt")
    assert done.exit_code == 1
    assert "stale  LostGradientError by_asarray(x)::gradient[numpy]" in done.stdout
    assert certify(mended, "--gaps=gaps.txt", "--update-gaps").exit_code == 0
    assert "# Our own reason.\nAssertionError doubled(x)" in gaps.read_text()
    assert "by_asarray" not in gaps.read_text()


def test_gaps_of_backends_that_are_not_run_stay_in_the_file(certify, tmp_path):
    gaps = tmp_path / "gaps.txt"
    gaps.write_text("# It refuses.\nTypeError other(x)::gradient[torch]\n")
    certify(calls_of("doubled(x)"), "--gaps=gaps.txt", "--update-gaps")
    assert "AssertionError doubled(x)::gradient[numpy]\n" in gaps.read_text()
    assert gaps.read_text().endswith("# It refuses.\nTypeError other(x)::gradient[torch]\n")


def test_a_reason_does_not_say_where_a_library_is_installed():
    error = ValueError(f"ag.compile at {_calls.__file__}:3 in page: not {__file__}")
    assert told(error) == (
        "ValueError: ag.compile at agnograd_certify/_calls.py:3 in page: "
        "not tests/plugins/certify/test_command.py"
    )


def test_a_gap_is_of_one_exception_and_of_what_was_run(certify, tmp_path):
    gaps = tmp_path / "gaps.txt"
    gaps.write_text("# It refuses.\nTypeError by_*::gradient[*]\n")
    assert certify(calls_of("by_asarray(x)"), "--gaps=gaps.txt").exit_code == 0
    gaps.write_text("# It refuses.\nOverflowError by_*::gradient[*]\n")
    done = certify(calls_of("by_asarray(x)"), "--gaps=gaps.txt")
    assert done.exit_code == 1
    assert "1 new findings, 0 known gaps, 1 stale" in done.stdout


def cell(call, check="gradient", backend="numpy", bad=True, error="TypeError"):
    return {"call": call, "check": check, "backend": backend, "bad": bad, "error": error}


def test_gaps_of_what_was_not_run_are_left_alone():
    gaps = [
        Gap(TypeError, pattern, "why")
        for pattern in ("f(x)::gradient[torch]", "*::vmap[numpy]", "gone(x)::gradient[numpy]")
    ]
    cells = [cell("f(x)"), cell("f(x)", "second", bad=False)]
    assert against(gaps, cells) == ([cells[0]], [gaps[2]])
    assert against(gaps, cells, whole=False) == ([cells[0]], [])
    gaps.append(Gap(TypeError, "f(x)::*[numpy]", "why"))
    assert against(gaps, cells) == ([], [gaps[2]])
    assert cells[0]["gap"] == "why"
    gaps[-1] = Gap(ValueError, "f(x)::*[numpy]", "why")
    assert against(gaps, cells, whole=False) == ([cells[0]], [gaps[3]])


def test_a_process_that_ends_costs_one_call(certify):
    done = certify(calls_of("sound(x)", "dying(x)", "sound(x, 3.0)"))
    assert done.exit_code == 1
    assert (
        "crashed  dying(x)  gradient on numpy\n    the process ended with status 3" in done.stdout
    )
    assert "2 of 3 calls are differentiable" in done.stdout


@pytest.mark.slow
def test_a_call_that_never_returns_costs_its_time(certify):
    done = certify(calls_of("sleeping(x)", "sound(x)"), "--timeout=6")
    assert done.exit_code == 1
    assert "hung  sleeping(x)  gradient on numpy" in done.stdout
    assert "1 of 2 calls are differentiable" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows sends signals differently")
def test_an_interrupted_run_writes_what_it_found(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    (tmp_path / "calls.toml").write_text(calls_of("sound(x)", "sleeping(x)"))
    given = [PROGRAM, "certify", "planted_library", "--calls=calls.toml", "--json=c.json"]
    process = subprocess.Popen(
        [*given, "--backend=numpy", "--checks=gradient"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what runs in the background without Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 30
    while not (tmp_path / "asleep").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "(stopped)" in out
    found = json.loads((tmp_path / "c.json").read_text())
    assert [each["call"] for each in found["cells"]] == ["sound(x)"]
    assert found["certified"] is False


def test_what_a_library_prints_is_not_a_result(certify):
    text = calls_of("sound(x)").replace("sound(x)", "(print('{}'), sound(x))[1]")
    done = certify(text)
    assert done.exit_code == 0, done.stdout
    assert "{}" not in done.stdout


def test_the_environment_is_there_before_imports(certify):
    text = calls_of("sound(x)", more='\n[environment]\nSOUND = "7"\n')
    text = text.replace('setup = "', "setup = \"import os; assert os.environ['SOUND'] == '7'; ")
    done = certify(text)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("calls = [", "is not TOML"),
        ("calls = []\n", "has no calls; a file of calls looks like this"),
        ("call = 1\n", "'call' is not one of library, setup, calls, inputs, environment"),
        ("calls = 1\n", "'calls' is a int"),
        ("[inputs]\nx = 1.0\ncalls = ['x']\n", "calls is inside [inputs]"),
        ("calls = ['x +']\n", "call 1, 'x +': invalid syntax"),
        ("calls = ['x', 'x']\n", "two calls are named 'x'"),
        ("calls = [{name = 'x'}]\n", "call 1 is neither an expression nor a table"),
        ("setup = '1 / 0'\ncalls = ['x']\n", "fails with ZeroDivisionError: division by zero"),
        ("setup = 'import nowhere'\ncalls = ['x']\n", "No module named 'nowhere'"),
        ("calls = ['x']\n[inputs]\nx = 'nothing'\n", "input 'x' is not an array: NameError"),
        ("calls = ['x']\n[inputs]\nx = ['a']\n", "input 'x' is not an array: TypeError"),
    ],
)
def test_mistakes_in_a_file_are_named(text, said, tmp_path):
    path = tmp_path / "calls.toml"
    path.write_text(text)
    with pytest.raises(CallsError) as caught:
        read_calls(path, "planted_library").prepare()
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_setup_is_python_and_calls_have_names(tmp_path):
    path = tmp_path / "calls.toml"
    path.write_text(
        'library = "planted_library"\n'
        "setup = '''\n"
        "def helper(x):\n"
        '    """Text\nof two lines."""\n'
        "    return other(x)\n\n"
        "def other(x):\n"
        "    return planted_library.sound(x)\n"
        "'''\n"
        "calls = [{call = 'helper(x)', name = 'a   name'}, 'helper(n * y)']\n"
        "[inputs]\nx = [0.5, 1.5]\nn = 2\ny = 'np.ones(3)'\n"
    )
    found = read_calls(path)
    found.prepare()
    assert [each.name for each in found.calls] == ["a name", "helper(n * y)"]
    assert [each.arrays[0].dtype.kind for each in found.calls] == ["f", "i"]
    import numpy as np

    assert found.calls[0].call(np, [np.asarray([0.5])]) == pytest.approx(2 * np.sin(0.5) ** 2)


def test_mistakes_on_the_command_line_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def said(*options):
        done = command(*options)
        assert done.exit_code in (1, 2)
        assert isinstance(done.exception, SystemExit)
        return done.stderr

    assert "--calls FILE says which calls of numpy are made" in said("numpy")
    (tmp_path / "calls.toml").write_text("calls = ['x']\n[inputs]\nx = 1.0\n")
    given = "numpy", "--calls=calls.toml"
    assert "no check is called 'third'" in said(*given, "--checks=third")
    assert "nothing" in said(*given, "--backend=nothing")
    assert "--update-gaps writes it" in said(*given, "--gaps=none.txt")
    assert "--update-gaps writes the file that --gaps names" in said(*given, "--update-gaps")
    assert "no report can be written there" in said(*given, "--html=calls.toml/c.html")
    assert "No module named 'nowhere'" in said("nowhere", "--calls=calls.toml")
    (tmp_path / "gaps.txt").write_text("TypeError x::gradient[numpy]\n")
    assert "a reason above it" in said(*given, "--gaps=gaps.txt")
