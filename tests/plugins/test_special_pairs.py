"""Special functions of two arguments at all magnitudes, against mpmath."""

import math

import mpmath as mp
import pytest

from magnitudes import Accepted, Program, assert_digits_are_kept, assert_happens

INF = math.inf
REAL, POSITIVE = (-INF, INF), (0.0, INF)
ORDERS = [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
SIZES = (1e-300, 1e-100, 1e-18, 1e-7, 0.1, 1.0, 3.0, 50.0, 1e9, 1e18, 1e100, 1e300)
FEW = (1e-7, 0.01, 0.3, 1.0, 3.0, 50.0)
WIDE = (1e-100, 1e-7, 0.1, 1.0, 3.0, 50.0, 1e9)
MIDDLE = (1e-9, 0.1, 0.7, 1.0, 3.0, 20.0)


def binary(name, x, y, xx, xy, yy, domain=(POSITIVE, POSITIVE), ends=(), **options):
    """Return the program of a function, its derivatives, and those where the domain ends."""
    options = {"magnitudes": SIZES} | options
    return Program(
        name,
        lambda xp, x, y: getattr(xp.special, name)(x, y),
        domain=domain,
        partials=dict(zip(ORDERS, (x, y, xx, xy, xy, yy), strict=True)),
        ends={
            point: dict(zip(ORDERS, (x, y, xx, xy, xy, yy), strict=True))
            for point, (x, y, xx, xy, yy) in ends
        },
        **options,
    )


def by_second(name, first, second, domain, **options):
    """Return the program of a function that has derivatives by its second argument alone."""
    return Program(
        name,
        lambda xp, v, x: getattr(xp.special, name)(v, x),
        domain=domain,
        partials={(1,): first, (1, 1): second},
        **options,
    )


NOTHING = (0.0, 0.0, 0.0, 0.0, 0.0)


def _zero(x, y):
    return mp.mpf(0)


# -- power transforms ------------------------------------------------------------------------------


def _boxcox_lmbda(log, t):
    power = mp.exp(t * log)
    return (t * power * log - power + 1) / t**2


def _boxcox_twice(log, t):
    power = mp.exp(t * log)
    return power * log**2 / t - 2 * power * log / t**2 + 2 * (power - 1) / t**3


def _slopes_of_boxcox(log, base):
    return (
        lambda x, t: base(x) ** (t - 1),
        lambda x, t: _boxcox_lmbda(log(x), t),
        lambda x, t: (t - 1) * base(x) ** (t - 2),
        lambda x, t: log(x) * base(x) ** (t - 1),
        lambda x, t: _boxcox_twice(log(x), t),
    )


ENDS_OF_BOXCOX = [
    (2.0, (0.0, 0.25, 1.0, 0.0, -0.25)),
    (1.0, (1.0, 1.0, 0.0, -INF, -2.0)),
    (0.5, (INF, 4.0, -INF, -INF, -16.0)),
]


def _base(y, t):
    if 1 + t * y <= 0:
        raise ValueError("there is no real power")
    return 1 + t * y


def _log_inverse(y, t):
    """Return the derivative of the logarithm of the inverse transform by lmbda."""
    base = _base(y, t)
    return y / (t * base) - mp.log(base) / t**2


def _inverse_twice(y, t):
    base = _base(y, t)
    bend = -y * (1 + 2 * t * y) / (t * base) ** 2 - y / (base * t * t) + 2 * mp.log(base) / t**3
    return base ** (1 / t) * (_log_inverse(y, t) ** 2 + bend)


INVERSE = (
    lambda y, t: _base(y, t) ** (1 / t - 1),
    lambda y, t: _base(y, t) ** (1 / t) * _log_inverse(y, t),
    lambda y, t: (1 - t) * _base(y, t) ** (1 / t - 2),
    lambda y, t: (
        _base(y, t) ** (1 / t - 1) * ((1 / t - 1) * y / _base(y, t) - mp.log(_base(y, t)) / t**2)
    ),
    _inverse_twice,
)
ENDS_OF_INVERSE = [
    ((-1.0, 1.0), (1.0, -1.0, 0.0, INF, -INF)),
    ((-2.0, 0.5), (0.0, 0.0, 0.5, -2.0, 8.0)),
    ((-4.0, 0.25), (0.0, 0.0, 0.0, 0.0, 0.0)),
]

# -- factorials ------------------------------------------------------------------------------------


def _rise(x, h, order=0):
    return mp.psi(order, x + h) - mp.psi(order, x)


def _poch(z, m):
    return mp.rf(z, m)


def _binom_n(n, k):
    return mp.psi(0, n + 1) - mp.psi(0, n - k + 1)


def _binom_k(n, k):
    return mp.psi(0, n - k + 1) - mp.psi(0, k + 1)


# -- losses ----------------------------------------------------------------------------------------


def _far(d, r):
    return mp.mpf(abs(r) > d)


# -- Owen's function -------------------------------------------------------------------------------


def _bell(h):
    return mp.exp(-h * h / 2) / mp.sqrt(2 * mp.pi)


def _owens_a(h, a):
    return mp.exp(-h * h * (1 + a * a) / 2) / (2 * mp.pi * (1 + a * a))


PROGRAMS = [
    binary(
        "xlogy",
        lambda x, y: mp.log(y),
        lambda x, y: x / y,
        _zero,
        lambda x, y: 1 / y,
        lambda x, y: -x / y**2,
        (REAL, POSITIVE),
        [((0.0, 0.0), NOTHING), ((0.0, 1.0), (0.0, 0.0, 0.0, 1.0, 0.0))],
    ),
    binary(
        "xlog1py",
        lambda x, y: mp.log(1 + y),
        lambda x, y: x / (1 + y),
        _zero,
        lambda x, y: 1 / (1 + y),
        lambda x, y: -x / (1 + y) ** 2,
        (REAL, (-1.0, INF)),
        [((0.0, -1.0), NOTHING), ((0.0, 0.0), (0.0, 0.0, 0.0, 1.0, 0.0))],
    ),
    binary(
        "rel_entr",
        lambda x, y: mp.log(x / y) + 1,
        lambda x, y: -x / y,
        lambda x, y: 1 / x,
        lambda x, y: -1 / y,
        lambda x, y: x / y**2,
        ends=[((0.0, 0.0), NOTHING), ((0.0, 2.0), (-INF, 0.0, INF, -0.5, 0.0))],
    ),
    binary(
        "kl_div",
        lambda x, y: mp.log(x / y),
        lambda x, y: 1 - x / y,
        lambda x, y: 1 / x,
        lambda x, y: -1 / y,
        lambda x, y: x / y**2,
        ends=[
            ((0.0, 0.0), (0.0, 1.0, 0.0, 0.0, 0.0)),
            ((0.0, 2.0), (-INF, 1.0, INF, -0.5, 0.0)),
        ],
    ),
    binary(
        "powm1",
        lambda x, y: y * x ** (y - 1),
        lambda x, y: mp.log(x) * x**y,
        lambda x, y: y * (y - 1) * x ** (y - 2),
        lambda x, y: (1 + y * mp.log(x)) * x ** (y - 1),
        lambda x, y: mp.log(x) ** 2 * x**y,
        (POSITIVE, REAL),
        [
            ((0.0, -1.0), (-INF, -INF, INF, INF, INF)),
            ((0.0, 0.0), NOTHING),
            ((0.0, 0.5), (INF, 0.0, -INF, -INF, 0.0)),
            ((0.0, 1.0), (1.0, 0.0, 0.0, -INF, 0.0)),
            ((0.0, 2.0), (0.0, 0.0, 2.0, 0.0, 0.0)),
        ],
        magnitudes=(1e-300, 1e-18, 0.1, 1.0, 3.0, 50.0, 1e18, 1e300),
    ),
    binary(
        "boxcox",
        *_slopes_of_boxcox(mp.log, lambda x: x),
        (POSITIVE, REAL),
        [((0.0, t), slopes) for t, slopes in ENDS_OF_BOXCOX],
        digits=4200,
        magnitudes=WIDE,
    ),
    binary(
        "boxcox1p",
        *_slopes_of_boxcox(lambda x: mp.log(1 + x), lambda x: 1 + x),
        ((-1.0, INF), REAL),
        [((-1.0, t), slopes) for t, slopes in ENDS_OF_BOXCOX],
        digits=4200,
        magnitudes=WIDE,
    ),
    *(
        binary(name, *INVERSE, (REAL, REAL), ENDS_OF_INVERSE, digits=800, magnitudes=FEW)
        for name in ("inv_boxcox", "inv_boxcox1p")
    ),
    binary(
        "betaln",
        lambda a, b: -_rise(a, b),
        lambda a, b: -_rise(b, a),
        lambda a, b: -_rise(a, b, 1),
        lambda a, b: -mp.psi(1, a + b),
        lambda a, b: -_rise(b, a, 1),
        magnitudes=(*MIDDLE, 1e9, 1e18),
        digits=400,
    ),
    binary(
        "beta",
        lambda a, b: -mp.beta(a, b) * _rise(a, b),
        lambda a, b: -mp.beta(a, b) * _rise(b, a),
        lambda a, b: mp.beta(a, b) * (_rise(a, b) ** 2 - _rise(a, b, 1)),
        lambda a, b: mp.beta(a, b) * (_rise(a, b) * _rise(b, a) - mp.psi(1, a + b)),
        lambda a, b: mp.beta(a, b) * (_rise(b, a) ** 2 - _rise(b, a, 1)),
        magnitudes=MIDDLE,
        digits=400,
    ),
    binary(
        "poch",
        lambda z, m: _poch(z, m) * _rise(z, m),
        lambda z, m: _poch(z, m) * mp.psi(0, z + m),
        lambda z, m: _poch(z, m) * (_rise(z, m) ** 2 + _rise(z, m, 1)),
        lambda z, m: _poch(z, m) * (_rise(z, m) * mp.psi(0, z + m) + mp.psi(1, z + m)),
        lambda z, m: _poch(z, m) * (mp.psi(0, z + m) ** 2 + mp.psi(1, z + m)),
        magnitudes=MIDDLE,
        digits=400,
    ),
    binary(
        "binom",
        lambda n, k: mp.binomial(n, k) * _binom_n(n, k),
        lambda n, k: mp.binomial(n, k) * _binom_k(n, k),
        lambda n, k: (
            mp.binomial(n, k) * (_binom_n(n, k) ** 2 + mp.psi(1, n + 1) - mp.psi(1, n - k + 1))
        ),
        lambda n, k: mp.binomial(n, k) * (_binom_n(n, k) * _binom_k(n, k) + mp.psi(1, n - k + 1)),
        lambda n, k: (
            mp.binomial(n, k) * (_binom_k(n, k) ** 2 - mp.psi(1, n - k + 1) - mp.psi(1, k + 1))
        ),
        magnitudes=(0.1, 0.7, 1.0, 3.3, 20.5),
        digits=400,
    ),
    binary(
        "huber",
        lambda d, r: _far(d, r) * (abs(r) - d),
        lambda d, r: d * mp.sign(r) if abs(r) > d else r,
        lambda d, r: -_far(d, r),
        lambda d, r: _far(d, r) * mp.sign(r),
        lambda d, r: 1 - _far(d, r),
        (POSITIVE, REAL),
    ),
    binary(
        "pseudo_huber",
        lambda d, r: (mp.hypot(d, r) - d) ** 2 / mp.hypot(d, r),
        lambda d, r: d * r / mp.hypot(d, r),
        lambda d, r: -2 + 3 * d / mp.hypot(d, r) - (d / mp.hypot(d, r)) ** 3,
        lambda d, r: (r / mp.hypot(d, r)) ** 3,
        lambda d, r: (d / mp.hypot(d, r)) ** 3,
        (POSITIVE, REAL),
        [((0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 1.0)), ((0.0, -3.0), (3.0, 0.0, -2.0, -1.0, 0.0))],
        digits=9000,
    ),
    binary(
        "owens_t",
        lambda h, a: -_bell(h) * mp.erf(a * h / mp.sqrt(2)) / 2,
        _owens_a,
        lambda h, a: (
            h * _bell(h) * mp.erf(a * h / mp.sqrt(2)) / 2
            - a * mp.exp(-h * h * (1 + a * a) / 2) / (2 * mp.pi)
        ),
        lambda h, a: -h * (1 + a * a) * _owens_a(h, a),
        lambda h, a: -a * _owens_a(h, a) * (h * h + 2 / (1 + a * a)),
        (REAL, REAL),
        magnitudes=(1e-300, 1e-100, 1e-7, 0.1, 1.0, 3.0, 20.0),
    ),
    *(
        by_second(
            name,
            lambda v, x, f=f, a=a, b=b: (a * f(v - 1, x) + b * f(v + 1, x)) / 2,
            lambda v, x, f=f, a=a, b=b: (
                (a * a * f(v - 2, x) + 2 * a * b * f(v, x) + b * b * f(v + 2, x)) / 4
            ),
            ((0.0, 9.0), POSITIVE),
            magnitudes=(0.1, 1.0, 3.5, 30.0),
            digits=200,
        )
        for name, f, a, b in (
            ("jv", mp.besselj, 1, -1),
            ("yv", mp.bessely, 1, -1),
            ("iv", mp.besseli, 1, 1),
            ("kv", mp.besselk, -1, -1),
        )
    ),
]

MIXED = [(0, 1), (1, 0)]
POLES = "poles of gamma functions cancel, which leaves an ordinary number"
LINEAR = "the function is linear there: what is found is rounding, beside a slope of about 1"
ACCEPTED = [
    Accepted(
        "powm1",
        [(0, 0)],
        "x**(y - 2) overflows before it meets y",
        lambda x, y: abs(y) < 1e-9 and x < 1e-150,
        ["float64"],
    ),
    Accepted(
        "boxcox1p",
        [(1,), (0, 0), (0, 1), (1, 0), (1, 1)],
        "the power of 1 + x overflows, or loses digits, before it meets a power of log(1 + x)",
        lambda x, lmbda: abs(x) < 1e-6 and abs(lmbda) > 1e8,
        ["float32"],
    ),
    Accepted("beta", MIXED, POLES, lambda a, b: min(a, b) < 1e-8),
    Accepted("poch", [(0, 0)], POLES, lambda z, m: z < 1e-8),
    Accepted("poch", MIXED, POLES, lambda z, m: z < 1e-8 and m < 1e-8),
    Accepted("poch", [(0, 0)], LINEAR, lambda z, m: m == 1),
    Accepted("binom", [(0, 0)], LINEAR, lambda n, k: k == 1),
    Accepted(
        "owens_t",
        [(0, 0)],
        "the derivative changes its sign there",
        lambda h, a: abs(h) == 1 and abs(a) < 1e-6,
    ),
]


@pytest.mark.parametrize("backend", ["numpy"], indirect=True)
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
@pytest.mark.parametrize("forward", [False, True], ids=["reverse", "forward"])
def test_derivatives_keep_their_digits_at_all_magnitudes(xp, program, dtype, forward):
    assert_digits_are_kept(program, dtype, xp, forward, ACCEPTED)


@pytest.mark.parametrize("accepted", ACCEPTED, ids=lambda each: f"{each.program}: {each.reason}")
def test_what_is_accepted_happens(accepted):
    assert_happens(accepted, PROGRAMS)
