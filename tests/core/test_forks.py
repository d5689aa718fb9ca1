"""Forked children: nothing that a thread of the parent held keeps them waiting."""

import copy
import importlib
import os
import pickle
import signal
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays import domains
from agnograd._engine import ends
from agnograd.extend import Lock
from agnograd_memory import Memory
from agnograd_offload import Offload
from agnograd_scale import Scale

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),
]


def in_child(function):
    """Return whether a function raises nothing, and ends, in a forked child."""
    child = os.fork()
    if not child:
        signal.alarm(20)  # what hangs ends so
        try:
            function()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


class Held:
    """A thread that has a lock while the block runs."""

    def __init__(self, lock):
        self.lock, self.has, self.may_end = lock, threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.hold)

    def hold(self):
        with self.lock:
            self.has.set()
            self.may_end.wait()

    def __enter__(self):
        self.thread.start()
        self.has.wait()

    def __exit__(self, *error):
        self.may_end.set()
        self.thread.join()


def gradient():
    x = ag.Variable(np.ones(3))
    x.__array_namespace__().sum(x * x).backward()
    assert x.grad.data.tolist() == [2.0, 2.0, 2.0]


def test_a_child_takes_gradients_while_the_parent_does():
    with Held(ends._commits):
        assert in_child(gradient)
    gradient()


def test_a_child_builds_namespaces_while_the_parent_does():
    with Held(domains.filling):
        assert in_child(lambda: ag.namespace("strict").linalg.solve)


def test_a_child_imports_what_a_thread_of_the_parent_was_importing(tmp_path, monkeypatch):
    (tmp_path / "agnograd_slow.py").write_text("import threads; threads.wait()")
    begun = threading.Event()
    threads = SimpleNamespace(wait=lambda: (begun.set(), time.sleep(0.2)))
    monkeypatch.setitem(sys.modules, "threads", threads)
    monkeypatch.syspath_prepend(tmp_path)
    thread = threading.Thread(target=lambda: importlib.import_module("agnograd_slow"))
    thread.start()
    begun.wait()
    assert in_child(lambda: importlib.import_module("agnograd_slow"))
    thread.join()
    assert sys.modules.pop("agnograd_slow")


def test_a_fork_in_an_import_of_its_own_does_not_wait(tmp_path, monkeypatch):
    (tmp_path / "agnograd_forks.py").write_text("import forks; ended = forks.in_child()")
    forks = SimpleNamespace(in_child=lambda: in_child(gradient))
    monkeypatch.setitem(sys.modules, "forks", forks)
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.import_module("agnograd_forks").ended
    del sys.modules["agnograd_forks"]


@pytest.mark.parametrize("kind", [Memory, Scale, lambda: Offload(above=8)])
def test_a_plugin_goes_on_in_a_child(kind):
    plugin = kind()
    lock = plugin._ledger._lock if isinstance(plugin, Memory) else plugin._lock

    def with_plugin():
        with ag.hooks(plugin):
            gradient()
        getattr(plugin, "summary", str)()

    with Held(lock):
        assert in_child(with_plugin)


def test_files_stay_when_a_child_ends(tmp_path):
    xp = ag.namespace("numpy")
    x = ag.Variable(np.ones(1000))
    with ag.hooks(Offload(above=8, to="disk", folder=tmp_path)):
        values = [xp.sum(xp.exp(x))]
    files = len(list(tmp_path.iterdir()))
    assert files > 0
    assert in_child(values.clear)
    assert len(list(tmp_path.iterdir())) == files
    values.pop().backward()
    assert not list(tmp_path.iterdir())


def test_a_lock_is_copied_as_a_lock_of_its_own():
    lock = Lock()
    for made in (copy.copy, copy.deepcopy, lambda lock: pickle.loads(pickle.dumps(lock))):
        with Held(lock), made(lock) as taken:
            assert taken
