"""Fit a simulation through time: the orbit of a planet and the mass of its star, on any backend.

The planet was seen at some sixty moments, each time with an error. What is not known is where it
started, how fast, and how heavy its star is: five numbers. The simulation takes hundreds of steps,
and writes each into an array, ``path[t + 1, ...] = step(path[t, ...])``. The gradient of the fit's
error goes back through all of them; ``ag.hessian`` gives the standard errors of the numbers. The
first positions are fitted first, then twice as many, then all: a guess that is wrong soon loses the
planet, and a solver with it.

With ``--checkpoint N`` the graph keeps the planet's state only at every N-th step: the backward
pass computes what lies between them again. With ``--compile`` the steps are traced once, and run as
a program, with another one for the gradient.

Units: astronomical units (AU), years, and masses of the Sun.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from command import COLOURS, figure, namespace, parser
from scipy.optimize import minimize

import agnograd as ag

GRAVITY = 4.0 * math.pi**2  # AU³ / year² for the mass of the Sun: Kepler's third law
NAMES = ("x / AU", "y / AU", "v_x / (AU/year)", "v_y / (AU/year)", "star's mass / Sun's")
TRUTH = (1.2, 0.3, -1.0, 4.4, 1.1)
GUESS = (1.0, 0.5, -1.6, 4.6, 0.9)
NOISE = 0.02  # AU: the standard deviation of each coordinate that was seen
STEP = 0.004  # years
EVERY = 10  # steps from one observation to the next


def pull(xp: Any, position: Any, mass: Any) -> Any:
    """Return the acceleration of the planet in AU / year², by Newton's law."""
    return -GRAVITY * mass * position / xp.sum(position * position) ** 1.5


def step(xp: Any, state: Any, mass: Any) -> Any:
    """Return position and velocity one step on, by the leapfrog method (kick, drift, kick)."""
    position, velocity = state[:2], state[2:]
    velocity = velocity + 0.5 * STEP * pull(xp, position, mass)
    position = position + STEP * velocity
    velocity = velocity + 0.5 * STEP * pull(xp, position, mass)
    return xp.concat([position, velocity])


def run(xp: Any, steps: int, state: Any, mass: Any) -> Any:
    """Return the planet's states, of shape (steps + 1, 4), from its first one on."""
    path = xp.zeros((steps + 1, 4), dtype=xp.float64)
    path[0, ...] = state
    for t in range(steps):
        path[t + 1, ...] = step(xp, path[t, ...], mass)
    return path


def simulate(xp: Any, parameters: Any, steps: int, checkpoint: int = 0) -> Any:
    """Return the planet's states; between checkpoints, a backward pass computes them again."""
    state, mass = parameters[:4], parameters[4]
    if not checkpoint:
        return run(xp, steps, state, mass)
    again = ag.checkpoint(run)
    paths = [xp.reshape(state, (1, 4))]
    for start in range(0, steps, checkpoint):
        path = again(xp, min(checkpoint, steps - start), state, mass)
        paths.append(path[1:, ...])
        state = path[-1, ...]
    return xp.concat(paths)


def objective(xp: Any, seen: Any, checkpoint: int, compiles: bool = False) -> Callable[[Any], Any]:
    """Return half of the squared errors, in units of the noise's: from NumPy to NumPy."""
    seen = xp.asarray(seen.tolist(), dtype=xp.float64)
    steps = EVERY * (seen.shape[0] - 1)

    def misfit(parameters: Any) -> Any:
        errors = (simulate(xp, parameters, steps, checkpoint)[::EVERY, :2] - seen) / NOISE
        return 0.5 * xp.sum(errors * errors)

    on_backend = ag.compile(misfit) if compiles else misfit

    def f(parameters: Any) -> Any:
        found = on_backend(ag.asarray(parameters, backend=seen))
        return ag.asarray(found, backend=parameters)

    return f


