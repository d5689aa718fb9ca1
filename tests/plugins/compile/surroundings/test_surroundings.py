"""What a function reads from outside: found, read again, and part of the key if it changes."""

import array as stdlib_array
import collections
import contextlib
import contextvars
import dataclasses
import enum
import functools
import sys
import threading
import types
import weakref
from typing import NamedTuple

import numpy as np
import optree
import pytest

import agnograd as ag
from agnograd.errors import CompileError
from agnograd_compile._surroundings.surroundings import Surroundings
from calls import profiled

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


def times(x, value):
    return x * value


def in_a_closure(before, after, use=times):
    value = before

    def f(x):
        return use(x, value)

    def change():
        nonlocal value
        value = after

    return f, change


# What a closure variable is before and after a change, and how the function uses it.
VALUES = {
    "number": (2.0, 3.0),
    "signed_zero": (0.0, -0.0),
    "integer_to_float": (1, 1.0),
    "boolean_to_integer": (True, 1),
    "text": ("sum", "prod", lambda x, name: getattr(xp, name)(x)),
    "library_number": (np.float32(2), np.float32(3)),
    "dtype": (np.dtype("f4"), np.dtype("f8"), xp.astype),
    "array_to_list": (np.ones(2), [1.0, 1.0]),
    "number_to_list": (2.0, [2.0]),
    "text_to_buffer": ("ab", bytearray(b"ab")),
    "range_of_the_same_numbers": (range(0, 3, 2), range(0, 4, 2)),
    "equal_keys": ({1: 2.0}, {True: 2.0}),
    "signs_of_keys": ({0.0: 2.0}, {-0.0: 2.0}),
    "buffer_to_bytes": (bytearray(b"ab"), b"ab"),
    "type_of_a_buffer": (stdlib_array.array("b", [1, 0, 0, 0]), stdlib_array.array("i", [1])),
    "shape_of_a_buffer": (memoryview(b"abcd"), memoryview(b"abcd").cast("B", (2, 2))),
}


# Each returns a function, and what changes something that it reads.


def attribute_of_a_number():
    class Rate(float):
        pass

    rate = Rate(1.0)
    rate.decay = 0.5
    return (lambda x: x * rate * rate.decay), lambda: setattr(rate, "decay", 0.25)


def list_in_an_enumeration():
    class Sizes(enum.Enum):
        SMALL = [1.0]  # noqa: RUF012 - it is changed

    return (lambda x: x * Sizes.SMALL.value[0]), lambda: Sizes.SMALL.value.append(2.0)


def attribute_of_a_member():
    class Planet(enum.Enum):
        EARTH = 1.0

        def __init__(self, radius):
            self.radius = radius

    return (lambda x: x * Planet.EARTH.radius), lambda: setattr(Planet.EARTH, "radius", 2.0)


def closure_of_inner_function():
    scale = 2.0

    def f(x):
        return (lambda y: y * scale)(x)

    def change():
        nonlocal scale
        scale = 3.0

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


class Missing(dict):
    def __missing__(self, key):
        return number


class Shape(enum.Enum):
    LINE = 1

    def length(self, x):
        return x * number


class Scaled(NamedTuple):
    x: object

    def scaled(self):
        return self.x * number


class Descriptor:
    def __get__(self, instance, owner):
        return instance._rate * number


class Described:
    rate = Descriptor()
    _rate = 1.0


class Forwarding:
    def __init__(self):
        self.store = {"rate": 1.0}

    def __getattr__(self, name):
        return self.__dict__["store"][name]


class Operand:
    def __init__(self):
        self._factor = 2.0

    def __mul__(self, other):
        return other * self._factor


class Made:
    def __init__(self):
        self.scale = number


class Tools:
    @staticmethod
    def plain(x):
        return x * number

    cached = functools.lru_cache(plain)
    halved = functools.partialmethod(lambda self, scale, x: x * scale * number, 0.5)


class Inheriting(Model):
    def step(self, x):
        return super().step(x) + 1


@functools.singledispatch
def dispatched(x):
    return x


@dispatched.register
def _(x: list):
    return number


def method_of_a_dict():
    table = Missing()
    return (lambda x: x * table["a"]), set_global("number", 3.0)


def method_of_an_enum():
    return (lambda x: Shape.LINE.length(x)), set_global("number", 3.0)


