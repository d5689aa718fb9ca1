"""Derivatives by agnograd on other libraries' arrays, against those by the libraries themselves."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measuring import Comparison, Run

__all__ = ["PAIRS", "rows"]

# A library, and agnograd on its arrays: names of implementations. On JAX the first is under
# ``jax.jit``, the second only by ``ag.compile``.
PAIRS = {
    "torch": ("agnograd_torch", "agnograd_torch_compiled"),
    "jax": ("agnograd_jax", "agnograd_jax_compiled"),
}


def rows(comparison: Comparison) -> Iterator[list[str]]:
    """Yield, for each workload, the time of each library, and agnograd's ratios to it."""
    for workload, runs in comparison.runs.items():
        row = [workload]
        for library, ours in PAIRS.items():
            own = runs.get(library, Run())
            row.append(f"{own.seconds * 1e3:.3g}" if own.seconds else "-")
            ratios = [runs.get(each, Run()).over(own) for each in ours]
            row += [f"{ratio:.2f}" if ratio else "-" for ratio in ratios]
        yield row
