"""What distributions are, and how their functions of location and scale are made of the standard's.

A distribution gives functions of arrays that lie inside its support, as programs of the
namespace. Support, parameters that are none, location and scale are the same for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import Parameter, Signature
from typing import Any, ClassVar, NamedTuple

from agnograd.extend import is_complex
from agnograd_scipy import stats
from agnograd_scipy._arrays import inexact
from agnograd_scipy.tails import log_of_part

__all__ = [
    "Continuous",
    "Discrete",
    "flipped",
    "register",
    "symmetric",
    "through",
    "transformed",
]

_INF = math.inf
Function = Callable[..., Any]


class Method(NamedTuple):
    """One function of a distribution: what it is called where, and what it is outside."""

    function: str
    what: str
    below: float
    above: float


_INTEGRALS = {
    "cdf": Method("cdf", "the distribution function", 0.0, 1.0),
    "logcdf": Method("log_cdf", "the logarithm of the distribution function", -_INF, 0.0),
    "sf": Method("sf", "the survival function, 1 - cdf,", 1.0, 0.0),
    "logsf": Method("log_sf", "the logarithm of the survival function", 0.0, -_INF),
}
_DENSITIES = {
    "pdf": Method("density", "the density", 0.0, 0.0),
    "logpdf": Method("log_density", "the logarithm of the density", -_INF, -_INF),
}
_QUANTILES = {
    "ppf": Method("quantile", "the quantile function, the inverse of cdf,", 0.0, 1.0),
    "isf": Method("upper_quantile", "the inverse of the survival function", 1.0, 0.0),
}
_MASSES = {
    "pmf": Method("density", "the probability", 0.0, 0.0),
    "logpmf": Method("log_density", "the logarithm of the probability", -_INF, -_INF),
}


def _positive(xp: Any, *shapes: Any) -> Any:
    return _all(xp, [each > 0.0 for each in shapes])


@dataclass(kw_only=True)
class Distribution:
    """A distribution with loc = 0 and scale = 1, by functions of arrays inside its support.

    They take the namespace, an array, and the shapes. Those that are not given are made of others.
    """

    methods: ClassVar[dict[str, Method]]
    title: str
    shapes: tuple[str, ...] = ()  # their names
    log_density: Function
    density: Function | None = None
    cdf: Function
    sf: Function  # what the distribution function leaves of 1
    log_cdf: Function | None = None
    log_sf: Function | None = None
    valid: Function = _positive  # valid(xp, *shapes) says where the shapes are those of one
    lower: float = -_INF  # the lower end of the support
    inside: float = 0.5  # a place in every support

    def __post_init__(self) -> None:
        self.density = self.density or _exp_of(self.log_density)
        self.log_cdf = self.log_cdf or _log_of(self.cdf, self.sf)
        self.log_sf = self.log_sf or _log_of(self.sf, self.cdf)


def _exp_of(log: Function) -> Function:
    """Return the exponential of a function: 0 where the function is the logarithm of no number."""

    def function(xp: Any, *given: Any) -> Any:
        value = log(xp, *given)
        alive = value > -800.0
        return xp.where(alive, xp.exp(xp.where(alive, value, 0.0)), 0.0)

    return function


def _log_of(part: Function, rest: Function) -> Function:
    """Return the logarithm of a function; ``rest`` is 1 minus the function."""
    return lambda xp, *given: log_of_part(xp, part(xp, *given), rest(xp, *given))


@dataclass(kw_only=True)
class Continuous(Distribution):
    """A distribution with a density.

    At a finite end of its support the density is that from inside, unless it is ``open``.
    """

    methods: ClassVar[dict[str, Method]] = {**_DENSITIES, **_INTEGRALS, **_QUANTILES}
    quantile: Function  # the inverse of the distribution function
    upper_quantile: Function  # the inverse of what that leaves of 1
    upper: float = _INF  # the upper end of the support
    open: bool = False


@dataclass(kw_only=True)
class Discrete(Distribution):
    """A distribution of integers."""

    methods: ClassVar[dict[str, Method]] = {**_MASSES, **_INTEGRALS}
    lower: float = 0.0
    inside: float = 0.0
    upper: Function = lambda *shapes: _INF  # the last integer


def through(of: Any, arguments: Function, density: bool = False) -> dict[str, Any]:
    """Return the integrals of a distribution at what ``arguments(xp, y, *shapes)`` returns.

    ``density`` says whether the density is returned, too.
    """

    def at(function: Function) -> Function:
        return lambda xp, *given: function(xp, *arguments(xp, *given))

    names = ("log_density", "density") if density else ()
    return {name: at(getattr(of, name)) for name in (*names, "cdf", "sf", "log_cdf", "log_sf")}


def flipped(of: Continuous) -> Continuous:
    """Return a distribution with its integrals and quantiles from the other side."""
    pairs = (("cdf", "sf"), ("log_cdf", "log_sf"), ("quantile", "upper_quantile"))
    found: Any = {a: getattr(of, b) for pair in pairs for a, b in (pair, pair[::-1])}
    return replace(of, **found)


def symmetric(
    *, cdf: Function, quantile: Function, log_cdf: Function | None = None, **others: Any
) -> Continuous:
    """Return a distribution whose density is an even function."""

    def mirrored(function: Function) -> Function:
        return lambda xp, y, *shapes: function(xp, -y, *shapes)

    return Continuous(
        cdf=cdf,
        sf=mirrored(cdf),
        log_cdf=log_cdf,
        log_sf=log_cdf and mirrored(log_cdf),
        quantile=quantile,
        upper_quantile=lambda xp, q, *shapes: -quantile(xp, q, *shapes),
        **others,
    )


def transformed(
    base: Continuous,
    to_base: Function,
    from_base: Function,
    log_slope: Function,
    *,
    of_base: Function = lambda *shapes: (),
    inside: float = 2.0,
    **others: Any,
) -> Continuous:
    """Return the distribution of an increasing function of what has another one, ``base``.

    ``from_base`` is that function, ``to_base`` its inverse, and ``log_slope`` the logarithm of the
    inverse's derivative. They take the shapes, of which ``of_base`` returns those of the base.
    """

    def arguments(xp: Any, y: Any, *shapes: Any) -> tuple[Any, ...]:
        return to_base(xp, y, *shapes), *of_base(*shapes)

    def log_density(xp: Any, y: Any, *shapes: Any) -> Any:
        return base.log_density(xp, *arguments(xp, y, *shapes)) + log_slope(xp, y, *shapes)

    def back(quantile: Function) -> Function:
        return lambda xp, q, *shapes: from_base(xp, quantile(xp, q, *of_base(*shapes)), *shapes)

    return Continuous(
        log_density=log_density,
        quantile=back(base.quantile),
        upper_quantile=back(base.upper_quantile),
        inside=inside,
        **through(base, arguments),
        **others,
    )


# -- location and scale ----------------------------------------------------------------------------


def _all(xp: Any, conditions: Sequence[Any]) -> Any:
    """Return where all of some conditions hold."""
    found: Any = True
    for each in conditions:
        if each is not True:
            found = each if found is True else xp.logical_and(found, each)
    return found


def _real(xp: Any, *values: Any) -> list[Any]:
    found = inexact(xp, *values)
    if is_complex(found[0].dtype, xp):
        raise TypeError("a distribution is one of real numbers; pass real arrays, as xp.real(z)")
    return found


def _valid(
    xp: Any, of: Distribution, shapes: Sequence[Any], scale: Any = 1.0
) -> tuple[list[Any], Any, Any]:
    """Return shapes and a scale that are valid everywhere, and where the given ones are."""
    valid, positive = of.valid(xp, *shapes), scale > 0.0
    shapes = [xp.where(valid, each, 1.0) for each in shapes]
    if positive is not True:
        scale = xp.where(positive, scale, 1.0)
    return shapes, scale, _all(xp, [valid, positive])


def _placed(xp: Any, method: Method, y: Any, below: Any, inside: Any, valid: Any, out: Any) -> Any:
    """Return values with those outside of the support, and NaN where nothing is defined."""
    outside: Any = method.below
    if method.below != method.above:
        outside = xp.where(below, xp.full_like(y, method.below), method.above)
    return xp.where(_all(xp, [valid, y == y]), xp.where(inside, out, outside), math.nan)


def _at(xp: Any, of: Continuous, method: Method, given: Sequence[Any]) -> Any:
    """Return a function of a continuous distribution at x."""
    x, *shapes, loc, scale = given
    shapes, scale, valid = _valid(xp, of, shapes, scale)
    y = (x - loc) / scale
    # An end belongs to the support, but where the logarithm of an integral is infinite there.
    from_lower = of.open or of.lower == -_INF or method.function == "log_cdf"
    to_upper = of.open or of.upper == _INF or method.function == "log_sf"
    inside = xp.logical_and(
        y > of.lower if from_lower else y >= of.lower, y < of.upper if to_upper else y <= of.upper
    )
    out = getattr(of, method.function)(xp, xp.where(inside, y, of.inside), *shapes)
    if method.function == "density":
        out = out / scale
    elif method.function == "log_density":
        out = out - xp.log(scale)
    return _placed(xp, method, y, y <= of.lower, inside, valid, out)


def _quantile(xp: Any, of: Continuous, method: Method, given: Sequence[Any]) -> Any:
    """Return where an integral of a continuous distribution is q."""
    q, *shapes, loc, scale = given
    shapes, scale, valid = _valid(xp, of, shapes, scale)
    inside = xp.logical_and(q > 0.0, q < 1.0)
    out = loc + scale * getattr(of, method.function)(xp, xp.where(inside, q, 0.5), *shapes)
    for end, place in ((method.below, of.lower), (method.above, of.upper)):
        at_end = loc + scale * place if math.isfinite(place) else place
        out = xp.where(q == end, at_end, out)
    defined = _all(xp, [valid, q >= 0.0, q <= 1.0, loc == loc])
    return xp.where(defined, out, math.nan)


def _of_integers(xp: Any, of: Discrete, method: Method, given: Sequence[Any]) -> Any:
    """Return a function of a discrete distribution at k."""
    k, *shapes, loc = given
    shapes, _, valid = _valid(xp, of, shapes)
    k = xp.stats.integer(k - loc)
    y, upper = xp.floor(k), of.upper(*shapes)
    inside = xp.logical_and(y >= of.lower, y < math.inf)
    if method.below == method.above:
        inside = _all(xp, [inside, y == k, y <= upper])
    else:
        inside = xp.logical_and(inside, y < upper)
    out = getattr(of, method.function)(xp, xp.where(inside, y, of.inside), *shapes)
    return _placed(xp, method, k, y < of.lower, inside, valid, out)


# -- registration ----------------------------------------------------------------------------------


def register(name: str, of: Continuous | Discrete) -> None:
    """Register the functions of a distribution, as ``stats.<name>.<method>``."""
    for method in of.methods:
        function, text = _function(name, of, method)
        stats.composed(f"stats.{name}.{method}{text}", function)


def _function(name: str, of: Any, method: str) -> tuple[Callable[..., Any], str]:
    """Return one function of a distribution, and its signature."""
    discrete, what = isinstance(of, Discrete), of.methods[method]
    compute: Any = _of_integers if discrete else _quantile if method in _QUANTILES else _at
    first = "k" if discrete else "q" if method in _QUANTILES else "x"
    defaults = {"loc": 0} if discrete else {"loc": 0, "scale": 1}
    kind = Parameter.POSITIONAL_OR_KEYWORD
    signature = Signature(
        [Parameter(each, kind) for each in (first, *of.shapes)]
        + [Parameter(each, kind, default=default) for each, default in defaults.items()]
    )

    def function(xp: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        return compute(xp, of, what, _real(xp, *given.arguments.values()))

    function.__doc__ = _doc(
        f"scipy.stats.{name}.{method}", of, what, [first, *of.shapes, *defaults]
    )
    return function, str(signature)


def _doc(name: str, of: Any, what: Method, parameters: Sequence[str]) -> str:
    lines = [f"Return {what.what} of {of.title}, ``{name}``.", "", "Parameters", "----------"]
    kinds = dict.fromkeys(of.shapes, "A shape.")
    kinds |= {"q": "Probabilities.", "k": "Integers, which have no derivative.", "x": "Places."}
    kinds |= {"loc": "Where its 0 is.", "scale": "Where its 1 is, from there."}
    for each in parameters:
        lines += [f"{each} : array", f"    {kinds[each]}"]
    return "\n".join(lines)
