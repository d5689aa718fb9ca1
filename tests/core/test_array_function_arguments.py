"""NumPy's functions on arrays of every dtype, of no axes, of no elements: all as NumPy has it."""

import warnings

import numpy as np
import pytest

import agnograd as ag
from arrays import leaf, values
from numpys import CALLS

DTYPES = (
    *("bool", "int8", "uint8", "int32", "int64", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
BY_PROCESSOR = {"argsort"}  # NumPy's loops with wide vectors order equal elements in another way
SHAPES = ((), (0,), (1,), (0, 3), (2, 0), (0, 0), (0, 2, 3), (-1,))
# What differs from NumPy, and why.
ACCEPTED_DTYPES = {
    "argsort": "the order of equal elements is the library's",
    "fft.hfft": "the standard has no transforms in half precision",
    "fft.irfft": "the standard has no transforms in half precision",
    "gradient": "of equal points NumPy has infinities of either sign, here it is NaN",
    "histogram": "weights that are booleans are counted, not put together by or",
    "interp": "periods of complex places are refused: NumPy drops the imaginary part",
    "linalg.cond": "the inverse of a singular matrix is an error, not infinite",
    "linalg.eig": "the standard's eigenvalues are complex, also where all are real",
    "linalg.eigvals": "the standard's eigenvalues are complex, also where all are real",
    "linalg.lstsq": "half precision is widened where it meets a wider array, not refused",
    "linalg.solve": "half precision is widened where it meets a wider array, not refused",
    "pad": "a complex value is refused, where NumPy may drop its imaginary part",
    "polyfit": "half precision is widened where it meets a wider array, not refused",
    "quantile": "places that are integers give numbers with a fraction",
    "unwrap": "unsigned integers are not subtracted modulo 256",
}
ACCEPTED_SHAPES = {
    "compress": "the condition may not be longer than an axis, also where nothing is read",
    "corrcoef": "of no variables and others, NumPy drops the others",
    "cov": "of no variables and others, NumPy drops the others",
    "cross": "vectors of two elements are refused",
    "fft.fftn": "a transform over no axes has the dtype of the others",
    "linalg.eig": "the standard's eigenvalues are complex, also where all are real",
    "linalg.eigvals": "the standard's eigenvalues are complex, also where all are real",
    "linalg.multi_dot": "a stack of matrices is multiplied, as matmul does",
    "linalg.tensorsolve": "an empty system is solved by its library",
    "nanpercentile": "NumPy drops the axis of quantiles where an array is empty",
    "pad": "arrays of one element are taken for numbers where they stand in pairs",
    "partition": "places beyond an axis are refused also in empty arrays",
    "quantile": "no quantiles are none, whatever their shape",
    "take": "places beyond an axis are refused also in empty arrays",
}
# Before NumPy 2.5 eigenvalues were real where they can be, and vectors of two elements had a cross
# product. From it on there are values of no points.
if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
    for accepted in (ACCEPTED_DTYPES, ACCEPTED_SHAPES):
        del accepted["linalg.eig"], accepted["linalg.eigvals"]
    del ACCEPTED_SHAPES["cross"]
    ACCEPTED_SHAPES["interp"] = "no points are refused, also where no values are asked for"
EPSILONS = {"e": 1e-2, "f": 1e-4, "F": 1e-4}


def as_dtype(array, dtype):
    """Return an array of a dtype, of integers twice as large as the numbers were."""
    dtype = np.dtype(dtype)
    array = np.where(np.isfinite(array), array, 3)
    if array.dtype.kind == "b" or dtype.kind == "b":
        return array.astype(dtype)
    array = array.real if array.dtype.kind == "c" and dtype.kind != "c" else array
    if dtype.kind in "iu" and array.dtype.kind == "f":
        array = np.rint(array * 2)
    return (np.abs(array) if dtype.kind == "u" else array).astype(dtype)


def as_shape(array, shape):
    """Return an array of as few elements as a shape has, or the flat array."""
    flat = array.reshape(-1)
    if shape == (-1,):
        return flat
    return flat[: int(np.prod(shape))].reshape(shape)


def variants(arrays, convert, options):
    """Yield lists of arguments, one or all of which are converted."""
    for option in options:
        for place in range(len(arrays)):
            yield [convert(each, option) if i == place else each for i, each in enumerate(arrays)]
        if len(arrays) > 1:
            yield [convert(each, option) for each in arrays]


def outcome(function, arguments):
    """Return the leaves of what a function returns, or the exception that it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = function(*arguments)
        except Exception as error:
            return error
    return list(leaves(found))


def leaves(found):
    if isinstance(found, tuple | list):
        for each in found:
            yield from leaves(each)
    else:
        yield np.asarray(found.detach()) if isinstance(found, ag.Variable) else found


def tracked(xp, array):
    return ag.Variable(array) if array.dtype.kind in "fc" else xp.asarray(array)


def differences(function, arguments):
    """Yield how the outcome on Variables differs from NumPy's."""
    xp = ag.namespace("numpy")
    expected = outcome(function, arguments)
    found = outcome(function, [tracked(xp, each) for each in arguments])
    if isinstance(expected, Exception) or isinstance(found, Exception):
        if not (isinstance(expected, Exception) and isinstance(found, Exception)):
            yield f"{expected!r} here {found!r}"
        return
    dtypes = (getattr(each, "dtype", np.dtype(int)) for each in [*arguments, *expected])
    narrow = max(EPSILONS.get(each.char, 1e-9) for each in dtypes)
    for one, other in zip(found, expected, strict=True):
        if not isinstance(one, np.ndarray):
            if one != other:
                yield f"{other!r} here {one!r}"
            continue
        other = np.asarray(other)
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            yield f"{other.dtype}{other.shape} here {one.dtype}{one.shape}"
        elif not np.allclose(one, other, rtol=narrow, atol=narrow, equal_nan=True):
            yield f"{other} here {one}"


def checked(name, convert, options):
    return [
        (index, [(each.dtype.name, each.shape) for each in arguments], difference)
        for index, (function, *arrays) in enumerate(CALLS[name])
        for arguments in variants(arrays, convert, options)
        for difference in differences(function, arguments)
    ]


@pytest.mark.parametrize("name", CALLS)
def test_a_function_takes_every_dtype_as_numpy_does(name):
    found = checked(name, as_dtype, DTYPES)
    assert bool(found) is (name in ACCEPTED_DTYPES) or name in BY_PROCESSOR, found


@pytest.mark.parametrize("name", CALLS)
def test_a_function_takes_arrays_of_no_axes_and_no_elements_as_numpy_does(name):
    found = checked(name, as_shape, SHAPES)
    assert bool(found) is (name in ACCEPTED_SHAPES), found


# Calls where an array of integers meets one that is tracked: NumPy promotes.
PROMOTING = {
    "append": lambda i, x: np.append(i, x),
    "average": lambda i, x: np.average(i, weights=x),
    "block": lambda i, x: np.block([i, x]),
    "choose": lambda i, x: np.choose([1, 0, 1], [i, x]),
    "clip": lambda i, x: np.clip(i, x, None),
    "concatenate": lambda i, x: np.concatenate([i, x]),
    "cov": lambda i, x: np.cov(i, x),
    "cross": lambda i, x: np.cross(i, x),
    "diff": lambda i, x: np.diff(i, prepend=x),
    "diff append": lambda i, x: np.diff(i, n=2, append=x[0]),
    "dot": lambda i, x: np.dot(i, x),
    "einsum": lambda i, x: np.einsum("i,j", i, x),
    "fmax": lambda i, x: np.fmax(i, x),
    "gradient": lambda i, x: np.gradient(i, x),
    "heaviside": lambda i, x: np.heaviside(i - 2, x),
    "interp": lambda i, x: np.interp([1.5, 2.5], i, x),
    "kron": lambda i, x: np.kron(i, x),
    "linspace": lambda i, x: np.linspace(i, x, 3),
    "polyadd": lambda i, x: np.polyadd(i, x),
    "polyval": lambda i, x: np.polyval(i, x),
    "select": lambda i, x: np.select([i > 2, i > 1], [i, x], default=0),
    "stack": lambda i, x: np.stack([i, x]),
    "where": lambda i, x: np.where(i > 2, i, x),
    "where of a number": lambda i, x: np.where(i > 2, 1, x),
}


@pytest.mark.parametrize("call", PROMOTING)
def test_an_array_of_integers_is_promoted_to_what_it_meets(xp, call):
    integers, raw = np.asarray([1, 2, 4]), np.asarray([0.5, 1.5, 3.75])
    x = leaf(xp, raw.tolist())
    found = PROMOTING[call](xp.asarray(integers.tolist()), x)
    expected = PROMOTING[call](integers, raw)
    np.testing.assert_allclose(values(found), expected, rtol=1e-14)
    assert found.dtype == xp.float64
    assert found.requires_grad
    ag.check_grad(lambda x: PROMOTING[call](xp.asarray(integers.tolist()), x), x.data, order=1)


def test_the_first_difference_of_integers_keeps_what_is_before_them():
    before = ag.Variable(np.asarray([0.5]))
    found = np.diff(np.asarray([1, 3]), prepend=before)
    assert values(found).tolist() == [0.5, 2.0]
    found.sum().backward()
    assert before.grad.tolist() == [-1.0]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: np.take_along_axis(x, np.asarray([[0]]), axis=5), np.exceptions.AxisError, "5"),
        (
            lambda x: np.trapezoid(x, x=np.asarray([1.0, 2.0, 3.0]), axis=4),
            IndexError,
            "axis|index",
        ),
        (lambda x: np.fft.fftn(x, s=(2,), axes=(0, 1)), ValueError, "Shape and axes have differ"),
    ],
)
def test_axes_that_do_not_fit_are_named(call, kind, message):
    for x in (np.zeros((2, 3)), ag.Variable(np.zeros((2, 3)))):
        with pytest.raises(kind, match=message):
            call(x)
