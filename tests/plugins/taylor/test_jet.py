"""Taylor coefficients along curves."""

import math

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError, InterpretationError, LostGradientError, MissingRuleError
from agnograd_taylor import coefficients_of, derivatives_of
from arrays import host, leaf

X = np.asarray([0.3, 0.7])
ONES = np.ones(2)
# Stirling numbers of the second kind S(10, k): the tenth derivative of f(exp(x)) is their sum with
# exp(k x) times the k-th derivative of f.
STIRLING = (1, 511, 9330, 34105, 42525, 22827, 5880, 750, 45, 1)


def line(*x, order=3):
    """Return series that are lines."""
    return [[each, *[None] * (order - 1)] for each in x]


def pushes(f, x, v, order):
    """Return derivatives along a line by pushes of pushes."""
    found = []
    for _ in range(order):
        f = (lambda g: lambda x: ag.jvp(g, x, v)[1])(f)
        found.append(np.asarray(f(x)))
    return found


def test_order_10_is_that_of_stirling_numbers(xp):
    x = xp.asarray(X).data
    found = ag.taylor(lambda x: xp.sin(xp.exp(x)), x, xp.ones_like(x).data, 10)[10]
    u = np.exp(np.asarray(X, dtype=host(x).dtype))
    sines = [np.sin(u), np.cos(u), -np.sin(u), -np.cos(u)]
    expected = sum(s * u**k * sines[k % 4] for k, s in enumerate(STIRLING, 1))
    tolerance = 1e-12 if u.dtype == np.float64 else 1e-3
    np.testing.assert_allclose(host(found) * math.factorial(10), expected, rtol=tolerance)


@pytest.mark.parametrize(
    ("name", "derivative"),
    [
        ("exp", lambda x, n: np.exp(x)),
        ("expm1", lambda x, n: np.exp(x)),
        ("log", lambda x, n: (-1) ** (n + 1) * math.factorial(n - 1) / x**n),
        ("sin", lambda x, n: np.sin(x + n * np.pi / 2)),
        ("cos", lambda x, n: np.cos(x + n * np.pi / 2)),
        ("sinh", lambda x, n: np.sinh(x) if n % 2 == 0 else np.cosh(x)),
        ("sqrt", lambda x, n: math.prod(0.5 - i for i in range(n)) * x ** (0.5 - n)),
        ("reciprocal", lambda x, n: (-1) ** n * math.factorial(n) / x ** (n + 1)),
        ("square", lambda x, n: (2.0 * x, 2.0 + 0.0 * x, 0.0 * x)[min(n - 1, 2)]),
    ],
)
def test_closed_forms_to_order_8(name, derivative):
    xp = ag.namespace("numpy")
    _, series = ag.jet(getattr(xp, name), (X,), line(ONES, order=8))
    for n, found in enumerate(derivatives_of(series), 1):
        np.testing.assert_allclose(found, derivative(X, n), rtol=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        *("inv", "solve", "det", "cholesky", "eigh", "svd", "fft", "softmax", "layer_norm"),
        *(
            "atan2",
            "power",
            "divide",
            "std",
            "max",
            "norm",
            "where",
            "cumprod",
            "einsum",
            "written",
        ),
    ],
)
def test_ops_of_every_kind(name):
    xp = ag.namespace("numpy")
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(3, 3)) + 3.0 * np.eye(3), rng.normal(size=(3, 3))

    def written(a):
        out = xp.zeros_like(a)
        out[0, :] = a[1, :] ** 2
        out[1:, 1] += a[1:, 0]
        return out

    f = {
        "inv": xp.linalg.inv,
        "solve": lambda a: xp.linalg.solve(a, a[0, :] * a[1, :]),
        "det": xp.linalg.det,
        "cholesky": lambda a: xp.linalg.cholesky(a @ a.mT),
        "eigh": lambda a: xp.linalg.eigh(a @ a.mT)[0],
        "svd": lambda a: xp.linalg.svd(a)[1],
        "fft": lambda a: xp.abs(xp.fft.fft(a * a)),
        "softmax": xp.nn.softmax,
        "layer_norm": lambda a: xp.nn.layer_norm(a, (3,)),
        "atan2": lambda a: xp.atan2(a, a * a + 1.0),
        "power": lambda a: (a * a + 1.0) ** a,
        "divide": lambda a: xp.exp(a) / (a * a + 1.0),
        "std": lambda a: xp.std(a, axis=0),
        "max": lambda a: xp.max(a**3, axis=1),
        "norm": xp.linalg.vector_norm,
        "where": lambda a: xp.where(a > 0.0, a**3, 2.0),
        "cumprod": lambda a: xp.cumulative_prod(a, axis=0),
        "einsum": lambda a: xp.einsum("ij,jk,ik->i", a, a, a),
        "written": written,
    }[name]
    _, series = ag.jet(f, (a,), line(b))
    expected = pushes(lambda t: f(a + t * b), np.asarray(0.0), np.asarray(1.0), 3)
    for found, derivative in zip(derivatives_of(series), expected, strict=True):
        np.testing.assert_allclose(found, derivative, rtol=1e-9, atol=1e-10)


