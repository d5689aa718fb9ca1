"""Ctrl-C at each line of agnograd's own code in turn: state and gradients stay as they were."""

import asyncio
import contextlib
import contextvars
import copy
import sys

import numpy as np
import pytest

import agnograd as ag
from agnograd._hooks.state import current_mode, set_mode
from agnograd._util.locks import _free_all
from agnograd.extend import hookimpl

xp = ag.namespace("numpy")
X = np.asarray([1.0, 2.0])


def total(x):
    return xp.sum(xp.where(x > 0.0, x * x, 0.0))


class Plugin:
    """A context manager, whose hooks compute."""

    active = 0

    def __enter__(self):
        self.active += 1
        return self

    def __exit__(self, *error):
        self.active -= 1

    @hookimpl
    def forward_postprocess(self):
        ag.Variable(1.0) * 2.0

    @hookimpl
    def backward_start(self):
        ag.Variable(1.0) * 2.0


PLUGIN, MANAGER, SWITCH = Plugin(), ag.GradManager(), ag.no_grad()
W = ag.Variable(X, requires_grad=False)
MANAGER.attach(W)


@ag.no_grad
def untracked():
    return (ag.Variable(X) * 2.0).requires_grad


@ag.no_grad()
def untracked_steps():
    yield (ag.Variable(X) * 2.0).requires_grad
    yield 1.0


@ag.no_grad
async def untracked_later():
    await Turn()
    return (ag.Variable(X) * 2.0).requires_grad


@ag.no_grad
async def untracked_steps_later():
    yield (ag.Variable(X) * 2.0).requires_grad
    await Turn()
    yield 1.0


class Turn:
    """What waits for one turn of an event loop."""

    def __await__(self):
        yield


def driven(coroutine):
    """Run a coroutine without an event loop, which would give it a context of its own."""
    with contextlib.closing(coroutine):
        while True:
            try:
                coroutine.send(None)
            except StopIteration as end:
                return end.value


async def collected():
    return [value async for value in untracked_steps_later()]


def refreshed_and_copied():
    y = ag.Variable(X) * 2.0
    view, constant = y[1:], ag.no_grad(lambda: y[:1])()
    y *= 3.0
    return copy.deepcopy([view, constant, y])[0].data[0]


def in_blocks():
    with ag.no_grad(), SWITCH, SWITCH, ag.enable_grad():
        return (ag.Variable(X) * 2.0).requires_grad


def with_plugin():
    with ag.hooks(PLUGIN):
        return ag.grad(total)(X)


def with_manager():
    W.grad = None
    with MANAGER:
        MANAGER.backward(total(W))
    return W.grad.data


# Whether the program has blocks of its own: what an interrupt leaves active between a block and the
# first line of what ends it ends with an outer block.
PROGRAMS = {
    "grad": (lambda: ag.grad(total)(X), False),
    "jvp": (lambda: ag.jvp(total, X, X)[1], False),
    "vjp": (lambda: ag.vjp(total, X)[1](1.0)[0], False),
    "linearize": (lambda: ag.linearize(total, X)[1](X), False),
    "jacobian": (lambda: ag.jacobian(lambda x: x * x, mode="forward")(X), False),
    "checkpoint": (lambda: ag.grad(ag.checkpoint(total))(X), False),
    "second order": (lambda: ag.grad(lambda x: ag.jvp(total, x, X)[1])(X), False),
    "decorator": (untracked, False),
    "generator": (lambda: list(untracked_steps()), False),
    "coroutine": (lambda: driven(untracked_later()), False),
    "asynchronous generator": (lambda: driven(collected()), False),
    "views": (refreshed_and_copied, False),
    "blocks": (in_blocks, True),
    "plugin": (with_plugin, True),
    "manager": (with_manager, True),
}
LONG = {"plugin", "second order"}  # of thousands of lines


