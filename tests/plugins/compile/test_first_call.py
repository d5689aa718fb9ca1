"""What the first call of a compiled function may cost, counted and not timed."""

import gc

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._lowerings import lowering_for
from agnograd_compile._passes import passes
from calls import calls
from traced import traced

xp = ag.namespace("numpy")
N = 100


def on_arrays(n):
    def f(x):
        for _ in range(n):
            x = xp.sin(x) * 1.01
        return xp.sum(x)

    return ag.value_and_grad(f)


def on_numbers(n):
    def f(x):
        y = x
        for _ in range(n):
            y = y * x + y * 0.5
        return y

    return ag.value_and_grad(f)


# A function of so many iterations, its argument, and the calls that each step of its trace adds to
# the trace, to the passes, and to the lowerings.
PROGRAMS = {
    "arrays": (on_arrays, np.linspace(0.1, 0.9, 10), 36, 21, {"plain": 18, "numpy": 42, "c": 56}),
    "numbers": (on_numbers, np.asarray(0.9), 38, 39, {"plain": 19, "numpy": 39, "c": 62}),
}
EACH = pytest.mark.parametrize("name", PROGRAMS)


@pytest.fixture(autouse=True)
def _no_proofs(monkeypatch):
    monkeypatch.setattr("agnograd_numpy._elementwise._VERIFIED", False)


def per_step(work, made):
    """Return the calls that each step adds to work on a program; ``made(n)`` returns a new one."""
    for n in (N, 2 * N):  # what is done but once is done: C functions are compiled, and kept
        work(made(n))
    short, long = made(N), made(2 * N)
    counts = [calls(lambda: work(short)), calls(lambda: work(long))]
    return (counts[1] - counts[0]) / (len(long.steps) - len(short.steps))


@pytest.mark.accelerated
@pytest.mark.usual_switches
@EACH
def test_python_calls_of_a_trace(name):
    function, x, most, *_ = PROGRAMS[name]
    short, long = function(N), function(2 * N)
    steps = len(traced("numpy", long, x).steps) - len(traced("numpy", short, x).steps)
    counts = [calls(lambda f=f: traced("numpy", f, x)) for f in (short, long)]
    assert (counts[1] - counts[0]) / steps <= most


@pytest.mark.accelerated
@pytest.mark.usual_switches
@EACH
def test_python_calls_of_passes(name):
    function, x, _, most, _ = PROGRAMS[name]
    assert per_step(passes.run, lambda n: traced("numpy", function(n), x)) <= most


@pytest.mark.usual_switches
@EACH
@pytest.mark.parametrize("lowering", ["plain", "numpy", "c"])
def test_python_calls_of_a_lowering(name, lowering):
    function, x, *_, most = PROGRAMS[name]
    lower = lowering_for("numpy", lowering).lower
    made = per_step(lower, lambda n: passes.run(traced("numpy", function(n), x)))
    assert made <= most[lowering]


@pytest.mark.accelerated
@pytest.mark.usual_switches
def test_python_calls_of_a_short_function():
    x = np.linspace(0.1, 0.9, 10)
    ag.compile(on_arrays(10), lowering="numpy")(x)
    f = ag.compile(on_arrays(10), lowering="numpy")  # of some 50 steps
    assert calls(lambda: f(x)) <= 6200


@pytest.mark.usual_switches
def test_garbage_is_hardly_looked_for():
    def collections():
        return sum(each["collections"] for each in gc.get_stats())

    f, x = ag.compile(on_arrays(500), lowering="numpy"), np.linspace(0.1, 0.9, 10)
    before, usual = collections(), gc.get_threshold()
    f(x)
    assert collections() - before <= 3
    assert gc.get_threshold() == usual


def of_two(w, x):
    return xp.sum(xp.tanh(w * x))


def backward(f, w, x):
    w = ag.Variable(w)
    f(w, x).backward()
    return w.grad.data


@pytest.mark.usual_switches  # what no cache keeps any more is garbage, too
@pytest.mark.parametrize("lowering", ["plain", "numpy", "c"])
@pytest.mark.parametrize(
    "call",
    [
        lambda f, w, x: f(w, x),
        lambda f, w, x: backward(f, w, x),
        lambda f, w, x: ag.grad(f)(w, x),
        lambda f, w, x: ag.vmap(f)(np.stack([w, x]), np.stack([x, w])),
        lambda f, w, x: ag.jvp(lambda w: f(w, x), (w,), (x,)),
    ],
    ids=["value", "backward", "grad", "vmap", "jvp"],
)
def test_a_replay_leaves_nothing_to_the_garbage_collector(call, lowering):
    f, (w, x) = ag.compile(of_two, lowering=lowering), np.linspace(0.1, 0.9, 10).reshape(2, 5)
    for _ in range(2):
        call(f, w, x)
    while gc.collect():  # what finalizers let go of is found by the next one
        pass
    gc.disable()
    try:
        call(f, w, x)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_large_arrays_outside_are_hashed_by_python_itself(monkeypatch):
    # A hash for keys takes four times as long: it is for arrays that programs depend on.
    monkeypatch.setattr("agnograd_compile._surroundings.keys.hashlib.blake2b", None)
    w = np.arange(100_000.0)
    f = ag.compile(lambda x: xp.sum(x * w))
    assert f(np.ones(100_000)) == w.sum()
