"""Recording, and not: no_grad and its family."""

import asyncio
import threading

import numpy as np
import pytest

import agnograd as ag


def recorded():
    return (ag.Variable(2.0) * 1.0).requires_grad


@ag.no_grad
def bare():
    """Say whether ops are recorded."""
    return recorded()


@ag.no_grad()
def called():
    return recorded()


def test_as_a_context_manager():
    assert recorded()
    with ag.no_grad():
        assert not recorded()
        assert not ag.is_grad_enabled()
        with ag.enable_grad():
            assert recorded()
        with ag.set_grad_enabled(True):
            assert recorded()
        assert not recorded()
    with ag.set_grad_enabled(False):
        assert not recorded()
    assert recorded()


def test_as_a_decorator_with_and_without_parentheses():
    assert not bare()
    assert not called()
    assert bare.__doc__ == "Say whether ops are recorded."
    with ag.no_grad():
        assert ag.enable_grad(recorded)()
        assert ag.set_grad_enabled(True)(recorded)()
    assert recorded()


def test_a_decorated_function_may_have_parameters_of_any_name():
    @ag.no_grad
    def plain(state, function):
        return state, function, ag.is_grad_enabled()

    @ag.no_grad
    async def later(state, function):
        return plain(state, function)

    assert plain(function=2, state=1) == (1, 2, False)
    assert asyncio.run(later(function=2, state=1)) == (1, 2, False)


def test_one_object_can_be_entered_again_and_again():
    state = ag.no_grad()
    with state:
        with state, ag.enable_grad(), state:
            assert not recorded()
        assert not recorded()
    assert recorded()
    with ag.no_grad(), state:
        pass
    assert recorded()


def test_the_state_is_restored_after_an_exception():
    with pytest.raises(ZeroDivisionError), ag.no_grad():
        _ = 1 / 0
    assert recorded()


def test_generators_leave_the_state_while_they_wait():
    @ag.no_grad
    def generator():
        received = yield recorded()
        try:
            yield received, recorded()
        except KeyError:
            yield "caught", recorded()

    running = generator()
    assert next(running) is False
    assert recorded()
    assert running.send("sent") == ("sent", False)
    assert running.throw(KeyError()) == ("caught", False)
    assert recorded()
    running.close()
    assert list(ag.no_grad(lambda: (yield 1))()) == [1]


def test_other_threads_do_not_see_it():
    seen = []
    with ag.no_grad():
        thread = threading.Thread(target=lambda: seen.append(recorded()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_other_tasks_do_not_see_it():
    async def main():
        entered, checked = asyncio.Event(), asyncio.Event()

        @ag.no_grad
        async def quiet():
            entered.set()
            await checked.wait()
            return recorded()

        task = asyncio.create_task(quiet())
        await entered.wait()
        outside = recorded()
        checked.set()
        return outside, await task

    assert asyncio.run(main()) == (True, False)


def test_gradients_can_be_taken_under_no_grad():
    with ag.no_grad():
        assert ag.grad(lambda x: x * x)(3.0) == 6.0
        g = ag.grad(lambda x: x * x)(ag.Variable(3.0))
        assert not g.requires_grad
    assert isinstance(g, ag.Variable)
    x = ag.Variable(np.ones(2))
    y = x * 2.0
    with ag.no_grad():
        y.backward(np.ones(2))
    np.testing.assert_array_equal(x.grad.data, 2.0)
