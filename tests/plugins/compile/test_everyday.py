"""What users put into compiled functions: classes, generators, containers, loops, state."""

import dataclasses
import functools
import gc
import sys
import threading
import types
import warnings
import weakref
from collections import namedtuple

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError, CompileError
from agnograd_compile import _compiled as module
from exact import is_as_exact
from threads import in_threads

xp = ag.namespace("numpy")
X = np.arange(6.0).reshape(2, 3)


@pytest.fixture(autouse=True)
def _no_program_too_many():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def same(one, other):
    one, other = (np.asarray(getattr(each, "data", each)) for each in (one, other))
    return (one.shape, one.dtype) == (other.shape, other.dtype) and is_as_exact(one, other)


# -- methods ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Layer:
    w: object
    slope: float = 0.5

    @ag.compile
    def apply(self, x):
        return x @ self.w * self.slope


class Slots:
    __slots__ = ("w",)

    @ag.compile
    def apply(self, x):
        return x * self.w


def test_methods_of_dataclasses_read_the_attributes_in_each_call():
    layer, other = Layer(np.ones(3)), Layer(np.zeros(3), 2.0)
    assert same(layer.apply(X), X @ np.ones(3) * 0.5)
    assert same(other.apply(X), X @ np.zeros(3) * 2.0)
    layer.slope, layer.w = 3.0, np.full(3, 2.0)
    assert same(layer.apply(X), X @ np.full(3, 2.0) * 3.0)
    layer.w[0] = 7.0
    assert same(layer.apply(X), X @ layer.w * 3.0)
    copied = dataclasses.replace(layer, slope=1.0)
    assert same(copied.apply(X), X @ layer.w)


def test_methods_of_objects_with_slots():
    item = Slots()
    item.w = X + 1.0
    assert same(item.apply(X), X * (X + 1.0))


def test_compiled_methods_keep_only_the_latest_objects():
    alive = []
    for number in range(2 * module.OBJECTS):
        layer = Layer(np.full(3, float(number)))
        assert same(layer.apply(X), X @ layer.w * 0.5)
        alive.append(weakref.ref(layer))
        del layer
    gc.collect()
    assert sum(each() is not None for each in alive) <= module.OBJECTS


def test_class_methods_and_static_methods():
    class Scaled:
        k = 2.0

        @staticmethod
        @ag.compile
        def plus(x):
            return x + 1.0

        @classmethod
        @ag.compile
        def times(cls, x):
            return x * cls.k

    assert same(Scaled().plus(X), X + 1.0)
    assert same(Scaled().times(X), X * 2.0)
    Scaled.k = 3.0
    assert same(Scaled.times(X), X * 3.0)
    assert same(ag.vmap(Scaled.times)(X), X * 3.0)


def test_a_class_may_be_the_first_argument():
    class Scale:
        k = 2.0

    @ag.compile
    def times(cls, x):
        return x * cls.k

    assert same(times(Scale, X), X * 2.0)
    Scale.k = 3.0
    assert same(times(Scale, X), X * 3.0)
    assert same(ag.vmap(lambda x: times(Scale, x))(X), X * 3.0)


# -- static arguments ------------------------------------------------------------------------------


def scaled(x, n, *, name="sin"):
    return getattr(xp, name)(x) * sum(n)


@pytest.mark.parametrize("static", [1, -1, "n", ("n", "name"), [1, "name"], iter(["n"])])
def test_static_arguments_by_position_and_by_name(static):
    compiled = ag.compile(scaled, static=static)
    numbers = [1.0, 2.0]
    for given, named in (((numbers,), {}), ((), {"n": numbers}), (([4.0],), {"name": "cos"})):
        assert same(compiled(X, *given, **named), scaled(X, *given, **named))
    numbers.append(5.0)
    assert same(compiled(X, numbers), np.sin(X) * 8.0)


