"""The plugin ``digits``: its estimates are near the true errors, and it names the right lines."""

import inspect
import math
import threading

import mpmath
import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError
from agnograd.extend import hookimpl
from classics import CLASSICS, exactly

xp = ag.namespace("numpy")


def estimated(f, *args):
    """Return a value, and what the plugin says of it."""
    with ag.hooks("digits") as (digits,):
        value, _ = ag.value_and_grad(f, argnums=tuple(range(len(args))))(*args)
    return value, digits


def line_of(function, text):
    lines, start = inspect.getsourcelines(function)
    (offset,) = [i for i, line in enumerate(lines) if f"# {text}" in line]
    return f"{function.__code__.co_filename}:{start + offset} in {function.__name__}"


# The true error, by mpmath. At one input it may be small by luck: the largest at several inputs
# near each other is compared.


def nearby(classic, x, count=8):
    """Return exact results for inputs that are rounded to the floats next to these."""
    drawn = np.random.default_rng(0)
    for _ in range(count):
        side = np.where(drawn.random(x.shape) < 0.5, -np.inf, np.inf).astype(x.dtype)
        yield exactly(classic, np.nextafter(x, side))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classic", CLASSICS, ids=lambda classic: classic.name)
def test_the_estimate_is_within_a_factor_of_ten(classic, dtype):
    true, estimates, most = [], [], []
    for numbers in classic.single if dtype is np.float32 else classic.double:
        x = np.asarray(numbers, dtype=dtype)
        value, digits = estimated(lambda x: classic.program(xp, x), x)
        exact = exactly(classic, x)
        true.append(float(abs(mpmath.mpf(float(value)) - exact)))
        most.append(true[-1])
        if classic.solves:  # on some processor, as far as the last digits of its inputs decide
            most += [abs(float(each - exact)) for each in nearby(classic, x)]
        estimates.append(digits.error)
        assert digits.value == pytest.approx(float(value), rel=1e-6)
        assert digits.worst >= digits.error > 0.0
        assert true[-1] <= 10 * digits.worst
    assert max(true) / 10 <= max(estimates) <= max(most) * 10


def random(*shape, around=0.0):
    return np.random.default_rng(math.prod(shape)).normal(size=(8, *shape)) + around


