"""Uniform arrays: numbers take their places where no bit changes, and only there."""

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._passes import uniform as module
from agnograd_compile._passes.uniform import uniform
from agnograd_compile._programs.program import Ref, declared
from traced import check, ops, raw, traced

XP = ag.namespace("numpy")
NAMES = ("uniform", "identities", "dead")
X = np.array([0.5, -0.0, 2.0])


def after(f, *arrays, names=NAMES, **settings):
    return check(traced("numpy", f, *arrays), *arrays, names=names, **settings)


def arguments(f, *arrays, **settings):
    return [step.args for step in after(f, *arrays, names=("uniform",), **settings).steps]


@pytest.mark.parametrize("backend", ["numpy", "strict", "torch"], indirect=True)
def test_constants_become_numbers(backend, xp):
    x, c = raw(backend, X), xp.asarray([2.5, 2.5, 2.5], dtype=xp.float64)

    def f(x):
        return (c * x - c) / c, c / (c - x), xp.maximum(x, c), xp.where(x > c, x, c), c + x < c

    made = check(traced(backend, f, x), x, names=NAMES, others=[[raw(backend, X * 3)]])
    assert all(made.facts[ref].shape == () for ref in made.constants)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (50, 60)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_beside_another_dtype_keeps_the_dtype_of_the_result(shape, dtype):
    def f(x):
        factor = XP.astype(XP.sin(XP.mean(x)), getattr(XP, dtype))
        return XP.sum(x * factor) * 0.1

    x = np.sin(np.arange(1.0, 1.0 + np.prod(shape))).reshape(shape)
    after(ag.grad(f), x, others=[[x * 0.7]], lowered=True)
    assert np.array_equal(ag.compile(ag.grad(f), lowering="numpy")(x), ag.grad(f)(x))


def test_products_with_ones_go():
    ones = np.ones(3)
    assert ops(after(lambda x: XP.sin(x) * ones, X)) == ["sin"]
    assert ops(after(lambda x: XP.sin(x) / ones, X)) == ["sin"]
    assert ops(after(lambda x: XP.sin(x) + np.zeros(3), X)) == ["sin", "add"]  # of -0.0


def test_zeros_keep_their_sign():
    for zero in (0.0, -0.0):
        c = np.full(3, zero)
        ((_, number),) = arguments(lambda x, c=c: x + c, X)
        assert str(number) == str(zero)
    mixed = np.array([0.0, -0.0, 0.0])
    ((_, kept),) = arguments(lambda x: x + mixed, X)
    assert type(kept) is Ref


def test_nan_is_left():
    ((_, kept),) = arguments(lambda x: x + np.full(3, np.nan), X)
    assert type(kept) is Ref


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8", "int64"])
def test_dtypes_are_kept(dtype):
    x = np.array([1, 2, 3]).astype(dtype)
    c = np.full(3, 3, dtype=dtype)
    (product, sum_) = arguments(lambda x: (x * c, x + c), x)
    assert product == sum_ == (product[0], 3)
    assert type(product[0]) is Ref


def test_other_dtypes_are_left():
    x, c = np.ones(3, dtype="float32"), np.full(3, 0.1)
    assert type(arguments(lambda x: x * c, x)[0][1]) is Ref
    z = np.ones(3) * 1j
    assert type(arguments(lambda z: z * c, z)[0][1]) is Ref
    for dtype in ("float16", "complex64", "bool"):
        d = np.ones(3, dtype=dtype)
        assert type(arguments(lambda x, d=d: x == d, d)[0][1]) is Ref


def test_a_number_that_spreads_needs_its_array():
    c = np.full((2, 3), 2.0)
    ((_, kept),) = arguments(lambda x: x * c, X)
    assert type(kept) is Ref


def test_strides_are_kept():
    c = np.full((2, 3), 2.0)
    columns = np.asfortranarray(np.ones((2, 3)))
    # The product is in rows, because of the constant.
    assert type(arguments(lambda x: x * c, columns)[0][1]) is Ref
    assert type(arguments(lambda x: c * x, np.ones((2, 6))[:, ::2])[0][0]) is float
    assert type(arguments(lambda x: c * x, np.ones((2, 3))[::-1])[0][0]) is Ref
    d = np.asfortranarray(c)
    assert type(arguments(lambda x: x * d, columns)[0][1]) is float


def test_powers_of_functions_that_are_not_rounded_correctly_are_left():
    c = np.full(3, 2.0)
    assert type(arguments(lambda x: XP.pow(x, c), X)[0][1]) is Ref
    assert type(arguments(lambda x: XP.atan2(x, c), X)[0][1]) is Ref


def test_what_spreads_one_element():
    def f(x, s):
        return XP.sin(x) * XP.broadcast_to(s, (3,)) + XP.reshape(XP.broadcast_to(s, (1, 3)), (3,))

    made = after(f, X, np.array(0.75), others=[[X, np.array(-2.0)]])
    assert ops(made) == ["sin", "multiply", "add"]
    assert made.steps[1].args[1] == made.steps[2].args[1] == made.inputs[1]


