"""What a function reads from outside: found, read again, and part of the key if it changes."""

import collections
import contextvars
import dataclasses
import enum
import functools
import sys
import types
from typing import NamedTuple

import numpy as np
import pytest

import agnograd as ag
from agnograd._surroundings.surroundings import Surroundings

THIS = sys.modules[__name__]
xp = ag.namespace("numpy")

number = 2.0
array = np.ones(3)
settings = types.SimpleNamespace(scale=1.0, shift=np.zeros(2))
rates = {"slow": 0.1, "fast": [0.5, 0.6]}
variable = contextvars.ContextVar("variable", default=1)


class Mode(enum.Enum):
    ONE = 1
    TWO = 2


mode = Mode.ONE


@dataclasses.dataclass
class Parameters:
    w: object
    scale: float = 1.0


class Point(NamedTuple):
    x: float
    y: object


class Model:
    bias = 1.0

    def __init__(self):
        self.w = np.ones(2)
        self.layers = [np.ones(1), 3.0]
        self.rate = 0.5
        self.unread = 1.0
        self._scale = 2.0

    @property
    def scale(self):
        return self._scale

    def __call__(self, x):
        return self.step(x) * self.bias

    def step(self, x):
        return x * self.rate + self.layers[0] * self.scale

    @classmethod
    def made(cls, x):
        return x * cls.bias


class Slots:
    __slots__ = ("rate", "w")

    def __init__(self):
        self.rate, self.w = 0.5, np.ones(2)

    def __call__(self, x):
        return x * self.rate + self.w


def helper(x):
    return x * number


def calls_helper(x):
    return helper(x)


def set_global(name, value):
    def change():
        setattr(THIS, name, value)

    return change


def decorated(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args) * 2

    return wrapper


# Each returns a function, and what changes something that it reads.


def closure_number():
    scale = 2.0

    def f(x):
        return x * scale

    def change():
        nonlocal scale
        scale = 3.0

    return f, change


def closure_of_inner_function():
    scale = 2.0

    def f(x):
        return (lambda y: y * scale)(x)

    def change():
        nonlocal scale
        scale = 3.0

    return f, change


def signed_zero():
    scale = 0.0

    def f(x):
        return x * scale

    def change():
        nonlocal scale
        scale = -0.0

    return f, change


def integer_to_float():
    scale = 1

    def f(x):
        return x * scale

    def change():
        nonlocal scale
        scale = 1.0

    return f, change


def boolean_to_integer():
    flag = True

    def f(x):
        return x * flag

    def change():
        nonlocal flag
        flag = 1

    return f, change


def text():
    name = "sum"

    def f(x):
        return getattr(xp, name)(x)

    def change():
        nonlocal name
        name = "prod"

    return f, change


def library_number():
    scale = np.float32(2)

    def f(x):
        return x * scale

    def change():
        nonlocal scale
        scale = np.float32(3)

    return f, change


def dtype():
    kind = np.dtype("f4")

    def f(x):
        return xp.astype(x, kind)

    def change():
        nonlocal kind
        kind = np.dtype("f8")

    return f, change


def array_to_list():
    w = np.ones(2)

    def f(x):
        return x * w

    def change():
        nonlocal w
        w = [1.0, 1.0]

    return f, change


def variable_and_its_array():
    w = ag.Variable(np.ones(2))
    v = w.data

    def f(x):
        return x * w + v

    def change():
        nonlocal v
        v = np.ones(2)

    return f, change


def arrays_that_become_one():
    v, w = np.ones(2), np.ones(2)

    def f(x):
        return x * v * w

    def change():
        nonlocal v
        v = w

    return f, change


def array_that_becomes_two():
    v = w = np.ones(2)

    def f(x):
        return x * v * w

    def change():
        nonlocal v
        v = np.ones(2)

    return f, change


def global_number():
    return helper, set_global("number", 3.0)


def global_of_helper():
    return calls_helper, set_global("number", 3.0)


def global_function():
    return calls_helper, set_global("helper", lambda x: x)


def global_enum():
    return (lambda x: x * 2 if mode is Mode.ONE else x), set_global("mode", Mode.TWO)


def code_of_helper():
    def f(x):
        return inner(x)

    def inner(x):
        return x + 1

    def change():
        inner.__code__ = (lambda x: x + 2).__code__

    return f, change


def namespace_attribute():
    return (lambda x: x * settings.scale), lambda: setattr(settings, "scale", 2.0)


def namespace_array_to_number():
    return (lambda x: x * settings.shift), lambda: setattr(settings, "shift", 2.0)


def dict_item():
    return (lambda x: x * rates["slow"]), lambda: rates.update(slow=0.2)


def dict_key():
    return (lambda x: [x * v for v in rates.values()]), lambda: rates.update(new=0.2)


def list_in_dict():
    return (lambda x: x * rates["fast"][0]), lambda: rates["fast"].append(1.0)


def deque_item():
    history = collections.deque([1.0, 2.0])
    return (lambda x: x * history[0]), lambda: history.rotate(1)


def set_item():
    chosen = {1, 2}
    return (lambda x: x[list(chosen)]), lambda: chosen.add(3)


def element_of_a_long_list():
    weights = [float(i) for i in range(100)]

    def change():
        weights[50] = -1.0

    return (lambda x: x * sum(weights)), change


def byte():
    mask = bytearray(b"abc")

    def change():
        mask[1] = 0

    return (lambda x: x * mask[1]), change


