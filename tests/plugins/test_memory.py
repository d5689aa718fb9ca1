"""The plugin ``memory``: the bytes that graphs hold, from the forward pass to their end."""

import gc
import sys
import threading

import pytest

import agnograd as ag
from agnograd.errors import ArgumentError
from agnograd.extend import hookimpl
from agnograd_memory import Memory, nbytes
from agnograd_numpy import NumpyBackend

SIZE = 800  # of 100 float64


def leaf(xp):
    return ag.Variable(xp.ones((100,), dtype=xp.float64).data)


def program(xp, x):
    y = xp.exp(x)  # saves its result
    return xp.sum(y * xp.sin(x))  # saves both factors, and x


def names(holders):
    return {(holder.op, holder.name): size for holder, size in holders.items()}


def test_what_a_graph_saves_counts_until_the_pass_frees_it(xp):
    with ag.hooks("memory") as (memory,):
        y = program(xp, leaf(xp))
        # exp's result is multiply's factor, too: it counts once.
        assert memory.held == 3 * SIZE
        y.backward()
        assert memory.held == 0
    facts = memory.to_dict()
    assert facts["peak"] == memory.peak == 3 * SIZE
    assert names(facts["at_peak"]) == {
        ("exp", "out"): SIZE,
        ("sin", "x"): SIZE,
        ("multiply", "x2"): SIZE,
    }


def test_a_graph_that_is_dropped_is_freed(xp):
    with ag.hooks("memory") as (memory,):
        y = program(xp, leaf(xp))
    assert memory.held == 3 * SIZE  # also after the scope
    del y
    gc.collect()
    assert memory.held == 0


def test_a_graph_that_is_retained_is_held(xp):
    with ag.hooks("memory") as (memory,):
        y = program(xp, leaf(xp))
        y.backward(retain_graph=True)
        assert memory.held == 3 * SIZE
        y.backward()
    assert memory.held == 0


def test_an_array_is_held_until_its_last_use_is_freed(xp):
    x = leaf(xp)
    with ag.hooks("memory") as (memory,):
        first, second = xp.sin(x), xp.cos(x)
        assert memory.held == SIZE
        xp.sum(first).backward()
        assert memory.held == SIZE
        xp.sum(second).backward()
        assert memory.held == 0
    (row,) = memory.to_dict()["saved"].values()
    assert row == {"values": 1, "bytes": SIZE}


def test_the_peak_and_the_totals_of_several_steps(xp):
    with ag.hooks("memory") as (memory,):
        for _ in range(3):
            program(xp, leaf(xp)).backward()
    facts = memory.to_dict()
    assert facts["peak"] == 3 * SIZE
    assert names(facts["saved"])["exp", "out"] == {"values": 3, "bytes": 3 * SIZE}
    sizes = [size for _, size in facts["timeline"]]
    step = [SIZE, 2 * SIZE, 3 * SIZE, 2 * SIZE, SIZE, 0]
    assert sizes == [0, *step * 3]
    assert [time for time, _ in facts["timeline"]] == sorted(t for t, _ in facts["timeline"])


def test_holders_know_the_line(xp):
    with ag.hooks("memory") as (memory,):
        program(xp, leaf(xp))
    holder = next(each for each in memory.to_dict()["saved"] if each.op == "exp")
    line = program.__code__.co_firstlineno + 1
    assert holder.location == f"{__file__}:{line} in program"


def test_reset_keeps_what_is_held(xp):
    with ag.hooks("memory") as (memory,):
        y = program(xp, leaf(xp))
        memory.reset()
        assert (memory.held, memory.peak) == (3 * SIZE, 3 * SIZE)
        assert memory.to_dict()["saved"] == {}
        y.backward()
    assert memory.held == 0


def test_what_another_plugin_packs_counts_as_what_it_became(xp):
    class Small:
        nbytes = 8

        def __init__(self, value):
            self.value = value

    class Pack:
        @hookimpl
        def save_value(self, value):
            return Small(value)

        @hookimpl
        def restore_value(self, packed):
            return packed.value if isinstance(packed, Small) else None

    for plugins in ((Memory(), Pack()), (Pack(), Memory())):
        x = leaf(xp)
        with ag.hooks(*plugins):
            memory = next(each for each in plugins if isinstance(each, Memory))
            y = xp.sum(xp.exp(x))
            assert memory.held == 8
            y.backward()
            assert memory.held == 0
        assert x.grad is not None


