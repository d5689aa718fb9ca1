"""Programs whose groups are C: each op and random programs against NumPy, and what C needs."""

import gc
import os
import signal
import sys
from contextlib import suppress

import numpy as np
import pytest

import agnograd as ag
import agnograd_c
from agnograd_c._choose import groups
from agnograd_c._choose.steps import INEXACT, Fitting
from agnograd_c._rewrite import slopes, triangles, unrolled
from agnograd_c._run import compiler, library, lowering
from agnograd_c.kernels import calls
from agnograd_compile._passes.passes import run as improved
from agnograd_compile.lowering import Missed, lowering_for, straight
from in_c import needs_compiler
from memory import peak_of
from threads import in_threads
from traced import traced

xp = ag.namespace("numpy")

needs_compiler()

# How many units in the last place a function of C's may be from NumPy's, and a sum of many.
ULPS, ULPS_OF_SUMS = 4, 16

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 1e-310, -1e-310, 1e300, -1e300]
EDGES += [np.inf, -np.inf, np.nan, 0.1, -0.3, 7.0, 1e-8, 700.0, -745.2, 20.0, 1e5]
INTS = [0, 1, -1, 5, -7, 2**31 - 1, -(2**31), 3]
FUNCTIONS = "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp expm1 log log1p log2"
UNARY = f"negative abs square sqrt reciprocal floor ceil trunc round sign {FUNCTIONS} log10"
UNARY += " isnan isinf isfinite signbit"
BINARY = "add subtract multiply divide maximum minimum pow atan2 hypot copysign"
BINARY += " less less_equal greater greater_equal equal not_equal"


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGNOGRAD_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(sys, "dont_write_bytecode", False)
        yield


@pytest.fixture
def every(monkeypatch):
    """Let groups of one step be worth it."""
    for name in ("GROUP", "NANOSECONDS", "SCALAR_STEPS"):
        monkeypatch.setattr(groups, name, name == "SCALAR_STEPS")


def calls_of(program):
    """Return how many steps of a program call C."""
    return sum(step.op == "@call" for step in program.steps)


