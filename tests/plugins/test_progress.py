"""The plugin ``progress``: what its bar counts."""

import io
import sys
import threading

import pytest

import agnograd as ag
from agnograd.extend import hookimpl
from agnograd_progress import Progress


def chain(xp, length):
    x = ag.Variable(xp.asarray(0.5).data)
    for _ in range(length):
        x = xp.sin(x)
    return x


def progress(**options):
    shown = io.StringIO()
    return shown, Progress(delay=0.0, file=shown, leave=True, mininterval=0.0, **options)


def test_a_bar_counts_the_ops_of_a_pass(xp):
    shown, plugin = progress()
    y = chain(xp, 40)
    with ag.hooks(plugin):
        assert plugin.expect(y) == 40
        y.backward()
    last = shown.getvalue().splitlines()[-1].rpartition("\r")[2]
    assert "backward: 100%" in last
    assert "40/40" in last
    assert "op/s" in last
    assert "sin" in last


def test_a_pass_is_expected_to_be_as_long_as_the_one_before(xp):
    shown, plugin = progress()
    with ag.hooks(plugin):
        chain(xp, 5).backward()
        assert "5op" in shown.getvalue()
        assert "/5" not in shown.getvalue()
        chain(xp, 5).backward()
    assert "5/5" in shown.getvalue()


def test_short_passes_show_nothing(xp):
    shown = io.StringIO()
    with ag.hooks(Progress(delay=1000.0, file=shown)):
        chain(xp, 5).backward()
    assert not shown.getvalue().strip()


def test_passes_inside_of_a_pass_are_a_part_of_it(xp):
    shown, plugin = progress()
    y = ag.checkpoint(lambda x: xp.sin(xp.sin(xp.sin(x))))(chain(xp, 2))
    with ag.hooks(plugin):
        assert plugin.expect(y) == 3
        y.backward()
    assert "3/3" in shown.getvalue()
    assert shown.getvalue().count("\n") == 1  # one bar


def test_a_pass_that_fails_half_way_closes_its_bar(xp):
    class Fail:
        def __init__(self):
            self.calls = 0

        @hookimpl
        def backward_preprocess(self):
            self.calls += 1
            if self.calls == 3:
                raise ArithmeticError

    shown, plugin = progress()
    with ag.hooks(plugin, Fail()):
        with pytest.raises(ArithmeticError):
            chain(xp, 5).backward()
        chain(xp, 4).backward()
    assert "2op" in shown.getvalue()
    assert "4op" in shown.getvalue()
    assert shown.getvalue().count("\n") == 2


def test_nested_scopes_have_a_bar_each(xp):
    (outside, outer), (inside, inner) = progress(), progress()
    with ag.hooks(outer):
        with ag.hooks(inner):
            chain(xp, 3).backward()
        chain(xp, 3).backward()
    assert "3/3" in outside.getvalue()
    assert "3op" in inside.getvalue()
    assert "3/3" not in inside.getvalue()


def test_two_threads_have_a_bar_each(xp):
    shown, plugin = progress()
    together = threading.Barrier(2, timeout=10)

    class Meet:
        @hookimpl
        def backward_start(self):
            together.wait()

    def work(length):
        y = chain(xp, length)
        with ag.hooks(plugin, Meet()):
            plugin.expect(y)
            y.backward()

    threads = [threading.Thread(target=work, args=(length,)) for length in (7, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "7/7" in shown.getvalue()
    assert "9/9" in shown.getvalue()


def test_a_missing_library_is_named_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="pip install tqdm"):
        ag.hooks("progress")