def method_of_a_value():
    shape = Shape.LINE
    return (lambda x: shape.length(x)), set_global("number", 3.0)


def method_of_a_named_tuple():
    point = Scaled(np.ones(2))
    return (lambda x: x + point.scaled()), set_global("number", 3.0)


def descriptor():
    thing = Described()
    return (lambda x: x * thing.rate), set_global("number", 3.0)


def attribute_behind_a_descriptor():
    thing = Described()
    return (lambda x: x * thing.rate), lambda: setattr(thing, "_rate", 3.0)


def forwarded_attribute():
    thing = Forwarding()
    return (lambda x: x * thing.rate), lambda: thing.store.update(rate=2.0)


def operator_of_an_object():
    operand = Operand()
    return (lambda x: operand * x), lambda: setattr(operand, "_factor", 3.0)


def constructor():
    return (lambda x: x * Made().scale), set_global("number", 3.0)


def static_method():
    return (lambda x: Tools.plain(x)), set_global("number", 3.0)


def cached_static_method():
    return (lambda x: Tools.cached(x)), set_global("number", 3.0)


def partial_method():
    tools = Tools()
    return (lambda x: tools.halved(x)), set_global("number", 3.0)


def method_of_the_base():
    model = Inheriting()
    return model.step, lambda: setattr(model, "rate", 3.0)


def dispatched_function():
    return (lambda x: dispatched([x])), set_global("number", 3.0)


def attribute_in_a_pattern():
    model = Model()

    def f(x):
        match model:
            case Model(rate=0.5):
                return x
        return -x

    return f, lambda: setattr(model, "rate", 1.0)


def global_by_name():
    return (lambda x: x * globals()["number"]), set_global("number", 3.0)


def global_in_a_generator():
    return (lambda x: sum(x * number for _ in range(2))), set_global("number", 3.0)


def global_in_a_class_body():
    def f(x):
        class Inner:
            scale = number

        return x * Inner.scale

    return f, set_global("number", 3.0)


def weak_reference():
    model = Model()
    reference = weakref.ref(model)

    def change():
        model.rate = 3.0

    return (lambda x: x * reference().rate), change


def nested_namespace():
    outer = types.SimpleNamespace(inner=types.SimpleNamespace(rate=1.0))
    return (lambda x: x * outer.inner.rate), lambda: setattr(outer.inner, "rate", 2.0)


def chain_of_maps():
    chain = collections.ChainMap({"a": 1.0}, {"b": 2.0})
    return (lambda x: x * chain["b"]), lambda: chain.maps[1].update(b=3.0)


def array_of_the_standard_library():
    weights = stdlib_array.array("d", [1.0, 2.0])

    def change():
        weights[1] = 3.0

    return (lambda x: x * weights[1]), change


def closure_that_is_filled_later():
    def f(x):
        return x * scale  # noqa: F821

    def change():
        nonlocal scale
        scale = 2.0

    scale = 1.0
    del scale
    return f, change


def global_that_is_set_later():
    def f(x):
        return x if "later" not in globals() else x * later  # noqa: F821

    def change():
        THIS.later = 2.0

    return f, change


def module_that_is_imported_later():
    module = types.ModuleType("configuration")
    module.scale = 1.0

    def f(x):
        import configuration

        return x * configuration.scale

    return f, lambda: sys.modules.update(configuration=module)


def function_of_an_installed_package():
    return np.vectorize(helper), set_global("number", 3.0)


def object_of_an_installed_class_inside_grad():
    return ag.grad(ag.checkpoint(np.vectorize(helper))), set_global("number", 3.0)


def context_manager():
    @contextlib.contextmanager
    def scaled():
        yield number

    def f(x):
        with scaled() as scale:
            return x * scale

    return f, set_global("number", 3.0)


def inside_compile():
    inner = ag.compile(helper)
    return (lambda x: inner(x)), set_global("number", 3.0)


def compiled_method():
    class Stepping:
        rate = 1.0

        @ag.compile
        def step(self, x):
            return x * self.rate

    stepping = Stepping()
    return (lambda x: stepping.step(x)), lambda: setattr(stepping, "rate", 2.0)


