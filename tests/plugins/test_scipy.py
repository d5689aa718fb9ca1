"""The functions of SciPy: their values, and what samples cannot say of their derivatives."""

import math
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy
from scipy.spatial import distance

import agnograd as ag
from agnograd.errors import LostGradientError, MixedBackendsError, SolverError
from agnograd_scipy import integrate, interpolate, ndimage, optimize, signal, spatial
from agnograd_scipy.boundaries import extended
from agnograd_scipy.distance import METRICS
from agnograd_scipy.samples.ndimage import MODES
from arrays import host

PAGE = Path(__file__).parents[2] / "docs" / "scipy.md"


def made(xp, values, dtype="float64"):
    """Return a raw array of a backend."""
    return xp.asarray(np.asarray(values), dtype=getattr(xp, dtype)).data


def same(found, expected, tolerance=1e-12):
    np.testing.assert_allclose(host(found), expected, rtol=tolerance, atol=tolerance)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# -- filters and convolutions ----------------------------------------------------------------------


def test_filters_are_scipys(xp, rng):
    x = rng.standard_normal((3, 40))
    for order, band in ((2, 0.3), (4, [0.2, 0.5])):
        kind = "lowpass" if isinstance(band, float) else "bandpass"
        b, a = scipy.signal.butter(order, band, kind)
        sos = scipy.signal.butter(order, band, kind, output="sos")
        given = [made(xp, each) for each in (b, a, x)]
        same(xp.signal.lfilter(*given), scipy.signal.lfilter(b, a, x), 1e-10)
        same(xp.signal.lfilter_zi(*given[:2]), scipy.signal.lfilter_zi(b, a), 1e-9)
        same(xp.signal.filtfilt(*given), scipy.signal.filtfilt(b, a, x), 1e-8)
        same(xp.signal.sosfilt(made(xp, sos), given[2]), scipy.signal.sosfilt(sos, x), 1e-10)
        states = rng.standard_normal((sos.shape[0], 3, 2))
        found = xp.signal.sosfilt(made(xp, sos), given[2], zi=made(xp, states))
        for one, other in zip(found, scipy.signal.sosfilt(sos, x, zi=states), strict=True):
            same(one, other, 1e-10)


@pytest.mark.parametrize("length", [1, 2, 3, 9])
@pytest.mark.parametrize(("b_taps", "a_taps"), [(1, 1), (1, 3), (4, 1), (4, 3), (2, 4)])
def test_states_are_scipys(xp, rng, length, b_taps, a_taps):
    b, a = rng.standard_normal(b_taps), rng.standard_normal(a_taps) * 0.3
    a[0] = 1.7
    x = rng.standard_normal((length, 2))
    zi = rng.standard_normal((max(b_taps, a_taps) - 1, 2))
    found = xp.signal.lfilter(*(made(xp, each) for each in (b, a, x)), 0, made(xp, zi))
    for one, other in zip(found, scipy.signal.lfilter(b, a, x, 0, zi), strict=True):
        same(one, other, 1e-11)


def test_the_recursion_goes_on_where_it_stopped(xp, rng):
    b, a, x = made(xp, [0.2, 0.3]), made(xp, [1.0, -0.5, 0.3]), made(xp, rng.standard_normal(20))
    whole = xp.signal.lfilter(b, a, x)
    first, state = xp.signal.lfilter(b, a, x[:7], zi=made(xp, [0.0, 0.0]))
    second, _ = xp.signal.lfilter(b, a, x[7:], zi=state)
    same(xp.concat([first, second]), host(whole))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("shapes", [((9,), (4,)), ((3,), (8,)), ((5, 6), (3, 2)), ((2, 3), (4, 5))])
def test_convolutions_are_scipys(xp, rng, mode, shapes):
    one, other = (rng.standard_normal(shape) for shape in shapes)
    pair = made(xp, one), made(xp, other)
    for method in ("auto", "direct", "fft"):
        for name in ("convolve", "correlate"):
            expected = getattr(scipy.signal, name)(one, other, mode, method)
            same(getattr(xp.signal, name)(*pair, mode, method), expected)
    same(xp.signal.fftconvolve(*pair, mode), scipy.signal.fftconvolve(one, other, mode))


def test_integers_are_convolved_exactly(xp):
    x = xp.asarray([1, 2, 3])
    assert host(xp.signal.convolve(x, x)).tolist() == [1, 4, 10, 12, 9]


def test_what_cannot_be_convolved(xp):
    x = made(xp, np.ones((3, 2)))
    for f, message in (
        (lambda: xp.signal.convolve(x, made(xp, [1.0])), "same number of axes|dimension"),
        (lambda: xp.signal.convolve(x, x[:0, ...]), "of nothing"),
        (lambda: xp.signal.convolve(x, made(xp, np.ones((2, 3))), "valid"), "valid"),
        (lambda: xp.signal.fftconvolve(x, x, "most"), "mode must be|acceptable mode"),
        (lambda: xp.signal.lfilter(x, x, x), "have one axis"),
        (lambda: xp.signal.lfilter([1.0], [1.0, 0.5], x, zi=x), "zi has shape"),
        (lambda: xp.signal.filtfilt([1.0], [1.0, 0.5], x), "padlen is 6"),
        (lambda: xp.signal.sosfilt(x, x), "shape"),
    ):
        with pytest.raises(ValueError, match=message):
            f()


