"""Distributions: SciPy's values on every backend, tails, and the ends of supports."""

import math
from operator import attrgetter

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import agnograd as ag
from agnograd.errors import LostGradientError, MissingRuleError
from agnograd_scipy.continuous import DISTRIBUTIONS as CONTINUOUS
from agnograd_scipy.discrete import DISTRIBUTIONS as DISCRETE
from agnograd_scipy.samples.conventions import ROWS
from arrays import host

INF = math.inf
# The ends of all supports, what is beyond them, and NaN.
PLACES = [-INF, -30.0, -2.0, -0.5, 0.0, 0.2, 0.5, 1.0, 1.5, 2.0, 5.0, 30.0, INF, math.nan]
PROBABILITIES = [-0.1, 0.0, 1e-10, 0.2, 0.5, 0.7, 0.9, 1.0, 1.1, math.nan]
INTEGERS = [-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 2.3, 4.0, 5.0, 6.0, 50.0, math.nan]
# Shapes, some of which are none of a distribution.
SHAPES = {
    "beta": [(2.5, 0.7), (1.0, 1.0), (-1.0, 2.0)],
    "chi2": [(3.0,), (2.0,), (0.0,)],
    "gamma": [(2.5,), (1.0,), (50.0,)],
    "invgamma": [(2.5,), (1.5,)],
    "lognorm": [(0.7,), (-1.0,)],
    "pareto": [(2.5,), (1.5,)],
    "t": [(2.5,), (1e5,), (INF,)],
    "weibull_min": [(1.0,), (2.0,)],
    "bernoulli": [(0.3,), (0.0,), (1.0,)],
    "binom": [(5.0, 0.3), (5.0, 0.0), (5.0, 1.0), (0.0, 0.4), (2.5, 0.5)],
    "geom": [(0.3,), (1.0,)],
    "nbinom": [(2.5, 0.3), (4.0, 1.0)],
    "poisson": [(2.5,), (0.0,), (70.0,), (-1.0,)],
}
# SciPy's logarithms of discrete distributions forget that shapes may be none.
UNDEFINED = {"logcdf": "cdf", "logsf": "sf"}
METHODS = [
    (name, method)
    for table in (CONTINUOUS, DISCRETE)
    for name, distribution in table.items()
    for method in distribution.methods
]


def raw(xp, values):
    return xp.asarray(values, dtype=xp.float64).data


def quiet(xp):
    return xp.empty(0)._domain.backend.quiet()


def by_scipy(name, *args, **options):
    with np.errstate(all="ignore"):
        return attrgetter(name)(scipy.stats)(*args, **options)


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_values_are_scipys(xp, name, method):
    places = PROBABILITIES if method in ("ppf", "isf") else PLACES
    options = [{}, {"loc": 0.25, "scale": 2.0}, {"scale": -1.0}]
    if name in DISCRETE:
        places, options = INTEGERS, [{}, {"loc": 1}]
    for shapes in SHAPES.get(name, [()]):
        for each in options:
            with quiet(xp):
                call = attrgetter(f"{name}.{method}")(xp.stats)
                found = host(call(raw(xp, places), *shapes, **each))
            expected = by_scipy(f"{name}.{method}", np.asarray(places), *shapes, **each)
            undefined = by_scipy(f"{name}.{UNDEFINED.get(method, method)}", places, *shapes, **each)
            expected = np.where(np.isnan(undefined), undefined, expected)
            # SciPy's densities of infinite numbers may be NaN, and its logarithms of 1 may be 0.
            known = ~(np.isnan(expected) & np.isinf(places))
            if method in UNDEFINED:
                known &= (np.abs(expected) > 1e-6) | (found == expected)
            rtol = 1e-6 if (name, method) == ("halfnorm", "ppf") else 1e-9
            atol = 1e-14 if method.startswith("log") else 1e-300
            np.testing.assert_allclose(
                found[known], expected[known], rtol=rtol, atol=atol, err_msg=f"{shapes} {each}"
            )


def test_shapes_are_broadcast_and_dtypes_are_the_arrays(xp):
    x = xp.asarray([[0.5], [1.5]], dtype=xp.float32)
    out = xp.stats.gamma.logpdf(x, xp.asarray([1.0, 2.0, 3.0], dtype=xp.float32), 0.1, scale=2)
    assert out.shape == (2, 3)
    assert out.dtype == xp.float32
    expected = by_scipy("gamma.logpdf", host(x), np.asarray([1.0, 2.0, 3.0]), 0.1, scale=2)
    np.testing.assert_allclose(host(out), expected, rtol=1e-5)
    assert xp.stats.uniform.logpdf(raw(xp, 0.5), raw(xp, [0.0, 0.25])).shape == (2,)


