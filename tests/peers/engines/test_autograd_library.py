"""Ops as primitives of HIPS autograd: its own checker, and what it has no boxes for."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays.domains import domain_named
from agnograd.errors import MissingRuleError, MixedBackendsError, PluginError
from agnograd_engines import engine_function

autograd = pytest.importorskip("autograd", reason="HIPS autograd: pip install autograd")
anp = pytest.importorskip("autograd.numpy")
check_grads = pytest.importorskip("autograd.test_util").check_grads

X, A = np.asarray([[0.1, -0.7, 0.4], [0.3, 0.2, -0.5]]), np.asarray([1.5, -0.4, 0.2])

EVERY = 4


def is_inexact(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


# Some derivatives are zero everywhere.
pytestmark = pytest.mark.filterwarnings("ignore:Output seems independent of input")


class _Boxes:
    """The functions for boxes that samples need to prepare arguments and look at results."""

    def __getattr__(self, name):
        return engine_function("autograd", name)


def weighted(results):
    """Return one real number that depends on all results, on each element in its own way."""
    total = 0.0
    for out in results:
        if out.dtype.kind in "fc":
            weights = np.cos(np.arange(1.0, 1 + out.size)).reshape(out.shape)
            total = total + anp.sum(anp.real(out) * weights) + anp.sum(anp.imag(out) ** 2)
    return total


@pytest.mark.slow
def test_check_grads_passes_in_both_modes(call):
    run, arrays = call.on(ag.bridge.library(call.library), domain_named("numpy").raw, is_inexact)
    run.xp = _Boxes()
    check = check_grads(
        lambda *given: weighted(run(*given)), modes=["fwd", "rev"], order=call.order
    )
    check(*arrays)


def test_one_op_of_each_kind(scipy, special):
    check_grads(lambda x: special.kve(1.5, x), modes=["fwd", "rev"], order=2)(
        np.asarray([0.5, 1.5])
    )
    check_grads(scipy.signal.lfilter, modes=["fwd", "rev"], order=2)(A[::-1], A, X)
    check_grads(lambda m: scipy.linalg.lu_parts(m)[2], modes=["fwd", "rev"], order=2)(X[:, :2])
    check_grads(lambda z: anp.real(special.wofz(z)), modes=["rev"], order=2)(X + 0.5j)


def test_numbers_are_boxed_arrays(special):
    assert autograd.grad(special.erf)(0.5) == pytest.approx(2 / np.sqrt(np.pi) * np.exp(-0.25))
    second = autograd.grad(autograd.grad(special.erfcx))(0.5)
    assert second == pytest.approx(0.7187, rel=1e-4)
    hessian = autograd.hessian(lambda x: anp.sum(special.gammaln(x)))(np.asarray([1.5, 2.5]))
    np.testing.assert_allclose(hessian, np.diag(special.polygamma(1, np.asarray([1.5, 2.5]))))


def test_gradients_by_integers_are_not_cut_off(scipy, special):
    """Autograd takes them as numbers of floating-point types, in its own functions, too."""
    n = np.asarray([1, 2])
    for f in (
        lambda x: special.kve(1.5, x),
        lambda x: scipy.signal.all_pole(x, np.asarray([2.0, 0.3])),
        lambda x: scipy.signal.lfilter([0.5, 0.2], [1.0, 0.3], x),
    ):
        grad = autograd.grad(lambda x, f=f: anp.sum(f(x) ** 2))
        np.testing.assert_allclose(grad(n), grad(n.astype(float)), rtol=1e-12)
        along = autograd.make_jvp(f)
        np.testing.assert_allclose(along(n)(X[0, :2])[1], along(1.0 * n)(X[0, :2])[1], rtol=1e-12)


def test_a_wrong_rule_is_found(special, monkeypatch):
    from agnograd_engines import Primitive

    right = Primitive.pull
    x = np.asarray([0.5, 1.5])
    check_grads(special.erfcx, modes=["rev"], order=1)(x)
    monkeypatch.setattr(Primitive, "pull", lambda *args: [1.01 * g for g in right(*args)])
    with pytest.raises(AssertionError, match="analytic"):
        check_grads(special.erfcx, modes=["rev"], order=1)(x)


def test_errors(scipy, special):
    with pytest.raises(MissingRuleError, match="with respect to 'v'"):
        autograd.grad(lambda v: anp.abs(special.hankel1(v, 0.5)))(1.5)
    with pytest.raises(PluginError, match=r"optimize.root takes functions.*'numpy'"):
        autograd.grad(lambda a: scipy.optimize.root(lambda x, a: x - a, 0.5, (a,)))(1.5)
    torch = pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")
    with pytest.raises(MixedBackendsError, match="several engines"):
        autograd.grad(lambda a: special.xlogy(a, torch.ones(2)))(1.5)
