"""A function that is called as soon as the gradients of several leaves are final."""

import threading

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError, NoGradientError
from agnograd.extend import hookimpl
from arrays import leaf, values


class Collected:
    """Note what the function gets, and which rules had run by then."""

    def __init__(self):
        self.calls, self.rules = [], []

    def __call__(self, grads):
        self.calls.append([None if g is None else np.asarray(g).tolist() for g in grads])
        self.rules.append("ready")

    @hookimpl
    def backward_preprocess(self, kind):
        self.rules.append(kind.name)


def test_it_is_called_once_when_the_last_of_them_is_final(xp):
    early, late, first = leaf(xp, [1.0, 2.0]), leaf(xp, [3.0, 4.0]), leaf(xp, [0.5, 0.25])
    collected = Collected()
    with ag.hooks(ag.when_ready([late, early], collected), collected):
        hidden = xp.sin(first) * early
        xp.sum(hidden * late).backward()
    # The pass goes on to the sine, of whose leaf the function knows nothing.
    assert collected.rules == ["sum", "multiply", "multiply", "ready", "sin"]
    assert collected.calls == [[values(late.grad).tolist(), values(early.grad).tolist()]]


def test_gradients_are_those_of_the_pass_not_what_was_there_before(xp):
    a, b, collected = leaf(xp, 2.0), leaf(xp, 3.0), Collected()
    with ag.hooks(ag.when_ready([a, b], collected)):
        for _ in range(2):
            (a * b).backward()
    assert collected.calls == [[3.0, 2.0]] * 2
    assert a.grad.item() == 6.0


def test_leaves_that_a_pass_does_not_reach_are_not_waited_for(xp):
    a, b, c, collected = leaf(xp, 2.0), leaf(xp, 3.0), leaf(xp, 4.0), Collected()
    with ag.hooks(ag.when_ready([a, b], collected)):
        (a * c).backward()
        (c * c).backward()
        (a * b).backward(inputs=[b])
    assert collected.calls == [[4.0, None], [None, 2.0]]


def test_a_leaf_that_gets_no_gradient_after_all(xp):
    class Constant(ag.Function):
        def forward(self, xp, x):
            return x * 1.0

        def backward(self, xp, g):
            return None

    a, b, collected = leaf(xp, 2.0), leaf(xp, 3.0), Collected()
    with ag.hooks(ag.when_ready([a, b], collected)):
        (a + Constant()(b)).backward()
        Constant()(b).backward()
    assert collected.calls == [[1.0, None]]
    assert b.grad is None


def test_passes_in_passes_are_parts_of_one(xp):
    a, b, collected = leaf(xp, 2.0), leaf(xp, 3.0), Collected()
    block = ag.checkpoint(lambda x: xp.sin(x * b) * b)
    with ag.hooks(ag.when_ready([a, b], collected)):
        (block(block(a)) * a).backward()
    assert collected.calls == [[values(a.grad).tolist(), values(b.grad).tolist()]]


def test_with_a_manager_that_attaches_them_later(xp):
    a = ag.Variable(leaf(xp, 2.0).data, requires_grad=False)
    b, collected = ag.Variable(leaf(xp, 3.0).data, requires_grad=False), Collected()
    with ag.hooks(ag.when_ready((a, b), collected)), ag.GradManager() as manager:
        manager.attach([a, b])
        manager.backward(a * b)
    assert collected.calls == [[3.0, 2.0]]


def test_each_thread_has_its_own_passes(xp):
    # Of float32, since JAX knows float64 only in the thread where it was enabled.
    a, b, collected = leaf(xp, 2.0, "float32"), leaf(xp, 3.0, "float32"), Collected()
    ready, barrier = ag.when_ready([a, b], collected), threading.Barrier(2, timeout=10)

    def meet(grad):  # both passes are under way
        barrier.wait()

    def work():
        with ag.hooks(ready):
            ag.autodiff.grad(a * b, [a, b])

    a.register_hook(meet)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert collected.calls == [[3.0, 2.0]] * 2


def test_an_error_in_the_function_ends_the_pass_and_changes_no_gradient(xp):
    a, b = leaf(xp, 2.0), leaf(xp, 3.0)

    def fails(grads):
        raise OverflowError("planted")

    ready = ag.when_ready([a, b], fails)
    with ag.hooks(ready), pytest.raises(OverflowError, match="planted") as caught:
        (a * b).backward()
    assert "hook 'gradient_ready' of plugin" in caught.value.__notes__[0]
    assert a.grad is None
    assert b.grad is None
    assert ready._running.passes == []


def test_what_is_no_leaf_or_no_function_is_an_error(xp):
    a = leaf(xp, 2.0)
    with pytest.raises(NoGradientError, match=r"variables\[1\] is the result of an op"):
        ag.when_ready([a, a * a], print)
    with pytest.raises(NoGradientError, match=r"variables\[0\] is of type float"):
        ag.when_ready([2.0], print)
    with pytest.raises(ArgumentError, match="function takes a function"):
        ag.when_ready([a], "print")
    assert repr(ag.when_ready(a, print)).startswith("ag.when_ready(1 Variables, <built-in")
