"""Sums in parts of arrays that C computes with the values: gradients of slices."""

import numpy as np
import pytest

import agnograd as ag
import agnograd_c
from agnograd_c._choose.places import region_of
from agnograd_c._run import lowering
from agnograd_c._write import arrays
from agnograd_c.kernels import calls
from agnograd_compile._passes.passes import run as improved
from agnograd_compile.lowering import Fact
from in_c import needs_compiler
from memory import peak_of
from threads import in_threads
from traced import traced

XP = ag.namespace("numpy")

needs_compiler()


pytestmark = pytest.mark.usefixtures("c_folder")


@pytest.fixture(autouse=True)
def added(monkeypatch, small_groups):
    """Let groups of one step be worth it; the list has how often each group adds to a part."""
    found, function = [], arrays.ArrayWriter.function

    def counted(self):
        made = function(self)
        if made is not None and self.adding:
            found.append(len(self.adding.additions))
        return made

    monkeypatch.setattr(arrays.ArrayWriter, "function", counted)
    return found


def window(weights, x):
    """Return the squares of a signal that weights smooth."""
    width, count = weights.shape[0], x.shape[0] - weights.shape[0] + 1
    smooth = weights[0] * x[:count]
    for k in range(1, width):
        smooth = smooth + weights[k] * x[k : k + count]
    return XP.sum(XP.tanh(smooth) ** 2)


def agree(f, arrays, tolerance=1e-11):
    """Check the gradients of a function against those that are not compiled; return these."""
    function = ag.grad(f, tuple(range(len(arrays))))
    with np.errstate(all="ignore"):
        expected = function(*arrays)
        compiled = ag.compile(function, lowering="c")
        for _ in range(2):  # the second run finds what the first one left in memory
            for one, other in zip(compiled(*arrays), expected, strict=True):
                assert (one.shape, one.dtype) == (other.shape, other.dtype)
                np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    return expected


def normal(*shape, dtype="float64"):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


def test_a_window_keeps_nothing(added):
    weights, x = normal(8), normal(5000)
    program = improved(traced("numpy", ag.grad(window, (0, 1)), weights, x))
    run = agnograd_c.lowering.lower(program)
    assert added == [8]
    assert not agnograd_c.lowering.describe(program)["buffers"]
    run([weights, x])
    assert peak_of(run, [weights, x]) < x.nbytes + 2**12


@pytest.mark.parametrize("width", [2, 40, 41])
def test_many_parts(added, width, monkeypatch):
    monkeypatch.setattr(arrays, "ADDED_PARTS", 40)
    agree(window, (normal(width), normal(700)))
    assert added == ([width] if width <= 40 else [])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, 1e-310, -0.0])
def test_special_values(added, value):
    x = normal(500)
    x[[3, 250, 499]] = value
    agree(window, (normal(4), x))
    assert added == [4]


def key_of(rng, shape, target):
    """Return a key that selects as much as ``target``, and one number of each axis after it."""
    key = []
    for length, count in zip(shape, (*target, None), strict=False):
        if count is None:
            key.append(int(rng.integers(-length, length)))
            continue
        step = int(rng.choice([1, 1, 2, -1, -2]))
        if (count - 1) * abs(step) >= length:
            step //= abs(step)
        first = int(rng.integers(0, length - (count - 1) * abs(step)))
        last = first + (count - 1) * abs(step)
        if step < 0:
            key.append(slice(last, first - 1 if first else None, step))
        else:
            key.append(slice(first, last + 1, step))
    return tuple(key)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_random_keys(added, seed):
    rng = np.random.default_rng(seed)
    axes = seed % 3 + 1
    lengths = [1, 5, 300, 1500] if axes == 1 else [1, 3, 20, 70]
    target = tuple(int(rng.choice(lengths)) for _ in range(axes))
    shape = tuple(n + int(rng.integers(0, 9)) for n in target) + (4,) * (seed % 2)
    dtype = "float32" if seed % 5 == 4 else "float64"
    keys = [key_of(rng, shape, target) for _ in range(int(rng.integers(1, 8)))]

    def f(x, w, b):
        total = b * 1.0
        for k, key in enumerate(keys):
            part = x[key]
            if seed % 4 == 1:
                part = XP.sin(part)
            if seed % 4 == 2:  # some values are there later than others
                part = part * XP.mean(total, axis=-1, keepdims=True)
            total = total + w[k] * part
            if seed % 4 == 3 and k == 1:
                total = total * XP.max(total)
        return XP.sum(XP.tanh(total) ** 2) + XP.sum(XP.mean(total, axis=-1) ** 2)

    arrays = [rng.standard_normal(each).astype(dtype) for each in (shape, len(keys), target)]
    agree(f, arrays, 1e-9 if dtype == "float64" else 2e-3)


