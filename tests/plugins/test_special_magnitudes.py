"""Special functions' derivatives at all magnitudes, against mpmath: ``helpers/magnitudes.py``."""

import math

import mpmath as mp
import pytest

from magnitudes import MAGNITUDES, Accepted, Program, assert_digits_are_kept, assert_happens

INF = math.inf
REAL, POSITIVE = (-INF, INF), (0.0, INF)
FIRST, SECOND = (0,), (0, 0)
NEAR, NEARER = 2.0**-20, 2.0**-50  # of an end


def up_to(limit, least=0.0):
    """Return the magnitudes that mpmath computes a function at, or that mean something."""
    return [each for each in MAGNITUDES if least < each <= limit]


def unary(name, first, second, domain=REAL, ends=(), result=None, **options):
    """Return the program of a function, or of one of its results, and its two derivatives."""

    def call(xp, x):
        out = getattr(xp.special, name)(x)
        return out if result is None else out[result]

    return Program(
        name if result is None else f"{name}, {result}",
        call,
        domain=[domain],
        ends={(at,): {FIRST: one, SECOND: two} for at, one, two in ends},
        partials={FIRST: first, SECOND: second},
        **options,
    )


def _exp(x):
    """Return the exponential, or 0 where that takes long to compute and is far too small."""
    return mp.exp(x) if x > -20000 else mp.mpf(0)


def _density(x):
    return _exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _peak():
    return 2 / mp.sqrt(mp.pi)


def _erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def _erfcx_x(x):
    return 2 * x * _erfcx(x) - _peak()


def _hazard(x):
    return _density(x) / (mp.erfc(-x / mp.sqrt(2)) / 2)


def _dawson(x):
    return mp.exp(-x * x) * mp.erfi(x) / _peak()


def _dawson_x(x):
    return 1 - 2 * x * _dawson(x)


def _quantile(y):
    """Return the inverse of ``ndtr``."""
    return mp.sqrt(2) * mp.erfinv(2 * y - 1)


def _k_m(m):
    return mp.ellipe(m) / (2 * m * (1 - m)) - mp.ellipk(m) / (2 * m)


def _e_m(m):
    return (mp.ellipe(m) - mp.ellipk(m)) / (2 * m)


def _k_mm(m):
    found = _e_m(m) / (2 * m * (1 - m)) - mp.ellipe(m) * (1 - 2 * m) / (2 * (m * (1 - m)) ** 2)
    return found - _k_m(m) / (2 * m) + mp.ellipk(m) / (2 * m * m)


def _e_mm(m):
    return (_e_m(m) - _k_m(m)) / (2 * m) - _e_m(m) / m


def _degree():
    return mp.pi / 180


def _wave(f, x):
    return f(mp.pi * x / 180)


def _squared(f, g, x):
    """Return the derivatives of tangents: the secant's square, and twice that times the tangent."""
    return (_wave(f, x) ** 2) * _wave(g, x)


def _mean(f, x, *terms):
    """Return a sum of Bessel functions of these orders, each with its factor."""
    return sum(factor * f(order, x) for order, factor in terms)


def _omega(z):
    return mp.lambertw(mp.exp(z))


# The function becomes constant at infinity.
FLAT = [(INF, 0.0, 0.0), (-INF, 0.0, 0.0)]
BESSEL = {"magnitudes": up_to(300.0, 1e-8)[::2], "digits": 200}
INTEGRAL = {"digits": 4200, "ends": [(0.0, 1.0, 0.0)]}

