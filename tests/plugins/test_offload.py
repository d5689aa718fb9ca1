"""The plugin ``offload``: what it packs, where, and that it comes back."""

import gc
import threading

import numpy as np
import pytest

import agnograd as ag
from agnograd.extend import hookimpl
from agnograd_offload import Offload

SIZE = 8000  # of 1,000 float64


def leaf(xp):
    return ag.Variable(xp.linspace(0.0, 1.0, 1000, dtype=xp.float64).data)


def gradient(xp, x=None):
    x = leaf(xp) if x is None else x
    xp.sum(xp.exp(xp.where(x > 0.5, x, 0.25))).backward()
    return np.asarray(x.grad.data)


@pytest.mark.parametrize("to", ["compressed", "disk", "host"])
def test_values_come_back_as_they_were(xp, to, tmp_path):
    expected = gradient(xp)
    with ag.hooks(Offload(above=1000, to=to, folder=tmp_path)) as (offload,):
        np.testing.assert_array_equal(gradient(xp), expected)
    facts = offload.to_dict()
    assert facts["values"] == facts["restored"] >= 1
    assert facts["bytes"] >= SIZE
    assert facts["held"] == 0
    assert facts["seconds"] > 0
    if to == "compressed":
        assert 0 < facts["packed"] < facts["bytes"]
    elif to == "disk":
        assert facts["packed"] == 0
        assert facts["written"] >= facts["bytes"]
    else:
        assert facts["packed"] == facts["bytes"]


def test_dtypes_and_shapes_come_back(xp):
    for dtype in (xp.float32, xp.complex64):
        x = ag.Variable(xp.ones((40, 50), dtype=dtype).data)
        with ag.hooks(Offload(above=1000)) as (offload,):
            (xp.exp(x) * x).backward(xp.ones((40, 50), dtype=dtype))
        assert offload.to_dict()["restored"] > 0
        assert (x.grad.dtype, x.grad.shape) == (dtype, (40, 50))


def test_small_values_stay(xp):
    with ag.hooks(Offload(above=SIZE)) as (offload,):
        gradient(xp)
    assert offload.to_dict()["values"] == 0


def test_what_does_not_compress_stays():
    xp = ag.namespace("numpy")
    noise = np.random.default_rng(0).integers(0, 2**63, 1000).view(np.float64)
    x = ag.Variable(np.where(np.isfinite(noise), noise, 0.0))
    with ag.hooks(Offload(above=1000)) as (offload,):
        xp.sum(xp.sin(x)).backward()
    assert offload.to_dict()["values"] == 0
    assert offload.to_dict()["seconds"] > 0


@pytest.mark.parametrize("to", ["compressed", "disk", "host", "device"])
def test_a_smaller_dtype_on_request(xp, to, tmp_path):
    expected = gradient(xp)
    with ag.hooks(Offload(above=1000, to=to, dtype="float32", folder=tmp_path)) as (offload,):
        found = gradient(xp)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.any(found != expected)
    facts = offload.to_dict()
    if to in ("host", "device"):
        assert facts["packed"] < facts["bytes"]


def test_integers_and_narrow_values_are_not_cast(xp):
    x = ag.Variable(xp.ones((1000,), dtype=xp.float32).data)
    with ag.hooks(Offload(above=100, to="device", dtype="float32")) as (offload,):
        xp.sum(x * x).backward()
    assert offload.to_dict()["packed"] == offload.to_dict()["bytes"]


def test_an_array_that_several_ops_save_is_packed_once(xp):
    x = leaf(xp)
    with ag.hooks(Offload(above=1000)) as (offload,):
        y = xp.sum(xp.sin(x) + xp.cos(x))
        assert offload.to_dict()["values"] == 1
        y.backward()
    assert offload.to_dict()["restored"] == 2


