"""What arrays of NumPy's can beside the standard, on Variables of any backend."""

import json
import os
import subprocess
import sys

import array_api_compat
import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import UnsupportedFunctionError
from arrays import leaf, values

A = np.asarray([[0.7, -1.3, 2.1], [1.9, 0.4, -0.6]])
C = A + 1j * A[:, ::-1] - 0.2j
V = np.asarray([0.9, -0.4, 1.6, 0.2])

# Each is called on NumPy's own array, too.
CALLS = {
    "all": [lambda x: x.all(), lambda x: (x > 0).all(axis=0, keepdims=True)],
    "any": [lambda x: x.any(1)],
    "argmax": [lambda x: x.argmax(), lambda x: x.argmax(axis=1)],
    "argmin": [lambda x: x.argmin(0)],
    "argsort": [lambda x: x.argsort(axis=0), lambda x: x.argsort(kind="stable")],
    "astype": [lambda x: x.astype("float32"), lambda x: x.astype(float, copy=False)],
    "choose": [lambda x: (x > 0).astype(int).choose([x, 2.0 * x])],
    "clip": [
        lambda x: x.clip(-1.0, 1.0),
        lambda x: x.clip(min=0.0),
        lambda x: x.clip(x[0, :], None),
    ],
    "compress": [lambda x: x.compress([True, False, True], axis=1)],
    "conj": [lambda x: x.conj(), lambda x: x.conjugate()],
    "copy": [lambda x: x.copy()],
    "cumprod": [lambda x: x.cumprod(axis=1)],
    "cumsum": [lambda x: x.cumsum(), lambda x: x.cumsum(0)],
    "diagonal": [lambda x: x.diagonal(1)],
    "dot": [lambda x: x.dot([1.0, 2.0, 3.0]), lambda x: x.dot(x.T)],
    "flat": [lambda x: x.flat[1:3], lambda x: np.stack(list(x.flat))],
    "flatten": [lambda x: x.flatten()],
    "item": [lambda x: x.item(4), lambda x: x.item(1, 2), lambda x: x.item((0, -1))],
    "itemsize": [lambda x: x.itemsize, lambda x: (x > 0).itemsize],
    "max": [
        lambda x: x.max(),
        lambda x: x.max(axis=0, keepdims=True),
        lambda x: x.max(initial=9.0),
    ],
    "mean": [lambda x: x.mean(), lambda x: x.mean(0), lambda x: x.mean(axis=1, keepdims=True)],
    "min": [lambda x: x.min(1)],
    "nbytes": [lambda x: x.nbytes],
    "nonzero": [lambda x: (x > 0).nonzero()],
    "prod": [lambda x: x.prod(axis=1)],
    "ravel": [lambda x: x.ravel()],
    "real": [lambda x: x.real],
    "imag": [lambda x: x.imag],
    "repeat": [lambda x: x.repeat(2, axis=0), lambda x: x.repeat([1, 0, 2], axis=1)],
    "reshape": [lambda x: x.reshape(3, 2), lambda x: x.reshape((3, -1)), lambda x: x.reshape(-1)],
    "round": [lambda x: (x * 7).round(), lambda x: (x * 7).round(1)],
    "searchsorted": [lambda x: x.ravel()[:2].searchsorted([0.0])],
    "squeeze": [lambda x: x[:1, :].squeeze(), lambda x: x[None, ...].squeeze(0)],
    "std": [lambda x: x.std(ddof=1), lambda x: x.std(0, keepdims=True)],
    "sum": [lambda x: x.sum(), lambda x: x.sum((0, 1)), lambda x: x.sum(1, None, None, True)],
    "swapaxes": [lambda x: x.swapaxes(0, 1)],
    "take": [lambda x: x.take([0, -1], axis=1), lambda x: x.take(3)],
    "tolist": [lambda x: x.tolist(), lambda x: x[0, 0].tolist()],
    "trace": [lambda x: x.trace(), lambda x: x.trace(offset=1)],
    "transpose": [
        lambda x: x.transpose(),
        lambda x: x.transpose(1, 0),
        lambda x: x.transpose((0, 1)),
    ],
    "var": [lambda x: x.var(), lambda x: x.var(axis=1, ddof=1)],
}
OF_REAL = {"argmax", "argmin", "choose", "clip", "item", "max", "min", "nonzero", "searchsorted"}
OF_REAL |= {"all", "any", "argsort", "astype", "itemsize", "round"}
CASES = [
    (raw, name, index)
    for raw in (A, C)
    for name, calls in CALLS.items()
    for index in range(len(calls))
    if raw is A or name not in OF_REAL
]
each_case = pytest.mark.parametrize(("raw", "name", "index"), CASES)


def given(xp, raw):
    return xp.asarray(raw.tolist(), dtype=getattr(xp, raw.dtype.name))


def is_inexact(x):
    return isinstance(x, ag.Variable) and x._domain.is_inexact(x.dtype)


