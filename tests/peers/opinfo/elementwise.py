"""PyTorch's element-wise functions, in the standard's and NumPy's functions."""

import numpy as np


def add(xp, x, other, *, alpha=1):
    return x + alpha * other


def sub(xp, x, other, *, alpha=1):
    return x - alpha * other


def div(xp, x, other, *, rounding_mode=None):
    if rounding_mode == "floor":
        return xp.floor_divide(x, other)
    return xp.divide(x, other) if rounding_mode is None else xp.trunc(xp.divide(x, other))


def clamp(xp, x, min=None, max=None):
    return xp.clip(x, min, max)


def lerp(xp, x, end, weight):
    return x + weight * (end - x)


def nan_to_num(xp, x, nan=0.0, posinf=None, neginf=None):
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def sgn(xp, x):
    return xp.sign(x)


def rounded(xp, x, *, decimals=0):
    return xp.round(x) if decimals == 0 else np.round(x, decimals)


def logit(xp, x, eps=None):
    return xp.special.logit(x if eps is None else xp.clip(x, eps, 1 - eps))


def renormed(xp, x, p, dim, maxnorm):
    """Bound the norm of each slice along an axis."""
    others = tuple(axis for axis in range(x.ndim) if axis != dim % x.ndim)
    norm = xp.linalg.vector_norm(x, ord=p, axis=others, keepdims=True)
    return x * xp.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)


def unary(name):
    return lambda xp, x: getattr(xp, name)(x)


def special(name):
    return lambda xp, *args: getattr(xp.special, name)(*args)


def binary(name):
    return lambda xp, x, other: getattr(xp, name)(x, other)


FUNCTIONS = {
    **{
        name: unary(name)
        for name in (
            *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos"),
            *("cosh", "exp", "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log"),
            *("log10", "log1p", "log2", "logical_not", "positive", "real", "reciprocal", "signbit"),
            *("sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
        )
    },
    **{
        name: binary(name)
        for name in (
            *("atan2", "copysign", "hypot", "logaddexp", "logical_and", "logical_or"),
            *("logical_xor", "maximum", "minimum", "nextafter", "pow", "remainder"),
        )
    },
    **{
        f"special.{name}": special(name)
        for name in (
            *("entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri", "xlog1py", "zeta"),
        )
    },
    **{
        f"special.{theirs}": special(ours)
        for theirs, ours in {
            "bessel_j0": "j0",
            "bessel_j1": "j1",
            "bessel_y0": "y0",
            "bessel_y1": "y1",
            "modified_bessel_i0": "i0",
            "modified_bessel_i1": "i1",
            "modified_bessel_k0": "k0",
            "modified_bessel_k1": "k1",
            "scaled_modified_bessel_k0": "k0e",
            "scaled_modified_bessel_k1": "k1e",
        }.items()
    },
    **{f"polygamma.polygamma_n_{n}": lambda xp, x, n: xp.special.polygamma(n, x) for n in range(5)},
    "__radd__": lambda xp, x, other: other + x,
    "__rdiv__": lambda xp, x, other: other / x,
    "__rmod__": lambda xp, x, other: other % x,
    "__rmul__": lambda xp, x, other: other * x,
    "__rpow__": lambda xp, x, other: other**x,
    "__rsub__": lambda xp, x, other: other - x,
    "add": add,
    "addcdiv": lambda xp, x, a, b, *, value=1: x + value * a / b,
    "addcmul": lambda xp, x, a, b, *, value=1: x + value * a * b,
    "angle": lambda xp, x: np.angle(x),
    "clamp": clamp,
    "clamp_max": lambda xp, x, max: xp.clip(x, None, max),
    "clamp_min": lambda xp, x, min: xp.clip(x, min, None),
    "complex": lambda xp, x, other: x + 1j * other,
    "conj_physical": unary("conj"),
    "deg2rad": lambda xp, x: np.deg2rad(x),
    "digamma": special("digamma"),
    "div.floor_rounding": div,
    "div.no_rounding_mode": div,
    "div.trunc_rounding": div,
    "eq": binary("equal"),
    "erf": special("erf"),
    "erfc": special("erfc"),
    "erfinv": special("erfinv"),
    "exp2": lambda xp, x: np.exp2(x),
    "float_power": binary("pow"),
    "floor_divide": binary("floor_divide"),
    "fmax": lambda xp, x, other: np.fmax(x, other),
    "fmin": lambda xp, x, other: np.fmin(x, other),
    "fmod": lambda xp, x, other: np.fmod(x, other),
    "frac": lambda xp, x: x - xp.trunc(x),
    "ge": binary("greater_equal"),
    "gt": binary("greater"),
    "heaviside": lambda xp, x, values: np.heaviside(x, values),
    "i0": lambda xp, x: np.i0(x),
    "igamma": special("gammainc"),
    "igammac": special("gammaincc"),
    "isclose": lambda xp, x, other, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(
        x, other, rtol=rtol, atol=atol, equal_nan=equal_nan
    ),
    "isneginf": lambda xp, x: np.isneginf(x),
    "isposinf": lambda xp, x: np.isposinf(x),
    "isreal": lambda xp, x: np.isreal(x),
    "ldexp": lambda xp, x, other: x * 2.0**other,
    "le": binary("less_equal"),
    "lerp": lerp,
    "lgamma": special("gammaln"),
    "logaddexp2": lambda xp, x, other: np.logaddexp2(x, other),
    "logit": logit,
    "lt": binary("less"),
    "masked_fill": lambda xp, x, mask, value: xp.where(mask, value, x),
    "max.binary": binary("maximum"),
    "min.binary": binary("minimum"),
    "mul": binary("multiply"),
    "mvlgamma.mvlgamma_p_1": lambda xp, x, p: xp.special.multigammaln(x, p),
    "mvlgamma.mvlgamma_p_3": lambda xp, x, p: xp.special.multigammaln(x, p),
    "mvlgamma.mvlgamma_p_5": lambda xp, x, p: xp.special.multigammaln(x, p),
    "nan_to_num": nan_to_num,
    "ne": binary("not_equal"),
    "neg": unary("negative"),
    "polar": lambda xp, x, angle: x * xp.exp(1j * angle),
    "rad2deg": lambda xp, x: np.rad2deg(x),
    "renorm": renormed,
    "round": rounded,
    "round.decimals_0": rounded,
    "round.decimals_3": rounded,
    "round.decimals_neg_3": rounded,
    "rsqrt": lambda xp, x: 1 / xp.sqrt(x),
    "rsub": lambda xp, x, other, *, alpha=1: other - alpha * x,
    "sgn": sgn,
    "sigmoid": special("expit"),
    "sign": unary("sign"),
    "sinc": lambda xp, x: np.sinc(x),
    "special.polygamma.special_polygamma_n_0": lambda xp, x, n: xp.special.polygamma(n, x),
    "special.spherical_bessel_j0": lambda xp, x: xp.special.spherical_jn(0, x),
    "sub": sub,
    "true_divide": binary("divide"),
    "where": lambda xp, x, condition, other: xp.where(condition, x, other),
    "xlogy": special("xlogy"),
}
