"""Derivatives by agnograd on other libraries' arrays, against those by the libraries themselves."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measuring import Comparison, Run

__all__ = ["PAIRS", "rows"]

# A library, and agnograd on its arrays: names of implementations.
PAIRS = {"torch": "agnograd_torch", "jax": "agnograd_jax"}


def rows(comparison: Comparison) -> Iterator[list[str]]:
    """Yield, for each workload, the time of each library, and the ratio to it."""
    for workload, runs in comparison.runs.items():
        row = [workload]
        for library, ours in PAIRS.items():
            own = runs.get(library, Run())
            ratio = runs.get(ours, Run()).over(own)
            row.append(f"{own.seconds * 1e3:.3g}" if own.seconds else "-")
            row.append(f"{ratio:.2f}" if ratio else "-")
        yield row