@each_case
def test_a_method_has_numpys_value(xp, raw, name, index):
    function = CALLS[name][index]
    found, expected = function(given(xp, raw)), function(raw)
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, ag.Variable):
            assert one.shape == np.shape(other)
            np.testing.assert_allclose(values(one), other, rtol=1e-6)
        else:
            assert type(one) is type(other)
            assert one == other


@each_case
def test_a_method_has_the_gradient_of_central_differences(xp, raw, name, index):
    function = CALLS[name][index]
    if is_inexact(function(given(xp, raw))):
        single = "float32" in str(function(given(xp, raw)).dtype)
        ag.check_grad(function, given(xp, raw).data, order=1, rtol=2e-2 if single else None)


def test_divmod_has_the_operators_values_and_gradients(xp):
    one, other = xp.asarray([7.5, -7.5]), xp.asarray([2.0, 2.0])
    for x1, x2 in ((one, other), (7.5, other), (one, 2.0)):
        quotient, rest = divmod(x1, x2)
        assert np.array_equal(values(quotient), values(x1 // x2))
        assert np.array_equal(values(rest), values(x1 % x2))
    gradients = ag.grad(lambda x1, x2: xp.sum(divmod(x1, x2)[1]), (0, 1))(one.data, other.data)
    assert [np.asarray(g).tolist() for g in gradients] == [[1.0, 1.0], [-3.0, 4.0]]
    with pytest.raises(TypeError):
        divmod(one, "text")


@pytest.mark.parametrize("tracked", [True, False])
def test_values_leave_without_a_word(xp, tracked):
    x = ag.Variable(given(xp, A).data, tracked)
    assert x.tolist() == A.tolist()
    assert json.dumps((x * 2.0).tolist()) == json.dumps((2 * A).tolist())
    assert x.item(-1) == A.item(-1)
    with pytest.raises(ValueError, match="one element"):
        x.item()


WRITES = {
    "fill": lambda x: x.fill(2.5),
    "partition": lambda x: x.partition([0, 1, 2]),
    "put": lambda x: x.put([0, 3], [7.0, 8.0]),
    "sort": lambda x: x.sort(axis=0),
    "real": lambda x: setattr(x, "real", 3.0),
    "flat": lambda x: x.flat.__setitem__(slice(1, 3), 9.0),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_are_recorded(xp, write):
    expected = A.copy()
    write(expected)

    def program(x):
        x = x * 1.0
        assert write(x) is None
        return x

    np.testing.assert_array_equal(values(program(given(xp, A))), expected)
    ag.check_grad(program, given(xp, A).data)


def test_parts_of_complex_numbers_are_written(xp):
    x = given(xp, C)
    x.imag = 2.0
    x.real = given(xp, A)
    np.testing.assert_array_equal(values(x), A + 2j)


def test_shapes_are_views_as_of_the_standard(xp):
    x = given(xp, A) * 1.0
    for view in (x.reshape(3, 2), x.ravel(), x.transpose(), x.swapaxes(0, 1)):
        view[...] = view * 2.0
    np.testing.assert_array_equal(values(x), 16 * A)
    for copied in (x.flatten(), x.copy()):
        copied[...] = 0.0
    np.testing.assert_array_equal(values(x), 16 * A)


def test_out_is_written(xp):
    x, out = leaf(xp, V.tolist()), xp.zeros(())
    assert x.sum(out=out) is out
    out.backward()
    np.testing.assert_array_equal(values(x.grad), 1.0)


def test_what_other_libraries_take_an_array_for(xp):
    x = leaf(xp, [1.0, 2.0])
    assert array_api_compat.is_array_api_obj(x)
    assert array_api_compat.array_namespace(x) is xp
    for is_one in ("numpy", "cupy", "torch", "dask", "jax", "ndonnx", "pydata_sparse"):
        assert not getattr(array_api_compat, f"is_{is_one}_array")(x)


SCIPYS = """
import warnings
import numpy as np
import agnograd as ag
from scipy import differentiate, integrate

xp = ag.namespace("numpy")


def zeta(s):
    with warnings.catch_warnings():  # NumPy's, of the infinite end
        warnings.simplefilter("ignore")
        ends = xp.asarray(1.0), xp.asarray(np.inf)
        return integrate.nsum(lambda k, s: 1 / k**s, *ends, args=(s,)).sum


def curvature(x):
    return differentiate.hessian(lambda x: xp.sum(xp.sin(x) * x**2, axis=0), x).ddf


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ag.check_grad(zeta, np.asarray([1.7, 2.3]), order=1)
ag.check_grad(curvature, np.asarray([1.7, 2.3]), order=1, rtol=1e-2, atol=1e-3)
"""


def test_scipy_computes_with_methods():
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    subprocess.run([sys.executable, "-c", SCIPYS], env=environment, check=True)


def test_memory_is_not_laid_out(xp):
    with pytest.raises(UnsupportedFunctionError, match="order='F'"):
        leaf(xp, V.tolist()).ravel(order="F")


def test_the_transpose_of_the_standard_stays(xp):
    with pytest.raises(ValueError, match="two axes"):
        _ = leaf(xp, V.tolist()).T
    assert leaf(xp, V.tolist()).transpose().shape == (4,)
