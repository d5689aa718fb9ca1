"""A bridge of a stranger's library, whose functions know their derivatives, both ways."""

from types import SimpleNamespace

import numpy as np
import pytest

import agnograd as ag
from agnograd._plugins.backends import backend_named
from agnograd.errors import LostGradientError, PluginError
from agnograd.extend import Bridge
from arrays import host, leaf, values


class Power:
    """``scale * x**n``, and the record of a run of it: its derivatives are powers, too."""

    def __init__(self, n, scale=1.0):
        self.n = n
        self.scale = scale

    def __call__(self, x):
        return self.scale * x**self.n


class PowerRecord:
    """A run of ``g * power(x)``, differentiated by those of x and g that are at some places."""

    def __init__(self, power, x, g=1.0, places=(0,)):
        self.power, self.x, self.g, self.places = power, x, g, places
        self.slope = Power(power.n - 1, power.n * power.scale)
        self.outputs = [g * power(x)]

    def pull(self, cotangents):
        (c,) = cotangents
        both = c * self.g * self.slope(self.x), c * self.power(self.x)
        return [both[place] for place in self.places]

    def pulled(self, cotangents, places):
        assert self.places == (0,)
        return PowerRecord(self.slope, self.x, self.g * cotangents[0], places)


class PowerBridge(Bridge):
    def __init__(self):
        self.power = Power(3)

    def record(self, f, inputs, parameters=()):
        outputs = f(inputs)
        return PowerRecord(self.power, *inputs) if inputs else SimpleNamespace(outputs=outputs)

    def export(self, program, inputs):
        """Return results with all derivatives at ones, since this library has no graphs."""
        record = program.record(inputs)
        (y,) = record.outputs
        ones = np.ones_like(y)
        second = record.pulled([ones], [0])
        return [[y, record.pull([ones])[0], second.outputs[0], second.pull([ones])[0]]]


@pytest.fixture
def _bridged(monkeypatch):
    monkeypatch.setattr(backend_named("numpy"), "bridge", PowerBridge, raising=False)


@pytest.mark.usefixtures("_bridged")
def test_an_adopted_function_is_differentiated_by_its_library(xp):
    f = ag.bridge.adopt(Power(3), "numpy")
    x = leaf(xp, [1.0, 2.0])
    assert values(f(x)).tolist() == [1.0, 8.0]
    ag.check_grad(f, x.data)
    _, tangent = ag.jvp(f, x.data, xp.ones_like(x).data)
    assert host(tangent).tolist() == [3.0, 12.0]


@pytest.mark.usefixtures("_bridged")
@pytest.mark.parametrize("on", [None, "strict"])
def test_an_exported_function_has_records_of_every_order(on):
    f = ag.bridge.export(lambda x, *, n: x**n, "numpy", backend=on)
    value, first, again, second = f(np.asarray([1.0, 2.0]), n=3)
    assert value.tolist() == [1.0, 8.0]
    assert first.tolist() == again.tolist() == [3.0, 12.0]
    assert second.tolist() == [6.0, 12.0]
    weight = ag.Variable(2.0)
    with pytest.raises(LostGradientError, match="none of its arguments"):
        ag.bridge.export(lambda x: x * weight, "numpy")(np.ones(2))


@pytest.mark.usefixtures("_bridged")
@pytest.mark.parametrize("on", [None, "strict"])
def test_an_exported_function_may_write_to_its_argument(on):
    def cube(x):
        x *= x * x
        return x

    given = np.asarray([1.0, 2.0])
    value, first, again, second = ag.bridge.export(cube, "numpy", backend=on)(given)
    assert given.tolist() == [1.0, 2.0]
    assert value.tolist() == [1.0, 8.0]
    assert first.tolist() == again.tolist() == [3.0, 12.0]
    assert second.tolist() == [6.0, 12.0]


def test_what_is_not_there_is_named():
    for make in (ag.bridge.export, ag.bridge.adopt):
        with pytest.raises(PluginError, match="'strict' has no bridge"):
            make(lambda x: x, "strict")
        with pytest.raises(LookupError, match="no backend is named 'torhc'"):
            make(lambda x: x, "torhc")


def test_what_a_bridge_must_override():
    bridge = Bridge()
    assert bridge.parameters(len) == ()
    for call in (
        lambda: bridge.export(None, []),
        lambda: bridge.record(len, []),
        lambda: bridge.accumulate(None, None),
    ):
        with pytest.raises(NotImplementedError, match="Bridge must override"):
            call()
