"""The command line, run as users run it."""

import subprocess
import sys
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
    assert header.split() == ["op", "chapter", "derivative", "distribution"]
    known = ag.ops()
    assert [row.split()[0] for row in rows] == list(known)
    for row, op in zip(rows, known.values(), strict=True):
        assert op.status in row
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
    info = tmp_path / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[agnograd.ops]\nstranger = stranger:ops\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    _, row, counts = agnograd("ops", "--missing", code=1)
    assert row.split() == ["mystery", "strange", "missing", "stranger", "1.0"]
    assert counts.endswith(", 1 missing")


@pytest.mark.parametrize(
    ("command", "listed"), [("backends", ag.backends), ("plugins", ag.plugins)]
)
def test_backends_and_plugins_are_listed(command, listed):
    _, *rows = agnograd(command)
    assert [row.split()[0] for row in rows] == list(listed())


def test_a_misspelt_command_is_an_error_that_says_so():
    done = subprocess.run([PROGRAM, "opps"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "No such command 'opps'" in done.stderr