# -- arrays on a grid ------------------------------------------------------------------------------


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("mode", MODES)
def test_interpolation_is_scipys(xp, rng, order, mode):
    image = rng.standard_normal((6, 7))
    places = rng.uniform(-9, 15, (2, 60))
    halves = np.stack(np.meshgrid(np.arange(-8, 14, 0.5), np.arange(-8, 14, 0.5))).reshape(2, -1)
    places = np.concatenate([places, halves], axis=1)
    x, at = made(xp, image), made(xp, places)
    # Terms that SciPy leaves out, see docs/scipy.md.
    short = {2: 1e-8, 3: 1e-5, 4: 1e-4, 5: 1e-2}
    reflected = mode in ("reflect", "grid-mirror")
    tolerance = short.get(order, 1e-12) if reflected else 1e-11
    options = {"order": order, "mode": mode, "cval": 0.3}
    for prefilter in (True, False):
        found = xp.ndimage.map_coordinates(x, at, order, mode, 0.3, prefilter)
        expected = scipy.ndimage.map_coordinates(image, places, prefilter=prefilter, **options)
        same(found, expected, tolerance)
    matrix = np.asarray([[0.9, 0.3], [-0.2, 1.1]])
    for name, args in {
        "shift": [[0.7, -1.3]],
        "zoom": [[1.7, 0.8]],
        "affine_transform": [matrix, [0.5, -0.2], (5, 8)],
        "rotate": [33.0, (1, 0), True],
    }.items():
        expected = getattr(scipy.ndimage, name)(image, *args, **options)
        given = [made(xp, matrix) if each is matrix else each for each in args]
        same(getattr(xp.ndimage, name)(x, *given, **options), expected, tolerance)


def test_a_plane_of_many_axes_is_rotated(xp, rng):
    x = rng.standard_normal((3, 5, 2, 4))
    for axes, reshape in (((1, 3), True), ((0, 1), False), ((-1, 0), True)):
        expected = scipy.ndimage.rotate(x, -33.0, axes, reshape)
        same(xp.ndimage.rotate(made(xp, x), -33.0, axes, reshape), expected, 1e-11)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("length", [1, 2, 3, 8, 100])
