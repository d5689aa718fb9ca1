"""Swing a pendulum up with a motor that is too weak to lift it, by collocation.

Angle, speed and torque at equally spaced times are the unknowns of one large problem for SciPy: the
least effort for which the equation of motion holds in every interval (Hermite and Simpson; Betts,
"Practical methods for optimal control", 2010, section 4.5). An interval knows only its own ends.
So the Jacobian of the constraints and the Hessians are sparse, and are computed in a few passes,
however long the movement is.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import numpy as np
from command import COLOURS, figure, namespace, parser
from scipy.optimize import Bounds, minimize

import agnograd as ag
from agnograd_scipy import Derivatives

SECONDS = 8.0


def slope(xp: Any, angle: Any, speed: Any, torque: Any) -> tuple[Any, Any]:
    """Return how angle and speed change; angle 0 is hanging down, and gravity is 1."""
    return speed, torque - xp.sin(angle)


class SwingUp:
    """The problem on a grid of times.

    Parameters
    ----------
    xp : namespace
    intervals : int
        How many there are between the times.
    limit : float
        The largest torque.
    """

    def __init__(self, xp: Any, intervals: int, limit: float) -> None:
        self.xp, self.h, self.limit = xp, SECONDS / intervals, limit
        self.times = np.linspace(0.0, SECONDS, intervals + 1)
        line = np.pi * self.times / SECONDS
        still = np.zeros_like(line)
        guess = {"angle": line, "speed": still, "torque": still}
        self.guess = {name: xp.asarray(x.tolist(), dtype=xp.float64) for name, x in guess.items()}

    def effort(self, x: dict[str, Any]) -> Any:
        """Return the integral of the squared torque."""
        squares = x["torque"] ** 2
        return 0.5 * self.h * self.xp.sum(squares[1:] + squares[:-1])

    def defects(self, x: dict[str, Any]) -> list[Any]:
        """Return by how much the equation of motion is missed in each interval."""
        names, h = ("angle", "speed"), self.h
        ends = slope(self.xp, *x.values())
        middle = [
            0.5 * (x[name][1:] + x[name][:-1]) + h / 8 * (each[:-1] - each[1:])
            for name, each in zip(names, ends, strict=True)
        ]
        middle.append(0.5 * (x["torque"][1:] + x["torque"][:-1]))
        return [
            x[name][1:] - x[name][:-1] - h / 6 * (each[:-1] + 4.0 * half + each[1:])
            for name, each, half in zip(names, ends, slope(self.xp, *middle), strict=True)
        ]

    def rests(self, x: dict[str, Any]) -> Any:
        """Return angle and speed before and after, where the pendulum is at rest."""
        return self.xp.stack([x[name][place] for name in ("angle", "speed") for place in (0, -1)])

    def solve(self) -> tuple[Any, Any]:
        """Return the movement, and the derivatives of its constraints."""
        made = [Derivatives(each, self.guess, sparse=True) for each in (self.effort, self.defects)]
        effort, defects = made
        rests = Derivatives(self.rests, self.guess, sparse=True)
        free = effort.x0 * 0.0 + np.inf
        free[-len(self.times) :] = self.limit  # leaves lie in the order of their names
        with np.errstate(over="ignore", invalid="ignore"):  # where there is no movement
            found = minimize(
                effort.value,
                effort.x0,
                jac=effort.jac,
                hess=effort.hess,
                method="trust-constr",
                bounds=Bounds(-free, free),
                constraints=[
                    defects.constraint(0.0, 0.0),
                    rests.constraint([0.0, np.pi, 0.0, 0.0], [0.0, np.pi, 0.0, 0.0]),
                ],
                options={"gtol": 1e-6, "xtol": 1e-9, "maxiter": 300},
            )
        if found.constr_violation > 1e-6:
            sys.exit(f"no movement was found: {found.message} Give a larger --limit")
        print(f"effort {found.fun:.4f} after {found.nit} iterations")
        return effort.tree(found.x), defects


def checked(xp: Any, problem: SwingUp, torque: Any) -> float:
    """Return the angle that an independent solution of the equation ends at, for this torque."""

    def fun(t: float, y: Any) -> Any:
        return xp.stack(slope(xp, y[0], y[1], float(np.interp(t, problem.times, torque))))

    y0 = xp.zeros(2, dtype=xp.float64)
    with ag.no_grad():
        steps = {"rtol": 1e-8, "atol": 1e-10, "max_step": problem.h}
        solution = xp.integrate.solve_ivp(fun, (0.0, SECONDS), y0, **steps)
    return float(solution.y[0, -1])


def plot(problem: SwingUp, movement: dict[str, Any], defects: Any, path: str) -> None:
    """Draw the movement, and the entries of the Jacobian of its constraints."""
    labels = ("angle / rad", "speed / (rad/s)", "torque")
    with figure(path, ncols=2, figsize=(9.0, 3.8)) as (left, right):
        for colour, label, each in zip(COLOURS, labels, movement.values(), strict=False):
            left.plot(problem.times, each, color=colour, label=label)
        left.axhline(np.pi, color=COLOURS[-1], linewidth=0.8, linestyle=":")
        left.set(title="Up by swinging", xlabel="time / s")
        left.legend()
        pattern = defects.jac_sparsity
        right.spy(pattern, markersize=1.5, color=COLOURS[0])
        right.set_title(f"The {pattern.nnz:,} entries of the constraints' Jacobian")


def main() -> None:
    """Find the movement, and check it by an independent solution."""
    made = parser(__doc__)
    made.add_argument("--intervals", type=int, default=60, help="of time (default: 60)")
    made.add_argument("--limit", type=float, default=0.5, help="the largest torque (default: 0.5)")
    options = made.parse_args()
    if options.intervals < 10 or options.limit <= 0.0:
        made.error("--intervals must be 10 or more, and --limit positive")
    xp = namespace(options.backend)
    problem = SwingUp(xp, options.intervals, options.limit)
    start = perf_counter()
    movement, defects = problem.solve()
    found = {name: ag.asarray(x, backend="numpy").data for name, x in movement.items()}
    pattern = defects.jac_sparsity
    print(
        f"in {perf_counter() - start:.1f} s; the Jacobian has {pattern.nnz:,} entries of "
        f"{pattern.shape[0]:,} x {pattern.shape[1]:,}"
    )
    print(f"the largest torque is {abs(found['torque']).max():.3f}; 1 would hold it anywhere")
    angle = checked(xp, problem, found["torque"])
    print(f"an independent solution ends at {angle:.4f} rad, and pi is {np.pi:.4f}")
    if options.plot:
        plot(problem, found, defects, options.plot)


if __name__ == "__main__":
    main()
