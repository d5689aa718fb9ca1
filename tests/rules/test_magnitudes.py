"""Element-wise derivatives at all magnitudes, against mpmath; see ``helpers/magnitudes.py``."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

import agnograd as ag
from magnitudes import Accepted, Program, assert_digits_are_kept, assert_happens

REAL = (-math.inf, math.inf)
POSITIVE = (0.0, math.inf)
INF = math.inf

# Where the derivative at the end of a domain is infinite, or a convention.
FIRST, SECOND = (0,), (0, 0)


def unary(name, exact, domain=REAL, ends=(), points=(), call=None):
    """Return the program of a function of the standard."""
    return Program(
        name,
        call or (lambda xp, x: getattr(xp, name)(x)),
        exact,
        [domain],
        {(point,): {FIRST: first, SECOND: second} for point, first, second in ends},
        [(point,) for point in points],
    )


def binary(name, exact=None, domain=(REAL, REAL), call=None, **options):
    """Return the program of a function of the standard of two arrays."""
    return Program(
        name, call or (lambda xp, x, y: getattr(xp, name)(x, y)), exact, domain, **options
    )


def _log1p(x):
    return mp.log(1 + x)


def _hypot(x, y):
    return mp.sqrt(x * x + y * y)


def _exp(x):
    """Return the exponential, or 0 where that takes long to compute and is far too small."""
    return mp.exp(x) if x > -10000 else mp.mpf(0)


def _sigmoid(x):
    return 1 / (1 + _exp(-x)) if x > 0 else _exp(x) / (1 + _exp(x))


def _softplus(x):
    return max(x, 0) + mp.log(1 + _exp(-abs(x)))


def _bump(x, y):
    return _sigmoid(x - y) * _sigmoid(y - x)


def _density(x):
    return _exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _largest(x, y):
    return 0.5 if x == y else float(x > y)


def _zero(*point):
    return 0.0


ORDERS = [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
POWERS_OF_ZERO = {
    (0.0, y): dict(zip(ORDERS, slopes, strict=True))
    for y, slopes in [
        (-1.0, [-INF, -INF, INF, INF, INF, INF]),
        (0.0, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        (0.5, [INF, 0.0, -INF, -INF, -INF, 0.0]),
        (1.0, [1.0, 0.0, 0.0, -INF, -INF, 0.0]),
        (1.5, [0.0, 0.0, INF, 0.0, 0.0, 0.0]),
        (2.0, [0.0, 0.0, 2.0, 0.0, 0.0, 0.0]),
        (3.0, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ]
}
NEAR = 2.0**-20  # of an end
NEARER = 2.0**-50

PROGRAMS = [
    unary("negative", lambda x: -x),
    unary("square", lambda x: x * x, ends=[(0.0, 0.0, 2.0)]),
    unary("reciprocal", lambda x: 1 / x),
    unary("sqrt", mp.sqrt, POSITIVE, [(0.0, INF, -INF)]),
    unary("exp", mp.exp, ends=[(0.0, 1.0, 1.0)]),
    unary("expm1", mp.expm1, ends=[(0.0, 1.0, 1.0)]),
    unary("log", mp.log, POSITIVE, [(0.0, INF, -INF)]),
    unary("log1p", _log1p, (-1.0, INF), [(0.0, 1.0, -1.0)], [-1 + NEAR, -1 + NEARER]),
    unary("log2", lambda x: mp.log(x, 2), POSITIVE, [(0.0, INF, -INF)]),
    unary("log10", mp.log10, POSITIVE, [(0.0, INF, -INF)]),
    unary("sin", mp.sin, ends=[(0.0, 1.0, 0.0)]),
    unary("cos", mp.cos, ends=[(0.0, 0.0, -1.0)]),
    unary("tan", mp.tan, ends=[(0.0, 1.0, 0.0)], points=[1.57, 1.5707963]),
    unary("asin", mp.asin, (-1.0, 1.0), [(0.0, 1.0, 0.0), (1.0, INF, INF)], [1 - NEARER, NEAR - 1]),
    unary(
        "acos", mp.acos, (-1.0, 1.0), [(0.0, -1.0, 0.0), (-1.0, -INF, INF)], [1 - NEARER, NEAR - 1]
    ),
    unary("atan", mp.atan, ends=[(0.0, 1.0, 0.0), (INF, 0.0, 0.0), (-INF, 0.0, 0.0)]),
    unary("sinh", mp.sinh, ends=[(0.0, 1.0, 0.0)]),
    unary("cosh", mp.cosh, ends=[(0.0, 0.0, 1.0)]),
    unary("tanh", mp.tanh, ends=[(0.0, 1.0, 0.0), (INF, 0.0, 0.0), (-INF, 0.0, 0.0)]),
    unary("asinh", mp.asinh, ends=[(0.0, 1.0, 0.0), (INF, 0.0, 0.0), (-INF, 0.0, 0.0)]),
    unary("acosh", mp.acosh, (1.0, INF), [(1.0, INF, -INF)], [1 + NEAR, 1 + NEARER]),
    unary("atanh", mp.atanh, (-1.0, 1.0), [(0.0, 1.0, 0.0)], [1 - NEARER, NEAR - 1]),
    unary("abs", abs, ends=[(0.0, 0.0, 0.0)]),
    unary("ceil", lambda x: mp.mpf(0), ends=[(0.0, 0.0, 0.0)]),
    unary("floor", lambda x: mp.mpf(0), ends=[(0.0, 0.0, 0.0)]),
    unary("round", lambda x: mp.mpf(0), ends=[(0.0, 0.0, 0.0)]),
    unary("trunc", lambda x: mp.mpf(0), ends=[(0.0, 0.0, 0.0)]),
    unary("sign", mp.sign, ends=[(0.0, 0.0, 0.0)]),
    binary("add", lambda x, y: x + y),
    binary("subtract", lambda x, y: x - y),
    binary("multiply", lambda x, y: x * y),
    binary("divide", lambda x, y: x / y),
    binary(
        "pow",
        partials={
            (0,): lambda x, y: y * x ** (y - 1),
            (1,): lambda x, y: mp.log(x) * x**y,
            (0, 0): lambda x, y: y * (y - 1) * x ** (y - 2),
            (0, 1): lambda x, y: (1 + y * mp.log(x)) * x ** (y - 1),
            (1, 0): lambda x, y: (1 + y * mp.log(x)) * x ** (y - 1),
            (1, 1): lambda x, y: mp.log(x) ** 2 * x**y,
        },
        domain=(POSITIVE, REAL),
        points=[(23.0, 0.0), (2.0, 1.0), (0.5, 0.0)],
        ends=POWERS_OF_ZERO,
    ),
    binary(
        "remainder",
        partials={
            (0,): lambda x, y: 1.0,
            (1,): lambda x, y: -mp.floor(x / y),
            **dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], _zero),
        },
        domain=(POSITIVE, POSITIVE),
        points=[(1.0, 0.1), (0.3, 0.1), (0.7, 0.1), (1e9, 0.1)],
    ),
    binary(
        "atan2",
        partials={
            (0,): lambda y, x: x / (x * x + y * y),
            (1,): lambda y, x: -y / (x * x + y * y),
            (0, 0): lambda y, x: -2 * x * y / (x * x + y * y) ** 2,
            (0, 1): lambda y, x: (y * y - x * x) / (x * x + y * y) ** 2,
            (1, 0): lambda y, x: (y * y - x * x) / (x * x + y * y) ** 2,
            (1, 1): lambda y, x: 2 * x * y / (x * x + y * y) ** 2,
        },
        ends={(0.0, 0.0): {(0,): 0.0, (1,): 0.0, (0, 0): 0.0, (0, 1): 0.0}},
    ),
    binary(
        "hypot",
        partials={
            (0,): lambda x, y: x / _hypot(x, y),
            (1,): lambda x, y: y / _hypot(x, y),
            (0, 0): lambda x, y: y * y / _hypot(x, y) ** 3,
            (0, 1): lambda x, y: -x * y / _hypot(x, y) ** 3,
            (1, 0): lambda x, y: -x * y / _hypot(x, y) ** 3,
            (1, 1): lambda x, y: x * x / _hypot(x, y) ** 3,
        },
        ends={(0.0, 0.0): dict.fromkeys([(0,), (1,), (0, 0), (0, 1)], 0.0)},
    ),
    binary(
        "logaddexp",
        partials={
            (0,): lambda x, y: _sigmoid(x - y),
            (1,): lambda x, y: _sigmoid(y - x),
            (0, 0): _bump,
            (0, 1): lambda x, y: -_bump(x, y),
            (1, 0): lambda x, y: -_bump(x, y),
            (1, 1): _bump,
        },
        points=[(2e7, 2e7), (0.0, 0.0), (2e7, 2e7 + 2)],
        ends={
            (INF, 1.0): {(0,): 1.0, (1,): 0.0},
            (1.0, -INF): {(0,): 1.0, (1,): 0.0},
            (INF, INF): {(0,): 0.5, (1,): 0.5},
            (-INF, -INF): {(0,): 0.5, (1,): 0.5},
        },
    ),
    binary(
        "maximum",
        partials={
            (0,): _largest,
            (1,): lambda x, y: _largest(y, x),
            **dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], _zero),
        },
    ),
    binary(
        "minimum",
        partials={
            (0,): lambda x, y: _largest(y, x),
            (1,): _largest,
            **dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], _zero),
        },
    ),
    binary("copysign", lambda x, y: abs(x) * mp.sign(y)),
    Program("clip", lambda xp, x: xp.clip(x, -1.4, 2.4), lambda x: min(max(x, -1.4), mp.mpf(2.4))),
    unary("nn.relu", lambda x: max(x, 0), call=lambda xp, x: xp.nn.relu(x)),
    unary("nn.sigmoid", _sigmoid, call=lambda xp, x: xp.nn.sigmoid(x)),
    unary(
        "nn.silu",
        lambda x: x * _sigmoid(x),
        ends=[(INF, 1.0, 0.0), (-INF, 0.0, 0.0)],
        call=lambda xp, x: xp.nn.silu(x),
    ),
    Program(
        "nn.gelu",
        lambda xp, x: xp.nn.gelu(x),
        partials={
            FIRST: lambda x: mp.erfc(-x / mp.sqrt(2)) / 2 + x * _density(x),
            SECOND: lambda x: (2 - x * x) * _density(x),
        },
        ends={(INF,): {FIRST: 1.0, SECOND: 0.0}, (-INF,): {FIRST: 0.0, SECOND: 0.0}},
    ),
    Program(
        "nn.gelu by tanh",
        lambda xp, x: xp.nn.gelu(x, approximate="tanh"),
        lambda x: x * _sigmoid(2 * mp.mpf(math.sqrt(2 / math.pi)) * (x + mp.mpf(0.044715) * x**3)),
    ),
    unary("special.expit", _sigmoid, call=lambda xp, x: xp.special.expit(x)),
    unary(
        "special.log_expit", lambda x: -_softplus(-x), call=lambda xp, x: xp.special.log_expit(x)
    ),
    unary("softplus", _softplus, call=lambda xp, x: xp.logaddexp(x, xp.zeros_like(x))),
    Program(
        "np.sinc",
        lambda xp, x: np.sinc(x),
        lambda x: mp.sin(mp.pi * x) / (mp.pi * x),
        ends={(0.0,): {FIRST: 0.0, SECOND: -(math.pi**2) / 3}},
        digits=800,
        magnitudes=(1e-20, 1e-9, 1e-5, 1e-3, 2e-3, 0.1, 0.3, 0.499, 0.501, 0.9, 1.5, 5.0, 20.0),
    ),
    unary(
        "special.logit",
        lambda x: mp.log(x / (1 - x)),
        (0.0, 1.0),
        call=lambda xp, x: xp.special.logit(x),
        points=[1 - NEARER],
    ),
]

MIXED = ((0, 1), (1, 0))


ACCEPTED = [
    Accepted(
        "pow",
        [(0, 0)],
        "x**(y - 2) overflows before it meets y",
        lambda x, y: abs(y) < 1 and x < 1e-150,
        ["float64"],
    ),
    Accepted(
        "pow",
        [(0, 0)],
        "x**(y - 2) overflows before it meets y",
        lambda x, y: abs(y) < 1 and x < 1e-18,
        ["float32"],
    ),
    Accepted(
        "atan2",
        MIXED,
        "the squares of the inputs cancel exactly",
        lambda y, x: abs(x) == abs(y),
    ),
    Accepted(
        "atan2",
        [(0, 0), (0, 1), (1, 0), (1, 1)],
        "one over the square of the distance overflows before it meets a small number",
        lambda y, x: math.hypot(x, y) < 1e-150,
    ),
]


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
@pytest.mark.parametrize("forward", [False, True], ids=["reverse", "forward"])
def test_derivatives_keep_their_digits_at_all_magnitudes(xp, program, dtype, forward):
    assert_digits_are_kept(program, dtype, xp, forward, ACCEPTED)


@pytest.mark.parametrize("accepted", ACCEPTED, ids=lambda each: f"{each.program}: {each.reason}")
def test_what_is_accepted_happens(accepted):
    assert_happens(accepted, PROGRAMS)


# -- complex numbers -------------------------------------------------------------------------------

PARTS = (1e-200, 1e-100, 1e-8, 0.3, 1.0, 2.0, 30.0, 300.0, 1e8, 1e100, 1e200)
# By name, the derivative, and up to what parts it is computed: huge exponents take long.
COMPLEX = {
    "log": (lambda z: 1 / z, INF),
    "log1p": (lambda z: 1 / (1 + z), INF),
    "expm1": (mp.exp, 500),
    "sqrt": (lambda z: 1 / (2 * mp.sqrt(z)), INF),
    "tan": (lambda z: 1 / mp.cos(z) ** 2, 1000),
    "tanh": (lambda z: 1 / mp.cosh(z) ** 2, 1000),
    "asin": (lambda z: 1 / (mp.sqrt(1 - z) * mp.sqrt(1 + z)), INF),
    "acos": (lambda z: -1 / (mp.sqrt(1 - z) * mp.sqrt(1 + z)), INF),
    "atan": (lambda z: 1 / (1 + z * z), INF),
    "asinh": (lambda z: 1 / (mp.sqrt(1 + 1j * z) * mp.sqrt(1 - 1j * z)), INF),
    "acosh": (lambda z: 1 / (mp.sqrt(z - 1) * mp.sqrt(z + 1)), INF),
    "atanh": (lambda z: 1 / (1 - z * z), INF),
    "abs": (lambda z: mp.conj(z) / abs(z), INF),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_derivatives_keep_their_digits(xp, name):
    derivative, most = COMPLEX[name]
    signs = [(a, b) for a in (1, -1) for b in (1, -1)]
    pairs = itertools.product([part for part in PARTS if part < most], repeat=2)
    points = [complex(a * x, b * y) for x, y in pairs for a, b in signs]
    f = getattr(xp, name)
    with xp.empty(0)._domain.backend.quiet(), mp.workprec(3000):
        z = xp.asarray(points, dtype=xp.complex128).data
        found = ag.grad(lambda z: xp.sum(xp.real(f(z))))(z)
        expected = [complex(derivative(mp.mpc(z))) for z in points]
    for z, one, other in zip(points, np.conj(np.asarray(found)).tolist(), expected, strict=True):
        assert abs(one - other) <= 1e-11 * abs(other) + 1e-300, (z, one, other)


@pytest.mark.parametrize("z", [1e-310 + 0j, -3e-310 + 4e-310j, 1e308 + 1e308j, 3e-200 - 4e-200j])
def test_directions_of_complex_numbers_are_those_of_numbers_of_any_size(z):
    xp = ag.namespace("numpy")  # other libraries' own absolute values of such numbers are 0
    with mp.workprec(200):
        unit = complex(mp.mpc(z) / abs(mp.mpc(z)))
        size = float(1 / abs(mp.mpc(z)))
    found = ag.grad(lambda z: xp.abs(z))(np.asarray(z))
    assert complex(found) == pytest.approx(unit, rel=1e-5 if abs(z) < 1e-300 else 1e-14)
    if size < math.inf:  # the part across the direction is all that turns it
        found = ag.grad(lambda z: xp.imag(xp.sign(z) * unit.conjugate()))(np.asarray(z))
        assert complex(found) == pytest.approx(1j * unit * size, rel=1e-12)


ORDERS = (3, 4, 2.5, 1.5, 1, 0.5, -0.5, -1, -2, 2, INF, -INF)
MATRIX_ORDERS = ("fro", "nuc", 1, 2, -2, INF)


def _norm_derivatives(norm, x, along):
    """Return the gradient, the one along a direction, and the second ones in three orders."""
    gradient = ag.grad(norm)
    pulled = ag.grad(lambda y: (gradient(y) * along).sum())(x)
    pushed = ag.jvp(gradient, (x,), (along,))[1]
    twice = ag.jvp(lambda y: ag.jvp(norm, (y,), (along,))[1], (x,), (along,))[1]
    first = gradient(x), ag.jvp(norm, (x,), (along,))[1]
    second = pulled, pushed, twice
    return [np.asarray(each, dtype=np.float64) for each in (*first, *second)]


def _assert_norms_scale(xp, matrix, order, dtype, scale):
    function = xp.linalg.matrix_norm if matrix else xp.linalg.vector_norm
    rows = [[3.0, -1.0, 2.0], [0.5, 4.0, -2.5]]
    along = [[1.0, 2.0, -1.0], [0.5, 0.25, 1.5]]
    x, by, along = (
        xp.asarray(each, dtype=getattr(xp, dtype)).data for each in (rows, scale, along)
    )
    with xp.empty(0)._domain.backend.quiet():  # the norm itself is the library's, of any size
        found = [
            _norm_derivatives(lambda y: function(y, ord=order), at, along) for at in (x, x * by)
        ]
    rtol = {"float64": 1e-12, "float32": 2e-5}[dtype]
    for i, (one, other) in enumerate(zip(*found, strict=True)):
        expected = one if i < 2 else one / float(by)
        assert np.any(one != 0) or i >= 2, order
        atol = rtol * np.max(np.abs(expected))
        np.testing.assert_allclose(other, expected, rtol, atol, err_msg=f"derivative {i}")


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("float64", 2.0**-664), ("float64", 2.0**664), ("float32", 2.0**-100), ("float32", 2.0**100)],
)
@pytest.mark.parametrize("order", ORDERS)
def test_derivatives_of_norms_scale_with_the_array(xp, order, dtype, scale):
    _assert_norms_scale(xp, False, order, dtype, scale)


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("float64", 2.0**-664), ("float64", 2.0**664), ("float32", 2.0**-100), ("float32", 2.0**100)],
)
@pytest.mark.parametrize("order", MATRIX_ORDERS)
def test_derivatives_of_norms_of_matrices_scale_with_the_matrix(xp, order, dtype, scale):
    _assert_norms_scale(xp, True, order, dtype, scale)


@pytest.mark.parametrize("order", [3, 1.5, 0.5, -2])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_gradients_of_norms_are_the_exact_ones(xp, order, scale):
    x = xp.asarray([3.0 * scale, -1.0 * scale, 2.0 * scale], dtype=xp.float64).data
    numbers = [mp.mpf(float(each)) for each in np.asarray(x)]
    norm = mp.power(sum(abs(each) ** order for each in numbers), mp.mpf(1) / order)
    exact = [float(mp.sign(n) * (abs(n) / norm) ** (order - 1)) for n in numbers]
    with xp.empty(0)._domain.backend.quiet():
        found = ag.grad(lambda y: xp.linalg.vector_norm(y, ord=order))(x)
    np.testing.assert_allclose(np.asarray(found), exact, 1e-13)


@pytest.mark.parametrize("scale", [1e-4, 300.0])
def test_gradients_of_norms_of_halves_stay_in_range(scale):
    x = (np.asarray([3.0, -1.0, 2.0]) * scale).astype(np.float16)
    for order in (3, 4, 1.5, -2):
        with np.errstate(all="ignore"):
            found = ag.grad(np.linalg.norm)(x, order)
        wide = x.astype(np.float64)
        norm = np.sum(np.abs(wide) ** order) ** (1 / order)
        exact = np.sign(wide) * (np.abs(wide) / norm) ** (order - 1)
        np.testing.assert_allclose(found.astype(np.float64), exact, 5e-3)