@pytest.mark.parametrize("static", ["m", 2, -3, ("n", "m"), 1.5, None])
def test_what_is_no_argument_is_not_static(static):
    with pytest.raises(ArgumentError, match=r"ag\.compile: static is "):
        ag.compile(scaled, static=static)


def test_functions_that_take_any_argument_have_any_static_one():
    compiled = ag.compile(lambda *args, **kwargs: args[0] * args[2] + kwargs["k"], static=(2, "k"))
    assert same(compiled(X, X, 3.0, k=1.0), X * 3.0 + 1.0)
    assert same(compiled(X, X, 4.0, k=2.0), X * 4.0 + 2.0)


# -- functions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (np.sin, np.sin),
        (np.sum, np.sum),
        (sum, lambda x: x[0] + x[1]),
        (functools.partial(lambda a, x: x * a, 3.0), lambda x: x * 3.0),
        (functools.partial(np.multiply, X), lambda x: x * X),
        (lambda x: x, lambda x: x),
    ],
)
def test_functions_of_libraries_and_partial_ones(f, expected):
    compiled = ag.compile(f)
    for x in (X, X + 1.0):
        assert same(compiled(x), expected(x))


def test_recursion():
    @ag.compile
    def power(x, n):
        return x if n == 0 else power(x * 2.0, n - 1)

    assert same(power(X, 3), X * 8.0)
    assert same(power(X, 1), X * 2.0)


def test_results_may_be_anything_around_arrays():
    Pair = namedtuple("Pair", "first second")
    compiled = ag.compile(lambda p, name: {"pair": Pair(p.second, p.first * 2.0), "name": name})
    for k in (1.0, 2.0):
        found = compiled(Pair(X * k, X), "some")
        assert type(found["pair"]) is Pair
        assert same(found["pair"].second, X * k * 2.0)
        assert found["name"] == "some"
    assert ag.compile(lambda x: None)(X) is None
    assert ag.compile(lambda: 3)() == 3


@pytest.mark.parametrize("make", ["generator", "coroutine"])
def test_functions_that_run_after_they_returned_are_refused(make):
    def generator(x):
        yield x

    async def coroutine(x):
        return x

    f = {"generator": generator, "coroutine": coroutine}[make]
    with pytest.raises(CompileError, match=f"returns a {make}"):
        ag.compile(f)(X)


def test_results_share_memory_with_nothing():
    first, second = ag.compile(lambda x: (x, x))(X)
    assert not np.shares_memory(first, X)
    assert not np.shares_memory(first, second)
    ones = ag.compile(lambda: xp.ones(2))
    ones()[0] = 5.0
    assert same(ones(), np.ones(2))


def test_writes_to_arguments_change_copies():
    def f(x):
        x[0] = 5.0
        x += 1.0
        return x * 2.0

    compiled, x = ag.compile(f), X.copy()
    for _ in range(2):
        assert same(compiled(x), f(X.copy()))
        assert same(x, X)


def test_the_same_array_as_two_arguments_and_outside():
    w = X.copy()

    def f(x, y):
        x = x + 0.0
        x[0] = 1.0
        return x * y + w

    compiled = ag.compile(f)
    for x, y in ((X, X), (X, X + 1.0), (w, w), (X + 1.0, w)):
        assert same(compiled(x, y), f(x, y))


# -- values that Python looks at -------------------------------------------------------------------


@pytest.mark.parametrize("values", [(2, 3), (2.0, -0.0), (True, False), (1.0 + 2.0j, 1.0j)])
@pytest.mark.parametrize("look", [lambda x: x.item(), lambda x: type(x.item())(x)])
def test_numbers_of_arrays_are_guards(values, look):
    def f(x, n):
        return x * look(n)

    compiled = ag.compile(f)
    for value in (*values, *values):
        array = np.asarray(value)
        assert same(compiled(X, array), X * array.item())
    assert compiled._programs == 2


