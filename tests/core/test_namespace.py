"""The namespace over one backend."""

import copy
import gc
import importlib
import inspect
import pickle
import subprocess
import sys
import threading
import weakref
from types import ModuleType

import cloudpickle
import numpy as np
import pytest

import agnograd as ag
from agnograd._util import signatures
from agnograd.errors import UnknownBackendError, UnsupportedArrayError


def test_there_is_one_object_per_backend(xp):
    name = xp.__package__.removeprefix("agnograd.")
    assert ag.namespace(name) is xp
    assert ag.namespace(xp.ones(2)) is xp
    assert ag.namespace(xp.ones(2).data) is xp
    assert pickle.loads(pickle.dumps(xp)) is xp
    assert copy.deepcopy(xp) is xp
    assert len({xp, ag.namespace(name)}) == 1
    found = []
    threads = [threading.Thread(target=lambda: found.append(ag.namespace(name))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each is xp for each in found)


def test_the_default_is_numpy_or_what_the_environment_says(monkeypatch):
    monkeypatch.delenv("AGNOGRAD_BACKEND", raising=False)
    assert ag.namespace() is ag.namespace("numpy")
    monkeypatch.setenv("AGNOGRAD_BACKEND", "strict")
    assert ag.namespace() is ag.namespace("strict")


def test_unknown_backends_list_the_installed_ones():
    with pytest.raises(UnknownBackendError, match=r"'nunpy'; installed: .*numpy, strict, torch"):
        ag.namespace("nunpy")
    with pytest.raises(UnsupportedArrayError, match=r"builtins\.object"):
        ag.namespace(object())


def test_names_are_real_entries_and_absent_ones_raise(xp):
    assert "sin" in vars(xp)
    assert "sin" in dir(xp)
    assert xp.__package__.removeprefix("agnograd.") in ag.backends()
    with pytest.raises(AttributeError, match="no attribute 'arcsin'"):
        _ = xp.arcsin
    assert not hasattr(xp, "nothing")
    assert hasattr(xp.linalg, "det")
    assert hasattr(xp.fft, "fft")


@pytest.mark.accelerated
def test_functions_are_plain_functions_whose_source_can_be_read(xp):
    assert inspect.isfunction(xp.sum)
    assert str(inspect.signature(xp.sum)) == "(x, /, *, axis=None, dtype=None, keepdims=False)"
    assert str(inspect.signature(xp.greater)) == "(x1, x2, /)"  # it was not called yet
    xp.maximum(2.0, xp.ones(1))
    assert "_kernel(x1, x2)" in inspect.getsource(xp.maximum)
    assert "sum" in xp.sum.__doc__
    with pytest.raises(TypeError):
        xp.sum(xp.ones(2), 0)


def test_dtypes_constants_and_inspection_are_the_librarys_own(xp):
    library = xp.ones(1)._domain.library
    for name in ("float32", "float64", "int64", "bool", "complex128", "pi", "e", "inf", "newaxis"):
        assert getattr(xp, name) is getattr(library, name)
    assert xp.__array_api_version__ == library.__array_api_version__
    info = xp.__array_namespace_info__()
    assert info.dtypes(kind="bool") == {"bool": xp.bool}
    assert xp.finfo(xp.ones(1, dtype=xp.float32)).bits == 32
    assert xp.iinfo(xp.int8).max == 127
    assert xp.isdtype(xp.ones(1).dtype, "real floating") is True
    assert xp.result_type(xp.ones(1, dtype=xp.float32), xp.float64) == xp.float64
    assert xp.can_cast(xp.ones(1, dtype=xp.float32), xp.float64)
    assert xp.broadcast_shapes((2, 1), (3,)) == (2, 3)


def test_results_are_always_variables(xp):
    x = xp.asarray([[3.0, 1.0], [2.0, 4.0]])
    results = [
        xp.sum(x),
        xp.argmax(x),
        x[0, 0],
        x > 1,
        xp.zeros_like(x),
        xp.eye(2),
        *xp.nonzero(x),
        *xp.unique_all(x),
        *xp.meshgrid(x[0, :], x[1, :]),
        *xp.linalg.eigh(x),
        xp.fft.fft(xp.astype(x, xp.complex128)),
    ]
    assert all(type(each) in (type(x), type(x[0, :])) for each in results)
    assert xp.unique_all(x).values.shape == (4,)
    assert type(xp.unique_all(x)).__name__ == type(xp.unique_all(x)).__qualname__


def test_raw_arrays_are_constants(xp):
    raw = xp.asarray([1.0, 2.0]).data
    x = ag.Variable(raw)
    xp.sum(xp.multiply(x, raw)).backward()
    np.testing.assert_array_equal(np.asarray(x.grad), [1.0, 2.0])
    assert not xp.sin(raw).requires_grad


def test_keys_are_unwrapped_deeply(xp):
    x = xp.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    one = xp.asarray(1)
    assert x[one, one].item() == 5.0
    assert x[0, one : xp.asarray(3)].shape == (2,)
    assert x[x > 2].shape == (4,)
    indices = xp.asarray([1, 0])
    assert x[indices, indices].shape == (2,)


def test_asarray(xp):
    x = ag.Variable(xp.asarray([1.0, 2.0], dtype=xp.float64).data)
    assert xp.asarray(x) is x
    assert xp.asarray(x, dtype=x.dtype) is x
    copied = xp.asarray(x, copy=True)
    assert copied is not x
    assert copied.requires_grad
    narrow = xp.asarray(x, dtype=xp.float32)
    xp.sum(narrow).backward()
    assert x.grad.dtype == xp.float64
    with pytest.raises(ValueError, match="copy is False"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    assert xp.asarray([1, 2]).dtype == xp.int64
    assert xp.from_dlpack(x.detach()).shape == (2,)


def test_variables_in_nested_lists_stay_connected(xp):
    a, b = (ag.Variable(xp.asarray(v, dtype=xp.float64).data) for v in (2.0, 3.0))
    matrix = xp.asarray([[a, b], [1.0, a * b]])
    assert matrix.shape == (2, 2)
    xp.sum(matrix * matrix).backward()
    assert a.grad.item() == 2 * 2.0 + 2 * 6.0 * 3.0
    assert b.grad.item() == 2 * 3.0 + 2 * 6.0 * 2.0


def test_exceptions_keep_their_types(xp):
    x = xp.ones((2, 3))
    with pytest.raises(IndexError):
        x[5, 0]
    with pytest.raises(ValueError, match=r".+"):
        xp.reshape(x, (4,))
    with pytest.raises(TypeError):
        xp.sin()


def test_steps_to_integers_carry_no_gradient(xp):
    x = ag.Variable(xp.asarray([1.5, 2.5], dtype=xp.float64).data)
    assert not xp.astype(x, xp.int64).requires_grad
    assert not xp.argsort(x).requires_grad
    assert not (x > 2).requires_grad
    assert xp.floor(x).requires_grad
    xp.sum(xp.floor(x)).backward()
    np.testing.assert_array_equal(np.asarray(x.grad), 0.0)


def test_ops_tells_what_is_known():
    ops = ag.ops()
    assert ops["sin"].status == "rule"
    assert ops["sin"].chapter == "elementwise"
    assert ops["argmax"].status == "no gradient"
    assert ops["sin"].distribution.startswith("agnograd ")


def test_extensions_are_made_when_they_are_looked_at():
    code = """
import threading
import weakref
import agnograd as ag
from agnograd._util import signatures

xp = ag.namespace("numpy")
made = lambda: "det" in vars(xp.linalg)
assert not made()
assert not hasattr(xp.linalg, "no_such_function")
assert made()
found, together = [], threading.Barrier(8)

def look():
    together.wait()
    found.append(xp.fft.fft)

threads = [threading.Thread(target=look) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(set(map(id, found))) == 1
assert "erf" in dir(xp.special)
assert xp.special.erf is vars(xp.special)["erf"]
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def functions_of(namespace):
    for name in dir(namespace):
        found = getattr(namespace, name)
        if isinstance(found, ModuleType):
            yield from functions_of(found)
        elif callable(found) and not isinstance(found, type) and not name.startswith("_"):
            yield found


def test_functions_are_pickled_by_name(xp):
    functions = list(functions_of(xp))
    assert {xp.sin, xp.linalg.solve, xp.asarray, xp.from_dlpack, xp.astype} <= set(functions)
    for pickler in (pickle, cloudpickle):
        assert pickler.loads(pickler.dumps(functions)) == functions
    there = "import pickle, sys; print(pickle.loads(bytes.fromhex(sys.argv[1]))(0.0).item())"
    command = [sys.executable, "-c", there, pickle.dumps(ag.namespace("numpy").cos).hex()]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "1.0\n"


def test_what_is_no_backend_is_no_module():
    for name in ("agnograd.no_such", "agnograd._no_such", "agnograd.numpy.no_such"):
        with pytest.raises(ModuleNotFoundError, match=name):
            importlib.import_module(name)
    assert importlib.import_module("agnograd.numpy") is ag.namespace("numpy")


@pytest.mark.parametrize(
    "made",
    [
        lambda f: ag.checkpoint(f),
        lambda f: ag.checkpoint(f, policy="products"),
        lambda f: ag.grad(f),
        lambda f: ag.elementwise_grad(f),
        lambda f: ag.jacobian(f),
        lambda f: ag.hessian(f),
        lambda f: ag.no_grad(f),
        lambda f: ag.wrap(f, vjp="numeric"),
    ],
)
def test_what_transformations_return_is_pickled_with_its_function(made):
    function = made(lambda x: x * x * x)
    copied = cloudpickle.loads(cloudpickle.dumps(function))
    assert float(copied(np.asarray(2.0))) == float(function(np.asarray(2.0)))


def test_classes_names_and_signatures_are_not_known_for_ever():
    xp = ag.namespace("numpy")

    def use():
        kind = type("Own", (np.ndarray,), {})
        x = ag.Variable(np.ones(2).view(kind))
        xp.sum(x * x).backward()
        assert x.grad.data.tolist() == [2.0, 2.0]
        return weakref.ref(kind)

    known = use()
    gc.collect()
    assert known() is None
    domain = xp.ones(1)._domain
    names = len(domain._named)
    for index in range(10):
        with pytest.raises(UnsupportedArrayError, match=f"no dtype 'float{index}x'"):
            ag.asarray([1.0], backend="numpy", dtype=f"float{index}x")
    assert len(domain._named) == names
    for cached in (signatures._function, signatures.signature_of):
        assert cached.cache_info().maxsize is not None