def test_curves_pytrees_and_numbers():
    xp = ag.namespace("numpy")

    def f(p, y):
        return {"sum": p["a"] + y, "product": p["a"] * y**2, "constant": 3.0}

    p, y = {"a": X}, 2.0
    value, series = ag.jet(f, (p, y), ([{"a": ONES}, {"a": X}], [1.0]))
    assert value["constant"] == 3.0
    assert [each["constant"] for each in series] == [0.0, 0.0]
    np.testing.assert_allclose(series[0]["sum"], [2.0, 2.0])
    np.testing.assert_allclose(series[1]["sum"], X)
    # (a + t + a t^2) (2 + t)^2 = 4 a + (4 a + 4) t + (5 a + 4) t^2 + ...
    np.testing.assert_allclose(series[0]["product"], 4.0 * X + 4.0)
    np.testing.assert_allclose(series[1]["product"], 5.0 * X + 4.0)
    assert float(ag.jet(xp.exp, (1.0,), ([],))[0]) == math.e
    assert ag.jet(xp.exp, (1.0,), ([],))[1] == []


def test_conversions_are_inverse():
    given = [X, 2.0 * X, {"a": X}]
    found = coefficients_of(derivatives_of(given))
    np.testing.assert_allclose(found[1], given[1])
    np.testing.assert_allclose(derivatives_of([X, X, X])[2], 6.0 * X)


def test_a_function_with_its_own_derivative_has_it_at_every_order():
    xp = ag.namespace("numpy")

    class Cube(ag.Function):
        def forward(self, xp, x):
            self.save(x)
            return xp.round(x)

        def backward(self, xp, g):
            (x,) = self.saved
            return 3.0 * g * x**2

    class Exponential(ag.Function):
        def forward(self, xp, x):
            out = xp.exp(x)
            self.save(out)
            return out

        def backward(self, xp, g):
            return g * self.saved[0]

    _, series = ag.jet(lambda x: Cube()(x), (X,), line(ONES))
    for found, expected in zip(series, (3.0 * X**2, 3.0 * X, ONES), strict=True):
        np.testing.assert_allclose(found, expected)
    _, series = ag.jet(lambda x: Exponential()(2.0 * x), (X,), line(ONES))
    for k, found in enumerate(series, 1):
        np.testing.assert_allclose(found, np.exp(2.0 * X) * 2.0**k / math.factorial(k))
    assert float(ag.laplacian(lambda x: xp.sum(Cube()(x)))(X)) == pytest.approx(6.0 * X.sum())
    inside = ag.laplacian(lambda x: xp.sum(ag.vmap(lambda each: Cube()(each))(x)))
    assert float(inside(X)) == pytest.approx(6.0 * X.sum())


def test_what_a_function_keeps_is_refused_where_its_derivative_is_needed():
    class Kept(ag.Function):
        def forward(self, xp, x):
            self.twice = 2.0 * x
            return x * x

        def backward(self, xp, g):
            return g * self.twice

    np.testing.assert_allclose(ag.taylor(lambda x: Kept()(x), X, ONES, 1)[1], 2.0 * X)
    with pytest.raises(LostGradientError, match="Kept keeps an array"):
        ag.taylor(lambda x: Kept()(x), X, ONES, 2)


def test_solutions_and_wrapped_functions():
    xp = ag.namespace("numpy")
    root = ag.implicit(lambda a: np.sqrt(np.asarray(a)), residual=lambda x, a: x * x - a)
    _, series = ag.jet(root, (X,), line(ONES))
    _, expected = ag.jet(xp.sqrt, (X,), line(ONES))
    np.testing.assert_allclose(series, expected, rtol=1e-9)
    sine = ag.wrap(np.sin, vjp=lambda g, out, x: g * xp.cos(x))
    _, series = ag.jet(sine, (X,), line(ONES))
    _, expected = ag.jet(xp.sin, (X,), line(ONES))
    np.testing.assert_allclose(series, expected, rtol=1e-12)


def test_what_is_cut_has_no_series():
    xp = ag.namespace("numpy")

    def under_no_grad(x):
        with ag.no_grad():
            y = xp.exp(x)
        return x * y

    cut = {
        "stop_gradient": lambda x: x * ag.stop_gradient(xp.exp(x)),
        "detach": lambda x: x * xp.exp(x).detach(),
        "no_grad": under_no_grad,
    }
    for f in cut.values():
        for state in (ag.enable_grad, ag.no_grad):
            with state():
                _, (first, second) = ag.jet(f, (X,), line(ONES, order=2))
            np.testing.assert_allclose(first, np.exp(X))
            np.testing.assert_allclose(second, 0.0, atol=0.0)


