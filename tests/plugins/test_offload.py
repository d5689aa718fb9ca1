"""The plugin ``offload``: what it packs, where, and that it comes back."""

import gc
import pickle
import threading

import numpy as np
import pytest

import agnograd as ag
from agnograd.extend import hookimpl
from agnograd_offload import Offload
from arrays import host

SIZE = 8000  # of 1,000 float64


def leaf(xp):
    return ag.Variable(xp.linspace(0.0, 1.0, 1000, dtype=xp.float64).data)


def gradient(xp, x=None):
    x = leaf(xp) if x is None else x
    xp.sum(xp.exp(xp.where(x > 0.5, x, 0.25))).backward()
    return host(x.grad)


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


@pytest.mark.parametrize("to", ["compressed", "disk", "host", "device"])
def test_numbers_and_empty_arrays_stay(xp, to, tmp_path):
    def gradient():
        x, empty = leaf(xp), ag.Variable(xp.zeros((0,), dtype=xp.float64).data)
        (xp.sin(x[1] * xp.max(x)) * xp.exp(x[2]) + xp.sum(xp.exp(empty))).backward()
        return host(x.grad)

    expected = gradient()
    dtype = "float64" if to == "device" else None
    with ag.hooks(Offload(above=0, to=to, dtype=dtype, folder=tmp_path)):
        np.testing.assert_array_equal(gradient(), expected)


@pytest.mark.parametrize("to", ["compressed", "disk"])
def test_the_layout_comes_back(to, tmp_path):
    xp, layouts = ag.namespace("numpy"), []

    class Look:
        @hookimpl(tryfirst=True)
        def backward_preprocess(self, op, inputs):
            layouts.append((inputs[0].flags.f_contiguous, inputs[0].flags.writeable))

    x = ag.Variable(np.asfortranarray(np.arange(6000.0).reshape(60, 100)))
    with ag.hooks(Offload(above=1000, to=to, folder=tmp_path), Look()):
        xp.sin(x).backward(np.ones((60, 100)))
    assert layouts == [(True, True)]
    np.testing.assert_array_equal(x.grad.data, np.cos(x.data))


class Payload:
    """What a pickle of it calls when it is read."""

    def __reduce__(self):
        return (pytest.fail, ("a file was unpickled",))


@pytest.mark.parametrize("what", ["pickle", "other numbers", "too short", "nothing"])
def test_a_file_that_others_have_written_is_an_error(xp, what, tmp_path):
    x = leaf(xp)
    with ag.hooks(Offload(above=1000, to="disk", folder=tmp_path)):
        y = xp.sum(xp.exp(x))
        (path,) = tmp_path.iterdir()
        written = path.read_bytes()
        assert len(written) == SIZE  # the bytes of the array, and nothing else
        path.write_bytes(
            {
                "pickle": pickle.dumps(Payload()),
                "other numbers": bytes(SIZE),
                "too short": written[:-8],
                "nothing": b"",
            }[what]
        )
        with pytest.raises(OSError, match="is not as the plugin 'offload' wrote it"):
            y.backward()
        assert x.grad is None
        path.write_bytes(written)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"above": -1}, ValueError, "above must be 0 or"),
        ({"above": float("nan")}, ValueError, "above must be 0 or"),
        ({"above": "1 MB"}, TypeError, "above must be a number of bytes, not '1 MB'"),
        ({"above": None}, TypeError, "above must be a number"),
        ({"above": True}, TypeError, "above must be a number"),
        ({"level": 0}, ValueError, "level must be from 1 to 9, not 0"),
        ({"level": 10}, ValueError, "level must be from 1 to 9"),
        ({"level": 1.5}, TypeError, "level must be an int"),
        ({"to": None}, ValueError, "not None"),
        ({"dtype": np.float32}, TypeError, "dtype must be a name"),
        ({"dtype": "int8"}, ValueError, "'int8' is none of"),
        ({"folder": "/no/such/folder"}, NotADirectoryError, "there is no folder /no/such/folder"),
        ({"folder": 3}, TypeError, "int"),
    ],
)
def test_options_are_checked_when_they_are_given(options, error, message):
    with pytest.raises(error, match=message):
        Offload(**options)


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


def _brain(xp, values):
    """Return an array of bfloat16 on a backend that has it."""
    dtype = xp.empty(0)._domain.dtype_or_none("bfloat16")
    if dtype is None:
        pytest.skip("the library has no bfloat16")
    return xp.astype(xp.asarray(values, dtype=xp.float32), dtype)


@pytest.mark.parametrize("to", ["compressed", "disk", "host"])
@pytest.mark.parametrize("backend_name", ["jax", "torch"])
def test_bfloat16_which_numpy_lacks_comes_back(backend_name, to, tmp_path):
    pytest.importorskip(backend_name)
    xp = ag.namespace(backend_name)
    values = np.resize([0.5, -3.0, np.inf, -np.inf, np.nan, 1e-40, -0.0, 3e38], (40, 50))
    given = _brain(xp, values.tolist())
    for saved in (given, xp.permute_dims(given, (1, 0)), given[::2, 1::3]):
        x = ag.Variable(saved.data)
        size = 2 * saved.size
        with ag.hooks(Offload(above=100, to=to, folder=tmp_path)) as (offload,):
            y = x * x
        with xp.empty(0)._domain.backend.quiet():
            y.backward(xp.ones_like(y))
        facts = offload.to_dict()
        assert (facts["values"], facts["bytes"]) == (1, size)
        assert max(facts["packed"], facts["written"]) <= size
        wide = [host(xp.astype(each, xp.float32)) for each in (x.grad, saved + saved)]
        np.testing.assert_array_equal(*wide)
        assert x.grad.dtype == saved.dtype


@pytest.mark.parametrize("to", ["compressed", "disk", "host"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_smaller_dtypes_that_numpy_lacks(dtype, to, tmp_path):
    torch = pytest.importorskip("torch")
    x = ag.Variable(torch.linspace(0.0, 2.0, 1000))
    with ag.hooks(Offload(above=1000, to=to, dtype=dtype, folder=tmp_path)):
        y = x * x
    y.backward(y)
    expected = 2 * x.data.to(getattr(torch, dtype)).float() * y.data
    np.testing.assert_array_equal(host(x.grad), expected.numpy())