def test_splines_go_through_their_elements(xp, rng, order, mode, length):
    x = rng.standard_normal(length)
    at = np.arange(float(length))[None]
    same(xp.ndimage.map_coordinates(made(xp, x), made(xp, at), order, mode), x, 1e-6)
    if length == 100:
        expected = scipy.ndimage.spline_filter1d(x, order, mode=mode)
        same(xp.ndimage.spline_filter1d(made(xp, x), order, mode=mode), expected, 1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_filters_of_arrays_are_scipys(xp, rng, mode):
    image, weights = rng.standard_normal((6, 7)), rng.standard_normal((3, 4))
    x, w = made(xp, image), made(xp, weights)
    options = {"mode": mode, "cval": 0.3}
    for origin in (0, -1, (1, -1)):
        for name in ("correlate", "convolve"):
            expected = getattr(scipy.ndimage, name)(image, weights, origin=origin, **options)
            same(getattr(xp.ndimage, name)(x, w, origin=origin, **options), expected)
    for size in (1, 2, 3, 20):
        line = rng.standard_normal(size)
        for name in ("correlate1d", "convolve1d"):
            expected = getattr(scipy.ndimage, name)(image, line, 0, **options)
            same(getattr(xp.ndimage, name)(x, made(xp, line), 0, **options), expected)
        expected = scipy.ndimage.uniform_filter(image, size, **options)
        same(xp.ndimage.uniform_filter(x, size, **options), expected)
    for order in range(4):
        expected = scipy.ndimage.gaussian_filter(image, [1.3, 0.7], [order, 0], **options)
        same(xp.ndimage.gaussian_filter(x, [1.3, 0.7], [order, 0], **options), expected)


def test_the_angle_the_matrix_and_the_width_have_gradients(xp, rng):
    x = made(xp, rng.standard_normal((4, 4)))
    ag.check_grad(
        lambda angle: xp.ndimage.rotate(x, angle, reshape=False, mode="mirror"), made(xp, 20.0)
    )
    ag.check_grad(lambda sigma: xp.ndimage.gaussian_filter(x, sigma, radius=2), made(xp, 0.8))
    ag.check_grad(lambda by: xp.ndimage.shift(x, by, mode="grid-wrap"), made(xp, [0.3, -0.4]))


def test_the_nearest_element_has_no_derivative_by_its_place(xp):
    x, at = made(xp, [1.0, 2.0, 4.0]), made(xp, [[0.4, 1.6]])
    by_array, by_place = ag.grad(
        lambda x, at: xp.sum(xp.ndimage.map_coordinates(x, at, 0)), argnums=(0, 1)
    )(x, at)
    assert host(by_array).tolist() == [1.0, 0.0, 1.0]
    assert host(by_place).tolist() == [[0.0, 0.0]]


def test_a_place_that_is_no_number_has_none(xp):
    x, at = made(xp, [1.0, 2.0, 4.0]), made(xp, [[np.nan, 1.0]])
    out = host(xp.ndimage.map_coordinates(x, at, 1, "mirror"))
    assert np.isnan(out).tolist() == [True, False]


def test_what_is_no_grid(xp):
    x = made(xp, np.ones((3, 4)))
    for f, message in (
        (lambda: xp.ndimage.map_coordinates(x, x), "one row for each"),
        (lambda: xp.ndimage.map_coordinates(x, x[:2, ...], 6), "order must be"),
        (lambda: xp.ndimage.map_coordinates(x, x[:2, ...], 1, "around"), "mode must be"),
        (lambda: xp.ndimage.affine_transform(x, x), "do not belong"),
        (lambda: xp.ndimage.rotate(x, 1.0, (0, 0)), "not a plane"),
        (lambda: xp.ndimage.zoom(x, [1.0]), "zoom factors"),
        (lambda: xp.ndimage.correlate(x, x[0, ...]), "as many axes"),
        (lambda: xp.ndimage.correlate1d(x, [1.0, 2.0], origin=2), "beside the 2 weights"),
        (lambda: xp.ndimage.correlate1d(x, [1.0], mode="round"), "mode must be"),
    ):
        with pytest.raises(ValueError, match=message):
            f()


def test_extensions_are_numpys(xp, rng):
    x = rng.standard_normal((2, 3))
    for mode, kind in {
        "reflect": "symmetric",
        "mirror": "reflect",
        "nearest": "edge",
        "wrap": "wrap",
    }.items():
        found = extended(made(xp, x), 1, 5, 7, mode, 0.0, xp)
        np.testing.assert_array_equal(host(found), np.pad(x, [(0, 0), (5, 7)], mode=kind))


# -- distances and points --------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_scipys(xp, rng, metric):
    one, other = rng.uniform(0.1, 1, (6, 3)), rng.uniform(0.1, 1, (5, 3))
    options = {"p": 3} if metric == "minkowski" else {}
    expected = distance.cdist(one, other, metric, **options)
    same(xp.spatial.cdist(made(xp, one), made(xp, other), metric, **options), expected)
    same(xp.spatial.pdist(made(xp, one), metric, **options), distance.pdist(one, metric, **options))


@pytest.mark.parametrize(
    "metric", ["euclidean", "sqeuclidean", "cityblock", "mahalanobis", "canberra"]
)
def test_a_distance_of_0_has_a_gradient_of_0(xp, metric):
    x = made(xp, [[1.0, 2.0], [0.0, 0.0]])
    options = {"VI": made(xp, np.eye(2))} if metric == "mahalanobis" else {}

    def f(y):
        found = xp.spatial.cdist(x, y, metric, **options)
        return found[0, 0] + found[1, 1]

    assert host(ag.grad(f)(x)).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_unknown_distances(xp):
    x = made(xp, np.ones((2, 3)))
    with pytest.raises(ValueError, match="metric must be one of"):
        xp.spatial.cdist(x, x, "far")
    with pytest.raises(ValueError, match="rows are of one length"):
        xp.spatial.cdist(x, x[:, :2])
    with pytest.raises(ValueError, match="p must be positive"):
        xp.spatial.pdist(x, "minkowski", p=0)


ENDS = [
    "not-a-knot",
    "natural",
    "clamped",
    ("natural", "not-a-knot"),
    ((1, 0.3), (2, 0.7)),
    ((2, 0.3), "clamped"),
]


@pytest.mark.parametrize("count", [2, 3, 4, 9])
@pytest.mark.parametrize("ends", ENDS)
def test_cubic_splines_are_scipys(xp, rng, count, ends):
    x, y = np.sort(rng.uniform(0, 5, count)), rng.standard_normal((2, count, 3))
    at = rng.uniform(-1, 6, (4, 5))
    spline = xp.interpolate.CubicSpline(made(xp, x), made(xp, y), 1, ends)
    wide = (
        ends
        if isinstance(ends, str)
        else tuple(e if isinstance(e, str) else (e[0], np.full((2, 3), e[1])) for e in ends)
    )
    expected = scipy.interpolate.CubicSpline(x, y, 1, wide)
    for nu in range(5):
        same(spline(made(xp, at), nu), expected(at, nu), 1e-8)


@pytest.mark.parametrize("count", [2, 3, 9])
def test_monotone_interpolation_is_scipys(xp, rng, count):
    x, y = np.sort(rng.uniform(0, 5, count)), rng.standard_normal((count, 3))
    at = rng.uniform(-1, 6, 20)
    for extrapolate in (True, False):
        found = xp.interpolate.PchipInterpolator(made(xp, x), made(xp, y), extrapolate=extrapolate)(
            made(xp, at)
        )
        expected = scipy.interpolate.PchipInterpolator(x, y, extrapolate=extrapolate)(at)
        same(found, expected, 1e-11)


def test_interpolation_between_points_is_scipys(xp, rng):
    x, y = np.sort(rng.uniform(0, 5, 9)), rng.standard_normal((2, 9, 3))
    at = rng.uniform(-1, 6, (4, 5))
    for kind in ("linear", "cubic", "previous"):
        found = xp.interpolate.interp1d(made(xp, x), made(xp, y), kind, 1)(made(xp, at))
        expected = scipy.interpolate.interp1d(x, y, kind, 1, bounds_error=False)(at)
        same(found, expected, 1e-9)
    grid, values = [x, np.arange(4.0)], rng.standard_normal((9, 4, 2))
    at = rng.uniform(-0.5, 4, (7, 3, 2))
    for method in ("linear", "nearest"):
        for fill in (np.nan, None, 1.5):
            found = xp.interpolate.interpn(
                [made(xp, each) for each in grid],
                made(xp, values),
                made(xp, at),
                method,
                fill_value=fill,
            )
            options = {"bounds_error": False, "fill_value": fill}
            same(found, scipy.interpolate.interpn(grid, values, at, method, **options))
    narrow = xp.astype(made(xp, values), xp.float32), xp.astype(made(xp, at), xp.float32)
    found = xp.interpolate.interpn([made(xp, each) for each in grid], *narrow)
    assert found.dtype == xp.float64  # as wide as the widest


def test_places_have_gradients(xp, rng):
    x, y = made(xp, np.linspace(0.0, 3.0, 6)), made(xp, rng.standard_normal((6, 2)))
    at = made(xp, [0.25, 1.3, 3.4])
    ag.check_grad(lambda at: xp.interpolate.CubicSpline(x, y)(at), at)
    ag.check_grad(lambda at: xp.interpolate.PchipInterpolator(x, y)(at), at)
    ag.check_grad(
        lambda at: xp.interpolate.interp1d(x, y, axis=0, fill_value="extrapolate")(at), at
    )


def test_points_that_cannot_be_interpolated(xp):
    x = made(xp, [0.0, 1.0, 2.0])
    for f, message in (
        (lambda: xp.interpolate.CubicSpline(x, x, bc_type="periodic"), "bc_type must be"),
        (lambda: xp.interpolate.CubicSpline(x, x[:2]), "a value for each"),
        (lambda: xp.interpolate.interp1d(x, x, "wild"), "kind must be"),
        (lambda: xp.interpolate.interp1d(x, x, fill_value="none"), "fill_value must be"),
        (lambda: xp.interpolate.interpn([x], x, x), "do not belong"),
        (lambda: xp.interpolate.interpn([x], x, x[:, None], "cubic"), "method must be"),
    ):
        with pytest.raises(ValueError, match=message):
            f()


# -- what takes functions --------------------------------------------------------------------------


def oscillator(t, y, p):
    xp = ag.namespace(y)
    return xp.stack([y[1], -p[0] * y[0] - p[1] * y[1] + 0.1 * t])


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
@pytest.mark.parametrize("times", [None, [0.0, 0.3, 1.0, 2.2, 3.0]])
def test_solutions_are_scipys(xp, method, times):
    y0, p = np.asarray([1.0, 0.5]), np.asarray([2.0, 0.3])

    def f(t, y):
        return np.stack([y[1], -p[0] * y[0] - p[1] * y[1] + 0.1 * t])

    for span in ((0.0, 3.0), (3.0, 0.0)):
        wanted = times if times is None or span[0] == 0 else times[::-1]
        expected = scipy.integrate.solve_ivp(f, span, y0, method, wanted)
        found = xp.integrate.solve_ivp(
            oscillator, span, made(xp, y0), method, wanted, (made(xp, p),)
        )
        same(found.y, expected.y)
        same(found.t, expected.t)


@pytest.mark.parametrize("times", [[0.0, 0.5, 2.0], [1.0, 0.25], [0.3]])
def test_odeint_is_scipys(xp, times):
    def pendulum(y, t, k):
        return [y[1], -k * y[0] * (1 + 0.1 * t)]

    expected = scipy.integrate.odeint(pendulum, [1.0, 0.5], times, args=(2.0,))
    for given_times in (times, made(xp, np.asarray(times))):
        found = xp.integrate.odeint(pendulum, [1.0, 0.5], given_times, (2.0,))
        np.testing.assert_allclose(host(found), expected, rtol=1e-5, atol=1e-6)
    first = xp.integrate.odeint(lambda t, y: -y, 1.0, times, tfirst=True, hmax=0.5, h0=0.01)
    np.testing.assert_allclose(host(first)[:, 0], np.exp(times[0] - np.asarray(times)), rtol=1e-6)


def test_odeint_has_gradients_by_values_times_and_arguments(xp):
    def decay(y0, times, rate):
        return xp.integrate.odeint(lambda y, t, rate: -rate * y, y0, times, (rate,))

    at = ([1.5, 0.5], [0.0, 0.4, 1.0], 0.7)
    ag.check_grad(decay, *(made(xp, each) for each in at), order=1)


def test_the_derivative_of_a_solution_is_as_accurate_as_the_solution():
    """The exact derivative of exp(p t) y0, and the sensitivity of a solution to its end."""
    xp = ag.namespace("numpy")

    def end(y0, p, t1):
        options = {"rtol": 1e-10, "atol": 1e-12, "method": "DOP853"}
        return xp.integrate.solve_ivp(lambda t, y, p: p * y, (0.0, t1), y0, args=(p,), **options).y[
            0, -1
        ]

    at = np.asarray([0.7]), np.asarray(0.9), np.asarray(1.5)
    by_y0, by_p, by_t1 = ag.grad(end, argnums=(0, 1, 2))(*at)
    value = np.exp(0.9 * 1.5)
    np.testing.assert_allclose(by_y0, [value], rtol=1e-9)
    np.testing.assert_allclose(by_p, 0.7 * 1.5 * value, rtol=1e-9)
    np.testing.assert_allclose(by_t1, 0.7 * 0.9 * value, rtol=1e-9)
    second = ag.grad(lambda p: ag.grad(end, argnums=1)(at[0], p, at[2]))(at[1])
    np.testing.assert_allclose(second, 0.7 * 1.5**2 * value, rtol=1e-8)


def robertson(t, y, k0, k1, k2):
    xp = ag.namespace(y)
    decay, pair, back = k0 * y[0], k1 * y[1] * y[1], k2 * y[1] * y[2]
    return xp.stack([back - decay, decay - pair - back, pair])


RATES = (0.04, 3e7, 1e4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")  # of tried steps, as SciPy
@pytest.mark.parametrize("closure", [False, True])
@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853"])
def test_steps_at_the_limit_of_stability_keep_the_derivative(method, closure):
    """Stiff equations: the solution of these steps is right, and its derivative was not."""
    xp = ag.namespace("numpy")

    def end(k0):
        rates = (k0, *map(np.asarray, RATES[1:]))
        fun = (lambda t, y: robertson(t, y, *rates)) if closure else robertson
        y0, args = np.asarray([1.0, 0.0, 0.0]), () if closure else rates
        return xp.integrate.solve_ivp(fun, (0.0, 0.3), y0, method, args=args).y[0, -1]

    # By differences of solutions of an implicit method, to 1e-11.
    assert float(ag.grad(end)(np.asarray(RATES[0]))) == pytest.approx(-0.274473, rel=1e-4)
    _, forward = ag.jvp(end, (np.asarray(RATES[0]),), (np.ones(()),))
    assert float(forward) == pytest.approx(-0.274473, rel=1e-4)
    if method == "RK23":
        assert float(ag.grad(ag.grad(end))(np.asarray(RATES[0]))) == pytest.approx(0.3294, rel=0.1)


@pytest.mark.parametrize("backend", ["numpy", "strict", "torch", "jax"], indirect=True)
def test_a_stiff_equation_keeps_its_derivatives(xp):
    """By the rate and by what starts: exp(-rate t) falls, and cos(t) is what is left."""

    def end(y0, rate, end):
        found = xp.integrate.solve_ivp(
            lambda t, y, rate: -rate * (y - xp.cos(t * xp.ones_like(y))),
            (0.0, end),
            y0,
            args=(rate,),
        )
        return found.y[0, -1]

    rate, t = 200.0, 1.0
    by_y0, by_rate, by_t = (
        float(host(each).sum())
        for each in ag.grad(end, argnums=(0, 1, 2))(made(xp, [0.0]), made(xp, rate), made(xp, t))
    )
    sine, cosine, square = math.sin(t), math.cos(t), 1 + rate * rate
    # y = rate (rate cos t + sin t) / (1 + rate**2)
    expected = (2 * rate * cosine + sine) / square
    expected -= 2 * rate * (rate * rate * cosine + rate * sine) / square**2
    assert by_y0 == pytest.approx(0.0, abs=1e-4)
    assert by_rate == pytest.approx(expected, abs=1e-6)
    assert by_t == pytest.approx(rate * (cosine - rate * sine) / square, rel=1e-2)


def test_what_moves_only_the_derivative_shortens_the_steps():
    xp = ag.namespace("numpy")

    def end(p):
        wave = lambda t, y, p: p * math.sin(20.0 * t) * xp.ones_like(y)  # noqa: E731
        return xp.integrate.solve_ivp(wave, (0.0, 2.0), np.zeros(1), args=(p,), rtol=1e-5).y[0, -1]

    expected = (1 - math.cos(40.0)) / 20
    assert float(ag.grad(end)(np.zeros(()))) == pytest.approx(expected, rel=1e-3)


def test_without_gradients_steps_are_scipys():
    xp = ag.namespace("numpy")
    p, y0 = ag.Variable(np.asarray([1.0, 0.3])), np.asarray([1.0, 0.5])
    expected = scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 3.0), y0)
    with ag.no_grad():
        found = xp.integrate.solve_ivp(lambda t, y, p: -y + 0 * p, (0.0, 3.0), y0, args=(p,))
    same(found.t, expected.t)
    assert found.nfev == expected.nfev


