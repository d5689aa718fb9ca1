"""Arguments, results and surroundings that a program cannot take as they are, or seldom meets."""

import collections
import contextlib
import contextvars
import dataclasses
import io
import itertools
import math
import random
import sys
import threading
import types

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError, CompileError, UnsupportedArrayError
from exact import is_as_exact

xp = ag.namespace("numpy")
X = np.linspace(-1.0, 2.0, 6)


def same(one, other):
    one, other = (np.asarray(getattr(each, "data", each)) for each in (one, other))
    return (one.shape, one.dtype) == (other.shape, other.dtype) and is_as_exact(one, other)


# -- arguments that are no values ------------------------------------------------------------------


def scaled(x):
    return x * 2.0


class Scale:
    k = 2.0

    def apply(self, x):
        return x * self.k


CHANGING = {
    "Generator": lambda: np.random.default_rng(0),
    "RandomState": lambda: np.random.RandomState(0),
    "Random": lambda: random.Random(0),
    "count": itertools.count,
    "list_iterator": lambda: iter([1.0]),
    "StringIO": lambda: io.StringIO("12"),
    "lock": threading.Lock,
    "ContextVar": lambda: contextvars.ContextVar("v"),
    "memoryview": lambda: memoryview(np.ones(3)),
    "function": lambda: scaled,
    "method": lambda: Scale().apply,
    "builtin_function_or_method": lambda: [].append,
    "type": lambda: Scale,
    "module": lambda: sys.modules[__name__],
    "CompiledFunction": lambda: ag.compile(scaled),
}


@pytest.mark.parametrize("kind", CHANGING)
def test_an_argument_that_may_change_without_being_another_one_is_an_error(kind):
    compiled, value = ag.compile(lambda x, y: x), CHANGING[kind]()
    for _ in range(2):
        with pytest.raises(ArgumentError, match=f"argument 1 is a {kind}, which is neither"):
            compiled(X, value)


@pytest.mark.parametrize(
    "value",
    [np.sin, np.float32, np.dtype("int8"), abs, np, xp, collections.deque, slice(1, 3), ...],
)
def test_what_never_changes_is_an_argument(value):
    compiled = ag.compile(lambda x, y: (x * 2.0, y))
    for _ in range(2):
        doubled, found = compiled(X, value)
        assert same(doubled, X * 2.0)
        assert found is value or found == value
    assert compiled._programs == 1


def test_slices_and_dtypes_are_values():
    compiled = ag.compile(lambda x, key, dtype: xp.astype(x[key], dtype))
    for key in (slice(0, 2), slice(2, None), slice(None, None, -1)):
        for dtype in (np.float32, np.float64):
            assert same(compiled(X, key, dtype), X[key].astype(dtype))
    assert compiled._programs == 6
    with pytest.raises(ArgumentError, match="argument 1 is a slice"):
        compiled(X, slice(np.asarray(0), 2), np.float32)


def test_a_static_argument_that_moves_on_is_named():
    compiled = ag.compile(lambda x, rng: x * rng.random(), static="rng")
    with pytest.raises(CompileError, match="advances the static argument 'rng'"):
        compiled(X, rng=random.Random(0))


# -- arrays that a library does not compute with as they are ---------------------------------------


def test_arrays_with_a_mask_are_refused_as_without_compile():
    compiled, masked = ag.compile(lambda x: xp.sum(x)), np.ma.masked_array(X, X < 0.0)
    for _ in range(2):
        with pytest.raises(UnsupportedArrayError, match="masked elements"):
            compiled(masked)
        assert same(compiled(np.ma.masked_array(X)), np.sum(X))
    compiled = ag.compile(lambda x: xp.sum(x * masked))
    for _ in range(2):
        with pytest.raises(UnsupportedArrayError, match="masked elements"):
            compiled(X)


def test_what_python_makes_of_arrays_with_a_mask_is_followed():
    masked = np.ma.masked_array(X.copy())
    compiled = ag.compile(lambda x: x * float(masked.sum()))
    for place in range(3):
        assert same(compiled(X), X * float(masked.sum()))
        masked[place] = np.ma.masked


# -- results ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Pair:
    first: object
    second: object = None


SHARED = {
    "Pair": lambda x: Pair(x * 2.0),
    "set": lambda x: {1, 2},
    "bytearray": lambda x: [x, bytearray(b"a")],
    "function": lambda x: lambda: x,
    "map": lambda x: map(abs, [x]),
    "zip": lambda x: zip([x], [x], strict=True),
    "list_iterator": lambda x: iter([x]),
    "dict_values": lambda x: {"a": x}.values(),
    "SimpleNamespace": lambda x: types.SimpleNamespace(x=x),
}


@pytest.mark.parametrize("kind", SHARED)
def test_a_result_that_all_calls_would_share_is_an_error(kind):
    compiled = ag.compile(SHARED[kind])
    for _ in range(2):
        with pytest.raises(CompileError, match=f"the function returns a {kind}, which all calls"):
            compiled(X)


# -- graphs ----------------------------------------------------------------------------------------


class Quiet:
    @ag.extend.hookimpl
    def forward_postprocess(self, op):
        pass


