"""What clients need of a namespace's functions: points 5 to 9 of docs/protocol.md, in order."""

import importlib
import operator

import numpy as np
import pytest

import agnograd as ag
from agnograd._plugins.op_sets import op_sets
from agnograd.extend import hookimpl
from arrays import leaf, outcome, values

B = np.asarray([[1.0, 2.0, -3.0], [0.5, -1.5, 2.5], [2.0, 0.25, 1.0]])


def without_newaxis(key):
    """Return a key for a write: the standard allows no new axes there."""
    return tuple(part for part in key if part is not None) if isinstance(key, tuple) else key


KEYS = {
    "integers": lambda w: (w(1), w(-1)),
    "bounds": lambda w: (slice(w(0), w(2)), slice(w(1), None)),
    "step": lambda w: (slice(None), slice(None, None, w(-1))),
    "mask": lambda w: w([[True, False, True], [False] * 3, [True, True, False]]),
    "mask in a tuple": lambda w: (w([[True] * 3, [False] * 3, [True] * 3]),),
    "integer arrays": lambda w: (w([0, 2, 2]), w([1, 0, 0])),
    "array and integer": lambda w: (w([0, 2]), w(1)),
    "new axis and bounds": lambda w: (None, slice(w(1), w(3)), ...),
}
# Beyond the standard, which has integer arrays with integers and nothing else.
WIDER_KEYS = {
    "array and slice": lambda w: (slice(None), w([2, 0, 2])),
    "ellipsis and array": lambda w: (..., w([1, 1])),
    "ellipsis and integer": lambda w: (..., w(0)),
    "mask of rows": lambda w: (w([True, False, True]), slice(None)),
}
# Beyond the standard, too, in writes: point 14 is about them.
READ_KEYS = ["integers", "integer arrays", "array and integer"]
CASES = [(name, key) for name in ("numpy", "strict") for key in KEYS] + [
    ("numpy", key) for key in WIDER_KEYS
]
WRITE_CASES = [(name, key) for name, key in CASES if name == "numpy" or key not in READ_KEYS]
KEYS |= WIDER_KEYS


@pytest.mark.parametrize(("backend", "key"), CASES, indirect=["backend"])
def test_05_keys_are_unwrapped_and_their_gradients_right(xp, key):
    make = KEYS[key]
    x, key = leaf(xp, B.tolist()), make(np.asarray)
    found = x[make(xp.asarray)]
    np.testing.assert_array_equal(values(found), B[key])
    xp.sum(found * found).backward()
    expected = np.zeros_like(B)
    np.add.at(expected, key, 2 * B[key])
    np.testing.assert_array_equal(values(x.grad), expected)


@pytest.mark.parametrize(("backend", "key"), WRITE_CASES, indirect=["backend"])
def test_05_keys_of_writes_are_unwrapped(xp, key):
    make = KEYS[key]
    x, v, key = leaf(xp, B.tolist()), leaf(xp, 7.0), without_newaxis(make(np.asarray))
    y = x * 1.0
    y[without_newaxis(make(xp.asarray))] = v
    expected, weights = B.copy(), np.ones_like(B)
    expected[key], weights[key] = 7.0, 0.0
    np.testing.assert_array_equal(values(y), expected)
    xp.sum(y).backward()
    np.testing.assert_array_equal(values(x.grad), weights)
    assert v.grad.item() == 9.0 - weights.sum()


def test_05_a_write_to_bounds_that_are_variables_counts_once(xp):
    x, low, high = leaf(xp, [1.0, 2.0, 3.0]), xp.asarray(1), xp.asarray(3)
    y = x * 1.0
    y[low:high] += x[0]
    np.testing.assert_array_equal(values(y), [1.0, 3.0, 4.0])
    xp.sum(y).backward()
    np.testing.assert_array_equal(values(x.grad), [3.0, 1.0, 1.0])


def test_05_sorter_is_unwrapped(xp):
    x, order = xp.asarray([3.0, 1.0, 2.0]), xp.asarray([1, 2, 0])
    found = xp.searchsorted(x, xp.asarray([2.5, 0.5]), sorter=order)
    np.testing.assert_array_equal(values(found), [2, 0])


def test_05_prepend_and_append_are_unwrapped_and_differentiable(xp):
    x, before, after = (leaf(xp, each) for each in ([1.0, 4.0], [0.5], [9.0]))
    found = xp.diff(x, prepend=before, append=after)
    np.testing.assert_array_equal(values(found), [0.5, 3.0, 5.0])
    xp.sum(found * xp.asarray([1.0, 10.0, 100.0], dtype=xp.float64)).backward()
    np.testing.assert_array_equal(values(x.grad), [1.0 - 10.0, 10.0 - 100.0])
    assert (before.grad[0].item(), after.grad[0].item()) == (-1.0, 100.0)


