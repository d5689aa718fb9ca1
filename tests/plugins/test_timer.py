"""The plugin ``timer``: what it counts, and how times add up."""

import itertools
import json
import sys
import threading
import time

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays.domains import domain_named
from agnograd.errors import ArgumentError
from agnograd.extend import hookimpl
from agnograd_numpy import NumpyBackend
from agnograd_timer import Timer
from agnograd_timer._totals import as_tables


def set_clock(monkeypatch, mark, *names):
    """Let backends have this clock for ops and rules."""
    for name in names:
        monkeypatch.setattr(domain_named(name), "mark", mark)


@pytest.fixture
def ticks(monkeypatch, request):
    """Let every reading of the clock be one second after the one before, on any backend."""
    tick = itertools.count(0.0).__next__
    selected = request.getfixturevalue("backend") if "backend" in request.fixturenames else "numpy"
    set_clock(monkeypatch, tick, selected, "numpy", "strict")
    monkeypatch.setattr("agnograd_timer._running.perf_counter", tick)
    return tick


def variable(xp, value=3.0):
    return ag.Variable(xp.asarray(value).data)


def row(calls, seconds):
    return {"calls": calls, "seconds": seconds}


def plain(timer):
    """Return what was measured without shapes and preparation."""
    tables = timer.to_dict()
    return {
        kind: {name: row(each["calls"], each["seconds"]) for name, each in tables[kind].items()}
        for kind in ("forward", "backward")
    } | {"passes": row(tables["passes"]["calls"], tables["passes"]["seconds"])}


def program(xp, x):
    for _ in range(10):
        x = xp.sin(x) * 2.0
    return xp.sum(x)


def test_calls_and_times_add_up(xp, ticks):
    x = variable(xp)
    with ag.hooks("timer") as (timer,):
        xp.exp(x * x * 2.0).backward()
    assert plain(timer) == {
        "forward": {"multiply": row(2, 2.0), "exp": row(1, 1.0)},
        "backward": {"exp": row(1, 1.0), "multiply": row(2, 2.0)},
        "passes": row(1, 7.0),
    }


def test_real_times_are_consistent(xp):
    start = time.perf_counter()
    with ag.hooks("timer") as (timer,):
        for _ in range(3):
            program(xp, variable(xp)).backward()
    wall = time.perf_counter() - start
    totals = plain(timer)
    seconds = {d: sum(r["seconds"] for r in totals[d].values()) for d in ("forward", "backward")}
    assert {name: r["calls"] for name, r in totals["backward"].items()} == {
        "sum": 3,
        "sin": 30,
        "multiply": 30,
    }
    assert totals["passes"]["calls"] == 3
    assert 0 < seconds["backward"] <= totals["passes"]["seconds"]
    assert seconds["forward"] + totals["passes"]["seconds"] <= wall


def test_ops_inside_of_a_rule_count_for_themselves(xp):
    x = variable(xp)
    y = xp.sin(x)
    with ag.hooks(Timer(), Timer()) as (timer, _), pytest.MonkeyPatch.context() as patch:
        tick = itertools.count(0.0).__next__
        patch.setattr("agnograd_timer._running.perf_counter", tick)
        set_clock(patch, tick, x._domain.backend.name)
        y.backward(create_graph=True)
    totals = plain(timer)
    inner = sum(r["calls"] for r in totals["forward"].values())
    assert inner >= 2  # cos(x), times the gradient
    assert set(totals["backward"]) == {"sin"}
    own = sum(r["seconds"] for d in ("forward", "backward") for r in totals[d].values())
    assert own <= totals["passes"]["seconds"]


def test_a_pass_inside_of_a_pass_counts_for_itself(xp, ticks):
    class Inner:
        @hookimpl
        def gradient_ready(self, variable):
            if variable is x:
                with ag.enable_grad(), ag.hooks(timer):
                    (y * y).backward()

    x, y, timer = variable(xp), variable(xp), Timer()
    with ag.hooks(timer, Inner()):
        (x * x).backward()
    totals = plain(timer)
    assert totals["forward"]["multiply"] == row(2, 2.0)
    assert totals["backward"]["multiply"] == row(2, 2.0)
    assert totals["passes"] == row(2, 9.0)