def test_arguments_are_bound_as_scipys(xp):
    x = raw(xp, 0.5)
    assert float(xp.stats.gamma.pdf(x, a=2.0)) == float(xp.stats.gamma.pdf(x, 2.0))
    with pytest.raises(TypeError, match="'a'"):
        xp.stats.gamma.pdf(x)
    with pytest.raises(TypeError, match="'b'"):
        xp.stats.gamma.pdf(x, 2.0, b=1.0)
    with pytest.raises(TypeError, match="real numbers"):
        xp.stats.norm.pdf(xp.asarray([1j]))


# -- tails -----------------------------------------------------------------------------------------


def _log_gamma_upper(x, a):
    return mp.log(mp.gammainc(a, x, mp.inf, regularized=True))


def _log_gamma_lower(x, a):
    return mp.log(mp.gammainc(a, 0, x, regularized=True))


def _log_beta_lower(x, a, b):
    return mp.log(mp.betainc(a, b, 0, x, regularized=True))


def _log_student(x, df):
    return mp.log(mp.betainc(df / 2, 0.5, 0, df / (df + x * x), regularized=True) / 2)


TAILS = [
    ("norm.logcdf", lambda x: mp.log(mp.ncdf(x)), (), [-1e4, -40.0, -1.0, 3.0, 12.0]),
    ("norm.logsf", lambda x: mp.log(mp.ncdf(-x)), (), [1e4, 40.0, -12.0]),
    ("cauchy.logcdf", lambda x: mp.log(mp.acot(-x) / mp.pi), (), [-1e100, -3.0]),
    ("expon.logcdf", lambda x: mp.log(-mp.expm1(-x)), (), [1e-100, 0.5, 40.0]),
    ("laplace.logsf", lambda x: mp.log(mp.exp(-x) / 2), (), [800.0, 1e100]),
    ("logistic.logpdf", lambda x: -x - 2 * mp.log1p(mp.exp(-x)), (), [-700.0, 1e-9, 1.9, 2.1, 1e4]),
    ("logistic.logcdf", lambda x: -mp.log1p(mp.exp(-x)), (), [-800.0, 40.0]),
    ("cauchy.logpdf", lambda x: -mp.log(mp.pi * (1 + x * x)), (), [1e-9, 1e3, 1e100]),
    ("halfnorm.logsf", lambda x: mp.log1p(-mp.erf(x / mp.sqrt(2))), (), [1e-100, 0.9]),
    ("halfnorm.logsf", lambda x: mp.log(mp.erfc(x / mp.sqrt(2))), (), [1.1, 60.0]),
    ("gamma.logsf", _log_gamma_upper, (2.5,), [1e-3, 1.0, 690.0, 710.0, 1e4]),
    ("gamma.logsf", _log_gamma_upper, (300.0,), [250.0, 1500.0, 1e4]),
    ("gamma.logcdf", _log_gamma_lower, (2.5,), [1e-200, 1e-5, 3.0, 40.0]),
    ("gamma.logcdf", _log_gamma_lower, (300.0,), [1.0, 20.0, 40.0]),
    ("beta.logcdf", _log_beta_lower, (2.5, 0.7), [1e-200, 0.2, 0.9]),
    ("beta.logcdf", _log_beta_lower, (300.0, 40.0), [1e-3, 0.05, 0.08]),
    ("t.logcdf", _log_student, (2.5,), [-1e200, -1e100, -3.0, -0.1]),
    ("t.logcdf", _log_student, (300.0,), [-1e100, -200.0, -40.0]),
]


@pytest.mark.parametrize("backend", ["numpy", "torch"], indirect=True)
@pytest.mark.parametrize(("name", "exact", "shapes", "places"), TAILS)
def test_logarithms_and_their_derivatives_keep_their_digits_in_tails(
    xp, name, exact, shapes, places
):
    call = attrgetter(name)(xp.stats)
    for place in places:
        x = raw(xp, place)
        found = [host(call(x, *shapes)), host(ag.grad(lambda x: call(x, *shapes))(x))]
        with mp.workdps(60):
            at = mp.mpf(place)
            step = abs(at) * mp.mpf(10) ** -20
            slope = (exact(at + step, *shapes) - exact(at - step, *shapes)) / (2 * step)
            expected = [float(exact(at, *shapes)), float(slope)]
        rtol = 1e-11 if "numpy" in xp.__name__ else 1e-8  # PyTorch's gammainc has fewer digits
        np.testing.assert_allclose(found, expected, rtol=rtol, err_msg=str(place))


