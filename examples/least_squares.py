"""Fit a curve to measurements by SciPy's least squares, with a Jacobian, on any backend.

The measurements are NIST's data set Thurber: the mobility of electrons in a semiconductor, and a
model of 7 parameters that is hard to fit. NIST has certified the parameters, their standard errors
and the residual to eleven digits, so that the example can say how many of its digits are right:
with ``jac=ag.jacobian(residuals)``, and with SciPy's finite differences.

Source: NIST, Statistical Reference Datasets, "Thurber" (R. Thurber, semiconductor electron mobility
modelling), https://www.itl.nist.gov/div898/strd/nls/data/thurber.shtml
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from command import COLOURS, figure, namespace, parser
from scipy.optimize import least_squares

import agnograd as ag

# The natural logarithm of the density, and the mobility: NIST gives no units.
DENSITY = """
-3.067 -2.981 -2.921 -2.912 -2.840 -2.797 -2.702 -2.699 -2.633 -2.481 -2.363 -2.322 -1.501 -1.460
-1.274 -1.212 -1.100 -1.046 -0.915 -0.714 -0.566 -0.545 -0.400 -0.309 -0.109 -0.103 0.010 0.119
0.377 0.790 0.963 1.006 1.115 1.572 1.841 2.047 2.200
"""
MOBILITY = """
80.574 84.248 87.264 87.195 89.076 89.608 89.868 90.101 92.405 95.854 100.696 101.060 401.672
390.724 567.534 635.316 733.054 759.087 894.206 990.785 1090.109 1080.914 1122.643 1178.351 1260.531
1273.514 1288.339 1327.543 1353.863 1414.509 1425.208 1421.384 1442.962 1464.350 1468.705 1447.894
1457.628
"""
# NIST's two starts, one far from the solution and one near to it.
STARTS = {
    "far": (1000.0, 1000.0, 400.0, 40.0, 0.7, 0.3, 0.03),
    "near": (1300.0, 1500.0, 500.0, 75.0, 1.0, 0.4, 0.05),
}
CERTIFIED = (
    *(1.2881396800e3, 1.4910792535e3, 5.8323836877e2, 7.5416644291e1),
    *(9.6629502864e-1, 3.9797285797e-1, 4.9727297349e-2),
)
CERTIFIED_ERRORS = (
    *(4.6647963344, 3.9571156086e1, 2.8698696102e1, 5.5675370270),
    *(3.1333340687e-2, 1.4984928198e-2, 6.5842344623e-3),
)


@dataclasses.dataclass
class Fit:
    """Parameters and their standard errors, the residuals, and how often they were computed."""

    name: str
    parameters: Any
    errors: Any
    residuals: Any
    evaluations: int
    jacobians: int

    @property
    def deviation(self) -> float:
        """The residuals' standard deviation, by their degrees of freedom."""
        freedom = len(self.residuals) - len(self.parameters)
        return float(np.sqrt(self.residuals @ self.residuals / freedom))


def model(b: Any, x: Any) -> Any:
    """Return the mobility at the logarithm of a density: a ratio of two cubic polynomials."""
    above = b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3
    return above / (1.0 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def residuals_of(xp: Any) -> Callable[[Any], Any]:
    """Return the function whose squares are minimised, from NumPy to NumPy.

    In between it is on the backend.
    """
    measured = ([float(number) for number in text.split()] for text in (DENSITY, MOBILITY))
    x, y = (xp.asarray(numbers, dtype=xp.float64) for numbers in measured)

    def residuals(parameters: Any) -> Any:
        b = ag.asarray(parameters, backend=x)
        return ag.asarray(model(b, x) - y, backend=parameters)

    return residuals


def fit(residuals: Callable[[Any], Any], start: Any, exact: bool) -> Fit:
    """Fit from a start, with an exact Jacobian or with finite differences.

    The covariance of the parameters is that of the linearised model: the residuals' variance times
    the inverse of the product of the Jacobian's transpose with the Jacobian.
    """
    evaluations = 0

    def counted(parameters: Any) -> Any:
        nonlocal evaluations
        evaluations += 1
        return np.asarray(residuals(parameters))

    found = least_squares(
        counted,
        start,
        jac=ag.jacobian(residuals) if exact else "2-point",
        x_scale="jac",
        **dict.fromkeys(("ftol", "xtol", "gtol"), 1e-14),
    )
    made = Fit(
        "ag.jacobian" if exact else "finite differences",
        *(found.x, None, found.fun, evaluations, found.njev),
    )
    triangle = np.linalg.qr(found.jac, mode="r")
    made.errors = made.deviation * np.linalg.norm(np.linalg.inv(triangle), axis=1)
    return made


def digits(found: Any, certified: Any) -> float:
    """Return how many digits are right in the worst of some numbers, eleven at the most."""
    error = np.max(np.abs(np.asarray(found) / np.asarray(certified) - 1.0))
    return float(min(11.0, -np.log10(max(error, 1e-16))))


def report(fits: list[Fit]) -> None:
    """Print the parameters, and how many digits each fit has right."""
    best = fits[0]
    for number, pair in enumerate(zip(best.parameters, best.errors, strict=True), 1):
        print("b{}  {:17.10f}  ±{:15.10f}".format(number, *pair))
    print(f"standard deviation of the residuals: {best.deviation:.9f}")
    print(f"{'':18}  residuals  Jacobians  digits of parameters  of standard errors")
    for each in fits:
        right = digits(each.parameters, CERTIFIED), digits(each.errors, CERTIFIED_ERRORS)
        print(
            f"{each.name:18} {each.evaluations:10} {each.jacobians:10} "
            f"{right[0]:21.1f} {right[1]:19.1f}"
        )


def plot(fitted: Fit, start: Any, path: str) -> None:
    """Draw the measurements, the model before and after, and the residuals."""
    x, y = (np.asarray(text.split(), dtype=float) for text in (DENSITY, MOBILITY))
    curve = np.linspace(x[0], x[-1], 400)
    blue, red, *_, grey = COLOURS
    with figure(path, 3, 1, figsize=(7.0, 5.2)) as (above, below):
        above.plot(curve, model(start, curve), "--", color=grey, label="start")
        above.plot(curve, model(fitted.parameters, curve), color=red, label="fit")
        above.plot(x, y, "o", color=blue, markersize=4, label="measured")
        above.set(ylabel="electron mobility", title="Thurber: seven parameters, 37 measurements")
        above.legend()
        spread = 2.0 * fitted.deviation
        below.axhspan(-spread, spread, color=red, alpha=0.15, label="± 2 standard deviations")
        below.plot(x, -fitted.residuals, "o", color=blue, markersize=4)
        below.set(xlabel="logarithm of the density", ylabel="measured minus fit")
        below.legend(loc="upper left")


def main() -> None:
    """Fit by exact Jacobians and by finite differences, and compare with NIST's values."""
    made = parser(__doc__)
    made.add_argument("--start", choices=list(STARTS), default="far", help="one of NIST's two")
    options = made.parse_args()
    residuals = residuals_of(namespace(options.backend))
    start = np.asarray(STARTS[options.start])
    fits = [fit(residuals, start, exact) for exact in (True, False)]
    report(fits)
    if options.plot:
        plot(fits[0], start, options.plot)


if __name__ == "__main__":
    main()
