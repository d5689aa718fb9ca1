"""Solve the heat equation with a network that knows no data, on any backend.

The network u(t, x) is trained to satisfy u_t = k u_xx at points inside, to begin as sin(pi x), and
to be 0 at both ends (Raissi, Perdikaris and Karniadakis, "Physics-informed neural networks", 2019).
``ag.linear_pde`` gives the residual of the equation at each point in one pass, and SciPy's L-BFGS-B
follows the gradient of its square. The exact solution is exp(-k pi^2 t) sin(pi x).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from command import figure, namespace, parser
from scipy.optimize import minimize

import agnograd as ag

CONDUCTIVITY = 0.3
WIDTHS = (2, 16, 16, 1)
WEIGHT = 20.0  # of the start and the ends, beside the equation


def exact(t: Any, x: Any) -> Any:
    """Return the solution, on the host."""
    return np.exp(-CONDUCTIVITY * np.pi**2 * t) * np.sin(np.pi * x)


def layers(xp: Any, weights: Any) -> list[tuple[Any, Any]]:
    """Return matrices and biases, which lie one after the other in ``weights``."""
    found, start = [], 0
    for before, after in pairwise(WIDTHS):
        ends = start + before * after, start + before * after + after
        matrix = xp.reshape(weights[start : ends[0]], (before, after))
        found.append((matrix, weights[ends[0] : ends[1]]))
        start = ends[1]
    return found


def network(xp: Any, weights: Any, p: Any) -> Any:
    """Return u at a point p = (t, x), or at many, one in each row."""
    (first, *inner) = layers(xp, weights)
    y = xp.matmul(p, first[0]) + first[1]
    for matrix, bias in inner:
        y = xp.matmul(xp.tanh(y), matrix) + bias
    return y[..., 0]


class Loss:
    """How far a network is from a solution, at random points.

    Parameters
    ----------
    xp : namespace
        Of the backend.
    points : int
        How many points there are inside, at the start, and at the ends.
    seed : int
        Of the points.
    """

    def __init__(self, xp: Any, points: int, seed: int) -> None:
        rng, self.xp = np.random.default_rng(seed), xp
        inside, start, ends = (
            rng.random((points, 2)),
            rng.random((points, 2)),
            rng.random((points, 2)),
        )
        start[:, 0], ends[:, 1] = 0.0, np.arange(points) % 2
        self.inside, self.given = self.array(inside), self.array(np.concatenate([start, ends]))
        self.values = self.array(np.concatenate([exact(0.0, start[:, 1]), np.zeros(points)]))

    def array(self, values: Any) -> Any:
        """Return an array of the backend."""
        return self.xp.asarray(values, dtype=self.xp.float64).data

    def __call__(self, weights: Any) -> Any:
        """Return the mean squares of the residual, and of the errors at the start and the ends."""
        xp = self.xp
        equation = ag.linear_pde(
            lambda p: network(xp, weights, p), {(1, 0): 1.0, (0, 2): -CONDUCTIVITY}
        )
        off = network(xp, weights, self.given) - self.values
        return xp.mean(ag.vmap(equation)(self.inside) ** 2) + WEIGHT * xp.mean(off**2)

    def on_host(self) -> Callable[[Any], tuple[float, Any]]:
        """Return the compiled loss and its gradient, as SciPy calls them."""
        both = ag.compile(ag.value_and_grad(self))

        def function(weights: Any) -> tuple[float, Any]:
            value, gradient = both(self.array(weights))
            return float(value), np.asarray(gradient, dtype=np.float64)

        return function


def main() -> None:
    """Train a network, and compare it with the exact solution."""
    made = parser(__doc__)
    made.add_argument("--points", type=int, default=200, help="of each kind (default: 200)")
    made.add_argument("--iterations", type=int, default=1500, help="at most (default: 1500)")
    options = made.parse_args()
    if options.points < 10 or options.iterations < 1:
        made.error("--points must be 10 or more, and --iterations 1 or more")
    xp = namespace(options.backend)
    loss, rng = Loss(xp, options.points, options.seed), np.random.default_rng(options.seed)
    start = np.concatenate(
        [
            part
            for before, after in pairwise(WIDTHS)
            for part in (rng.normal(0.0, before**-0.5, before * after), np.zeros(after))
        ]
    )
    counts = {"maxiter": options.iterations, "maxfun": 2 * options.iterations, "maxcor": 30}
    found = minimize(loss.on_host(), start, jac=True, method="L-BFGS-B", options=counts)
    times, places = np.meshgrid(np.linspace(0.0, 1.0, 41), np.linspace(0.0, 1.0, 41))
    grid = loss.array(np.stack([times.ravel(), places.ravel()], axis=1))
    values = np.asarray(network(xp, xp.asarray(loss.array(found.x)), grid).data).reshape(
        times.shape
    )
    error = np.abs(values - exact(times, places)).max()
    print(f"loss                 {found.fun:.2e} after {found.nit} iterations")
    print(f"largest error of u   {error:.2e}")
    if options.plot:
        with figure(options.plot, figsize=(6.4, 3.6)) as axes:
            for k in (0, 5, 10, 20, 40):
                axes.plot(places[:, k], values[:, k], label=f"t = {times[0, k]:.2f}")
                axes.plot(places[:, k], exact(times[0, k], places[:, k]), "k:", linewidth=0.8)
            axes.set(xlabel="x", ylabel="u", title="A network that satisfies the heat equation")
            axes.legend()


if __name__ == "__main__":
    main()