def distance(found, expected):
    """Return the largest distance of two arrays in units in the last place."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if found.dtype.kind == "c":
        return max(distance(found.real, expected.real), distance(found.imag, expected.imag))
    if found.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return 0
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    ends = np.isinf(found) | np.isinf(expected)
    np.testing.assert_array_equal(found[ends], expected[ends])
    zeros = (found == 0) & (expected == 0)
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))
    rest = np.isfinite(found)
    least = np.finfo(found.dtype).tiny
    unit = np.spacing(np.maximum(np.abs(expected[rest]), least))
    return np.max(np.abs(found[rest] - expected[rest]) / unit, initial=0)


def check(f, *arrays, ulps=ULPS, at_least=1):
    """Compare the program of a function in C with its steps one by one; return it."""
    program = traced("numpy", f, *arrays)
    made = lowering.in_c(program)
    assert calls_of(made) >= at_least
    run, plain = agnograd_c.lowering.lower(program), straight(program)
    with np.errstate(all="ignore"):
        expected = plain(list(arrays))
        for _ in range(2):
            found = run(list(arrays))
            assert [type(each) for each in found] == [type(each) for each in expected]
            apart = [distance(*each) for each in zip(found, expected, strict=True)]
            allowed = ulps if isinstance(ulps, list) else [ulps] * len(apart)
            assert all(one <= most for one, most in zip(apart, allowed, strict=True)), apart
    return made


def grid(dtype):
    with np.errstate(over="ignore", under="ignore"):
        first, second = np.meshgrid(EDGES, EDGES)
        return first.ravel().astype(dtype), second.ravel().astype(dtype)


@pytest.mark.usefixtures("every")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
class TestFloats:
    def test_of_one(self, dtype):
        x, _ = grid(dtype)
        names = UNARY.split()
        ulps = [ULPS * (name in INEXACT) for name in names]
        check(lambda x: [getattr(xp, name)(x) for name in names], x, ulps=ulps)

    def test_of_two(self, dtype):
        x, y = grid(dtype)
        names = BINARY.split()
        ulps = [ULPS * (name in INEXACT) for name in names]
        check(lambda x, y: [getattr(xp, name)(x, y) for name in names], x, y, ulps=ulps)
        check(lambda x: [getattr(xp, name)(x, 0.7) for name in names], x, ulps=ulps)
        scalar = np.asarray(0.7, dtype)
        check(lambda x, y: [getattr(xp, name)(y, x) for name in names], x, scalar, ulps=ulps)

    def test_powers_with_one_exponent_are_numpy_s_whatever_comes_before(self, dtype):
        two = np.asarray(2.0, dtype)
        arrays = np.linspace(0.1, 2.0, 40, dtype=dtype), np.full(40, two), two
        program = traced("numpy", lambda x, each, one: (x**each, x**one), *arrays)
        fitting = Fitting(program.facts)
        assert [fitting.fits(step) for step in program.steps] == [True, False]

    def test_powers_choices_and_casts(self, dtype):
        def f(x, y):
            return [
                *(x**power + 0.0 for power in (3, 2.5, -1, 0.5, 2)),
                xp.where(x < y, x, y),
                xp.where(xp.isnan(x), 0.0, x),
                xp.clip(x, -0.5, 1.0),
                xp.clip(x, max=0.25),
                xp.astype(x, xp.float32) * 2.0,
                xp.astype(x, xp.float64) * 2.0,
                xp.logical_not(xp.astype(x, xp.bool)),
                xp.where(x > 0, x, -x) * (x > 0),
                xp.where(x > y, xp.zeros_like(x), y),
                xp.ones_like(x),
            ]

        check(f, *grid(dtype), ulps=[ULPS] * 2 + [0] * 13)

    def test_derivatives(self, dtype):
        x, y = grid(dtype)
        w = np.linspace(-1, 2, x.size).astype(dtype)

        def f(x, y):
            found = [ag.grad(lambda x: xp.sum(xp.tanh(x) * w))(x)]
            for op in (xp.maximum, xp.minimum):
                found += ag.grad(lambda x, y, op=op: xp.sum(op(x, y) * w), argnums=(0, 1))(x, y)
                found.append(ag.grad(lambda x, op=op: xp.sum(op(x, 0.5) * w))(x))
            return found

        made = check(f, x, y, ulps=[2 * ULPS] + [0] * 6)
        assert "@pullback" not in {step.op for step in made.steps}

    @pytest.mark.parametrize("axis", [None, -1, (1, 2), (0, 1, 2)])
    def test_sums(self, axis, dtype):
        x = np.linspace(-1, 2, 7 * 30 * 101).reshape(7, 30, 101).astype(dtype)

        def f(x):
            return [
                add(x * 2.0, axis=axis, keepdims=keepdims)
                for add in (xp.sum, xp.mean)
                for keepdims in (False, True)
            ]

        assert len(check(f, x, ulps=ULPS_OF_SUMS).steps) == 1

    def test_sums_over_the_first_axes_are_numpys(self, dtype):
        x = np.linspace(-1, 2, 600).reshape(20, 30).astype(dtype)
        check(lambda x: xp.sum(x * 2.0, axis=0), x, ulps=0)

    @pytest.mark.parametrize("few", [1, 3, 8])
    @pytest.mark.parametrize("many", [16, 61, 2500])
    def test_sums_along_a_few_elements(self, dtype, many, few):
        rng = np.random.default_rng(0)
        x = rng.random((many, few)).astype(dtype)
        y = rng.random((3, many, 1)).astype(dtype)

        def f(x, y):
            z = x * y
            return z, xp.sum(z + y, axis=-1), xp.mean(x + y, axis=-1, keepdims=True), z > 0.5

        ulps = [0, ULPS_OF_SUMS, ULPS_OF_SUMS, 0]
        assert len(check(f, x, y, ulps=ulps).steps) == 1
        check(f, np.asfortranarray(x), y[::-1], ulps=ulps)

    @pytest.mark.parametrize("shape", [(60, 3), (4, 2500, 5), (2, 3, 33, 2, 2)])
    def test_sums_of_vectors_of_few_elements(self, dtype, shape):
        axis = {2: 0, 3: 1, 5: 2}[len(shape)]
        x = (np.random.default_rng(0).integers(0, 64, shape) / 64).astype(dtype)  # sums are exact

        def f(x):
            y = x * 2.0
            return y, xp.sum(y, axis=axis), xp.mean(y + 1.0, axis=axis, keepdims=True)

        assert len(check(f, x, ulps=0).steps) == 1
        check(f, np.asfortranarray(x), ulps=0)

    def test_distances_of_pairs(self, dtype):
        x = np.random.default_rng(0).random((70, 3)).astype(dtype)

        def f(x, y):
            return xp.sqrt(x - y + 2.0), xp.maximum(x, y)

        assert len(check(f, x[:, None], x[None], ulps=0).steps) == 1  # rows of three are no hurdle

    def test_sums_of_much_are_accurate(self, dtype):
        x = np.random.default_rng(0).random(10**6).astype(dtype)
        run = agnograd_c.lowering.lower(traced("numpy", lambda x: xp.sum(x * 1.0), x))
        exact = np.sum(x.astype(np.longdouble))
        assert abs(run([x])[0] - exact) <= 2 * np.spacing(exact.astype(dtype))


@pytest.mark.usefixtures("every")
class TestOthers:
    def test_sums_that_read_no_array(self):
        for x in (np.linspace(-1, 1, 12).reshape(2, 3, 2), np.linspace(-1, 1, 5)):
            check(lambda x: xp.sum(xp.exp(xp.zeros_like(x))), x, ulps=ULPS_OF_SUMS)

    @pytest.mark.parametrize("dtype", ["int64", "int32"])
    def test_integers(self, dtype):
        x = np.asarray(INTS, dtype)
        y = np.roll(x, 3)
        one = ["negative", "abs", "square", "bitwise_invert", "sqrt", "exp"]
        check(lambda x: [getattr(xp, name)(x) for name in one], x)
        two = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "equal"]
        two += ["bitwise_and", "bitwise_or", "bitwise_xor"]
        check(lambda x, y: [getattr(xp, name)(x, y) for name in two], x, y, ulps=0)
        check(lambda x: xp.sum(x * 3 + 1), x, ulps=0)
        check(lambda x, y: x * y + 0.5, x, np.linspace(0, 1, 8), ulps=0)

    @pytest.mark.parametrize("dtype", ["int64", "int32"])
    def test_sums_of_a_few(self, dtype):
        x = np.arange(-90, 90).reshape(3, 20, 3).astype(dtype)
        for axis in (-1, 1):
            assert len(check(lambda x, n=axis: xp.sum(x == 1, axis=n), x, ulps=0).steps) == 1
            check(lambda x, n=axis: xp.sum(xp.where(x == 1, x, x), axis=n), x, ulps=0)

    def test_sums_of_a_few_that_are_not_finite(self):
        x = np.ones((20, 3))
        x[3, 1], x[4, 2], x[5] = np.nan, np.inf, [np.inf, -np.inf, 0]
        check(lambda x: xp.sum(x * 2.0, axis=-1), x, ulps=ULPS_OF_SUMS)
        check(lambda x: xp.sum(x * 2.0, axis=0), x, ulps=ULPS_OF_SUMS)

    def test_two_kinds_of_sums(self):
        x = np.random.default_rng(0).random((30, 40, 3))

        def f(x):
            y = x * 2.0
            return [xp.sum(y, axis=axis) for axis in (1, 0, -1, None)]

        assert calls_of(check(f, x, ulps=ULPS_OF_SUMS)) == 1  # that over the last axis is in C

    def test_truth(self):
        x, y = np.asarray([True, False, True, False]), np.asarray([True, True, False, False])
        names = ["logical_and", "logical_or", "logical_xor", "equal", "not_equal", "bitwise_or"]

        def f(x, y):
            return [
                *(getattr(xp, name)(x, y) for name in names),
                xp.where(x, xp.logical_not(y), y),
                xp.sum(xp.logical_not(x)),
                x * -2.5,
            ]

        check(f, x, y)

    @pytest.mark.parametrize("dtype", ["complex128", "complex64"])
    def test_complex_numbers(self, dtype):
        x, y = grid("float32")
        with np.errstate(invalid="ignore"):
            z = (x + 1j * y).astype(dtype)
        w = np.roll(z, 7)
        real = x.astype(z.real.dtype)

        def f(z, w, x):
            return [
                -z,
                xp.conj(z),
                *(op(z, w) for op in (xp.add, xp.subtract, xp.multiply)),
                *(op(z, 0.5) for op in (xp.add, xp.subtract, xp.multiply)),
                *(op(2j, z) for op in (xp.add, xp.subtract, xp.multiply)),
                *(op(z, x) for op in (xp.add, xp.subtract, xp.multiply)),
                xp.where(xp.real(z) > xp.imag(z), z, w) * 2.0,
            ]

        check(f, z, w, real)

    def test_layouts(self):
        m = np.linspace(-2, 3, 24).reshape(4, 6)
        row, column = np.linspace(0, 1, 6), np.linspace(1, 2, 4)[:, None]
        check(lambda x, y, z: xp.exp(x * y) * z, m, row, column)
        check(lambda x: xp.exp(x) * x, m.T)
        check(lambda x: xp.exp(x) * x, m[::-1, ::2])
        check(lambda x, y: xp.exp(x + y) * x, m, np.asfortranarray(m))
        check(lambda x, y: x * y, np.arange(5.0)[:, None], np.arange(7.0))
        check(lambda x, y: x * y, np.arange(5.0)[:, None], np.arange(5.0)[:, None])
        check(lambda x, y: x * y, np.arange(120.0).reshape(2, 3, 4, 5), np.ones((3, 1, 5)))
        check(lambda x: x + 1.0, np.ndarray((3, 1), float, np.arange(3.0), 0, (8, 999)))
        check(lambda x: xp.broadcast_to(x, (3, 4)) * x, np.arange(4.0))

    def test_results_lie_in_memory_as_numpys(self):
        x = np.linspace(0, 1, 24).reshape(2, 3, 4).transpose(2, 0, 1)
        program = traced("numpy", lambda x: xp.exp(x) * 2.0, x)
        assert agnograd_c.lowering.lower(program)([x])[0].strides == (x * 2.0).strides

    def test_nothing_to_compute(self):
        check(lambda x: xp.sum(x * 2.0), np.zeros((0, 3)), at_least=0)

    def test_an_array_of_other_strides_than_expected(self):
        x = np.linspace(0, 1, 40)
        program = traced("numpy", lambda x: xp.exp(x) * x, x)
        other = np.linspace(2, 3, 80)[::2]
        (found,) = agnograd_c.lowering.lower(program)([other])
        assert distance(found, np.exp(other) * other) <= ULPS

    def test_an_array_of_another_shape_is_an_error(self):
        x = np.linspace(0, 1, 40)
        run = agnograd_c.lowering.lower(traced("numpy", lambda x: xp.exp(x) * x, x))
        with pytest.raises(TypeError, match="not what it was when the program was traced"):
            run([np.zeros(39)])

    def test_unaligned_arrays(self):
        memory = np.zeros(8 * 40 + 1, np.uint8)
        x = np.ndarray((40,), float, memory, 1)
        x[...] = np.linspace(0, 1, 40)
        check(lambda x: xp.exp(x) * x, x)


def chain(x):
    for _ in range(50):
        x = xp.sin(x * 0.9 + 0.1)
    return xp.sum(x)


def spring(k, c):
    x, v = 1.0, 0.0
    for _ in range(100):
        v = v - 0.1 * (k * x + c * v)
        x = x + 0.1 * v
    return x


def elements(x):
    total = 0.0
    for i in range(40):
        total = total + x[i] * x[-1 - i] + x[3] * float(i)
    return total


@pytest.mark.parametrize(
    ("f", "arrays"),
    [
        (chain, [np.linspace(0, 1, 10)]),
        (spring, [np.asarray(1.3), np.asarray(0.2)]),
        (elements, [np.linspace(1, 2, 40)]),
    ],
)
def test_what_is_repeated_is_a_loop(f, arrays):
    gradient = ag.value_and_grad(f, argnums=tuple(range(len(arrays))))
    program = traced("numpy", gradient, *arrays)
    (group, *_) = groups.groups_of(program)
    function, _ = lowering.written(program, group, frozenset(program.outputs), {})
    assert "for (int t" in function.text
    assert function.text.count("\n") < 130 < len(program.steps)
    # Each step may differ by some units, and errors of a chain add up.
    check(gradient, *arrays, ulps=400)


def random_program(rng, dtype):
    """Return a function of three arrays that calls random ops, and their shapes."""
    floats = ["add", "subtract", "multiply", "maximum", "minimum"]
    picks = rng.integers(0, 10**6, (25, 4))

    def f(*arrays):
        values = list(arrays)
        for kind, one, other, third in picks:
            x, y = values[one % len(values)], values[other % len(values)]
            z = values[third % len(values)]
            if kind % 9 == 0:
                made = xp.where(x < y, y, z)
            elif kind % 9 == 1:
                made = xp.tanh(x)
            elif kind % 9 == 2:
                made = xp.mean(x, axis=-1, keepdims=True) if x.ndim else x * 0.5
            elif kind % 9 == 3:
                made = x / (1.0 + xp.abs(y))
            else:
                made = getattr(xp, floats[kind % 5])(x, y)
            values.append(made)
        return tuple(values[-6:])

    shapes = [[(5, 70), (70,), ()], [(3, 4, 20), (4, 1), (3, 1, 20)], [(40,), (), (1,)]]
    given = shapes[rng.integers(len(shapes))]
    return f, [rng.standard_normal(s).astype(dtype) for s in given]


@pytest.mark.usefixtures("every")
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    f, arrays = random_program(rng, ["float64", "float32"][seed % 2])
    program = traced("numpy", f, *arrays)
    assert calls_of(lowering.in_c(program))
    tolerance = 1e-11 if seed % 2 == 0 else 1e-3
    others = [rng.standard_normal(x.shape).astype(x.dtype) for x in arrays]
    run, plain = agnograd_c.lowering.lower(program), straight(program)
    for given in (arrays, others):
        for one, other in zip(run(given), plain(given), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


class TestWhen:
    def test_small_programs_are_left_alone(self):
        program = traced("numpy", lambda x: xp.sum(xp.exp(x) * x), np.ones(1000))
        assert lowering.in_c(program) is program

    def test_many_small_groups_are_worth_it_together(self, monkeypatch):
        def f(x, w):
            for _ in range(6):
                x = xp.exp(x * 0.5) @ w
            return x

        arrays = np.full((4, 4), 0.1), np.full((4, 4), 0.1)
        program = traced("numpy", lambda x, w: f(x, w), *arrays)
        assert lowering.in_c(program) is program
        more = traced("numpy", lambda x, w: [f(x, w) * 1.5, *[f(f(f(x, w), w), w)] * 2], *arrays)
        texts = []
        load = library.loaded

        def loaded(kind, source, *given):
            texts.append(source)
            return load(kind, source, *given)

        monkeypatch.setattr(library, "loaded", loaded)
        assert calls_of(lowering.in_c(more)) > 15
        assert sum(text.count("static int part_group") for text in texts) < 5  # alike, and one

    def test_a_run_allocates_only_its_results(self):
        x = np.linspace(0, 1, 2**16)
        program = traced("numpy", lambda x: xp.flip(xp.exp(x) * x) * xp.sqrt(x) + x, x)
        run = agnograd_c.lowering.lower(program)
        assert calls_of(lowering.in_c(program)) == 2
        expected = run([x])[0]
        assert peak_of(lambda: run([x])) < x.nbytes + 10**4
        np.testing.assert_array_equal(run([x])[0], expected)

    def test_a_group_writes_over_the_product_that_only_it_reads(self, every):
        x, w = np.linspace(0.0, 1.0, 2**12).reshape(64, 64), np.eye(64)[::-1].copy()
        check(lambda x, w: xp.tanh(x @ w) * 2.0 + x, x, w)
        program = traced("numpy", lambda x, w: xp.tanh(x @ w) * 2.0 + x, x, w)
        assert agnograd_c.lowering.describe(program)["buffers"] == []
        run = agnograd_c.lowering.lower(program)
        run([x, w])
        assert peak_of(lambda: run([x, w])) < 1.5 * x.nbytes

    def test_it_is_what_auto_takes(self):
        assert type(lowering_for("numpy", "auto")) is agnograd_c.C

    def test_what_guards_look_at_is_numpys(self):
        def f(x):
            total = xp.sum(xp.exp(x) * x)
            return x * float(total) if float(total) > 0 else x

        x = np.linspace(0, 1, 2**16)
        program = traced("numpy", f, x)
        made = lowering.in_c(program)
        assert {"exp", "sum"} <= {step.op for step in made.steps}
        run = agnograd_c.lowering.lower(program)
        np.testing.assert_array_equal(run([x])[0], straight(program)([x])[0])
        with pytest.raises(Missed):
            run([x + 1.0])

    def test_what_is_between_two_steps_keeps_them_apart(self, every):
        x = np.linspace(0, 1, 36).reshape(6, 6)
        made = check(lambda x: xp.sqrt(xp.sqrt(x) @ x) + x, x, at_least=2)
        assert [step.op for step in made.steps] == ["@call", "matmul", "@call"]


def orbit(state):
    for _ in range(30):
        x, y, z = state[0], state[1], state[-1]
        speed = xp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - xp.sin(z)])
        state = state + 0.01 * speed * state[1]
    return xp.sum(state * state)


def steered(state):
    for k in range(30):
        if k == 15:
            state = xp.flip(state)
        x, y = xp.unstack(state)
        state = xp.stack([x + 0.1 * y, y - 0.1 * xp.where(x > 0.5, x, -x)])
        state = state / xp.sqrt(1.0 + state[0] * state[0])
    return state, xp.max(state)


class TestShortArrays:
    @pytest.mark.accelerated
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    @pytest.mark.parametrize(
        ("f", "x"),
        [
            (orbit, [0.3, 0.2, 1.1]),
            (ag.grad(orbit), [0.3, 0.2, 1.1]),
            (steered, [0.3, -0.7]),
            (ag.grad(lambda x: xp.sum(steered(x)[0])), [0.3, -0.7]),
        ],
    )
    def test_states_of_a_few_numbers_are_scalars(self, f, x, dtype):
        x = np.asarray(x, dtype)
        program = improved(traced("numpy", f, x))
        made = unrolled.unrolled(program)
        assert made is not program
        left = [step.op for step in lowering.in_c(made).steps]
        assert len(left) < len(lowering.in_c(program).steps) / 4
        run, plain = agnograd_c.lowering.lower(program), straight(program)
        for given in (x, x * 0.9, np.zeros_like(x), x * np.nan, x * np.inf):
            with np.errstate(all="ignore"):
                pairs = zip(run([given]), plain([given]), strict=True)
            for one, other in pairs:
                assert (type(one), one.dtype, one.shape) == (type(other), other.dtype, other.shape)
                # What each step rounds differently grows in the next ones.
                np.testing.assert_allclose(one, other, rtol=2e4 * np.finfo(dtype).eps, atol=1e-12)

    def test_what_guards_look_at_is_numpys(self):
        def f(state):
            for _ in range(30):
                x, y = state[0], state[1]
                state = xp.stack([x + 0.1 * y, y - 0.1 * x]) * (1.0 - 0.01 * state * state)
            total = xp.sum(xp.exp(state))
            return state * 2.0 if float(total) > 1.0 else -state

        x = np.asarray([0.3, 0.8])
        program = improved(traced("numpy", f, x))
        made = lowering.in_c(unrolled.unrolled(program))
        assert {"exp", "sum", "@guard"} < {step.op for step in made.steps}
        assert len(made.steps) < 12
        (found,) = agnograd_c.lowering.lower(program)([x])
        assert distance(found, straight(program)([x])[0]) == 0
        with pytest.raises(Missed):
            agnograd_c.lowering.lower(program)([x - 20.0])

    def test_what_c_computes_as_arrays_stays(self):
        program = traced("numpy", lambda x: chain(x), np.ones(3))
        assert unrolled.unrolled(program) is program
        few = traced("numpy", lambda x: xp.stack([x[0], x[1] * 2.0]) * x, np.ones(2))
        assert unrolled.unrolled(few) is few

    def test_explain_knows_them(self):
        found = agnograd_c.lowering.describe(traced("numpy", orbit, np.asarray([0.3, 0.2, 1.1])))
        assert len(found["groups"]) == 1
        assert "for (int t" in found["source"]


def network(x, w, u):
    return xp.sum(xp.tanh(xp.tanh(x @ w) @ u))


def layers(dtype="float64"):
    x, w, u = (np.linspace(-1, 1.5, n * m).reshape(n, m) for n, m in ((16, 8), (8, 12), (12, 9)))
    return x.astype(dtype), w.astype(dtype), u.astype(dtype)


class TestSlopes:
    @pytest.mark.accelerated
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_they_are_computed_with_tanh(self, every, dtype):
        program = improved(
            traced("numpy", ag.value_and_grad(network, argnums=(0, 1, 2)), *layers(dtype))
        )
        found = slopes.with_slopes(program)
        assert len(found.steps) == len(program.steps) + 2
        assert not any(step.op == "@pullback" for step in found.steps)
        plain = straight(program)(list(layers(dtype)))
        for run in (straight(found), agnograd_c.lowering.lower(program)):
            for one, other in zip(run(list(layers(dtype))), plain, strict=True):
                np.testing.assert_allclose(
                    one, other, 0, 50 * np.finfo(dtype).eps * abs(other).max()
                )

    def test_they_are_bit_for_bit_what_c_computes_apart(self, every):
        arrays = list(layers())
        program = improved(traced("numpy", ag.value_and_grad(network, argnums=(0, 1, 2)), *arrays))
        apart, plain = lowering.in_c(program), lowering_for("numpy", "numpy")
        assert any(step.op == "@call" for step in apart.steps)
        pairs = zip(
            plain.lower(apart)(arrays), agnograd_c.lowering.lower(program)(arrays), strict=True
        )
        for one, other in pairs:
            np.testing.assert_array_equal(one, other)

    @pytest.mark.accelerated
    def test_each_tanh_takes_one_exponential_and_no_more_memory(self, every):
        program = improved(
            traced("numpy", ag.value_and_grad(network, argnums=(0, 1, 2)), *layers())
        )
        found = agnograd_c.lowering.describe(program)
        before = lowering_for("numpy", "numpy").describe(lowering.in_c(program))
        assert found["source"].count(" = exp_f64(") == 2
        assert sum(found["buffers"]) <= sum(before["buffers"])

    @pytest.mark.accelerated
    def test_in_one_group_the_exponential_is_computed_once(self, every):
        x = np.linspace(-3, 3, 50)
        program = improved(traced("numpy", ag.value_and_grad(lambda x: xp.sum(xp.tanh(x))), x))
        assert agnograd_c.lowering.describe(program)["source"].count(" = exp_f64(") == 1

    def test_what_guards_look_at_is_numpys(self, every):
        def f(x):
            g = ag.grad(lambda x: xp.sum(xp.tanh(x)))(x)
            return xp.tanh(x) * g if float(g[0]) > 0 else g

        program = improved(traced("numpy", f, np.linspace(0.1, 1, 20)))
        assert slopes.with_slopes(program) is program

    def test_derivatives_of_broadcast_or_transposed_arrays_stay(self, every):
        def f(x, g):
            return ag.vjp(xp.tanh, x)[1](g)

        x, g = np.linspace(-1, 1, 12).reshape(3, 4), np.asfortranarray(np.ones((3, 4)))
        program = improved(traced("numpy", f, x, g))
        assert slopes.with_slopes(program) is program

    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_tanh_is_accurate_everywhere(self, every, dtype):
        near = 0.625 + np.spacing(0.625) * np.arange(-50, 50)
        x = np.concatenate([near, -near, np.linspace(-25, 25, 4001), np.logspace(-310, 0, 400)])
        check(lambda x: xp.tanh(x), x.astype(dtype))


class TestTriangles:
    @staticmethod
    def factor(dtype, n=9):
        rng = np.random.default_rng(0)
        a = rng.standard_normal((n, n)) + (
            1j * rng.standard_normal((n, n)) if dtype[0] == "c" else 0
        )
        a = a.astype(dtype)
        return a @ np.conj(a.T) + n * np.eye(n, dtype=dtype)

    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    @pytest.mark.parametrize("upper", [False, True])
    @pytest.mark.parametrize("shape", [(9,), (9, 4)])
    def test_cholesky_factors_are_not_factored_again(self, dtype, upper, shape):
        def f(a, b):
            lower = xp.linalg.cholesky(a, upper=upper)
            adjoint = xp.matrix_transpose(lower)
            return [xp.linalg.solve(x, b) for x in (lower, adjoint)]

        a, b = self.factor(dtype), np.arange(1.0, 1 + np.prod(shape)).reshape(shape).astype(dtype)
        program = traced("numpy", f, a, b)
        made = triangles.by_substitution(program)
        assert sum(step.op == "@call" for step in made.steps) == 2
        assert not any(step.op == "linalg.solve" for step in made.steps)
        found, expected = agnograd_c.lowering.lower(program)([a, b]), straight(program)([a, b])
        for one, other in zip(found, expected, strict=True):
            assert (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)
            np.testing.assert_allclose(one, other, 1e-12, 1e-14)

    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_nor_in_the_backward_pass(self, dtype):
        def f(a, b):
            return xp.sum(xp.abs(xp.linalg.solve(xp.linalg.cholesky(a), b)) ** 2)

        a, b = self.factor(dtype), np.arange(9.0).astype(dtype)
        gradient = ag.grad(f, argnums=(0, 1))
        made = triangles.by_substitution(traced("numpy", gradient, a, b))
        assert not {"linalg.solve", "linalg.solve_adjoint"} & {step.op for step in made.steps}
        for one, other in zip(ag.compile(gradient)(a, b), gradient(a, b), strict=True):
            np.testing.assert_allclose(one, other, 1e-11, 1e-13)

    def test_stacks_and_other_dtypes_are_solved_as_before(self):
        a = np.stack([self.factor("float64"), 2 * self.factor("float64")])
        for b in (np.ones((2, 9, 3)), np.ones((2, 9, 3), "float32"), np.ones((9, 3), "float32")):
            program = traced("numpy", lambda a, b: xp.linalg.solve(xp.linalg.cholesky(a), b), a, b)
            found = agnograd_c.lowering.lower(program)([a, b])[0]
            np.testing.assert_array_equal(found, straight(program)([a, b])[0])

    def test_without_a_compiler_they_are_solved_as_before(self, monkeypatch):
        a, b = self.factor("float64"), np.ones(9)
        program = traced("numpy", lambda a, b: xp.linalg.solve(xp.linalg.cholesky(a), b), a, b)
        monkeypatch.setenv("PATH", "")
        compiler.compiler.cache_clear()
        try:
            found = agnograd_c.lowering.lower(program)([a, b])[0]
            np.testing.assert_array_equal(found, straight(program)([a, b])[0])
        finally:
            compiler.compiler.cache_clear()

    def test_other_matrices_are_left_alone(self):
        program = traced("numpy", xp.linalg.solve, self.factor("float64"), np.ones(9))
        assert triangles.by_substitution(program) is program


class TestCompiledFunctions:
    def test_a_gradient(self):
        compiled = ag.compile(ag.value_and_grad(chain))
        for x in (np.linspace(0, 1, 10), np.linspace(1, 3, 10)):
            value, gradient = compiled(x)
            expected, other = ag.value_and_grad(chain)(x)
            assert abs(value - expected) <= 400 * np.spacing(expected)
            assert distance(gradient, other) <= 400

    def test_explain_has_the_groups_and_their_text(self, every):
        x = np.linspace(0, 1, 36).reshape(6, 6)
        program = traced("numpy", lambda x: xp.sqrt(xp.sqrt(x) @ x) + x, x)
        found = agnograd_c.lowering.describe(program)
        assert [list(group) for group in found["groups"]] == [[0], [2, 3]]
        assert "int group1(" in found["source"]
        assert ag.compile(lambda x: xp.sqrt(x) + x).explain(x)


class TestCompiler:
    def test_none(self, monkeypatch, every):
        x = np.linspace(0, 1, 30)
        program = traced("numpy", lambda x: xp.exp(x) * x, x)
        monkeypatch.setenv("PATH", "")
        compiler.compiler.cache_clear()
        try:
            assert lowering.in_c(program) is program
            np.testing.assert_array_equal(agnograd_c.lowering.lower(program)([x])[0], np.exp(x) * x)
        finally:
            compiler.compiler.cache_clear()

    def test_no_headers(self, monkeypatch, every):
        monkeypatch.setattr(calls, "driver", lambda: None)
        m = np.linspace(-2, 3, 24).reshape(4, 6)
        check(lambda x, y: xp.exp(x * y) * x, m.T, np.linspace(0, 1, 4))
        check(lambda x: (xp.sum(x * 2.0), x[0, 1] * x[1, 1]), m, ulps=ULPS_OF_SUMS)
        x = np.linspace(0, 1, 80)
        program = traced("numpy", lambda x: xp.exp(x) * x, x[:40])
        (found,) = agnograd_c.lowering.lower(program)([x[::2]])
        assert distance(found, np.exp(x[::2]) * x[::2]) <= ULPS

    def test_wrong_text_is_no_failure(self, monkeypatch, every):
        monkeypatch.setattr(library, "source_of", lambda name: "#error")
        x = np.linspace(0, 1, 30)
        program = traced("numpy", lambda x: xp.exp(x) * x, x)
        assert lowering.in_c(program) is program


class TestThreads:
    def test_results_do_not_depend_on_how_many(self, monkeypatch):
        x = np.random.default_rng(1).standard_normal(300_001)

        def f(x):
            y = xp.exp(-x * x) * 0.5 + xp.sin(x)
            return y, xp.sum(y * y), xp.mean(y)

        found = []
        for count in ("1", "2", "5"):
            monkeypatch.setenv("AGNOGRAD_NUM_THREADS", count)
            monkeypatch.setattr(lowering, "THREADED_STEPS", 1)
            program = traced("numpy", f, x)
            assert calls_of(lowering.in_c(program))
            found.append(agnograd_c.lowering.lower(program)([x]))
        for other in found[1:]:
            for one, two in zip(found[0], other, strict=True):
                np.testing.assert_array_equal(one, two)

    def test_how_many(self, monkeypatch):
        monkeypatch.setenv("AGNOGRAD_NUM_THREADS", "3")
        assert lowering.threads() == 3
        monkeypatch.delenv("AGNOGRAD_NUM_THREADS")
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        assert lowering.threads() == 2
        monkeypatch.delenv("OMP_NUM_THREADS")
        assert lowering.threads() >= 1

    def test_python_threads_at_once(self):
        arrays = [np.full(2**16, k / 7) for k in range(4)]
        run = agnograd_c.lowering.lower(traced("numpy", lambda x: xp.exp(x) * x + x, arrays[0]))

        def work(x):
            return [run([x])[0] for _ in range(20)]

        for x, results in zip(arrays, in_threads(work, arrays), strict=True):
            for each in results:
                assert distance(each, np.exp(x) * x + x) <= ULPS
            assert not np.shares_memory(results[0], results[1])

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
    # Other tests may have started threads, or JAX, which warns of every fork; the child uses none.
    @pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
    @pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
    def test_after_a_fork(self, monkeypatch):
        monkeypatch.setenv("AGNOGRAD_NUM_THREADS", "2")
        x = np.linspace(0, 1, 2**20)
        run = agnograd_c.lowering.lower(traced("numpy", lambda x: xp.sum(xp.exp(x) * x), x))
        (expected,) = run([x])
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)  # what hangs ends so
            try:
                os._exit(0 if run([x])[0] == expected else 1)
            finally:
                os._exit(2)  # an error is not to go on in pytest, here
        assert os.waitpid(pid, 0)[1] == 0


def close_products(found, one, other):
    """Compare a product with NumPy's: each sum is rounded as often as it has parts."""
    eps = np.finfo(found.dtype).eps
    assert found.dtype == one.dtype
    assert found.flags.c_contiguous
    bound = 2 * one.shape[1] * eps * (np.abs(one) @ np.abs(other))
    assert (np.abs(found - one @ other) <= bound).all()


