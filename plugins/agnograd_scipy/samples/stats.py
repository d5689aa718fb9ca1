"""Samples of distributions: one for each function, away from the ends of supports.

Their densities have derivatives of second order here; those of integrals and quantiles are checked
with the special functions that they are.
"""

from typing import Any

from agnograd.extend import Sample, array
from agnograd_scipy.continuous import DISTRIBUTIONS as CONTINUOUS
from agnograd_scipy.discrete import DISTRIBUTIONS as DISCRETE

# Bounds of places, and of each shape; the places have loc and scale, too.
BOUNDS: dict[str, tuple[tuple[float, float], ...]] = {
    "beta": ((0.2, 0.8), (1.5, 3.0), (0.8, 2.0)),
    "cauchy": ((-2.0, 2.0),),
    "chi2": ((0.5, 5.0), (2.5, 4.5)),
    "expon": ((0.5, 2.0),),
    "gamma": ((0.5, 5.0), (1.5, 3.5)),
    "halfnorm": ((0.5, 2.0),),
    "invgamma": ((0.3, 2.0), (1.5, 3.5)),
    "laplace": ((0.3, 2.0),),
    "logistic": ((-2.0, 2.0),),
    "lognorm": ((0.5, 2.0), (0.5, 1.5)),
    "norm": ((-2.0, 2.0),),
    "pareto": ((1.5, 3.0), (0.8, 2.5)),
    "t": ((-2.0, 2.0), (2.5, 4.5)),
    "uniform": ((0.2, 0.8),),
    "weibull_min": ((0.3, 2.0), (0.8, 2.5)),
    "bernoulli": ((0.2, 0.8),),
    "binom": ((0.2, 0.8),),
    "geom": ((0.2, 0.8),),
    "nbinom": ((1.5, 3.5), (0.2, 0.8)),
    "poisson": ((0.5, 3.0),),
}
# Dask's graphs of these programs are large: it is given one function of each distribution.
_QUICK = ("cupy", "jax", "numpy", "strict", "torch")
_LOC, _SCALE = array(values=0.1), array(values=[[1.25], [0.9]])
_INTEGERS = {"bernoulli": (0, 1), "geom": (1, 3)}  # others have more


def _drawn(*bounds: tuple[float, float]) -> list[Any]:
    return [array(2, low=low, high=high) for low, high in bounds]


def _of(name: str, method: str) -> Sample:
    """Return the sample of a function."""
    op = f"stats.{name}.{method}"
    density = method in ("pdf", "logpdf", "pmf", "logpmf")
    options: Any = {"order": 1 + density}
    if name != "norm" and method not in ("logpdf", "logpmf"):
        options["backends"] = _QUICK
    if name in DISCRETE:
        trials = [3] if name == "binom" else []
        one, other = _INTEGERS.get(name, (0, 2))
        integers = array(values=[[one], [other if density else one]], dtype="int64")
        return Sample(op, integers, *trials, *_drawn(*BOUNDS[name]), **options)
    place, *shapes = BOUNDS[name]
    if density:
        return Sample(op, *_drawn(place, *shapes), _LOC, _SCALE, **options)
    if method in ("ppf", "isf"):
        place = (0.2, 0.45)
    return Sample(op, *_drawn(place, *shapes), **options)


samples = [
    _of(name, method)
    for distributions in (CONTINUOUS, DISCRETE)
    for name, distribution in distributions.items()
    for method in distribution.methods
]

samples += [
    Sample("stats.integer", array(values=[1.0, 2.0]), order=0),
    Sample("stats.multivariate_normal.logpdf", array(3, 2), array(2), [[1.5, 0.4], [0.4, 0.8]]),
    Sample("stats.multivariate_normal.pdf", array(2), array(2, 1, 2), array(values=[0.5, 2.0])),
    Sample("stats.dirichlet.logpdf", array(3, low=0.2, high=0.5), array(3, low=0.5, high=3.0)),
    Sample("stats.dirichlet.pdf", array(2, 2, low=0.1, high=0.4), array(3, low=0.5, high=3.0)),
]
