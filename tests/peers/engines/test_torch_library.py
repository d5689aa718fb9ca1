"""Ops as functions of tensors: PyTorch's own checkers, transformations and compiler."""

import threading
import warnings

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays.domains import domain_named
from agnograd.errors import MissingRuleError, MixedBackendsError, UnsupportedFunctionError
from agnograd.extend import hookimpl

torch = pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")

EVERY = 4


def tensor(values, **options):
    return torch.tensor(values, dtype=torch.float64, **options)


def start(values):
    return tensor(values, requires_grad=True)


def is_inexact(x):
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


B, A, X = [0.5, 0.3, -0.2], [1.5, -0.4, 0.2], [[0.1, -0.7, 0.4, 1.1], [0.3, 0.2, -0.5, 0.6]]


# -- every op --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_gradcheck_and_gradgradcheck_pass(call):
    run, arrays = call.on(ag.bridge.library(call.library), domain_named("torch").raw, is_inexact)
    starts = tuple(x.clone().requires_grad_() for x in arrays)

    def inexact(*given):
        return tuple(filter(is_inexact, run(*given)))

    assert gradcheck(inexact, starts, check_forward_ad=True)
    if call.order > 1:
        assert gradgradcheck(inexact, starts)


def test_one_op_of_each_kind(scipy, special):
    for function, arrays in (
        (special.kve, (tensor(1.5), start([0.5, 1.5]))),  # element-wise
        (scipy.signal.all_pole, (start(X), start(A))),  # by pullbacks
        (
            scipy.linalg.sylvester,
            (start([[2.0, 0.5], [0.1, 1.5]]), start([[1.0]]), start([[1], [2]])),
        ),
        (scipy.signal.lfilter, (start(B), start(A), start(X))),  # a program
    ):
        assert gradcheck(function, arrays, check_forward_ad=True)
        assert gradgradcheck(function, arrays, check_fwd_over_rev=True)


def test_gradcheck_finds_a_wrong_rule(special, monkeypatch):
    from agnograd_engines import Primitive

    right = Primitive.pull

    def wrong(self, saved, cotangents, wanted):
        return [None if g is None else 1.01 * g for g in right(self, saved, cotangents, wanted)]

    x = start([0.5, 1.5])
    assert gradcheck(special.erfcx, x)
    monkeypatch.setattr(Primitive, "pull", wrong)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(special.erfcx, x)


# -- functions of users, options, and what is not differentiated -----------------------------------


def test_functions_of_tensors_are_taken(scipy):
    def root(a, b):
        return scipy.optimize.root(lambda x, a, b: x**3 + a * x - b, [0.5, 0.5], (a, b))

    a, b = start([0.5, 0.7]), start([0.5, 0.2])
    assert gradcheck(root, (a, b))
    assert gradgradcheck(root, (a, b))
    one = torch.ones(1, dtype=torch.float64)
    found = scipy.integrate.solve_ivp(lambda t, y, p: -p * y, (0.0, 0.5), one, args=(a[0],))
    torch.testing.assert_close(found.y[:, -1], torch.exp(-0.5 * a[:1]), rtol=1e-3, atol=0)
    (g,) = torch.autograd.grad(found.y[0, -1], a)
    torch.testing.assert_close(g[0], -0.5 * torch.exp(-0.5 * a.detach()[0]), rtol=1e-3, atol=0)


def test_options_constants_and_numbers(scipy, special):
    x = start(X[0])
    mode = scipy.signal.convolve(x, np.asarray(B), mode="same")
    torch.testing.assert_close(mode, scipy.signal.convolve(x, tensor(B), "same"))
    mode.sum().backward()
    assert x.grad.shape == x.shape
    y = special.xlogy(2.0, start([0.5, 1.0]))
    torch.testing.assert_close(y, 2 * torch.log(tensor([0.5, 1.0])))
    assert special.xlogy(2.0, 1.0) == 0.0
    assert not scipy.signal.all_pole(tensor(X), tensor(A)).requires_grad
    with torch.no_grad():
        assert not scipy.signal.all_pole(start(X), tensor(A)).requires_grad


