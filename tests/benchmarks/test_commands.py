"""The command ``python -m benchmarks``, as a user runs it."""

import importlib.util
import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import measuring
from benchmarks.backends import PAIRS
from benchmarks.children import Child
from benchmarks.cold import PROGRAMS, STAGES
from benchmarks.distributed import LAUNCHERS, distributed
from benchmarks.draws import DRAWS
from benchmarks.growth import SHAPES
from benchmarks.hooks import PLUGINS
from benchmarks.imports import STATEMENTS
from benchmarks.lazy import PROGRAMS as PROGRAMS_OF_CHUNKS
from benchmarks.least import PROMISES
from benchmarks.overhead import OPS
from benchmarks.sparse import LIBRARIES, NEEDS, OWN, five_points, product
from benchmarks.workloads import BATCHES, HELD_OUT, LAPLACIANS, WORKLOADS

ROOT = Path(__file__).parents[2]


def run(*arguments, status=0):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "benchmarks", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == status, done.stderr
    return done


@pytest.mark.slow
def test_a_quick_comparison_with_json_and_a_chart(tmp_path):
    data, chart = tmp_path / "found.json", tmp_path / "found.png"
    done = run("--quick", "--json", str(data), "--chart", str(chart))
    for name in WORKLOADS:
        assert f"\n{name} " in done.stdout
    found = json.loads(data.read_text())
    assert re.search(r"^chain( +[\d.]+){3} +[\d.]+ \([\d.]+\)$", done.stdout, re.MULTILINE)
    assert (
        "In brackets, the seconds of the first call, which compiles: agnograd_comp" in done.stdout
    )
    assert found["sizes"] == "small"
    assert found["left_out"] == found["failures"] == []
    assert found["implementations"]["agnograd"]["python"] == platform.python_version()
    assert list(found["runs"]) == list(found["titles"]) == list(WORKLOADS)
    for runs in found["runs"].values():
        assert list(runs) == ["hand", "agnograd", "agnograd_backward", "agnograd_compiled"]
        for each in runs.values():
            if each["lacks"]:  # backward computes no products with Hessians
                continue
            assert isinstance(each["first"], float)
            assert isinstance(each["ratio"], float)
            assert each["rounds"] == [each["seconds"]]
    assert chart.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.slow
@pytest.mark.parametrize("peer", ["torch", "jax", "autograd", "mygrad"])
def test_a_peer_agrees_where_it_is_installed(peer, tmp_path):
    if importlib.util.find_spec(peer) is None:
        done = run("--quick", "--workloads", "chain", "--against", peer)
        assert f"{peer} is left out: No module named '{peer}'" in done.stdout
        pytest.skip(f"{peer} is not installed: pip install 'agnograd[benchmarks]'")
    data = tmp_path / "found.json"
    run("--quick", "--against", peer, "--json", str(data))
    found = json.loads(data.read_text())
    lacks = found["implementations"][peer]["lacks"]
    for name, runs in found["runs"].items():
        assert runs[peer]["lacks"] == (WORKLOADS[name].needs if runs[peer]["lacks"] else "")
        assert len(runs[peer]["rounds"]) == (WORKLOADS[name].needs not in lacks)


@pytest.mark.slow
def test_backends_compares_with_the_libraries_that_are_there(tmp_path):
    data = tmp_path / "found.json"
    done = run("backends", "--quick", "--workloads", "chain,layer-norm", "--json", str(data))
    found = json.loads(data.read_text())
    assert found["failures"] == []
    for library, (ours, compiled) in PAIRS.items():
        there = importlib.util.find_spec(library) is not None
        assert f"agnograd on {library}" in done.stdout
        assert f"compiled on {library}" in done.stdout
        for each in (ours, compiled):
            assert (f"{each} is left out" in done.stdout) != there
            assert (each in found["runs"]["chain"]) == there
    run("backends", "--against", "torch", status=2)


@pytest.mark.slow
def test_some_workloads_by_an_interpreter_of_their_own(tmp_path):
    data = tmp_path / "found.json"
    python = f"agnograd={sys.executable}"
    run("--quick", "--workloads", "index,chain", "--python", python, "--json", str(data))
    assert list(json.loads(data.read_text())["runs"]) == ["index", "chain"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--workloads", "chian"), "no workload is named 'chian'; there are chain, small-mlp,"),
        (
            ("--against", "tourch"),
            "no implementation is named 'tourch': benchmarks/",
        ),
        (("convnets", "--workloads", "chain"), "no workload is named 'chain'; there are alexnet,"),
        (("held-out", "--workloads", "chain"), "named 'chain'; there are logistic-regression,"),
        (("vmap", "--workloads", "chain"), "named 'chain'; there are per-example,"),
        (("--python", "torch"), "'torch' is not NAME=PATH with the path of a Python"),
        (("--python", f"torch={sys.executable}"), "--python names torch, which --against does not"),
        (("memory", "--against", "torch"), "the arrays of torch are not NumPy's"),
        (("sparse", "--against", "torch"), "there are no sparse Jacobians of torch; possible: agn"),
        (("cold", "--against", "mygrad"), "there is no cold start of mygrad; possible: agnograd,"),
    ],
)
def test_unknown_names_are_answered(arguments, message):
    assert message in " ".join(run(*arguments, status=2).stderr.split())