SIZES = [(32, 64, 64), (64, 32, 10), (1, 256, 2), (7, 9, 11), (33, 65, 17), (256, 8, 31)]
LAYOUTS = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "backwards": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
    "apart": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
}


class TestProducts:
    """Products of small matrices are C."""

    @pytest.mark.usefixtures("every")
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    @pytest.mark.parametrize("size", SIZES, ids=str)
    def test_any_size_and_layout(self, size, dtype):
        rows, depth, columns = size
        draws = np.random.default_rng(1)
        one = draws.standard_normal((rows, depth)).astype(dtype)
        other = draws.standard_normal((depth, columns)).astype(dtype)
        lefts = [layout(one) for layout in LAYOUTS.values()]
        rights = [layout(other) for layout in LAYOUTS.values()]
        program = improved(
            traced("numpy", lambda xs, ys: [x @ y for x in xs for y in ys], lefts, rights)
        )
        assert calls_of(lowering.in_c(program)) == 16
        for found in agnograd_c.lowering.lower(program)([*lefts, *rights]):
            close_products(found, one, other)

    @pytest.mark.usefixtures("every")
    def test_one_matrix_twice_and_one_that_repeats_its_rows(self):
        x = np.random.default_rng(2).standard_normal((24, 24))
        row = np.broadcast_to(x[0], (24, 24))
        for f, expected in (
            (lambda x: x @ x, x @ x),
            (lambda x: x @ x.T, x @ x.T),
            (lambda x: x.T @ x, x.T @ x),
            (lambda x: x @ xp.broadcast_to(x[0], (24, 24)), x @ row),
        ):
            np.testing.assert_allclose(ag.compile(f, lowering="c")(x), expected, atol=1e-12)

    @pytest.mark.usefixtures("every")
    def test_infinities_and_nan(self):
        one, other = np.ones((16, 20)), np.ones((20, 12))
        one[0, 0], one[1, 1], one[2, 2] = np.inf, np.nan, 1e308
        other[0, 1], other[2, :] = 0.0, 1e10
        with np.errstate(all="ignore"):
            found = ag.compile(lambda x, y: x @ y, lowering="c")(one, other)
            np.testing.assert_array_equal(found, one @ other)

    @pytest.mark.usefixtures("every")
    @pytest.mark.parametrize(
        "shapes",
        [((8, 8), (8, 7)), ((257, 4), (4, 4)), ((128, 128), (128, 64)), ((16, 32), (32,))],
        ids=str,
    )
    def test_others_are_left_to_numpy(self, shapes):
        arrays = [np.ones(shape) for shape in shapes]
        program = improved(traced("numpy", lambda x, y: x @ y, *arrays))
        assert calls_of(lowering.in_c(program)) == 0

    @pytest.mark.usefixtures("every")
    @pytest.mark.parametrize("dtype", ["complex128", "int64", ">f8", "float16"])
    def test_other_dtypes_are_left_to_numpy(self, dtype):
        x = np.ones((16, 16), dtype)
        program = improved(traced("numpy", lambda x: x @ x, x))
        assert calls_of(lowering.in_c(program)) == 0

    @pytest.mark.usefixtures("every")
    def test_what_the_program_looks_at_is_numpys(self):
        def f(x):
            y = x @ x
            return y + 1.0 if y[0, 0] > 0.0 else y

        program = improved(traced("numpy", f, np.ones((32, 32))))
        steps = lowering.in_c(program).steps
        assert any(step.op == "matmul" for step in steps)

    def test_a_single_product_is_not_worth_a_compiler(self):
        program = improved(traced("numpy", lambda x: x @ x, np.ones((32, 32))))
        assert groups.groups_of(program) == []

    def test_products_of_a_network(self):
        def loss(w1, w2, x):
            return xp.mean((xp.tanh(x @ w1) @ w2) ** 2)

        draws = np.random.default_rng(3)
        arrays = [draws.standard_normal(s) * 0.2 for s in ((64, 64), (64, 10), (32, 64))]
        gradient = ag.grad(loss, (0, 1, 2))
        program = improved(traced("numpy", gradient, *arrays))
        left = [step.op for step in lowering.in_c(program).steps]
        assert "matmul" not in left
        compiled = ag.compile(gradient, lowering="c")
        for _ in range(2):
            for found, expected in zip(compiled(*arrays), gradient(*arrays), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)
        found = in_threads(lambda _: compiled(*arrays)[0], range(4))
        assert all(np.array_equal(each, found[0]) for each in found)


