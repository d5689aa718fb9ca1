"""Instructions that are repeated: those of a loop, one iteration after the other."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from agnograd.extend import switch
from agnograd_c._write.code import Element, Instruction, Number, Operand

# How many times equal statements follow each other, and how many they are together, to be worth a
# loop; how many its body may have; and how many earlier ones each is compared with.
RUN_TIMES = switch("RUN_TIMES", 4, least=2, most=2**62, module=__name__)
RUN_STATEMENTS = switch("RUN_STATEMENTS", 24, least=1, most=2**62, module=__name__)
BODY_STATEMENTS = switch("BODY_STATEMENTS", 1024, least=1, most=2**16, module=__name__)
RUNS_TRIED = switch("RUNS_TRIED", 6, least=1, most=64, module=__name__)


class Run(NamedTuple):
    """Instructions ``start + t * period + k`` that do the same for each ``t < times``."""

    start: int
    period: int
    times: int


class Home(NamedTuple):
    """Where an instruction of a run is: its run, its place in the body, its iteration."""

    run: int
    place: int
    time: int


# How an argument moves from one iteration to the next: along with it; by some iterations of an
# earlier run, 0 if it stays; or a number, or element, of which there may be another each time.
_ALONG = "along"
Move = str | int


class Runs:
    """The runs of a list of instructions.

    ``scalars`` are the inputs that are scalars: each iteration may take a different one.
    """

    def __init__(self, code: Sequence[Instruction], scalars: Set[int]) -> None:
        self.code, self.scalars = code, scalars
        self.runs: list[Run] = []
        self.homes: dict[int, Home] = {}  # of the instructions that are in a run
        self._find()

    def _find(self) -> None:
        likely = _distances(self.code)
        at = 0
        while at < len(self.code):
            best = max(
                (Run(at, period, self._times(at, period)) for period in likely[at]),
                key=lambda run: (run.period * run.times, -run.period),
                default=Run(at, 1, 1),
            )
            if best.times < RUN_TIMES or best.period * best.times < RUN_STATEMENTS:
                at += 1
                continue
            for number in range(best.period * best.times):
                time, place = divmod(number, best.period)
                self.homes[at + number] = Home(len(self.runs), place, time)
            self.runs.append(best)
            at += best.period * best.times

    def _times(self, start: int, period: int) -> int:
        """Return how many iterations a run has that begins here."""
        first: list[list[Move]] = []
        times = 1
        while start + (times + 1) * period <= len(self.code):
            at = start + times * period
            for place in range(period):
                moves = self._moves(start, at, period, place)
                if moves is None or (times > 1 and moves != first[place]):
                    return times
                if times == 1:
                    first.append(moves)
            times += 1
        return times

    def _moves(self, start: int, at: int, period: int, place: int) -> list[Move] | None:
        """Return how an instruction's arguments moved since the last iteration; None if unlike."""
        new, old = self.code[at + place], self.code[at + place - period]
        if new.name != old.name or len(new.args) != len(old.args):
            return None
        found: list[Move] = []
        for u, v in zip(old.args, new.args, strict=True):
            if type(u) is type(v) is int and v - u == period and v >= at - period:  # most often
                found.append(_ALONG)
                continue
            move = self._move(start, u, v)
            if move is None:
                return None
            found.append(move)
        return found

    def _move(self, start: int, u: Operand, v: Operand) -> Move | None:
        if type(u) is not type(v):
            return None
        if isinstance(u, Number) and isinstance(v, Number):
            return 0 if u.type == v.type else None
        if isinstance(u, Element) and isinstance(v, Element):
            others = u[1:] == v[1:] and u.input in self.scalars and v.input in self.scalars
            return 0 if u == v or others else None
        assert isinstance(u, int)
        assert isinstance(v, int)
        if u >= start or v >= start:
            return None
        if u == v:
            return 0
        here, there = self.homes.get(u), self.homes.get(v)
        if here is None or there is None or here[:2] != there[:2]:
            return None
        return there.time - here.time


def _distances(code: Sequence[Instruction]) -> list[list[int]]:
    """Return, for each place, how far from it the same functions are called again."""
    names: dict[str, int] = {}
    numbers = [names.setdefault(each.name, len(names)) for each in code]
    last: dict[tuple[int, ...], list[int]] = {}
    found: list[list[int]] = [[] for _ in code]
    for at in range(len(code) - 1, -1, -1):
        later = last.setdefault(tuple(numbers[at : at + 4]), [])
        found[at] = [
            there - at for there in reversed(later[-RUNS_TRIED:]) if there - at <= BODY_STATEMENTS
        ]
        later.append(at)
    return found