@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_derivative_that_no_steps_control_is_an_error():
    xp = ag.namespace("numpy")

    def end(y0):
        return xp.integrate.solve_ivp(lambda t, y: xp.sqrt(1.0 - y), (0.0, 1.0), y0).y[:, -1]

    y0 = ag.Variable(np.ones(2))
    with pytest.raises(RuntimeError, match=r"That is the derivative's error.*ag\.no_grad\(\)"):
        end(y0)
    with ag.no_grad():
        assert host(end(y0)).tolist() == [1.0, 1.0]


def test_times_of_a_solution_have_gradients():
    xp = ag.namespace("numpy")
    at = np.asarray([0.2, 0.9])

    def values(at):
        return xp.integrate.solve_ivp(
            lambda t, y: -y, (0.0, 1.0), np.ones(1), t_eval=at, rtol=1e-8, atol=1e-10
        ).y[0, :]

    jacobian = ag.jacobian(values)(at)
    np.testing.assert_allclose(jacobian, np.diag(-np.exp(-at)), atol=1e-5)


def test_time_that_stands_still(xp):
    for times in (None, [1.0]):
        found = xp.integrate.solve_ivp(lambda t, y: y, (1.0, 1.0), [1.0, 2.0], t_eval=times)
        assert host(found.y)[:, -1].tolist() == [1.0, 2.0]