def test_convnets(tmp_path):
    data = tmp_path / "found.json"
    against = ("--against", "torch") if importlib.util.find_spec("torch") else ()
    done = run("convnets", "--quick", "--json", str(data), *against)
    assert "Times over the time by agnograd" in done.stdout
    found = json.loads(data.read_text())
    assert list(found["runs"]) == ["alexnet", "overfeat", "vgga", "googlenet"]
    for runs in found["runs"].values():
        assert list(runs) == ["agnograd", *against[1:]]
        assert runs["agnograd"]["ratio"] == 1.0


@pytest.mark.slow
def test_held_out(tmp_path):
    data = tmp_path / "found.json"
    peers = ["jax"] if importlib.util.find_spec("jax") else []
    run("held-out", "--quick", "--json", str(data), "--against", ",".join(peers))
    found = json.loads(data.read_text())
    assert found["failures"] == []
    assert list(found["runs"]) == list(HELD_OUT)
    for runs in found["runs"].values():
        assert list(runs) == ["hand", "agnograd", "agnograd_compiled", *peers]
        assert all(len(each["rounds"]) == 1 for each in runs.values())


def test_vmap(tmp_path):
    data = tmp_path / "found.json"
    peers = [each for each in ("torch", "jax") if importlib.util.find_spec(each)]
    peers += ["jax_eager"] * ("jax" in peers)
    run("vmap", "--quick", "--json", str(data), "--against", ",".join(peers))
    found = json.loads(data.read_text())
    assert found["failures"] == []
    assert list(found["runs"]) == list(BATCHES)
    for runs in found["runs"].values():
        assert list(runs) == ["hand", "agnograd", "agnograd_loop", *peers]
        assert all(len(each["rounds"]) == 1 for each in runs.values())


@pytest.mark.slow
def test_laplacians(tmp_path):
    data = tmp_path / "found.json"
    peers = [each for each in ("torch", "jax") if importlib.util.find_spec(each)]
    peers += ["jax_jet", "jax_pushes"] * ("jax" in peers)
    run("laplacians", "--quick", "--json", str(data), "--against", ",".join(peers))
    found = json.loads(data.read_text())
    assert found["failures"] == []
    assert list(found["runs"]) == list(LAPLACIANS)
    for runs in found["runs"].values():
        assert list(runs) == ["hand", "agnograd", "agnograd_compiled", *peers]
        assert all(len(each["rounds"]) == 1 for each in runs.values())


@pytest.mark.slow
def test_sparse(tmp_path):
    data = tmp_path / "found.json"
    peers = ("asdex", "sparsejac")
    done = run("sparse", "--quick", "--json", str(data), "--against", ",".join(peers))
    found = json.loads(data.read_text())
    assert "least_squares with 40 residuals and 10 parameters" in done.stdout
    there = [name for name in (*OWN, *peers) if importlib.util.find_spec(NEEDS[name])]
    assert list(found["jacobians"]) == there
    assert len(found["left_out"]) == len(OWN) + len(peers) - len(there)
    for sizes in found["jacobians"].values():
        assert list(sizes) == ["25", "81"]
        for each in sizes.values():
            assert list(each) == ["preparation", "function", "jacobian", "ratio", "bytes"]
    assert found["fit"]["ratio"] > 0


@pytest.mark.parametrize("name", ["agnograd", "agnograd_compiled"])
def test_sparse_jacobians_are_those_by_hand(name):
    pytest.importorskip("scipy", reason="pip install 'agnograd[scipy]'")
    u = np.random.default_rng(0).random(16)
    _, jacobian = LIBRARIES[name](u, 4)
    found = jacobian().tocoo()
    assert {*zip(found.row, found.col, strict=True)} == {*map(tuple, five_points(4))}
    for along in np.eye(16):
        np.testing.assert_allclose(found @ along, product(u, along, 4), rtol=1e-12)