def test_what_nobody_can_watch_is_not_counted(xp):
    kept = {}

    class Pack:
        @hookimpl
        def save_value(self, value):
            kept[b"key"] = value
            return b"key"

        @hookimpl
        def restore_value(self, packed):
            return kept.pop(packed) if packed == b"key" else None

    x = leaf(xp)
    with ag.hooks(Pack(), "memory") as (_, memory):
        xp.sum(xp.exp(x)).backward()
    assert x.grad is not None
    assert (memory.peak, memory.to_dict()["saved"]) == (0, {})


def test_a_pass_that_fails_half_way_frees_what_it_has_used(xp):
    class Fail:
        @hookimpl
        def backward_preprocess(self, op):
            if op.name == "sin":
                raise ArithmeticError

    with ag.hooks("memory") as (memory,):
        y = program(xp, leaf(xp))
        with pytest.raises(ArithmeticError), ag.hooks(Fail()):
            y.backward()
        assert 0 < memory.held < 3 * SIZE
        del y
        gc.collect()
        assert memory.held == 0


def test_nested_scopes_count_what_they_see(xp):
    with ag.hooks("memory") as (outer,):
        x = leaf(xp)
        first = xp.exp(x)
        with ag.hooks("memory") as (inner,):
            second = xp.sum(xp.exp(first))
        assert (outer.held, inner.held) == (2 * SIZE, SIZE)
        second.backward()
    assert (outer.held, inner.held) == (0, 0)


def test_two_threads_share_one(xp):
    memory, together = Memory(), threading.Barrier(2, timeout=10)

    def work():
        with ag.hooks(memory):
            y = program(xp, leaf(xp))
            together.wait()
            y.backward()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (memory.held, memory.peak) == (0, 6 * SIZE)


def test_the_curve_of_a_long_run_is_thinned_out(monkeypatch, xp):
    monkeypatch.setattr("agnograd_memory._ledger._POINTS", 50)
    with ag.hooks("memory") as (memory,):
        for _ in range(100):
            program(xp, leaf(xp)).backward()
    assert 20 < len(memory.to_dict()["timeline"]) <= 51
    assert memory.peak == 3 * SIZE


def test_figures_of_the_device(monkeypatch):
    sizes = iter([{"used": 10}, {"used": 30}, {"used": 20}])
    monkeypatch.setattr(NumpyBackend, "memory", lambda self: next(sizes), raising=False)
    xp = ag.namespace("numpy")
    with ag.hooks("memory") as (memory,):
        xp.sum(xp.exp(leaf(xp))).backward()
    assert memory.to_dict()["device"] == {"numpy": {"used": 30}}
    assert "numpy: used" in memory.summary()


def test_sizes_in_bytes(library):
    for dtype, size in (("float32", 4), ("complex128", 16), ("int16", 2), ("bool", 1)):
        assert nbytes(library.ones((3, 2), dtype=getattr(library, dtype))) == 6 * size
    assert nbytes(library.ones((0,))) == 0


@pytest.mark.parametrize("value", [None, 1.5, "a", [1.0]])
def test_what_is_no_array_has_no_bytes_and_says_so(value):
    with pytest.raises(ArgumentError, match=r"takes an array.*asarray"):
        nbytes(value)


def test_summary_is_a_table_with_the_largest_first(xp):
    with ag.hooks("memory") as (memory,):
        x = ag.Variable(xp.ones((10,), dtype=xp.float64).data)
        for each in (leaf(xp), x):
            program(xp, each).backward()
    lines = memory.summary().splitlines()
    assert lines[0].split() == ["op", "value", "at", "peak", "saved", "in", "all", "values", "line"]
    assert lines[1].split()[:7] == ["exp", "out", "800", "bytes", "880", "bytes", "2"]
    totals = [line.split() for line in lines if line.startswith(("peak", "now"))]
    assert totals == [["peak", "2.4", "kB"], ["now", "0", "bytes"]]  # the device's may follow
    assert Memory().summary()


def test_plots(xp, tmp_path):
    pytest.importorskip("matplotlib", reason="the plot needs matplotlib")
    with ag.hooks("memory") as (memory,):
        program(xp, leaf(xp)).backward()
    figure = memory.plot()
    over_time, at_peak = figure.axes
    assert max(over_time.lines[0].get_ydata()) == 3 * SIZE / 1e6
    assert [bar.get_width() for bar in at_peak.patches] == [SIZE / 1e6] * 3
    figure.savefig(tmp_path / "memory.png")
    Memory().plot().savefig(tmp_path / "empty.png")


def test_a_missing_library_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        Memory().plot()
