"""NumPy's and SciPy's ufuncs on Variables: values, gradients, methods, keywords, errors."""

import operator

import numpy as np
import pytest
import scipy.special

import agnograd as ag
from agnograd.errors import LostGradientError, MixedBackendsError, UnsupportedFunctionError
from agnograd_numpy_functions.ufuncs import RENAMED
from arrays import leaf, values

# Arguments by position, inside of the domain of almost all ufuncs, away from ties and corners.
PLACES = ([0.3, 0.7], [0.6, 0.2], [0.4, 0.8], [0.25, 0.35], [0.15, 0.45])
MATRIX = [[0.5, 0.2], [0.1, 0.9]]
OWN = {
    "arccosh": ([1.3, 2.7],),
    "bdtr": ([1, 2], [4, 5], [0.3, 0.6]),
    "bdtrc": ([1, 2], [4, 5], [0.3, 0.6]),
    "bdtri": ([1, 2], [4, 5], [0.3, 0.6]),
    "eval_hermite": ([1, 2], [0.3, 0.6]),
    "eval_hermitenorm": ([1, 2], [0.3, 0.6]),
    "expn": ([1, 2], [0.3, 0.6]),
    "ldexp": ([0.3, 0.7], [3, -2]),
    "log_ndtr": ([-0.3, 0.7],),
    "matmul": (MATRIX, MATRIX),
    "matvec": (MATRIX, [0.6, 0.2]),
    "nbdtr": ([1, 2], [4, 5], [0.3, 0.6]),
    "nbdtrc": ([1, 2], [4, 5], [0.3, 0.6]),
    "nbdtri": ([1, 2], [4, 5], [0.3, 0.6]),
    "ndtri_exp": ([-0.3, -0.7],),
    "pdtri": ([1, 2], [0.3, 0.6]),
    "vecmat": ([0.6, 0.2], MATRIX),
    "yn": ([1, 2], [0.3, 0.6]),
    "jn": ([1, 2], [0.3, 0.6]),
    "kn": ([1, 2], [0.3, 0.6]),
}


def ufuncs(module):
    found = [getattr(module, name) for name in dir(module)]
    return {each.__name__: each for each in found if isinstance(each, np.ufunc)}


NUMPY, SCIPY = ufuncs(np), ufuncs(scipy.special)
UNKNOWN_TO_NUMPY = {"bitwise_count", "frexp", "gcd", "isnat", "lcm", "spacing"}
each_ufunc = pytest.mark.parametrize("name", {**SCIPY, **NUMPY})


def arguments(name, ufunc):
    """Return raw arrays that a ufunc takes: integers where it takes nothing else."""
    floats = any(set("fd") & set(each.partition("->")[0]) for each in ufunc.types)
    given = OWN.get(name) or (PLACES[: ufunc.nin] if floats else ([3, 5], [2, 1])[: ufunc.nin])
    return [np.asarray(each) for each in given]


def given(xp, array):
    return xp.asarray(array.tolist(), dtype=getattr(xp, array.dtype.name))


def tuple_of(results):
    return results if isinstance(results, tuple) else (results,)


def call(xp, name, ufunc):
    """Return Variables of the arguments, and what the ufunc makes of them; None if unknown."""
    variables = [given(xp, each) for each in arguments(name, ufunc)]
    tracked = [
        ag.Variable(each.data, xp.isdtype(each.dtype, "real floating")) for each in variables
    ]
    try:
        return tracked, tuple_of(ufunc(*tracked))
    except UnsupportedFunctionError as error:
        assert repr(name) in str(error)  # noqa: PT017 - an error or results, both are checked
        return tracked, None