def named_tuple():
    point = Point(1.0, np.ones(2))

    def f(x):
        return x * point.x + point.y

    def change():
        nonlocal point
        point = point._replace(x=2.0)

    return f, change


def dataclass_field():
    parameters = Parameters(np.ones(2))
    return (lambda x: x * parameters.scale), lambda: setattr(parameters, "scale", 2.0)


def attribute():
    model = Model()
    return model, lambda: setattr(model, "rate", 1.0)


def attribute_of_bound_method():
    model = Model()
    return model.step, lambda: setattr(model, "rate", 1.0)


def attribute_through_another_name():
    model = Model()

    def f(x):
        for each in [model]:
            x = x * each.rate
        return x

    return f, lambda: setattr(model, "rate", 1.0)


def attribute_by_getattr():
    model = Model()
    return (lambda x: x * getattr(model, "ra" + "te")), lambda: setattr(model, "rate", 1.0)


def attribute_by_a_property():
    model = Model()
    return model, lambda: setattr(model, "_scale", 1.0)


def item_of_attribute():
    model = Model()
    return model, lambda: model.layers.append(np.ones(1))


def new_attribute():
    model = Model()
    return (lambda x: x * getattr(model, "extra", 1.0)), lambda: setattr(model, "extra", 2.0)


def shadowed_class_attribute():
    model = Model()
    return model, lambda: setattr(model, "bias", 2.0)


def class_attribute():
    model = type("Derived", (Model,), {"bias": 1.0, "__module__": __name__})()
    return model, lambda: setattr(type(model), "bias", 2.0)


def class_attribute_by_classmethod():
    kind = type("Derived", (Model,), {"bias": 1.0, "__module__": __name__})
    return kind.made, lambda: setattr(kind, "bias", 2.0)


def method():
    kind = type("Derived", (Model,), {"step": lambda self, x: x, "__module__": __name__})
    return kind(), lambda: setattr(kind, "step", lambda self, x: x + 1)


def slot():
    model = Slots()
    return model, lambda: setattr(model, "rate", 1.0)


def function_attribute():
    def f(x):
        return x * f.scale

    f.scale = 1.0
    return f, lambda: setattr(f, "scale", 2.0)


def default():
    def f(x, scale=2.0):
        return x * scale

    def change():
        f.__defaults__ = (3.0,)

    return f, change


def list_as_default():
    scales = [1.0]

    def f(x, scales=scales):
        return x * scales[0]

    return f, lambda: scales.append(2.0)


def keyword_default():
    def f(x, *, scale=2.0):
        return x * scale

    return f, lambda: f.__kwdefaults__.update(scale=3.0)


def partial_of_list():
    scales = [1.0]
    return functools.partial(lambda s, x: x * s[0], scales), lambda: scales.append(1.0)


def keyword_of_partial():
    scales = [1.0]
    return functools.partial(lambda x, s: x * s[0], s=scales), lambda: scales.append(1.0)


def context_variable():
    return (lambda x: x * variable.get()), lambda: variable.set(2)


def inside_a_decorator():
    return decorated(helper), set_global("number", 3.0)


def inside_a_cache():
    return functools.lru_cache(helper), set_global("number", 3.0)


def inside_grad():
    return ag.grad(lambda x: helper(x)), set_global("number", 3.0)


def inside_grad_and_vmap():
    model = Model()
    return ag.vmap(ag.value_and_grad(model)), lambda: setattr(model, "rate", 1.0)


def inside_checkpoint():
    return ag.checkpoint(helper), set_global("number", 3.0)


def inside_wrap():
    return ag.wrap(helper, vjp=lambda g, out, x: g), set_global("number", 3.0)


def inside_a_derivative_of_wrap():
    return ag.wrap(lambda x: x, vjp=lambda g, out, x: helper(g)), set_global("number", 3.0)


def module_attribute():
    module = types.ModuleType("configuration")
    module.scale = 1.0
    return (lambda x: x * module.scale), lambda: setattr(module, "scale", 2.0)


def module_imported_inside():
    module = types.ModuleType("configuration")
    module.scale = 1.0
    sys.modules["configuration"] = module

    def f(x):
        from configuration import scale

        return x * scale

    return f, lambda: setattr(module, "scale", 2.0)


def method_of_a_function_class():
    class Scaled(ag.Function):
        def forward(self, xp, x):
            return x * number

        def backward(self, xp, g):
            return g * number

    return (lambda x: Scaled()(x)), set_global("number", 3.0)


CASES = [each for each in list(vars().values()) if isinstance(each, types.FunctionType)]
CASES = [
    each
    for each in CASES
    if each.__code__.co_argcount == 0 and each.__module__ == __name__ and each is not helper
]


@pytest.fixture(autouse=True)
def _restored():
    before = {name: vars(THIS)[name] for name in ("number", "array", "mode", "helper")}
    settings.scale, settings.shift = 1.0, np.zeros(2)
    rates.clear()
    rates.update({"slow": 0.1, "fast": [0.5, 0.6]})
    token = variable.set(1)
    yield
    vars(THIS).update(before)
    variable.reset(token)
    sys.modules.pop("configuration", None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_a_change_is_seen(case):
    f, change = case()
    surroundings = Surroundings(f)
    _, facts = surroundings.read()
    assert surroundings.read()[1] == facts
    assert Surroundings(f).read()[1] == facts
    change()
    _, changed = surroundings.read()
    assert changed != facts
    assert surroundings.read()[1] == changed
    assert Surroundings(f).read()[1] == changed
