"""NumPy's functions on Variables: values, gradients, names of parameters, errors."""

import inspect
import subprocess
import sys
import warnings

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import (
    LostGradientError,
    MixedBackendsError,
    UnsupportedArrayError,
    UnsupportedFunctionError,
)
from agnograd_numpy_functions.functions import FUNCTIONS
from arrays import host, leaf, values
from numpys import CALLS, A, V

CASES = [(name, index) for name, calls in CALLS.items() for index in range(len(calls))]
each_call = pytest.mark.parametrize(("name", "index"), CASES, ids=lambda part: str(part))
# Calls whose value has no derivative around the sample, or one by another convention.
NO_DIFFERENCES = {
    ("linalg.cholesky", 0): "the gradient is that of Hermitian matrices",
    ("linalg.cholesky", 1): "the gradient is that of Hermitian matrices",
    ("nan_to_num", 1): "an infinite number has no neighbours",
    ("quantile", 12): "NaN has no neighbours",
    ("setdiff1d", 0): "the shape depends on the values",
    ("trim_zeros", 0): "the shape depends on the values",
    ("trim_zeros", 1): "the shape depends on the values",
    ("unique", 0): "the shape depends on the values",
    ("unique", 2): "the shape depends on the values",
    ("unique_values", 0): "the shape depends on the values",
}
WITHOUT_SAMPLE = {"array_repr", "array_str", "ndarray.astype", "ndarray.compress", "ndarray.conj"}


def given(xp, array):
    return xp.asarray(array.tolist(), dtype=getattr(xp, array.dtype.name))


def leaves(result):
    """Return the arrays of a result, and what else it has."""
    if isinstance(result, tuple | list):
        return [leaf for each in result for leaf in leaves(each)]
    return [result]


def is_inexact(x):
    return isinstance(x, ag.Variable) and x._domain.is_inexact(x.dtype)


@each_call
def test_a_function_has_numpys_value(xp, backend, name, index):
    function, *arrays = CALLS[name][index]
    expected = leaves(function(*arrays))
    found = leaves(function(*(given(xp, each) for each in arrays)))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if not isinstance(one, ag.Variable):
            assert one == other
            continue
        narrow = np.asarray(other).dtype == np.float32
        np.testing.assert_allclose(values(one), other, rtol=1e-6 if narrow else 1e-12, atol=1e-14)
        assert one.shape == np.shape(other)
        if backend == "numpy":
            assert one.dtype == np.asarray(other).dtype


@each_call
def test_a_function_has_the_gradient_of_central_differences(xp, name, index):
    function, *arrays = CALLS[name][index]
    variables = [given(xp, each) for each in arrays]
    tracked = [ag.Variable(each.data) if is_inexact(each) else each for each in variables]
    found = [each for each in leaves(function(*tracked)) if is_inexact(each)]
    if not found or not any(is_inexact(each) for each in variables):
        return

    def inexact(*inputs):
        return [each for each in leaves(function(*inputs)) if is_inexact(each)]

    if (name, index) in NO_DIFFERENCES:
        ag.vjp(inexact, *(each.data for each in variables))[1]([each.data for each in found])
        return
    ag.check_grad(inexact, *(each.data for each in variables), order=1)


def test_every_function_has_a_sample():
    assert set(FUNCTIONS) - {name for name, calls in CALLS.items() if calls} == WITHOUT_SAMPLE


def dispatched():
    """Yield every function of NumPy's that asks the protocol, by name."""
    stride = np.lib.stride_tricks
    modules = {"": np, "linalg.": np.linalg, "fft.": np.fft, "lib.stride_tricks.": stride}
    for prefix, module in modules.items():
        for name in sorted(getattr(module, "__all__", dir(module))):
            function = getattr(module, name)
            if hasattr(function, "_implementation"):
                yield prefix + function.__name__, function


KNOWN = {name: function for name, function in dispatched() if name in FUNCTIONS}
UNKNOWN = {name: function for name, function in dispatched() if name not in FUNCTIONS}


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("tracked", [True, False])
def test_any_other_function_is_an_error_that_names_it(name, tracked):
    x = ag.Variable(V, tracked)
    with pytest.raises(UnsupportedFunctionError, match=rf"np\.{name} .*v\.detach\(\)"):
        x.__array_function__(UNKNOWN[name], (type(x),), (x,), {})