def test_nan_is_equal_to_itself_for_guards():
    compiled = ag.compile(lambda x: x * 2.0 if float(x[0]) != float(x[0]) else x * 3.0)
    for x in (np.asarray([np.nan]), np.asarray([1.0]), np.asarray([np.nan])):
        assert same(compiled(x), x * (2.0 if np.isnan(x[0]) else 3.0))


# -- state -----------------------------------------------------------------------------------------


def test_what_is_outside_is_read_in_each_call():
    module = types.ModuleType("settings")
    module.k = 2.0
    numbers, table = [1.0, 2.0], {"a": 2.0}

    def f(x):
        for number in numbers:
            x = x * number
        for value in table.values():
            x = x + value
        return x * module.k

    compiled = ag.compile(f)
    changes = (
        lambda: None,
        lambda: numbers.append(3.0),
        lambda: table.update(b=4.0),
        lambda: setattr(module, "k", 5.0),
        lambda: table.pop("a"),
    )
    for change in changes:
        change()
        assert same(compiled(X), f(X))


def test_views_of_arrays_outside_follow_writes():
    w = np.ones((4, 3))

    def f(x):
        return xp.sum((x @ w.T) ** 2) + w.sum()

    compiled, plain = ag.compile(ag.value_and_grad(f)), ag.value_and_grad(f)
    for number in range(5):
        for found, expected in zip(compiled(X), plain(X), strict=True):
            assert same(found, expected)
        w[number % 4] += number


@pytest.mark.parametrize("create", [False, True])
def test_backward_inside_is_refused_on_arrays_from_outside(create):
    def f(x):
        xp.sum(x**3).backward(create_graph=create)
        return x * 2.0

    with pytest.raises(CompileError, match=r"backward\(\) inside the function"):
        ag.compile(f)(ag.Variable(X))


def test_backward_inside_on_a_variable_of_the_function():
    def f(x):
        v = ag.Variable(x)
        xp.sum(v**3).backward()
        return v.grad.data

    compiled = ag.compile(f)
    for x in (X, X + 1.0):
        assert same(compiled(x), 3.0 * x**2)


def test_gradient_managers_inside_and_outside():
    def f(x):
        v, manager = ag.Variable(x), ag.GradManager()
        manager.attach([v])
        with manager:
            manager.backward(xp.sum(v**2))
        return v.grad.data

    assert same(ag.compile(f)(X), 2.0 * X)
    loss, w, manager = ag.compile(lambda w: xp.sum(w * w * X)), ag.Variable(X), ag.GradManager()
    manager.attach([w])
    for _ in range(2):
        w.grad = None
        with manager:
            manager.backward(loss(w))
        assert same(w.grad, 2.0 * X * X)


def test_an_interrupt_while_tracing_leaves_nothing_behind():
    stops = [True]

    def f(x):
        if stops[0]:
            raise KeyboardInterrupt
        return x + 1.0

    compiled = ag.compile(f)
    with pytest.raises(KeyboardInterrupt):
        compiled(X)
    stops[0] = False
    assert same(compiled(X), X + 1.0)


def test_threads_with_shapes_and_branches_of_their_own():
    def f(x):
        y = xp.exp(x)
        return y * 2.0 if xp.sum(y) > 10.0 else y - 1.0

    def expected(x):
        y = np.exp(x)
        return y * 2.0 if np.sum(y) > 10.0 else y - 1.0

    compiled, wrong = ag.compile(f), []

    def run(seed):
        rng = np.random.default_rng(seed)
        for number in range(100):
            x = rng.standard_normal(number % 3 + 4)
            if not same(compiled(x), expected(x)):
                wrong.append((seed, number))

    in_threads(run, range(4))
    assert not wrong