def test_failed_ops_count_and_leave_nothing_behind(xp, ticks):
    x = variable(xp, [1.0, 2.0])
    with ag.hooks("timer") as (timer,):
        with pytest.raises(Exception, match=r"(?i)shape|broadcast|dimension|mismatch"):
            xp.matmul(xp.zeros((2, 3)).data, xp.zeros((2, 3)).data)
        xp.sum(x).backward()
    totals = plain(timer)
    assert totals["forward"]["matmul"] == row(1, 1.0)
    assert totals["forward"]["sum"] == row(1, 1.0)
    assert totals["passes"]["calls"] == 1


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize(
    "name",
    [
        "forward_preprocess",
        "forward_postprocess",
        "backward_preprocess",
        "backward_postprocess",
        "backward_start",
        "backward_finish",
    ],
)
def test_failing_hooks_of_others_leave_nothing_behind(name, first, before, ticks):
    def fail(self):
        raise KeyboardInterrupt

    other = type("Other", (), {name: hookimpl(fail, tryfirst=first)})()
    xp, timer = ag.namespace("numpy"), Timer()
    plugins = (other, timer) if before else (timer, other)
    x = variable(xp)
    with pytest.raises(KeyboardInterrupt), ag.hooks(*plugins):
        (x * x).backward()
    timer.reset()
    with ag.hooks(timer):
        (x * x).backward()
    assert plain(timer)["forward"] == {"multiply": row(1, 1.0)}
    assert plain(timer)["backward"] == {"multiply": row(1, 1.0)}
    assert plain(timer)["passes"] == row(1, 3.0)


def test_other_plugins_hooks_are_not_measured(ticks):
    class Slow:
        @hookimpl
        def forward_preprocess(self):
            ticks()

        @hookimpl
        def forward_postprocess(self):
            ticks()

    xp = ag.namespace("numpy")
    for plugins in ((timer := Timer(), Slow()), (Slow(), timer)):
        timer.reset()
        with ag.hooks(*plugins):
            xp.exp(variable(xp))
        assert plain(timer)["forward"] == {"exp": row(1, 1.0)}


def test_nested_scopes_share_what_they_share(xp):
    with ag.hooks("timer") as (outer,):
        with ag.hooks("timer", outer) as (inner, _):
            xp.exp(variable(xp))
        xp.exp(variable(xp))
    xp.exp(variable(xp))
    assert plain(outer)["forward"]["exp"]["calls"] == 2
    assert plain(inner)["forward"]["exp"]["calls"] == 1


def test_threads_add_up():
    xp, timer = ag.namespace("numpy"), Timer()
    together = threading.Barrier(2, timeout=10)

    class Meet:
        """Make the ops of two threads overlap."""

        @hookimpl
        def forward_preprocess(self):
            together.wait()

        @hookimpl
        def backward_preprocess(self):
            together.wait()

    def work():
        with ag.hooks(timer, Meet()):
            program(xp, ag.Variable(np.ones(3))).backward()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    totals = plain(timer)
    for direction in ("forward", "backward"):
        calls = {name: r["calls"] for name, r in totals[direction].items()}
        assert calls == {"sin": 20, "multiply": 20, "sum": 2}
    assert totals["passes"]["calls"] == 2


def test_summary_is_a_table_with_the_longest_first(ticks):
    xp = ag.namespace("numpy")
    x = variable(xp)
    with ag.hooks("timer") as (timer,):
        xp.exp(x * x * 2.0).backward()
    assert timer.summary().splitlines() == [
        "op          calls  total ms     mean us  share  preparation ms",
        "forward",
        "  multiply      2  2000.000  1000000.00  33.3%",
        "  exp           1  1000.000  1000000.00  16.7%",
        "backward",
        "  multiply      2  2000.000  1000000.00  33.3%        2000.000",
        "  exp           1  1000.000  1000000.00  16.7%        1000.000",
        "passes          1  7000.000  7000000.00               4000.000",
    ]


