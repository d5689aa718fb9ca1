"""Children, and what their parent makes of those that fail."""

import re

import numpy as np
import pytest

from benchmarks.agreement import disagreement
from benchmarks.children import Child, ChildError, MissingLibraryError
from benchmarks.measuring import Plan, compare

PEERS = {
    "absent": "import no_such_library",
    "broken": "raise RuntimeError('not with this NumPy')",
    "noisy": "print('hello')\nfrom benchmarks.implementations.by_hand import *",
    "wrong": "def prepare(case):\n    return lambda: [2 * x for x in case.variables]",
    "raising": "def prepare(case):\n    raise ValueError('no such op')",
    "crashing": (
        "import os, sys\n"
        "def prepare(case):\n"
        "    print('out of everything', file=sys.stderr, flush=True)\n"
        "    os._exit(7)"
    ),
    "tiring": (
        "def prepare(case):\n"
        "    once = iter([case.by_hand(*case.variables)])\n"
        "    return lambda: next(once)"
    ),
    "waiting": (
        "import os, time\n"
        "def prepare(case):\n"
        "    assert os.environ['OMP_NUM_THREADS'] == os.environ['NPROC'] == '2'\n"
        "    return lambda: time.sleep(0.1) or [case.by_hand(*case.variables)[0]]"
    ),
    "hanging": "import time\ndef prepare(case):\n    time.sleep(600)",
}


@pytest.fixture
def peers(tmp_path, monkeypatch):
    """Put modules of implementations where children find them, as ``peers.<name>``."""
    (tmp_path / "peers").mkdir()
    for name, text in PEERS.items():
        head = "LACKS = frozenset()\ndef version():\n    return '1'\n"
        (tmp_path / "peers" / f"{name}.py").write_text(f"{head}{text}\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def plan(*against, **options):
    small = {"workloads": ("chain", "index"), "sizes": "small", "rounds": 1, "budget": 0.0}
    return Plan(against=against, **{**small, **options})


@pytest.mark.usefixtures("peers")
def test_a_missing_peer_is_left_out_and_the_others_are_measured():
    comparison = compare(plan("peers.absent", "peers.noisy"))
    assert list(comparison.implementations) == ["hand", "agnograd", "peers.noisy"]
    assert comparison.left_out == ["peers.absent is left out: No module named 'no_such_library'"]
    assert comparison.failures == []
    for runs in comparison.runs.values():
        assert [len(run.rounds) for run in runs.values()] == [1, 1, 1]


@pytest.mark.usefixtures("peers")
def test_a_peer_that_does_not_load_is_a_failure():
    comparison = compare(plan("peers.broken"))
    assert comparison.left_out == []
    assert comparison.absent == ["peers.broken"]
    assert comparison.failures == ["peers.broken: RuntimeError: not with this NumPy"]


@pytest.mark.usefixtures("peers")
def test_wrong_gradients_are_reported_and_not_timed():
    comparison = compare(plan("peers.wrong"))
    assert [line.partition(", of up to")[0] for line in comparison.failures] == [
        "chain: peers.wrong: derivative 0"
    ]
    assert comparison.runs["chain"]["peers.wrong"].rounds == []
    # The derivative of the sum of squares is right, and is timed.
    assert len(comparison.runs["index"]["peers.wrong"].rounds) == 1


@pytest.mark.usefixtures("peers")
def test_an_exception_costs_a_child_that_workload():
    comparison = compare(plan("peers.raising"))
    reason = "peers.raising: ValueError: no such op"
    assert comparison.failures == [f"chain: {reason}", f"index: {reason}"]
    assert len(comparison.runs["chain"]["agnograd"].rounds) == 1


@pytest.mark.usefixtures("peers")
def test_a_failure_between_rounds_is_reported():
    comparison = compare(plan("peers.tiring", rounds=3))
    reason = "peers.tiring: StopIteration: "
    assert comparison.failures == [f"chain: {reason}", f"index: {reason}"]
    assert comparison.runs["chain"]["peers.tiring"].rounds == []
    assert len(comparison.runs["chain"]["agnograd"].rounds) == 3


@pytest.mark.usefixtures("peers")
def test_a_child_that_dies_is_reported_with_its_last_words():
    comparison = compare(plan("peers.crashing", fresh=False))
    assert comparison.failures == [
        "chain: peers.crashing: its process ended with status 7: out of everything"
    ]
    assert "peers.crashing" not in comparison.runs["index"]
    assert len(comparison.runs["index"]["agnograd"].rounds) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("peers")
def test_a_child_that_hangs_is_ended():
    with Child("peers.hanging", patience=2.0) as child:
        child.load()
        with pytest.raises(ChildError, match=r"peers.hanging: no answer in 2 s; its process was"):
            child.ask("prepare", workload="chain", sizes="small", gradients="")
        assert not child.alive


def test_what_the_comparison_rests_on_may_not_be_missing(tmp_path):
    with pytest.raises(ChildError, match=r"hand: .* does not run"):
        compare(plan(pythons={"hand": str(tmp_path / "python")}))


@pytest.mark.usefixtures("peers")
def test_a_missing_library_is_an_error_of_its_own():
    with Child("peers.absent") as child, pytest.raises(MissingLibraryError, match="is left out"):
        child.load()


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([[1.0, 2.0], [3.0]], ""),
        ([[1.0, 2.0 + 1e-9], [3.0]], ""),
        ([[1.0, 2.0]], "1 derivatives instead of 2"),
        ([[1.0, 2.0, 0.0], [3.0]], r"derivative 0 is float64\[3\] instead of float64\[2\]"),
        ([[1.0, 2.0], [3]], r"derivative 1 is int64\[1\] instead of float64\[1\]"),
        ([[1.0, 2.1], [3.0]], r"derivative 0, of up to 2.0e\+00, is wrong by up to 1.0e-01"),
        ([[1.0, np.nan], [3.0]], r"derivative 0, of up to 2.0e\+00, is wrong by up to nan"),
    ],
)
def test_how_derivatives_differ(tmp_path, found, message):
    expected = tmp_path / "expected.npz"
    np.savez(expected, np.asarray([1.0, 2.0]), np.asarray([3.0]))
    path = tmp_path / "found.npz"
    np.savez(path, *(np.asarray(each) for each in found))
    assert re.fullmatch(message, disagreement(path, expected))


@pytest.mark.usefixtures("peers")
def test_several_threads_are_timed_by_the_clock():
    found = compare(plan("peers.waiting", threads=2, workloads=("chain",)))
    assert not found.failures
    assert found.runs["chain"]["peers.waiting"].rounds[0] >= 0.1


@pytest.mark.parametrize("keep", [False, True])
def test_memory_is_given_back_unless_it_is_to_be_kept(tmp_path, monkeypatch, keep):
    (tmp_path / "of").mkdir()
    (tmp_path / "of" / "settings.py").write_text(
        "import os\n"
        "LACKS = frozenset()\n"
        "def version():\n"
        "    return os.environ.get('MALLOC_TRIM_THRESHOLD_', 'as it is')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    with Child("of.settings", keep_memory=keep) as child:
        assert child.load()["version"] == ("4000000000" if keep else "as it is")
