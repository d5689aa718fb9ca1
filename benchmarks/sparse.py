"""Sparse Jacobians: how long they take, how their memory grows, and what they are worth in a fit.

The Jacobian is that of Bratu's problem on a square, whose rows have five entries. Each library and
each size runs in a process of its own: ``python -m benchmarks.sparse NAME SIDE ROUNDS`` measures
one, and prints what it found.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.children import ONE_THREAD, ROOT

__all__ = ["LIBRARIES", "OWN", "fits", "jacobians"]

STRENGTH = 6.0
# Of libraries that are compared: what has to be installed for them.
NEEDS = {
    "agnograd": "scipy",
    "agnograd_compiled": "scipy",
    "agnograd_jax": "jax",
    "asdex": "asdex",
    "sparsejac": "sparsejac",
}


def bratu(xp: Any, side: int) -> Callable[[Any], Any]:
    """Return the residual of Bratu's problem on a square with ``side`` points along each side."""

    def f(u: Any) -> Any:
        v = xp.reshape(u, (side, side))
        w = xp.pad(v, 1)
        sides = w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] + w[1:-1, :-2]
        return xp.reshape((sides - 4.0 * v) * (side + 1) ** 2 + STRENGTH * xp.exp(v), (-1,))

    return f


def product(u: Any, along: Any, side: int) -> Any:
    """Return the product of the Jacobian and a vector, by hand."""
    linear = bratu(np, side)(along) - STRENGTH * np.exp(along)
    return linear + STRENGTH * np.exp(u) * along


# -- libraries: each prepares, and returns what evaluates f and what computes a Jacobian -----------

# The function is evaluated as fast as its library can: by NumPy itself, or by a compiled program.
Prepared = tuple[Callable[[], Any], Callable[[], Any]]


def _agnograd(u: Any, side: int) -> Prepared:
    import agnograd as ag

    jacobian = ag.prepare(ag.sparse_jacobian(bratu(ag.namespace("numpy"), side)), u)
    evaluate = bratu(np, side)
    return lambda: evaluate(u), lambda: jacobian(u)


def _agnograd_compiled(u: Any, side: int) -> Prepared:
    from scipy.sparse import csr_array

    import agnograd as ag

    jacobian = ag.prepare(ag.sparse_jacobian(bratu(ag.namespace("numpy"), side)), u)
    compiled, starts = ag.compile(jacobian), jacobian.pattern.starts
    evaluate = bratu(np, side)

    def matrix() -> Any:
        found = compiled(u)
        return csr_array((found.values, found.columns, starts), shape=found.shape)

    return lambda: evaluate(u), matrix


def _with_jax(u: Any, side: int, make: Callable[[Any, Any], Any]) -> Prepared:
    import jax

    jax.config.update("jax_enable_x64", True)
    x = jax.numpy.asarray(u)
    evaluate = jax.jit(bratu(jax.numpy, side))
    jacobian = make(bratu(jax.numpy, side), x)
    return (
        lambda: jax.block_until_ready(evaluate(x)),
        lambda: jax.block_until_ready(jacobian(x)),
    )


def _agnograd_jax(u: Any, side: int) -> Prepared:
    import jax

    import agnograd as ag

    f = bratu(ag.namespace("jax"), side)

    def make(_: Any, x: Any) -> Any:
        from jax.experimental.sparse import BCOO

        prepared = ag.prepare(ag.sparse_jacobian(f), x)
        compiled, pattern = ag.compile(prepared), prepared.pattern
        places = jax.numpy.asarray(np.stack([pattern.rows, pattern.columns], axis=1))
        return lambda x: BCOO((compiled(x).values, places), shape=pattern.shape)

    return _with_jax(u, side, make)


def _asdex(u: Any, side: int) -> Prepared:
    import asdex
    import jax

    return _with_jax(u, side, lambda f, x: jax.jit(asdex.jacobian(f, x)))


def _sparsejac(u: Any, side: int) -> Prepared:
    """Give it the pattern of five points: it looks for none."""
    import jax
    import sparsejac
    from jax.experimental.sparse import BCOO

    def make(f: Any, x: Any) -> Any:
        pairs = five_points(side)
        ones = jax.numpy.ones(len(pairs))
        pattern = BCOO((ones, jax.numpy.asarray(pairs)), shape=(side**2, side**2))
        return jax.jit(sparsejac.jacfwd(f, pattern))

    return _with_jax(u, side, make)


def five_points(side: int) -> Any:
    """Return the rows and columns of the entries of a Jacobian on a square."""
    places = np.arange(side**2).reshape(side, side)
    across, down = [places[:, :-1], places[:, 1:]], [places[:-1], places[1:]]
    pairs = [(places, places), across, across[::-1], down, down[::-1]]
    rows, columns = (np.concatenate([pair[i].ravel() for pair in pairs]) for i in (0, 1))
    return np.stack([rows, columns], axis=1)


