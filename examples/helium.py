"""Find the energy of a helium atom by variational Monte Carlo, on any backend.

The wave function is a product of exponentials in the distances of both electrons from the nucleus,
and of a Jastrow factor in their distance from each other (as in Foulkes et al., "Quantum Monte
Carlo simulations of solids", 2001). Electrons walk by Metropolis's rule, and three parameters
follow the gradient of the energy, in which ``ag.laplacian`` gives the kinetic part: value,
gradient and Laplacian of the logarithm of the wave function come from one pass.

Lengths are in Bohr radii, energies in Hartree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from command import figure, namespace, parser

import agnograd as ag

EXACT = -2.903724  # Pekeris, "Ground state of two-electron atoms", 1958
GUESS = (1.6, 0.2, 0.1)
WALK = 0.5  # standard deviation of a move
BETWEEN = 10  # moves of all walkers between two steps of the parameters
RATE = 0.1


def log_wave(xp: Any, parameters: Any, r: Any) -> Any:
    """Return the logarithm of the wave function of electrons at r, of shape (2, 3)."""
    one, two = xp.linalg.vector_norm(r, axis=1)[0], xp.linalg.vector_norm(r, axis=1)[1]
    apart = xp.linalg.vector_norm(r[0, :] - r[1, :])
    cusp = apart / (2.0 * (1.0 + parameters[1] * apart))  # of unlike spins
    return cusp - parameters[0] * (one + two) + parameters[2] * one * two / (1.0 + one * two)


def local_energy(xp: Any, parameters: Any) -> Callable[[Any], Any]:
    """Return the energy at a place, which a sample of the squared wave function averages."""
    wave = ag.laplacian(lambda r: log_wave(xp, parameters, r), lower=True)

    def energy(r: Any) -> Any:
        _, slope, laplacian = wave(r)
        distances = xp.linalg.vector_norm(r, axis=1)
        potential = -xp.sum(2.0 / distances) + 1.0 / xp.linalg.vector_norm(r[0, :] - r[1, :])
        return potential - 0.5 * (laplacian + xp.sum(slope**2))

    return energy


class Walkers:
    """Places of many atoms' electrons, which are distributed as the squared wave function."""

    def __init__(self, xp: Any, count: int, seed: int) -> None:
        self.xp, self.random = xp, np.random.default_rng(seed)
        self.places = self.random.normal(0.0, 0.6, (count, 2, 3))
        self.log = ag.compile(lambda p, r: ag.vmap(lambda r: log_wave(xp, p, r))(r))

    def at(self, parameters: Any, places: Any) -> Any:
        """Return the logarithm of the wave function at places, on the host."""
        return np.array(self.log(parameters, self.array(places)))

    def array(self, places: Any) -> Any:
        """Return places as an array of the backend."""
        return self.xp.asarray(places, dtype=self.xp.float64).data

    def walk(self, parameters: Any, moves: int) -> Any:
        """Move all walkers some times; return their places as an array of the backend."""
        known = self.at(parameters, self.places)
        for _ in range(moves):
            there = self.places + self.random.normal(0.0, WALK, self.places.shape)
            found = self.at(parameters, there)
            taken = self.random.random(len(known)) < np.exp(2.0 * (found - known))
            self.places[taken], known[taken] = there[taken], found[taken]
        return self.array(self.places)


def step(xp: Any) -> Callable[[Any, Any], Any]:
    """Return a compiled function of parameters and places: the energies, and their gradient."""

    def both(parameters: Any, places: Any) -> Any:
        energies = ag.vmap(local_energy(xp, parameters))(places)

        def weighed(parameters: Any) -> Any:
            logs = ag.vmap(lambda r: log_wave(xp, parameters, r))(places)
            return 2.0 * xp.mean((energies - xp.mean(energies)) * logs)

        return energies, ag.grad(weighed)(parameters)

    return ag.compile(both)  # type: ignore[no-any-return]


def main() -> None:
    """Minimise the energy, and measure it with the parameters that were found."""
    made = parser(__doc__)
    made.add_argument("--walkers", type=int, default=2000, help="atoms (default: 2000)")
    made.add_argument("--steps", type=int, default=60, help="of the parameters (default: 60)")
    options = made.parse_args()
    if options.walkers < 10 or options.steps < 1:
        made.error("--walkers must be 10 or more, and --steps 1 or more")
    xp = namespace(options.backend)
    walkers, both = Walkers(xp, options.walkers, options.seed), step(xp)
    parameters = np.asarray(GUESS)
    walkers.walk(walkers.array(parameters), 20 * BETWEEN)
    history = []
    for _ in range(options.steps):
        given = walkers.array(parameters)
        energies, gradient = both(given, walkers.walk(given, BETWEEN))
        history.append(float(np.mean(np.asarray(energies))))
        parameters = parameters - RATE * np.asarray(gradient)
    given, blocks = walkers.array(parameters), []
    for _ in range(options.steps):  # far enough apart to be nearly independent
        energies, _ = both(given, walkers.walk(given, BETWEEN))
        blocks.append(float(np.mean(np.asarray(energies))))
    error = np.std(blocks, ddof=1) / len(blocks) ** 0.5 if len(blocks) > 1 else float("nan")
    print(f"energy with the first parameters  {history[0]:9.4f}")
    print(f"energy with the last ones         {np.mean(blocks):9.4f} +- {error:.4f}")
    print(f"exact (Pekeris, 1958)             {EXACT:9.4f}")
    if options.plot:
        with figure(options.plot, figsize=(6.4, 3.6)) as axes:
            axes.plot(history, label="variational Monte Carlo")
            axes.axhline(EXACT, color="#7F7F7F", label="exact")
            axes.set(xlabel="step", ylabel="energy / Hartree")
            axes.legend()


if __name__ == "__main__":
    main()