def fit(xp: Any, seen: Any, checkpoint: int, compiles: bool = False) -> tuple[Any, Any]:
    """Return the five numbers and their standard errors, from the curvature at the minimum."""
    found = np.asarray(GUESS)
    for count in (len(seen) // 4, len(seen) // 2, len(seen)):
        f = objective(xp, seen[:count], checkpoint, compiles)
        before = 2 * float(f(found)) / (2 * count)
        result = minimize(ag.value_and_grad(f), found, jac=True, method="BFGS", tol=1e-2)
        found, after = result.x, 2 * result.fun / (2 * count)
        print(
            f"{count:3} positions: squared error {before:8.2f} -> {after:.2f} of the noise's, "
            f"{result.nit} iterations, {result.nfev} passes"
        )
    once = objective(xp, seen, checkpoint)  # to trace it would take longer than to compute it
    return found, np.sqrt(np.diag(np.linalg.inv(ag.hessian(once)(found))))


def kept(f: Callable[[Any], Any]) -> int:
    """Return how many bytes of arrays the graph keeps at the most, until there is a gradient."""
    with ag.hooks("memory") as (memory,):
        ag.grad(f)(np.asarray(GUESS))
    peak: int = memory.peak
    return peak


def report(fitted: Any, errors: Any) -> None:
    """Print the numbers before and after, and the true ones."""
    print(f"{'':20} {'guess':>9} {'fit':>9} {'error':>8} {'truth':>9}")
    for name, *row in zip(NAMES, GUESS, fitted, errors, TRUTH, strict=True):
        print("{:20} {:9.4f} {:9.4f} {:8.4f} {:9.4f}".format(name, *row))


def plot(paths: dict[str, Any], seen: Any, path: str) -> None:
    """Draw the orbits, the star, and where the planet was seen."""
    blue, red, green, _, grey = COLOURS
    styles = {"guess": (grey, "-", 1.2), "truth": (green, "-", 4.0), "fit": (red, "-", 1.2)}
    with figure(path, figsize=(6.4, 4.6)) as axes:
        for name, states in paths.items():
            colour, line, width = styles[name]
            axes.plot(*states[:, :2].T, line, color=colour, linewidth=width, label=name)
        axes.plot(*seen.T, ".", color=blue, label="seen")
        axes.plot(0.0, 0.0, "*", color="#E69F00", markersize=16)
        axes.set(
            xlabel="x / AU",
            ylabel="y / AU",
            title=f"An orbit fitted to {len(seen)} noisy positions",
            aspect="equal",
        )
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def main() -> None:
    """Simulate what is seen, fit it, and compare with the truth."""
    made = parser(__doc__)
    made.add_argument("--positions", type=int, default=60, help="that were seen (default: 60)")
    made.add_argument("--checkpoint", type=int, default=0, metavar="N", help="every N steps")
    made.add_argument("--compile", action="store_true", help="compile the simulation")
    options = made.parse_args()
    if options.positions < 12 or options.checkpoint < 0:
        made.error("--positions must be 12 or more, and --checkpoint not negative")
    xp = namespace(options.backend)
    steps = EVERY * (options.positions - 1)

    def path(parameters: Any) -> Any:
        return np.asarray(simulate(xp, xp.asarray(list(parameters), dtype=xp.float64), steps))

    truth = path(TRUTH)
    exact = truth[::EVERY, :2]
    seen = exact + np.random.default_rng(options.seed).normal(0.0, NOISE, exact.shape)
    size = kept(objective(xp, seen, options.checkpoint))
    print(f"the graph of {steps} steps keeps {size / 1000:.1f} kB")
    fitted, errors = fit(xp, seen, options.checkpoint, options.compile)
    report(fitted, errors)
    if options.plot:
        paths = {"guess": path(GUESS), "truth": truth, "fit": path(fitted.tolist())}
        plot(paths, seen, options.plot)


if __name__ == "__main__":
    main()