def pytree():
    class Pair:
        def __init__(self, one, two):
            vars(self).update(one=one, two=two)

    optree.register_pytree_node(
        Pair,
        lambda pair: ([pair.one, pair.two], None),
        lambda _, parts: Pair(*parts),
        namespace=optree.registry.__GLOBAL_NAMESPACE,
    )
    pair = Pair(1.0, 2.0)
    return (lambda x: [x * each for each in optree.tree_leaves(pair)]), lambda: setattr(
        pair, "two", 3.0
    )


def derived_from_an_installed_class():
    class Vectorized(np.vectorize):
        def __call__(self, x):
            return super().__call__(x) * number

    vectorized = Vectorized(lambda x: x)
    return (lambda x: vectorized(x)), lambda: setattr(vectorized, "otypes", "f")


CASES = {
    **{name: functools.partial(in_a_closure, *values) for name, values in VALUES.items()},
    **{
        name: each
        for name, each in list(vars().items())
        if isinstance(each, types.FunctionType)
        and each.__module__ == __name__
        and each.__code__.co_argcount == 0
        and each is not dispatched
    },
}


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
    vars(THIS).pop("later", None)
    sys.modules.pop("configuration", None)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
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


# -- arrays, and what is no difference ------------------------------------------------------------


def names_of(f):
    arrays, facts = Surroundings(f).read()
    assert len(arrays) == len(facts.arrays)
    return [str(name) for name in facts.arrays]


def test_arrays_are_named():
    v, model = np.ones(2), Model()
    weights = {"a": [np.ones(1), ag.Variable(np.ones(1))]}

    def f(x, y=v * 2):
        return x * v + array + model.w + weights["a"][0] + weights["a"][1] + settings.shift + y

    assert names_of(f) == [
        "closure variable 'model.w' of f",
        "closure variable 'model.layers[0]' of f",  # what its method __call__ reads
        "closure variable 'v' of f",
        "closure variable 'weights['a'][0]' of f",
        "closure variable 'weights['a'][1]' of f",
        "default of 'y' of f",
        "global variable 'array'",
        "global variable 'settings.shift'",
    ]
    assert names_of(model) == ["self.layers[0]"]
    assert names_of(functools.partial(lambda a, x: a, v)) == ["self[1]"]


def test_an_array_takes_the_place_of_a_number():
    value = 2.0
    surroundings = Surroundings(lambda x: x * value)
    for _ in range(3):
        assert surroundings.read()[0] == []
    value = w = ag.Variable(np.ones(2))
    for _ in range(3):
        (found,), facts = surroundings.read()
        assert found is w
        assert [name.path for name in facts.arrays] == ["value"]


def test_a_number_of_the_users_own_takes_the_place_of_another():
    class Scaled(float):
        def value(self):
            return self * number

    value = 2.0
    surroundings = Surroundings(lambda x: x * (getattr(value, "value", None) or float)())
    for _ in range(3):
        surroundings.read()
    value = Scaled(2.0)
    facts = [surroundings.read()[1] for _ in range(3)]
    vars(THIS)["number"] = 3.0  # which only the method reads
    assert surroundings.read()[1] not in facts


def test_arrays_are_read_again():
    v, weights = np.ones(2), [np.ones(1)]

    def f(x):
        return x * v + weights[0]

    surroundings = Surroundings(f)
    _, facts = surroundings.read()
    for _ in range(3):
        v, weights = np.ones(3), [np.ones((2, 2))]
        arrays, again = surroundings.read()
        assert arrays[0] is v
        assert arrays[1] is weights[0]
        assert again == facts


def test_an_array_is_found_once():
    v = np.ones(2)
    same, also = v, [v, v]
    assert len(names_of(lambda x: x * v + same + also[0])) == 1


def test_layers_of_a_module_of_torch():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 3)

        def forward(self, x):
            return self.linear(x)

    net = Net()
    arrays, facts = Surroundings(lambda x: net(x)).read()
    assert {id(net.linear.weight), id(net.linear.bias)} == set(map(id, arrays))
    net.eval()
    assert Surroundings(lambda x: net(x)).read()[1] != facts


def equal_float():
    scale = 2.0

    def change():
        nonlocal scale
        scale = float("2")

    return (lambda x: x * scale), change


def nan():
    scale = float("nan")

    def change():
        nonlocal scale
        scale = -float("nan")

    return (lambda x: x * scale), change