def test_an_empty_timer_has_a_summary():
    timer = Timer()
    assert plain(timer) == {"forward": {}, "backward": {}, "passes": row(0, 0.0)}
    assert len(timer.summary().splitlines()) == 4


def test_rules_and_what_is_around_them_make_up_the_pass(xp, ticks):
    with ag.hooks("timer") as (timer,):
        program(xp, variable(xp)).backward()
    totals = timer.to_dict()
    rules = [r["seconds"] for r in totals["backward"].values()]
    before = [r["preparation"] for r in totals["backward"].values()]
    assert sum(rules) + totals["passes"]["preparation"] == totals["passes"]["seconds"]
    assert 0.9 < (sum(rules) + sum(before)) / totals["passes"]["seconds"] < 1.0


def test_a_recorded_pass_adds_up_too(xp, ticks):
    y = program(xp, variable(xp))
    with ag.hooks("timer") as (timer,):
        y.backward(create_graph=True)
    totals = timer.to_dict()
    own = sum(r["seconds"] for kind in ("forward", "backward") for r in totals[kind].values())
    assert own + totals["passes"]["preparation"] == totals["passes"]["seconds"]


def test_a_pass_inside_of_a_rule_is_not_the_rule_s_time(xp, ticks):
    with ag.hooks("timer") as (timer,):
        y = ag.checkpoint(lambda x: xp.sin(x))(variable(xp))
        y.backward()
    totals = plain(timer)
    assert totals["backward"]["sin"] == row(1, 1.0)
    assert totals["forward"]["sin"] == row(2, 2.0)
    assert totals["passes"]["calls"] == 2


def test_shapes_are_told_apart(xp, ticks):
    with ag.hooks("timer") as (timer,):
        for shape in ((2, 3), (2, 3), (4,)):
            (ag.Variable(xp.ones(shape).data) * 2.0).backward(xp.ones(shape))
    totals = timer.to_dict()
    assert totals["forward"]["multiply"]["shapes"] == {
        ((2, 3), ()): row(2, 2.0),
        ((4,), ()): row(1, 1.0),
    }
    assert totals["backward"]["multiply"]["shapes"] == {
        ((2, 3),): row(2, 2.0),
        ((4,),): row(1, 1.0),
    }


class Device:
    """Marks of a device's clock, which is read when someone asks for the time between two."""

    def __init__(self, monkeypatch, start):
        self.count = itertools.count(start)
        self.waits = 0
        set_clock(monkeypatch, lambda: [next(self.count)], "numpy")
        monkeypatch.setattr(NumpyBackend, "mark", lambda _: [next(self.count)], raising=False)
        monkeypatch.setattr(NumpyBackend, "elapsed", self.elapsed, raising=False)

    def elapsed(self, start, stop):
        self.waits += 1
        return float(stop[0] - start[0])


def test_a_device_s_own_clock_is_used_and_not_waited_for(monkeypatch):
    xp, device = ag.namespace("numpy"), Device(monkeypatch, start=0)
    x = variable(xp)
    with ag.hooks("timer") as (timer,):
        xp.exp(x * x).backward()
    assert device.waits == 0
    totals = timer.to_dict()
    assert device.waits > 0
    assert totals["forward"]["multiply"]["seconds"] == 1.0
    assert totals["backward"]["multiply"]["seconds"] == 1.0
    # From the first rule on: 4 marks of rules, and one at the end.
    assert totals["passes"] == row(1, 4.0) | {"preparation": 2.0}


def test_many_events_of_a_device_are_added_up_on_the_way(monkeypatch):
    monkeypatch.setattr("agnograd_timer._running.WAITING_MARKS", 50)
    xp, device, timer = ag.namespace("numpy"), Device(monkeypatch, start=0), Timer()
    with ag.hooks(timer):
        for _ in range(5):
            program(xp, variable(xp)).backward()
        assert device.waits > 0
    totals = timer.to_dict()
    assert totals["forward"]["sin"]["calls"] == totals["backward"]["sin"]["calls"] == 50
    own = sum(r["seconds"] for r in totals["backward"].values())
    assert own + totals["passes"]["preparation"] == totals["passes"]["seconds"]