@pytest.fixture
def hasty_threads():
    """Let Python change threads every few microseconds, so that they meet where they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


def test_threads_do_not_wait_for_each_other(hasty_threads):
    # One makes the program of another shape, while another makes that of another branch.
    def f(x):
        y = xp.exp(x)
        if xp.sum(y) > 10.0:
            return y * 2.0
        return y * 3.0 if xp.sum(y) > 6.0 else y - 1.0

    def run(compiled, seed):
        rng = np.random.default_rng(seed)
        for number in range(4):
            compiled(rng.standard_normal(number % 2 + 4))

    for _ in range(100):
        compiled = ag.compile(f, lowering="plain")
        threads = [
            threading.Thread(target=run, args=(compiled, seed), daemon=True) for seed in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60.0)
            assert not thread.is_alive()


# -- text, caches, warnings ------------------------------------------------------------------------


def test_text_is_that_of_the_values_in_each_call():
    def described(x):
        y = xp.sin(x) * 2.0
        sign = 1.0 if "0.9" in f"{y}" else -1.0
        return y * sign, [str(x), repr(y), f"{xp.sum(y)}", str(xp.ones(2)), f"{y[0]:.3f}"[:2]]

    compiled = ag.compile(described)
    for x in (X[0], X[0] + 1.0, X[0], np.linspace(0.0, 1.0, 3)):
        (found, texts), (expected, like) = compiled(x), described(ag.Variable(x, False))
        assert same(found, expected)
        assert texts == like


def test_text_of_tracked_arrays_names_their_op():
    texts = []

    def f(x):
        text = f"{xp.sum(x * 2.0)}"
        return xp.sum(x) * len(text), text

    for each in (
        ag.compile(ag.value_and_grad(f, has_aux=True)),
        ag.value_and_grad(f, has_aux=True),
    ):
        texts.append(each(X)[0][1])
    assert texts[0] == texts[1]
    assert "op=sum" in texts[0]


@functools.lru_cache
def weights(n):
    return xp.arange(n) * 2.0


@functools.lru_cache
def half():
    return xp.asarray(0.5)


class Cached:
    @functools.cached_property
    def weights(self):
        return xp.arange(3) * 2.0


cached = Cached()


def test_caches_keep_nothing_of_a_trace():
    half()

    def f(x):
        return xp.sum(x * weights(3) * cached.weights * half())

    for compiled in (ag.compile(f), ag.compile(ag.grad(f))):
        for x in (np.ones(3), np.ones((2, 3))):
            compiled(x)
            assert weights.cache_info().currsize == 0
            assert "weights" not in vars(cached)
    assert half.cache_info().misses == 1
    for each in (weights(3), cached.weights):
        assert type(each.data) is np.ndarray
        assert same(each, np.arange(3) * 2.0)
    assert same(ag.grad(f)(np.ones(3)), np.arange(3.0) ** 2 * 2.0)


def test_caches_keep_nothing_of_a_trace_that_failed():
    def f(x):
        weights(3)
        raise ZeroDivisionError

    weights.cache_clear()
    with pytest.raises(ZeroDivisionError):
        ag.compile(f)(X)
    assert weights.cache_info().currsize == 0


@pytest.mark.parametrize("lowering", ["numpy", "plain"])
def test_each_gradient_warns_as_often_as_uncompiled(lowering):
    def root(x):
        return xp.sum(xp.sqrt(x))

    def warned(f):
        x = ag.Variable(np.zeros(3))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            f(x).backward()
        return [str(each.message) for each in found]

    compiled, expected = ag.compile(root, lowering=lowering), warned(root)
    assert expected
    for _ in range(3):
        assert sorted(warned(compiled)) == sorted(expected)


@pytest.mark.parametrize("lowering", ["numpy", "plain"])
def test_each_call_warns_once(lowering):
    compiled = ag.compile(lambda x: xp.log(x), lowering=lowering)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="divide by zero") as found:
            compiled(np.zeros(3))
        assert len(found) == 1
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        compiled(np.zeros(3))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        compiled(np.zeros(4))