def test_what_a_function_uses_has_its_gradient(xp):
    p = ag.Variable(made(xp, 0.5))
    y = xp.integrate.solve_ivp(lambda t, y: -p * y, (0.0, 1.0), made(xp, [1.0]), rtol=1e-8).y
    y[0, -1].backward()
    assert float(host(p.grad)) == pytest.approx(-np.exp(-0.5), rel=1e-6)


LIMITS = [
    (0.2, 1.5),
    (1.5, 0.2),
    (0.0, np.inf),
    (-np.inf, 0.5),
    (-np.inf, np.inf),
    (np.inf, 0.0),
    (0.5, -np.inf),
    (np.inf, -np.inf),
]


@pytest.mark.parametrize("limits", LIMITS)
def test_integrals_are_scipys(xp, limits):
    found, error = xp.integrate.quad(lambda x, one: xp.exp(-one * x * x), *limits, (made(xp, 1.0),))
    same(found, scipy.integrate.quad(lambda x: np.exp(-x * x), *limits)[0], 1e-9)
    assert 0 <= error < 1e-6


def test_integrals_that_do_not_converge_are_errors():
    xp = ag.namespace("numpy")
    with pytest.raises(RuntimeError, match=r"quad: .*epsabs is"):
        xp.integrate.quad(lambda x: 1 / x, 1e-12, 1.0, limit=2)


# Integrands that do not vary where their derivative by the parameter at 1 does, and its integral.
SMOOTH_AT_ONE = {
    "roots at both ends": (lambda xp, x, p: x + (p - 1) * (x * (1 - x)) ** 0.5, math.pi / 8),
    "a step": (lambda xp, x, p: 1.0 + (p - 1) * x * float(x > 0.3), 0.455),
    "a logarithm": (lambda xp, x, p: x ** (p - 1), -1.0),
    "oscillations": (
        lambda xp, x, p: x + xp.sin((p - 1) * xp.sin(xp.asarray(300 * x, dtype=xp.float64))),
        (1 - math.cos(300.0)) / 300,
    ),
}