@each_ufunc
def test_a_ufunc_has_numpys_value_or_is_an_error_that_names_it(name):
    xp, ufunc = ag.namespace("numpy"), {**SCIPY, **NUMPY}[name]
    tracked, found = call(xp, name, ufunc)
    if found is None:
        assert name in UNKNOWN_TO_NUMPY or name in SCIPY
        return
    expected = tuple_of(ufunc(*(each.data for each in tracked)))
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, ag.Variable)
        assert one.dtype == other.dtype
        np.testing.assert_allclose(values(one), other, rtol=1e-14)
        inexact = xp.isdtype(one.dtype, ("real floating", "complex floating"))
        assert one.requires_grad is (inexact and any(each.requires_grad for each in tracked))


@pytest.mark.parametrize("name", sorted(set(NUMPY) - UNKNOWN_TO_NUMPY - {"arccosh"}))
def test_a_ufunc_has_numpys_value_on_a_strict_backend(xp, name):
    tracked, found = call(xp, name, NUMPY[name])
    expected = tuple_of(NUMPY[name](*(values(each) for each in tracked)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(values(one), other, rtol=1e-14)


# The derivatives of special functions are tested where their rules are.
@pytest.mark.parametrize("name", [*sorted(set(NUMPY) - UNKNOWN_TO_NUMPY), "erf", "xlogy"])
def test_a_ufunc_has_the_gradient_of_central_differences(xp, name):
    ufunc = {**SCIPY, **NUMPY}[name]
    arrays = arguments(name, ufunc)
    if all(each.dtype.kind != "f" for each in arrays):
        return

    def inexact(*inputs):
        found = tuple_of(ufunc(*inputs))
        return [each for each in found if xp.isdtype(each.dtype, "real floating")]

    if inexact(*(given(xp, each) for each in arrays)):
        ag.check_grad(inexact, *(given(xp, each).data for each in arrays))


@pytest.mark.parametrize("z", [0.5 + 0.3j, -1.2 + 0.4j])
@pytest.mark.parametrize("name", ["absolute", "conjugate", "exp", "multiply", "square", "sin"])
def test_a_ufunc_of_complex_numbers(xp, name, z):
    ufunc = NUMPY[name]
    raw = np.asarray([z, 2 * z])
    found = ufunc(*[given(xp, raw)] * ufunc.nin)
    np.testing.assert_allclose(values(found), ufunc(*[raw] * ufunc.nin))
    ag.check_grad(lambda x: ufunc(*[x] * ufunc.nin), given(xp, raw).data)


def test_scipys_functions_that_call_ufuncs_of_other_names():
    x = np.asarray([0.5, 1.5])
    for function in (scipy.special.lambertw, lambda x: scipy.special.zeta(2.5, x)):
        found = function(ag.Variable(x))
        np.testing.assert_allclose(values(found), function(x))
        ag.check_grad(function, x, order=1)


def test_the_standards_names_are_no_ufuncs_of_numpys():
    assert set(RENAMED) <= set(NUMPY)


SPECIAL_VALUES = {
    "cbrt": [-8.0, 0.0, 27.0, -np.inf],
    "exp2": [-np.inf, 0.0, 3.0],
    "fmax": [np.nan, 1.0, -np.inf],
    "fmin": [np.nan, 1.0, np.inf],
    "fmod": [5.5, -5.5, 3.0, -3.0, 1e300],
    "heaviside": [-2.0, 0.0, np.nan, np.inf],
    "logaddexp2": [-np.inf, 3.0, 1000.0],
    "modf": [2.5, -2.5, np.inf, -np.inf, np.nan, 3.0],
}


@pytest.mark.parametrize("name", SPECIAL_VALUES)
def test_programs_have_numpys_special_values(xp, name):
    ufunc, raw = NUMPY[name], np.asarray(SPECIAL_VALUES[name])
    others = [np.full_like(raw, 2.0)] * (ufunc.nin - 1)
    found = tuple_of(ufunc(given(xp, raw), *(given(xp, each) for each in others)))
    for one, other in zip(found, tuple_of(ufunc(raw, *others)), strict=True):
        np.testing.assert_allclose(values(one), other, rtol=1e-15)


@pytest.mark.parametrize("power", [3, -1, True, np.int32(3), [3, 1]])
def test_ldexp_takes_numbers(xp, power):
    x = given(xp, np.asarray([1.5, 2.0]))
    np.testing.assert_array_equal(values(np.ldexp(x, power)), np.ldexp([1.5, 2.0], power))
    found = ag.grad(lambda x: xp.sum(np.ldexp(x, power)))(x.data)
    np.testing.assert_array_equal(values(xp.asarray(found)), np.ldexp([1.0, 1.0], power))
    with pytest.raises(TypeError, match="powers of two"):
        np.ldexp(x, 2.5)


def test_ldexp_scales_far(xp):
    x = given(xp, np.asarray([1.5, 1e-300, 1.0]))
    powers = np.asarray([1000, 1900, -1074])
    expected = np.ldexp([1.5, 1e-300, 1.0], powers)
    np.testing.assert_allclose(values(np.ldexp(x, given(xp, powers))), expected, rtol=1e-15)


@pytest.mark.parametrize(
    "number", [2, 2.5, np.float64(2.5), np.float32(2.5), np.asarray(2.5), True]
)
@pytest.mark.parametrize("name", ["add", "mul", "sub", "truediv", "pow", "lt"])
def test_numpys_scalars_and_arrays_meet_variables(name, number):
    function, raw = getattr(operator, name), np.asarray([1.5, 2.5])
    x = ag.Variable(raw)
    for one, other in ((function(number, x), function(number, raw)),
                       (function(x, number), function(raw, number))):  # fmt: skip
        assert isinstance(one, ag.Variable)
        assert one.requires_grad is (name != "lt")
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(values(one), other)


@pytest.mark.parametrize("name", ["multiply", "hypot", "fmax", "float_power"])
def test_pythons_numbers_take_the_dtype_of_arrays(name):
    x = ag.Variable(np.asarray([1.5], dtype=np.float32))
    assert NUMPY[name](x, 2.0).dtype == NUMPY[name](x.data, 2.0).dtype
    assert NUMPY[name](2.0, x).dtype == NUMPY[name](2.0, x.data).dtype


def test_a_list_is_an_array(xp):
    x = leaf(xp, [1.0, 2.0])
    np.testing.assert_array_equal(values(np.hypot(x, [1.0, 2.0])), np.hypot([1, 2], [1, 2]))
    y = leaf(xp, 3.0)
    np.add(x, xp.asarray([y, 2.0 * y]))[1].backward()
    assert y.grad.item() == 2.0


def test_numpys_scalars_meet_other_backends():
    x = leaf(ag.namespace("strict"), [1.5, 2.5])
    np.testing.assert_array_equal(values(np.float64(2.0) * x), [3.0, 5.0])
    np.testing.assert_array_equal(values(np.add(np.float64(2.0), x)), [3.5, 4.5])


@pytest.mark.parametrize("name", ["add", "hypot", "fmax", "sub"])
def test_an_array_of_another_library_is_named(name):
    x, other = leaf(ag.namespace("numpy"), [1.5, 2.5]), ag.namespace("strict").ones(2).data
    function = NUMPY.get(name) or getattr(operator, name)
    # The other library's own operator would refuse first.
    for pair in ((x, other),) if name == "sub" else ((other, x), (x, other)):
        with pytest.raises(MixedBackendsError, match=r"ag\.asarray\(x, backend='numpy'\)"):
            function(*pair)


# -- methods ----------------------------------------------------------------------------------

A = np.asarray([[0.7, -1.3, 2.1], [1.9, 0.4, -0.6]])
REDUCED = ["add", "multiply", "maximum", "minimum", "fmax", "fmin", "logaddexp"]


@pytest.mark.parametrize("name", REDUCED)
@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": -1, "keepdims": True}], ids=str)
def test_reduce(xp, name, options):
    ufunc = NUMPY[name]
    found = ufunc.reduce(given(xp, A), **options)
    np.testing.assert_allclose(values(found), ufunc.reduce(A, **options), rtol=1e-14)
    ag.check_grad(lambda x: ufunc.reduce(x, **options), given(xp, A).data)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor", "bitwise_xor"])
def test_reduce_of_truths(xp, name):
    flags = np.asarray([[True, False], [True, True]])
    found = NUMPY[name].reduce(given(xp, flags), axis=0)
    np.testing.assert_array_equal(values(found), NUMPY[name].reduce(flags, axis=0))


def test_reduce_takes_numpys_options(xp):
    mask = np.asarray([True, False, True])
    for options in ({"axis": None}, {"axis": (0, 1)}, {"initial": 2.0}, {"dtype": np.float32}):
        found = np.add.reduce(given(xp, A), **options)
        np.testing.assert_allclose(values(found), np.add.reduce(A, **options), rtol=1e-6)
    found = np.add.reduce(given(xp, A), 1, where=given(xp, mask))
    np.testing.assert_allclose(values(found), np.add.reduce(A, 1, where=mask))
    assert np.add.reduce(leaf(xp, 3.0)).item() == 3.0


@pytest.mark.parametrize("name", [*REDUCED, "logaddexp2"])
@pytest.mark.parametrize("axis", [0, 1])
def test_accumulate(xp, name, axis):
    ufunc = NUMPY[name]
    found = ufunc.accumulate(given(xp, A), axis=axis)
    np.testing.assert_allclose(values(found), ufunc.accumulate(A, axis=axis), rtol=1e-14)
    ag.check_grad(lambda x: ufunc.accumulate(x, axis=axis), given(xp, A).data, order=1)


@pytest.mark.parametrize("length", [0, 1, 2, 7, 8])
def test_accumulate_any_length(xp, length):
    raw = np.sin(np.arange(length) * 2.0)
    found = np.maximum.accumulate(given(xp, raw))
    np.testing.assert_array_equal(values(found), np.maximum.accumulate(raw))


@pytest.mark.parametrize("name", ["multiply", "subtract", "maximum", "arctan2", "fmod"])
def test_outer(xp, name):
    raw = (A, np.asarray([0.37, 1.45]))
    found = NUMPY[name].outer(*(given(xp, each) for each in raw))
    np.testing.assert_allclose(values(found), NUMPY[name].outer(*raw), rtol=1e-14)
    ag.check_grad(NUMPY[name].outer, *(given(xp, each).data for each in raw), order=1)


@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
@pytest.mark.parametrize("key", [[0, 2, 0], slice(1, None), -1])
def test_at(xp, ufunc, key):
    raw, part = np.asarray([1.0, 2.0, 3.0]), np.asarray([1.0, 2.0, 3.0])[: np.size(np.ones(3)[key])]
    part = part if np.ones(3)[key].shape else part[0]
    expected = raw.copy()
    ufunc.at(expected, key, part)

    def program(x, v):
        x = x * 1.0
        assert ufunc.at(x, xp.asarray(key) if isinstance(key, list) else key, v) is None
        return x

    arguments = given(xp, raw), given(xp, np.asarray(part))
    np.testing.assert_array_equal(values(program(*arguments)), expected)
    ag.check_grad(program, *(each.data for each in arguments))


@pytest.mark.parametrize(
    "misuse",
    [
        lambda x: np.add.reduceat(x, [0, 1]),
        lambda x: np.multiply.at(x, 0, 2.0),
        lambda x: np.add.at(np.zeros(2), 0, x[0]),
        lambda x: np.subtract.reduce(x),
        lambda x: np.divide.accumulate(x),
        lambda x: np.hypot.reduce(x, axis=None),
        lambda x: np.add(x, x, where=[True, False]),
        lambda x: np.matmul(x, x, axes=[0, 0, ()]),
        lambda x: np.add(x, x, order="F"),
        lambda x: np.gcd.reduce(x),
    ],
)
def test_what_has_no_counterpart_is_an_error(xp, misuse):
    with pytest.raises(UnsupportedFunctionError):
        misuse(leaf(xp, [1.0, 2.0]))


# -- keywords ---------------------------------------------------------------------------------


def test_out_is_written_and_recorded(xp):
    x, y, out = leaf(xp, [1.0, 2.0]), leaf(xp, [3.0, 4.0]), xp.zeros(2)
    assert np.multiply(x, y, out=out) is out
    np.exp(out, out)
    xp.sum(out).backward()
    np.testing.assert_allclose(values(out), np.exp([3.0, 8.0]))
    np.testing.assert_allclose(values(x.grad), [3 * np.exp(3.0), 4 * np.exp(8.0)])


def test_out_through_a_view_reaches_the_base(xp):
    x, out = leaf(xp, [1.0, 2.0]), xp.zeros((2, 2))
    np.sin(x, out=out[1, ...])
    xp.sum(out * out).backward()
    np.testing.assert_allclose(values(out), [[0, 0], np.sin([1.0, 2.0])])
    np.testing.assert_allclose(values(x.grad), np.sin([2.0, 4.0]))


def test_out_is_as_wide_as_the_result_is_broadcast(xp):
    out = xp.zeros((2, 2))
    np.negative(leaf(xp, [1.0, 2.0]), out=out)
    np.testing.assert_array_equal(values(out), [[-1, -2], [-1, -2]])


def test_several_outs(xp):
    x, whole = leaf(xp, [1.5, -2.25]), xp.zeros(2)
    part, found = np.modf(x, out=(None, whole))
    assert found is whole
    np.testing.assert_array_equal(values(whole), [1, -2])
    np.testing.assert_array_equal(values(part), [0.5, -0.25])


def test_where_leaves_elements_and_their_gradients(xp):
    x, before = leaf(xp, [4.0, 0.0]), leaf(xp, [7.0, 7.0])
    out = before * 1.0
    np.divide(1.0, x, out=out, where=x != 0)
    xp.sum(out).backward()
    np.testing.assert_array_equal(values(out), [0.25, 7.0])
    np.testing.assert_array_equal(values(x.grad), [-0.0625, 0.0])
    np.testing.assert_array_equal(values(before.grad), [0.0, 1.0])


def test_dtype(xp):
    x = leaf(xp, [1.5, 2.5])
    found = np.add(x, x, dtype=np.float32, casting="same_kind")
    assert found.dtype == xp.float32
    assert found.requires_grad
    with pytest.raises(TypeError, match="same_kind"):
        np.add(x, x, dtype=int)
    assert values(np.add(x, x, dtype=int, casting="unsafe")).tolist() == [2, 4]


SINGLE, DOUBLE = np.ones(2, dtype=np.float32), np.ones(2)
CASTS = [
    (np.sin, (DOUBLE,), {}),
    (np.sin, (DOUBLE,), {"dtype": np.float32}),
    (np.sin, (SINGLE,), {"dtype": np.float64}),
    (np.sin, (np.ones(2, dtype=np.int64),), {}),
    (np.add, (SINGLE, DOUBLE), {}),
    (np.add, (SINGLE, 1.5), {}),
    (np.add, (SINGLE, True), {}),
    (np.add, (SINGLE, [1.5, 2.5]), {}),
    (np.matmul, (SINGLE, DOUBLE), {}),
    (np.add, (SINGLE, np.float64(2.0)), {}),
    (np.add, (np.ones(2, dtype=np.int64), 1.5), {}),
    (np.add, (np.ones(2, dtype=np.int64),) * 2, {"dtype": np.uint8}),
    (np.less, (SINGLE, DOUBLE), {}),
    (np.modf, (SINGLE,), {}),
    (np.concatenate, ([DOUBLE, DOUBLE],), {"dtype": np.float32}),
    (np.concatenate, ([SINGLE, DOUBLE],), {}),
    (np.stack, ([SINGLE, SINGLE],), {}),
    (np.einsum, ("i,i->i", SINGLE, DOUBLE), {}),
]


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe", "other", None])
def test_what_is_cast_is_what_numpy_casts(casting):
    def outcome(function, arguments, options):
        try:
            found = function(*arguments, **options, casting=casting)
        except (TypeError, ValueError) as error:
            return ValueError if isinstance(error, ValueError) else TypeError
        return (found[0] if isinstance(found, tuple) else found).dtype

    def tracked(value):
        if isinstance(value, list):
            return [tracked(each) for each in value]
        return ag.asarray(value, backend="numpy") if isinstance(value, np.ndarray) else value

    for function, arguments, options in CASTS:
        given = [tracked(each) for each in arguments]
        assert outcome(function, given, options) == outcome(function, arguments, options), function


def test_vecdot_takes_an_axis(xp):
    x = given(xp, A)
    np.testing.assert_allclose(values(np.vecdot(x, x, axis=0)), np.vecdot(A, A, axis=0))


# -- what loses no gradient -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ipow"])
def test_a_raw_array_is_never_written_with_what_is_tracked(name):
    raw, x = np.asarray([2.0, 3.0]), ag.Variable(np.asarray([1.5, 2.5]))
    with pytest.raises(LostGradientError, match=r"raw = raw \+ v"):
        getattr(operator, name)(raw, x)
    np.testing.assert_array_equal(raw, [2.0, 3.0])
    expected = getattr(operator, name)(raw.copy(), x.data)
    assert getattr(operator, name)(raw, x.detach()) is raw
    np.testing.assert_array_equal(raw, expected)


def test_under_no_grad_nothing_is_lost():
    raw, x = np.zeros(2), ag.Variable(np.asarray([1.5, 2.5]))
    with ag.no_grad():
        raw += x
    np.testing.assert_array_equal(raw, [1.5, 2.5])


def test_a_ufunc_of_the_same_name_is_another_one():
    def exp(x):
        return x + 1

    own = np.frompyfunc(exp, 1, 1)

    class Named:
        __name__ = "exp"

    x = ag.Variable(np.asarray([1.5]))
    for ufunc in (own, Named()):
        with pytest.raises(UnsupportedFunctionError, match=r"ag\.wrap"):
            type(x).__array_ufunc__(x, ufunc, "__call__", x)


class Answering:
    """An array of a library that has an answer of its own."""

    __array_ufunc__ = lambda self, *_, **__: "answer"  # noqa: E731


@pytest.mark.parametrize("name", ["add", "multiply", "hypot", "fmax", "matmul"])
def test_a_library_that_knows_variables_may_answer(xp, name):
    x = leaf(xp, [1.0, 2.0])
    assert NUMPY[name](x, Answering()) == "answer"
    assert NUMPY[name](x, Answering(), out=xp.zeros(2)) == "answer"


@pytest.mark.parametrize("name", ["add", "mul", "sub", "truediv"])
def test_masked_arrays_leave_their_operators_to_variables(name):
    x, masked = ag.Variable(np.asarray([1.5, 2.5])), np.ma.masked_array([1.0, 2.0])
    found = getattr(operator, name)(masked, x)
    assert found.requires_grad
    np.testing.assert_array_equal(values(found), getattr(operator, name)(masked, x.data))
    assert getattr(x, "__array_ufunc__", None) is None


class Compiled:
    """A function that looks for the protocol as those that are compiled by Numba do."""

    nin, nout = 1, 1

    def __call__(self, *args):
        for each in args:
            if hasattr(type(each), "__array_ufunc__"):
                return each.__array_ufunc__(self, "__call__", *args)
        return None


def test_a_compiled_function_is_told_what_to_do():
    x = ag.Variable(np.asarray([1.5]))
    with pytest.raises(AttributeError, match=r"numba.vectorize.*ag\.wrap"):
        Compiled()(x)
    with pytest.raises(UnsupportedFunctionError, match=r"ufunc 'Compiled'.*ag\.wrap"):
        type(x).__array_ufunc__(x, Compiled(), "__call__", x)


def test_what_is_no_array_is_refused():
    x = ag.Variable(np.asarray([1.5]))
    for other in ("text", object(), None):
        with pytest.raises(TypeError):
            np.add(x, other)