@pytest.mark.slow
def test_the_random_keys_are_added(added):
    for seed in range(6):
        test_random_keys(added, seed)
    assert sum(added) > 10


def test_results_in_between_are_what_they_are(added):
    def f(x):
        first = XP.scatter_add(x[:-2] * 2.0, (slice(1, 499),), shape=(500,))
        both = first + XP.scatter_add(x[2:] * 3.0, (slice(0, 498),), shape=(500,))
        return XP.sum(first * x) + XP.sum(both**3)

    agree(f, (normal(500),))


@pytest.mark.parametrize("start", [0.0, -0.0, 1.0])
def test_only_zeros_are_made(added, start):
    base = np.full(300, start)

    def f(x):
        made = XP.asarray(base)
        made[3:] = made[3:] + x * 2.0
        return made

    x = normal(297)
    np.testing.assert_array_equal(ag.compile(f, lowering="c")(x), f(x))


def test_threads_share_no_array(added, monkeypatch):
    """The sums of one thread may not meet those of another one: NumPy adds up then."""
    monkeypatch.setattr(lowering, "THREADED_STEPS", 1)
    found = []
    for count in ("1", "3"):
        monkeypatch.setenv("AGNOGRAD_NUM_THREADS", count)
        program = improved(traced("numpy", ag.grad(window, (0, 1)), normal(5), normal(9000)))
        assert lowering.in_c(program) is not program
        text = agnograd_c.lowering.describe(program)["source"]
        found.append((text.count("] +="), agnograd_c.lowering.lower(program)))
    assert found[1][0] == found[0][0] + 4
    for one, other in zip(*(run([normal(5), normal(9000)]) for _, run in found), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_without_an_extension_module(added, monkeypatch):
    monkeypatch.setattr(calls, "driver", lambda: None)
    agree(window, (normal(5), normal(3000)))
    assert added == [5]


def test_python_threads_at_once(added):
    compiled = ag.compile(ag.grad(window, (0, 1)), lowering="c")
    arrays = [(normal(6), normal(6000) * k) for k in range(1, 4)]
    expected = [ag.grad(window, (0, 1))(*each) for each in arrays]

    def work(number):
        return [compiled(*arrays[number]) for _ in range(10)]

    for number, results in enumerate(in_threads(work, range(3))):
        for each in results:
            for one, other in zip(each, expected[number], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("width", [8, 300])
def test_a_loop_is_not_made_short_for_a_part(added, width):
    """The values are read in one row, which a part of other rows would cut into short ones."""

    def f(x, w):
        return XP.sum(w * x[:, 1:-3]) + XP.sum(XP.sin(w) * x[:, 2:-2])

    gradient = ag.grad(f)  # by x only, for which no part of x is read
    x, w = normal(1000, width + 4), normal(1000, width)
    found = ag.compile(gradient, lowering="c")(x, w)
    np.testing.assert_allclose(found, gradient(x, w), rtol=1e-13, atol=1e-13)
    assert added == ([1] if width == 300 else [])


@pytest.mark.parametrize(
    "key",
    [
        *(
            3,
            -1,
            slice(None),
            slice(2, 5),
            slice(-3, None, -1),
            ...,
            (1, ...),
            (..., 2),
            (..., -1, 0),
        ),
        *((slice(5, 1, -2), 1), (slice(0, 0),), (0, slice(1, 3), slice(None, None, -1))),
        (slice(100), slice(-100, 2)),
    ],
)
def test_regions(key):
    x = np.arange(6 * 5 * 4).reshape(6, 5, 4)
    region = region_of(Fact(x.shape, x.dtype, x.strides, np.ndarray), key)
    memory = np.frombuffer(x, np.uint8)
    found = np.ndarray(region.shape, x.dtype, memory, region.offset, region.strides)
    np.testing.assert_array_equal(found, x[key])


@pytest.mark.parametrize(
    "key", [9, (0, 0, 0, 0), None, (..., None), [1, 2], True, np.array([0]), 1.0, slice(np.int8(1))]
)
def test_other_keys_are_none(key):
    assert region_of(Fact((6, 5, 4), np.dtype("f8"), (160, 32, 8), np.ndarray), key) is None
