"""The log of events: which hook, which op, in order, also where something fails."""

import pytest

import agnograd as ag
from agnograd.extend import hookimpl
from agnograd.testing import Event, record_events
from tests.helpers.packing import Packing


def leaf(xp):
    return ag.Variable(xp.asarray(0.5), requires_grad=True)


def test_the_log_has_every_event_in_order(xp):
    x = leaf(xp)
    assert record_events([], lambda: xp.exp(xp.sin(x)).backward()) == [
        Event("forward_preprocess", "sin"),
        Event("forward_postprocess", "sin"),
        Event("save_value", "sin", "x"),
        Event("forward_preprocess", "exp"),
        Event("forward_postprocess", "exp"),
        Event("save_value", "exp", "out"),
        Event("backward_start"),
        Event("backward_preprocess", "exp"),
        Event("backward_postprocess", "exp"),
        Event("backward_preprocess", "sin"),
        Event("backward_postprocess", "sin"),
        Event("gradient_ready"),
        Event("backward_finish"),
    ]


def test_plugins_get_what_the_log_notes(xp):
    x = leaf(xp)
    log = record_events([Packing(), "timer"], lambda: xp.sin(x).backward())
    assert Event("save_value", "sin", "x") in log
    assert log[log.index(Event("backward_preprocess", "sin")) - 1] == Event("restore_value")
    assert x.grad is not None


def test_failures_are_in_the_log_of_a_program_that_catches_them(xp):
    class Broken(ag.Function):
        def forward(self, xp, x):
            return x * 2.0

        def backward(self, xp, g):
            raise ArithmeticError("planted")

    def program():
        with pytest.raises(ArithmeticError):
            Broken()(leaf(xp)).backward()
        with pytest.raises(Exception, match=r"shape|broadcast|size"):
            xp.add(xp.ones(2), xp.ones(3))

    log = record_events([], program)
    assert Event("backward_postprocess", "Broken", error=ArithmeticError) in log
    assert Event("backward_finish", error=ArithmeticError) in log
    last = log[-1]
    assert (last.hook, last.op) == ("forward_postprocess", "add")
    assert issubclass(last.error, Exception)


def test_an_event_is_noted_before_a_plugin_that_raises(xp):
    class Raising:
        @hookimpl(tryfirst=True)
        def forward_preprocess(self):
            raise ValueError("planted")

    def program():
        with pytest.raises(ValueError, match="planted"):
            xp.sin(leaf(xp))

    log = record_events([Raising()], program)
    assert log == [
        Event("forward_preprocess", "sin"),
        Event("forward_postprocess", "sin", error=ValueError),
    ]


def test_exceptions_of_the_program_go_through_and_recording_ends(xp):
    class Planted(Exception):  # noqa: N818
        pass

    def program():
        raise Planted

    with pytest.raises(Planted):
        record_events([], program)
    assert record_events([], lambda: None) == []