def test_several_results_are_in_their_container(scipy):
    m = start([[2.0, 0.5], [0.1, 1.5]])
    order, lower, upper = scipy.linalg.lu_parts(m)
    assert not order.requires_grad
    torch.testing.assert_close((lower @ upper)[order], m)
    (g,) = torch.autograd.grad(upper[1, 1], m)
    torch.testing.assert_close(g[1, 1], tensor(1.0))


def test_what_has_no_derivative_says_so_in_the_pass(special):
    v, x = start([1.5]), start([0.5])
    torch.autograd.grad(special.hankel1(v.detach(), x).abs().sum(), x)
    with pytest.raises(MissingRuleError, match="with respect to 'v'"):
        torch.autograd.grad(special.hankel1(v, x).abs().sum(), v)


def test_arrays_of_two_engines_and_of_none(special):
    class Other:
        __module__, __add__ = "autograd.of.mine", None

    with pytest.raises(MixedBackendsError, match="torch and autograd"):
        special.xlogy(torch.ones(2), Other())
    assert type(special.erf(np.ones(2))) is np.ndarray
    x = ag.Variable([0.5])
    assert isinstance(special.erf(x), ag.Variable)


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_empty_tensors(special, shape):
    x = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(special.erfcx(x).sum(), x)
    assert g.shape == shape


def test_dtypes_stay_and_extremes_are_scipys(special):
    x = torch.tensor([0.5, 3.0], dtype=torch.float32, requires_grad=True)
    special.erfcx(x).sum().backward()
    assert special.erfcx(x).dtype == x.grad.dtype == torch.float32
    wide = start([float("nan"), float("inf"), 1e300, 1e-300])
    (g,) = torch.autograd.grad(special.erfcx(wide).sum(), wide)
    assert torch.isnan(g[0])
    assert torch.isfinite(g[1:]).all()


def test_threads_have_gradients_of_their_own(scipy):
    found = {}

    def work(n):
        x = start([float(n), 1.0, 2.0])
        found[n] = torch.autograd.grad((scipy.signal.all_pole(x, tensor(A)) ** 2).sum(), x)[0]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    work(17)
    for n in range(4):
        x = start([float(n), 1.0, 2.0])
        y = scipy.signal.lfilter([1.0], tensor(A), x)
        torch.testing.assert_close(found[n], torch.autograd.grad((y**2).sum(), x)[0])


# -- transformations -------------------------------------------------------------------------------


def test_vmap_uses_the_batching_rule(scipy, special):
    x, a = tensor(X), tensor(A)
    f = scipy.signal.all_pole
    torch.testing.assert_close(torch.vmap(f, (0, None))(x, a), f(x, a))
    several = torch.stack([a, 2 * a])
    expected = torch.stack([f(x, each) for each in several])
    torch.testing.assert_close(torch.vmap(f, (None, 1))(x, several.T), expected)
    each = torch.vmap(torch.func.grad(lambda x, a: (f(x, a) ** 2).sum()), (0, None))(x, a)
    torch.testing.assert_close(each, torch.func.grad(lambda x: (f(x, a) ** 2).sum())(x))
    kve = torch.vmap(special.kve, (None, 0))(tensor(1.5), x.abs() + 0.1)
    torch.testing.assert_close(kve, special.kve(1.5, x.abs() + 0.1))


def test_hessians_of_all_modes_agree(scipy):
    def f(a):
        return (scipy.signal.lfilter(B, a, tensor(X)) ** 2).sum()

    a = tensor(A)
    expected = torch.autograd.functional.hessian(f, a)
    torch.testing.assert_close(torch.func.hessian(f)(a), expected)
    torch.testing.assert_close(torch.func.jacfwd(torch.func.jacfwd(f))(a), expected)
    torch.testing.assert_close(torch.func.jacrev(torch.func.jacrev(f))(a), expected)
    torch.testing.assert_close(torch.func.jacrev(torch.func.jacfwd(f))(a), expected)


