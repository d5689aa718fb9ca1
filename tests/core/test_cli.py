"""The command line, run as users run it."""

import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import agnograd as ag

PROGRAM = Path(sys.executable).with_name("agnograd")


def agnograd(*arguments, code=0):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_ops_lists_every_op_with_what_is_known_of_it():
    header, *rows, counts = agnograd("ops")
    assert header.split() == ["op", "chapter", "derivative", "batch", "distribution"]
    known = ag.ops()
    assert [row.split()[0] for row in rows] == list(known)
    for row, op in zip(rows, known.values(), strict=True):
        assert op.status in row
        assert op.batch in row
        assert op.chapter in row
        assert op.distribution in row
    statuses = [op.status for op in known.values()]
    assert counts == ", ".join(
        f"{statuses.count(s)} {s}" for s in ("rule", "no gradient", "missing")
    )


def test_no_op_is_missing():
    assert agnograd("ops", "--missing")[-1].endswith(", 0 missing")


def test_a_missing_op_is_named_and_fails(tmp_path, monkeypatch):
    (tmp_path / "stranger.py").write_text(
        "from agnograd.extend import OpSet\n"
        "ops = OpSet('strange')\n"
        "ops.missing('mystery(x, /)', forward=lambda x: x)\n"
    )
    install(tmp_path, "[agnograd.ops]\nstranger = stranger:ops\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    _, row, counts = agnograd("ops", "--missing", code=1)
    assert row.split() == ["mystery", "strange", "missing", "program", "stranger", "1.0"]
    assert counts.endswith(", 1 missing")


@pytest.mark.parametrize(
    ("command", "listed"), [("backends", ag.backends), ("plugins", ag.plugins)]
)
def test_backends_and_plugins_are_listed(command, listed):
    _, *rows = agnograd(command)
    assert [row.split()[0] for row in rows] == list(listed())


def test_protocols_are_listed():
    header, row = agnograd("protocols")
    assert header.split() == ["protocol", "distribution", "object"]
    assert row.split()[0::3] == ["numpy_functions", "agnograd_numpy_functions.protocol:protocol"]


def test_info_tells_versions_backends_and_active_plugins():
    out = "\n".join(agnograd("info"))
    assert re.search(rf"^Python +{re.escape(platform.python_version())} on ", out, re.MULTILINE)
    for name in ("agnograd", "array-api-compat", "click", "numpy", "optree", "pluggy", "rich"):
        assert re.search(rf"^{name} +{re.escape(version(name))} *$", out, re.MULTILINE)
    assert "pytest" not in out
    (row,) = re.findall(r"^numpy \(default\) .*$", out, re.MULTILINE)
    assert f"agnograd {ag.__version__}" in row
    assert f"numpy {version('numpy')} " in row
    assert row.rstrip().endswith(" cpu")
    assert re.search(r" numpy, plain\b| numpy\b.*, plain\b", row)
    assert "No plugin is active" in out


def test_info_lists_every_device_and_names_the_default(monkeypatch):
    strict = pytest.importorskip("array_api_strict", reason="pip install 'agnograd[strict]'")
    monkeypatch.setenv("AGNOGRAD_BACKEND", "strict")
    monkeypatch.setenv("COLUMNS", "40")
    (row,) = [line for line in agnograd("info") if line.startswith("strict (default) ")]
    assert f"array_api_strict {strict.__version__}" in row
    for device in strict.__array_namespace_info__().devices():
        assert str(device) in row


def test_info_tells_which_plugins_are_active_and_why(monkeypatch):
    monkeypatch.setenv("AGNOGRAD_PLUGINS", "timer, nobody")
    done = subprocess.run([PROGRAM, "info"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "PluginWarning" in done.stderr
    *_, header, timer, nobody = done.stdout.splitlines()
    assert header.split() == ["plugin", "distribution", "activated", "by", "state"]
    assert timer.split() == ["timer", "agnograd", ag.__version__, "AGNOGRAD_PLUGINS", "active"]
    assert "AGNOGRAD_PLUGINS" in nobody
    assert "no plugin is named 'nobody'" in nobody


def test_info_says_what_is_wrong_with_a_backend(tmp_path, monkeypatch):
    (tmp_path / "stranger.py").write_text(
        "from agnograd.extend import Backend, hookimpl\n"
        "class Stranger(Backend):\n"
        "    name, modules, extra = 'stranger', ('absent',), 'strange'\n"
        "    def namespace(self):\n"
        "        import absent\n"
        "@hookimpl\n"
        "def backend():\n"
        "    return Stranger()\n"
    )
    install(tmp_path, "[agnograd.backends]\nstranger = stranger\nwrong = nowhere\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    lines = agnograd("info")
    (row,) = [line for line in lines if line.startswith("stranger ")]
    assert "stranger 1.0" in row
    assert "No module named 'absent'" in row
    assert "pip install 'agnograd[strange]'" in row
    (row,) = [line for line in lines if line.startswith("wrong ")]
    assert "No module named 'nowhere'" in row


def install(folder, entry_points):
    info = folder / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


def test_a_misspelt_command_is_an_error_that_says_so():
    done = subprocess.run([PROGRAM, "opps"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "No such command 'opps'" in done.stderr


@pytest.mark.slow
def test_conformance_sets_switches_before_anything_is_imported():
    checks = ("conformance", "--ops", "sin", "--quick", "--checks", "forward")
    arguments = [PROGRAM, *checks, "--switches"]
    done = subprocess.run([*arguments, "least"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([*arguments, "LARGE_ARRAY=1"], capture_output=True, text=True)
    assert done.returncode != 0
    assert "LARGE_ARRAY is at least 2" in done.stdout + done.stderr
    done = subprocess.run([*arguments, "fewest"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "'fewest' is not 'least', 'most', 'random:SEED'" in done.stderr