@pytest.mark.parametrize("backend", ["numpy", "torch"], indirect=True)
@pytest.mark.parametrize(
    ("name", "exact", "x", "shape"),
    [
        ("gamma.logsf", _log_gamma_upper, 900.0, 2.5),
        ("gamma.logcdf", _log_gamma_lower, 1e-150, 2.5),
        ("t.logcdf", _log_student, -1e3, 150.0),
    ],
)
def test_shapes_have_derivatives_in_tails(xp, name, exact, x, shape):
    call = attrgetter(name)(xp.stats)
    found = [
        host(ag.grad(lambda a: call(raw(xp, x), a))(raw(xp, shape))),
        host(ag.grad(ag.grad(lambda a: call(raw(xp, x), a)))(raw(xp, shape))),
    ]
    with mp.workdps(80):
        of_shape = lambda a: exact(mp.mpf(x), a)  # noqa: E731
        expected = [float(mp.diff(of_shape, mp.mpf(shape), n)) for n in (1, 2)]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


# -- derivatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "torch"], indirect=True)
@pytest.mark.parametrize(
    ("name", "method"), [each for each in METHODS if each[1] in ("cdf", "logsf", "ppf")]
)
def test_integrals_have_second_derivatives_by_everything(xp, name, method):
    if name in DISCRETE:
        shapes = {"binom": (0.3,), "nbinom": (2.5, 0.3), "poisson": (2.5,)}.get(name, (0.3,))
        count = (5,) if name == "binom" else ()
        k = 0 if name == "bernoulli" else 2
        call = attrgetter(f"{name}.{method}")(xp.stats)
        ag.check_grad(lambda *s: call(k, *count, *s), *(raw(xp, each) for each in shapes))
        return
    shapes = {"beta": (2.5, 1.7), "lognorm": (0.7,)}.get(name, (2.5,))
    shapes = shapes[: len(CONTINUOUS[name].shapes)]
    place = {"ppf": 0.3}.get(method, {"beta": 0.8, "uniform": 0.8, "pareto": 3.5}.get(name, 1.7))
    given = (place, *shapes, 0.1, 1.3)
    ag.check_grad(attrgetter(f"{name}.{method}")(xp.stats), *(raw(xp, each) for each in given))


OUTSIDE = [
    ("beta", (2.5, 0.7), [-0.5, 1.5]),
    ("expon", (), [-1.0]),
    ("gamma", (2.5,), [-1.0]),
    ("lognorm", (0.7,), [-1.0, 0.0]),
    ("invgamma", (2.5,), [-1.0, 0.0]),
    ("pareto", (1.5,), [0.5, 0.0]),
    ("uniform", (), [-0.5, 1.5]),
    ("weibull_min", (0.7,), [-1.0]),
    ("norm", (), [-INF, INF]),
    ("t", (2.5,), [-INF, INF]),
]


@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"])
@pytest.mark.parametrize(("name", "shapes", "places"), OUTSIDE)
def test_derivatives_outside_of_the_support_are_0_in_every_order(xp, name, shapes, places, method):
    call = attrgetter(f"{name}.{method}")(xp.stats)
    given = [raw(xp, each) for each in (places, *shapes, 0.0, 1.0)]
    f = lambda *args: xp.sum(xp.where(xp.isfinite(out := call(*args)), out, 0.0))  # noqa: E731
    numbers = tuple(range(len(given)))
    gradients = ag.grad(f, argnums=numbers)

    def total(*args):
        return sum(xp.sum(each) for each in gradients(*args))

    for found in (gradients(*given), ag.grad(total, argnums=numbers)(*given)):
        assert all((host(each) == 0.0).all() for each in found)
    tangents = ag.jvp(call, tuple(given), tuple(given[:1] + [raw(xp, 1.0)] * len(given[1:])))[1]
    if np.isfinite(places).all():
        assert (host(tangents) == 0.0).all()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} at {row[1]}")
def test_conventions(xp, row):
    program, at, gradient, *second = row
    names = list(at)
    f = eval(f"lambda {', '.join(names)}: xp.sum({program})", {"xp": xp})
    arrays = [raw(xp, each) for each in at.values()]
    expected = gradient if isinstance(gradient, dict) else {names[0]: gradient}
    numbers = tuple(range(len(names)))
    with quiet(xp):
        found = ag.grad(f, argnums=numbers)(*arrays)
    for name, each in zip(names, found, strict=True):
        np.testing.assert_allclose(host(each), expected[name], rtol=1e-12, err_msg=name)
    for each in second:
        by_x = lambda x: xp.sum(ag.grad(f)(x, *arrays[1:]))  # noqa: E731
        with quiet(xp):
            np.testing.assert_allclose(host(ag.grad(by_x)(arrays[0])), each, rtol=1e-12)


