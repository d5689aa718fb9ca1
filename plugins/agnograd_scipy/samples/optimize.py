"""Samples of roots, fixed points and minima."""

from agnograd.extend import Sample, array
from agnograd_scipy.samples._program import Program

_rate = array(2, low=0.5, high=1.0)

samples = [
    Sample(
        "optimize.root",
        Program("lambda x, a, b: x**3 + a * x - b"),
        [0.5, 0.5],
        (_rate, array(2)),
    ),
    Sample("optimize.root", Program("lambda x, a: x**3 + x - a"), 0.5, array(low=0.5), "lm"),
    Sample("optimize.fixed_point", Program("lambda x, a: a / (2 + x)"), [0.5, 0.4], (_rate,)),
    Sample(
        "optimize.minimize",
        Program("lambda x, a, b: (x - a) ** 4 + x**2 + b * x"),
        0.3,
        (array(low=0.5), array()),
    ),
    Sample(
        "optimize.least_squares",
        Program("lambda x, a, b: (x**2 - a) * b"),
        [0.7, 0.6],
        (_rate, array(2, low=0.5, high=2.0)),
    ),
]
