"""The NumPy lowering gives what the steps give one after the other, bit for bit."""

from collections import Counter

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._lowerings import lowering_for
from agnograd_compile._programs.straight import straight
from agnograd_compile._programs.verify import verify
from agnograd_numpy._steps import Buffers
from agnograd_numpy.lowering import NumpyWriter, lowering
from memory import peak_of
from threads import in_threads
from traced import traced

xp = ag.namespace("numpy")
rng = np.random.default_rng(0)
X, Y, W = rng.standard_normal((4, 5)), rng.standard_normal((4, 5)), rng.standard_normal((5, 3))
V = rng.standard_normal(6)
KEY = np.asarray([0, 2, 2, 5])


def program_of(f, *args):
    return traced("numpy", f, *args)


def same(one, other):
    """Return whether two values are the same bit for bit, and in the same layout."""
    facts = ("shape", "dtype", "strides")
    alike = type(one) is type(other) and all(getattr(one, f) == getattr(other, f) for f in facts)
    return alike and bits(one) == bits(other)


def bits(value):
    """Return the bytes of a value; which NaN a NaN is says nothing."""
    array = np.array(value)
    if array.dtype.kind in "fc":
        array[array != array] = np.nan
    return array.tobytes()


def written(x):
    y = x + 1.0
    y[1] = y[0] * 2.0
    v = y.T
    v[:, 0] = 3.0
    return xp.sum(xp.sin(y) * x)


def scattered(x):
    total = xp.sum(x[KEY] * x[KEY])
    for i in range(len(x)):
        total = total + x[i] * x[i - 1]
    return total


def chained(x):
    for _ in range(5):
        x = xp.sin(x * 0.9 + 0.1)
    return xp.sum(x)


def network(x, w):
    return xp.mean(xp.tanh(x @ w) ** 2)


def mixed(x):
    return xp.where(x > 0, x * 2, -x) / xp.maximum(xp.abs(x), 0.5)


def scalars(x):
    a, b = x[0], x[1]
    for _ in range(4):
        a, b = a * 0.5 - b / 3.0, -(b + a * 2)
    return a * b


