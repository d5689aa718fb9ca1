"""Special functions: what SciPy dispatches, points at edges, errors, and each library's kernels."""

import importlib
import inspect
import itertools
import math
import os
import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
import scipy.special

import agnograd as ag
from agnograd.errors import MissingRuleError, UnsupportedArrayError
from agnograd.testing import Convention
from arrays import host

ROWS = importlib.import_module("agnograd_special.samples.conventions").ROWS
DISPATCHED = importlib.import_module("scipy.special._support_alternative_backends").__all__


def raw(xp, values):
    return xp.asarray(values, dtype=xp.float64).data


def derivatives(f, x, count):
    """Return a function of one number, and its derivatives, as numbers."""
    found = []
    for _ in range(count):
        found.append(host(f(x)).item())
        f = ag.grad(f)
    return found


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# -- SciPy's own functions on Variables ------------------------------------------------------------


@pytest.mark.parametrize("name", DISPATCHED)
def test_every_function_that_scipy_dispatches_is_there(xp, name):
    assert inspect.isfunction(getattr(xp.special, name))
    assert f"special.{name}" in ag.ops()


CLIENT = """
import importlib, sys, warnings
import scipy.special
import agnograd as ag
from agnograd.testing import Sample, check_grad

samples = importlib.import_module("agnograd_special.samples").samples
names = importlib.import_module("scipy.special._support_alternative_backends").__all__
checked = set()
for backend in sys.argv[1:] or ["numpy", "strict"]:
    xp = ag.namespace(backend)
    for sample in samples:
        name = sample.op.removeprefix("special.")
        given = sample.make(xp)[0]
        arrays = [place for place, arg in enumerate(given) if isinstance(arg, ag.Variable)]
        text = repr(sample)
        if name not in names or (backend, name) in checked or "32" in text or "complex" in text:
            continue
        # Parameters without a derivative are numbers in the first samples of a function.
        if not arrays or not sample.order or "int64" in text or sample.kwargs:
            continue
        checked.add((backend, name))
        function = getattr(scipy.special, name)

        def call(*variables):
            args = list(given)
            for place, variable in zip(arrays, variables, strict=True):
                args[place] = variable
            out = function(*args)
            assert isinstance(out, ag.Variable), (name, type(out))
            return out

        check_grad(call, *(given[place].data for place in arrays), order=1)
print(len(checked), sorted({name for _, name in checked} ^ set(names)))
"""


def test_scipys_functions_differentiate_variables():
    assert run(CLIENT, SCIPY_ARRAY_API="1") == f"{2 * len(DISPATCHED)} []\n"


def test_a_distribution_is_differentiated_by_its_argument():
    code = """
import agnograd as ag, numpy as np, scipy.special
xp = ag.namespace("numpy")

def survival(x):
    return xp.sum(scipy.special.chdtrc(3.0, x))

print(ag.grad(survival)(np.asarray([2.0])))
"""
    expected = -scipy.special.rgamma(1.5) * math.exp(-1.0) / 2
    assert float(run(code, SCIPY_ARRAY_API="1").strip("[]\n ")) == pytest.approx(expected)


# -- SciPy is imported when it is needed -----------------------------------------------------------


def test_a_namespace_is_built_without_scipy_and_a_missing_one_is_named():
    code = """
import sys
import agnograd as ag

xp = ag.namespace("numpy")
assert not [name for name in sys.modules if name.startswith("scipy")]
x = ag.Variable([0.5])
assert x.requires_grad
sys.modules["scipy.special"] = None
try:
    xp.special.erf(x)
except ImportError as error:
    assert "pip install 'agnograd[special]'" in str(error), error
else:
    raise AssertionError("SciPy cannot be imported here")
del sys.modules["scipy.special"]
print(xp.special.erf(x).item())
"""
    assert float(run(code)) == pytest.approx(math.erf(0.5))


# -- inputs without a derivative -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "place", "parameter", "reason"),
    [
        ("pdtr", (2.0, 1.5), 0, "k", "integer"),
        ("jv", (1.5, 2.0), 0, "v", "order"),
        ("polygamma", (1.0, 2.0), 0, "n", "integer"),
    ],
)
def test_a_derivative_that_there_is_not_is_an_error_when_it_is_asked_for(
    xp, name, args, place, parameter, reason
):
    leaves = [ag.Variable(raw(xp, [each])) for each in args]
    out = xp.sum(getattr(xp.special, name)(*leaves))
    (gradient,) = ag.autodiff.grad(out, [leaves[-1]], retain_graph=True)
    assert math.isfinite(gradient[0].item())
    with pytest.raises(MissingRuleError, match=rf"special\.{name}.*'{parameter}'.*{reason}"):
        ag.autodiff.grad(out, [leaves[place]])
    assert leaves[place].grad is None