def test_05_other_arrays_in_keywords_are_unwrapped(xp):
    x, low, high = leaf(xp, [1.0, 4.0, 9.0]), leaf(xp, 2.0), leaf(xp, 5.0)
    xp.sum(xp.clip(x, min=low, max=high)).backward()
    np.testing.assert_array_equal(values(x.grad), [0.0, 1.0, 0.0])
    assert (low.grad.item(), high.grad.item()) == (1.0, 1.0)
    assert xp.repeat(x, xp.asarray([0, 2, 1])).shape == (3,)


@pytest.mark.parametrize("one", [1.0, 1, True], ids=repr)
def test_05_asarray_of_nested_variables_is_differentiable(xp, one):
    a, b = leaf(xp, 2.0), leaf(xp, 3.0)
    matrix = xp.asarray([[a, b], (a * b, one)])
    np.testing.assert_array_equal(values(matrix), [[2.0, 3.0], [6.0, 1.0]])
    assert matrix.dtype == xp.float64
    xp.sum(matrix).backward()
    assert (a.grad.item(), b.grad.item()) == (4.0, 3.0)


@pytest.mark.parametrize("name", ["float32", "int64", "bool"])
def test_05_asarray_of_nested_variables_keeps_their_dtype(xp, name):
    one = xp.asarray(1, dtype=getattr(xp, name))
    assert xp.asarray([[one, one], [one, one]]).dtype == one.dtype
    assert xp.asarray((one, one), dtype=xp.float64).dtype == xp.float64


def test_05_asarray_of_a_list_refuses_to_share_memory(xp):
    with pytest.raises(ValueError, match=r".+"):
        xp.asarray([leaf(xp, 1.0)], copy=False)


@pytest.mark.parametrize("copy", [None, False])
def test_06_asarray_gives_the_variable_itself(xp, copy):
    x = leaf(xp, [1.0, 2.0])
    view = x[:1]
    for each in (x, x.detach(), view):
        assert xp.asarray(each, copy=copy) is each
        assert xp.asarray(each, dtype=each.dtype, device=each.device, copy=copy) is each
    xp.sum(xp.asarray(x, copy=copy) * 3.0).backward()
    np.testing.assert_array_equal(values(x.grad), 3.0)


def test_06_without_a_copy_writes_show_in_both(xp):
    x = leaf(xp, [1.0, 2.0]) * 1.0
    y = xp.asarray(x, copy=False)
    y[0] = 5.0
    x[1] = 6.0
    np.testing.assert_array_equal(values(x), [5.0, 6.0])
    np.testing.assert_array_equal(values(y), [5.0, 6.0])


def test_06_with_a_copy_writes_show_in_neither(xp):
    x = leaf(xp, [1.0, 2.0])
    y = xp.asarray(x, copy=True)
    y[0] = 5.0
    x[1] = 6.0
    np.testing.assert_array_equal(values(x), [1.0, 6.0])
    np.testing.assert_array_equal(values(y), [5.0, 2.0])


def test_06_a_copy_is_still_connected(xp):
    x = leaf(xp, [1.0, 2.0])
    for copy in (xp.asarray(x, copy=True), xp.asarray(x, dtype=xp.float32, copy=True)):
        assert copy is not x
        xp.sum(copy).backward()
    np.testing.assert_array_equal(values(x.grad), 2.0)


def test_06_another_dtype_is_connected_and_no_view(xp):
    x = leaf(xp, [1.0, 2.0])
    y = xp.asarray(x, dtype=xp.float32)
    xp.sum(y * y).backward()
    np.testing.assert_array_equal(values(x.grad), [2.0, 4.0])
    assert x.grad.dtype == xp.float64
    with pytest.raises(ValueError, match="copy"):
        xp.asarray(x, dtype=xp.float32, copy=False)


class Recorder:
    """Note what operators get."""

    @hookimpl
    def forward_preprocess(self, inputs):
        self.inputs = inputs


