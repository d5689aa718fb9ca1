"""The plugin ``timer``: what it counts, and how times add up."""

import itertools
import threading
import time

import numpy as np
import pytest

import agnograd as ag
import agnograd_timer
from agnograd.extend import hookimpl
from agnograd_timer import Timer


@pytest.fixture
def ticks(monkeypatch):
    """Let every reading of the clock be one second after the one before."""
    monkeypatch.setattr(agnograd_timer, "perf_counter", itertools.count(0.0).__next__)


def variable(xp, value=3.0):
    return ag.Variable(xp.asarray(value).data)


def row(calls, seconds):
    return {"calls": calls, "seconds": seconds}


def program(xp, x):
    for _ in range(10):
        x = xp.sin(x) * 2.0
    return xp.sum(x)


def test_calls_and_times_add_up(xp, ticks):
    x = variable(xp)
    with ag.hooks("timer") as (timer,):
        xp.exp(x * x * 2.0).backward()
    assert timer.to_dict() == {
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
    totals = timer.to_dict()
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
        patch.setattr(agnograd_timer, "perf_counter", itertools.count(0.0).__next__)
        y.backward(create_graph=True)
    totals = timer.to_dict()
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
    totals = timer.to_dict()
    assert totals["forward"]["multiply"] == row(2, 2.0)
    assert totals["backward"]["multiply"] == row(2, 2.0)
    assert totals["passes"] == row(2, 9.0)


def test_failed_ops_count_and_leave_nothing_behind(xp, ticks):
    x = variable(xp, [1.0, 2.0])
    with ag.hooks("timer") as (timer,):
        with pytest.raises(Exception, match=r"(?i)shape|broadcast|dimension|mismatch"):
            xp.matmul(xp.zeros((2, 3)).data, xp.zeros((2, 3)).data)
        xp.sum(x).backward()
    totals = timer.to_dict()
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
    assert timer.to_dict()["forward"] == {"multiply": row(1, 1.0)}
    assert timer.to_dict()["backward"] == {"multiply": row(1, 1.0)}
    assert timer.to_dict()["passes"] == row(1, 3.0)


def test_other_plugins_hooks_are_not_measured(ticks):
    class Slow:
        @hookimpl
        def forward_preprocess(self):
            agnograd_timer.perf_counter()

        @hookimpl
        def forward_postprocess(self):
            agnograd_timer.perf_counter()

    xp = ag.namespace("numpy")
    for plugins in ((timer := Timer(), Slow()), (Slow(), timer)):
        timer.reset()
        with ag.hooks(*plugins):
            xp.exp(variable(xp))
        assert timer.to_dict()["forward"] == {"exp": row(1, 1.0)}


def test_nested_scopes_share_what_they_share(xp):
    with ag.hooks("timer") as (outer,):
        with ag.hooks("timer", outer) as (inner, _):
            xp.exp(variable(xp))
        xp.exp(variable(xp))
    xp.exp(variable(xp))
    assert outer.to_dict()["forward"]["exp"]["calls"] == 2
    assert inner.to_dict()["forward"]["exp"]["calls"] == 1


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
    totals = timer.to_dict()
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
        "op            calls    total ms     mean us   share",
        "forward",
        "  multiply        2    2000.000  1000000.00   33.3%",
        "  exp             1    1000.000  1000000.00   16.7%",
        "backward",
        "  multiply        2    2000.000  1000000.00   33.3%",
        "  exp             1    1000.000  1000000.00   16.7%",
        "passes            1    7000.000  7000000.00",
    ]


def test_an_empty_timer_has_a_summary():
    timer = Timer()
    assert timer.to_dict() == {"forward": {}, "backward": {}, "passes": row(0, 0.0)}
    assert len(timer.summary().splitlines()) == 4


def test_what_runs_when_the_timer_is_reset_counts_when_it_ends(ticks):
    class Reset:
        @hookimpl
        def forward_preprocess(self, op):
            if op.name == "sin":
                timer.reset()

    xp, timer = ag.namespace("numpy"), Timer()
    with ag.hooks(timer, Reset()):
        xp.sin(xp.exp(variable(xp)))
    assert timer.to_dict()["forward"] == {"sin": row(1, 1.0)}
