"""Patterns and their colours as pictures."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from agnograd_sparse._sets import host

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from agnograd_sparse._pattern import Sparsity

_MOST = 400  # rows or columns of which each element is drawn
_COLOURS = 20


def drawn(path: str | os.PathLike[str] | None, pattern: Sparsity, passes: Any = None) -> Figure:
    """Return a figure of the entries of a pattern, which is saved if a path is given.

    ``passes`` has the number of the pass of each entry, for which it has a colour.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    from matplotlib.figure import Figure

    rows, columns = pattern.shape
    figure = Figure(figsize=(5.2, 4.8), layout="constrained")
    axes = figure.subplots()
    if max(rows, columns) > _MOST:
        _draw_density(axes, pattern)
    elif pattern.count:
        _draw_entries(axes, pattern, passes)
    title = f"{rows:,} x {columns:,}, {pattern.count:,} entries"
    if passes is not None:
        title += f", {host().unique_values(passes).shape[0]} passes"
    axes.set_title(title, fontsize=10)
    axes.set(xlabel="arguments", ylabel="results")
    axes.locator_params(integer=True)
    if path is not None:
        figure.savefig(path)
    return figure


def _draw_entries(axes: Axes, pattern: Sparsity, passes: Any) -> None:
    cells = host().full(pattern.shape, float("nan"))
    cells[pattern.rows, pattern.columns] = 0 if passes is None else passes % _COLOURS
    axes.imshow(
        cells, cmap="tab20", vmin=0, vmax=_COLOURS - 1, interpolation="nearest", aspect="auto"
    )


def _draw_density(axes: Axes, pattern: Sparsity) -> None:
    xp, (rows, columns) = host(), pattern.shape
    high, wide = min(rows, _MOST), min(columns, _MOST)
    bins = pattern.rows * high // rows * wide + pattern.columns * wide // columns
    places, counts = xp.unique_counts(bins)
    density = xp.zeros(high * wide)
    density[places] = counts * (high * wide) / (rows * columns)
    shown = axes.imshow(
        xp.reshape(density, (high, wide)),
        cmap="Blues",
        vmin=0.0,
        interpolation="nearest",
        aspect="auto",
        extent=(0, columns, rows, 0),
    )
    axes.figure.colorbar(shown, ax=axes, label="share of elements that have an entry")