def test_what_is_an_integer_has_no_derivative_and_says_so(xp):
    k, mu, n = (ag.Variable(raw(xp, [each])) for each in (2.0, 1.5, 3.0))
    out = xp.sum(xp.stats.poisson.logpmf(k, mu))
    (by_mu,) = ag.autodiff.grad(out, [mu], retain_graph=True)
    np.testing.assert_allclose(host(by_mu), 2.0 / 1.5 - 1.0)
    with pytest.raises(MissingRuleError, match="discrete distribution"):
        ag.autodiff.grad(out, [k])
    with pytest.raises(MissingRuleError, match="discrete distribution"):
        ag.autodiff.grad(xp.sum(xp.stats.binom.pmf(1, n, 0.5)), [n])


# -- vectors ---------------------------------------------------------------------------------------

MEAN, COV = np.asarray([0.3, -0.2]), np.asarray([[1.5, 0.4], [0.4, 0.8]])
X = np.asarray([[0.1, 0.5], [1.0, -2.0], [0.0, 0.0]])


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
@pytest.mark.parametrize(
    "given",
    [
        *((X, MEAN, COV), (X[0], MEAN, COV), (X, None, COV), (X, MEAN), (X, MEAN, 2.0)),
        *((X, MEAN, [0.5, 2.0]), (X[0],), (X[0], 0.5, 2.0), (0.5, 0.1)),
    ],
    ids=str,
)
def test_the_multivariate_normal_density_is_scipys(xp, given, method):
    args = [each if each is None else raw(xp, each) for each in given]
    found = host(attrgetter(f"multivariate_normal.{method}")(xp.stats)(*args))
    expected = by_scipy(f"multivariate_normal.{method}", *given)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found.shape == np.shape(expected)


def test_the_multivariate_normal_density_of_many_matrices(xp):
    covs = np.stack([COV, 2.0 * COV])
    found = host(xp.stats.multivariate_normal.logpdf(raw(xp, X[:2]), raw(xp, MEAN), raw(xp, covs)))
    one = scipy.stats.multivariate_normal.logpdf
    expected = [one(x, MEAN, cov) for x, cov in zip(X, covs, strict=False)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(ValueError, match=r"cov has shape .* \(3, 3\)"):
        xp.stats.multivariate_normal.logpdf(raw(xp, [0.0] * 3), raw(xp, [0.0] * 3), raw(xp, COV))


def test_the_multivariate_normal_density_has_derivatives_by_everything(xp):
    symmetric = lambda c: 0.5 * (c + xp.matrix_transpose(c))  # noqa: E731
    f = lambda x, m, c: xp.stats.multivariate_normal.logpdf(x, m, symmetric(c))  # noqa: E731
    ag.check_grad(f, raw(xp, X), raw(xp, MEAN), raw(xp, COV))


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
def test_the_dirichlet_density_is_scipys(xp, method):
    alpha, x = np.asarray([0.7, 2.0, 3.5]), np.asarray([[0.2, 0.1], [0.3, 0.6], [0.5, 0.3]])
    call = attrgetter(f"dirichlet.{method}")(xp.stats)
    for places in (x, x[:2], x[:, 0]):
        found = host(call(raw(xp, places), raw(xp, alpha)))
        expected = by_scipy(f"dirichlet.{method}", places, alpha)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        ag.check_grad(call, raw(xp, places), raw(xp, alpha))
    outside = 0.0 if method == "pdf" else -INF
    assert float(call(raw(xp, [1.2, -0.2, 0.0]), raw(xp, alpha))) == outside
    assert math.isnan(float(call(raw(xp, [0.2, 0.3, 0.5]), raw(xp, [1.0, 0.0, 2.0]))))
    with pytest.raises(ValueError, match="as many components as alpha"):
        call(raw(xp, [0.5]), raw(xp, alpha))


# -- where they are --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda v: scipy.stats.norm.logpdf(v), "norm.logpdf"),
        (lambda v: scipy.stats.norm.logpdf(0.5, v), "norm.logpdf"),
        (lambda v: scipy.stats.gamma(2.0).logpdf(v), "gamma.logpdf"),
        (lambda v: scipy.stats.poisson.logpmf(2, v), "poisson.logpmf"),
        (lambda v: scipy.stats.multivariate_normal.logpdf(v), "multivariate_normal.logpdf"),
        (lambda v: scipy.stats.dirichlet.pdf(v, [1.0, 2.0]), "dirichlet.pdf"),
    ],
)
def test_the_error_of_scipys_own_function_names_the_one_with_derivatives(call, name):
    with pytest.raises(LostGradientError) as caught:
        call(ag.Variable(np.asarray([0.4, 0.6])))
    assert f"xp.stats.{name}, of xp = x.__array_namespace__(), is the same" in str(caught.value)
