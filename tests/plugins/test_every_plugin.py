"""What holds for every installed plugin: results stay, whatever fails, nests or runs beside."""

import threading

import pytest

import agnograd as ag
from agnograd.extend import hookimpl

NAMES = sorted(n for n, info in ag.plugins().items() if info.distribution.startswith("agnograd "))


class Failing(ag.Function):
    """Compute x * x; fail forward or backward if told to."""

    def __init__(self, where):
        self.where = where

    def forward(self, xp, x):
        if self.where == "forward":
            raise ArithmeticError("half way")
        self.save(x)
        return x * x

    def backward(self, xp, g):
        if self.where == "backward":
            raise ArithmeticError("half way")
        (x,) = self.saved
        return 2.0 * x * g


def gradient(xp, where=None):
    x = ag.Variable(xp.asarray([0.5, 1.0, 2.0]).data)
    y = xp.sin(x)
    for _ in range(3):
        y = Failing(where)(y) * 0.5 + y
    y = xp.sum(xp.exp(y))
    try:
        y.backward()
    finally:
        assert where is None or x.grad is None
    return [float(x.grad[k]) for k in range(3)]


def test_there_are_these():
    assert NAMES == [
        "clip",
        "graph",
        "memory",
        "nan",
        "offload",
        "pool",
        "progress",
        "scale",
        "timer",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_the_same(xp, name):
    expected = gradient(xp)
    with ag.hooks(name):
        assert gradient(xp) == expected


@pytest.mark.parametrize("where", ["forward", "backward"])
@pytest.mark.parametrize("name", NAMES)
def test_an_op_that_fails_half_way_leaves_the_plugin_usable(xp, name, where):
    expected = gradient(xp)
    with ag.hooks(name):
        for _ in range(2):
            with pytest.raises(ArithmeticError, match="half way"):
                gradient(xp, where)
            assert gradient(xp) == expected


@pytest.mark.parametrize("name", NAMES)
def test_scopes_nest(xp, name):
    expected = gradient(xp)
    with ag.hooks(name) as (outer,):
        with ag.hooks(name, outer) as (inner, _):
            assert inner is not outer
            assert gradient(xp) == expected
        assert gradient(xp) == expected
        with pytest.raises(ArithmeticError), ag.hooks(inner):
            gradient(xp, "backward")
        assert gradient(xp) == expected


@pytest.mark.parametrize("name", NAMES)
def test_two_threads_share_one(xp, name):
    expected = gradient(xp)
    together = threading.Barrier(2, timeout=10)
    found = {}

    class Meet:
        """Let the ops of both threads overlap."""

        @hookimpl
        def forward_preprocess(self):
            together.wait()

        @hookimpl
        def backward_preprocess(self):
            together.wait()

    def work(number):
        with ag.hooks(plugin, Meet()):
            found[number] = gradient(xp)

    with ag.hooks(name) as (plugin,):
        pass
    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {0: expected, 1: expected}


@pytest.mark.parametrize("name", NAMES)
def test_recorded_passes_and_checkpoints_go_through(xp, name):
    @ag.checkpoint
    def block(x):
        return xp.sin(x) * x

    def second(x):
        (g,) = ag.autodiff.grad(xp.sum(block(block(x))), [x], create_graph=True)
        (h,) = ag.autodiff.grad(xp.sum(g * g), [x])
        return [float(h[k]) for k in range(2)]

    def x():
        return ag.Variable(xp.asarray([0.5, 1.0]).data)

    expected = second(x())
    with ag.hooks(name):
        assert second(x()) == expected


def test_all_at_once(xp):
    expected = gradient(xp)
    for names in (NAMES, NAMES[::-1]):
        with ag.hooks(*names):
            assert gradient(xp) == expected
