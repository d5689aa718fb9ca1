"""Samples of distances, and of interpolation between points."""

from typing import Any

from agnograd.extend import Sample, array
from agnograd_scipy.distance import METRICS

_vi = array(values=[[1.0, 0.2, 0.0], [0.2, 2.0, 0.1], [0.0, 0.1, 0.5]])

samples = [
    *(Sample("spatial.cdist", array(3, 4), array(2, 4), metric) for metric in METRICS[:5]),
    *(
        Sample("spatial.cdist", array(5, 3, low=0.2), array(4, 3, low=0.2), metric)
        for metric in METRICS[5:]
    ),
    Sample("spatial.cdist", array(3, 2, layout="transposed"), array(2, 2), "minkowski", p=3),
    Sample("spatial.cdist", array(2, 3), array(2, 3), "seuclidean", V=array(3, low=0.5)),
    Sample("spatial.cdist", array(2, 3), array(2, 3), "mahalanobis", VI=_vi),
    Sample("spatial.cdist", array(0, 3), array(2, 3)),
    Sample("spatial.cdist", array(2, 0), array(3, 0), order=0),
    *(Sample("spatial.pdist", array(5, 3, low=0.2), metric) for metric in METRICS),
    Sample("spatial.pdist", array(1, 3)),
]

_x = array(values=[0.0, 0.7, 1.5, 3.0, 3.4])
_at = [[-0.3, 0.2, 1.1], [2.9, 3.1, 3.6]]


def _values(f: Any, xp: Any) -> Any:
    return f(_at)


def _derivative(f: Any, xp: Any) -> Any:
    return f(_at, nu=1)


samples += [
    *(
        Sample("interpolate.CubicSpline", _x, array(5), 0, bc_type, after=_values)
        for bc_type in ("not-a-knot", "natural", "clamped", ((1, 0.5), (2, -0.3)))
    ),
    Sample("interpolate.CubicSpline", _x, array(2, 5, 2), 1, after=_values),
    Sample("interpolate.CubicSpline", _x, array(5), extrapolate=True, after=_derivative),
    *(
        Sample("interpolate.CubicSpline", array(values=x), array(len(x)), 0, end, after=_values)
        for x in ([0.0, 1.5], [0.0, 0.6, 1.5])
        for end in ("not-a-knot", "natural", ("clamped", "not-a-knot"))
    ),
    Sample("interpolate.PchipInterpolator", _x, array(5), after=_values),
    Sample("interpolate.PchipInterpolator", _x, array(5, 3), after=_values),
    Sample(
        "interpolate.PchipInterpolator",
        _x,
        array(values=[0.0, 0.5, 0.9, 2.0, 3.0]),
        after=_derivative,
    ),
    Sample("interpolate.PchipInterpolator", array(values=[0.0, 1.5]), array(2), after=_values),
    *(
        Sample(
            "interpolate.interp1d", _x, array(2, 5), kind, fill_value="extrapolate", after=_values
        )
        for kind in ("linear", "cubic", "previous")
    ),
    Sample("interpolate.interp1d", _x, array(5), fill_value=0.5, after=_values),
    Sample("interpolate.interp1d", _x, array(5, 2), axis=0, fill_value=0.0, after=_derivative),
    Sample("interpolate.interpn", [_x], array(5), array(3, 1, low=0.1, high=3.0)),
    Sample(
        "interpolate.interpn",
        [array(values=[0.0, 0.4, 1.0]), array(values=[-1.0, 0.2, 0.5, 1.0])],
        array(3, 4, 2),
        array(2, 3, 2, low=0.05, high=0.95),
    ),
    Sample(
        "interpolate.interpn",
        [array(values=[0.0, 0.4, 1.0]), array(values=[-1.0, 0.2])],
        array(3, 2),
        array(values=[[0.3, 0.1], [1.3, -1.4]]),
        fill_value=None,
    ),
    Sample(
        "interpolate.interpn",
        [array(values=[0.0, 0.4, 1.0])],
        array(3),
        array(values=[[0.3], [1.3]]),
        "nearest",
        fill_value=0.5,
    ),
]