@pytest.mark.parametrize("name", SMOOTH_AT_ONE)
@pytest.mark.parametrize("mode", ["reverse", "forward", "closure"])
def test_intervals_are_chosen_for_the_derivative_too(xp, name, mode):
    function, expected = SMOOTH_AT_ONE[name]

    def integral(p):
        args, used = ((), p) if mode == "closure" else ((p,), None)
        f = lambda x, q=used: function(xp, x, q)  # noqa: E731
        return xp.integrate.quad(f, 0.0, 1.0, args)[0]

    one = xp.asarray(1.0, dtype=xp.float64).data
    found = ag.jvp(integral, one, one)[1] if mode == "forward" else ag.grad(integral)(one)
    assert float(found) == pytest.approx(expected, abs=1e-8)


def test_a_derivative_that_does_not_converge_is_an_error():
    xp = ag.namespace("numpy")
    integral = lambda p: xp.integrate.quad(lambda x: (p - x) ** 0.5, 0.0, 1.0)[0]  # noqa: E731
    with pytest.raises(RuntimeError, match=r"quad: .*That is the derivative's error.*no_grad"):
        ag.grad(lambda p: xp.integrate.quad(lambda x: 1.0 + (p - 1) / x, 0.0, 1.0)[0])(1.0)
    with ag.no_grad():
        assert float(integral(ag.Variable(1.0)).data) == pytest.approx(2 / 3)


def test_an_integral_of_an_op_without_a_rule_has_a_value():
    xp = ag.namespace("numpy")
    order = ag.Variable(1.0)
    found, _ = xp.integrate.quad(lambda x: xp.special.jv(order, x), 0.0, 1.0)
    assert float(found.data) == pytest.approx(
        scipy.integrate.quad(lambda x: scipy.special.jv(1.0, x), 0, 1)[0]
    )
    with pytest.raises(ag.errors.MissingRuleError):
        found.backward()


def test_formulas_of_gauss_are_scipys(xp):
    found = xp.integrate.fixed_quad(lambda x: x**5 - x, made(xp, 0.1), 2.0, n=4)
    same(found, scipy.integrate.fixed_quad(lambda x: x**5 - x, 0.1, 2.0, n=4)[0])


def test_roots_and_minima_are_scipys(xp):
    def f(x, a, c):
        library = np if isinstance(x, np.ndarray) else ag.namespace(x)
        return library.stack([x[0] ** 3 + a * x[1] - 1, x[1] ** 3 - c * x[0] + 1])

    given = made(xp, 0.7), made(xp, 0.4)
    for method in ("hybr", "lm"):
        found = xp.optimize.root(f, made(xp, [0.5, 0.5]), given, method)
        same(found, scipy.optimize.root(f, [0.5, 0.5], (0.7, 0.4), method).x, 1e-5)
    ag.check_grad(lambda a, c: xp.optimize.root(f, [0.5, 0.5], (a, c)), *given)
    found = xp.optimize.minimize(
        lambda x, a: xp.sum((x - a["by"]) ** 4) + xp.sum(x * x), [0.5, 0.4], ({"by": given[0]},)
    )
    same(
        found, scipy.optimize.minimize(lambda x: np.sum((x - 0.7) ** 4 + x * x), [0.5, 0.4]).x, 1e-5
    )


def test_least_squares_are_scipys(xp):
    t = np.linspace(0.0, 1.0, 8)
    y = np.exp(-1.5 * t) + 0.1 * np.cos(9.0 * t)

    def residuals(p, y, t):
        library = np if isinstance(p, np.ndarray) else ag.namespace(p)
        return p[0] * library.exp(-p[1] * t) - y

    given = made(xp, y), made(xp, t)
    for method in ("trf", "lm"):
        found = xp.optimize.least_squares(residuals, [1.0, 1.0], given, method)
        tight = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
        same(
            found, scipy.optimize.least_squares(residuals, [1.0, 1.0], args=(y, t), **tight).x, 1e-7
        )
    ag.check_grad(
        lambda y: xp.optimize.least_squares(residuals, [1.0, 1.0], (y, given[1])), given[0]
    )
    with pytest.raises(RuntimeError, match="least_squares: "):
        xp.optimize.least_squares(residuals, [1.0, 1.0], given, max_nfev=1)


def heat(x, a):
    """Return the residual of a nonlinear chain: a tridiagonal Jacobian, which is not symmetric."""
    xp = ag.namespace(x)
    w = xp.pad(x, 1)
    return 3.0 * x - w[2:] - 0.5 * w[:-2] + a * xp.exp(0.1 * x) - 1.0


def chained(x, a):
    """Return a function of neighbours with one minimum."""
    xp = ag.namespace(x)
    return xp.sum((x[1:] - x[:-1]) ** 2 + x[1:] ** 4) + xp.sum((x - a) ** 2)


def neighbours(x, a):
    """Return residuals that are not 0 where they are least."""
    xp = ag.namespace(x)
    return xp.concat([x - a, 2.0 * (x[1:] - x[:-1]), xp.sin(x[2:] * x[:-2])])


@pytest.mark.parametrize(
    ("solver", "f", "methods"),
    [
        ("root", heat, ["hybr", "lm", "krylov"]),
        ("minimize", chained, ["BFGS", "Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"]),
        ("least_squares", neighbours, ["trf", "dogbox"]),
    ],
)
def test_sparse_solutions_and_derivatives_are_the_dense_ones(xp, solver, f, methods):
    a = made(xp, np.linspace(0.2, 0.9, 6))
    solve = getattr(xp.optimize, solver)

    def solution(a, method=methods[0], sparse=True):
        return solve(f, xp.zeros(6, dtype=a.dtype), (a,), method, sparse=sparse)

    expected, pull = ag.vjp(lambda a: solution(a, sparse=False), a)
    for method in methods:
        same(solution(a, method), host(expected), 1e-9)
    g = made(xp, np.linspace(-1.0, 1.0, 6))
    (sparse,) = ag.vjp(solution, a)[1](g)
    same(sparse, host(pull(g)[0]), 1e-9)


