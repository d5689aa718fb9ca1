"""The lowering: users ask for it by its name, and it counts what compiled functions run."""

import threading

import pytest
from stranger_ops.counted import lowering

import agnograd as ag


@pytest.fixture(params=["numpy", "strict", "rows"])
def xp(request):
    lowering.calls.clear()
    return ag.namespace(request.param)


def compiled(xp):
    return ag.compile(lambda x: xp.exp(xp.sin(x) * 2.0), lowering="counted")


def numbers(x):
    return [float(x[k]) for k in range(3)]


def test_every_run_counts(xp):
    f, x = compiled(xp), xp.asarray([0.0, 1.0, 2.0])
    expected = numbers(xp.exp(xp.sin(x) * 2.0))
    for runs in (1, 2):
        assert numbers(f(x)) == expected
        assert lowering.calls == {"sin": runs, "multiply": runs, "exp": runs}


def test_the_steps_of_gradients_count(xp):
    x = xp.asarray([0.0, 1.0, 2.0])
    gradient = ag.compile(ag.grad(lambda x: xp.sum(xp.sin(x))), lowering="counted")(x)
    assert numbers(gradient) == numbers(xp.cos(x))
    assert lowering.calls["cos"] == 1


def test_threads_count_together(xp):
    f, x = compiled(xp), xp.asarray([0.0, 1.0, 2.0])
    f(x)
    threads = [threading.Thread(target=f, args=(x,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lowering.calls["exp"] == 6
