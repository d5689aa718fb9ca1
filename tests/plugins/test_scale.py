"""The plugin ``scale``: gradients are divided by what the loss was multiplied with."""

import threading

import numpy as np
import pytest

import agnograd as ag
from agnograd_scale import Scale
from arrays import host

# NumPy warns of the overflows that are planted here.

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
HUGE = 2.0**127  # times two, it overflows in float32


def leaf(xp, value=3.0):
    return ag.Variable(xp.asarray([value], dtype=xp.float32).data)


def listed(gradients):
    return [host(g).tolist() for g in gradients]


def test_an_update_gets_the_gradients_of_the_loss(xp):
    w, b, seen = leaf(xp), leaf(xp), []
    with ag.hooks("scale") as (scaler,):
        scaler.backward(w * w)
        assert w.grad.data[0] == 6.0 * 2.0**15
        assert scaler.step(seen.extend, [w, b])
    assert listed([seen[0]]) == [[6.0]]
    assert seen[1] is None
    assert w.grad is None
    assert (scaler.taken, scaler.skipped, scaler.factor) == (1, 0, 2.0**15)


def test_a_step_that_overflows_is_left_out_until_the_factor_fits(xp):
    w, seen = leaf(xp), []
    steps = []
    with ag.hooks(Scale(factor=HUGE)) as (scaler,):
        for _ in range(4):
            scaler.backward(w * w)
            steps.append(scaler.step(seen.extend, [w]))
            assert w.grad is None
    assert steps == [False, False, True, True]  # 6 times a quarter of it fits
    assert scaler.factor == HUGE / 4.0
    assert (scaler.taken, scaler.skipped) == (2, 2)
    assert listed(seen) == [[6.0], [6.0]]


def test_the_factor_grows_after_an_interval_without_overflow(xp):
    w, factors = leaf(xp), []
    with ag.hooks(Scale(factor=HUGE / 4.0, interval=2)) as (scaler,):
        for _ in range(7):
            scaler.backward(w * w)
            scaler.step(lambda gradients: None, [w])
            factors.append(scaler.factor / HUGE)
    assert factors == [0.25, 0.5, 0.25, 0.25, 0.5, 0.25, 0.25]


def test_small_gradients_survive_in_float16():
    xp = ag.namespace("numpy")
    w, seen = ag.Variable(np.ones(1, dtype=np.float16)), []

    def loss():
        return xp.sum(w * np.float16(1e-4)) * np.float16(1e-4)

    loss().backward()
    plain = float(w.grad.data[0])
    assert abs(plain - 1e-8) > 5e-9  # below what float16 has
    w.grad = None
    with ag.hooks("scale") as (scaler,):
        scaler.backward(loss())
        assert scaler.step(seen.extend, [w])
    assert seen[0].dtype == np.float32
    assert abs(float(seen[0][0]) - 1e-8) < 1e-10


def test_passes_add_up_until_the_step(xp):
    w, seen = leaf(xp), []
    with ag.hooks("scale") as (scaler,):
        scaler.backward(w * w)
        scaler.backward(w * 2.0)
        scaler.step(seen.extend, [w])
    assert listed(seen) == [[8.0]]


def test_a_sum_of_passes_that_overflows_is_left_out(xp):
    w = leaf(xp)
    with ag.hooks(Scale(factor=HUGE)) as (scaler,):
        for _ in range(2):
            scaler.backward(w * 1.5)
        assert not scaler.step(lambda gradients: None, [w])
        assert scaler.factor == HUGE / 2.0


def test_passes_of_others_are_no_overflow(xp):
    w, v = leaf(xp), leaf(xp)
    with ag.hooks("scale") as (scaler,):
        (v * float("inf")).backward()
        scaler.backward(w * w)
        (v * float("inf")).backward()
        assert scaler.step(lambda gradients: None, [w])


def test_a_pass_that_fails_half_way_leaves_nothing_behind(xp):
    class Bad(ag.Function):
        def forward(self, xp, x):
            return x * 1.0

        def backward(self, xp, g):
            raise ArithmeticError

    w, v, seen = leaf(xp), leaf(xp), []
    with ag.hooks("scale") as (scaler,):
        y = Bad()(v)
        with pytest.raises(ArithmeticError):
            # The gradient of w is final, and infinite, before the function fails.
            scaler.backward(y + w * float("inf"))
        assert w.grad is None
        with pytest.raises(RuntimeError, match=r"call scaler.backward\(loss\) before"):
            scaler.step(seen.extend, [w])
        scaler.backward(w * w)
        assert scaler.step(seen.extend, [w])
    assert listed(seen) == [[6.0]]


def test_an_update_that_fails_clears_the_gradients(xp):
    def fail(gradients):
        raise ArithmeticError

    w = leaf(xp)
    with ag.hooks("scale") as (scaler,):
        scaler.backward(w * w)
        with pytest.raises(ArithmeticError):
            scaler.step(fail, [w])
    assert w.grad is None


def test_mistakes_say_what_to_do(xp):
    scaler, w = Scale(), leaf(xp)
    with pytest.raises(RuntimeError, match=r"with ag.hooks\(scaler\)"):
        scaler.backward(w * w)
    with pytest.raises(RuntimeError, match=r"scaler.backward\(loss\)"):
        scaler.step(lambda gradients: None, [w])
    with pytest.raises(ValueError, match="backoff between 0 and 1"):
        Scale(backoff=2.0)


def test_it_goes_on_with_the_same_factor(xp):
    w = leaf(xp)
    with ag.hooks(Scale(factor=HUGE, interval=7)) as (scaler,):
        scaler.backward(w * w)
        scaler.step(lambda gradients: None, [w])
    again = Scale(**scaler.to_dict())
    assert again.to_dict() == scaler.to_dict()
    assert (again.factor, again.interval) == (HUGE / 2.0, 7)


def test_nested_scopes_scale_for_themselves(xp):
    w, seen = leaf(xp), []
    with ag.hooks("scale") as (outer,), ag.hooks(Scale(factor=2.0)) as (inner,):
        inner.backward(w * w)
        assert w.grad.data[0] == 12.0
        inner.step(seen.extend, [w])
        outer.backward(w * w)
        outer.step(seen.extend, [w])
    assert listed(seen) == [[6.0], [6.0]]


def test_threads_share_a_factor_and_no_gradients(xp):
    scaler, taken = Scale(factor=HUGE), {}
    together = threading.Barrier(2, timeout=10)

    def work(size):
        w = leaf(xp)
        with ag.hooks(scaler):
            scaler.backward(w * size)
            together.wait()
            taken[size] = scaler.step(lambda gradients: None, [w])

    threads = [threading.Thread(target=work, args=(size,)) for size in (0.5, 100.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert taken == {0.5: True, 100.0: False}
    assert (scaler.taken, scaler.skipped, scaler.factor) == (1, 1, HUGE / 2.0)