NUMBERS = np.asarray(2.5), np.asarray(0.3)
COMPLEX = X + 1j * Y
CASES = {
    "chain": (chained, V),
    "gradient of a chain": (ag.grad(chained), V),
    "network": (ag.value_and_grad(network, (0, 1)), X, W),
    "network, columns first": (ag.grad(network, (0, 1)), np.asfortranarray(X), W.copy("F")),
    "network, every other row": (ag.grad(network, (0, 1)), X[::2], W[::-1]),
    "float32": (ag.grad(network, (0, 1)), X.astype("float32"), W.astype("float32")),
    "float16": (lambda x: mixed(x) * 2.0, X.astype("float16")),
    "writes": (ag.grad(written), X),
    "writes, value": (written, X),
    "scatter": (ag.grad(scattered), V),
    "hessian": (ag.hessian(scattered), V),
    "hessian of a chain": (ag.hessian(chained), V),
    "mixed": (mixed, X),
    "integers": (lambda x: (x * 3 + 1) // 2 - x % 3 + (x > 2), np.arange(12).reshape(3, 4)),
    "wide numbers": (lambda x: x * 3 + 1, np.arange(5, dtype="int8")),
    "booleans": (lambda x: xp.all((x > 0) & ~(x < 1)) | xp.any(x == 2, axis=0), X),
    "complex": (ag.grad(lambda z: xp.sum(xp.abs(xp.exp(z * 2j) / (z + 1)))), COMPLEX),
    "products of complex numbers": (lambda z: ((z + 1) * z * (z * z)) * (z - 1), COMPLEX[:1, :1]),
    "complex, layout": (lambda z: xp.real(z.T) * 2.0 + xp.imag(z).T, COMPLEX),
    "one complex number": (
        lambda z: [z * z * z * z, (z + 1j) * (z - 2j) * z],
        COMPLEX[1:2, 2:3].copy(),
    ),
    "scalars": (ag.value_and_grad(scalars), V),
    "float32 scalars": (ag.value_and_grad(scalars), V.astype("float32")),
    "arrays without axes": (ag.grad(lambda x, y: x * y + 2.0 * x - y / (x * x)), *NUMBERS),
    "arrays without axes, float32": (
        lambda x, y: (x * y - x, x * W[0, 0], y * 2.0),
        *(each.astype("float32") for each in NUMBERS),
    ),
    "a number": (lambda x: x * x + 1.0, np.float64(2.0)),
    "0-d": (lambda x: (x * x + 1.0) * V, np.asarray(2.0)),
    "empty": (ag.grad(lambda x: xp.sum(xp.sin(x) * 2.0)), np.zeros((0, 3))),
    "views": (lambda x: (x.T[1:, ::-1] * 2.0, xp.reshape(x, (-1,)), x[..., None] + 1.0), X),
    "views of what is computed": (lambda x: ((y := x * 2.0).T, y[0], y), X),
    "a scalar twice": (lambda x: [y := xp.sum(x), y, y * 1.0], X),
    "an argument": (lambda x: (x, x, x.T), X),
    "reductions": (lambda x: [xp.sum(x * x, axis=0), xp.max(x, axis=1, keepdims=True)], X),
    "broadcast": (lambda x, y: (x * y[:, :1] + y[0]) * xp.broadcast_to(x[0, 0], (4, 5)), X, Y),
    "linalg": (lambda x: xp.linalg.inv(x @ x.T + 4 * xp.eye(4)) @ (x * 2.0), X),
    "batches": (ag.vmap(ag.grad(lambda x: xp.sum(xp.tanh(x) * x))), X),
    "numbers": (lambda x: x * float("inf") - x * float("nan") + -0.0 * x, V),
    "large": (ag.grad(chained), np.linspace(-1, 1, 10**5)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_run_is_the_steps_one_after_the_other(name):
    f, *args = CASES[name]
    program = program_of(f, *args)
    writer = NumpyWriter(program)
    verify(program, writer.plan, writer.way)
    run, plain = writer.runnable(), straight(program)
    with np.errstate(all="ignore"):
        wanted = plain(args)
        given = [np.array(each) for each in args]
        found = run(args)
        # Nobody may see a second run in what the first one gave, nor change it by writing there.
        kept = [np.array(each) for each in found]
        again = run(args)
        assert [*map(same, found, wanted)] == [True] * len(wanted)
        assert [*map(same, again, wanted)] == [True] * len(wanted)
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found, kept, strict=True))
        for each in found:
            if isinstance(each, np.ndarray):
                each[...] = 7
        assert [*map(same, again, wanted)] == [True] * len(wanted)
        assert [*map(same, run(args), wanted)] == [True] * len(wanted)
    for one, other in zip(given, args, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["network", "scatter", "writes", "scalars", "hessian"])
def test_other_arguments_than_those_of_the_trace(name):
    f, *args = CASES[name]
    program = program_of(f, *args)
    run, plain = lowering.lower(program), straight(program)
    for factor in (2.0, -0.5, 1e200, np.nan):
        with np.errstate(all="ignore"):
            others = [each * factor for each in args]
            assert all(map(same, run(others), plain(others)))


def test_it_is_what_numpy_arrays_get():
    assert lowering_for("numpy", "numpy") is lowering
    assert lowering.preference > lowering_for("numpy", "plain").preference


def test_numbers_that_overflow_warn_in_each_run():
    x = np.ones(3, "float32")
    with np.errstate(over="ignore"):
        run = lowering.lower(program_of(lambda x: x * 1e300, x))
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert np.isinf(run([x])[0]).all()


def test_threads_have_buffers_of_their_own():
    program = program_of(ag.grad(network, (0, 1)), X, W)
    run, plain = lowering.lower(program), straight(program)
    given = [[X * factor, W] for factor in range(1, 9)]
    wanted, wrong = [plain(each) for each in given], []

    def repeat(number):
        for _ in range(200):
            if not all(map(same, run(given[number]), wanted[number])):
                wrong.append(number)

    in_threads(repeat, range(8))
    assert not wrong


def test_an_array_for_a_number_is_not_for_powers():
    """NumPy squares where the exponent is the number 2, and not where it is an array of them."""
    x = np.sin(np.arange(60.0)).astype("f4").reshape(6, 10)

    def f(x):
        return x / 2.0, x**2.0, x / 2, x**2

    run = lowering.lower(program_of(f, x))
    for found, expected in zip(run([x]), f(x), strict=True):
        assert same(found, expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_values_are_put_one_after_the_other_in_planned_memory(order):
    x = np.asarray(np.sin(np.arange(40000.0)).reshape(200, 200), order=order)

    def f(x):
        return xp.concat([x, xp.exp(x), x[:3]]) @ (x + 1.0) + xp.sum(xp.concat([x, x], axis=1))

    run = lowering.lower(program_of(f, x))
    expected = run([x])[0]
    assert same(expected, f(x).data)
    assert peak_of(lambda: run([x])) < 2 * expected.nbytes + 10**4
    other = np.asarray(x[::-1] * 2.0, order=order)
    assert same(run([other])[0], f(other).data)
    assert same(run([x])[0], expected)


def test_buffers_come_back_from_a_run_that_raises(monkeypatch):
    taken = Counter()
    take = Buffers.take

    def counted(self):
        taken[bool(self.free)] += 1
        return take(self)

    monkeypatch.setattr(Buffers, "take", counted)
    x = np.eye(3)
    run = lowering.lower(program_of(lambda x: xp.linalg.inv(xp.sin(x) * 2.0) + 1.0, x))
    run([x])
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError):
            run([np.zeros((3, 3))])
    assert same(run([x])[0], np.linalg.inv(np.sin(x) * 2.0) + 1.0)
    assert taken == {False: 1, True: 4}


def test_a_second_run_allocates_only_its_results():
    x = np.linspace(0, 1, 10**5)
    run = lowering.lower(program_of(ag.grad(chained), x))
    run([x])
    assert peak_of(run, [x]) < x.nbytes + 10**4


def test_what_only_becomes_a_result_is_computed_in_its_memory():
    x = np.linspace(0.0, 1.0, 1000)
    program = program_of(lambda x: (xp.sin(xp.exp(x + 1.0)) * x, xp.cos(x)), x)
    assert lowering.describe(program)["buffers"] == []
    run = lowering.lower(program)
    first, second = run([x]), run([-x])
    assert peak_of(run, [x]) < 2 * x.nbytes + 2000
    for found, given in ((first, x), (second, -x)):
        assert all(map(same, found, straight(program)([given])))
        assert not np.shares_memory(*found)


def test_a_result_that_is_read_again_is_not_written_over():
    program = program_of(lambda x: (y := xp.exp(x), xp.sin(y), xp.sin(x.T).T + y), X)
    assert all(map(same, lowering.lower(program)([X]), straight(program)([X])))


# NumPy's operator between two complex scalars rounds products otherwise than its ufunc.
COMPLEX = {
    "product": lambda x, y: x * y,
    "function": lambda x, y: xp.multiply(x, y),
    "square": lambda x, y: x * x,
    "number": lambda x, y: x * (2.5 + 1j),
    "quotient": lambda x, y: x / y,
    "reciprocal": lambda x, y: (2.5 + 1j) / y,
    "power": lambda x, y: x**2,
    "difference": lambda x, y: x - 2.0 * y,
    "gradient": ag.grad(lambda x, y: xp.real(x * y / (x + y)) + xp.imag(x * x)),
}


@pytest.mark.parametrize("lowering", ["plain", "numpy"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_scalars_round_as_without_compile(name, dtype, lowering):
    draws = np.random.default_rng(3).standard_normal((50, 2, 2))
    pairs = np.asarray(draws[..., 0] + 1j * draws[..., 1], dtype)
    f = COMPLEX[name]

    def of_elements(x, y):
        return f(x[0], y[0])

    arrays = [] if name == "gradient" else [(f, (1,)), (f, (3,))]
    for plain, shape in ((of_elements, (1,)), (f, ()), *arrays):
        compiled = ag.compile(plain, lowering=lowering)
        for x, y in pairs:
            x, y = np.full(shape, x), np.full(shape, y)
            found = plain(xp.asarray(x), xp.asarray(y))
            expected = found.data if isinstance(found, ag.Variable) else found
            assert bits(compiled(x, y)) == bits(expected)


def test_an_imaginary_number_times_a_scalar_is_a_scalar_of_the_library():
    # Python's own product is a number of Python's: NumPy's float64 is a float.
    def f(x):
        sign, logarithm = xp.linalg.slogdet(x)
        return xp.real(sign) + logarithm

    x = np.asarray([[2.0 + 0.5j, 0.5], [-0.3j, 1.5 - 0.2j]])
    for each in ("plain", "numpy"):
        assert bits(ag.compile(ag.grad(f), lowering=each)(x)) == bits(ag.grad(f)(x))