def test_tangents_that_pytorch_would_lose_are_an_error(special):
    def along(f):
        return lambda x: torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]

    x, f = tensor(0.5), special.erfcx
    second = torch.func.grad(torch.func.grad(f))(x)
    for each in (along(along(f)), along(torch.func.grad(f)), torch.func.grad(along(f))):
        torch.testing.assert_close(each(x), second)
    third = torch.func.grad(along(along(f)))
    torch.testing.assert_close(third(x), torch.func.grad(torch.func.grad(torch.func.grad(f)))(x))
    for each in (along(along(along(f))), along(along(torch.func.grad(f)))):
        with pytest.raises(UnsupportedFunctionError, match="loses tangents of tangents"):
            each(x)


# -- modes -----------------------------------------------------------------------------------------


def test_autocast_computes_in_single_precision(scipy, special):
    """As PyTorch does for functions that need the digits: not a product of a rule is in half."""

    def f(m):
        y = scipy.signal.lfilter([0.5, 0.2], [1.0, 0.3], m)
        return scipy.linalg.sylvester(m, m, y).sum() + special.kve(1.5, m).sum()

    m = torch.tensor([[0.5, 0.2], [0.1, 0.9]], requires_grad=True)
    out = f(m)
    (expected,) = torch.autograd.grad(out, m)
    along = torch.func.jvp(f, (m.detach(),), (m.detach(),))[1]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (m @ m).dtype == torch.bfloat16
        torch.testing.assert_close(f(m), out, rtol=0, atol=0)
        torch.testing.assert_close(torch.autograd.grad(f(m), m)[0], expected, rtol=0, atol=0)
        pushed = torch.func.jvp(f, (m.detach(),), (m.detach(),))[1]
        torch.testing.assert_close(pushed, along, rtol=0, atol=0)
        half = special.kve(1.5, m @ m)  # SciPy has no bfloat16
        assert half.dtype == torch.autograd.grad(half.sum(), m)[0].dtype == torch.float32
        assert torch.is_autocast_enabled("cpu")


def test_tensors_of_inference_mode(scipy, special):
    x = start(X[0])
    with torch.inference_mode():
        y, z = special.kve(1.5, x.abs()), scipy.signal.lfilter(B, A, x)
    assert y.is_inference()
    assert z.is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        special.xlogy(x, y)


def test_errors_of_pytorch_name_the_op(special):
    x = start([0.5, 0.7])
    y = special.erfcx(x * 1.0)
    assert y.grad_fn.name() == "special.erfcxBackward"
    y.add_(1.0)
    with pytest.raises(RuntimeError, match=r"output 0 of special\.erfcx, is at version 1"):
        torch.autograd.grad(y.sum(), x)


def test_a_hook_that_raises_in_a_program_of_functions(scipy):
    class Refusing:
        @hookimpl
        def backward_preprocess(self, op):
            raise ValueError(f"{op.name} is refused")

    def root(a):
        return scipy.optimize.root(lambda x, a: x**3 + a * x - 1.0, tensor([0.5]), (a,)).sum()

    a = start([0.5])
    (expected,) = torch.autograd.grad(root(a), a)
    with ag.hooks(Refusing()), pytest.raises(ValueError, match="is refused"):
        torch.autograd.grad(root(a), a)
    torch.testing.assert_close(torch.autograd.grad(root(a), a)[0], expected)


# -- compiled --------------------------------------------------------------------------------------


@pytest.fixture
def _compiler():
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"torch\..*")
        yield
    torch._dynamo.reset()


