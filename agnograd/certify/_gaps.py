"""Known gaps of a library: what of a run is new, and which lines are stale."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agnograd import errors
from agnograd.certify._report import write
from agnograd.testing.conformance._gaps import Gap

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
    """Compare what was found with known gaps; a cell that is known gets the reason.

    A gap is stale if it means something that was run, and nothing of that is bad with the exception
    that it names. One that means a backend or a check that was not run is left as it is.

    Parameters
    ----------
    gaps : sequence of Gap
        What is known.
    cells : sequence of dict
        What was found. ``cell["gap"]`` becomes the reason of the gap, if there is one.
    whole : bool
        Whether all calls were run: then a gap of a call that there is not is stale, too.
    """
    new, used = [], set()
    for cell in cells:
        gap = gap_of(gaps, cell) if cell["bad"] else None
        if gap is not None:
            cell["gap"] = gap.reason
            used.add(gap)
        elif cell["bad"]:
            new.append(cell)
    ends = {f"::{cell['check']}[{cell['backend']}]" for cell in cells}
    names = list(map(cell_name, cells))

    def is_judged(gap: Gap) -> bool:
        if whole:
            return any(_end(gap).is_of(each) for each in ends)
        return any(gap.is_of(each) for each in names)

    return Compared(new, [gap for gap in gaps if gap not in used and is_judged(gap)])


def _end(gap: Gap) -> Gap:
    """Return a gap without the call that it names: the check and the backend are left."""
    end = gap.pattern[gap.pattern.rfind("::") :] if "::" in gap.pattern else "*"
    return gap._replace(pattern=end)


def gap_of(gaps: Iterable[Gap], cell: dict[str, Any]) -> Gap | None:
    """Return the gap that a bad cell is, with the exception that it names."""
    name, kind = cell_name(cell), _kind(cell["error"])
    return next((gap for gap in gaps if gap.is_of(name) and issubclass(kind, gap.error)), None)


def _kind(name: str) -> type[BaseException]:
    found = getattr(builtins, name, None) or getattr(errors, name, None)
    return found if isinstance(found, type) and issubclass(found, BaseException) else Exception


def write_gaps(path: Path, cells: Iterable[dict[str, Any]], known: Sequence[Gap]) -> int:
    """Write a file of gaps for all that is bad, and return how many lines it has.

    Parameters
    ----------
    path : Path
        The file, which is written whole or not at all.
    cells : iterable of dict
        What was found.
    known : sequence of Gap
        The gaps that were known: those that still are keep their lines and reasons.
    """
    lines: dict[str, list[str]] = {}
    for cell in cells:
        if not cell["bad"]:
            continue
        gap = gap_of(known, cell)
        reason = f"{cell['status']}: {cell['reason']}" if gap is None else gap.reason
        line = f"{cell['error']} {cell_name(cell)}"
        if gap is not None:
            line = f"{gap.error.__name__} {gap.pattern}"
        elif cell["where"]:
            reason += f" ({cell['where']})"
        listed = lines.setdefault(reason, [])
        if line not in listed:
            listed.append(line)
    groups = [f"# {reason}\n" + "\n".join(listed) + "\n" for reason, listed in lines.items()]
    write(path, "\n".join([HEAD, *groups]))
    return sum(map(len, lines.values()))
