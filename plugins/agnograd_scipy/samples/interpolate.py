"""Samples of interpolation between points, and of banded systems."""

from typing import Any

from agnograd.extend import Sample, array

_x = array(values=[0.0, 0.7, 1.5, 3.0, 3.4])
_at = [[-0.3, 0.2, 1.1], [2.9, 3.1, 3.6]]


def _values(f: Any, xp: Any) -> Any:
    return f(_at)


def _derivative(f: Any, xp: Any) -> Any:
    return f(_at, nu=1)


samples = [
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

samples += [
    Sample("interpolate.solve_banded", array(3, 5, low=0.5), array(5), lower=1, upper=1),
    Sample("interpolate.solve_banded", array(4, 5, low=0.5), array(5, 2), lower=2, upper=1),
    Sample("interpolate.solve_banded", array(4, 2, low=0.5), array(2), lower=1, upper=2),
    Sample("interpolate.solve_banded", array(1, 3, low=0.5), array(3), lower=0, upper=0),
    Sample(
        "interpolate.solve_banded",
        array(3, 4, low=0.5, dtype="complex128"),
        array(4, dtype="complex128"),
        lower=1,
        upper=1,
    ),
]