def test_complex_digamma_has_no_derivative_and_says_so(xp):
    z = ag.Variable(xp.asarray([1.0 + 1.0j], dtype=xp.complex128).data)
    out = xp.sum(xp.real(xp.special.psi(z)))
    with pytest.raises(MissingRuleError, match="complex"):
        out.backward()


# -- edges -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} at {row[1]}")
def test_the_table_of_conventions(xp, row):
    convention = Convention("special", *row)
    f = convention.function(xp)
    arrays = [raw(xp, value) for value in convention.at.values()]
    found = ag.grad(lambda *args: xp.sum(f(*args)), argnums=tuple(range(len(arrays))))(*arrays)
    expected = convention.gradient
    expected = list(expected.values()) if isinstance(expected, dict) else [expected]
    for gradient, value in zip(found, expected, strict=True):
        np.testing.assert_array_equal(host(gradient), value)


def test_log_ndtr_far_in_the_tail(xp):
    # The hazard is -x (1 + 1/x**2 - ...), DLMF 7.12.1; its derivative tends to -1.
    for x in (-1e4, -1e8):
        _, first, second = derivatives(lambda x: xp.special.log_ndtr(x), raw(xp, x), 3)
        assert first == pytest.approx(-x, rel=1e-7)
        assert second == pytest.approx(-1.0, rel=1e-7)
    assert derivatives(lambda x: xp.special.log_ndtr(x), raw(xp, 60.0), 3) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("name", "scale"), [("erfcx", 1 / math.sqrt(math.pi)), ("dawsn", 0.5)])
def test_what_falls_as_a_reciprocal_has_its_derivatives(xp, name, scale):
    for x in (11.9, 12.1, 1e3, 1e8):
        found = derivatives(lambda x: getattr(xp.special, name)(x), raw(xp, x), 3)
        expected = [scale / x, -scale / x**2, 2 * scale / x**3]
        np.testing.assert_allclose(found, expected, rtol=6 / x**2 + 1e-9)


def test_ndtri_exp_inverts_it(xp):
    y = raw(xp, -1e6)
    value, first = derivatives(lambda y: xp.special.ndtri_exp(y), y, 2)
    assert first == pytest.approx(-1.0 / value, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # The Taylor coefficients at 0, times factorials.
        ("j1", [0.0, 1 / 2, 0.0, -3 / 8, 0.0, 5 / 16]),
        ("i1", [0.0, 1 / 2, 0.0, 3 / 8, 0.0, 5 / 16]),
        ("j0", [1.0, 0.0, -1 / 2, 0.0, 3 / 8, 0.0]),
        ("sinc", [1.0, 0.0, -(math.pi**2) / 3, 0.0, math.pi**4 / 5, 0.0]),
        ("exprel", [1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6]),
        ("erf", [0.0, *(2 / math.sqrt(math.pi) * np.asarray([1, 0, -2, 0, 12]))]),
    ],
)
def test_removed_singularities_have_every_derivative(xp, name, expected):
    if xp.__name__ == "agnograd.dask":  # which recurses over what high derivatives are made of
        expected = expected[:4]
    found = derivatives(lambda x: getattr(xp.special, name)(x), raw(xp, 0.0), len(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_elliptic_integrals_where_the_parameter_is_zero(xp):
    # DLMF 19.5.1, 19.5.2
    at = raw(xp, 0.0)
    half = math.pi / 2
    assert derivatives(lambda m: xp.special.ellipk(m), at, 3) == pytest.approx(
        [half, half / 4, half * 9 / 32]
    )
    assert derivatives(lambda m: xp.special.ellipe(m), at, 3) == pytest.approx(
        [half, -half / 4, -half * 3 / 32]
    )


def test_reciprocal_gamma_at_its_zeros(xp):
    # DLMF 5.7.1: the residue of gamma at -n is (-1)**n / n!
    found = ag.grad(lambda x: xp.sum(xp.special.rgamma(x)))(raw(xp, [0.0, -1.0, -2.0, -3.0]))
    np.testing.assert_allclose(host(found), [1.0, -1.0, 2.0, -6.0], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1.0, 2.0, 3.0], None),
        ([1000.0, 1000.0, -1000.0], None),
        ([0.0, -40.0], None),
        ([-math.inf, -math.inf], None),
        ([math.inf, 1.0], None),
        ([math.nan, 1.0], None),
        ([1.0, 1.0], [1.0, -1.0]),
        ([1.0, 2.0], [1.0, -1.0]),
        ([1.0, math.inf], [1.0, 0.0]),
        ([2.0, 2.0, 1.0], [1.0, -1.0, 2.0]),
        ([3.0], [0.0]),
        ([], None),
    ],
)
def test_logsumexp_is_scipys(xp, a, b):
    weights = None if b is None else xp.asarray(b, dtype=xp.float64)
    for keepdims, sign in itertools.product((False, True), repeat=2):
        options = {"axis": 0, "keepdims": keepdims, "return_sign": sign}
        found = xp.special.logsumexp(xp.asarray(a, dtype=xp.float64), b=weights, **options)
        expected = scipy.special.logsumexp(host(a), b=None if b is None else b, **options)
        pairs = zip(found if sign else [found], expected if sign else [expected], strict=True)
        for one, other in list(pairs)[: 2 if a else 1]:  # of nothing SciPy's sign is -1
            np.testing.assert_allclose(host(one), other, rtol=1e-14, strict=True)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([2e7, 2e7], None, [0.5, 0.5]),
        ([2e7, 2e7, 2e7], [1.0, 2.0, -0.5], [0.4, 0.8, -0.2]),
        ([math.inf, 1.0], None, [1.0, 0.0]),
        ([math.inf, math.inf], None, [0.5, 0.5]),
        ([-math.inf, -math.inf], None, [0.5, 0.5]),
        ([-math.inf, -math.inf, 5.0], [1.0, 3.0, 0.0], [0.25, 0.75, 0.0]),
        ([1.0, 2.0], [0.0, 0.0], [0.0, 0.0]),
        ([-math.inf, -math.inf], [1.0, -1.0], [0.0, 0.0]),
        ([math.log(2.0), 0.0], [1.0, -2.0], [0.0, 0.0]),
    ],
)
def test_shares_of_large_numbers_and_of_infinities_add_up(xp, a, b, expected):
    weights = None if b is None else xp.asarray(b, dtype=xp.float32)
    a = xp.asarray(a, dtype=xp.float32).data
    found = ag.grad(lambda a: xp.special.logsumexp(a, b=weights))(a)
    np.testing.assert_allclose(host(found), expected, rtol=1e-6)