LIBRARIES: Mapping[str, Callable[[Any, int], Prepared]] = {
    "agnograd": _agnograd,
    "agnograd_compiled": _agnograd_compiled,
    "agnograd_jax": _agnograd_jax,
    "asdex": _asdex,
    "sparsejac": _sparsejac,
}


OWN = ("agnograd", "agnograd_compiled", "agnograd_jax")  # agnograd's ways


# -- what is measured ------------------------------------------------------------------------------


def jacobians(
    names: Iterable[str], sides: Sequence[int], rounds: int
) -> tuple[dict[str, dict[int, dict[str, float]]], list[str]]:
    """Return what ``measured`` found for each library and number of unknowns, and who is left out.

    Raises
    ------
    RuntimeError
        If a process failed, or a Jacobian is wrong.
    """
    found: dict[str, dict[int, dict[str, float]]] = {}
    left_out = []
    for name in names:
        if importlib.util.find_spec(NEEDS[name]) is None:
            left_out.append(f"{name} is left out: No module named {NEEDS[name]!r}")
            continue
        found[name] = {}
        for side in sides:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.sparse", name, str(side), str(rounds)],
                capture_output=True,
                text=True,
                cwd=ROOT,
                env={**os.environ, **ONE_THREAD},
            )
            if done.returncode:
                raise RuntimeError(f"{name}, {side**2:,} unknowns: {done.stderr.strip()}")
            found[name][side**2] = json.loads(done.stdout)
    return found, left_out


def measured(name: str, side: int, rounds: int) -> dict[str, float]:
    """Measure one library: seconds of the processor, and bytes.

    Returns
    -------
    dict
        ``preparation``, to the end of the first Jacobian, which compiles where there is a compiler;
        ``function`` and ``jacobian``, medians over rounds, in each of which they take turns;
        ``ratio``, the median of that of one round; and ``bytes``, by which the process has grown
        since its libraries were imported.
    """
    u = np.random.default_rng(0).random(side**2)
    few = LIBRARIES[name](u[:9], 3)  # imports
    few[0](), few[1]()
    before, start = _peak(), time.process_time()
    evaluate, jacobian = LIBRARIES[name](u, side)
    first = jacobian()
    preparation = time.process_time() - start
    peak = _peak()
    along = np.random.default_rng(1).random(side**2)
    wanted = product(u, along, side)
    np.testing.assert_allclose(np.asarray(first @ along), wanted, atol=1e-9 * abs(wanted).max())
    evaluate()
    times = []
    for _ in range(rounds):
        times.append((_seconds(evaluate), _seconds(jacobian)))
    functions, products = zip(*times, strict=True)
    return {
        "preparation": preparation,
        "function": statistics.median(functions),
        "jacobian": statistics.median(products),
        "ratio": statistics.median(b / a for a, b in times),
        "bytes": peak - before,
    }


def _seconds(run: Callable[[], Any]) -> float:
    """Return how long a call takes, of as many as fill a twentieth of a second."""
    count, start = 0, time.process_time()
    while (took := time.process_time() - start) < 0.05 or not count:
        run()
        count += 1
    return took / count


def _peak() -> int:
    """Return the most bytes that the process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fits(residuals: int, parameters: int, rounds: int) -> dict[str, float]:
    """Return the seconds of a fit with a banded Jacobian, sparse and dense, and their ratio.

    Each parameter is the height of a curve at a point; between two of them there are residuals,
    which depend on both. The medians over rounds are returned, in which both take turns.
    """
    import agnograd as ag

    xp = ag.namespace("numpy")
    share = np.linspace(0.0, 1.0, residuals // parameters, endpoint=False)
    heights = np.random.default_rng(0).random(parameters)

    def curve(x: Any) -> Any:
        following = xp.concat([x[1:], x[-1:]])
        between = x[:, None] * (1.0 - share) + following[:, None] * share
        return xp.reshape(xp.exp(between) + between, (-1,))

    data = ag.asarray(curve(heights)).data

    def fitted(sparse: bool) -> Any:
        return xp.optimize.least_squares(
            lambda x: curve(x) - data, np.zeros(parameters), sparse=sparse
        ).data

    fitted(True)  # imports
    times = []
    for _ in range(rounds):
        took = []
        for sparse in (True, False):
            start = time.process_time()
            x = fitted(sparse)
            took.append(time.process_time() - start)
            np.testing.assert_allclose(x, heights, atol=1e-5)
        times.append(took)
    sparse, dense = (statistics.median(each) for each in zip(*times, strict=True))
    ratio = statistics.median(b / a for a, b in times)
    return {"sparse": sparse, "dense": dense, "ratio": ratio}


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