PROGRAMS = [
    unary(
        "airy",
        lambda x: mp.airyai(x, derivative=1),
        lambda x: x * mp.airyai(x),
        result=0,
        magnitudes=up_to(300.0),
        digits=300,
    ),
    unary(
        "airy",
        lambda x: mp.airybi(x, derivative=1),
        lambda x: x * mp.airybi(x),
        result=2,
        magnitudes=up_to(100.0),
        digits=300,
    ),
    unary(
        "cbrt",
        lambda x: abs(x) ** (-mp.mpf(2) / 3) / 3,
        lambda x: -2 * mp.sign(x) * abs(x) ** (-mp.mpf(5) / 3) / 9,
        ends=[(0.0, INF, -INF), *FLAT],
    ),
    unary(
        "cosdg",
        lambda x: -_degree() * _wave(mp.sin, x),
        lambda x: -(_degree() ** 2) * _wave(mp.cos, x),
        magnitudes=up_to(1e7),
    ),
    unary(
        "sindg",
        lambda x: _degree() * _wave(mp.cos, x),
        lambda x: -(_degree() ** 2) * _wave(mp.sin, x),
        magnitudes=up_to(1e7),
    ),
    unary(
        "tandg",
        lambda x: _degree() * _squared(mp.sec, lambda t: 1, x),
        lambda x: 2 * _degree() ** 2 * _squared(mp.sec, mp.tan, x),
        magnitudes=up_to(1e7),
    ),
    unary(
        "cotdg",
        lambda x: -_degree() * _squared(mp.csc, lambda t: 1, x),
        lambda x: 2 * _degree() ** 2 * _squared(mp.csc, mp.cot, x),
        magnitudes=up_to(1e7),
    ),
    unary("cosm1", lambda x: -mp.sin(x), lambda x: -mp.cos(x)),
    unary(
        "dawsn",
        _dawson_x,
        lambda x: -2 * (_dawson(x) + x * _dawson_x(x)),
        ends=[(1e308, 0.0, 0.0), *FLAT],
        magnitudes=up_to(30),
    ),
    unary("psi", lambda x: mp.psi(1, x), lambda x: mp.psi(2, x), POSITIVE, digits=300),
    unary("digamma", lambda x: mp.psi(1, x), lambda x: mp.psi(2, x), (-50.0, 0.0), digits=300),
    unary("gammaln", lambda x: mp.psi(0, x), lambda x: mp.psi(1, x), POSITIVE, digits=300),
    unary("loggamma", lambda x: mp.psi(0, x), lambda x: mp.psi(1, x), POSITIVE, digits=300),
    unary(
        "gamma",
        lambda x: mp.gamma(x) * mp.psi(0, x),
        lambda x: mp.gamma(x) * (mp.psi(0, x) ** 2 + mp.psi(1, x)),
        (-30.0, 180.0),
        digits=300,
    ),
    unary(
        "rgamma",
        lambda x: -mp.rgamma(x) * mp.psi(0, x),
        lambda x: mp.rgamma(x) * (mp.psi(0, x) ** 2 - mp.psi(1, x)),
        (-30.0, 180.0),
        digits=1200,
        magnitudes=up_to(180.0, 1e-100),
        ends=[
            (0.0, 1.0, 2 * float(mp.euler)),
            (-1.0, -1.0, 2 - 2 * float(mp.euler)),
            FLAT[0],
        ],
    ),
    unary("ellipk", _k_m, _k_mm, (-INF, 1.0), points=[(1 - NEAR,), (1 - NEARER,)], digits=2400),
    unary("ellipe", _e_m, _e_mm, (-INF, 1.0), points=[(1 - NEAR,), (1 - NEARER,)], digits=2400),
    unary("ellipkm1", lambda p: -_k_m(1 - p), lambda p: _k_mm(1 - p), POSITIVE, digits=2400),
    unary("entr", lambda x: -1 - mp.log(x), lambda x: -1 / x, POSITIVE),
    unary("erf", lambda x: _peak() * _exp(-x * x), lambda x: -2 * x * _peak() * _exp(-x * x)),
    unary("erfc", lambda x: -_peak() * _exp(-x * x), lambda x: 2 * x * _peak() * _exp(-x * x)),
    unary(
        "erfi",
        lambda x: _peak() * mp.exp(x * x),
        lambda x: 2 * x * _peak() * mp.exp(x * x),
        magnitudes=up_to(1e5),
    ),
    unary(
        "erfcx",
        _erfcx_x,
        lambda x: 2 * (_erfcx(x) + x * _erfcx_x(x)),
        ends=[(1e308, 0.0, 0.0), FLAT[0]],
        magnitudes=up_to(600.0),
    ),
    unary(
        "erfinv",
        lambda y: mp.exp(mp.erfinv(y) ** 2) / _peak(),
        lambda y: 2 * mp.erfinv(y) * mp.exp(2 * mp.erfinv(y) ** 2) / _peak() ** 2,
        (-1.0, 1.0),
        points=[(1 - NEAR,), (NEARER - 1,)],
        digits=200,
    ),
    unary(
        "erfcinv",
        lambda y: -mp.exp(mp.erfinv(1 - y) ** 2) / _peak(),
        lambda y: 2 * mp.erfinv(1 - y) * mp.exp(2 * mp.erfinv(1 - y) ** 2) / _peak() ** 2,
        (0.0, 2.0),
        points=[(2 - NEAR,)],
        magnitudes=up_to(2.0, 1e-37),
        digits=300,
    ),
    unary(
        "ndtri",
        lambda y: 1 / _density(_quantile(y)),
        lambda y: _quantile(y) / _density(_quantile(y)) ** 2,
        (0.0, 1.0),
        points=[(1 - NEAR,)],
        magnitudes=up_to(1.0, 1e-37),
        digits=300,
    ),
    unary("exp1", lambda x: -mp.exp(-x) / x, lambda x: mp.exp(-x) * (1 / x + 1 / x**2), POSITIVE),
    unary("expi", lambda x: mp.exp(x) / x, lambda x: mp.exp(x) * (1 / x - 1 / x**2)),
    unary("exp2", lambda x: mp.log(2) * 2**x, lambda x: mp.log(2) ** 2 * 2**x),
    unary("exp10", lambda x: mp.log(10) * 10**x, lambda x: mp.log(10) ** 2 * 10**x),
    unary("expm1", mp.exp, mp.exp),
    unary("log1p", lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2, (-1.0, INF)),
    unary(
        "exprel",
        lambda x: (mp.exp(x) * (x - 1) + 1) / x**2,
        lambda x: (mp.exp(x) * (x * x - 2 * x + 2) - 2) / x**3,
        ends=[(0.0, 1 / 2, 1 / 3)],
        digits=4200,
    ),
    unary(
        "fresnel",
        lambda x: mp.sin(mp.pi * x * x / 2),
        lambda x: mp.pi * x * mp.cos(mp.pi * x * x / 2),
        result=0,
        magnitudes=up_to(0.999),
    ),
    unary(
        "fresnel",
        lambda x: mp.cos(mp.pi * x * x / 2),
        lambda x: -mp.pi * x * mp.sin(mp.pi * x * x / 2),
        result=1,
        magnitudes=up_to(0.999),
    ),
    *(
        unary(
            f"{kind}0",
            lambda x, f=f, sign=sign: sign * f(1, x),
            lambda x, f=f, s=s: _mean(f, x, (0, s / 2), (2, 0.5)),
            domain,
            **BESSEL,
        )
        for kind, f, sign, s, domain in (
            ("i", mp.besseli, 1, 1, REAL),
            ("k", mp.besselk, -1, 1, POSITIVE),
            ("j", mp.besselj, -1, -1, REAL),
            ("y", mp.bessely, -1, -1, POSITIVE),
        )
    ),
    *(
        unary(
            f"{kind}1",
            lambda x, f=f, a=a, b=b: _mean(f, x, (0, a / 2), (2, b / 2)),
            lambda x, f=f, c=c: _mean(f, x, (1, c * 0.75), (3, 0.25)),
            domain,
            **BESSEL,
        )
        for kind, f, a, b, c, domain in (
            ("i", mp.besseli, 1, 1, 1, REAL),
            ("k", mp.besselk, -1, -1, 1, POSITIVE),
            ("j", mp.besselj, 1, -1, -1, REAL),
            ("y", mp.bessely, 1, -1, -1, POSITIVE),
        )
    ),
    *(
        unary(
            f"{kind}0e",
            lambda x, f=f, s=s: mp.exp(-s * x) * _mean(f, x, (0, -s), (1, s)),
            lambda x, f=f, s=s: mp.exp(-s * x) * _mean(f, x, (0, 1.5), (1, -2), (2, 0.5)),
            POSITIVE,
            ends=[FLAT[0]] if kind == "i" else [(0.0, -INF, INF), FLAT[0]],
            **BESSEL,
        )
        for kind, f, s in (("i", mp.besseli, 1), ("k", mp.besselk, -1))
    ),
    *(
        unary(
            f"{kind}1e",
            lambda x, f=f, s=s: mp.exp(-s * x) * _mean(f, x, (0, s / 2), (1, -s), (2, s / 2)),
            lambda x, f=f, s=s: (
                mp.exp(-s * x) * _mean(f, x, (0, -1), (1, 1.75), (2, -1), (3, 0.25))
            ),
            POSITIVE,
            ends=[FLAT[0]] if kind == "i" else [(0.0, -INF, INF), FLAT[0]],
            **BESSEL,
        )
        for kind, f, s in (("i", mp.besseli, 1), ("k", mp.besselk, -1))
    ),
    unary(
        "log_ndtr",
        _hazard,
        lambda x: -_hazard(x) * (x + _hazard(x)),
        ends=[(-INF, INF, -1.0), (-1e308, 1e308, -1.0), (-(2.0**100), 2.0**100, -1.0), FLAT[0]],
        magnitudes=up_to(100.0),
    ),
    unary("ndtr", _density, lambda x: -x * _density(x)),
    unary(
        "shichi",
        lambda x: mp.sinh(x) / x,
        lambda x: mp.cosh(x) / x - mp.sinh(x) / x**2,
        result=0,
        **INTEGRAL,
    ),
    unary(
        "shichi",
        lambda x: mp.cosh(x) / x,
        lambda x: mp.sinh(x) / x - mp.cosh(x) / x**2,
        result=1,
    ),
    unary(
        "sici",
        lambda x: mp.sin(x) / x,
        lambda x: mp.cos(x) / x - mp.sin(x) / x**2,
        result=0,
        digits=4200,
        ends=[(0.0, 1.0, 0.0), *FLAT],
    ),
    unary(
        "sici",
        lambda x: mp.cos(x) / x,
        lambda x: -mp.sin(x) / x - mp.cos(x) / x**2,
        POSITIVE,
        result=1,
        ends=[FLAT[0]],
    ),
    unary(
        "sinc",
        lambda x: (mp.cos(mp.pi * x) - mp.sin(mp.pi * x) / (mp.pi * x)) / x,
        lambda x: (
            2 * mp.sin(mp.pi * x) / (mp.pi * x**3)
            - 2 * mp.cos(mp.pi * x) / x**2
            - mp.pi * mp.sin(mp.pi * x) / x
        ),
        digits=4200,
        magnitudes=up_to(100.0),
    ),
    unary(
        "spence",
        lambda z: mp.log(z) / (1 - z),
        lambda z: 1 / (z * (1 - z)) + mp.log(z) / (1 - z) ** 2,
        POSITIVE,
        ends=[(1.0, -1.0, 0.5)],
        points=[(1 + NEAR,), (0.76,)],
    ),
    unary(
        "wrightomega",
        lambda z: _omega(z) / (1 + _omega(z)),
        lambda z: _omega(z) / (1 + _omega(z)) ** 3,
        magnitudes=up_to(400.0),
    ),
    unary(
        "zetac",
        lambda x: mp.zeta(x, 1, 1),
        lambda x: mp.zeta(x, 1, 2),
        (-60.0, INF),
        magnitudes=[each for each in MAGNITUDES if each != 1],
        digits=150,
    ),
]

OVERFLOW = "the function overflows there, and terms of the derivative are infinite with two signs"


def _large(limit):
    return lambda x: abs(x) >= limit


ACCEPTED = [
    *(
        Accepted(name, [SECOND], OVERFLOW, _large(limit), [dtype])
        for name in ("expi", "exprel", "shichi, 0", "shichi, 1")
        for limit, dtype in ((700.0, "float64"), (80.0, "float32"))
    ),
    *(
        Accepted(name, keys, OVERFLOW, _large(80.0), ["float32"])
        for name, keys in (("i0", [SECOND]), ("i1", [FIRST, SECOND]))
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
