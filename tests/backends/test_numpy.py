"""The NumPy backend: its namespace is array-api-compat's, without what it takes to import that."""

import math
import os
import platform
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter

import array_api_compat.numpy as compat
import numpy as np
import pytest

import agnograd as ag
from agnograd._plugins.op_sets import registered_in
from agnograd.errors import UnsupportedArrayError
from agnograd.extend import Deferred
from agnograd_numpy import NumpyBackend, _library, _triangular

# NumPy's own take what the standard says, and array-api-compat calls them, or does the same.
OWN = {
    *("arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "linspace"),
    *("ones", "ones_like", "zeros", "zeros_like"),
    *("ceil", "cumulative_prod", "cumulative_sum", "floor", "nonzero", "std", "tensordot"),
    *("trunc", "var"),
}


def test_each_function_is_the_one_of_array_api_compat():
    names = [name for name in registered_in("") if hasattr(compat, name) and name[0] != "_"]
    assert len(names) > 120
    for name in names:
        own = getattr(_library, name)
        if isinstance(own, Deferred):
            assert own.loaded() is getattr(compat, name) is not getattr(np, name, None)
        elif name in OWN:
            assert own is getattr(np, name)
        else:
            assert own is getattr(compat, name), name


def test_it_claims_no_more_than_array_api_compat():
    assert _library.__array_api_version__ <= compat.__array_api_version__
    assert _library.__array_namespace_info__().default_device() == "cpu"
    assert set(dir(_library)) >= {"linalg", "fft", "sort", "sin"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = _library.nothing
    with pytest.raises(AttributeError, match="no attribute '__wrapped__'"):
        _ = _library.__wrapped__


def test_an_ordinary_program_does_not_import_what_it_does_not_use():
    code = (
        "import sys, agnograd as ag; xp = ag.namespace(); x = ag.Variable([1.0, 2.0]);"
        "print(ag.grad(lambda x: xp.sum(xp.sin(x) * xp.asarray([2.0, 3.0])))(x.data));"
        "wanted = {'array_api_compat.numpy', 'scipy', 'agnograd.bridge', 'agnograd.testing._check',"
        "'agnograd_special.gamma', 'agnograd_nn.conv'};"
        "assert not wanted & set(sys.modules), wanted & set(sys.modules);"
        "xp.sort(x); assert 'array_api_compat.numpy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_deferred_functions_are_called_directly_once_they_are_there():
    xp = ag.namespace("numpy")
    xp.sort(xp.ones(2))
    assert xp.sort.__globals__["_kernel"] is compat.sort


KERNELS = NumpyBackend().kernels()


def seen(function, *args, **options):
    """Return what can be compared of what a function gives, or that it raises an error."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            out = function(*args, **options)
    except (AttributeError, TypeError, ValueError, OverflowError):
        return "an error"
    return type(out), getattr(out, "dtype", None), repr(out)


NUMBERS = [-2.5, -0.0, 0.3, 2.5, np.inf, np.nan]
ARRAYS = [
    *(np.asarray(NUMBERS, dtype=dtype) for dtype in ("float16", "float32", "float64", ">f8")),
    *(np.float32(0.7), np.asarray(-0.3), np.ones((0, 2)), np.asarray([[3, -4], [0, 1]])),
    *(np.asarray([1 + 1j, 0, -2j, np.inf]), np.complex64(1j), np.uint8([0, 200]), np.asarray(True)),
]
BOUNDS = [
    (0.0, 1.0),
    (None, 1),
    (0, None),
    (None, None),
    (1.0, 0.0),
    (np.nan, 1.0),
    (-1e300, 1e300),
]
OTHERS = [(True, 2), (np.float64(0.1), None), (np.zeros((2, 1)), np.ones(1)), ([0.5], 2)]


@pytest.mark.parametrize("x", ARRAYS, ids=repr)
def test_kernels_give_what_array_api_compat_gives(x):
    for bounds in BOUNDS + OTHERS:
        assert seen(KERNELS["clip"], x, *bounds) == seen(compat.clip, x, *bounds), bounds
    assert seen(KERNELS["sign"], x) == seen(compat.sign, x)
    for options in ({}, {"copy": False}, {"device": "cpu"}, {"device": "gpu"}):
        wanted = seen(compat.astype, x, np.float32, **options)
        assert seen(KERNELS["astype"], x, np.float32, **options) == wanted
    assert (KERNELS["astype"](x, x.dtype, copy=False) is x) == (type(x) is np.ndarray)
    for name in ("finfo", "iinfo"):
        for given in (x, x.dtype, x.dtype.type):
            assert seen(KERNELS[name], given) == seen(getattr(compat, name), given)


@pytest.mark.parametrize("name", ["cumulative_prod", "cumulative_sum", "std", "var", "floor"])
def test_numpys_own_functions_give_what_array_api_compat_gives(name):
    options = [{}]
    if name in ("std", "var"):
        options += [{"axis": 0}, {"correction": 1}, {"axis": -1, "keepdims": True}, {"axis": 4}]
    elif name != "floor":
        options = [
            {"axis": 0},
            {"axis": -1, "include_initial": True},
            {"dtype": np.float32},
            {"axis": 4},
        ]
    for x in (each for each in ARRAYS if each.shape):
        for each in options:
            wanted = seen(getattr(compat, name), x, **each)
            assert seen(getattr(_library, name), x, **each) == wanted, (x, each)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((64, 64), (64, 3)),
        ((65, 65), (65, 1)),
        ((200, 200), (200, 200)),
        ((131, 131), (131, 0)),
        ((2, 1, 70, 70), (3, 70, 4)),
        ((2, 70, 70), (70, 4)),
        ((70, 70), (2, 70, 4)),
    ],
)
@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("scipy", [True, False])
def test_triangular_equations_are_solved(one, other, lower, dtype, layout, scipy, monkeypatch):
    if not scipy:  # as if it were not installed
        monkeypatch.setattr(_triangular, "_solvers", dict)
    rng = np.random.default_rng(0)
    x1 = (rng.standard_normal(one) / one[-1] + 2 * np.eye(one[-1])).astype(dtype)
    x2 = rng.standard_normal(other).astype(dtype)
    if np.dtype(dtype).kind == "c":
        x1, x2 = x1 * np.asarray(1 + 0.5j, dtype=dtype), x2 * np.asarray(1 - 2j, dtype=dtype)
    triangle = np.tril(x1) if lower else np.triu(x1)
    x1 = np.where(triangle == 0, np.nan, x1).astype(dtype)  # what is beyond it is not read
    x1, x2 = (np.copy(each, order=layout) for each in (x1, x2))
    found = KERNELS["linalg.solve_triangle"](x1, x2, lower=lower)
    wanted = compat.linalg.solve(triangle, x2)
    assert found.dtype == wanted.dtype
    tolerance = 64 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("kind", ["lower", "upper", "diagonal", "all", "one beyond"])
def test_adjoints_of_triangles_are_solved_as_triangles(kind, layout, dtype, monkeypatch):
    rng = np.random.default_rng(1)
    x1 = (rng.standard_normal((70, 70)) / 70 + 2 * np.eye(70)).astype(dtype)
    x1 = x1 * np.asarray(1 + 0.5j if np.dtype(dtype).kind == "c" else 1.0, dtype)
    cut = {"lower": np.tril, "upper": np.triu, "one beyond": np.tril}
    x1 = cut.get(kind, lambda x: x * np.eye(70) if kind == "diagonal" else x)(x1).astype(dtype)
    if kind == "one beyond":
        x1[30, 31] = 0.25
    x1, x2 = np.copy(x1, order=layout), rng.standard_normal((70, 2)).astype(dtype)
    wanted = compat.linalg.solve(np.conj(x1.mT), x2)
    triangles = []
    solve = _triangular.solve
    monkeypatch.setattr(
        _triangular, "solve", lambda *given: triangles.append(given) or solve(*given)
    )
    found = KERNELS["linalg.solve_adjoint"](x1, x2)
    assert len(triangles) == (kind in ("lower", "upper", "diagonal"))
    assert found.dtype == wanted.dtype
    tolerance = 64 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    if kind == "lower":
        x1[40, 40] = 0.0
        assert np.isnan(KERNELS["linalg.solve_adjoint"](x1, x2)).all()


@pytest.mark.parametrize("scipy", [True, False])
def test_a_singular_triangle_is_an_error(scipy, monkeypatch):
    if not scipy:
        monkeypatch.setattr(_triangular, "_solvers", dict)
    x = np.eye(200)
    x[150, 150] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        KERNELS["linalg.solve_triangle"](x, x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32", "float64", "complex64", "float16"])
@pytest.mark.parametrize("one", [(2,), (2, 2), (3, 2), (0, 2), (3, 1, 2)])
@pytest.mark.parametrize("other", [(2,), (2, 2), (2, 4), (2, 0), (3, 2, 2)])
def test_a_product_is_that_of_numpy_for_any_number_of_axes(one, other, dtype):
    x1 = (np.arange(math.prod(one)).reshape(one) - 1).astype(dtype)
    x2 = (np.arange(math.prod(other)).reshape(other) - 1).astype("float32")
    found, wanted = KERNELS["matmul"](x1, x2), np.matmul(x1, x2)
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    assert (found == wanted).all()
    if len(one) > 1:  # by its own transpose, for which BLAS has a function
        assert (KERNELS["matmul"](x1, x1.mT) == np.matmul(x1, x1.mT)).all()


def test_a_product_takes_what_numpy_takes():
    matmul, x = KERNELS["matmul"], ag.Variable([[1.0, 2.0], [3.0, 4.0]])
    assert (x @ [[1.0], [2.0]]).data.tolist() == [[5.0], [11.0]]
    assert type(matmul(np.ma.ones((2, 2)), np.ma.ones((2, 2)))) is type(np.ma.ones(1))
    with pytest.raises(ValueError, match=r"shapes \(2,2\) and \(3,1\) not aligned"):
        x @ np.ones((3, 1))
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        x @ 2.0


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (0, 4), (64, 64), (2, 1, 2000)])
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64", "bool"])
def test_one_element_in_another_shape(shape, dtype):
    for one in (np.ones((), dtype), np.ones((), dtype)[()]):
        found = KERNELS["broadcast_to"](one, shape)
        assert found.shape == shape
        assert found.dtype == dtype
        assert (found == 1).all()


def test_one_element_in_a_huge_shape_has_no_memory_of_its_own():
    found = KERNELS["broadcast_to"](np.float64(2.0), (10**6, 10**6))
    assert found.strides == (0, 0)
    assert not found.flags.writeable


# What has a derivative of NumPy's own, and the shapes that it is called with.
PULLED = {
    "tanh": [((),), ((3,),), ((2, 0),), ((2, 3),)],
    "sum": [((),), ((3,),), ((2, 0),), ((2, 3),), ((2, 1, 2000),)],
    "mean": [((),), ((3,),), ((2, 0),), ((2, 3),), ((2, 1, 2000),)],
    "linalg.vector_norm": [((),), ((3,),), ((2, 0),), ((2, 3),)],
    "matmul": [
        *[((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((0, 3), (3, 2))],
        *[((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4))],
        *[((5, 2, 3), (3,)), ((3,), (5, 3, 4))],  # whose products are matrices
    ],
}
PULLED["linalg.matmul"] = PULLED["matmul"]
PULLED["max"] = PULLED["min"] = [((),), ((3,),), ((2, 3),)]
PULLED["maximum"] = PULLED["minimum"] = [((), (3,)), ((2, 3), (2, 3)), ((2, 3), (3,))]


def test_all_derivatives_of_its_own_are_compared_with_rules():
    assert set(NumpyBackend().pullbacks()) == set(PULLED)


MIXED = {"two precisions": ("float64", "float32"), "real and complex": ("float64", "complex128")}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", *MIXED])
@pytest.mark.parametrize(("name", "shapes"), [(n, s) for n, each in PULLED.items() for s in each])
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_derivatives_of_its_own_are_those_of_the_rules(name, shapes, dtype):
    xp = ag.namespace("numpy")
    rng = np.random.default_rng(0)

    def made(shape, dtype):
        imaginary = 1j * rng.standard_normal(shape) if dtype.startswith("complex") else 0.0
        return np.asarray(rng.standard_normal(shape) + imaginary, dtype)

    dtypes = MIXED.get(dtype, (dtype, dtype))
    arrays = [made(*pair) for pair in zip(shapes, dtypes, strict=False)]
    x = [ag.Variable(each) for each in arrays]
    out = attrgetter(name)(xp)(*x)
    g = made(out.shape, str(out.dtype))
    before = [each.copy() for each in (*arrays, out.data, g)]
    found = ag.autodiff.grad(out, x, g, retain_graph=True)
    for each, was in zip((*arrays, out.data, g), before, strict=True):
        np.testing.assert_array_equal(each, was)
    by_rules = ag.autodiff.grad(out, x, g, create_graph=True)  # which no derivative of its own can
    for own, rule, array in zip(found, by_rules, arrays, strict=True):
        assert own.dtype == rule.dtype == array.dtype
        tolerance = 1e-2 if dtype == "float16" else 1e-5
        np.testing.assert_allclose(own.data, rule.data, rtol=tolerance, atol=tolerance)
        assert own.data.flags.writeable


def test_derivatives_of_its_own_leave_what_is_unusual_to_the_rules():
    own = NumpyBackend().pullbacks()
    x, half = np.ones((2, 2)), np.ones((2, 2), np.float16)
    for name, usual, unusual in (
        ("tanh", (x, x), (half, half)),
        ("sum", (x[0, 0], x.shape, x.dtype), (x[0], x.shape, x.dtype)),
        ("mean", (x[0, 0], x.shape, x.dtype), (x[0, 0], x.shape, half.dtype)),
    ):
        assert own[name]["x"](*usual) is not NotImplemented
        assert own[name]["x"](*unusual) is NotImplemented
    single = x.astype(np.float32)
    assert own["tanh"]["x"](single, single).dtype == np.float32
    for product in own["matmul"].values():
        assert product(x, x, x.dtype) is not NotImplemented
        assert product(single, single, single.dtype).dtype == np.float32
        assert product(x[0], x, x.dtype) is product(x, x, half.dtype) is NotImplemented


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("name", ["max", "mean", "min", "sum"])
def test_derivatives_of_reductions_along_axes_are_those_of_the_rules(name, axis, keepdims):
    xp, rng = ag.namespace("numpy"), np.random.default_rng(0)
    x = ag.Variable(rng.standard_normal((2, 3, 4)))
    out = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
    g = rng.standard_normal(out.shape)
    (own,) = ag.autodiff.grad(out, x, g, retain_graph=True)
    (rule,) = ag.autodiff.grad(out, x, g, create_graph=True)
    np.testing.assert_allclose(own.data, rule.data, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("row", [[3.0, 1.0, 1.0], [3.0, 3.0, 1.0], [math.nan, 3.0, 1.0]])
@pytest.mark.filterwarnings("ignore:.*invalid value", "ignore:.*divide by zero")
def test_ties_and_nan_have_the_derivatives_of_the_rules(row, dtype):
    xp, rng = ag.namespace("numpy"), np.random.default_rng(0)
    array = np.asarray([row, [1.0, 1.0, 0.0], [-1.0, 2.0, 0.0]], dtype)
    x, y = ag.Variable(array), ag.Variable(np.round(array / 2) * 2)
    for name in ("max", "min", "maximum", "minimum"):
        pairs = name.startswith(("maxi", "mini"))
        inputs = (x, y) if pairs else (x,)
        for options in [{}] if pairs else [{}, {"axis": 1}, {"axis": 0, "keepdims": True}]:
            out = getattr(xp, name)(*inputs, **options)
            g = rng.standard_normal(out.shape).astype(dtype)
            own = ag.autodiff.grad(out, inputs, g, retain_graph=True)
            by_rules = ag.autodiff.grad(out, inputs, g, create_graph=True)
            for found, expected in zip(own, by_rules, strict=True):
                assert found.dtype == expected.dtype == out.dtype
                np.testing.assert_allclose(found.data, expected.data, rtol=1e-6)


def test_gradients_are_of_native_byte_order():
    array = np.asarray([1.0, 2.0], dtype=np.dtype(float).newbyteorder())
    with pytest.raises(UnsupportedArrayError, match="native byte order"):
        ag.Variable(array, requires_grad=True)
    with pytest.raises(UnsupportedArrayError, match="native byte order"):
        ag.grad(lambda x: (x * x).sum())(array)
    assert not ag.Variable(array).requires_grad
    x = ag.Variable([3.0, 4.0])  # beside which it is a constant as any other
    (x * array).sum().backward()
    assert x.grad.data.tolist() == [1.0, 2.0]


def test_gradients_are_of_extended_precision_where_the_array_is():
    xp = ag.namespace("numpy")
    array = np.asarray([1.0, 2.0], dtype=np.longdouble) / 3
    x = ag.Variable(array)
    xp.sum(xp.exp(x)).backward()
    assert x.grad.dtype == np.longdouble
    assert np.array_equal(x.grad.data, np.exp(array))
    z = ag.Variable(array + 1j * array)
    xp.sum(xp.abs(z * z)).backward()
    assert z.grad.dtype == np.clongdouble
    np.testing.assert_allclose(z.grad.data, 2 * z.data, rtol=4 * np.finfo(np.longdouble).eps)


def test_factors_of_extended_precision_leave_the_gradients_precision_to_the_array():
    xp = ag.namespace("numpy")
    x = ag.Variable([3.0, 4.0])
    xp.sum(x * np.asarray([1.0, 2.0], dtype=np.longdouble)).backward()
    assert x.grad.dtype == np.float64
    assert x.grad.data.tolist() == [1.0, 2.0]


MATRIX = np.ones((2, 2)).view(np.matrix)
MASKED = np.ma.masked_array([1.0, 2.0], [True, False])


@pytest.mark.parametrize(("other", "instead"), [(MATRIX, "asarray"), (MASKED, "filled")])
@pytest.mark.parametrize(
    "use",
    [
        ag.Variable,
        ag.grad(np.sum),
        lambda other: ag.Variable(np.ones(2)) * other,
        lambda other: other * ag.Variable(np.ones(2)),
        lambda other: np.add(ag.Variable(np.ones(2)), other),
        lambda other: ag.namespace("numpy").add(np.ones(2), other),
    ],
    ids=["variable", "argument", "right", "left", "ufunc", "namespace"],
)
def test_arrays_with_rules_of_their_own_are_refused(use, other, instead):
    with pytest.raises(UnsupportedArrayError, match=instead):
        use(other)


def test_a_masked_array_without_masked_elements_is_an_array():
    x = ag.Variable(np.ma.masked_array([1.0, 2.0]))
    y = x * np.ma.masked_array([3.0, 4.0])
    assert type(x.data) is type(y.data) is np.ndarray
    y.sum().backward()
    assert x.grad.data.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    "combine",
    [
        pytest.param(lambda x, o: x * o, id="x * o"),
        pytest.param(lambda x, o: o + x, id="o + x"),
        pytest.param(lambda x, o: ag.namespace("numpy").subtract(x, o), id="subtract"),
        pytest.param(lambda x, o: np.maximum(o, x), id="np.maximum"),
        pytest.param(lambda x, o: x**o, id="x ** o"),
    ],
)
def test_arrays_of_objects_say_that_they_are_to_be_converted(combine):
    xp, x = ag.namespace("numpy"), np.asarray([3.0, 4.0])
    objects = np.asarray([1.0, 2.0], dtype=object)
    with pytest.raises(UnsupportedArrayError, match=r"Python objects.*x.astype\(float\)"):
        ag.grad(lambda x: xp.sum(combine(x, objects)))(x)
    found = ag.grad(lambda x: xp.sum(combine(x, objects.astype(float))))(x)
    assert found.dtype == np.float64


FAULTS = """
import resource
import numpy as np
import agnograd as ag

xp = ag.namespace("numpy")
gradient = ag.grad(lambda x: xp.sum(xp.fft.irfft(xp.fft.rfft(x) * xp.fft.rfft(x))))
x = np.linspace(0.0, 1.0, 65536)
for rounds in (2, 10):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        gradient(x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries keep memory or not")
def test_the_memory_of_a_pass_is_there_for_the_next_one():
    usual = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-c", FAULTS], env=usual, check=True, capture_output=True, text=True
    )
    assert int(done.stdout) < 1000  # pages that the system cleared, otherwise 20,000


def test_views_may_share_memory_and_copies_do_not():
    x = np.arange(6.0).reshape(2, 3)
    backend = NumpyBackend()
    assert all(backend.may_share(x, view) for view in (x, x.T, x[1], x[..., None], x.reshape(-1)))
    assert not any(backend.may_share(x, other) for other in (x.copy(), x[0, 0], x + 1.0))
    assert not backend.may_share(x[0], x[1])


@pytest.mark.parametrize("name", ["matrix_transpose", "linalg.matrix_transpose"])
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_scalars_have_no_matrix_transpose(name, dtype):
    def swapped(x):
        return attrgetter(name)(ag.namespace("numpy"))(x * x)  # a scalar of NumPy

    for f in (swapped, ag.compile(swapped)):
        with pytest.raises(ValueError, match=r"2-dimensional|ndim < 2"):
            f(np.asarray(3, dtype))


POWERS = {
    "of a number": lambda x: 1.3**x,
    "to a number": lambda x: x**1.3,
    "to a half": lambda x: x**0.5,
    "to three": lambda x: x**3,
    "of two": lambda x: x ** (x * 0.7),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("f", POWERS.values(), ids=POWERS)
def test_powers_of_scalars_round_as_those_of_arrays(f, dtype):
    one, compiled = np.asarray(1, dtype), ag.compile(f)
    for value in np.random.default_rng(0).uniform(0.1, 3.0, 200).astype(dtype):
        x = ag.Variable(np.asarray(value))
        scalar = f(x * one)  # x * one is a scalar of NumPy
        assert scalar.data.tobytes() == f(x).data.tobytes() == compiled(value * one).tobytes()


@pytest.mark.parametrize("shape", [(5,), (1,), (0,), (3, 4), (2, 3, 4), (0, 3), ()], ids=str)
def test_rolls(shape):
    """They are NumPy's bit for bit, also compiled, and from arrays of other layouts."""
    xp, x = ag.namespace("numpy"), np.random.default_rng(0).random(shape)
    for array in (x, x.T, np.repeat(x, 2, axis=0)[::2] if shape else x):
        for shift in (-7, -1, 0, 1, 2, 9, (1, 2)):
            for axis in (None, 0, -1, 1, (0,), (0, 1)):
                try:
                    expected = np.roll(array, shift, axis)
                except (ValueError, np.exceptions.AxisError, TypeError) as error:
                    with pytest.raises(type(error)):
                        xp.roll(array, shift, axis=axis)
                    continue
                found = np.asarray(xp.roll(array, shift, axis=axis))
                assert (found.shape, found.tobytes()) == (expected.shape, expected.tobytes())
                compiled = ag.compile(lambda y, s=shift, a=axis: xp.roll(y, s, axis=a) + 0.0)
                assert np.asarray(compiled(array)).tobytes() == (expected + 0.0).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("over", ["warn", "raise", "ignore"])
def test_the_derivative_of_tanh_overflows_nowhere(dtype, over):
    """Whatever errstate the caller has, which stays as it is; and in several threads at once."""
    xp, large = ag.namespace("numpy"), np.finfo(dtype).max / 4
    x = np.asarray([[0.0, 20.0, -50.0, 400.0, -1e30, large, -np.inf, np.nan]], dtype)
    gradient = ag.grad(lambda x: xp.sum(xp.tanh(x)))
    compiled = ag.compile(gradient, lowering="numpy")
    expected = np.exp(-2 * np.abs(x)) * 4 / (1 + np.exp(-2 * np.abs(x))) ** 2

    def check(number: int) -> None:
        part = slice(1 + number % 8)  # in some numbers overflow, and in others they do not
        with np.errstate(over=over):
            for found in (gradient(x[:, part]), compiled(x[:, part])):
                rtol = 1e-5 if dtype == "float32" else 1e-14
                np.testing.assert_allclose(found, expected[:, part], rtol=rtol)
            assert np.geterr()["over"] == over

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(check, range(64)))


def test_a_derivative_of_tanh_that_overflows_leaves_a_compiled_run_as_it_was():
    """Its memory is planned, and written to before the overflow comes up."""
    xp = ag.namespace("numpy")
    gradient = ag.grad(lambda x: xp.sum(xp.sin(xp.tanh(xp.tanh(x * 2.0) * 3.0) * x)))
    compiled = ag.compile(gradient, lowering="numpy")
    x = np.random.default_rng(0).normal(size=(64, 64))
    for each in (x, x, np.where(x > 2.0, 1e300, x), x * 1e3, x):
        np.testing.assert_array_equal(compiled(each), gradient(each))
