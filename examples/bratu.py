"""Solve Bratu's problem, a nonlinear equation on a square, with a sparse Jacobian on any backend.

The temperature u of a solid fuel, which is 0 at the border, satisfies u_xx + u_yy + s exp(u) = 0.
On a grid each point depends on its four neighbours: the Jacobian has five entries a row, and is
computed in five passes, however many points there are. ``ag.prepare`` finds its pattern and its
colours once. Newton's method takes a few steps, each with a sparse SciPy solver.

With ``--strength 7`` there is no solution: from about 6.81 on, the fuel explodes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from command import COLOURS, figure, namespace, parser
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve

import agnograd as ag

STEPS = 20


def residual(xp: Any, points: int, strength: float) -> Callable[[Any], Any]:
    """Return the function of the equation's left side at each point."""

    def f(u: Any) -> Any:
        wide = xp.zeros((points + 2, points + 2), dtype=xp.float64)
        wide[1:-1, 1:-1] = xp.reshape(u, (points, points))
        inner = wide[1:-1, 1:-1]
        sides = wide[2:, 1:-1] + wide[:-2, 1:-1] + wide[1:-1, 2:] + wide[1:-1, :-2]
        found = (sides - 4.0 * inner) * (points + 1) ** 2 + strength * xp.exp(inner)
        return xp.reshape(found, (-1,))

    return f


def on_host(x: Any) -> Any:
    """Return an array of any backend as NumPy's."""
    return ag.asarray(x, backend="numpy").data


def matrix_of(entries: Any) -> Any:
    """Return a triple of values, rows and columns as a sparse SciPy matrix."""
    values, rows, columns = map(on_host, entries[:3])
    return csc_array((values, (rows, columns)), shape=entries.shape)


def solve(f: Callable[[Any], Any], u: Any) -> Any:
    """Return where f is 0, by Newton's method; if it finds none, the program ends with a line."""
    start = perf_counter()
    jacobian = ag.prepare(ag.sparse_jacobian(f), u)
    print(
        f"prepared in {perf_counter() - start:.2f} s: {jacobian.pattern.count:,} entries of ",
        end="",
    )
    print(f"{u.size:,} x {u.size:,}, {jacobian.colouring.passes} passes")
    value = on_host(f(u))
    for step in range(1, STEPS + 1):
        start = perf_counter()
        matrix = matrix_of(jacobian(u))
        middle = perf_counter()
        u = u - ag.asarray(spsolve(matrix, value), backend=u)
        value = on_host(f(u))
        size = abs(value).max()
        print(
            f"step {step}: residual {size:.1e}, Jacobian {middle - start:.3f} s, "
            f"solver {perf_counter() - middle:.3f} s"
        )
        if size < 1e-8 * u.size:  # rounding errors grow with the number of points
            return on_host(u)
        if not np.isfinite(size):
            break
    sys.exit("Newton's method found no solution: from a strength of about 6.81 on there is none")


def plot(u: Any, jacobian: Any, path: str) -> None:
    """Draw the temperature, and where the entries of the Jacobian are."""
    with figure(path, ncols=2, figsize=(8.4, 3.8)) as (left, right):
        drawn = left.imshow(u, cmap="inferno", extent=(0, 1, 0, 1))
        left.figure.colorbar(drawn, ax=left, label="u")
        left.set(title="The temperature of the fuel", xlabel="x", ylabel="y")
        right.spy(jacobian, markersize=0.5, color=COLOURS[0])
        right.set(title=f"The {jacobian.nnz:,} entries of the Jacobian")


def main() -> None:
    """Solve the problem, and print the temperature in the middle."""
    made = parser(__doc__)
    made.add_argument("--points", type=int, default=316, help="along each side (default: 316)")
    made.add_argument("--strength", type=float, default=6.0, help="of the fuel (default: 6)")
    options = made.parse_args()
    if options.points < 2:
        sys.exit("--points must be at least 2")
    xp = namespace(options.backend)
    f = residual(xp, options.points, options.strength)
    found = solve(f, xp.zeros(options.points**2, dtype=xp.float64))
    temperature = found.reshape(options.points, options.points)
    print(f"{temperature.max():.6f} is the highest temperature")
    if options.plot:
        few = ag.sparse_jacobian(residual(xp, 12, options.strength))
        plot(temperature, matrix_of(few(xp.zeros(144, dtype=xp.float64))), options.plot)


if __name__ == "__main__":
    main()