def test_logsumexp_of_two_is_logaddexp(xp):
    for pair in itertools.product((-math.inf, -1.0, 2.0, math.inf), repeat=2):
        x = raw(xp, pair)
        found = ag.grad(xp.special.logsumexp)(x)
        expected = ag.grad(lambda x: xp.logaddexp(x[0], x[1]))(x)
        np.testing.assert_allclose(host(found), host(expected), rtol=1e-14)


def test_the_second_derivative_of_logsumexp_keeps_the_digits_of_what_is_left_of_one(xp):
    x = raw(xp, [0.0, -50.0, -45.0])
    power = np.exp(host(x))
    share = power / power.sum()
    expected = -share[:, None] * share
    np.fill_diagonal(expected, share * [power[1:].sum() / power.sum(), *(1.0 - share[1:])])
    found = host(ag.hessian(xp.special.logsumexp)(x))
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_the_derivatives_of_logsumexp_by_a_weight_of_0_are_those_of_the_sum(xp):
    def by_hand(x, b):
        return xp.log(xp.sum(xp.exp(x) * b))

    x, b = raw(xp, [0.5, -1.0, 2.0]), raw(xp, [2.0, 0.0, 5.0])
    found = ag.hessian(lambda x, b: xp.special.logsumexp(x, b=b), argnums=(0, 1))(x, b)
    expected = ag.hessian(by_hand, argnums=(0, 1))(x, b)
    for i, j in itertools.product((0, 1), repeat=2):
        np.testing.assert_allclose(host(found[i][j]), host(expected[i][j]), atol=1e-15)


def test_logsumexp_of_halves_has_a_second_derivative(xp, library):
    if not hasattr(library, "float16"):
        pytest.skip("the library has no halves")
    x = xp.astype(xp.asarray([0.25, 0.5, 0.75]), library.float16).data
    found = ag.hessian(xp.special.logsumexp)(x)
    assert found.dtype == library.float16
    expected = host(ag.hessian(xp.special.logsumexp)(raw(xp, [0.25, 0.5, 0.75])))
    np.testing.assert_allclose(host(found).astype(float), expected, atol=1e-3)


@pytest.mark.parametrize("name", ["rel_entr", "kl_div", "xlogy"])
def test_mixed_derivatives_where_the_first_argument_is_0(xp, name):
    f = getattr(xp.special, name)
    x, y = xp.asarray(0.0, dtype=xp.float64).data, xp.asarray(2.0, dtype=xp.float64).data
    with xp.empty(0)._domain.backend.quiet():
        found = [float(ag.grad(ag.grad(f, i), 1 - i)(x, y)) for i in (0, 1)]
    expected = 0.5 if name == "xlogy" else -0.5
    assert found == [expected, expected]


