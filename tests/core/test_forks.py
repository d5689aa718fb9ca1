"""Forked children: nothing that a thread of the parent held keeps them waiting."""

import copy
import os
import pickle
import signal
import threading

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
