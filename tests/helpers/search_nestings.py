"""Check many random nestings in several processes.

``python tests/helpers/search_nestings.py --nestings 100000 --processes 2`` prints how many differ
from the twin, how many are refused, and for each kind of failure small scripts that run on their
own. It exits with 1 if there are failures.
"""

import argparse
import signal
import sys
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import nestings
from twin import InconclusiveError

AT_ONCE = 100  # nestings of a task


class TooLongError(BaseException):
    """A nesting takes longer than one may: programs of derivatives grow with each order."""


def too_long(*_):
    raise TooLongError


def checked(backend, limit, seeds):
    """Return counts of results and of transformations, and the failures, each with its seed."""
    counts, used, failures = Counter(), Counter(), []
    signal.signal(signal.SIGVTALRM, too_long)
    for seed in seeds:
        nesting, _ = nestings.drawn(seed, backend)
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, limit, 1.0)  # a finalizer swallows one
            failure = nestings.check(nesting)
        except TooLongError:
            counts["took too long"] += 1
            continue
        except InconclusiveError:
            counts["inconclusive"] += 1
            continue
        except Exception as error:
            error.add_note(f"seed {seed}, on {backend}")
            raise
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        used.update(nesting.transformations)
        counts["checked"] += 1
        counts[f"of depth {nesting.depth}"] += 1
        if failure is not None and failure.refused:
            counts[f"refused: {failure.kind}"] += 1
        elif failure is not None:
            failures.append((failure.kind, seed))
    return counts, used, failures


def shrunk(backend, seconds, failure):
    """Return the smallest nesting found that fails as that of a seed."""
    kind, seed = failure
    _, choices = nestings.drawn(seed, backend)
    return nestings.smaller(choices, backend, kind, seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nestings", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--backend", default="numpy")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of one")
    parser.add_argument("--shrink", type=int, default=3, help="how many failures of a kind")
    parser.add_argument("--seconds", type=float, default=20.0, help="to shrink one")
    asked = parser.parse_args()
    every = range(asked.seed, asked.seed + asked.nestings)
    tasks = [every[i : i + AT_ONCE] for i in range(0, len(every), AT_ONCE)]
    counts, used, kinds = Counter(), Counter(), defaultdict(list)
    with ProcessPoolExecutor(asked.processes, get_context("spawn")) as pool:
        for some, names, failures in pool.map(partial(checked, asked.backend, asked.limit), tasks):
            counts += some
            used += names
            for kind, seed in failures:
                kinds[kind].append((kind, seed))
        chosen = [each for found in kinds.values() for each in found[: asked.shrink]]
        small = list(pool.map(partial(shrunk, asked.backend, asked.seconds), chosen))
    print(f"{asked.nestings:8} nestings")
    for name, count in sorted(counts.items()):
        print(f"{count:8} {name}")
    for name, count in used.most_common():
        print(f"{count:8} with {name}")
    for kind, found in kinds.items():
        print(f"{len(found):8} FAIL: {kind}")
    shown = set()
    for (kind, seed), nesting in zip(chosen, small, strict=True):
        if (like := nestings.masked(nesting.source)) not in shown:
            print(f"\n# {kind} (seed {seed})\n\n{nesting.script()}")
            shown.add(like)
    sys.exit(bool(kinds))


if __name__ == "__main__":
    main()
