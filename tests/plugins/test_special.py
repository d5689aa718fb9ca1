"""Special functions: what SciPy dispatches, points at edges, errors, and each library's kernels."""

import importlib
import inspect
import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.special

import agnograd as ag
from agnograd.errors import MissingRuleError, UnsupportedArrayError
from agnograd.testing import Convention

ROWS = importlib.import_module("agnograd_special.samples.conventions").ROWS
DISPATCHED = importlib.import_module("scipy.special._support_alternative_backends").__all__


def raw(xp, values):
    return xp.asarray(values, dtype=xp.float64).data


def derivatives(f, x, count):
    """Return a function of one number, and its derivatives, as numbers."""
    found = []
    for _ in range(count):
        found.append(np.asarray(f(x)).item())
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
    assert run(CLIENT, SCIPY_ARRAY_API="1") == f"{2 * len(DISPATCHED) - 2} ['zetac']\n"


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
        ("gammainc", (2.5, 1.0), 0, "a", "integral"),
        ("betainc", (1.5, 2.5, 0.5), 1, "b", "integral"),
        ("jv", (1.5, 2.0), 0, "v", "order"),
        ("zeta", (2.5, 1.5), 0, "x", "closed form"),
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
        np.testing.assert_array_equal(np.asarray(gradient), value)


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
    np.testing.assert_allclose(np.asarray(found), [1.0, -1.0, 2.0, -6.0], rtol=1e-12)


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
        expected = scipy.special.logsumexp(np.asarray(a), b=None if b is None else b, **options)
        pairs = zip(found if sign else [found], expected if sign else [expected], strict=True)
        for one, other in list(pairs)[: 2 if a else 1]:  # of nothing SciPy's sign is -1
            np.testing.assert_allclose(np.asarray(one), other, rtol=1e-14, strict=True)


def test_integers_become_floating_point_numbers(xp):
    n = xp.asarray([1, 2, 3])
    assert np.asarray(xp.special.xlogy(n, n)) == pytest.approx([k * math.log(k) for k in (1, 2, 3)])
    assert np.asarray(xp.special.gammaln(n)) == pytest.approx([0.0, 0.0, math.log(2)])
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