def test_libraries_are_closed_once_nothing_uses_them():
    """A process can map some ten thousand libraries, and may compile more functions than that."""

    def open_ones():
        # By their types: some libraries' objects answer other questions with a warning.
        return len([each for each in gc.get_objects() if type(each) is library.Library])

    x = np.linspace(0.0, 1.0, 20_000)
    gc.collect()
    before = open_ones()
    functions = [
        ag.compile(lambda x, k=k: xp.sin(x) * float(k) + xp.exp(x), lowering="c") for k in range(4)
    ]
    expected = [function(x) for function in functions]
    assert open_ones() == before + 4
    del functions[1:]
    gc.collect()
    assert open_ones() == before + 1
    np.testing.assert_array_equal(functions[0](x), expected[0])
    del functions
    gc.collect()
    assert open_ones() == before


def test_large_steps_that_c_leaves_are_computed_in_blocks(every, monkeypatch):
    monkeypatch.setattr("agnograd_numpy._blocks.GROUPED_BYTES", 0)
    x = np.linspace(1.0, 3.0, 2**15)

    def f(x):
        return xp.sqrt(x * x + 1.0) * xp.floor_divide(x, 2.0)

    found = agnograd_c.lowering.lower(traced("numpy", f, x))([x])[0]
    np.testing.assert_array_max_ulp(found, f(x), ULPS)