def test_a_cast_to_integers_has_no_series():
    xp = ag.namespace("numpy")

    def steps(x):
        return xp.sin(xp.astype(xp.astype(3.0 * x, xp.int64), xp.float64)) + x**2

    _, series = ag.jet(steps, (X,), line(ONES))
    np.testing.assert_array_equal(series[0], 2.0 * X)
    np.testing.assert_array_equal(series[1], ONES)
    inside = ag.vmap(lambda v: ag.taylor(steps, X, v, 1)[1])(np.stack([ONES, 2.0 * ONES]))
    np.testing.assert_array_equal(inside, [2.0 * X, 4.0 * X])


def test_rules_know_that_a_series_varies():
    # The rule of the sigmoid has a formula with a kink at 0 for what is not differentiated again.
    xp = ag.namespace("numpy")
    zero = np.zeros(1)
    _, series = ag.jet(xp.nn.sigmoid, (zero,), line(np.ones(1)))
    np.testing.assert_allclose(np.concatenate(derivatives_of(series)), [0.25, 0.0, -0.125])


def test_transformations_inside_and_outside(xp):
    x = xp.asarray(X).data

    def third(x):
        return ag.taylor(lambda x: xp.sum(xp.sin(x) * x), x, xp.ones_like(x), 3)[3]

    one, other = np.sin(X), np.cos(X)
    expected = np.sum(-X * other - 3.0 * one) / 6.0
    np.testing.assert_allclose(host(third(x)), expected, rtol=1e-5)
    np.testing.assert_allclose(host(ag.compile(third)(x)), expected, rtol=1e-5)
    np.testing.assert_allclose(host(ag.checkpoint(third)(x)), expected, rtol=1e-5)
    stacked = xp.stack([x, 2.0 * x]).data
    np.testing.assert_allclose(host(ag.vmap(third)(stacked))[0], expected, rtol=1e-5)
    gradient = (X * one - 4.0 * other) / 6.0
    for f in (ag.grad(third), ag.compile(ag.grad(third)), ag.grad(ag.compile(third))):
        np.testing.assert_allclose(host(f(x)), gradient, rtol=1e-5)
    inner = ag.taylor(ag.grad(lambda x: xp.sum(xp.sin(x) * x)), x, xp.ones_like(x).data, 2)[2]
    np.testing.assert_allclose(host(inner), (-X * other - 3.0 * one) / 2.0, rtol=1e-5)
    inner = ag.taylor(lambda x: ag.vmap(lambda each: each**3)(x), x, xp.ones_like(x).data, 2)[2]
    np.testing.assert_allclose(host(inner), 3.0 * X, rtol=1e-5)


def test_closures_keep_their_gradients(xp):
    w = ag.Variable(xp.asarray(X).data)
    ag.taylor(lambda x: xp.sum(w * xp.exp(w * x)), xp.asarray(X).data, xp.ones_like(w).data, 2)[
        2
    ].backward()
    # The sum of w^3 exp(w x) / 2.
    expected = (3.0 * X**2 + X**3 * X) * np.exp(X * X) / 2.0
    np.testing.assert_allclose(host(w.grad), expected, rtol=1e-5)


def test_errors():
    xp = ag.namespace("numpy")
    with pytest.raises(ArgumentError, match="for each of them a list"):
        ag.jet(xp.add, (X, X), ([ONES],))
    with pytest.raises(ArgumentError, match=r"shape \(3,\) and dtype float64"):
        ag.jet(xp.exp, (X,), ([np.ones(3)],))
    with pytest.raises(ArgumentError, match="dtype int64"):
        ag.jet(xp.exp, (np.arange(3),), ([np.arange(3)],))
    with pytest.raises(ArgumentError, match="does not have the structure"):
        ag.jet(xp.exp, ({"a": X},), ([X],))
    with pytest.raises(ArgumentError, match="order is 0"):
        ag.taylor(xp.exp, X, ONES, 0)
    with pytest.raises(MissingRuleError, match="sin was wrapped without a derivative"):
        ag.taylor(ag.wrap(np.sin), X, ONES, 1)
    with pytest.raises(LostGradientError):
        ag.taylor(lambda x: float(x[0]) * x, X, ONES, 1)
    with pytest.raises(LostGradientError):
        ag.taylor(lambda x: x * np.asarray(x), X, ONES, 1)
    kept = []
    ag.taylor(lambda x: (kept.append(x), x)[1], X, ONES, 1)
    with pytest.raises(InterpretationError):
        kept[0] + 1.0


def test_a_condition_from_outside(xp):
    y = leaf(xp, [0.3, 0.7])

    def f(x):
        return xp.sum(xp.where(ag.vmap(lambda each: each > 0.5)(y), x * x, 0.5))

    x = xp.asarray([0.3, 0.7], dtype=xp.float64)
    _, first, _ = ag.taylor(f, x, x, 2)
    np.testing.assert_allclose(host(first), 2.0 * 0.7**2)
