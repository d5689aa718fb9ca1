"""Ops with effects: a compiled function makes all their calls, each time and in their order."""

from queue import Empty, SimpleQueue

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import CompileError
from agnograd_distributed import Communicator
from agnograd_distributed.kernels.host import from_host, to_host


class Noted(Communicator):
    """Two ranks, of which the other always sends twos; it notes each message."""

    size = 2

    def __init__(self):
        self._noted = SimpleQueue()

    def send(self, array, to):
        self._noted.put(f"send {float(to_host(array).sum()):g}")

    def receive(self, like, source):
        self._noted.put("recv")
        return from_host(np.full(tuple(like.shape), 2.0, to_host(like).dtype), like)

    def noted(self):
        """Return the messages since the last time."""
        found = []
        while True:
            try:
                found.append(self._noted.get_nowait())
            except Empty:
                return found


def check(f, comm, x):
    """Check that a compiled function sends and receives what the function itself does."""
    expected = f(x)
    messages = comm.noted()
    compiled = ag.compile(f)
    compiled(x)
    assert comm.noted() == 2 * messages  # it is traced, and then runs
    for _ in range(2):
        found = compiled(x)
        assert comm.noted() == messages
        assert bool((to_host(found) == to_host(expected)).all())
    return messages


def test_a_linear_loss_needs_no_value_that_it_receives(xp):
    comm = Noted()

    def loss(x):
        return xp.sum(xp.dist.recv(x, comm, 1) * 3.0) + xp.dist.send(2.0 * x, comm, 1)

    x = xp.asarray([1.0, 2.0]).data
    assert check(ag.grad(loss), comm, x) == ["recv", "send 6", "recv", "send 6"]


def test_equal_calls_and_unused_results(xp):
    comm = Noted()

    def f(x):
        xp.dist.send(x, comm, 1)
        xp.dist.send(x, comm, 1)
        xp.dist.recv(x, comm, 1)
        return xp.dist.recv(x, comm, 1) + x

    x = xp.asarray([1.0, 2.0]).data
    assert check(lambda x: f(x).data, comm, x) == ["send 3"] * 2 + ["recv"] * 2


def test_messages_of_constants(xp):
    comm = Noted()
    ones = xp.asarray([1.0, 1.0]).data

    def f(x):
        token = xp.dist.send(xp.asarray(ones), comm, 1)
        return (xp.dist.recv(token, comm, 1) * x).data

    assert check(f, comm, xp.asarray([1.0, 2.0]).data) == ["send 2", "recv"]


@pytest.mark.parametrize("lowering", ["numpy", "c", "jax"])
def test_groups_of_elementwise_steps_change_no_order(lowering):
    xp, comm = ag.namespace("numpy"), Noted()

    def f(x):
        y = xp.sqrt(x * x + 1.0) - 1.0
        xp.dist.send(y, comm, 1)
        xp.dist.send(x, comm, 1)
        return (xp.sqrt(y * y + x) + xp.dist.recv(x, comm, 1)).data

    try:
        compiled = ag.compile(f, lowering=lowering)
        found = compiled(np.zeros(1 << 21))
    except (ImportError, LookupError) as error:
        pytest.skip(str(error))
    assert found[0] == 2.0
    comm.noted()
    compiled(np.full(1 << 21, 0.0))
    assert comm.noted() == ["send 0", "send 0", "recv"]
    x = np.zeros(1 << 21)
    x[0] = 3.0
    compiled(x)
    assert comm.noted() == [f"send {np.sqrt(10.0) - 1.0:g}", "send 3", "recv"]


def test_a_program_that_looks_at_values_must_not_repeat_messages(xp):
    comm = Noted()

    def before(x):
        if xp.sum(x) > 0.0:
            x = 2.0 * x
        return xp.dist.send(x, comm, 1)

    def after(x):
        return x * 2.0 if xp.sum(xp.dist.recv(x, comm, 1)) > 0.0 else x

    for f in (before, after):
        with pytest.raises(CompileError, match="looks at a value, and calls an op with effects"):
            ag.compile(f)(xp.asarray([1.0, 2.0]).data)


def test_an_error_is_raised_at_once_and_names_the_op(xp):
    comm = Noted()

    def f(x):
        token = xp.dist.send(x, comm, 1)
        return xp.dist.recv(token, comm, 1, shape=(2,)) + xp.dist.shift(x, comm, -1)

    x = xp.asarray([1.0, 2.0]).data
    compiled = ag.compile(f)
    compiled(x)
    comm.noted()
    comm.receive = lambda like, source: 1 / 0
    with pytest.raises(ZeroDivisionError):
        compiled(x)
    assert comm.noted() == ["send 3"]


def test_messages_stay_in_their_order_where_another_needs_less_memory():
    xp, comm = ag.namespace("numpy"), Noted()

    def f(x):
        first, second = xp.exp(x), xp.cos(x)
        token = xp.dist.send(second[0, :2], comm, 1)
        third = second * xp.sin(x)
        fourth = third + xp.sin(third) * xp.cos(third)
        return token + xp.dist.send(first, comm, 1) + xp.sum(fourth)  # the last to read ``first``

    assert check(f, comm, np.zeros((64, 128))) == ["send 2", "send 8192"]


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_a_backward_part_behind_a_mask_makes_its_messages_once():
    xp, comm, x = ag.namespace("numpy"), Noted(), np.asarray([0.0, 4.0])

    def f(x):
        return xp.sqrt(x) + xp.dist.recv(x, comm, 1)

    def gradient(f):
        return ag.grad(lambda x: xp.sum(xp.where(x > 0.0, f(x), 0.0)))(x).tolist()

    assert gradient(f) == [0.0, 0.25]  # 0 at the root of 0, whose derivative is infinite
    messages = comm.noted()
    assert messages == ["recv", "send 1"]
    compiled = ag.compile(f)
    assert gradient(compiled) == [0.0, 0.25]
    assert comm.noted() == ["recv", "send 2", *messages]  # it is traced, by cotangents of ones
    for _ in range(2):
        assert gradient(compiled) == [0.0, 0.25]
        assert comm.noted() == messages