CALLS = {
    "forward": lambda xp, x, scalar: x == scalar,
    "reflected": lambda xp, x, scalar: scalar == x,
    "function": lambda xp, x, scalar: xp.equal(x, scalar),
    "reflected function": lambda xp, x, scalar: xp.not_equal(scalar, x),
    "arithmetic": lambda xp, x, scalar: scalar & x if scalar is True else scalar - x,
    "in place": lambda xp, x, scalar: x.__iand__(scalar) if scalar is True else x.__imul__(scalar),
}
SCALARS = {"bool": True, "int8": 3, "float32": 2.5, "complex64": 1 + 2j}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("dtype", SCALARS)
def test_07_python_scalars_reach_the_library_untouched(xp, call, dtype):
    x = xp.ones(2, dtype=getattr(xp, dtype))
    with ag.hooks(Recorder()) as (recorder,):
        call(xp, x, SCALARS[dtype])
    assert any(each is SCALARS[dtype] for each in recorder.inputs)


DTYPES = ["bool", "int8", "int64", "uint8", "float32", "float64", "complex64", "complex128"]
OPERATORS = ["add", "and_", "eq", "floordiv", "ge", "gt", "le", "lshift", "lt", "matmul", "mod"]
OPERATORS += ["mul", "ne", "or_", "pow", "rshift", "sub", "truediv", "xor"]


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (2,)], ids=str)
def test_07_python_scalars_promote_as_with_raw_arrays(xp, library, name, dtype, shape):
    function = getattr(operator, name)
    raw = library.full(shape, True, dtype=library.bool)
    raw = library.astype(raw, getattr(library, dtype))
    x = xp.asarray(raw)
    for scalar in (True, 3, 300, -1, 2.5, 1 + 2j):
        assert outcome(function, x, scalar) == outcome(function, raw, scalar)
        assert outcome(function, scalar, x) == outcome(function, scalar, raw)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
def test_07_numpys_float64_is_no_python_float(dtype):
    xp = ag.namespace("numpy")
    x = xp.ones(2, dtype=getattr(xp, dtype))
    scalar = np.float64(2.0)
    assert outcome(operator.mul, x, scalar) == outcome(operator.mul, x.data, scalar)
    assert outcome(operator.mul, scalar, x) == outcome(operator.mul, scalar, x.data)


@pytest.mark.parametrize("scalar", [np.float64(2.0), np.float32(2.0), np.int64(2)], ids=repr)
@pytest.mark.parametrize("swap", [False, True])
def test_07_numpy_scalars_are_operands(xp, scalar, swap):
    x = leaf(xp, [1.0, 2.0])
    for result in (scalar * x if swap else x * scalar, xp.multiply(x, scalar)):
        assert isinstance(result, ag.Variable)
        assert result.dtype == xp.float64
        xp.sum(result).backward()
    np.testing.assert_array_equal(values(x.grad), 4.0)


def test_07_what_finfo_says_is_an_operand(xp):
    x = leaf(xp, [1.0, 2.0])
    result = x * xp.finfo(x.dtype).eps + xp.finfo(x).max * (x - x)
    np.testing.assert_array_equal(values(result), [2.0**-52, 2.0**-51])


