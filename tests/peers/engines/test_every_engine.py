"""What holds for each engine: lists, constants, what is no array, Ctrl-C, hooks, and threads."""

import threading
from contextlib import nullcontext

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import MixedBackendsError
from agnograd.extend import hookimpl
from agnograd_engines import Primitive

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")


class Engine:
    """Arrays and gradients of a library."""

    def precision(self):
        return nullcontext()


class Torch(Engine):
    """PyTorch's arrays and gradients."""

    def __init__(self):
        self.xp = pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")

    def array(self, values):
        return self.xp.asarray(np.asarray(values))

    def grad(self, f):
        return lambda x: self.xp.func.grad(lambda x: f(x).sum())(x).numpy()

    def eager_grad(self, f):
        def of(x):
            x = x.detach().requires_grad_()
            return self.xp.autograd.grad(f(x).sum(), x)[0].numpy()

        return of

    def hessian(self, f):
        return lambda x: self.xp.func.hessian(lambda x: f(x).sum())(x).numpy()


class Jax(Engine):
    """JAX's arrays and gradients."""

    def __init__(self):
        self.jax = pytest.importorskip("jax", reason="JAX: pip install 'agnograd[jax]'")

    def precision(self):  # of a thread
        return self.jax.enable_x64(True)

    def array(self, values):
        return self.jax.numpy.asarray(values)

    def grad(self, f):
        return lambda x: np.asarray(self.jax.jit(self.jax.grad(lambda x: f(x).sum()))(x))

    def eager_grad(self, f):
        return lambda x: np.asarray(self.jax.grad(lambda x: f(x).sum())(x))

    def hessian(self, f):
        return lambda x: np.asarray(self.jax.hessian(lambda x: f(x).sum())(x))


class Autograd(Engine):
    """NumPy's arrays, and autograd's gradients."""

    def __init__(self):
        self.np = pytest.importorskip("autograd.numpy", reason="autograd: pip install autograd")
        self.autograd = pytest.importorskip("autograd")

    def array(self, values):
        return np.asarray(values)

    def grad(self, f):
        return self.autograd.grad(lambda x: self.np.sum(f(x)))

    eager_grad = grad

    def hessian(self, f):
        return self.autograd.hessian(lambda x: self.np.sum(f(x)))


@pytest.fixture(params=[Torch, Jax, Autograd], ids=lambda kind: kind.__name__.lower())
def engine(request):
    found = request.param()
    with found.precision():
        yield found


X = [0.5, 0.7]


def test_arrays_in_lists_keep_their_gradients(engine, scipy, special):
    for of_list in (
        lambda a, b: special.erfcx([a, b]),  # element-wise
        lambda a, b: special.erf([[a], [b]]),  # the engine's own
        lambda a, b: special.kve([1.5, 2.5], (a, b)),
        lambda a, b: special.logsumexp([a, b]),  # programs, and what they call
        lambda a, b: scipy.signal.all_pole([1.0, 2.0], [1.5, b, a]),
        lambda a, b: scipy.signal.lfilter([a, 1.0], [1.0, b], [1.0, 2.0]),
        lambda a, b: scipy.signal.correlate([a, 1.0], [b, 2.0]),
        lambda a, b: scipy.linalg.solve_sylvester([[a]], [[b]], [[1.0]]),
        lambda a, b: scipy.linalg.block_diag([[a]], [[b, 1.0]]),
        lambda a, b: scipy.stats.norm.cdf([a, b], scale=[1.0, 2.0]),
    ):
        found = engine.eager_grad(lambda x, f=of_list: f(x[0], x[1]))(engine.array(X))
        x = ag.Variable(np.asarray(X), requires_grad=True)
        x.__array_namespace__().sum(of_list(x[0], x[1])).backward()
        np.testing.assert_allclose(found, x.grad.data, rtol=1e-12)  # a float32 would be seen