@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize("engine", ["eager", "aot_eager"])
def test_a_compiled_function_has_no_breaks(engine, scipy, special):
    def f(x, a):
        y = scipy.signal.lfilter([0.5, 0.2], a, x, axis=-1)
        return (
            (y**2).sum() + special.kve(2.5, a**2).sum() + scipy.stats.norm.cdf(x, scale=2.0).sum()
        )

    compiled = torch.compile(f, backend=engine, fullgraph=True)
    x, a = start(X), start(A)
    torch.testing.assert_close(compiled(x, a), f(x, a))
    found, expected = (torch.autograd.grad(g(x, a), (x, a)) for g in (compiled, f))
    torch.testing.assert_close(found, expected)


@pytest.mark.usefixtures("_compiler")
def test_a_compiled_function_has_second_derivatives_and_any_size(scipy):
    compiled = torch.compile(
        lambda x, a: scipy.signal.all_pole(x, a), backend="eager", fullgraph=True, dynamic=True
    )
    assert gradgradcheck(compiled, (start(X), start(A)))
    for size in (3, 5):
        x = torch.arange(size, dtype=torch.float64)
        torch.testing.assert_close(compiled(x, tensor(A)), scipy.signal.all_pole(x, tensor(A)))


@pytest.mark.usefixtures("_compiler")
def test_tensors_in_lists_are_compiled(scipy, special):
    def f(x):
        y = scipy.signal.lfilter([x[0], 1.0], [1.0, x[1]], [1.0, 2.0])
        return y.sum() + special.kve([1.5, 2.5], [x[0], x[1]]).sum()

    x = start([0.5, 0.7])
    compiled = torch.compile(f, backend="eager", fullgraph=True)
    found, expected = (torch.autograd.grad(g(x), x)[0] for g in (compiled, f))
    torch.testing.assert_close(found, expected)


@pytest.mark.usefixtures("_compiler")
def test_a_compiled_function_under_autocast(special, scipy):
    def f(m):
        return scipy.linalg.sylvester(m, m, m @ m).sum() + special.kve(1.5, m @ m).sum()

    compiled = torch.compile(f, backend="eager", fullgraph=True)
    m = torch.tensor([[0.5, 0.2], [0.1, 0.9]], requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, expected = compiled(m), f(m)
    torch.testing.assert_close(found, expected)
    found, expected = (torch.autograd.grad(each, m)[0] for each in (found, expected))
    torch.testing.assert_close(found, expected)


@pytest.mark.usefixtures("_compiler")
def test_compiled_functions_of_several_results(scipy):
    def f(m):
        order, lower, upper = scipy.linalg.lu_parts(m)
        return (lower**2).sum() + (upper**3).sum() + order.sum()

    m = start([[2.0, 0.5], [0.1, 1.5]])
    compiled = torch.compile(f, backend="aot_eager", fullgraph=True)
    found, expected = (torch.autograd.grad(g(m), m)[0] for g in (compiled, f))
    torch.testing.assert_close(found, expected)


def test_what_returns_more_than_tensors_cannot_be_compiled():
    from agnograd_torch import _custom

    given = _custom._parted(((np.float64(1.0),), (), ()), [])
    call = _custom._Call("special.erf", given)
    call.function = lambda x: (x, None)
    with pytest.raises(UnsupportedFunctionError, match="outside of what is compiled"):
        call.run([])


def test_gradients_of_gradients_of_an_op_in_a_compiled_graph():
    from agnograd_torch import _custom

    x, y = start([2.0, 3.0]), start([5.0, 7.0])
    (g,) = torch.autograd.grad(_custom.call("sin", (x,), {}).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x, create_graph=True)
    torch.testing.assert_close(second, -torch.sin(x))
    torch.testing.assert_close(torch.autograd.grad(second.sum(), x)[0], -torch.cos(x))
    out = _custom.call("multiply", (x, y), {}).sum()
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    torch.testing.assert_close(torch.autograd.grad(g.sum(), y)[0], torch.ones_like(y))
