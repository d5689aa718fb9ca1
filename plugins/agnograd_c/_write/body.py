"""The text of instructions, whose runs are loops again."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence, Set
from typing import Any

from agnograd_c._write.code import Element, Instruction, Number, Operand
from agnograd_c._write.runs import Home, Runs

# Where a value of a loop is kept, or read: by the number of the loop, and its place in there.
_PLACE = re.compile(r"@(keep )?(\d+)_(\d+)(\[[^@]*\])@")
# What elements are in memory.
C_TYPES = {"f64": "double", "f32": "float", "i64": "int64_t", "i32": "int32_t", "b1": "int8_t"}


class Body:
    """Writes instructions."""

    def __init__(
        self, code: Sequence[Instruction], element: Callable[[Element], str], scalars: Set[int]
    ) -> None:
        self.code, self.element = code, element
        found = Runs(code, scalars)
        self.runs, self.homes = found.runs, found.homes
        # Which instructions of runs are read from outside of their run: True if those of all
        # iterations, False if only that of the last one.
        self.kept: dict[tuple[int, int], bool] = {}
        self.tables: list[str] = []  # the numbers that differ between iterations

    def operand(self, operand: Operand) -> str:
        """Write an operand, as what is outside of all runs names it."""
        if isinstance(operand, Number):
            return number_text(operand)
        if isinstance(operand, Element):
            return self.element(operand)
        home = self.homes.get(operand)
        return f"v{operand}" if home is None else self._kept(home)

    def _kept(self, home: Home) -> str:
        run, place, time = home
        last = time == self.runs[run].times - 1
        self.kept[run, place] = self.kept.get((run, place), False) or not last
        return f"@{run}_{place}[{time}]@"

    def statements(self) -> list[str]:
        """Write all instructions."""
        lines, at = [], 0
        starts = {run.start: number for number, run in enumerate(self.runs)}
        while at < len(self.code):
            if at in starts:
                lines += self._loop(starts[at])
                at += self.runs[starts[at]].period * self.runs[starts[at]].times
                continue
            name, type, args = self.code[at]
            lines.append(f"const {type} v{at} = {name}({', '.join(map(self.operand, args))});")
            at += 1
        return lines

    def _loop(self, number: int) -> list[str]:
        start, period, times = self.runs[number]
        carried: dict[int, str] = {}
        body = []
        for place in range(period):
            name, type, _ = self.code[start + place]
            args = [
                self._moving(number, place, index, carried)
                for index in range(len(self.code[start + place].args))
            ]
            body.append(f"const {type} w{place} = {name}({', '.join(args)});")
        types = {place: self.code[start + place].type for place in range(period)}
        lines = [f"{types[place]} c{number}_{place} = {text};" for place, text in carried.items()]
        lines.append(f"for (int t = 0; t < {times}; t++) {{")
        lines += [f"    {line}" for line in body]
        lines += [f"@keep {number}_{place}[]@" for place in range(period)]
        lines += [f"    c{number}_{place} = w{place};" for place in carried]
        return [*lines, "}"]

    def _moving(self, number: int, place: int, index: int, carried: dict[int, str]) -> str:
        """Write an argument of an instruction of a loop."""
        start, period, times = self.runs[number]
        first = self.code[start + place].args[index]
        if not isinstance(first, int):
            given = [self.code[start + t * period + place].args[index] for t in range(times)]
            return self._numbers(given) if isinstance(first, Number) else self._scalars(given)
        second = self.code[start + period + place].args[index]
        assert isinstance(second, int)
        if second >= start + period:
            return f"w{second - start - period}"
        if second >= start:
            carried[second - start] = self.operand(first)
            return f"c{number}_{second - start}"
        if second == first:
            return self.operand(first)
        run, there, time = self.homes[first]
        self.kept[run, there] = True
        return f"@{run}_{there}[{time} + t * {self.homes[second].time - time}]@"

    def _scalars(self, elements: Sequence[Any]) -> str:
        """Write an input that may be another scalar in each iteration."""
        if len(set(elements)) == 1:
            return self.element(elements[0])
        _, offset, type = elements[0]
        number = self._table("int", [str(each.input) for each in elements])
        return f"splat_{type}(*(const {C_TYPES[type]} *)(p[{number}] + {offset}))"

    def _numbers(self, numbers: Sequence[Any]) -> str:
        """Write a number that may be another one in each iteration."""
        type, value = numbers[0]
        texts = [number_text(each) for each in numbers]
        if len(set(texts)) == 1:
            return texts[0]
        if type == "at":
            step = numbers[1].value - value
            if all(each.value == value + t * step for t, each in enumerate(numbers)):
                return f"({value} + t * ({step}))"
        plain = [plain_text(each) for each in numbers]
        if type == "at":
            return self._table("ptrdiff_t", plain)
        return f"splat_{type}({self._table(C_TYPES[type], plain)})"

    def _table(self, element: str, texts: Sequence[str]) -> str:
        """Write a table with an element for each iteration; return what reads it."""
        name = f"K{len(self.tables)}"
        self.tables.append(f"static const {element} {name}[] = {{{', '.join(texts)}}};")
        return f"{name}[t]"

    def finished(self, lines: Sequence[str]) -> list[str]:
        """Return lines with the places in them at which values are kept."""
        found = (_PLACE.sub(self._place, line) for line in lines)
        return [line for line in found if line]

    def _place(self, match: re.Match[str]) -> str:
        """Write the place of a value: one that is kept there, if need be, or one that is read."""
        keep, run, place, index = match.groups()
        every = self.kept.get((int(run), int(place)))
        if keep is None:
            return f"S{run}_{place}{index}" if every else f"S{run}_{place}"
        at = "[t]" if every else ""
        return "" if every is None else f"    S{run}_{place}{at} = w{place};"

    def storage(self) -> tuple[list[str], list[str]]:
        """Return what declares the memory of kept values, and what lets it go."""
        made, freed = [], []
        for (run, place), every in sorted(self.kept.items()):
            type = self.code[self.runs[run].start + place].type
            name = f"S{run}_{place}"
            if every:
                size = f"{self.runs[run].times} * sizeof({type})"
                made.append(f"{type} *{name} = malloc({size});")
                freed.append(name)
            else:
                made.append(f"{type} {name};")
        if freed:
            made.append(f"if ({' || '.join(f'!{name}' for name in freed)}) failed = 1;")
        return made, [f"free({name});" for name in freed]

    def length(self) -> int:
        """Return how many statements there are."""
        inside = sum(run.period * (run.times - 1) for run in self.runs)
        return len(self.code) - inside


def address(number: int, strides: Sequence[int]) -> str:
    """Write where the elements of an array are that the innermost loop begins with."""
    terms = [f"j{axis} * {stride}" for axis, stride in enumerate(strides[:-1]) if stride]
    return " + ".join([f"p[{number}]", *terms, *[f"at * {s}" for s in strides[-1:] if s]])


def plain_text(number: Number) -> str:
    """Write a number as C does."""
    type, value = number
    if type in ("f64", "f32"):
        value = float(value)
        if math.isnan(value):
            return "NAN"
        if math.isinf(value):
            return "INFINITY" if value > 0 else "-INFINITY"
        return value.hex() if type == "f64" else f"(float){value.hex()}"
    return str(int(bool(value) if type == "b1" else value))


def number_text(number: Number) -> str:
    """Write a number as a value of all lanes."""
    text = plain_text(number)
    return text if number.type == "at" else f"splat_{number.type}({text})"