@pytest.mark.parametrize(
    ("solver", "f"), [("root", heat), ("minimize", chained), ("least_squares", neighbours)]
)
def test_sparse_solutions_have_derivatives_of_every_kind(solver, f):
    xp = ag.namespace("numpy")
    solve = getattr(xp.optimize, solver)
    a = np.linspace(0.2, 0.9, 6)
    ag.check_grad(lambda a: solve(f, np.zeros(6), (a,), sparse=True), a)  # to second order


def test_a_sparse_root_that_is_not_found_is_an_error(xp):
    one = made(xp, [1.0, 1.0])
    for f, message in (
        (lambda x, a: x * x + a, "no step makes the residual smaller"),
        (lambda x, a: x * 0.0 + a, "the Jacobian is singular"),
    ):
        with pytest.raises(RuntimeError, match=message):
            xp.optimize.root(f, [0.5, 0.5], (one,), sparse=True)
    with pytest.raises(RuntimeError, match="did not converge in 2 steps"):
        xp.optimize.root(heat, [9.0, -9.0], (one,), options={"maxiter": 2}, sparse=True)
    with pytest.raises(ag.errors.SparsityError):
        xp.optimize.root(lambda x, a: x - a if x[0] > 0 else x, [0.5, 0.5], (one,), sparse=True)


def test_a_sparse_system_that_is_singular_has_no_derivative():
    xp = ag.namespace("numpy")
    c = ag.Variable(np.asarray([0.0, 0.0]))
    out = xp.optimize.root(lambda x, c: (x - c) ** 3, [0.0, 0.0], (c,), "krylov", sparse=True)
    with pytest.raises(SolverError, match="singular"):
        xp.sum(out).backward()
    assert c.grad is None


@pytest.mark.filterwarnings("ignore::agnograd.errors.BatchingWarning")
def test_solvers_of_many_members_and_in_programs(xp):
    def f(x, a):
        return x**3 + a * x - 1.0

    def solutions(a):
        root = xp.optimize.root(f, [0.5, 0.5], (a,))
        fixed = xp.optimize.fixed_point(lambda x, a: a / (2.0 + x), [0.5, 0.5], (a,))
        least = xp.optimize.minimize(lambda x, a: xp.sum((x - a) ** 4 + x * x), xp.zeros(2), (a,))
        fitted = xp.optimize.least_squares(lambda x, a: x * x - a, xp.ones(2), (a,))
        return xp.stack([root, fixed, least, fitted])

    rows = [made(xp, [0.5, 1.0]), made(xp, [2.0, 0.7]), made(xp, [1.0, 1.5])]
    slope = ag.grad(lambda a: xp.sum(solutions(a)))
    members = ag.Variable(xp.stack(rows).data, requires_grad=False)
    for transformed in (solutions, slope):
        expected = np.stack([host(transformed(row)) for row in rows])
        same(ag.vmap(transformed)(members), expected, 1e-9)
        fast = ag.compile(transformed)
        for row, one in zip(rows, expected, strict=True):
            same(fast(row), one, 1e-9)


def test_roots_of_many_axes(xp):
    target = made(xp, [[1.0, 2.0], [3.0, 4.0]])
    out = xp.optimize.root(lambda x, t: x * x * x - t, made(xp, np.ones((2, 2))), (target,))
    same(out, np.cbrt(host(target)))
    gradient = ag.grad(
        lambda t: xp.sum(xp.optimize.root(lambda x, t: x**3 - t, np.ones((2, 2)).tolist(), (t,)))
    )(target)
    same(gradient, 1 / 3 * host(target) ** (-2 / 3))


def test_a_singular_jacobian_has_a_root_and_no_derivative():
    xp = ag.namespace("numpy")
    c = ag.Variable(np.asarray([0.0]))
    out = xp.optimize.root(lambda x, c: (x - c) * (x - c), [0.0], (c,))
    same(out, [0.0])
    with pytest.raises(SolverError, match="singular"):
        xp.sum(out).backward()
    assert c.grad is None


def test_gradients_that_would_be_lost_are_errors(xp):
    c = ag.Variable(made(xp, 0.5))
    with pytest.raises(LostGradientError, match="root: the function uses a tracked Variable"):
        xp.optimize.root(lambda x: x**3 - c, [0.3])
    with pytest.raises(LostGradientError, match="minimize"):
        xp.optimize.minimize(lambda x: (x - c) ** 2, 0.3)


def test_what_is_not_found_is_an_error(xp):
    one = made(xp, 1.0)
    with pytest.raises(RuntimeError, match="root: "):
        xp.optimize.root(lambda x, one: x * x + one, [0.5], (one,))
    with pytest.raises(RuntimeError, match="converge"):
        xp.optimize.fixed_point(lambda x, one: x * x + one, [0.5], (one,), maxiter=5)
    with pytest.raises(RuntimeError, match="solve_ivp: "):
        xp.integrate.solve_ivp(lambda t, y: y**2, (0.0, 2.0), [1.0])
    with pytest.raises(ValueError, match="method must be one of RK23"):
        xp.integrate.solve_ivp(lambda t, y: y, (0.0, 2.0), [1.0], "LSODA")
    with pytest.raises(ValueError, match="t_eval is to be in order"):
        xp.integrate.solve_ivp(lambda t, y: y, (0.0, 2.0), [1.0], t_eval=[0.5, 0.1])
    with pytest.raises(ValueError, match=r"fun returned \(1,\), and y has shape \(2,\)"):
        xp.integrate.solve_ivp(lambda t, y: y[:1], (0.0, 2.0), [1.0, 2.0])
    with pytest.raises(TypeError, match="unknown option 'jac'"):
        xp.integrate.solve_ivp(lambda t, y: y, (0.0, 2.0), [1.0], jac=None)


