"""What a pass found: errors by line and op, the lines that need more precision, and a text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from agnograd.errors import ArgumentError
from agnograd_digits._norms import DOUBLE, floating, inner

__all__ = ["Line", "Report", "as_text"]

_Key = tuple[str | None, str, str]


class Line(NamedTuple):
    """What one op on one line of the program adds to the error of the result.

    Attributes
    ----------
    location : str or None
        ``file:line in function`` of the code that called the op; None for a function with a
        derivative of its own.
    op : str
        The op's name.
    dtype : str
        The dtype that its results were rounded to.
    calls : int
        How many calls of it the pass went through.
    error : float
        The absolute error of the result by these calls: the root of the sum of squares.
    worst : float
        Their sum.
    share : float
        Their part of the square of the whole error, from 0 to 1.
    """

    location: str | None
    op: str
    dtype: str
    calls: int
    error: float
    worst: float
    share: float


class _Sum:
    """Errors of the calls of an op on a line."""

    __slots__ = ("calls", "error", "unit", "worst")

    def __init__(self, unit: float) -> None:
        self.calls, self.error, self.worst, self.unit = 0, 0.0, 0.0, unit


class Report:
    """What one pass found."""

    def __init__(self) -> None:
        self.value: float | None = None
        self.inputs = 0.0
        self.unseen = 0  # ops of which nothing is known, since they ran without the plugin
        self._sums: dict[_Key, _Sum] = {}

    def __repr__(self) -> str:
        digits = "" if self.digits is None else f", {self.digits:.1f} digits"
        return f"error {self.error:.2g}{digits}"

    def starts(self, outputs: Sequence[Any], gradients: Sequence[Any]) -> None:
        """Note the value that the pass starts from, if that is one array."""
        if len(outputs) == len(gradients) == 1 and floating(outputs[0]):
            self.value = inner(outputs[0], gradients[0])

    def add(self, key: _Key, unit: float, error: float, worst: float) -> None:
        """Add the error by a call of an op."""
        total = self._sums.setdefault(key, _Sum(unit))
        total.calls += 1
        total.error = math.hypot(total.error, error)
        total.worst += worst

    def add_input(self, error: float) -> None:
        """Add the error by the rounding of an input."""
        self.inputs = math.hypot(self.inputs, error)

    @property
    def error(self) -> float:
        """The root of the sum of squares of all errors."""
        return math.hypot(*(each.error for each in self._sums.values()))

    @property
    def worst(self) -> float:
        """The sum of all errors."""
        return math.fsum(each.worst for each in self._sums.values())

    @property
    def digits(self) -> float | None:
        """How many decimal digits are right."""
        return None if self.value is None else _digits(self.error, self.value)

    @property
    def lines(self) -> tuple[Line, ...]:
        """Errors by line and op, the largest first."""
        whole = self.error
        rows = [
            Line(
                *key,
                each.calls,
                each.error,
                each.worst,
                (each.error / whole) ** 2 if whole else 0.0,
            )
            for key, each in self._sums.items()
        ]
        return tuple(sorted(rows, key=lambda line: -line.error))

    def need_double(self, digits: float) -> list[str]:
        """Return the lines of narrower dtypes that lose too much, the largest error first."""
        if not self.value:
            what = "is 0" if self.value == 0.0 else "is not one array"
            raise ArgumentError(
                f"digits: what the pass started from {what}, and has no digits; start it from one "
                "array, or compare `error` with the error that you can accept"
            )
        aim = abs(self.value) * 10.0**-digits
        places = self._by_place()
        needed: list[str] = []
        while math.hypot(*(error for error, _ in places.values())) > aim:
            location = max(places, key=lambda place: places[place][0] - places[place][1])
            error, in_double = places[location]
            if error == in_double:
                reached = _digits(math.hypot(*(error for error, _ in places.values())), self.value)
                raise ArithmeticError(
                    f"digits: {digits:g} digits are out of reach: with double precision everywhere "
                    f"{reached:.1f} would be right; compute the lines that come first in summary() "
                    "in another way"
                )
            places[location] = in_double, in_double
            needed.append(location)
        return needed

    def _by_place(self) -> dict[str, tuple[float, float]]:
        """Return the error by each line, and what it would be in double precision."""
        places: dict[str, tuple[float, float]] = {}
        for (location, op, _), each in self._sums.items():
            place = location or op
            error, in_double = places.get(place, (0.0, 0.0))
            narrower = each.error * min(DOUBLE / each.unit, 1.0)
            places[place] = math.hypot(error, each.error), math.hypot(in_double, narrower)
        return places

    def narrow(self) -> bool:
        """Return whether any op rounds to less than double precision."""
        return any(each.unit > DOUBLE for each in self._sums.values())


def _digits(error: float, value: float) -> float:
    if math.isnan(error) or math.isnan(value):
        return 0.0
    if error == 0.0:
        return math.inf
    return max(-math.log10(error / abs(value)), 0.0) if value and math.isfinite(error) else 0.0


def as_text(report: Report, most: int = 20) -> str:
    """Return a report as text: what was found, the lines that lose most, and what to do."""
    return "\n".join([*_head(report), *_table(report, most), *_foot(report, most)])


def _head(report: Report) -> Iterator[str]:
    errors = f"error about {report.error:.1e}, at worst {report.worst:.1e}"
    if report.value is None:
        yield f"several results, {errors}"
        return
    value = f"{report.value:.9g}" if report.narrow() else f"{report.value:.17g}"
    if report.digits == math.inf:
        yield f"result {value}, without rounding errors"
    else:
        yield f"result {value}, {errors}: {report.digits:.1f} digits are right"


def _table(report: Report, most: int) -> Iterator[str]:
    rows = [
        [
            *(f"{line.share:.1%}", f"{line.error:.1e}", str(line.calls), line.op, line.dtype),
            line.location or "(a function with a derivative of its own)",
        ]
        for line in report.lines[:most]
    ]
    if not rows:
        return
    rows.insert(0, ["share", "error", "calls", "op", "dtype", "line"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        right = map(str.rjust, row[:3], widths[:3])
        left = map(str.ljust, row[3:], widths[3:])
        yield "  ".join([*right, *left]).rstrip()


def _foot(report: Report, most: int) -> Iterator[str]:
    if len(report.lines) > most:
        yield f"and {len(report.lines) - most} more in `lines`"
    if report.inputs:
        yield f"if the inputs were rounded, too: {report.inputs:.1e} more"
    if report.unseen:
        yield (
            f"not counted: {report.unseen} ops that ran before the plugin was active; compute the "
            "result inside the with block"
        )
    if report.value and report.narrow():
        try:
            lines = report.need_double(6)
        except ArithmeticError as error:
            yield str(error)
            return
        if lines:
            yield "for 6 digits, compute in double precision:"
            yield from (f"  {line}" for line in lines)