NUMBERS = [True, 0, 3, -1, 2**40, 0.5, -0.0, np.nan, np.inf, 1j, np.float64(0.5), np.bool_(True)]
OF_TWO = f"{BINARY} floor_divide remainder logaddexp nextafter logical_and logical_or logical_xor"
OF_TWO += " bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift"


def values_of(dtype):
    kind = np.dtype(dtype).kind
    if kind in "iu":
        limits = np.iinfo(dtype)
        return np.asarray([0, 1, limits.max, limits.min, 3], dtype=dtype)
    values = {"b": [True, False], "f": [0, -0.0, 1.5, -2, np.nan, np.inf], "c": [0, 1 + 2j, -1.5]}
    return np.asarray(values[kind], dtype=dtype)


FURTHER = ["int16", "int32", "int64", "uint8", "uint16", "uint32", "float64", "complex64"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.usefixtures("every")
@pytest.mark.parametrize(
    "dtype",
    [
        *("bool", "int8", "uint64", "float32", "complex128"),
        *(pytest.param(each, marks=pytest.mark.slow) for each in FURTHER),
    ],
)
def test_numbers_of_every_kind_on_either_side(dtype):
    x, calls = values_of(dtype), []
    for name in OF_TWO.split():
        op = getattr(xp, name)
        for number in NUMBERS:
            for f in (lambda x, op=op, n=number: op(x, n), lambda x, op=op, n=number: op(n, x)):
                with suppress(TypeError, OverflowError, ValueError):  # what the library refuses
                    f(x)
                    calls.append(f)
    program = traced("numpy", lambda x: [f(x) for f in calls], x)
    found, expected = agnograd_c.lowering.lower(program)([x]), straight(program)([x])
    assert max(map(distance, found, expected)) <= ULPS