# Functions that have no samples, by the kinds of their arguments.
UNSAMPLED = {
    "b": ["all", "any", "logical_not"],
    "bb": ["logical_and", "logical_or", "logical_xor"],
    "f": ["argmax", "argmin", "asarray", "count_nonzero", "from_dlpack", "signbit"],
    "ff": ["equal", "greater", "greater_equal", "less", "less_equal", "not_equal"],
    "i": ["bitwise_invert"],
    "ii": [f"bitwise_{name}" for name in ("and", "left_shift", "or", "right_shift", "xor")]
    + ["isin"],
    "m": ["linalg.matrix_rank"],
    "n": ["eye", "fft.fftfreq", "fft.rfftfreq"],
    "s": ["empty", "ones", "zeros"],
    "v": ["argsort", "nonzero"],
    "vv": ["searchsorted"],
}
UNSAMPLED["f"] += ["empty_like", "isfinite", "isinf", "isnan", "ones_like", "zeros_like"]
UNSAMPLED = {name: kinds for kinds, names in UNSAMPLED.items() for name in names}
# As SciPy's, they tell of errors, and of how often they called a function.
TELLING = {"integrate.quad", "integrate.solve_ivp", "linalg.cho_factor"}
NO_ARRAYS = {"broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "result_type"}
SAMPLES = [
    sample
    for _, op_set in op_sets()
    if op_set.samples is not None
    for sample in importlib.import_module(op_set.samples).samples
]


def as_variables(value, library):
    if isinstance(value, list | tuple):
        return type(value)(as_variables(each, library) for each in value)
    return ag.Variable(value) if isinstance(value, type(library.empty(0))) else value


def assert_all_variables(result, library, what, telling=False):
    for each in result if isinstance(result, list | tuple) else (result,):
        if telling and type(each) in (int, float, bool, str, type(None)):
            continue
        assert isinstance(each, ag.Variable), what
        assert type(each.data) is type(library.empty(0)), what


def test_07_every_function_is_tested_for_leaks():
    tested = {sample.op for sample in SAMPLES} | set(UNSAMPLED) | NO_ARRAYS
    standard = {name for name, op in ag.ops().items() if op.status != "missing"}
    assert standard <= tested


def test_07_results_of_samples_are_variables(xp, library, backend):
    for sample in SAMPLES:
        if sample.backends and backend not in sample.backends:
            continue
        function = operator.attrgetter(sample.op)(xp)
        for wrap in (lambda value, _: value, as_variables):
            args, kwargs = sample.make(library)
            args = [wrap(each, library) for each in args]
            if sample.before:
                args[0] = sample.before(xp.asarray(args[0]), xp)
            kwargs = {name: wrap(each, library) for name, each in kwargs.items()}
            result = function(*args, **kwargs)
            if sample.after and not isinstance(result, (list, tuple, ag.Variable)):
                result = sample.after(result, xp)  # of an object
            assert_all_variables(result, library, sample, telling=sample.op in TELLING)


@pytest.mark.parametrize("name", UNSAMPLED)
def test_07_results_of_other_functions_are_variables(xp, library, name):
    given = {
        "b": xp.asarray(True),
        "f": xp.asarray(2.0),
        "i": xp.asarray(2),
        "m": xp.asarray([[1.0, 0.0], [0.0, 2.0]]),
        "n": 4,
        "s": (),
        "v": xp.asarray([1.0, 2.0]),
    }
    args = [given[kind] for kind in UNSAMPLED[name]]
    assert_all_variables(operator.attrgetter(name)(xp)(*args), library, name)


FAILURES = {
    "index": (IndexError, lambda m, x, i: x[5, 0]),
    "negative index": (IndexError, lambda m, x, i: x[0, -9]),
    "too many indices": (IndexError, lambda m, x, i: x[0, 0, 0]),
    "index of a write": (IndexError, lambda m, x, i: operator.setitem(x, (5, 0), 1.0)),
    "reshape": (ValueError, lambda m, x, i: m.reshape(x, (4,))),
    "concat": (ValueError, lambda m, x, i: m.concat([x, m.reshape(x, (3, 2))])),
    "axis": (ValueError, lambda m, x, i: m.sum(x, axis=7)),
    "broadcast": (ValueError, lambda m, x, i: x + m.reshape(x, (3, 2))),
    "written shape": (ValueError, lambda m, x, i: operator.setitem(x, ..., m.ones((4, 5)))),
    "singular": (ValueError, lambda m, x, i: m.linalg.inv(m.zeros((2, 2)))),
    "scalar out of bounds": (OverflowError, lambda m, x, i: i + 300),
    "int of infinity": (OverflowError, lambda m, x, i: int(m.asarray(m.inf))),
    "missing argument": (TypeError, lambda m, x, i: m.sin()),
    "unknown argument": (TypeError, lambda m, x, i: m.sum(x, nothing=1)),
    "bits of floats": (TypeError, lambda m, x, i: x & x),
    "int of many": (TypeError, lambda m, x, i: int(x)),
    "a float as an index": (TypeError, lambda m, x, i: operator.index(x)),
}


@pytest.mark.parametrize(("expected", "call"), FAILURES.values(), ids=FAILURES)
def test_08_exceptions_keep_their_types(xp, library, expected, call):
    x, i = leaf(xp, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), xp.ones(2, dtype=xp.int8)
    seen = set()
    for given in ((library, x.data, i.data), (xp, x.detach(), i), (xp, x, i)):
        with pytest.raises(expected) as error:
            call(*given)
        seen.add(error.type)
    assert len(seen) == 1


@pytest.mark.parametrize("name", ["special", "pad", "median", "quantile", "einsum", "nothing"])
def test_09_clients_can_probe_for_names_beyond_the_standard(xp, name):
    for found in (xp, xp.linalg, xp.fft, ag, xp.ones(1)):
        present = name in dir(found)
        assert hasattr(found, name) is present
        assert (getattr(found, name, None) is not None) is present


def test_09_an_absent_name_says_what_is_missing_where(xp):
    with pytest.raises(AttributeError, match=rf"{xp.__name__}.*'nothing'"):
        _ = xp.nothing
    with pytest.raises(AttributeError, match="nothing"):
        _ = ag.nothing
    with pytest.raises(AttributeError, match="nothing"):
        _ = xp.ones(1).nothing