def test_arrays_that_take_the_place_of_others_are_their_own(xp):
    with ag.hooks(Offload(above=1000)):
        for value in range(20):  # ids are used again
            x = ag.Variable(xp.full((1000,), float(value)).data)
            xp.sum(x * x).backward()
            assert float(x.grad[0]) == 2.0 * value


def test_files_go_with_the_graph(xp, tmp_path):
    with ag.hooks(Offload(above=1000, to="disk", folder=tmp_path)) as (offload,):
        y = xp.sum(xp.exp(leaf(xp)))
        assert len(list(tmp_path.iterdir())) == 1
        y.backward()
        assert list(tmp_path.iterdir()) == []
        y = xp.sum(xp.exp(leaf(xp)))
    del y
    gc.collect()
    assert list(tmp_path.iterdir()) == []
    assert offload.to_dict()["held"] == 0


def test_the_graph_holds_what_is_packed_alone(xp):
    with ag.hooks(Offload(above=1000)) as (offload,):
        y = xp.sum(xp.exp(leaf(xp)))
        assert 0 < offload.to_dict()["held"] < SIZE
    y.backward()  # after the scope, too
    assert offload.to_dict()["held"] == 0


def test_a_pass_that_fails_half_way(xp, tmp_path):
    class Fail:
        @hookimpl
        def backward_preprocess(self, op):
            if op.name == "exp":
                raise ArithmeticError

    x = leaf(xp)
    with ag.hooks(Offload(above=1000, to="disk", folder=tmp_path)):
        y = xp.sum(xp.exp(xp.sin(x)))
        with pytest.raises(ArithmeticError), ag.hooks(Fail()):
            y.backward()
        del y
        gc.collect()
        assert list(tmp_path.iterdir()) == []
        gradient(xp, x)


def test_a_file_that_is_gone_is_an_error(xp, tmp_path):
    x = leaf(xp)
    with ag.hooks(Offload(above=1000, to="disk", folder=tmp_path)):
        y = xp.sum(xp.exp(x))
        for path in tmp_path.iterdir():
            path.unlink()
        with pytest.raises(FileNotFoundError, match="agnograd-"):
            y.backward()
    assert x.grad is None


def test_nested_scopes(xp):
    expected = gradient(xp)
    with ag.hooks(Offload(above=1000)) as (outer,):
        with ag.hooks(Offload(above=1000, to="host")) as (inner,):
            np.testing.assert_array_equal(gradient(xp), expected)
        assert outer.to_dict()["values"] == 0  # the inner one is asked first
        assert inner.to_dict()["values"] == inner.to_dict()["restored"] > 0
        np.testing.assert_array_equal(gradient(xp), expected)
        assert outer.to_dict()["values"] == outer.to_dict()["restored"] > 0


def test_two_threads_share_one(xp):
    offload, together = Offload(above=1000), threading.Barrier(2, timeout=10)
    expected, found = gradient(xp), {}

    class Meet:
        @hookimpl
        def backward_start(self):
            together.wait()

    def work(number):
        with ag.hooks(offload, Meet()):
            found[number] = gradient(xp)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(2):
        np.testing.assert_array_equal(found[number], expected)
    facts = offload.to_dict()
    assert facts["values"] == facts["restored"]
    assert facts["held"] == 0


def test_mistakes_say_what_to_do(xp):
    with pytest.raises(ValueError, match="not 'tape'"):
        Offload(to="tape")
    with pytest.raises(ValueError, match="pass one"):
        Offload(to="device")
    with (
        pytest.raises(ValueError, match=r"'float17' is none of .*: pass another one"),
        ag.hooks(Offload(above=1000, dtype="float17")),
    ):
        gradient(xp)


def test_summary_and_reset(xp):
    with ag.hooks(Offload(above=1000)) as (offload,):
        xp.sum(xp.exp(leaf(xp))).backward()
    assert "offload: 1 values of 8.0 kB packed into" in offload.summary()
    assert "1 times restored" in offload.summary()
    offload.reset()
    assert set(offload.to_dict().values()) == {0}