def test_numpys_scalars_are_numbers_and_options(engine, scipy, special):
    x = engine.array([X])
    for f, same in (
        (lambda x: special.logsumexp(x, axis=np.int64(1)), lambda x: special.logsumexp(x, axis=1)),
        (
            lambda x: scipy.signal.lfilter([1.0], [1.0, 0.5], x, axis=np.int32(-1)),
            lambda x: scipy.signal.lfilter([1.0], [1.0, 0.5], x),
        ),
        (lambda x: special.kve(np.float64(1.5), x), lambda x: special.kve(1.5, x)),
    ):
        np.testing.assert_array_equal(engine.grad(f)(x), engine.grad(same)(x))


def test_what_is_no_array_of_the_engine_is_named(engine, scipy, special):
    strict = pytest.importorskip("array_api_strict")
    x = engine.array(X)
    for f in (
        lambda x: special.xlogy(x, strict.ones(2)),
        lambda x: scipy.signal.lfilter([1.0, strict.ones(1)[0]], [1.0], x),
    ):
        with pytest.raises(MixedBackendsError, match=r"array_api_strict.*Array beside those of"):
            engine.eager_grad(f)(x)
    with pytest.raises(TypeError, match=r"special.erfcx\(\): missing a required argument: 'x'"):
        special.erfcx()
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'q'"):
        special.erfcx(x, q=1)


@pytest.mark.parametrize("method", ["compute", "save", "pull", "push"])
def test_ctrl_c_anywhere_leaves_no_trace(method, engine, scipy, special, monkeypatch):
    def f(x):
        return special.kve(1.5, x).sum() + (scipy.signal.all_pole(x, x) ** 2).sum()

    x, right = engine.array(X), getattr(Primitive, method)
    expected, calls = engine.eager_grad(f)(x), 0

    def interrupted(self, *args):
        nonlocal calls
        calls += 1
        if calls == stop:
            raise KeyboardInterrupt
        return right(self, *args)

    for stop, transform in ((1, engine.eager_grad), (1, engine.hessian), (3, engine.hessian)):
        calls = 0
        monkeypatch.setattr(Primitive, method, interrupted)
        try:
            transform(f)(x)
            assert calls < stop  # or it has been raised
        except KeyboardInterrupt:
            assert calls == stop
        monkeypatch.setattr(Primitive, method, right)
        np.testing.assert_array_equal(engine.eager_grad(f)(x), expected)
    assert ag.is_grad_enabled()


class Refusing:
    """A plugin that no op pleases."""

    @hookimpl
    def forward_preprocess(self, op):
        raise RuntimeError(f"{op.name} is refused")


def test_hooks_see_variables_only(engine, scipy, special):
    def f(x):
        return scipy.signal.lfilter([0.5], [1.0, 0.2], x).sum() + special.kve(1.5, x).sum()

    x = engine.array(X)
    expected = engine.eager_grad(f)(x)
    with ag.hooks(Refusing()):
        np.testing.assert_array_equal(engine.eager_grad(f)(x), expected)
        with pytest.raises(RuntimeError, match="is refused"):
            special.kve(1.5, ag.Variable(X))


def test_threads_have_their_own_gradients(engine, scipy, special):
    def f(x):
        return (scipy.signal.all_pole(x, x) ** 2).sum() + special.kve(1.5, x).sum()

    def work(n):
        with engine.precision():
            found[n] = engine.grad(f)(engine.array([n + 0.5, 1.5]))

    found = {}
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    together = dict(found)
    for n in range(4):
        work(n)
        np.testing.assert_allclose(together[n], found[n], rtol=1e-12)


def test_empty_arrays_and_nan(engine, scipy, special):
    for f, shape in (
        (lambda x: special.kve(1.5, x), (0, 2)),
        (scipy.linalg.expm, (0, 0)),
        (lambda x: scipy.stats.norm.logpdf(x, scale=2.0), (0,)),
    ):
        assert engine.grad(f)(engine.array(np.zeros(shape))).shape == shape
    found = engine.grad(lambda x: special.kve(1.5, x))(engine.array([np.nan, 1.0]))
    np.testing.assert_array_equal(np.isnan(found), [True, False])
