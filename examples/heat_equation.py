"""Find the conductivity of a plate from its temperatures, by several processes, on any backend.

It runs as one process or as several, on one machine or many:

    python examples/heat_equation.py
    python -m agnograd_distributed -n 2 examples/heat_equation.py
    mpiexec -n 2 python examples/heat_equation.py

The temperature u of an insulated plate satisfies u_t = div(k grad u); its conductivity k depends on
the place. Finite volumes in space and explicit steps in time simulate two experiments. Each process
has a stripe of the plate, and ``xp.dist.halo`` gives it the rows beside its own. The gradient of
the misfit by log k in every cell goes back through all steps and all exchanges of rows. Every
process runs SciPy's L-BFGS-B: as all get the same numbers, bit for bit, all do the same.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from command import figure, namespace, parser
from scipy.optimize import minimize

import agnograd as ag
from agnograd_distributed import Communicator, communicator, shard

SECONDS = 0.05
TIMES = 8  # at which temperatures are observed
STRIDE = 3  # there is a sensor in each third cell of each third row
NOISE = 0.002  # of the sensors
SMOOTHNESS = 0.05  # what squared differences of log k between cells count, beside the misfit
BOUND = 1.5  # of log k: beyond it, explicit steps would not be stable


def truth(points: int) -> tuple[Any, Any]:
    """Return log k, high at one place and low at another, and the temperatures at the start.

    The latter have an axis for the experiments: one starts warm at the left, the other at the top.
    """
    middles = (np.arange(points) + 0.5) / points
    y, x = np.meshgrid(middles, middles, indexing="ij")

    def bump(at_x: float, at_y: float) -> Any:
        return np.exp(-((x - at_x) ** 2 + (y - at_y) ** 2) / 0.04)

    return bump(0.7, 0.3) - bump(0.3, 0.65), np.stack([1.0 - x, 1.0 - y], axis=-1)


class Plate:
    """The stripe of the plate that this rank has, and what is observed there.

    Arrays have the shape (rows, columns, experiments), or (rows, columns) for log k.
    """

    def __init__(
        self, xp: Any, comm: Communicator, points: int, width: int, again: bool, seed: int
    ) -> None:
        self.xp, self.comm, self.points, self.width = xp, comm, points, width
        # Stable if a step moves less than a quarter of a cell's heat to each neighbour.
        interval = SECONDS / TIMES * points**2
        self.exchanges = int(np.ceil(interval * np.exp(BOUND) / 0.24 / width))
        self.moved = interval / (self.exchanges * width)  # of heat in a step, where k is 1
        log_k, start = truth(points)
        self.start = self._part(start)
        sensors = np.zeros((points, points, 1))
        sensors[STRIDE // 2 :: STRIDE, STRIDE // 2 :: STRIDE] = 1.0
        self.sensors = self._part(sensors)
        self.count = int(sensors.sum()) * TIMES * start.shape[-1]
        noise = np.random.default_rng(seed).normal(0.0, NOISE, (points, TIMES, points, 2))
        self.inside = self._halo(self._part(np.ones((points, points))))  # 0 beyond the plate
        self.advanced = ag.checkpoint(self._advanced) if again else self._advanced
        self.observed = self.simulated(self._part(log_k)) + xp.moveaxis(self._part(noise), 1, 0)

    def _part(self, whole: Any) -> Any:
        """Return this rank's rows of a NumPy array as an array of the backend."""
        return self.xp.asarray(shard(whole, self.comm).tolist(), dtype=self.xp.float64)

    def _halo(self, x: Any) -> Any:
        """Return a stripe with the neighbours' rows around it, zeros beyond the plate."""
        return self.xp.dist.halo(x, self.comm, self.width)

    def _conductances(self, log_k: Any) -> tuple[Any, Any]:
        """Return how much heat flows between rows, and between columns, in a step.

        The conductivities between cells are harmonic means, and nothing flows over the border.
        """
        k, inside = self.xp.exp(self._halo(log_k)), self.inside
        one, other, left, right = k[:-1, :], k[1:, :], k[:, :-1], k[:, 1:]
        rows = 2.0 * one * other / (one + other) * inside[:-1, :] * inside[1:, :]
        columns = 2.0 * left * right / (left + right)
        return self.moved * rows[:, :, None], self.moved * columns[:, :, None]

    def _advanced(self, u: Any, rows: Any, columns: Any) -> Any:
        """Return the temperatures at the next time of observations.

        Rows of neighbours are exchanged once for as many steps as there are: each step makes one
        more of them wrong, at both ends, and none of this rank's own.
        """
        xp, width = self.xp, self.width
        for _ in range(self.exchanges):
            u = self._halo(u)
            above, beside = xp.zeros_like(u[:1, :, :]), xp.zeros_like(u[:, :1, :])
            for _ in range(width):
                down = xp.diff(rows * xp.diff(u, axis=0), axis=0, prepend=above, append=above)
                right = columns * xp.diff(u, axis=1)
                u = u + down + xp.diff(right, axis=1, prepend=beside, append=beside)
            u = u[width:-width, :, :]
        return u

    def simulated(self, log_k: Any) -> Any:
        """Return the temperatures of this rank's cells at all times."""
        rows, columns = self._conductances(log_k)
        found = [self.start]
        for _ in range(TIMES):
            found.append(self.advanced(found[-1], rows, columns))
        return self.xp.stack(found[1:])

    def misfit(self, log_k: Any) -> Any:
        """Return this rank's part of the mean squared error, in units of the noise's."""
        errors = self.sensors * (self.simulated(log_k) - self.observed)
        return self.xp.sum(errors * errors) / (NOISE**2 * self.count)

    def roughness(self, log_k: Any) -> Any:
        """Return this rank's part of the sum of squared differences between cells."""
        before = slice(self.width - 1, -self.width - 1)  # the row before each of this rank's
        down = (log_k - self._halo(log_k)[before, :]) * self.inside[before, :]
        right = self.xp.diff(log_k, axis=1)
        return self.xp.sum(down * down) + self.xp.sum(right * right)

    def objective(self, vector: Any) -> tuple[float, Any]:
        """Return what is minimised, and its gradient: of the whole plate, and NumPy's."""

        def part(whole: Any) -> Any:
            log_k = shard(whole, self.comm)
            return self.misfit(log_k) + SMOOTHNESS * self.roughness(log_k)

        whole = ag.asarray(vector.reshape(self.points, self.points), backend=self.start)
        value, gradient = ag.value_and_grad(part)(whole)
        # The parts add up: each rank's gradient is the sum's, by its own rows, and 0 by all others.
        parts = np.append(ag.asarray(gradient, backend="numpy").data, float(value))
        total = self.comm.all_sum(parts)
        return float(total[-1]), total[:-1]


