"""What the examples share: their command line, and their figures."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import agnograd as ag
from agnograd.errors import AgnogradError

__all__ = ["COLOURS", "figure", "namespace", "parser", "refusals"]

# Told apart by everyone: Okabe and Ito, "Color universal design", 2008.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7F7F7F")


def parser(purpose: str, *, plot: bool = True) -> argparse.ArgumentParser:
    """Return a parser of what all these examples take, with ``--plot`` or without."""
    made = argparse.ArgumentParser(description=purpose.splitlines()[0])
    made.add_argument("--backend", default="numpy", help=f"one of {', '.join(ag.backends())}")
    if plot:
        made.add_argument("--plot", metavar="FILE", help="draw the result into an image file")
    made.add_argument("--seed", type=int, default=0)
    return made


def namespace(backend: str, *, double: bool = True) -> Any:
    """Return a backend's namespace; if there is none, the program ends with a line.

    Solvers need ``double`` precision, which JAX has to be told before it is imported.
    """
    if double:
        os.environ.setdefault("JAX_ENABLE_X64", "1")
    with refusals():
        return ag.namespace(backend)


@contextmanager
def refusals() -> Iterator[None]:
    """End the program with a line if there is no backend or plugin of a name."""
    try:
        yield
    except AgnogradError as error:
        sys.exit(str(error))


@contextmanager
def figure(path: str, *rows: float, **options: Any) -> Iterator[Any]:
    """Give the axes of a new figure, which is written to ``path`` at the end.

    ``rows`` are the heights of several axes, one above the other; ``options`` are those of
    ``matplotlib.pyplot.subplots``.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    style = {"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    with plt.rc_context(style):
        if rows:
            options |= {"nrows": len(rows), "sharex": True, "height_ratios": rows}
        drawn, axes = plt.subplots(layout="constrained", dpi=120, **options)
        try:
            yield axes
            drawn.savefig(path)
        except (OSError, ValueError) as error:  # matplotlib knows no format of that name, say
            sys.exit(f"--plot: {error}")
        finally:
            plt.close(drawn)
