"""Ops as functions of other engines: a stranger's engine, whose arrays are boxes of NumPy's."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import MissingRuleError, MixedBackendsError, PluginError
from agnograd_engines import Engine, Primitive
from agnograd_engines import _engine as engines
from agnograd_engines import _library as libraries
from arrays import host


class Dual:
    """A value and its gradient by one number: forward mode by hand."""

    def __init__(self, value, tangent=0.0):
        self.value = np.asarray(value)
        self.tangent = np.broadcast_to(np.asarray(tangent, float), self.value.shape)

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)

    def __add__(self, other):
        return NotImplemented


class Duals(Engine):
    """Push tangents through element-wise ops, and through all others by their pullbacks."""

    backend = "numpy"
    differentiates = False

    def types(self):
        return (Dual,)

    def device(self, x):
        return "cpu"

    def function(self, primitive):
        def call(arrays, options):
            values = tuple(x.value if isinstance(x, Dual) else x for x in arrays)
            results = primitive.compute(values, options)
            if not any(isinstance(x, Dual) for x in arrays):
                return primitive.rebuilt(results)
            saved = primitive.save(values, options, results)
            tangents = [x.tangent if isinstance(x, Dual) else None for x in arrays]
            if primitive.pushes:
                return Dual(results[0], primitive.push(saved, tangents, results[0]))
            wanted = [t is not None for t in tangents]
            return primitive.rebuilt(
                [
                    self._along(primitive, saved, tangents, wanted, results, n)
                    for n in range(len(results))
                ]
            )

        return call

    def _along(self, primitive, saved, tangents, wanted, results, number):
        tangent = np.zeros(results[number].shape)
        for place in np.ndindex(tangent.shape):
            unit = np.zeros(tangent.shape)
            unit[place] = 1.0
            cotangents = [unit if n == number else np.zeros(r.shape) for n, r in enumerate(results)]
            found = primitive.pull(saved, cotangents, wanted)
            tangent[place] = sum(
                np.sum(g * t) for g, t in zip(found, tangents, strict=True) if g is not None
            )
        return Dual(results[number], tangent)


@pytest.fixture
def duals(monkeypatch):
    """Install the engine, as an entry point would."""
    engine, name = Duals(), __name__.partition(".")[0]
    monkeypatch.setattr(Dual, "__module__", name)
    found = engines.engine_named
    monkeypatch.setattr(engines, "engines", lambda: [name, "torch"])
    for module in (engines, libraries):
        monkeypatch.setattr(module, "engine_named", lambda n: engine if n == name else found(n))
    engines.engine_of.clear()
    libraries._namespace_of.cache_clear()
    yield engine
    engines.engine_of.clear()
    libraries._namespace_of.cache_clear()


def slope(f, x, direction=1.0):
    """Return the derivative along a direction, by central differences."""
    h = 1e-6
    return (f(x + h * np.asarray(direction)) - f(x - h * np.asarray(direction))) / (2 * h)


@pytest.mark.usefixtures("duals")
def test_a_strangers_engine_has_ops_of_each_kind():
    special, scipy = ag.bridge.library("special"), ag.bridge.library("scipy")
    x = np.asarray([0.5, 1.5])
    found = special.kve(1.5, Dual(x, 1.0))
    np.testing.assert_allclose(found.value, special.kve(1.5, x))
    np.testing.assert_allclose(found.tangent, slope(lambda x: special.kve(1.5, x), x), rtol=1e-7)
    found = scipy.signal.all_pole(Dual(x, [1.0, 2.0]), np.asarray([1.5, 0.3]))
    expected = scipy.signal.all_pole(np.asarray([1.0, 2.0]), np.asarray([1.5, 0.3]))
    np.testing.assert_allclose(found.tangent, expected)  # it is linear
    m = np.asarray([[2.0, 0.5], [0.1, 1.5]])
    _, _, upper = scipy.linalg.lu_parts(Dual(m, np.eye(2)))
    expected = slope(lambda m: scipy.linalg.lu_parts(m)[2], m, np.eye(2))
    np.testing.assert_allclose(upper.tangent, expected, atol=1e-7)


@pytest.mark.usefixtures("duals")
def test_programs_run_on_an_engines_functions():
    scipy = ag.bridge.library("scipy")
    x = np.asarray([0.5, 1.5])
    found = scipy.signal.correlate(Dual(x, [1.0, 2.0]), np.asarray([1.5, 0.3]), mode="same")
    expected = scipy.signal.correlate(np.asarray([1.0, 2.0]), np.asarray([1.5, 0.3]), "same")
    np.testing.assert_allclose(found.tangent, expected)  # it is linear
    with pytest.raises(PluginError, match=r"optimize\.root takes functions"):
        scipy.optimize.root(lambda x, a: x - a, [0.5], (Dual([0.5]),))


@pytest.mark.usefixtures("duals")
def test_a_rule_that_is_missing_and_arrays_of_two_engines():
    special = ag.bridge.library("special")
    with pytest.raises(MissingRuleError, match="with respect to 'v'"):
        special.hankel1(Dual([1.5], 1.0), np.asarray([0.5]))

    class Tensor(Dual):
        pass

    Tensor.__module__ = "torch.of.mine"
    with pytest.raises(MixedBackendsError, match="arrays of several engines"):
        special.xlogy(Dual([1.5]), Tensor([1.5]))


def test_without_an_engine_functions_are_those_of_namespaces(xp):
    special = ag.bridge.library("special")
    raw = xp.asarray([0.5, 1.0]).data
    assert type(special.erf(raw)) is type(raw)
    x = ag.Variable(raw)
    y = special.erf(x)
    xp.sum(y).backward()
    np.testing.assert_allclose(host(x.grad), 2 / np.sqrt(np.pi) * np.exp(-(host(raw) ** 2)))
    assert special.xlogy(2.0, 1.0) == 0.0
    assert special.logsumexp([x, x], axis=0).shape == (2,)


def test_names_signatures_and_documentation():
    scipy = ag.bridge.library("scipy")
    assert {"signal", "linalg", "stats"} <= set(dir(scipy))
    assert "expm" in dir(scipy.linalg)
    assert "det" not in dir(scipy.linalg)  # which another package registers
    assert repr(scipy.stats.norm) == "<library 'scipy.stats.norm'>"
    xp = ag.namespace("numpy")
    for own, other in (
        (scipy.signal.lfilter, xp.signal.lfilter),
        (ag.bridge.library("signal").lfilter, xp.signal.lfilter),
        (ag.bridge.library("stats.norm").pdf, xp.stats.norm.pdf),
    ):
        assert inspect.signature(own) == inspect.signature(other)
        assert own.__doc__ == other.__doc__
        assert own.__name__ == other.__name__
    assert scipy.signal is scipy.signal
    assert scipy.signal.lfilter is scipy.signal.lfilter


@pytest.mark.parametrize("engine", [None, "torch"])
def test_libraries_and_their_functions_are_pickled(engine):
    if engine:
        pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")
    scipy = ag.bridge.library("scipy", engine=engine)
    for each in (scipy, scipy.stats.norm, ag.bridge.library("stats.norm", engine=engine)):
        for again in (pickle.loads(pickle.dumps(each)), copy.deepcopy(each)):
            assert repr(again) == repr(each)
            assert dir(again) == dir(each)
            assert again._engine == engine
    cdf = scipy.stats.norm.cdf
    assert pickle.loads(pickle.dumps(cdf)) is copy.deepcopy(cdf) is cdf


def test_what_is_not_there_is_named():
    with pytest.raises(PluginError, match=r"no op set is named 'scipi'.*did you mean 'scipy'"):
        ag.bridge.library("scipi")
    with pytest.raises(PluginError, match=r"no engine is named 'troch'"):
        ag.bridge.library("scipy", engine="troch")
    with pytest.raises(AttributeError, match=r"library 'scipy' has no 'signals'.*did you mean"):
        _ = ag.bridge.library("scipy").signals
    with pytest.raises(TypeError):
        ag.bridge.library(3)


def test_what_an_engine_must_override():
    engine = Engine()
    for call in (lambda: engine.function(None), lambda: engine.device(None)):
        with pytest.raises(NotImplementedError, match="Engine must override"):
            call()
    assert engine.types() == ()
    assert engine.constant(3) == 3
    assert engine.constant_function(len) is engine.asarray(len) is engine.program(len) is len


def test_a_batched_call_without_a_rule_takes_one_member_after_the_other():
    from agnograd._arrays.domains import domain_named
    from agnograd._plugins.op_sets import op_named

    domain = domain_named("numpy")
    op = op_named("special.erf")._replace(batch=None, rules={}, name="special.erf")
    primitive = Primitive(op, domain, domain.raw.special.erf, domain.raw)
    x = np.asarray([[0.5, 1.0], [1.5, 2.0]])
    (found,) = primitive.batched(2, [True], [x], ())
    np.testing.assert_allclose(found, domain.raw.special.erf(x))
