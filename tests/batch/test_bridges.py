"""Functions of other libraries and wrapped ones under vmap and other levels, by members."""

import warnings

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import BatchingWarning, CompileError
from agnograd.extend import Interpretation, Run

xp = ag.namespace("numpy")
X = np.reshape(np.linspace(-1.0, 1.0, 12), (4, 3))
pytestmark = pytest.mark.filterwarnings("ignore::agnograd.errors.BatchingWarning")


class Same(Interpretation):
    """Compute what is computed anyway."""


def by_torch():
    torch = pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")
    return ag.bridge.from_torch(torch.sin)


def by_jax():
    jax = pytest.importorskip("jax", reason="JAX: pip install 'agnograd[jax]'")

    def narrow(x):
        return ag.bridge.from_jax(jax.numpy.sin)(ag.asarray(x, dtype="float32"))

    return narrow


def by_wrap():
    return ag.wrap(lambda x: np.sin(x), vjp=lambda g, out, x: g * np.cos(x))


ORDERS = {
    "vmap": lambda f: (ag.vmap(f), np.sin(X)),
    "vmap of vmap": lambda f: (ag.vmap(ag.vmap(f)), np.sin(X)),
    "vmap of grad": lambda f: (ag.vmap(ag.grad(lambda x: xp.sum(f(x)))), np.cos(X)),
    "grad of vmap": lambda f: (ag.grad(lambda x: xp.sum(ag.vmap(f)(x))), np.cos(X)),
    "vmap of grad of vmap": lambda f: (
        ag.vmap(ag.grad(lambda x: xp.sum(ag.vmap(f)(x)))),
        np.cos(X),
    ),
    "vmap of vmap of grad": lambda f: (ag.vmap(ag.vmap(ag.grad(f))), np.cos(X)),
    "vmap of jvp": lambda f: (ag.vmap(lambda x: ag.jvp(f, x, x)[1]), np.cos(X) * X),
    "vmap of a second derivative": lambda f: (
        ag.vmap(lambda x: ag.hvp(lambda x: xp.sum(f(x)), x, x)),
        -np.sin(X) * X,
    ),
    "an interpretation": lambda f: (lambda x: Same.interpret(f, x, run=Run()), np.sin(X)),
    "a compiled vmap of grad": lambda f: (
        ag.compile(ag.vmap(ag.grad(lambda x: xp.sum(f(x))))),
        np.cos(X),
    ),
    "a compiled second derivative": lambda f: (
        ag.compile(lambda x: ag.hvp(lambda x: xp.sum(f(x)), x, x)),
        -np.sin(X) * X,
    ),
    "an interpretation of vmap of grad": lambda f: (
        lambda x: Same.interpret(ag.vmap(ag.grad(lambda x: xp.sum(f(x)))), x, run=Run()),
        np.cos(X),
    ),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("made", [by_torch, by_jax, by_wrap])
def test_every_order(made, order):
    function, expected = ORDERS[order](made())
    for _ in range(2):  # a compiled one is traced at first, and then run
        found = function(X)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, expected, rtol=1e-5 if made is by_jax else 1e-12)


def test_parameters_of_a_module_get_the_gradients_of_all_members():
    torch = pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")
    module = torch.nn.Linear(3, 1, dtype=torch.float64)
    f = ag.bridge.from_torch(module)
    with pytest.warns(BatchingWarning, match="Linear cannot be batched"):
        total = xp.sum(ag.vmap(f)(X))
    total.backward()
    np.testing.assert_allclose(module.weight.grad.numpy(), X.sum(axis=0)[None])
    module.zero_grad()
    xp.sum(ag.vmap(ag.grad(lambda x: xp.sum(f(x) ** 2)))(X)).backward()
    w, b = (each.detach().numpy() for each in module.parameters())
    expected = 2.0 * np.sum(X * w.sum() + (X @ w.T + b), axis=0)
    np.testing.assert_allclose(module.weight.grad.numpy(), expected[None], rtol=1e-12)


def test_a_traced_function_trains_no_module():
    torch = pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")
    f = ag.bridge.from_torch(torch.nn.Linear(3, 1, dtype=torch.float64))
    with pytest.raises(CompileError, match="has parameters that are trained"):
        ag.compile(f)(X)


def test_arrays_by_keyword_have_members_too():
    torch = pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")
    f = ag.bridge.from_torch(lambda x, *, w: {"product": torch.mul(x, w), "w": w})
    found = ag.vmap(lambda x: f(X[0], w=x))(X)
    np.testing.assert_allclose(found["product"], X[0] * X)
    np.testing.assert_allclose(found["w"], X)


def test_a_warning_is_for_members_only():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Same.interpret(by_wrap(), X, run=Run()).shape == X.shape