def test_backends_with_and_without_a_clock_mix(monkeypatch, ticks):
    Device(monkeypatch, start=1000)
    on_device, on_host = ag.namespace("numpy"), ag.namespace("strict")
    with ag.hooks("timer") as (timer,):
        for xp in (on_device, on_host, on_device):
            xp.exp(variable(xp)).backward()
    totals = timer.to_dict()
    assert totals["forward"]["exp"]["seconds"] == totals["backward"]["exp"]["seconds"] == 3.0
    # From the first rule on, on the device; from the beginning, on the host.
    assert totals["passes"]["seconds"] == 2.0 + 3.0 + 2.0


def test_traces_nest(xp, tmp_path, ticks):
    x = variable(xp, [1.0, 2.0])
    with ag.hooks("timer") as (timer,):
        xp.sum(ag.checkpoint(lambda x: xp.sin(x))(x)).backward()
    timer.trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    (clock,) = [event for event in trace["traceEvents"] if event["ph"] == "M"]
    assert clock["args"]["name"] == "agnograd, host"
    spans = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            assert event["dur"] > 0 <= event["ts"]
            key = event["cat"], event["name"]
            spans.setdefault(key, []).append((event["ts"], event["ts"] + event["dur"]))
    inner, outer = spans["pass", "backward pass"]
    ((sin_start, sin_end),) = spans["backward", "sin"]
    ((rule_start, rule_end),) = spans["backward", "<lambda>"]
    assert outer[0] < rule_start < inner[0] < sin_start < sin_end < inner[1] < rule_end < outer[1]
    (event,) = [e for e in trace["traceEvents"] if (e.get("cat"), e["name"]) == ("forward", "sum")]
    assert event["args"]["shapes"] == "((2,),)"


def test_a_trace_has_the_latest_events_and_threads_apart(tmp_path):
    xp, timer = ag.namespace("numpy"), Timer(events=2)

    def work():
        with ag.hooks(timer):
            xp.sin(xp.exp(variable(xp)))

    for _ in range(2):
        work()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    timer.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"][1:]
    assert [event["name"] for event in events] == ["exp", "sin", "exp", "sin"]
    assert len({event["tid"] for event in events}) == 2
    assert min(event["ts"] for event in events) == 0.0
    Timer().trace(tmp_path / "empty.json")
    assert json.loads((tmp_path / "empty.json").read_text())["traceEvents"] == []


def test_plot_is_a_bar_chart_of_the_longest(ticks, tmp_path):
    pytest.importorskip("matplotlib", reason="the chart needs matplotlib")
    xp = ag.namespace("numpy")
    x = variable(xp)
    with ag.hooks("timer") as (timer,):
        xp.sum(xp.exp(x * x * 2.0)).backward()
    figure = timer.plot(top=2)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["multiply", "exp"]
    assert [bar.get_width() for bar in axes.patches] == [2000.0, 1000.0, 2000.0, 1000.0]
    figure.savefig(tmp_path / "timer.png")
    Timer().plot().savefig(tmp_path / "empty.png")


def test_a_missing_library_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        Timer().plot()


def test_what_runs_when_the_timer_is_reset_counts_when_it_ends(ticks):
    class Reset:
        @hookimpl
        def forward_preprocess(self, op):
            if op.name == "sin":
                timer.reset()

    xp, timer = ag.namespace("numpy"), Timer()
    with ag.hooks(timer, Reset()):
        xp.sin(xp.exp(variable(xp)))
    assert plain(timer)["forward"] == {"sin": row(1, 1.0)}


@pytest.mark.parametrize("rows", ["a", [None], 5])
def test_a_table_of_no_rows_says_what_to_call(rows):
    with pytest.raises(ArgumentError, match=r"rows that a Timer has measured.*to_dict\(\)"):
        as_tables(rows)