def interrupted(program, at):
    """Run a program, with an interrupt before a line of agnograd's; return whether one came."""
    count = 0

    def on_line(frame, event, argument):
        nonlocal count
        count += event == "line"
        if count == at and event == "line":
            sys.settrace(None)
            raise KeyboardInterrupt
        return on_line

    def on_call(frame, event, argument):
        name = frame.f_globals.get("__name__", "")
        own = name.startswith("agnograd.") or frame.f_code.co_filename.startswith("<agnograd")
        return on_line if own else None

    tracing, errors = sys.gettrace(), np.geterr()
    sys.settrace(on_call)
    try:
        program()
    except KeyboardInterrupt:
        # A tracer raises where no signal handler runs, too: between the last line of a `with` block
        # and the call that releases its lock, or restores NumPy's errstate.
        _free_all()
        return True
    finally:
        sys.settrace(tracing)
        np.seterr(**errors)
    return False


# An interrupt may come when a step of an asynchronous generator is made and not awaited yet: from
# Python 3.13 on that is a warning.
@pytest.mark.filterwarnings("ignore:coroutine method 'a(send|close|throw)':RuntimeWarning")
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=pytest.mark.slow if each in LONG else ()) for each in PROGRAMS],
)
def test_an_interrupt_at_each_line(name):
    program, has_blocks = PROGRAMS[name]
    program()
    expected = np.asarray(program(), dtype=float)
    at, left = 0, 0
    while True:
        at += 1
        before = current_mode()
        with ag.enable_grad():
            came = interrupted(program, at)
        assert current_mode() is before
        assert PLUGIN.active == 0
        assert not W.requires_grad
        np.testing.assert_array_equal(np.asarray(program(), dtype=float), expected)
        if not came:
            break
        if at % 3:  # and without a block around it
            continue
        interrupted(program, at)
        left += current_mode() is not before
        set_mode(before)
        MANAGER._let_go()
        PLUGIN.active = 0
    assert at > 20
    assert left <= (4 if has_blocks else 0)


def test_a_block_that_was_not_left_ends_with_one_around_it():
    with ag.enable_grad():
        ag.no_grad().__enter__()
        ag.hooks(PLUGIN).__enter__()
        MANAGER.__enter__()
        assert PLUGIN.active == 1
        assert W.requires_grad
    assert current_mode() is None
    assert PLUGIN.active == 0
    assert not W.requires_grad
    with MANAGER:  # which is not active any more
        assert W.requires_grad


def test_a_block_that_is_left_in_another_context_changes_nothing_there():
    def steps():
        with ag.no_grad():
            yield

    there, running = contextvars.copy_context(), steps()
    there.run(next, running)
    running.close()
    assert current_mode() is None
    running = steps()
    there.run(next, running)
    with ag.enable_grad():
        running.close()
        assert ag.is_grad_enabled()
    assert current_mode() is None


def test_a_call_that_is_dropped_leaves_the_state_of_other_calls():
    @ag.no_grad
    async def waiting():
        await Turn()
        return ag.is_grad_enabled()

    dropped, running = waiting(), waiting()
    contextvars.copy_context().run(dropped.send, None)
    running.send(None)
    dropped.close()
    assert not ag.is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        running.send(None)
    assert end.value.value is False
    assert ag.is_grad_enabled()


def test_asynchronous_generators_as_other_ones():
    @ag.no_grad
    async def numbers():
        received = yield ag.is_grad_enabled()
        await asyncio.sleep(0)
        try:
            yield received, ag.is_grad_enabled()
        except KeyError:
            await asyncio.sleep(0)
            yield "caught", ag.is_grad_enabled()
        finally:
            closed.append(ag.is_grad_enabled())

    async def main():
        running = numbers()
        assert await anext(running) is False
        assert ag.is_grad_enabled()
        assert await running.asend("sent") == ("sent", False)
        assert await running.athrow(KeyError()) == ("caught", False)
        assert ag.is_grad_enabled()
        await running.aclose()
        return [each async for each in ag.no_grad(plain)()]

    async def plain():
        yield ag.is_grad_enabled()
        yield ag.is_grad_enabled()

    closed = []
    assert asyncio.run(main()) == [False, False]
    assert closed == [False]


def test_objects_whose_calls_are_coroutines_or_generators():
    class Asynchronous:
        async def __call__(self):
            await asyncio.sleep(0)
            return ag.is_grad_enabled()

    class Steps:
        def __call__(self):
            yield ag.is_grad_enabled()

    assert asyncio.run(ag.no_grad(Asynchronous())()) is False
    assert list(ag.no_grad(Steps())()) == [False]