# -- programs and lazy arrays ----------------------------------------------------------------------


def everything(xp):
    """Return a program of each kind, of a signal of 12 elements."""
    knots, at = [0.0, 3.0, 7.0, 11.0], [[0.3, 4.6, 9.1]]

    def program(x):
        image = xp.reshape(x, (3, 4))
        return (
            xp.sum(xp.signal.lfilter([0.2, 0.3], [1.0, -0.5, 0.2], x) ** 2)
            + xp.sum(xp.signal.fftconvolve(x, x, "same"))
            + xp.sum(xp.ndimage.map_coordinates(x, at, mode="mirror") ** 2)
            + xp.sum(xp.ndimage.gaussian_filter(image, 0.7) ** 2)
            + xp.sum(xp.spatial.pdist(image))
            + xp.sum(xp.interpolate.CubicSpline(knots, x[:4])(x) ** 2)
        )

    return program


def on_numpy(x):
    xp = ag.namespace("numpy")
    return ag.grad(everything(xp))(np.asarray(x))


@pytest.mark.parametrize("backend", ["jax"], indirect=True)
def test_programs_are_compiled_by_jax(xp, rng):
    import jax

    x = rng.standard_normal(12)
    gradient = jax.jit(ag.grad(everything(xp)))(made(xp, x))
    np.testing.assert_allclose(gradient, on_numpy(x), rtol=1e-8)


@pytest.mark.parametrize("backend", ["dask"], indirect=True)
def test_nothing_is_computed_before_it_is_asked_for(xp, rng):
    from dask.callbacks import Callback

    x, started = rng.standard_normal(12), []
    with Callback(start=started.append):
        gradient = ag.grad(everything(xp))(made(xp, x))
        assert not started
    np.testing.assert_allclose(gradient.compute(), on_numpy(x), rtol=1e-8)


# -- the pack --------------------------------------------------------------------------------------


def test_a_failing_function_leaves_gradients_as_they_were(xp):
    x = ag.Variable(made(xp, [1.0]))
    xp.sum(x * 2.0).backward()
    with pytest.raises(ZeroDivisionError):
        xp.integrate.solve_ivp(lambda t, y: 1 / 0, (0.0, 1.0), x)
    with pytest.raises(ZeroDivisionError):
        xp.optimize.root(lambda x: 1 / 0, x)
    assert host(x.grad).tolist() == [2.0]


@pytest.mark.parametrize("backend", ["numpy"], indirect=True)
def test_arrays_of_two_backends_are_an_error(xp):
    other = made(ag.namespace("strict"), [1.0, 2.0])
    with pytest.raises(MixedBackendsError, match="strict"):
        xp.signal.lfilter([1.0], [1.0, 0.5], other)


@pytest.mark.filterwarnings("ignore::agnograd.errors.MixedBackendsWarning")
@pytest.mark.parametrize("backend", ["dask", "jax", "torch", "strict"], indirect=True)
def test_numpys_coefficients_are_constants_where_the_backend_takes_them(xp, backend, rng):
    b, a = (each.astype("float32") for each in scipy.signal.butter(2, 0.3))  # the widest on JAX
    x = ag.Variable(made(xp, rng.standard_normal(20), "float32"))
    found = xp.signal.lfilter(b, a, x)
    same(found, scipy.signal.lfilter(b, a, host(x)), 1e-5)
    (gradient,) = ag.autodiff.grad(xp.sum(found), x)
    assert type(gradient.data) is type(x.data)
    reversed_ = scipy.signal.lfilter(b, a, np.ones(20, "float32"))[::-1]
    same(gradient, reversed_, 1e-5)


@pytest.mark.parametrize("backend", ["torch"], indirect=True)
def test_a_convolution_that_scipy_returns_in_reverse_order_is_a_tensor(xp):
    x, kernel = np.arange(7.0).reshape(1, 7), np.arange(9.0).reshape(3, 3)
    found = xp.signal.convolve(made(xp, x), made(xp, kernel), method="direct")
    same(found, scipy.signal.convolve(x, kernel, method="direct"))


def test_scalars_of_numpy_are_numbers(xp):
    x = made(xp, np.eye(3))
    expected = host(xp.ndimage.shift(x, 0.5))
    same(xp.ndimage.shift(x, np.float64(0.5)), expected)
    same(xp.ndimage.shift(x, [np.float64(0.5)] * 2), expected)


def test_single_precision_stays_single(xp):
    x = made(xp, np.linspace(0.0, 1.0, 8), "float32")
    for out in (
        xp.signal.lfilter([0.5], [1.0, -0.5], x),
        xp.signal.convolve(x, x),
        xp.ndimage.map_coordinates(x, [[0.3, 2.6]]),
        xp.ndimage.zoom(x, 1.5),
        xp.ndimage.gaussian_filter(x, 1.0),
        xp.spatial.pdist(xp.reshape(x, (4, 2))),
        xp.interpolate.CubicSpline(x, x)([0.3]),
        xp.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), x).y,
        xp.optimize.root(lambda r, x: r**3 + r - x, xp.ones_like(x), (x,)),
    ):
        assert out.dtype == xp.float32


def test_every_function_is_on_the_page():
    text = PAGE.read_text()
    for op_set in (integrate, interpolate, ndimage, optimize, signal, spatial):
        for name in op_set.ops:
            assert f"`{name}`" in text, name


def test_without_scipy_an_error_says_what_to_install(monkeypatch):
    monkeypatch.delitem(sys.modules, "agnograd_scipy.kernels.numpy", raising=False)
    monkeypatch.setitem(sys.modules, "scipy.ndimage", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'agnograd\[scipy\]'"):
        runpy.run_module("agnograd_scipy.kernels.numpy")
