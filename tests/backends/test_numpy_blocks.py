"""Element-wise groups that are computed block by block, by several threads too."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._programs.straight import straight
from agnograd_compile._programs.verify import verify
from agnograd_numpy import _blocks
from agnograd_numpy._blocks import grouped
from agnograd_numpy._threads import each, threads
from agnograd_numpy.lowering import NumpyWriter, lowering
from memory import peak_of
from tests.backends.test_numpy_lowering import program_of, same
from threads import in_threads

xp = ag.namespace("numpy")
SIZE = 50_003  # blocks of 4,096 leave a rest
X = np.linspace(-2.0, 3.0, SIZE)
SQUARE = X[: 220 * 220].reshape(220, 220)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(_blocks, "GROUPED_BYTES", 0)
    monkeypatch.setattr(_blocks, "THREAD_WORK", 2**12)
    monkeypatch.setattr(_blocks, "LONGEST_BLOCK", 2**12)


def chained(x):
    for _ in range(3):
        x = xp.sin(x * 0.9 + 0.1) * x
    return xp.sum(x)


def sums(x):
    y = xp.exp(x * 0.1)
    total = xp.sum(y)
    z = xp.sin(y) * y
    return xp.sum(z / total) + total, z - total


def with_guards(x):
    y = xp.exp(x) + 1.0
    z = y * y
    return xp.log(z) * x if xp.sum(z) > 0.0 else z


CASES = {
    "gradient": (ag.grad(chained), X),
    "value and gradient": (ag.value_and_grad(chained), X),
    "float32": (ag.value_and_grad(chained), X.astype("float32")),
    "complex": (lambda z: xp.abs(xp.exp(z * z) - z * 2.0), X * 1j + 1.0),
    "integers": (lambda x: (x * x + x) // (x + 7) - (x & x), np.arange(SIZE)),
    "booleans": (lambda x: (x > 0) & ~(x * 2.0 < 1.0), X),
    "mixed dtypes": (lambda x, y: (x * y + 1.0) * (y > 0), X, np.arange(SIZE, dtype="int32")),
    "columns first": (ag.grad(chained), np.asfortranarray(SQUARE)),
    "permuted axes": (ag.grad(chained), X[:50_000].reshape(10, 50, 100).transpose(1, 2, 0)),
    "every other": (ag.grad(chained), np.repeat(X, 2)[::2]),
    "backward": (ag.grad(chained), X[::-1]),
    "a scalar": (lambda x, s: xp.sin(x * s) * s + s * s, X, np.float64(3.0)),
    "an element": (lambda x: xp.sin(x * x[0]) * x[1] + x[2], X),
    "rows": (lambda x: xp.sin(x + x[0]) * 2.0 * xp.cos(x) - x * x[:, :1], SQUARE),
    "transposed": (lambda x: xp.sin(x * 2.0) * xp.cos(x.T) * 3.0 + x.T * 2.0, SQUARE),
    "sums between": (sums, X),
    "guards": (with_guards, X),
    "two sizes": (lambda x: (xp.sin(x) * 2.0 + x, xp.cos(x[1:]) * x[:-1] - 1.0), X),
    "second derivative": (ag.grad(lambda x: xp.sum(ag.grad(chained)(x) ** 2)), X),
    "powers": (lambda x: (x * x + 1.0) ** 2 + (x * x + 1.0) ** 0.5 + 2.0**x, X),
    "extremes": (lambda x: xp.maximum(x, 0.5) * xp.minimum(x, 1.0) - x, X),
}


UNGROUPED = ("every other", "backward", "complex")


@pytest.mark.parametrize("count", ["1", "3"])
@pytest.mark.parametrize("name", CASES)
def test_blocks_compute_the_same_bits(name, count, monkeypatch):
    monkeypatch.setenv("AGNOGRAD_NUM_THREADS", count)
    f, *args = CASES[name]
    program = program_of(f, *args)
    groups = grouped(program)
    assert "@blocks" in {step.op for step in groups.steps} or name in UNGROUPED
    writer = NumpyWriter(groups)
    verify(groups, writer.plan, writer.way)
    run, wanted = writer.runnable(), straight(program)(args)
    for _ in range(2):
        assert [*map(same, run(args), wanted)] == [True] * len(wanted)


def test_what_does_not_fit_splits_no_group():
    program = grouped(program_of(ag.value_and_grad(chained), X))
    names = [step.op for step in program.steps]
    assert names.count("@blocks") == 1
    assert names.index("@blocks") < names.index("sum")


def test_groups_and_buffers_are_described():
    program = program_of(ag.value_and_grad(chained), X)
    found = lowering.describe(program)
    ((first, *_),) = found["groups"]
    assert program.steps[first].op == "multiply"
    assert 2**12 * 8 in found["buffers"]
    assert "_blocks_" in found["source"]


def test_a_guard_ends_a_group():
    names = [step.op for step in grouped(program_of(with_guards, X)).steps]
    assert names.index("@blocks") < names.index("@guard") < names.index("@blocks", 3)


def test_small_arrays_and_small_groups_are_left_alone(monkeypatch):
    monkeypatch.setenv("AGNOGRAD_NUM_THREADS", "1")
    small = program_of(ag.grad(chained), X[:1000])
    assert grouped(small) is small
    monkeypatch.setattr(_blocks, "GROUPED_BYTES", 2**40)
    program = program_of(ag.grad(chained), X)
    assert grouped(program) is program


UFUNCS = (np.sin, np.cos, np.tan, np.exp, np.log, np.tanh, np.sqrt, np.arctan, np.expm1, np.cbrt)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_numpy_gives_each_element_the_same_bits_in_any_block(ufunc, dtype):
    x = np.random.default_rng(0).uniform(0.01, 5.0, 1021).astype(dtype)
    whole = ufunc(x)
    for length in (1, 3, 8, 17, 64, 100):
        parts = [ufunc(x[i : i + length]) for i in range(0, len(x), length)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()
        assert ufunc(x.copy()[length:]).tobytes() == whole[length:].tobytes()
    assert ufunc(own := x.copy(), own).tobytes() == whole.tobytes()


BINARY = (np.power, np.arctan2, np.hypot, np.logaddexp, np.divide, np.multiply, np.fmod)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ufunc", BINARY, ids=lambda ufunc: ufunc.__name__)
def test_numpy_gives_each_pair_the_same_bits_in_any_block(ufunc, dtype):
    x, y = np.random.default_rng(0).uniform(0.01, 5.0, (2, 1021)).astype(dtype)
    whole = ufunc(x, y)
    for length in (1, 3, 8, 17, 64, 100):
        places = [slice(i, i + length) for i in range(0, len(x), length)]
        parts = [ufunc(x[place], y[place]) for place in places]
        assert np.concatenate(parts).tobytes() == whole.tobytes()
    assert ufunc(own := x.copy(), y, own).tobytes() == whole.tobytes()
    assert ufunc(x, own := y.copy(), own).tobytes() == whole.tobytes()


@pytest.mark.parametrize("count", ["1", "4"])
def test_errors_are_as_the_caller_wants_them(count, monkeypatch):
    monkeypatch.setenv("AGNOGRAD_NUM_THREADS", count)
    run = lowering.lower(program_of(lambda x: xp.log(xp.exp(x) - 1.0) * 2.0, X + 5.0))
    wanted = run([X + 5.0])
    for place in (0, SIZE // 2, SIZE - 1):
        x = X + 5.0
        x[place] = 0.0
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            run([x])
        with np.errstate(divide="ignore"):
            assert np.isinf(run([x])[0]).sum() == 1
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            run([x])
    assert [*map(same, run([X + 5.0]), wanted)] == [True]


def test_the_environment_says_how_many_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.setenv("AGNOGRAD_NUM_THREADS", "3")
    assert threads() == 3
    monkeypatch.setenv("AGNOGRAD_NUM_THREADS", "many")
    assert threads() == 5
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert 1 <= threads() <= (os.cpu_count() or 1)


def test_all_parts_are_done_before_an_error_is_raised():
    begun, go_on, done = threading.Event(), threading.Event(), []

    def part(number):
        if number == 0:
            begun.set()
            assert go_on.wait(10)
            done.append(number)
        else:
            assert begun.wait(10)
            go_on.set()
            raise ValueError(number)

    with pytest.raises(ValueError, match="1"):
        each(part, [(0,), (1,)])
    assert done == [0]


def test_callers_in_several_threads(monkeypatch):
    monkeypatch.setenv("AGNOGRAD_NUM_THREADS", "2")
    program = program_of(ag.grad(chained), X)
    run, plain = lowering.lower(program), straight(program)
    given = [[X * factor] for factor in (0.5, 1.0, 1.5, 2.0)]
    wanted, wrong = [plain(each) for each in given], []

    def repeat(number):
        for _ in range(10):
            if not same(run(given[number])[0], wanted[number][0]):
                wrong.append(number)

    in_threads(repeat, range(4))
    assert not wrong


def test_a_second_run_takes_no_memory_for_parts_that_meet(monkeypatch):
    monkeypatch.setenv("AGNOGRAD_NUM_THREADS", "2")
    run = lowering.lower(program_of(ag.grad(chained), X))

    def one_by_one(function, parts):
        for part in parts:
            function(*part)

    with monkeypatch.context() as alone:  # on a busy machine a part may be done before the next
        alone.setattr(_blocks, "each", one_by_one)
        run([X])
    meet = threading.Barrier(2, timeout=10)

    def together(function, parts):
        each(lambda *part: (meet.wait(), function(*part)), parts)

    monkeypatch.setattr(_blocks, "each", together)
    assert peak_of(run, [X]) < X.nbytes + 2 * 10**4


FORKED = """
import os, numpy as np
from agnograd_numpy._threads import each
found = np.zeros(4)
each(found.__setitem__, [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0)])
child = os.fork()
if child == 0:
    each(found.__setitem__, [(0, 2.0), (1, 2.0), (2, 2.0), (3, 2.0)])
    os._exit(int(found.sum()))
print(found.sum(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_of_a_fork_has_threads_of_its_own():
    run = [sys.executable, "-c", FORKED]
    found = subprocess.run(run, capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.split() == ["4.0", "8"]
