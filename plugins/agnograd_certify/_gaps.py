"""Known gaps of a library: what of a run is new, and which lines are stale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agnograd.testing.gaps import Gap, exception_named
from agnograd.testing.page import write

__all__ = ["Compared", "against", "cell_name", "gap_of", "write_gaps"]

HEAD = """\
# Known gaps: what `agnograd certify` need not find right. A line is an exception's name and
# call::check[backend], in which * stands for anything; the comment above it is the reason.
"""


class Compared(NamedTuple):
    """What a run has that a file of gaps does not say, and the other way round.

    Attributes
    ----------
    new : list of dict
        Cells that are bad and not expected to be, or bad in another way.
    stale : list of Gap
        Gaps of what was run that nothing bad is meant by.
    """

    new: list[dict[str, Any]]
    stale: list[Gap]


def cell_name(cell: dict[str, Any]) -> str:
    """Return what a line in a file of gaps calls a check of a call on a backend."""
    return f"{cell['call']}::{cell['check']}[{cell['backend']}]"


def against(gaps: Sequence[Gap], cells: Sequence[dict[str, Any]], whole: bool = True) -> Compared:
    """Compare what was found with known gaps; a cell that is known gets the reason as its "gap".

    A gap is stale if it means something that was run, and nothing of that is bad with the exception
    that it names. One that means a backend or a check that was not run is left as it is. Where the
    ``whole`` file of calls was run, a gap of a call that there is not is stale, too.
    """
    new, used = [], set()
    for cell in cells:
        gap = gap_of(gaps, cell) if cell["bad"] else None
        if gap is not None:
            cell["gap"] = gap.reason
            used.add(gap)
        elif cell["bad"]:
            new.append(cell)
    judged = _judged(gaps, cells, whole)
    return Compared(new, [gap for gap in judged if gap not in used])


def _judged(gaps: Iterable[Gap], cells: Sequence[dict[str, Any]], whole: bool) -> list[Gap]:
    """Return the gaps that mean something that was run."""
    ends = {f"::{cell['check']}[{cell['backend']}]" for cell in cells}
    names = list(map(cell_name, cells))
    if whole:
        return [gap for gap in gaps if any(_end(gap).is_of(each) for each in ends)]
    return [gap for gap in gaps if any(gap.is_of(each) for each in names)]


def _end(gap: Gap) -> Gap:
    """Return a gap without the call that it names: the check and the backend are left."""
    end = gap.pattern[gap.pattern.rfind("::") :] if "::" in gap.pattern else "*"
    return gap._replace(pattern=end)


def gap_of(gaps: Iterable[Gap], cell: dict[str, Any]) -> Gap | None:
    """Return the gap that a bad cell is, with the exception that it names."""
    name, kind = cell_name(cell), exception_named(cell["error"]) or Exception
    return next((gap for gap in gaps if gap.is_of(name) and issubclass(kind, gap.error)), None)


def write_gaps(path: Path, cells: Sequence[dict[str, Any]], known: Sequence[Gap]) -> int:
    """Write a file of gaps for all that is bad, and return how many lines it has.

    Known gaps that still are there keep their lines and reasons, as do those of backends and checks
    that were not run.
    """
    lines: dict[str, dict[str, None]] = {}
    for cell in cells:
        if not cell["bad"]:
            continue
        gap = gap_of(known, cell)
        if gap is not None:
            reason, line = gap.reason, str(gap)
        else:
            reason = f"{cell['status']}: {cell['reason']}"
            reason += f" ({cell['where']})" if cell["where"] else ""
            line = f"{cell['error']} {cell_name(cell)}"
        lines.setdefault(reason, {})[line] = None
    judged = _judged(known, cells, whole=True)
    for gap in known:
        if gap not in judged:
            lines.setdefault(gap.reason, {})[str(gap)] = None
    groups = [f"# {reason}\n" + "\n".join(listed) + "\n" for reason, listed in lines.items()]
    write(path, "\n".join([HEAD, *groups]))
    return sum(map(len, lines.values()))
