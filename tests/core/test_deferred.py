"""Functions that are looked up, or compiled, when they are called first."""

import inspect
import linecache
import subprocess
import sys
import threading
import traceback

import pytest

from agnograd._util.deferred import deferred_function, function_from
from agnograd._util.signatures import prototype
from agnograd.extend import Deferred


def test_a_deferred_function_is_loaded_once():
    loads = []
    function = Deferred(lambda: loads.append(1) or max)
    assert not loads
    assert function(1, 2) == 2
    assert function(3, 2, key=lambda value: -value) == 2
    assert function.loaded() is max
    assert loads == [1]


def test_a_function_becomes_the_one_that_is_made():
    def make():
        made.append(1)
        scope = {"offset": 10}
        exec("def other(x, /, y=1, *, z=2): return x + y + z + offset", scope)
        return scope["other"]

    made = []
    function = deferred_function(
        "mine", {"__name__": "here"}, make, prototype("mine(x, /, y, *, z)")
    )
    assert inspect.isfunction(function)
    assert str(inspect.signature(function)) == "(x, /, y, *, z)"
    assert (function.__name__, function.__module__) == ("mine", "here")
    assert not made
    assert function(100) == 113
    assert function(100, z=0) == 111
    assert made == [1]
    assert str(inspect.signature(function)) == "(x, /, y=1, *, z=2)"
    assert inspect.unwrap(function) is function
    with pytest.raises(TypeError, match="positional-only"):
        function(x=1)


def test_one_that_cannot_be_made_yet_is_tried_again():
    def make():
        if not ready:
            raise ValueError("not yet")
        return lambda: "made"

    ready = []
    function = deferred_function("mine", {}, make, prototype("mine(x, /)"))
    with pytest.raises(ValueError, match="not yet"):
        function()
    ready.append(True)
    assert function() == "made"


def test_many_threads_may_be_the_first_to_call():
    def make():
        entered.wait()  # until all of them are here
        return lambda x: 2 * x

    for _ in range(20):
        entered = threading.Barrier(4, timeout=60)
        function = deferred_function("mine", {}, make, prototype("mine(x, /)"))
        results = []
        threads = [
            threading.Thread(target=lambda i=i, f=function, r=results: r.append(f(i)))
            for i in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == [0, 2, 4, 6]
        assert function(5) == 10


def test_threads_that_use_a_new_namespace_agree():
    code = """
import threading
import traceback
import numpy as np
import agnograd as ag

start = threading.Barrier(6, timeout=60)
found, failed = [], []

def work():
    try:
        start.wait()
        xp = ag.namespace("numpy")
        def f(x):
            y = xp.special.erf(xp.sin(x) * xp.linalg.vector_norm(x))
            return xp.sum(y + xp.nn.relu(1.0 - x * x))
        found.append(ag.grad(f)(np.linspace(0.1, 1.0, 5)))
    except BaseException as error:
        failed.append(error)
        raise

threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed and len(found) == 6
assert all((each == found[0]).all() for each in found)
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True)
        assert done.returncode == 0, done.stderr.decode()


def test_a_function_of_a_text_shows_its_lines():
    source = "def divide(x, y):\n    # by what may be 0\n    return x / y\n"
    divide = function_from(source, {})
    assert (divide.__name__, divide(1, 2)) == ("divide", 0.5)
    assert inspect.getsource(divide) == source
    with pytest.raises(ZeroDivisionError) as caught:
        divide(1, 0)
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.name, frame.line) == ("divide", "return x / y")


def test_a_function_of_a_text_keeps_only_the_globals_that_it_names():
    scope = {"offset": 1, "each_too": 2, "unused": 3, "__name__": "here"}
    source = (
        "def shifted(x, key=lambda v: -v):\n    return [key(v) + each_too for v in x] + [offset]"
    )
    function = function_from(source, scope)
    assert function([1]) == [1, 1]
    known = {"offset", "each_too", "__name__"}
    assert known <= set(function.__globals__) <= known | {"__builtins__"}
    other = function_from(source.replace("shifted", "other"), scope)
    assert other.__code__.co_consts is function.__code__.co_consts  # it was compiled once
    assert (other.__name__, inspect.getsource(other)) == (
        "other",
        source.replace("shifted", "other") + "\n",
    )


def test_a_function_may_go_while_a_traceback_is_made(monkeypatch):
    made = [function_from("def mine(x): return x", {}, keep=False)]
    name = made[0].__code__.co_filename

    class Cache(dict):
        def keys(self):
            names = [*super().keys()]
            made.clear()  # as where the garbage collector runs now
            return names

    monkeypatch.setattr(linecache, "cache", Cache(linecache.cache))
    linecache.checkcache()
    assert not made
    assert name in linecache.cache
    assert function_from("def other(x): return x", {}, keep=False)(3) == 3
    assert name not in linecache.cache  # it goes with the next one