def test_integers_become_floating_point_numbers(xp):
    n = xp.asarray([1, 2, 3])
    assert host(xp.special.xlogy(n, n)) == pytest.approx([k * math.log(k) for k in (1, 2, 3)])
    assert host(xp.special.gammaln(n)) == pytest.approx([0.0, 0.0, math.log(2)])
    assert not xp.special.gammaln(n).requires_grad


def test_numbers_alone_are_arrays(xp):
    for name, args in (("erf", (0.5,)), ("xlogy", (2.0, 3.0)), ("betainc", (1.5, 2.5, 0.5))):
        found = getattr(xp.special, name)(*args)
        assert found.item() == pytest.approx(getattr(scipy.special, name)(*args), rel=1e-6)


def test_logsumexp_of_complex_arrays_is_an_error(xp):
    with pytest.raises(UnsupportedArrayError, match="real"):
        xp.special.logsumexp(xp.asarray([1.0 + 1.0j]))


def test_nothing_at_all_and_not_a_number(xp):
    for name in ("erf", "gammaln", "expit", "entr", "j0"):
        f = getattr(xp.special, name)
        assert f(xp.zeros((0, 3))).shape == (0, 3)
        assert math.isnan(f(xp.asarray(math.nan)).item())


def test_a_wrong_dtype_is_an_error_and_changes_nothing(xp):
    with pytest.raises((AttributeError, TypeError)):
        xp.special.erf(object())
    x = ag.Variable(raw(xp, [1.0, 2.0]))
    with pytest.raises((TypeError, ValueError, RuntimeError)):
        xp.special.beta(x, xp.ones(3))
    assert x.grad is None


def test_signatures_are_scipys(xp):
    assert str(inspect.signature(xp.special.gammainc)) == "(a, x, /)"
    assert str(inspect.signature(xp.special.logsumexp)) == (
        "(a, axis=None, b=None, keepdims=False, return_sign=False)"
    )
    found = xp.special.zeta(xp.asarray(2.5), q=1.5).item()
    assert found == pytest.approx(scipy.special.zeta(2.5, q=1.5), rel=1e-6)
    assert "scipy.special.gammainc" in inspect.getdoc(xp.special.gammainc)


# -- libraries' own kernels ------------------------------------------------------------------------


def test_arrays_on_other_devices_are_not_copied_without_a_word():
    torch = pytest.importorskip("torch", reason="pip install torch")
    xp = ag.namespace("torch")
    with pytest.raises(UnsupportedArrayError, match=r"'torch' has no function special\.betainc"):
        xp.special.betainc(1.5, 2.5, torch.ones(2, device="meta"))
    assert xp.special.erf(torch.ones(2, device="meta")).device == torch.device("meta")


def total(xp, x):
    values = xp.special.betainc(1.5, 2.5, x) + xp.special.sici(x)[0]
    return xp.sum(values) + xp.special.logsumexp(x)


def test_functions_stay_lazy_on_dask():
    dask = pytest.importorskip("dask", reason="pip install 'agnograd[dask]'")
    da = pytest.importorskip("dask.array", reason="pip install 'agnograd[dask]'")
    xp = ag.namespace("dask")
    x = da.linspace(0.2, 0.8, 6, chunks=3)

    def refuse(*_, **__):
        raise AssertionError("something was computed")

    with dask.config.set(scheduler=refuse):
        gradient = ag.grad(lambda x: total(xp, x))(x)
    assert gradient.chunks == x.chunks
    with dask.config.set(scheduler="synchronous"):
        found = gradient.compute()
    expected = ag.grad(lambda x: total(ag.namespace("numpy"), x))(np.linspace(0.2, 0.8, 6))
    np.testing.assert_allclose(found, expected)


def test_jax_compiles_what_calls_scipy_back():
    jax = pytest.importorskip("jax", reason="pip install 'agnograd[jax]'")
    xp = ag.namespace("jax")
    with jax.enable_x64(True):
        x = jax.numpy.linspace(0.2, 0.8, 4)
        f = ag.grad(lambda x: xp.sum(xp.special.ellipk(x) * xp.special.erf(x)))
        np.testing.assert_allclose(jax.jit(f)(x), f(x), rtol=1e-13)


# -- ends of domains, integers, shapes -------------------------------------------------------------