def test_what_is_known_of_arrays_that_only_numbers_made():
    c = np.full(3, 0.1)

    def f(x):
        return XP.sin(x) * (x**0 * c - 0.3) * XP.ones_like(x) + XP.full_like(x, 0.7)

    made = after(f, X, others=[[np.array([np.nan, np.inf, 0.0])]])
    assert ops(made) == ["sin", "multiply", "add"]
    assert made.steps[1].args[1] == 0.1 - 0.3
    assert not made.constants


def spread(x, s):
    return XP.broadcast_to(s, x.shape)


def test_what_uniform_arrays_make_is_computed_once():
    def f(x, s):
        g = spread(x, s)
        return XP.sin(x) * (g * 0.5 + g / 3.0 - (-g))

    made = after(f, X, np.array(0.75), others=[[X, np.array(-0.0)]])
    shapes = [made.facts[step.outs[0]].shape for step in made.steps]
    assert shapes.count((3,)) == 2  # the sine, and the product


def test_an_array_that_is_needed_in_full_is_made_of_one_number():
    def f(x, s):
        g = spread(x, s)
        return XP.cumulative_sum(XP.maximum(g * 0.5 + g, 0.25) * g)

    s = np.array(0.75)
    made = after(f, X, s, names=("uniform", "common", "identities", "dead"))
    assert ops(made)[-3:] == ["broadcast_to", "multiply", "cumulative_sum"]
    assert len([step for step in made.steps if made.facts[step.outs[0]].shape]) == 3
    matrix = np.ones((2, 3))
    after(f_columns, np.asfortranarray(matrix), s)
    after(f_columns, matrix, s)
    after(lambda x, s: spread(x, s) * 2.0, X, s)


def f_columns(x, s):
    g = spread(x, s)
    return XP.sum((g + x * 0.0) * (g * 2.0 + g), axis=0)


def test_values_of_two_dtypes_spread():
    single = np.array(0.1, dtype="float32")

    def f(x, s, t):
        g, h = spread(x, s), spread(x, t)
        return XP.exp(x) * (g * h + h) * (h + h)

    after(f, X, np.array(0.1), single)
    after(f, X.astype("float32"), np.array(0.1), single)


def test_long_chains_of_uniform_arrays_do_not_recurse():
    def f(x, s):
        g = spread(x, s)
        for _ in range(1500):
            g = g * 0.999
        return x * g

    made = after(f, X, np.array(0.75))
    assert [made.facts[step.outs[0]].shape for step in made.steps[:-1]] == [()] * 1500


def test_single_precision_is_computed_in_single_precision():
    x, c = X.astype("float32"), np.full(3, 0.1, dtype="float32")
    made = after(lambda x: x * ((x**0 * c) / 3), x)
    assert made.steps[-1].args[1] == float(np.float32(0.1) / np.float32(3))


def test_constants_are_folded():
    c = np.array([1.0, 2.0, 3.0])

    steps = traced("numpy", lambda x: XP.sin(x) * XP.exp(x), c)
    known = steps.with_(inputs=(), constants={steps.inputs[0]: c})
    assert not uniform(known).steps
    assert check(known, names=("uniform",)).steps == ()


def test_what_is_large_or_not_finite_is_not(monkeypatch):
    c = np.array([1.0, 2.0, 3.0])
    steps = traced("numpy", lambda x: XP.sin(x) - 1.0, c)
    known = steps.with_(inputs=(), constants={steps.inputs[0]: c})
    monkeypatch.setattr(module, "FOLDED_ELEMENTS", 2)
    assert len(uniform(known).steps) == 2
    monkeypatch.undo()
    bad = traced("numpy", lambda x: 1.0 / XP.sin(x), np.array([0.0, 1.0]))
    known = bad.with_(inputs=(), constants={bad.inputs[0]: np.array([0.0, 1.0])})
    assert ops(uniform(known)) == ["divide"]


def test_on_lazy_libraries_nothing_is_computed():
    da = pytest.importorskip("dask.array")
    xp = ag.namespace("dask")
    x = da.ones(3)
    program = traced("dask", lambda x: x * xp.ones(3), x)
    assert uniform(program) is program


@pytest.mark.parametrize(
    ("name", "fact"), [("log1p", {"exact": True}), ("sort", {"pattern": "selects"})]
)
def test_an_op_says_what_elements_of_its_result_are(name, fact, monkeypatch):
    program = traced("numpy", lambda x: x * getattr(XP, name)(XP.full_like(x, 2.0)), X)
    assert uniform(program).steps[-1].args == program.steps[-1].args
    own = declared(name)._replace(**fact)
    monkeypatch.setattr(module, "declared", lambda op: own if op == name else declared(op))
    assert uniform(program).steps[-1].args[1] == getattr(np, name)(2.0 * np.ones(1))[0]