@pytest.mark.accelerated
@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_hooks_may_be_active_in_one_part_only(forward, backward):
    def f(x):
        return xp.sum(xp.tanh(x) * xp.tanh(x) * 1.0 - (-xp.exp(x)))

    compiled, expected = ag.compile(f), ag.grad(f)(X)
    for _ in range(2):
        x = ag.Variable(X)
        with ag.hooks(Quiet()) if forward else contextlib.nullcontext():
            y = compiled(x)
        with ag.hooks(Quiet()) if backward else contextlib.nullcontext():
            y.backward()
        assert same(x.grad, expected)


class Clipped(ag.Function):
    def forward(self, xp, x):
        self.save(x)
        return x * x

    def backward(self, xp, g):
        (x,) = self.saved
        with ag.no_grad():
            is_large = bool(xp.sum(g) > 100.0)
        return g * x * (0.5 if is_large else 2.0)


def test_a_backward_function_may_look_at_gradients():
    w = ag.Variable(X + 3.0)

    def f(x):
        return Clipped()(x) * w

    compiled = ag.compile(f)
    for scale in (1.0, 50.0, 1.0, 70.0):
        found = []
        for each in (compiled, f):
            w.grad, x = None, ag.Variable(X)
            xp.sum(each(x) * scale).backward()
            found.append((x.grad, w.grad))
        for one, other in zip(*found, strict=True):
            assert same(one, other)


@pytest.mark.parametrize(("write", "read"), [(False, 0), (True, 1), (0, -6), (0, 0)])
def test_what_was_written_is_read_only_where_it_was_written(write, read):
    def f(x):
        y = x * 1.0
        y[write] = xp.sum(x)
        return y[read] * 1.0

    compiled = ag.compile(f)
    for x in (X, X + 1.0):
        assert same(compiled(x), f(xp.asarray(x)))


# -- surroundings ----------------------------------------------------------------------------------


def test_defaults_that_are_replaced_as_a_whole():
    def f(x, *, k=2.0):
        return x * k

    compiled = ag.compile(f)
    assert same(compiled(X), X * 2.0)
    f.__kwdefaults__ = {"k": 3.0}
    assert same(compiled(X), X * 3.0)


def test_properties_of_metaclasses():
    class Meta(type):
        @property
        def k(cls):
            return cls.scale

    class Model(metaclass=Meta):
        scale = 2.0

    compiled = ag.compile(lambda x: x * Model.k)
    assert same(compiled(X), X * 2.0)
    Model.scale = 3.0
    assert same(compiled(X), X * 3.0)


def test_a_module_that_is_imported_inside_may_be_replaced(monkeypatch):
    def f(x):
        import settings_of_a_test

        return x * settings_of_a_test.k

    compiled = ag.compile(f)
    for k in (2.0, 3.0):
        module = types.ModuleType("settings_of_a_test")
        module.k = k
        monkeypatch.setitem(sys.modules, "settings_of_a_test", module)
        assert same(compiled(X), X * k)


# -- arrays outside that ops use, and Python looks at ----------------------------------------------


class Gated:
    def __init__(self):
        self.gate, self.n = np.ones(6), np.asarray(2)

    def by_branch(self, x):
        y = x * self.gate
        return y * 2.0 if self.gate[0] > 0 else y * 3.0

    def by_method(self, x):
        return x if self.gate.all() else xp.where(self.gate > 0.0, x, 0.0)

    def by_numpy(self, x):
        return x * self.gate if np.any(self.gate < 0.0) else x / self.gate

    def by_number(self, x):
        return x * self.gate * float(self.gate[0])

    def by_item(self, x):
        return x * self.gate * self.gate[0].item()

    def by_list(self, x):
        return x * self.gate * self.gate.tolist()[0]

    def by_membership(self, x):
        return x * self.gate * (-1.5 in self.gate)

    def by_math(self, x):
        return x * self.gate * math.exp(self.gate[0])

    def by_count(self, x):
        for _ in range(self.n):
            x = x * self.n + self.gate
        return x


@pytest.mark.parametrize("name", [name for name in vars(Gated) if name.startswith("by_")])
def test_arrays_that_python_looks_at_are_followed_though_ops_use_them(name):
    model = Gated()
    f = getattr(model, name)
    compiled = ag.compile(f)
    assert same(compiled(X), f(xp.asarray(X)))
    model.gate[0], model.n[()] = -1.5, 3
    assert same(compiled(X), f(xp.asarray(X)))


def test_arrays_that_only_ops_use_are_inputs_beside_branches_on_others():
    w, on = np.ones(6), np.asarray(True)

    @ag.compile
    def f(x):
        y = x @ w if on else x * w
        return y * 2.0 if xp.sum(y) > 0.0 else y

    for number in range(1, 12):
        w[:] = number
        assert same(f(X), (X @ w) * 2.0)
    assert f._programs == 1


@pytest.mark.parametrize("lowering", ["numpy", "plain", "c"])
@pytest.mark.parametrize("size", [3, 4000])
@pytest.mark.parametrize("number", [2**31, 2**63, -(2**64), 10**30, 1e300, float("inf")])
def test_numbers_of_any_size_beside_arrays(number, size, lowering):
    def f(x):
        scaled = xp.maximum(x * number, x - number)
        return xp.where(x > number, number / x, scaled + xp.exp(-x))

    x = np.linspace(0.5, 2.0, size)
    compiled = ag.compile(f, lowering=lowering)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), f(xp.asarray(x)).data, rtol=1e-15)