def another_list():
    weights = [np.ones(1), 2.0]

    def change():
        nonlocal weights
        weights = [np.ones(2), 2.0]

    return (lambda x: x * weights[1]), change


def another_object():
    parameters, model = Parameters(np.ones(1)), Model()

    def change():
        nonlocal parameters, model
        parameters, model = Parameters(np.ones(2)), Model()

    return (lambda x: x * parameters.scale + model(x)), change


def unread_attribute():
    model = Model()
    return model, lambda: setattr(model, "unread", 2.0)


def unread_attribute_beside_a_copy():
    model = Model()
    return (lambda x: model.step(x.copy()).replace(1, 2)), lambda: setattr(model, "unread", 2.0)


def unread_global():
    return (lambda x: x), set_global("number", 3.0)


def written_array():
    return (lambda x: x * array), lambda: np.add(array, 1, out=array)


@pytest.mark.parametrize(
    "case",
    [
        equal_float,
        nan,
        another_list,
        another_object,
        unread_attribute,
        unread_attribute_beside_a_copy,
        unread_global,
        written_array,
    ],
    ids=lambda case: case.__name__,
)
def test_what_is_no_difference(case):
    f, change = case()
    surroundings = Surroundings(f)
    facts = [surroundings.read()[1] for _ in range(3)]
    change()
    assert {surroundings.read()[1] for _ in range(3)} == set(facts) == {Surroundings(f).read()[1]}


def test_objects_that_stand_beside_the_function():
    model = Model()
    surroundings = Surroundings(lambda x, model: model(x), {"model": model})
    _, facts = surroundings.read()
    model.rate = 2.0
    assert surroundings.read()[1] != facts


def test_structures_that_take_turns():
    weights = [1.0]
    surroundings = Surroundings(lambda x: x * weights[0])
    found = set()
    for _ in range(6):
        weights.append(np.ones(1))
        found.add(surroundings.read()[1])
        weights.pop()
        found.add(surroundings.read()[1])
    assert len(found) == 2


def test_circles():
    weights = [1.0]
    weights.append(weights)
    model = Model()
    model.layers = [model, 1.0]
    _, facts = Surroundings(lambda x: (weights, model(x))).read()
    weights[0] = 2.0
    assert Surroundings(lambda x: (weights, model(x))).read()[1] != facts


@pytest.mark.parametrize("deep", [False, True])
def test_too_much_is_refused(deep):
    everything = [[] for _ in range(30_000)]
    if deep:
        everything = []
        for _ in range(5_000):
            everything = [everything]
    with pytest.raises(CompileError, match="what it needs as arguments"):
        Surroundings(lambda x: everything).read()


def test_code_of_other_classes_is_not_run():
    class Proxy:
        def __getattr__(self, name):
            raise RuntimeError(name)

    proxy = Proxy()
    Surroundings(lambda x: proxy).read()


def test_to_read_again_takes_one_function():
    v, w, scale, shift = np.ones(2), np.ones(3), 2.0, 3

    def f(x):
        return xp.sum(x * v * scale + shift) * xp.sum(w)

    surroundings = Surroundings(f)
    surroundings.read()
    facts = surroundings.read()[1]
    names = []
    notice = lambda frame, event, _: names.append((event, frame.f_code.co_name))  # noqa: E731
    again = profiled(surroundings.read, notice)[1]
    assert again is facts
    assert [name for event, name in names if event == "call"] == ["read", "read"]


def test_another_thread_may_change_what_is_read():
    weights, model = {0: 1.0}, Model()
    surroundings = Surroundings(lambda x: (weights, model(x)))
    ended = threading.Event()

    def change():
        while not ended.is_set():
            weights[len(weights) % 50] = 1.0
            if len(weights) > 40:
                weights.clear()
            model.layers.append(1.0)
            del model.layers[2:]

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(200):
            arrays, facts = surroundings.read()
            assert len(arrays) == len(facts.arrays)
    finally:
        ended.set()
        thread.join()


def test_an_import_from_too_far_above():
    code = "def f(x):\n    from ...... import nothing\n    return x"
    scope = {"__package__": "package", "__name__": "package.module"}
    exec(code, scope)
    assert Surroundings(scope["f"]).read()[0] == []
