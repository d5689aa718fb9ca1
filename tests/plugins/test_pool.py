"""The pool plugin: freed memory is kept while it is active, and given back after it."""

import os
import platform
import subprocess
import sys
import threading

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import PluginError
from agnograd_pool import Pool

glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the plugin sets options of glibc's allocator"
)

FAULTS = """
import resource

import numpy as np

import agnograd as ag

xp = ag.namespace("numpy")
x = ag.Variable(np.ones(10_000_000))  # of more bytes than glibc keeps at the end of its heap


def step():
    xp.sum(xp.tanh(x)).backward()


def faults():
    for _ in range(3):
        step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


print(faults())
with ag.hooks("pool"), ag.hooks("pool"):
    print(faults())
print(faults())
"""


def page_faults(**environment):
    found = subprocess.run(
        [sys.executable, "-c", FAULTS],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(line) for line in found.stdout.split()]


@glibc
def test_passes_take_memory_from_the_pool_and_not_from_the_system():
    before, inside, after = page_faults()
    assert inside < before / 20
    assert after > before / 10  # memory is asked of the system again


@glibc
def test_a_process_can_keep_it_active():
    assert max(page_faults(AGNOGRAD_PLUGINS="pool")) < 1000


@glibc
def test_gradients_are_the_same_after_a_failure_and_in_threads():
    xp = ag.namespace("numpy")
    raw = np.linspace(0.0, 1.0, 50_000)
    expected = 2.0 * raw
    found = {}

    def work(name):
        with ag.hooks("pool"):
            with pytest.raises(ValueError, match="broadcast"), ag.hooks("pool"):
                xp.sum(ag.Variable(raw) * xp.ones(3))
            found[name] = ag.grad(lambda x: xp.sum(x * x))(raw)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in range(2):
        np.testing.assert_array_equal(found[name], expected)


def test_another_c_library_is_an_error(monkeypatch):
    monkeypatch.setattr(platform, "libc_ver", lambda: ("musl", "1.2"))
    with pytest.raises(PluginError, match=r"glibc.*musl"), ag.hooks(Pool()):
        raise AssertionError("it was entered")
    assert ag.grad(lambda x: x * x)(3.0) == 6.0
