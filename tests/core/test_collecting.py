"""The garbage collector runs seldom while many objects are made that stay, and then as before."""

import gc
import os
import subprocess
import sys
import threading

import pytest

from agnograd._util.collecting import Seldom, seldom_collected

pytestmark = pytest.mark.usual_switches  # how seldom is one of them


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)


def test_it_is_as_before_after_blocks_in_each_other_and_errors(thresholds):
    with seldom_collected:
        with pytest.raises(ZeroDivisionError), seldom_collected:
            raise ZeroDivisionError
        assert gc.get_threshold()[0] == 100 * thresholds[0]
        assert gc.isenabled()
    assert gc.get_threshold() == thresholds


def test_the_last_thread_to_leave_restores_it(thresholds):
    seldom, inside, leave = Seldom(), threading.Event(), threading.Event()

    def other():
        with seldom:
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with seldom:
        thread.start()
        inside.wait()
    assert gc.get_threshold()[0] == 100 * thresholds[0]
    leave.set()
    thread.join()
    assert gc.get_threshold() == thresholds


def test_what_is_set_inside_stays():
    with seldom_collected:
        gc.set_threshold(321, 5, 6)
    assert gc.get_threshold()[0] == 321


# In a process of its own: libraries that have threads warn of forks.
FORK = """
import gc, os, threading
from agnograd._util.collecting import Seldom

usual = gc.get_threshold()
seldom, inside, leave = Seldom(), threading.Event(), threading.Event()


def other():
    with seldom:
        inside.set()
        leave.wait()


thread = threading.Thread(target=other)
thread.start()
inside.wait()
assert gc.get_threshold() != usual
child = os.fork()
if not child:
    os._exit(0 if gc.get_threshold() == usual else 1)
leave.set()
thread.join()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert gc.get_threshold() == usual
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_that_another_thread_forks_is_as_before():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], check=True)