def test_most_functions_are_known():
    assert len(UNKNOWN) < 30
    assert {"concatenate", "einsum", "linalg.svd", "fft.rfft2"} <= set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_parameters_have_numpys_names_and_order(name):
    try:
        numpys = inspect.signature(KNOWN[name]).parameters
    except ValueError:
        pytest.skip(f"NumPy does not tell the parameters of {name}")
    own = FUNCTIONS[name]
    names = [each if each in numpys else each.rstrip("_") for each in own.positional]
    positional = [
        each.name
        for each in numpys.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    assert names == positional[: len(names)]
    if not any(each.kind is each.VAR_KEYWORD for each in numpys.values()):
        assert {each.rstrip("_") for each in own.parameters} <= {
            each.rstrip("_") for each in numpys
        }


def test_out_is_written_and_recorded(xp):
    x, y = leaf(xp, [1.0, 2.0]), leaf(xp, [3.0, 4.0])
    out = y * 1.0
    assert np.cumsum(x, out=out) is out
    xp.sum(out * out).backward()
    np.testing.assert_array_equal(values(out), [1.0, 3.0])
    np.testing.assert_array_equal(values(x.grad), [8.0, 6.0])
    assert y.grad is None
    total = xp.zeros(())
    assert np.sum(x, None, None, total) is total
    assert total.item() == 3.0


def test_out_that_is_raw_never_loses_a_gradient():
    x = ag.Variable(np.asarray([1.0, 2.0]))
    out = np.zeros(2)
    with pytest.raises(LostGradientError, match="raw array"):
        np.cumsum(x, out=out)
    np.testing.assert_array_equal(out, 0.0)
    assert np.cumsum(x.detach(), out=out) is out
    np.testing.assert_array_equal(out, [1.0, 3.0])


WRITES = {
    "copyto": lambda raw, v: np.copyto(raw, v),
    "place": lambda raw, v: np.place(raw, raw > 1, v),
    "put": lambda raw, v: np.put(raw, [1], v),
    "put_along_axis": lambda raw, v: np.put_along_axis(raw, np.asarray([0]), v[:1], 0),
    "putmask": lambda raw, v: np.putmask(raw, [True, False], v),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_to_a_raw_array_never_loses_a_gradient(write):
    x, raw = ag.Variable(np.asarray([7.0, 8.0])), np.asarray([1.0, 2.0])
    with pytest.raises(LostGradientError, match="raw array"):
        write(raw, x)
    np.testing.assert_array_equal(raw, [1.0, 2.0])
    expected = raw.copy()
    write(expected, x.data)
    write(raw, x.detach())
    np.testing.assert_array_equal(raw, expected)


def test_out_of_another_shape_is_refused(xp):
    with pytest.raises(ValueError, match="out has shape"):
        np.sum(leaf(xp, [0.5]), out=xp.zeros(2))
    with pytest.raises(ValueError, match="out has shape"):
        np.add.reduce(leaf(xp, [0.5]), out=xp.zeros(2))


def test_a_dtype_that_there_is_not_is_named(xp):
    for dtype in ("bogus", object, np.dtype("M8[s]")):
        with pytest.raises(UnsupportedArrayError, match="has no dtype"):
            np.sum(leaf(xp, [0.5]), dtype=dtype)


def test_out_of_a_narrower_kind_is_refused(xp):
    with pytest.raises(TypeError, match="same_kind"):
        np.sum(leaf(xp, [0.5]), out=xp.asarray(0))


def test_an_unknown_keyword_says_what_there_is(xp):
    with pytest.raises(UnsupportedFunctionError, match=r"np\.quantile .* 'weights'.*method"):
        np.quantile(leaf(xp, [1.0, 2.0]), 0.5, weights=[1, 2])
    with pytest.raises(TypeError, match="two values for argument 'axis'"):
        leaf(xp, [1.0]).__array_function__(np.sum, (ag.Variable,), (xp.ones(1), 0), {"axis": 0})
    with pytest.raises(UnsupportedFunctionError, match="mode 'mean'"):
        np.pad(leaf(xp, [1.0]), 1, mode="mean")
    with pytest.raises(UnsupportedFunctionError, match="order='F'"):
        np.reshape(leaf(xp, [1.0]), (1, 1), order="F")


def test_another_librarys_array_is_named():
    x, other = leaf(ag.namespace("numpy"), [1.0, 2.0]), ag.namespace("strict").ones(2)
    with pytest.raises(MixedBackendsError, match=r"ag\.asarray\(x, backend='numpy'\)"):
        np.concatenate([x, other.data])
    with pytest.raises(MixedBackendsError, match=r"ag\.asarray"):
        np.dot(x, other)


class Answering:
    """An array of a library that has an answer of its own."""

    __array_ufunc__ = lambda self, *_, **__: "ufunc"  # noqa: E731
    __array_function__ = lambda self, *_: "function"  # noqa: E731


def test_a_library_that_knows_variables_may_answer(xp):
    x = leaf(xp, [1.0, 2.0])
    assert np.concatenate([x, Answering()]) == "function"
    assert np.dot(x, Answering()) == "function"


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_vectors_have_numpys_signs_over_numpy(dtype):
    rng = np.random.default_rng(0)
    for size in (3, 4, 7):
        a = rng.standard_normal((2, size, size))
        if dtype == "complex128":
            a = a + 1j * rng.standard_normal((2, size, size))
        for call in (
            lambda a: np.linalg.eigh(a, "L").eigenvectors,
            lambda a: np.linalg.eigh(a, "U").eigenvectors,
            lambda a: np.linalg.svd(a, hermitian=True).U,
            lambda a: np.linalg.svd(a, hermitian=True).Vh,
        ):
            np.testing.assert_allclose(call(ag.Variable(a)).data, call(a), rtol=1e-9, atol=1e-9)
    ag.check_grad(lambda a: np.abs(np.linalg.svd(a, hermitian=True).U), a, order=1)


@pytest.mark.parametrize("dtype", [np.float32, "float32", "f4", np.dtype("f4")])
def test_numpys_dtypes_are_the_backends(xp, dtype):
    x = leaf(xp, [1.0, 2.0])
    assert np.sum(x, dtype=dtype).dtype == xp.float32
    assert x.astype(dtype).dtype == xp.float32
    assert x.astype(float).dtype == x.dtype
    assert x.astype(int).dtype == xp.int64


def test_pythons_numbers_are_of_double_precision(xp):
    x = leaf(xp, A.tolist())
    for found in (np.quantile(x, 0.1), np.full_like(x, 0.1)[0, 0], np.append(x, [0.1])[-1]):
        assert found.dtype == xp.float64
    assert np.append(x, [0.1])[-1].item() == 0.1


def test_a_list_of_variables_is_connected(xp):
    x, y = leaf(xp, 1.5), leaf(xp, 2.5)
    stacked = np.stack([x * y, x, 2.0 * y])
    np.dot(stacked, [1.0, 2.0, 3.0]).backward()
    assert (x.grad.item(), y.grad.item()) == (4.5, 7.5)


def test_text_of_variables(xp):
    assert "requires_grad=True" in np.array_repr(leaf(xp, [1.0]))


def test_nothing_is_loaded_before_numpy_asks():
    code = (
        "import sys, numpy as np, agnograd as ag; x = ag.Variable(np.ones(2)); x * x; "
        "print(*sys.modules, sep='\\n')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "agnograd._arrays.protocols" in run.stdout.split()
    assert not {"agnograd_numpy_functions.ufuncs", "agnograd_numpy_functions.functions"} & set(
        run.stdout.split()
    )


def test_creation_from_a_variable_copies(xp):
    x = leaf(xp, [1.0, 2.0])
    y = np.array(x, like=x)
    y[0] = 7.0
    assert x[0].item() == 1.0
    assert y.requires_grad


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero", "ignore:overflow")
@pytest.mark.parametrize(
    "ordinates",
    [
        [0.0, np.inf, 2.0, 4.0],
        [np.inf, 1.0, 2.0, 4.0],
        [0.0, 1.0, 3.0, -np.inf],
        [0.0, np.inf, np.inf, 3.0],
        [0.0, np.inf, -np.inf, 3.0],
        [np.inf, 1.0, np.inf, 3.0],
        [0.0, np.nan, 2.0, 5.0],
    ],
)
def test_interpolation_beside_an_ordinate_that_is_not_finite(xp, ordinates):
    """A knot has its own ordinate, and the slope of the segment beside it that is finite."""
    knots, at = np.arange(4.0), np.arange(-0.75, 4.0, 0.25)
    expected = np.interp(at, knots, ordinates)
    arrays = [given(xp, np.asarray(each)).data for each in (at, knots, ordinates)]
    weights = np.isfinite(expected).astype(float)

    def finite(x, p, f):
        return xp.sum(xp.where(given(xp, weights) == 1.0, np.interp(x, p, f), 0.0))

    found = np.interp(*map(ag.Variable, arrays))
    np.testing.assert_allclose(host(found), expected, rtol=1e-15)
    by_x, by_knots, by_ordinates = (
        host(each) for each in ag.grad(finite, argnums=(0, 1, 2))(*arrays)
    )
    # Each is the slope of a segment, or that of an end, which is 0.
    slopes = np.append(np.diff(ordinates), 0.0)
    slopes = np.where(np.isfinite(slopes), slopes, 0.0)
    inner = np.where((at >= 0.0) & (at <= 3.0), np.floor(at), 3).astype(int)
    left = np.where(at == np.floor(at), slopes[np.minimum(inner, 3) - 1], 0.0) * (at > 0)
    right = np.where(np.isfinite(np.diff([*ordinates, np.nan]))[inner], slopes[inner], left)
    wanted = np.where(at > 3.0, 0.0, right) * weights
    np.testing.assert_allclose(by_x, wanted, rtol=1e-12, atol=1e-12)
    assert np.isfinite(by_knots).all()
    hats = [np.interp(at, knots, row) @ weights for row in np.eye(4)]
    np.testing.assert_allclose(by_ordinates, hats, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero", "ignore:overflow")
@pytest.mark.parametrize(
    ("ordinates", "slope"),
    [([1.0, np.inf], np.inf), ([-np.inf, 1.0], np.inf), ([np.inf, 1.0], -np.inf)],
)
def test_interpolation_inside_of_an_infinite_segment(xp, ordinates, slope):
    """The slope is infinite, by x and, with the other sign, by knots; ordinates have weights."""
    arrays = [given(xp, np.asarray(each)).data for each in ([0.25], [0.0, 1.0], ordinates)]
    f = lambda *args: xp.sum(np.interp(*args))  # noqa: E731
    found = [host(each).tolist() for each in ag.grad(f, argnums=(0, 1, 2))(*arrays)]
    assert found == [[slope], [-slope, -slope], [0.75, 0.25]]
    one = given(xp, np.asarray([1.0])).data
    pushed = ag.jvp(lambda x: np.interp(x, *arrays[1:]), (arrays[0],), (one,))[1]
    assert host(pushed).item() == slope


@pytest.mark.parametrize("library", ["numpy", "torch"])  # the standard has it of numbers
def test_arange_of_variables(library):
    pytest.importorskip(library, reason=f"install 'agnograd[{library}]'")
    xp = ag.namespace(library)
    start = ag.Variable(xp.asarray(0.5, dtype=xp.float64).data)
    found = np.arange(start, 3.1, start * start, like=start)
    assert values(found).tolist() == np.arange(0.5, 3.1, 0.25).tolist()
    assert found.dtype == np.arange(0.5, 3.1, like=start).dtype == xp.float64
    assert np.arange(xp.asarray(1, dtype=xp.int32), like=start).dtype == xp.int32
    gradient = ag.grad(lambda x: xp.sum(np.arange(x, 3.1, x * x, like=x)))(start.data)
    # 11 elements x + k * x**2, with k from 0 to 10
    assert float(gradient) == 11 + 2 * 0.5 * 55


def test_a_complex_value_fits_no_real_array(xp):
    x = leaf(xp, [1.0, 2.0])
    with pytest.raises(TypeError, match="complex"):
        np.pad(x, 1, constant_values=xp.asarray(1j))


@pytest.mark.parametrize(
    "call",
    [
        lambda v, one: np.tile(v, one),
        lambda v, one: np.moveaxis(v, one, 0),
        lambda v, one: np.split(v, one)[0],
        lambda v, one: np.tensordot(v, v.T, one),
        lambda v, one: np.tensordot(v, v, (one, one)),
        lambda v, one: np.broadcast_to(np.sum(v), one),
        lambda v, one: np.roll(v, one, (one, 0)),
        lambda v, one: np.resize(v, (one, one)),
        lambda v, one: np.reshape(v, (-1, one)),
        lambda v, one: np.full_like(v, 2.0, shape=one) * v[0, 0],
        lambda v, one: np.squeeze(v[:, None, :], one),
        lambda v, one: np.insert(v, one, 0.0, one),
        lambda v, one: np.sum(v, one),
        lambda v, one: v.max(axis=one),
        lambda v, one: v.cumprod(one),
    ],
)
@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_numpys_integers_are_integers(xp, call, kind):
    array = np.arange(1.0, 7.0).reshape(2, 3)
    one, other = leaf(xp, array), leaf(xp, array)
    expected, found = call(one, 1), call(other, kind(1))
    assert np.array_equal(values(found), values(expected))
    for each in (expected, found):
        xp.sum(each).backward()
    assert np.array_equal(values(one.grad), values(other.grad))


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, x, one: xp.sum(x, axis=one),
        lambda xp, x, one: xp.std(x, axis=one),
        lambda xp, x, one: xp.max(x, axis=one),
        lambda xp, x, one: xp.cumulative_prod(x, axis=one),
        lambda xp, x, one: xp.roll(x, one, axis=one),
        lambda xp, x, one: xp.diff(x, n=one, axis=one),
        lambda xp, x, one: xp.tensordot(x, x.T, axes=one),
        lambda xp, x, one: xp.tril(x, k=one),
        lambda xp, x, one: xp.linalg.vector_norm(x, axis=one),
        lambda xp, x, one: xp.fft.fftshift(x, axes=one),
        lambda xp, x, one: xp.linalg.diagonal(x, offset=one),
        lambda xp, x, one: xp.repeat(x, one, axis=one),
    ],
)
def test_axes_and_lengths_of_the_standard_may_be_numpys_integers(xp, call):
    x = leaf(xp, np.arange(1.0, 7.0).reshape(2, 3)).data
    expected = ag.grad(lambda x: xp.sum(call(xp, x, 1)))(x)
    found = ag.grad(lambda x: xp.sum(call(xp, x, np.int64(1))))(x)
    assert np.array_equal(host(found), host(expected))
    _, tangent = ag.jvp(lambda x: call(xp, x, np.int64(1)), x, x)
    assert np.array_equal(host(tangent), host(ag.jvp(lambda x: call(xp, x, 1), x, x)[1]))


X = np.asarray([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
# Calls of raw arrays and of Variables, whose values, dtypes and shapes are to be the same.
ALIKE = {
    "accumulate truth": lambda x: np.logical_or.accumulate(x, axis=1),
    "accumulate truth of one": lambda x: np.logical_xor.accumulate(x[:1]),
    "reduce truth of one": lambda x: np.logical_xor.reduce(x[:1], axis=0),
    "accumulate exponents": lambda x: np.logaddexp.accumulate(np.astype(x, np.int8)[:1]),
    "take of no axes": lambda x: np.take(x[0, 0], 0, axis=0),
    "take some of no axes": lambda x: np.take(x[0, 0], [0, 0], axis=-1),
    "compress of no axes": lambda x: np.compress([True], x[0, 0], axis=0),
    "no differences of no axes": lambda x: np.diff(x[0, 0], n=0),
    "insert at a slice": lambda x: np.insert(x, slice(0, 5), 7.0, axis=0),
    "insert at a backward slice": lambda x: np.insert(x[0], slice(None, None, -1), [7.0, 8, 9]),
    "mean in integers": lambda x: np.mean(x, dtype=int),
    "mean in integers where": lambda x: np.mean(x, dtype=np.int8, where=x > 0),
    "variance in complex numbers": lambda x: np.var(x, axis=0, dtype=complex),
    "deviation in complex numbers": lambda x: np.nanstd(x, axis=0, dtype=np.complex64),
    "variance without freedom": lambda x: np.var(x, axis=1, ddof=3, where=x < 9),
    "complex variance without freedom": lambda x: np.std(x * 1j, axis=1, ddof=4),
    "variance of numbers without freedom": lambda x: np.nanvar(x, axis=1, ddof=4),
    "covariance without freedom": lambda x: np.cov(x, ddof=2, aweights=[0.5, 1.0, 2.0]),
    "no derivative of a polynomial": lambda x: np.polyder(np.astype(x[0], np.float32), 0),
    "no integral of a polynomial": lambda x: np.polyint(np.astype(x[0], np.float32), 0),
}


@pytest.mark.parametrize("name", ALIKE)
def test_a_call_is_as_numpys(name):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected, found = ALIKE[name](X), values(ALIKE[name](ag.Variable(X)))
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert np.allclose(found, expected, rtol=1e-6, equal_nan=True)


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.2.0", reason="a single row was a variable before"
)
@pytest.mark.parametrize("function", [np.cov, np.corrcoef])
def test_a_single_row_of_columns_has_one_observation_of_each(function):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = function(X[:1], rowvar=False)
        found = values(function(ag.Variable(X[:1]), rowvar=False))
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.expand_dims(x, (0, 0)),
        lambda x: np.expand_dims(x, (0, -4)),
        lambda x: np.rot90(x, 2, (1, -1)),
        lambda x: np.resize(x, (2, -1)),
        lambda x: np.pad(x, -1, mode="edge"),
        lambda x: np.pad(x, (1, 2, 3)),
    ],
)
def test_axes_and_lengths_that_there_are_not_are_refused(xp, call):
    with pytest.raises(ValueError, match=r"twice|negative|pair"):
        call(leaf(xp, X))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.maximum.outer(x * 1j, x, dtype=float),
        lambda x: np.add.at(x * 1, (0, 0), 1j),
        lambda x: np.einsum("ij", x * 1j, dtype=float),
        lambda x: np.var(x * 1j, dtype=float),
        lambda x: np.std(x, dtype=int),
        lambda x: np.nanvar(x, dtype=bool),
    ],
)
def test_no_part_of_a_number_is_dropped_without_a_word(call):
    with pytest.raises(TypeError, match=r"complex|fraction|part of each number"):
        call(ag.Variable(X))


@pytest.mark.parametrize("method", ["linear", "hazen", "lower", "nearest"])
@pytest.mark.parametrize("name", ["quantile", "percentile", "nanquantile", "nanpercentile"])
def test_at_a_data_point_a_quantile_has_no_slope_by_its_place(xp, name, method):
    share = 0.3 if method == "hazen" else 0.25  # that of the second of five
    place = xp.asarray(share * 100 if "percent" in name else share, dtype=xp.float64).data
    x = xp.asarray([8.0, 1.0, 4.0, 2.0, 9.0], dtype=xp.float64).data
    quantile = lambda x, place: getattr(np, name)(x, place, method=method)  # noqa: E731
    by_x, by_place = ag.grad(quantile, argnums=(0, 1))(x, place)
    assert host(by_place).tolist() == 0.0
    assert host(by_x).tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]
    assert host(ag.jvp(lambda q: quantile(x, q), place, xp.ones_like(place).data)[1]) == 0.0
    if method == "linear":
        between = place + (10.0 if "percent" in name else 0.1)
        slope = 8.0 / (100 if "percent" in name else 1)
        assert host(ag.grad(quantile, argnums=1)(x, between)).tolist() == pytest.approx(slope)