ARRAYS = {
    "sum": (lambda x: xp.sum(x), [random(3000)]),
    "sum of one sign": (lambda x: xp.sum(xp.abs(x)), [random(3000)]),
    "sum along the first axis": (lambda x: xp.sum(x, axis=0)[1], [random(2000, 3, around=1.0)]),
    "mean": (lambda x: xp.mean(x) ** 2, [random(3000)]),
    "cumulative sum": (lambda x: xp.cumulative_sum(x)[-1], [random(2000)]),
    "product": (lambda x: xp.prod(x), [random(30) * 0.1 + 1.0]),
    "variance": (lambda x: xp.var(x), [random(1000, around=10.0)]),
    "norm": (lambda x: xp.linalg.vector_norm(x), [random(1000)]),
    "matmul": (lambda a, b: (a @ b)[0, 0], [random(3, 1000), random(1000, 2)]),
    "vecdot": (lambda a, b: xp.vecdot(a, b), [random(1000), random(1000)]),
    "tensordot": (lambda a, b: xp.tensordot(a, b, axes=1)[0], [random(2, 300), random(300)]),
    "einsum": (lambda a, b: xp.einsum("ij,j->i", a, b)[0], [random(3, 300), random(300)]),
    "convolution": (lambda a, b: xp.nn.conv1d(a, b)[0, 0, 0], [random(1, 3, 40), random(2, 3, 20)]),
    "det": (lambda a: xp.linalg.det(a), [random(6, 6)]),
    "inv": (lambda a: xp.linalg.inv(a)[0, 0], [random(20, 20)]),
    "eigenvalue": (lambda a: xp.linalg.eigvalsh(a + a.mT)[0], [random(8, 8)]),
    "fft": (lambda x: xp.real(xp.fft.fft(x)[7]), [random(512)]),
    "number": (lambda x: xp.sum((x + 0.1) * 0.3), [random(1) * 1e-2]),
    "special": (lambda x: xp.sum(xp.special.erf(x)), [random(3)]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_so_it_is_for_ops_of_arrays(name):
    f, draws = ARRAYS[name]
    true, estimates = [], []
    for arrays in zip(*draws, strict=True):
        single = [each.astype(np.float32) for each in arrays]
        value, digits = estimated(f, *single)
        exact = f(*[xp.asarray(each.astype(np.float64)) for each in single])
        true.append(abs(float(value) - exact.item()))
        estimates.append(digits.error)
    assert max(true) / 10 <= max(estimates) <= max(true) * 10


def test_a_cast_rounds_if_it_is_to_less():
    x = np.asarray(1 / 3)
    value, digits = estimated(lambda x: xp.astype(x, xp.float32), x)
    assert abs(float(value) - float(x)) <= digits.error == pytest.approx(float(x) * 2.0**-24)
    assert [line.dtype for line in digits.lines] == ["float32"]
    _, digits = estimated(lambda x: xp.astype(x, xp.float64), np.asarray(1 / 3, dtype=np.float32))
    assert digits.error == 0.0


# What it says of lines


def difference(x):
    y = x + 1.0
    z = xp.exp(x)  # loses
    return (z - y) / (x * x)


def test_it_names_the_line_that_loses():
    _, digits = estimated(difference, np.asarray(1e-3, dtype=np.float32))
    first, second, *_ = digits.lines
    assert {first.op, second.op} == {"exp", "add"}
    assert first.share + second.share > 0.99
    assert sum(line.share for line in digits.lines) == pytest.approx(1.0)
    (line,) = [each for each in digits.lines if each.op == "exp"]
    assert line.location == line_of(difference, "loses")
    assert (line.dtype, line.calls) == ("float32", 1)


def test_lines_that_need_double_precision_are_enough():
    def program(dtype):
        def f(x):
            y = xp.astype(x, dtype) + 1.0
            z = xp.exp(xp.astype(x, dtype))
            return xp.astype(z - y, xp.float32) / (x * x)

        return f

    x = np.asarray(1e-3, dtype=np.float32)
    _, digits = estimated(program(xp.float32), x)
    needed = digits.need_double(5)
    assert len(needed) == 2  # which make y and z
    _, wide = estimated(program(xp.float64), x)
    assert digits.digits < 1 < 5 < wide.digits
    assert estimated(program(xp.float32), x)[1].need_double(0.1) == []
    with pytest.raises(ArithmeticError, match=r"12 digits are out of reach: .* would be right"):
        digits.need_double(12)


@pytest.mark.parametrize("wrong", [0, -1, True, "6", None, math.nan, 1e9])
def test_need_double_takes_a_number_of_digits(wrong):
    _, digits = estimated(difference, np.asarray(1e-3, dtype=np.float32))
    with pytest.raises(ArgumentError, match="need_double takes a number of digits"):
        digits.need_double(wrong)


def test_the_summary():
    _, digits = estimated(difference, np.asarray(1e-2, dtype=np.float32))
    head, columns, row, *rest = digits.summary().splitlines()
    assert head.startswith("result 0.50")
    assert "digits are right" in head
    assert columns.split() == ["share", "error", "calls", "op", "dtype", "line"]
    assert row.endswith(" in difference")
    assert "for 6 digits, compute in double precision:" in rest
    assert any(each.startswith("if the inputs were rounded, too: ") for each in rest)
    assert repr(digits).startswith("<Digits: error ")
    digits.reset()
    assert (digits.error, digits.digits, digits.value, digits.lines) == (None, None, None, ())
    assert repr(digits) == "<Digits: no pass yet>"
    with pytest.raises(ArgumentError, match="no backward pass has finished yet"):
        digits.summary()


def test_what_rounds_nothing_has_no_error():
    _, digits = estimated(lambda x: xp.max(-x[::2]), np.asarray([1.0, 2.0, 3.0]))
    assert (digits.error, digits.worst, digits.lines, digits.digits) == (0.0, 0.0, (), math.inf)
    assert "without rounding errors" in digits.summary()
    assert digits.inputs == 2.0**-53


def test_compensation_is_seen():
    """The roundings that Kahan's algorithm makes good have a derivative of 0."""
    x = np.random.default_rng(0).random(100)
    programs = {classic.name: classic.program for classic in CLASSICS}
    _, plain = estimated(lambda x: programs["plain sum"](xp, x), x)
    _, compensated = estimated(lambda x: programs["compensated sum"](xp, x), x)
    assert compensated.error < plain.error / 4


# Which pass it is about


def test_it_is_about_the_latest_pass_and_its_value():
    x = ag.Variable(np.asarray([1.0, 2.0]))
    with ag.hooks("digits") as (digits,):
        xp.exp(x).backward(np.asarray([2.0, 0.5]), retain_graph=True)
        first = digits.error
        assert digits.value == pytest.approx(2.0 * math.e + 0.5 * math.e**2)
        y = x * 3.0
        ag.autodiff.backward([y, xp.sum(y)], [np.ones(2), None])
    assert digits.value is None
    assert digits.digits is None
    assert digits.summary().startswith("several results, error about ")
    assert digits.error != first
    with pytest.raises(ArgumentError, match="start it from one"):
        digits.need_double()


def test_a_second_pass_over_a_graph_says_the_same():
    x = ag.Variable(np.asarray([1.0, 2.0]))
    with ag.hooks("digits") as (digits,):
        y = xp.sum(xp.exp(x))
        y.backward(retain_graph=True)
        first = digits.lines
        y.backward()
    assert digits.lines == first


def test_of_a_gradient():
    """In a pass over a pass, the result is a derivative: that of x**3 is 3 x**2."""
    _, digits = estimated(ag.grad(lambda x: x * x * x), np.asarray(2.0))
    assert digits.value == 12.0
    assert 15 < digits.digits < 17


def test_a_checkpoint_hides_nothing():
    def block(x):
        return xp.exp(x) - x

    x = np.asarray(1e-3)
    _, plain = estimated(lambda x: block(x) - 1.0, x)
    _, again = estimated(lambda x: ag.checkpoint(block)(x) - 1.0, x)
    assert again.error == pytest.approx(plain.error)
    assert {line.op for line in again.lines} == {"exp", "subtract"}


def test_ops_before_the_plugin_are_counted_as_not_seen():
    x = ag.Variable(np.asarray(1.0))
    y = xp.exp(x)
    with ag.hooks("digits") as (digits,):
        (y * 3.0).backward()
    assert "not counted: 1 ops that ran before the plugin was active" in digits.summary()


def test_a_pass_that_fails_changes_nothing():
    class Broken(ag.Function):
        def forward(self, xp, x):
            return x * 2.0

        def backward(self, xp, g):
            raise ZeroDivisionError

    x = ag.Variable(np.asarray(1.0))
    with ag.hooks("digits") as (digits,):
        xp.exp(x).backward()
        before = digits.error
        with pytest.raises(ZeroDivisionError):
            Broken()(xp.exp(x) * 3.0).backward()
        assert digits.error == before
        xp.exp(x * 2.0).backward()
    assert digits.error != before


def test_another_plugin_that_fails_leaves_the_next_pass_alone():
    class Broken:
        @hookimpl
        def backward_finish(self):
            raise ZeroDivisionError

    x = ag.Variable(np.asarray(1.0))
    with ag.hooks("digits") as (digits,):
        with ag.hooks(Broken()), pytest.raises(ZeroDivisionError):
            xp.exp(x).backward()
        xp.exp(x * 2.0).backward()
    assert {line.op for line in digits.lines} == {"exp", "multiply"}


def test_each_thread_has_its_own_pass():
    found = {}
    with ag.hooks("digits"):  # nothing of this scope is in others
        start = threading.Barrier(2)

        def run(n):
            start.wait()
            for _ in range(20):
                _, digits = estimated(lambda x: xp.sum(xp.exp(x * float(n))), np.ones(n))
            found[n] = digits.lines

        threads = [threading.Thread(target=run, args=(n,)) for n in (2, 3)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    for n in (2, 3):
        _, digits = estimated(lambda x, n=n: xp.sum(xp.exp(x * float(n))), np.ones(n))
        assert [line.error for line in found[n]] == [line.error for line in digits.lines]


def test_it_keeps_nothing_of_a_graph_that_is_gone():
    with ag.hooks("digits") as (digits,):
        for _ in range(3):
            x = ag.Variable(np.ones(3))
            y = xp.sum(xp.exp(x) * x)
            y.backward()
        kept = len(digits._roundings)
        del y
        assert (kept, len(digits._roundings)) == (3, 0)


# Values of every kind


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_values_of_every_kind(xp, dtype):
    def f(x):
        y = xp.exp(x) / (x + 2.0)
        return xp.real(xp.sum(xp.matmul(y, y) if y.ndim > 1 else y * y))

    if not hasattr(xp, dtype):
        pytest.skip(f"this library has no {dtype}")
    for value in (0.5, 0.0, 1e-30, math.nan):
        for shape in ((), (3,), (0,), (2, 2)):
            x = xp.full(shape, value, dtype=getattr(xp, dtype)).data
            with ag.hooks("digits") as (digits,):
                ag.grad(f)(x)
            assert digits.summary()
            if 0 in shape:
                assert digits.error == 0.0
            elif math.isnan(value):
                assert math.isnan(digits.error)
                assert digits.digits == 0.0
            else:
                assert 0.0 < digits.error < abs(digits.value) / 10


def test_nothing_overflows_that_the_program_has_not():
    huge = np.asarray([3e38, -3e38, 1e38, 1e-38], dtype=np.float32)
    for f in (
        lambda x: xp.sum(x),
        lambda x: xp.mean(x) * 1e-3,
        lambda x: xp.vecdot(x, x[::-1] * 1e-39),
        lambda x: xp.sum(x * 0.1),
    ):
        _, digits = estimated(f, huge)
        assert 0.0 < digits.error < 1e33
        assert math.isfinite(digits.inputs)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64", "complex128"])
def test_sizes_are_taken_at_both_ends_of_the_range(dtype):
    limits = np.finfo(dtype)
    for size in (limits.smallest_subnormal, limits.max / 64):
        x = np.full(3, size, dtype=dtype)
        for f in (xp.sum, xp.mean, lambda x: xp.sum(xp.stack([x, -x]) * 2.0 + x)):
            _, digits = estimated(lambda x, f=f: xp.real(f(x)), x)
            assert float(size) / 2 < digits.value < 10 * float(size)
            assert 0.0 <= digits.error < digits.value * 10 * float(limits.eps) + 1e-300


@pytest.mark.parametrize("count", [2, 3, 100])
def test_infinities_warn_of_nothing_that_the_program_does_not(count):
    x = np.ones(count)
    x[0] = math.inf
    for f in (xp.sum, xp.mean, lambda x: xp.vecdot(x, x), lambda x: xp.max(xp.exp(x))):
        value, digits = estimated(f, x)
        assert float(value) == digits.value == digits.error == math.inf
        assert digits.digits == 0.0


def test_a_branch_that_was_not_taken_adds_nothing():
    def f(x):
        safe = x > 0
        return xp.sum(xp.where(safe, xp.exp(xp.log(x) / 1e-300), xp.exp(x)))

    with np.errstate(all="ignore"):
        _, digits = estimated(f, np.asarray([1.0, 0.0]))
    assert 0.0 < digits.error < 1e-15


def test_members_of_vmap_add_up():
    with ag.hooks("digits") as (digits,):
        ag.vmap(ag.grad(lambda x: xp.sum(xp.exp(x))))(np.ones((3, 4)))
    many = digits.error
    _, digits = estimated(lambda x: xp.sum(xp.exp(x)), np.ones(4))
    assert digits.error < many < 3 * digits.error