ENDS = [
    # The function and its first argument, where, and the first three derivatives there.
    ("gammainc", (1.0,), 0.0, [1.0, -1.0, 1.0]),
    ("gammainc", (1.5,), 0.0, [0.0, math.inf, -math.inf]),
    ("gammainc", (2.0,), 0.0, [0.0, 1.0, -2.0]),
    ("gammainc", (3.0,), 0.0, [0.0, 0.0, 1.0]),
    ("gammainc", (0.5,), 0.0, [math.inf, -math.inf, math.inf]),
    ("gammaincc", (2.0,), 0.0, [0.0, -1.0, 2.0]),
    ("betainc", (1.0, 1.0), 0.0, [1.0, 0.0, 0.0]),
    ("betainc", (1.0, 3.0), 0.0, [3.0, -6.0, 6.0]),
    ("betainc", (1.0, 3.0), 1.0, [0.0, 0.0, 6.0]),
    ("betainc", (2.0, 0.5), 0.0, [0.0, 0.75, 0.75]),
    ("betainc", (3.0, 2.0), 0.0, [0.0, 0.0, 24.0]),
    ("betainc", (3.0, 2.0), 1.0, [0.0, -12.0, -48.0]),
    ("betaincc", (2.0, 1.0), 1.0, [-2.0, -2.0, 0.0]),
    # Of a shape of 0 they are 1 or 0
    ("gammainc", (0.0,), 2.0, [0.0, 0.0, 0.0]),
    ("gammaincc", (0.0,), 2.0, [0.0, 0.0, 0.0]),
    ("chdtr", (0.0,), 2.0, [0.0, 0.0, 0.0]),
    ("gdtr", (1.0, 0.0), 2.0, [0.0, 0.0, 0.0]),
    ("betainc", (0.0, 2.0), 0.3, [0.0, 0.0, 0.0]),
    ("betainc", (2.0, 0.0), 0.3, [0.0, 0.0, 0.0]),
    ("betaincc", (0.0, 0.5), 0.3, [0.0, 0.0, 0.0]),
    # P(3, x) = (5 x**3 - 3 x) / 2, and its associated functions
    ("lpmv", (0, 3.0), 1.0, [6.0, 15.0, 15.0]),
    ("lpmv", (0, 3.0), -1.0, [6.0, -15.0, 15.0]),
    ("lpmv", (2, 3.0), 1.0, [-30.0, -90.0, -90.0]),
    ("lpmv", (0, 2.5), 1.0, [2.5 * 3.5 / 2]),
    # Roots of 1 - x**2, and multiples of them
    ("lpmv", (1, 1.0), 1.0, [math.inf, math.inf, math.inf]),
    ("lpmv", (1, 1.0), -1.0, [-math.inf, math.inf, -math.inf]),
    ("lpmv", (1, 3.0), 1.0, [math.inf, math.inf, math.inf]),
    ("lpmv", (1, 2.0), -1.0, [math.inf, -math.inf, math.inf]),
    ("lpmv", (-1, 2.0), 1.0, [-math.inf, -math.inf, -math.inf]),
    ("lpmv", (3, 3.0), 1.0, [0.0, -math.inf, -math.inf]),
    ("lpmv", (3, 4.0), -1.0, [0.0, math.inf, -math.inf]),
    ("lpmv", (-3, 4.0), 1.0, [0.0, math.inf, math.inf]),
    ("lpmv", (-2, 3.0), 1.0, [-0.25, -0.75, -0.75]),
    ("lpmv", (4, 4.0), -1.0, [0.0, 840.0, -2520.0]),
    ("lpmv", (3, 2.0), 1.0, [0.0, 0.0, 0.0]),
    ("lpmv", (-3, 2.0), 0.3, [math.nan, math.nan, math.nan]),
    # At -1 functions of other degrees have a logarithm
    ("lpmv", (0, 2.5), -1.0, [math.inf, -math.inf, math.inf]),
    ("lpmv", (0, 3.3), -1.0, [-math.inf, math.inf, -math.inf]),
    ("lpmv", (1, 2.5), -1.0, [math.inf, -math.inf, math.inf]),
    ("lpmv", (-1, 2.5), -1.0, [-math.inf, math.inf, -math.inf]),
    ("spherical_jn", (0,), 0.0, [0.0, -1 / 3, 0.0]),
    ("spherical_jn", (1,), 0.0, [1 / 3, 0.0, -1 / 5]),
    ("spherical_jn", (2,), 0.0, [0.0, 2 / 15, 0.0]),
    ("spherical_in", (0,), 0.0, [0.0, 1 / 3, 0.0]),
    ("spherical_in", (1,), 0.0, [1 / 3, 0.0, 1 / 5]),
    ("spherical_in", (3,), 0.0, [0.0, 0.0, 6 / 105]),
    ("binom", (5.0,), 2.0, [10 / 3, -5.67645911474187]),
    ("binom", (5.0,), 0.0, [137 / 60, 3.38735408853]),
    ("binom", (3.0,), 5.0, [0.05, -0.128333333333]),
    ("binom", (5.0,), -1.0, [1 / 6, 49 / 60]),
    ("binom", (1e15,), 3.0, [5.54710978775e45, 1.84575258158e47]),
]


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize(("name", "given", "at", "expected"), ENDS)
def test_derivatives_at_the_ends_of_domains(xp, name, given, at, expected):
    if xp.__name__ == "agnograd.dask":  # which recurses over what high derivatives are made of
        expected = expected[:1]
    found = derivatives(
        lambda x: getattr(xp.special, name)(*given, x), raw(xp, at), len(expected) + 1
    )
    np.testing.assert_allclose(found[1:], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize(("name", "given", "at", "expected"), ENDS)
def test_second_derivatives_at_the_ends_of_domains_in_forward_mode(xp, name, given, at, expected):
    if len(expected) == 1 or xp.__name__ == "agnograd.dask":
        expected = expected[:1]
    slope = lambda x: getattr(xp.special, name)(*given, x)  # noqa: E731
    slope = ag.grad(slope) if len(expected) > 1 else slope
    found = ag.jvp(slope, (raw(xp, at),), (raw(xp, 1.0),))[1]
    wanted = expected[min(1, len(expected) - 1)]
    np.testing.assert_allclose(host(found), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("m", range(-3, 5))
@pytest.mark.slow
def test_legendre_functions_of_every_order(xp, m):
    points = [(2.5, 0.3), (4.0, -0.7), (3.0, 0.99), (-4.5, 0.1)]
    v, x = (raw(xp, each) for each in zip(*points, strict=True))
    f = lambda x: xp.sum(xp.special.lpmv(m, v, x))  # noqa: E731
    first = ag.grad(f)
    second = ag.grad(lambda x: xp.sum(first(x)))
    for order, found in enumerate((first(x), second(x)), 1):
        with mp.workdps(40):
            expected = [
                float(mp.diff(lambda t, v=v: mp.re(mp.legenp(v, m, t, type=2)), x, order))
                for v, x in points
            ]
        np.testing.assert_allclose(host(found), expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "at", "other", "expected"),
    [
        # poch(z, 3) = z (z + 1) (z + 2)
        ("poch", -1.0, 3.0, [-1.0, 0.0]),
        ("poch", 0.0, 3.0, [2.0, 6.0]),
        ("poch", -3.0, 2.0, [-5.0, 2.0]),
        ("poch", 1e10, 2.0, [2e10 + 1, 2.0]),
        ("poch", -2.0, 2.5, [2 * math.gamma(0.5), -20.4632942208958]),
        # binom(n, 2) = n (n - 1) / 2
        ("binom", 4.5, 2.0, [4.0, 1.0]),
        ("binom", 1.0, 2.0, [0.5, 1.0]),
        ("binom", 1e8, 2.0, [1e8 - 0.5, 1.0]),
        ("binom", 3.0, 5.0, [-0.05, -1 / 12]),
        ("binom", 5.0, 5.0, [137 / 60, 3.75]),
        ("binom", 5.0, 0.0, [0.0, 0.0]),
        ("betaln", 1e8, 2.0, [-1.99999999e-8, 1.99999998e-16]),
    ],
)
def test_derivatives_of_products_at_integers(xp, name, at, other, expected):
    if xp.__name__ == "agnograd.dask":
        expected = expected[:1]
    found = derivatives(
        lambda x: getattr(xp.special, name)(x, other), raw(xp, at), len(expected) + 1
    )
    np.testing.assert_allclose(found[1:], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize(
    ("name", "index", "at", "expected"),
    [
        ("sici", 0, 0.0, [1.0, 0.0, -1 / 3]),
        ("shichi", 0, 0.0, [1.0, 0.0, 1 / 3]),
        ("airy", 0, 200.0, [0.0, 0.0]),
        ("fresnel", 0, 0.0, [0.0, 0.0, math.pi]),
    ],
)
def test_a_result_that_is_not_used_does_not_poison_the_others(xp, name, index, at, expected):
    if xp.__name__ == "agnograd.dask":
        expected = expected[:1]
    found = derivatives(
        lambda x: getattr(xp.special, name)(x)[index], raw(xp, at), len(expected) + 1
    )
    np.testing.assert_allclose(found[1:], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:overflow")
@pytest.mark.parametrize("x", [0.0, 1e-300, -1e-200, 1e-100, 1e-8])
@pytest.mark.parametrize(("name", "sign"), [("sici", -1.0), ("shichi", 1.0)])
def test_integrals_beside_an_infinite_one_in_forward_mode(xp, name, sign, x):
    f = getattr(xp.special, name)
    tangents = raw(xp, x), raw(xp, 1.0)
    slope = lambda x: ag.grad(lambda x: f(x)[0])(x)  # noqa: E731
    found = host(ag.jvp(slope, *((each,) for each in tangents))[1]).item()
    assert found == pytest.approx(sign * x / 3.0, rel=1e-14, abs=0.0)
    if x:
        both = ag.jvp(lambda x: f(x)[0] + 0.0 * f(x)[1], *((each,) for each in tangents))[1]
        assert host(both).item() == pytest.approx(1.0)


def test_a_factor_of_zero_has_its_own_derivative(xp):
    """The result is used with a factor that happens to be 0."""

    def f(c, x):
        return c * xp.special.sici(x)[1]

    c, x = raw(xp, 0.0), raw(xp, 2.0)
    mixed = ag.grad(lambda c: ag.grad(f, argnums=1)(c, x))(c)
    assert host(mixed).item() == pytest.approx(math.cos(2.0) / 2.0)


def _incomplete_gamma(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def _incomplete_beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def _student(df, t):
    """Return Student's distribution function, of t < 0."""
    return mp.betainc(df / 2, 0.5, 0, df / (df + t * t), regularized=True) / 2


def _fisher(dfn, dfd, x):
    return mp.betainc(dfn / 2, dfd / 2, 0, dfn * x / (dfd + dfn * x), regularized=True)


SHAPES = [
    ("fdtr", _fisher, [(1.5, 2.5, 0.5), (5.0, 9.0, 0.8), (0.01, 3.0, 0.2), (2.5, 3.0, 1e-8)]),
    ("fdtr", _fisher, [(2.0, 3.0, 500.0), (40.0, 60.0, 0.5), (40.0, 60.0, 1.7), (7.0, 0.1, 1e4)]),
    ("stdtr", _student, [(0.3, -1e-3), (0.3, -50.0), (2.5, -0.7), (2.5, -1e6), (30.0, -3.0)]),
    ("gammainc", _incomplete_gamma, [(1e-6, 1e-3), (0.01, 0.5), (0.3, 0.2), (2.5, 1.0)]),
    ("gammainc", _incomplete_gamma, [(0.9, 1.01), (1e-5, 3.0), (10.0, 10.0), (100.0, 120.0)]),
    ("gammainc", _incomplete_gamma, [(1e3, 700.0), (2.0, 30.0), (5.0, 1e-8), (1.0, 0.999)]),
    ("betainc", _incomplete_beta, [(1.5, 2.5, 0.5), (1e-3, 2.0, 0.3), (0.5, 0.5, 0.9)]),
    ("betainc", _incomplete_beta, [(1.0, 0.01, 0.98), (30.0, 50.0, 0.1), (5.0, 1e4, 1e-4)]),
    ("betainc", _incomplete_beta, [(300.0, 500.0, 0.37), (2.0, 3.0, 1e-10), (0.01, 100.0, 0.1)]),
    ("zeta", mp.zeta, [(2.5, 0.7), (1.001, 1.0), (1.5, 1e-3), (50.0, 3.5), (3.0, 1e6)]),
]


@pytest.mark.parametrize("backend", ["numpy", "torch"], indirect=True)
@pytest.mark.parametrize(("name", "exact", "points"), SHAPES)
def test_derivatives_by_shapes_are_as_accurate_as_the_value(xp, name, exact, points):
    count = len(points[0])
    arrays = [raw(xp, [p[i] for p in points]) for i in range(count)]
    f = lambda *xs: xp.sum(getattr(xp.special, name)(*xs))  # noqa: E731
    orders = [(1, 0), (2, 0), (1, 1)] + ([(0, 1), (0, 2)] if count == 3 else [])
    for order in orders:
        steps = [0] * order[0] + [1] * order[1]
        g = f
        for place in steps[:-1]:
            g = lambda *xs, g=g, i=place: xp.sum(ag.grad(g, argnums=i)(*xs))  # noqa: E731
        found = np.asarray(ag.grad(g, argnums=steps[-1])(*arrays)).tolist()
        with mp.workdps(60):
            expected = [
                mp.diff(exact, p, (*order, *[0] * (count - 2))) if count > 1 else None
                for p in points
            ]
        tolerance = 1e-12 if sum(order) == 1 else 2e-10
        np.testing.assert_allclose(found, [float(each) for each in expected], rtol=tolerance)


@pytest.mark.parametrize(
    "name", ["gammainc", "gammaincc", "betainc", "betaincc", "zeta", "stdtr", "fdtr"]
)
def test_derivatives_by_shapes_in_single_precision(xp, name):
    numbers = [[0.3, 1.5, 4.0, 40.0], [0.4, 2.0, 3.0, 45.0]]
    if name == "zeta":
        numbers = [[1.2, 1.5, 4.0, 20.0], [0.4, 2.0, 3.0, 9.0]]
    if name.startswith("beta"):
        numbers.append([0.2, 0.5, 0.6, 0.5])
    if name == "fdtr":
        numbers.append([0.2, 0.5, 1.6, 0.5])
    places = tuple(range(len(numbers)))

    def gradient(xp, dtype):
        arrays = [xp.asarray(each, dtype=getattr(xp, dtype)).data for each in numbers]
        f = lambda *xs: xp.sum(getattr(xp.special, name)(*xs))  # noqa: E731
        total = lambda *xs: sum(xp.sum(g) for g in ag.grad(f, argnums=places)(*xs))  # noqa: E731
        return [*ag.grad(f, argnums=places)(*arrays), *ag.grad(total, argnums=places)(*arrays)]

    for one, other in zip(
        gradient(xp, "float32"), gradient(ag.namespace("numpy"), "float64"), strict=True
    ):
        assert str(one.dtype).endswith("float32")
        np.testing.assert_allclose(host(one), host(other), rtol=2e-4)


@pytest.mark.parametrize("name", ["gammainc", "stdtr", "fdtr"])
def test_a_third_derivative_by_a_shape_is_an_error(xp, name):
    given = (1.5, 2.5) if name == "fdtr" else (1.5,)
    f = lambda a: getattr(xp.special, name)(a, *given)  # noqa: E731
    with pytest.raises(MissingRuleError, match=rf"{name}.* up to the second order"):
        ag.grad(ag.grad(ag.grad(f)))(raw(xp, 2.0))


@pytest.mark.parametrize("name", ["erf", "erfc", "ndtr"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_error_functions_are_level_at_infinity_in_every_order(xp, name, dtype):
    dtype = getattr(xp, dtype)
    most = float(xp.finfo(dtype).max)
    x = xp.asarray([-math.inf, -most, 50.0, most, math.inf], dtype=dtype).data
    gradient = ag.grad(lambda x: xp.sum(getattr(xp.special, name)(x)))
    with xp.empty(0)._domain.backend.quiet():
        found = [gradient(x), ag.grad(lambda x: xp.sum(gradient(x)))(x)]
        found.append(ag.jvp(gradient, (x,), (xp.ones_like(x).data,))[1])
    for each in found:
        assert (host(each) == 0.0).all()
        assert each.dtype == dtype


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"], indirect=True)
@pytest.mark.parametrize(
    ("name", "args"),
    [("gammaln", (2.5,)), ("ndtr", (0.5,)), ("xlogy", (2.0, 3.0)), ("betainc", (1.5, 2.5, 0.5))],
)
def test_half_precision_stays_half(xp, name, args):
    arrays = [ag.asarray(np.asarray([x], "float16"), backend=xp.zeros(1)).data for x in args]
    f = lambda *xs: xp.sum(getattr(xp.special, name)(*xs))  # noqa: E731
    places = tuple(range(len(args)))
    assert getattr(xp.special, name)(*arrays).dtype == arrays[0].dtype
    expected = ag.grad(
        lambda *xs: getattr(ag.namespace("numpy").special, name)(*xs)[0], argnums=places
    )(*(np.asarray([x]) for x in args))
    for one, other in zip(ag.grad(f, argnums=places)(*arrays), expected, strict=True):
        assert one.dtype == arrays[0].dtype
        np.testing.assert_allclose(np.asarray(one).astype(float), other, rtol=5e-3)


def test_the_slope_by_a_shape_of_0_is_an_exponential_integral(xp):
    """Near a = 0 what is left of the function is a times that: DLMF 8.4.13 and 6.2.1."""
    at = [1e-5, 0.3, 1.0, 1.5, 50.0, math.inf]
    by_shape = ag.vmap(ag.grad(xp.special.gammainc), in_axes=(None, 0))
    found = host(by_shape(raw(xp, 0.0), raw(xp, at)))
    np.testing.assert_allclose(found, -scipy.special.exp1(at), rtol=1e-13, atol=1e-300)


def test_branches_of_lambert_s_function_are_an_array(xp):
    z, k = raw(xp, [0.5, 0.6]), xp.asarray(np.asarray([[0], [-1], [1]])).data
    found = xp.special.lambertw(z, k)
    np.testing.assert_allclose(host(found), scipy.special.lambertw(host(z), host(k)), rtol=1e-14)
    members = ag.vmap(xp.special.lambertw, in_axes=(None, 0))(z, k[:, 0])
    np.testing.assert_allclose(host(members), host(found), rtol=1e-14)
    gradient = host(ag.grad(lambda z: xp.sum(xp.real(xp.special.lambertw(z, k))))(z))
    w = scipy.special.lambertw(host(z), host(k))
    np.testing.assert_allclose(gradient, np.sum(np.exp(-w) / (1.0 + w), axis=0).real, rtol=1e-12)
