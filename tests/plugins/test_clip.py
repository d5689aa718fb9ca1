"""The plugin ``clip``: whose gradients it clips, and to what."""

import threading

import numpy as np
import pytest

import agnograd as ag
import agnograd_clip
from agnograd.extend import hookimpl
from agnograd_clip import Clip
from arrays import host

values = np.testing.assert_allclose


def leaf(xp, value, dtype=None):
    return ag.Variable(xp.asarray(value, dtype=dtype).data)


def listed(array):
    return host(array).tolist()


def test_the_norm_is_that_of_all_leaves_together(xp):
    w, b = leaf(xp, [1.0, 1.0]), leaf(xp, 1.0)
    with ag.hooks("clip") as (clip,):
        (xp.sum(w * 2.0) + b).backward()
        length = clip.by_norm(1.5)
    assert float(length) == 3.0
    values(listed(w.grad.data), [1.0, 1.0])
    values(listed(b.grad.data), 0.5)


def test_small_gradients_stay_as_they_are(xp):
    w = leaf(xp, [1.0, 1.0])
    with ag.hooks("clip") as (clip,):
        xp.sum(w * 3.0).backward()
        clip.by_norm(100.0)
        clip.by_value(3.0)
    assert listed(w.grad.data) == [3.0, 3.0]


def test_each_element_for_itself(xp):
    w = leaf(xp, [1.0, -2.0, 0.1])
    with ag.hooks("clip") as (clip,):
        xp.sum(w * w).backward()
        clip.by_value(1.0)
    values(listed(w.grad.data), [1.0, -1.0, 0.2])


def test_shapes_and_dtypes_stay(xp):
    w, v = leaf(xp, [3.0, 4.0], xp.float32), leaf(xp, [[1.0]], xp.float64)
    with ag.hooks("clip") as (clip,):
        xp.sum(xp.astype(w * w, xp.float64) + v).backward()
        clip.by_norm(1.0)
        clip.by_value(0.5)
    assert (w.grad.dtype, w.grad.shape) == (xp.float32, (2,))
    assert (v.grad.dtype, v.grad.shape) == (xp.float64, (1, 1))


def test_complex_gradients_have_a_norm_and_no_order(xp):
    z = leaf(xp, [3.0 + 4.0j])
    with ag.hooks("clip") as (clip,):
        xp.sum(xp.real(z) * 3.0 + xp.imag(z) * 4.0).backward()
        assert float(clip.by_norm(1.0)) == 5.0
        values(listed(z.grad.data), [0.6 + 0.8j])
        with pytest.raises(TypeError, match="clip by the norm"):
            clip.by_value(1.0)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_norm_that_is_not_finite_changes_nothing(xp, value):
    w = leaf(xp, [1.0, 2.0])
    with ag.hooks("clip") as (clip,):
        xp.sum(w * xp.asarray([1.0, value])).backward()
        length = float(clip.by_norm(0.5))
    assert not np.isfinite(length)
    np.testing.assert_array_equal(listed(w.grad.data), [1.0, value])


def test_squares_of_narrow_gradients_do_not_overflow():
    xp = ag.namespace("numpy")
    w = ag.Variable(np.ones(4, dtype=np.float16))
    with ag.hooks("clip") as (clip,):
        xp.sum(w * np.full(4, 1000.0, np.float16)).backward()
        assert float(clip.by_norm(10.0)) == 2000.0
    assert w.grad.dtype == np.float16
    values(w.grad.data, 5.0)


def test_chosen_parameters_alone(xp):
    w, b = leaf(xp, [3.0, 4.0]), leaf(xp, 1.0)
    (xp.sum(w * w) / 2.0 + b).backward()
    Clip().by_norm(1.0, [w])
    values(listed(w.grad.data), [0.6, 0.8])
    assert float(b.grad.data) == 1.0


def test_what_failed_passes_reached_is_not_clipped(xp):
    w, v = leaf(xp, [3.0]), leaf(xp, [5.0])
    (w * 4.0).backward()
    (v * 4.0).backward()

    class Fail:
        @hookimpl(trylast=True)
        def gradient_ready(self):
            raise ArithmeticError

    with ag.hooks("clip") as (clip,):
        with pytest.raises(ArithmeticError), ag.hooks(Fail()):
            (w * 4.0).backward()
        (v * 4.0).backward()
        clip.by_norm(1.0)
    assert listed(w.grad.data) == [4.0]
    assert listed(v.grad.data) == [1.0]


def test_leaves_without_a_gradient_are_passed_over(xp):
    w, v = leaf(xp, [3.0]), leaf(xp, [5.0])
    with ag.hooks("clip") as (clip,):
        (w * v).backward()
        w.grad = None
        assert float(clip.by_norm(1.0)) == 3.0
    assert w.grad is None


@pytest.mark.parametrize("method", ["by_norm", "by_value"])
def test_mistakes_say_what_to_do(xp, method):
    with ag.hooks("clip") as (clip,):
        with pytest.raises(ValueError, match="run a backward pass inside"):
            getattr(clip, method)(1.0)
        leaf(xp, 1.0).backward()
    w = leaf(xp, 1.0)
    w.backward()
    with pytest.raises(ValueError, match="positive, not 0"):
        getattr(clip, method)(0, [w])


def test_nested_scopes_know_their_own_leaves(xp):
    w, v = leaf(xp, [3.0]), leaf(xp, [5.0])
    with ag.hooks("clip") as (outer,):
        with ag.hooks("clip") as (inner,):
            (w * 4.0).backward()
        (v * 3.0).backward()
    assert float(inner.by_norm(100.0)) == 4.0
    assert float(outer.by_norm(100.0)) == 5.0


def test_each_thread_clips_what_it_reached(xp):
    clip, lengths = Clip(), {}
    together = threading.Barrier(2, timeout=10)

    def work(size):
        w = leaf(xp, [1.0])
        with ag.hooks(clip):
            (w * size).backward()
            together.wait()
            lengths[size] = float(clip.by_norm(100.0))

    threads = [threading.Thread(target=work, args=(size,)) for size in (2.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lengths == {2.0: 2.0, 3.0: 3.0}


def test_an_infinite_limit_asks_for_the_norm(xp):
    raw = {"w": xp.asarray([3.0, 4.0]).data}
    clipped, length = agnograd_clip.by_norm(raw, float("inf"))
    assert listed(clipped["w"]) == [3.0, 4.0]
    assert float(length) == 5.0
    assert listed(agnograd_clip.by_value(raw, float("inf"))["w"]) == [3.0, 4.0]


def test_functions_take_pytrees(xp):
    raw = {"w": xp.asarray([3.0, 0.0]).data, "b": [xp.asarray(4.0).data]}
    clipped, length = agnograd_clip.by_norm(raw, 1.0)
    assert float(length) == float(agnograd_clip.norm(raw)) == 5.0
    values(listed(clipped["w"]), [0.6, 0.0])
    values(listed(clipped["b"][0]), 0.8)
    assert listed(agnograd_clip.by_value(raw, 1.0)["w"]) == [1.0, 0.0]
    with pytest.raises(ValueError, match="no gradient"):
        agnograd_clip.norm({})
