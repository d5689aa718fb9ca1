"""Programs as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agnograd_compile._listing import Listing, groups_of, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 40  # steps of a program
_WIDE = 44  # characters of a label


def picture(parts: Sequence[Listing]) -> Figure:
    """Return bars for the times of the steps of some programs, below each other.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    counts = [max(1, min(len(part.steps), _MOST)) for part in parts]
    figure = Figure(figsize=(8, 1.2 * len(parts) + 0.22 * sum(counts)), layout="constrained")
    axes = figure.subplots(len(parts), 1, squeeze=False, height_ratios=counts)[:, 0]
    colours = colormaps["tab10"].colors  # type: ignore[attr-defined]
    for part, each in zip(parts, axes, strict=True):
        longest = sorted(range(len(part.steps)), key=lambda number: -part.steps[number])
        shown = sorted(longest[:_MOST])
        group = groups_of(part.program, part.described)
        rows = list(rows_of(part.program, part.steps, part.described))
        labels = [f"{rows[number][3]}  {rows[number][4]}" for number in shown]
        each.barh(
            range(len(shown)),
            [part.steps[number] * 1e6 for number in shown],
            color=[colours[group[n] % 9 + 1] if n in group else colours[0] for n in shown],
        )
        each.set_yticks(range(len(shown)), [_short(text) for text in labels], family="monospace")
        each.tick_params("y", labelsize=7)
        each.invert_yaxis()
        each.set_xlabel("microseconds, step by step")
        cut = f", the {len(shown)} longest" if len(shown) < len(rows) else ""
        each.set_title(f"{part.program.name}: {len(rows)} steps{cut}", fontsize=9, loc="left")
    return figure


def _short(text: str) -> str:
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 3]}..."
