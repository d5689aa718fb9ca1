"""Follow the Brusselator along a line, and ask what its end depends on, on any backend.

Two substances react and diffuse: u_t = a + u**2 v - (b + 1) u + d u_xx, and v_t = b u - u**2 v +
d v_xx (Hairer and Wanner, "Solving ordinary differential equations II", 1996, section IV.10). On a
fine grid the equation is stiff. SciPy's BDF takes long steps, with Jacobians of a few passes, since
each point knows only its neighbours; and the derivatives of the end by a, b and d take one
backward pass. With ``--points 50000`` there are 10**5 unknowns.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from command import figure, namespace, parser

import agnograd as ag

RATES = {"a": 1.0, "b": 3.0, "d": 0.02}
SECONDS = 10.0
TIMES = 60  # of the picture


def equation(xp: Any, points: int) -> Callable[[Any, Any, Any], Any]:
    """Return the function that gives the derivative of both substances, one after the other."""
    finer = (points + 1) ** 2

    def laplacian(x: Any, end: Any) -> Any:
        wide = xp.concat([end[None], x, end[None]])
        return (wide[2:] - 2.0 * x + wide[:-2]) * finer

    def slope(t: Any, y: Any, rates: Any) -> Any:
        a, b, d = rates[0], rates[1], rates[2]
        u, v = y[:points], y[points:]
        reaction = u * u * v
        return xp.concat(
            [
                a + reaction - (b + 1.0) * u + d * laplacian(u, a),
                b * u - reaction + d * laplacian(v, b / a),
            ]
        )

    return slope


def start(xp: Any, points: int) -> Any:
    """Return a wave of the first substance, and an even second one."""
    places = np.linspace(0.0, 1.0, points + 2)[1:-1]
    y0 = np.concatenate([1.0 + np.sin(2.0 * np.pi * places), np.full(points, 3.0)])
    return xp.asarray(y0.tolist(), dtype=xp.float64)


def plot(times: Any, u: Any, path: str) -> None:
    """Draw the first substance by place and time."""
    with figure(path, figsize=(5.6, 3.6)) as axes:
        extent = (0.0, 1.0, times[0], times[-1])
        drawn = axes.imshow(u.T, aspect="auto", origin="lower", cmap="viridis", extent=extent)
        axes.figure.colorbar(drawn, ax=axes, label="u")
        axes.set(title="The Brusselator along a line", xlabel="place", ylabel="time")


def main() -> None:
    """Solve the equation, and differentiate the mean of the first substance at the end."""
    made = parser(__doc__)
    made.add_argument("--points", type=int, default=1000, help="of the line (default: 1000)")
    made.add_argument("--rtol", type=float, default=1e-5, help="of the steps (default: 1e-5)")
    options = made.parse_args()
    if options.points < 2:
        made.error("--points must be at least 2")
    xp, n = namespace(options.backend), options.points
    rates = xp.asarray(list(RATES.values()), dtype=xp.float64)
    fun, y0 = equation(xp, n), start(xp, n)
    steps = {"rtol": options.rtol, "atol": options.rtol / 100, "sparse": True}

    def mean(rates: Any) -> Any:
        solution = xp.integrate.solve_ivp(fun, (0.0, SECONDS), y0, "BDF", args=(rates,), **steps)
        print(f"{solution.t.shape[0] - 1} steps")
        return xp.mean(solution.y[:n, -1])

    began = perf_counter()
    value, gradient = ag.value_and_grad(mean)(rates)
    seconds = perf_counter() - began
    print(f"the mean of u is {float(value):.6f} at the end; {2 * n:,} unknowns in {seconds:.1f} s")
    for name, number in zip(RATES, ag.asarray(gradient, backend="numpy").data, strict=True):
        print(f"by {name}: {number: .5f}")
    if options.plot:
        times = np.linspace(0.0, SECONDS, TIMES)
        with ag.no_grad():
            solution = xp.integrate.solve_ivp(
                fun, (0.0, SECONDS), y0, "BDF", times, (rates,), **steps
            )
        plot(times, ag.asarray(solution.y, backend="numpy").data[:n], options.plot)


if __name__ == "__main__":
    main()