@pytest.mark.slow
def test_two_processes_train_the_same_network(monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")  # then what both print is mixed
    found, left_out = distributed(["agnograd"], width=20, layers=2, batch=3, rounds=2, turns=1)
    assert left_out == []
    assert list(found) == ["agnograd"]
    assert len(found["agnograd"]) == 2
    for each in found["agnograd"]:
        assert each["ratio"] == each["with"] / each["without"] > 0
        assert 0 <= each["hidden"] <= 1


@pytest.mark.slow
def test_distributed(tmp_path):
    data = tmp_path / "found.json"
    done = run("distributed", "--quick", "--json", str(data))
    found = json.loads(data.read_text())
    there = [name for name in LAUNCHERS if importlib.util.find_spec(name)]
    assert list(found["seconds"]) == there
    assert len(found["left_out"]) == len(LAUNCHERS) - len(there)
    assert all(len(each) == 1 for each in found["seconds"].values())
    assert "with the mean, ms" in done.stdout


@pytest.mark.slow
def test_memory(tmp_path):
    data = tmp_path / "found.json"
    run("memory", "--quick", "--json", str(data), "--against", "agnograd_compiled")
    found = json.loads(data.read_text())["bytes"]
    assert list(found) == list(WORKLOADS)
    for each in found.values():
        assert each["hand"] > 0
        assert each["agnograd"] > 0
        assert each["agnograd_compiled"] > 0


@pytest.mark.slow
def test_memory_of_programs_held_out(tmp_path):
    data = tmp_path / "found.json"
    names = "--workloads", "moving-window,index"
    run("memory", "--quick", *names, "--json", str(data), "--against", "agnograd_compiled")
    found = json.loads(data.read_text())["bytes"]
    assert list(found) == ["moving-window", "index"]
    assert all(each["agnograd_compiled"] > 0 for each in found.values())


def test_hooks(tmp_path):
    data = tmp_path / "data.json"
    found = run("hooks", "--quick", "--json", str(data))
    assert "backward_postprocess" in found.stdout
    assert set(json.loads(data.read_text())["microseconds"]) == set(PLUGINS)


def test_overhead(tmp_path):
    data = tmp_path / "found.json"
    run("overhead", "--quick", "--json", str(data))
    found = json.loads(data.read_text())["microseconds"]
    assert list(found) == list(OPS)
    for each in found.values():
        assert list(each) == ["numpy", "not recorded", "recorded", "backward"]
        assert all(isinstance(time, float) for time in each.values())


def test_engines(tmp_path):
    pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")
    data = tmp_path / "found.json"
    run("engines", "--quick", "--json", str(data))
    found = json.loads(data.read_text())["microseconds"]
    assert list(found) == ["empty", "signal.all_pole", "special.kve"]
    for each in found.values():
        assert 0 < each["kernel"] < each["both"]


def test_growth(tmp_path):
    data = tmp_path / "found.json"
    run("growth", "--quick", "--json", str(data))
    found = json.loads(data.read_text())["microseconds"]
    assert list(found) == list(SHAPES)
    for each in found.values():
        assert list(each) == ["10", "100"]


def test_lazy(tmp_path):
    pytest.importorskip("dask.array", reason="Dask: pip install 'agnograd[dask]'")
    data = tmp_path / "found.json"
    done = run("lazy", "--quick", "--json", str(data))
    assert "20 chunks" in done.stdout
    found = json.loads(data.read_text())["programs"]
    assert list(found) == list(PROGRAMS_OF_CHUNKS)
    for each in found.values():
        assert each["forward"] < each["both"] <= 3 * each["forward"]
        assert each["optimised"] < each["both"]
        assert each["milliseconds"] > 0


def test_random(tmp_path):
    data = tmp_path / "found.json"
    done = run("random", "--quick", "--json", str(data))
    assert "10,000 numbers" in done.stdout
    found = json.loads(data.read_text())["draws"]
    assert list(found) == [f"{name}, {dtype}" for name in DRAWS for dtype in ("float32", "float64")]
    for each in found.values():
        assert each["ratio"] == pytest.approx(each["agnograd"] / each["generator"])


def test_least(tmp_path):
    data = tmp_path / "least.json"
    done = run("least", "--quick", "--json", str(data))
    assert "agnograd" in done.stdout
    ratios = json.loads(data.read_text())["ratios"]
    assert list(ratios) == ["none", *PROMISES, "agnograd"]
    assert all(ratio > 0 for ratio in ratios.values())


def test_cold(tmp_path):
    data = tmp_path / "found.json"
    done = run("cold", "--rounds", "1", "--against", "autograd,jax,torch", "--json", str(data))
    found = json.loads(data.read_text())["milliseconds"]
    for name in PROGRAMS:
        there = importlib.util.find_spec(name) is not None
        assert (f"{name} is left out: No module named" in done.stdout) != there
        assert (name in found) == there
    for each in found.values():
        assert list(each) == list(STAGES)
        assert all(took >= 0.0 for took in each.values())


def test_each_workload_gets_processes_of_its_own(monkeypatch):
    started = []
    monkeypatch.setattr(
        measuring, "Child", lambda name, *rest: started.append(name) or Child(name, *rest)
    )
    quick = {"workloads": ("chain", "index"), "sizes": "small", "rounds": 1, "budget": 0.0}
    found = measuring.compare(measuring.Plan(**quick))
    assert list(found.runs) == ["chain", "index"]
    assert started == ["hand", "agnograd"] * 2
    started.clear()
    measuring.compare(measuring.Plan(fresh=False, **quick))
    assert started == ["hand", "agnograd"]


def test_imports(tmp_path):
    data = tmp_path / "found.json"
    run("imports", "--rounds", "1", "--json", str(data))
    assert list(json.loads(data.read_text())["milliseconds"]) == list(STATEMENTS)