def fit(plate: Plate, iterations: int) -> Any:
    """Return the log k that L-BFGS-B finds, from one that is 0 everywhere."""
    return minimize(
        plate.objective,
        np.zeros(plate.points**2),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-BOUND, BOUND)] * plate.points**2,
        options={"maxiter": iterations},
    )


def plot(exact: Any, found: Any, path: str) -> None:
    """Draw log k as it is and as it was found, with the sensors."""
    middles = (np.arange(len(exact)) + 0.5) / len(exact)
    sensors = np.meshgrid(*[middles[STRIDE // 2 :: STRIDE]] * 2)
    with figure(path, ncols=2, sharey=True, figsize=(8.0, 3.6)) as both:
        for axes, title, values in zip(both, ("the truth", "found"), (exact, found), strict=True):
            drawn = axes.imshow(values, cmap="coolwarm", vmin=-1.0, vmax=1.0, extent=(0, 1, 1, 0))
            axes.set(title=title, xlabel="x")
        both[1].plot(*sensors, "k.", markersize=2.0)
        both[0].set(ylabel="y")
        both[0].figure.colorbar(drawn, ax=both, label="log k")


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    made = parser(__doc__)
    made.add_argument("--points", type=int, default=24, help="along each side (default: 24)")
    made.add_argument("--iterations", type=int, default=30, help="at most (default: 30)")
    made.add_argument(
        "--width", type=int, default=4, help="how many steps follow an exchange (default: 4)"
    )
    made.add_argument(
        "--checkpoint", action="store_true", help="keep few temperatures, and compute them again"
    )
    options = made.parse_args()
    if options.width < 1 or options.iterations < 1:
        made.error("--width and --iterations must be positive")
    return options


def main() -> None:
    """Fit log k, and print how well it explains what was observed, and how near the truth it is."""
    options = arguments()
    xp, points = namespace(options.backend), options.points
    with communicator() as comm:
        if points // comm.size < options.width:
            sys.exit(f"--points must be {options.width * comm.size} or more: --width for each rank")
        plate = Plate(xp, comm, points, options.width, options.checkpoint, options.seed)
        exact, _ = truth(points)
        start = np.zeros_like(exact)
        found = fit(plate, options.iterations)
        log_k = found.x.reshape(exact.shape)
        misfits = [plate.objective(each)[0] for each in (start, log_k)]
        if comm.rank != 0:
            return
        errors = [np.linalg.norm(each - exact) / np.linalg.norm(exact) for each in (start, log_k)]
        steps = plate.exchanges * options.width * TIMES
        print(f"{points} x {points} cells, {steps} steps, {comm.size} ranks")
        print(f"{found.nit} iterations, {found.nfev} passes through all steps")
        print(f"objective:      {misfits[0]:10.6f} -> {misfits[1]:.6f}; the noise's misfit is 1")
        print(f"error of log k: {errors[0]:10.6f} -> {errors[1]:.6f}")
    if options.plot:
        plot(exact, log_k, options.plot)


if __name__ == "__main__":
    main()
