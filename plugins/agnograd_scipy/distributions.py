"""What distributions are, and how their functions of location and scale are made of the standard's.

A distribution gives functions of arrays that lie inside its support, as programs of the
namespace. Support, parameters that are none, location and scale are the same for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any, ClassVar, NamedTuple

from agnograd.extend import is_complex
from agnograd_scipy import stats
from agnograd_scipy._arrays import inexact

__all__ = ["Continuous", "Discrete", "Symmetric", "Transformed", "register"]

_INF = math.inf


class Method(NamedTuple):
    """One function of a distribution: what it is called where, and what it is outside."""

    function: str
    what: str
    below: float
    above: float


_LIMITS = (0.0, 1.0), (-_INF, 0.0), (1.0, 0.0), (0.0, -_INF)
_INTEGRALS = {
    "cdf": Method("cdf", "the distribution function", *_LIMITS[0]),
    "logcdf": Method("log_cdf", "the logarithm of the distribution function", *_LIMITS[1]),
    "sf": Method("sf", "the survival function, 1 - cdf,", *_LIMITS[2]),
    "logsf": Method("log_sf", "the logarithm of the survival function", *_LIMITS[3]),
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


def _log(xp: Any, value: Any, rest: Any) -> Any:
    """Return the logarithm of ``value``, where ``rest`` is 1 minus it."""
    most = value > 0.5
    near = xp.log1p(-xp.where(most, rest, 0.0))
    return xp.where(most, near, xp.log(xp.where(most, 1.0, value)))


class Distribution:
    """The functions of a distribution with loc = 0 and scale = 1, inside its support.

    Each takes the namespace, an array, and the shapes. A subclass gives ``log_density`` and what
    is more accurate than what is made of it here.
    """

    methods: ClassVar[dict[str, Method]]
    title: ClassVar[str]
    shapes: ClassVar[tuple[str, ...]] = ()
    lower: ClassVar[float] = -_INF
    inside: ClassVar[float] = 0.5  # a place in every support

    def valid(self, xp: Any, *shapes: Any) -> Any:
        """Return where the shapes are those of a distribution; True for all."""
        return _all(xp, [each > 0.0 for each in shapes])

    def log_density(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the logarithm of the density."""
        raise NotImplementedError

    def density(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the density, which is 0 where its logarithm is that of no number."""
        log = self.log_density(xp, y, *shapes)
        alive = log > -800.0
        return xp.where(alive, xp.exp(xp.where(alive, log, 0.0)), 0.0)

    def cdf(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the distribution function."""
        raise NotImplementedError

    def sf(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return what is left of the distribution function."""
        raise NotImplementedError

    def log_cdf(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the logarithm of the distribution function."""
        return _log(xp, self.cdf(xp, y, *shapes), self.sf(xp, y, *shapes))

    def log_sf(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the logarithm of what is left of the distribution function."""
        return _log(xp, self.sf(xp, y, *shapes), self.cdf(xp, y, *shapes))


class Continuous(Distribution):
    """A distribution with a density.

    At a finite end of its support the density is that from inside, unless it is ``open``.
    """

    methods: ClassVar[dict[str, Method]] = {**_DENSITIES, **_INTEGRALS, **_QUANTILES}
    upper: ClassVar[float] = _INF
    open: ClassVar[bool] = False

    def quantile(self, xp: Any, q: Any, *shapes: Any) -> Any:
        """Return where the distribution function is ``q``."""
        raise NotImplementedError

    def upper_quantile(self, xp: Any, q: Any, *shapes: Any) -> Any:
        """Return where what is left of the distribution function is ``q``."""
        raise NotImplementedError


class Symmetric(Continuous):
    """A distribution whose density is an even function."""

    def sf(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the distribution function of ``-y``."""
        return self.cdf(xp, -y, *shapes)

    def log_sf(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the logarithm of the distribution function of ``-y``."""
        return self.log_cdf(xp, -y, *shapes)

    def upper_quantile(self, xp: Any, q: Any, *shapes: Any) -> Any:
        """Return minus the quantile."""
        return -self.quantile(xp, q, *shapes)


class Transformed(Continuous):
    """The distribution of a monotone function of what has another one, ``base``."""

    base: ClassVar[Continuous]
    decreasing: ClassVar[bool] = False
    inside: ClassVar[float] = 2.0

    def of_base(self, *shapes: Any) -> tuple[Any, ...]:
        """Return the shapes of the base."""
        return ()

    def to_base(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return what has the distribution ``base``."""
        raise NotImplementedError

    def log_slope(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the logarithm of the size of the derivative of ``to_base``."""
        raise NotImplementedError

    def from_base(self, xp: Any, z: Any, *shapes: Any) -> Any:
        """Return the inverse of ``to_base``."""
        raise NotImplementedError

    def log_density(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the logarithm of the density."""
        return self._of(xp, "log_density", y, shapes) + self.log_slope(xp, y, *shapes)

    def cdf(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the distribution function."""
        return self._of(xp, "sf" if self.decreasing else "cdf", y, shapes)

    def sf(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return what is left of the distribution function."""
        return self._of(xp, "cdf" if self.decreasing else "sf", y, shapes)

    def log_cdf(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the logarithm of the distribution function."""
        return self._of(xp, "log_sf" if self.decreasing else "log_cdf", y, shapes)

    def log_sf(self, xp: Any, y: Any, *shapes: Any) -> Any:
        """Return the logarithm of what is left of the distribution function."""
        return self._of(xp, "log_cdf" if self.decreasing else "log_sf", y, shapes)

    def quantile(self, xp: Any, q: Any, *shapes: Any) -> Any:
        """Return where the distribution function is ``q``."""
        find = self.base.upper_quantile if self.decreasing else self.base.quantile
        return self.from_base(xp, find(xp, q, *self.of_base(*shapes)), *shapes)

    def upper_quantile(self, xp: Any, q: Any, *shapes: Any) -> Any:
        """Return where what is left of the distribution function is ``q``."""
        find = self.base.quantile if self.decreasing else self.base.upper_quantile
        return self.from_base(xp, find(xp, q, *self.of_base(*shapes)), *shapes)

    def _of(self, xp: Any, function: str, y: Any, shapes: Sequence[Any]) -> Any:
        z = self.to_base(xp, y, *shapes)
        return getattr(self.base, function)(xp, z, *self.of_base(*shapes))


class Discrete(Distribution):
    """A distribution of integers."""

    methods: ClassVar[dict[str, Method]] = {**_MASSES, **_INTEGRALS}
    lower: ClassVar[float] = 0.0
    inside: ClassVar[float] = 0.0

    def upper(self, *shapes: Any) -> Any:
        """Return the last integer."""
        return _INF


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


def _valid_shapes(xp: Any, of: Distribution, shapes: Sequence[Any]) -> tuple[list[Any], Any]:
    """Return shapes that are valid everywhere, and where the given ones are; True for all."""
    valid = of.valid(xp, *shapes)
    return [xp.where(valid, each, 1.0) for each in shapes], valid


def _scaled(
    xp: Any, of: Distribution, shapes: Sequence[Any], scale: Any
) -> tuple[list[Any], Any, Any]:
    """Return shapes and a scale that are valid everywhere, and where the given ones are."""
    shapes, valid = _valid_shapes(xp, of, shapes)
    positive = scale > 0.0
    return shapes, xp.where(positive, scale, 1.0), _all(xp, [valid, positive])


def _placed(xp: Any, method: Method, y: Any, below: Any, inside: Any, valid: Any, out: Any) -> Any:
    """Return values with those outside of the support, and NaN where nothing is defined."""
    outside: Any = method.below
    if method.below != method.above:
        outside = xp.where(below, xp.full_like(y, method.below), method.above)
    return xp.where(_all(xp, [valid, y == y]), xp.where(inside, out, outside), math.nan)


def _at(xp: Any, of: Continuous, method: Method, given: Sequence[Any]) -> Any:
    """Return a function of a continuous distribution at x."""
    x, *shapes, loc, scale = given
    shapes, scale, valid = _scaled(xp, of, shapes, scale)
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
    shapes, scale, valid = _scaled(xp, of, shapes, scale)
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
    shapes, valid = _valid_shapes(xp, of, shapes)
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
