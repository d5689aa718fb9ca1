"""Counts how many random programs make each rewrite of ``compile`` fire.

``python -m tests.programs.coverage --programs 100000 --processes 2``

It prints a line for each pass, rule, kind of group and side of a switch, and fails if one of them
fires in fewer than one of a hundred programs. No program runs, and nothing is compiled in C. JAX's
lowering is given the programs of NumPy.
"""

import argparse
import multiprocessing
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from importlib import import_module
from pathlib import Path

HELPERS = str(Path(__file__).parents[1] / "helpers")
LEAST = 0.01  # of all programs


def main():
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.coverage")
    parser.add_argument("--programs", type=int, default=1000, help="how many (default: 1000)")
    parser.add_argument("--processes", type=int, default=1, help="that share them (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="of the first program (default: 0)")
    parser.add_argument("--least", type=float, default=LEAST, help="the share that is enough")
    given = parser.parse_args()
    start = time.perf_counter()
    seeds = range(given.seed, given.seed + given.programs)
    parts = [seeds[k :: given.processes] for k in range(given.processes)]
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        found = pool.map(counted, parts, chunksize=1)
    counts, rows = sum((each[0] for each in found), Counter()), found[0][1]
    print(report(counts, rows, given.programs))
    seldom = [row for row in rows if counts[row] < given.least * given.programs]
    print(f"{len(rows)} rows, {len(seldom)} of them in fewer than {given.least:.1%} of programs")
    print(f"{counts['refused']} programs refused; {time.perf_counter() - start:.0f} seconds")
    return 1 if seldom else 0


def report(counts, rows, programs):
    """Return the table: how many programs fire each row, and how many of 100,000 that is."""
    lines = [f"{'programs':>8} {'of 10^5':>8}"]
    for row in rows:
        lines.append(f"{counts[row]:8} {round(counts[row] * 1e5 / programs):8} {row}")
    return "\n".join(lines)


def counted(seeds):
    """Return how many programs of some seeds fire each row, and the rows."""
    try:
        return fired_by(seeds)
    except Exception as error:  # of a class that the main process may not be able to import
        raise RuntimeError("".join(traceback.format_exception(error))) from None


def fired_by(seeds):
    """Return how many programs of some seeds fire each row, and the rows, in this process."""
    warnings.simplefilter("ignore")
    os.environ["AGNOGRAD_NUM_THREADS"] = "2"
    sys.path.insert(0, HELPERS)
    import fired
    import rewrites

    fired.mark()
    for module in rewrites.MODULES:
        import_module(module)
    from every_lowering import Everything  # after the modules were marked

    everything, counts = Everything(), Counter()
    for seed in seeds:
        fired.FIRED.clear()
        try:
            counts["refused"] += not everything.compiled(seed)
        except Exception as error:
            raise RuntimeError(f"while the program of seed {seed} was compiled") from error
        counts.update(fired.FIRED)
    return counts, [*fired.ROWS]


if __name__ == "__main__":
    sys.exit(main())
