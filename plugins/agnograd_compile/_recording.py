"""The run that a program is made of: what each op was given, and what it gave."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import cache
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import ref

from agnograd.errors import AgnogradError, CompileError
from agnograd.extend import Run
from agnograd.extend.transforms import next_rank, rank_of
from agnograd_compile._programs.program import GUARD, Fact, Ref, Step, TracedProgram, seen_by
from agnograd_compile._surroundings.reading import is_own

if TYPE_CHECKING:
    from agnograd.extend.transforms import Domain

Layout = tuple[tuple[int, ...], Any, tuple[int, ...] | None, type]

# The recording that runs in this thread and task.
running: ContextVar[Recording | None] = ContextVar("agnograd_recording", default=None)


class Visit:
    """Where a reverse pass is: the rank of the node that it visits, and the code that it runs."""

    __slots__ = ("__weakref__", "code", "rank")
    rank: int
    code: CodeType | None

    def __init__(self) -> None:
        self.code = None

    def __call__(self, rank: int) -> None:
        self.rank, self.code = rank, sys._getframe(1).f_code


class Recording(Run):
    """One run of a function, which is written down as a program.

    Each op computes its value at once, so that shapes and dtypes need no rules of their own.

    Attributes
    ----------
    known : dict of int to dict
        What stands for arrays, and Variables, from outside that are inputs: by the identity of the
        raw array, and by the rank of its node, since Variables may share an array.
    ranks : mapping of int to int
        Those ranks, by the places of inputs that are tracked.
    met : set of int
        Those of ``known`` that the function used in an op.
    unknown : bool
        Whether it used arrays from outside that are not inputs: Python may have made them of those
        that are.
    foreign : sequence of weak references
        To arrays of other libraries outside: the program is made for their elements in any case.
    effects : bool
        Whether a step has some.
    ages, lines : list
        Where each op was called, and a number between the age of its node and those of older ones:
        the negative of a rank.
    """

    error: ClassVar[type[AgnogradError]] = CompileError

    def __init__(
        self, domain: Domain, traced: Any, arrays: Sequence[Any], ranks: Mapping[int, int]
    ) -> None:
        self.domain, self.ranks = domain, ranks
        self.arrays = arrays  # that the function is given, and finds
        self.traced = traced  # the interpretation
        self.steps: list[Step] = []
        self.facts: dict[Ref, Fact] = {}
        self.constants: dict[Ref, Any] = {}
        self.inputs: list[Ref] = []
        self.known: dict[int, dict[int | None, Any]] = {}
        self.met: set[int] = set()
        self.unknown = False
        self.foreign: Sequence[ref[Any]] = ()
        self._outside: Sequence[Any] = ()
        self.ages: list[int] = []
        self.lines: list[str | None] = []
        self.visits: list[ref[Visit]] = []  # of the passes that run, the innermost one last
        self._alike: dict[Layout, Fact] = {}  # equal facts are one object: most values are alike
        self._refs: dict[int, Ref] = {}  # of constants, by identity; they are kept alive
        self._guards = 0
        self.effects = False
        self._shares = domain.backend.may_share

    def finds(self, arrays: Sequence[Any], outside: range) -> None:
        """Let arrays stand for those from outside, at these places, until the run ends.

        A reverse pass after the function has returned may run a part of it again.
        """
        self._outside = [self.arrays[place] for place in outside]
        for place, raw in zip(outside, self._outside, strict=True):
            self.known.setdefault(id(raw), {})[self.ranks.get(place)] = arrays[place]

    @property
    def by_elements(self) -> tuple[Any, ...]:
        """The arrays from outside that the program is made for as they are, element by element.

        What Python does with them is not part of it.
        """
        return tuple([raw for raw in self._outside if self.unknown or id(raw) not in self.met])

    def stand_in(self, value: Any) -> Any:
        """Return what stands for an array, or a Variable, from outside; None if it is not an input.

        An untracked array is a constant for derivatives, also if a tracked Variable shares it.
        """
        raw, rank = getattr(value, "_raw", value), rank_of(value)
        known = self.known.get(id(raw))
        # What is made of an input, and shares its array, may not be taken for another input.
        if known is None or (rank not in known and rank is not None and self.ranks):
            return None
        self.met.add(id(raw))
        found = known[rank] if rank in known else next(iter(known.values()))
        return found._here() if rank is None else found

    def new(self, value: Any) -> Ref:
        """Return a new value of the program."""
        ref = Ref(len(self.facts))
        # All of a fact but the device, which may have no hash.
        key = tuple(value.shape), value.dtype, self.domain.backend.strides(value), type(value)
        device = self.domain.device(value)
        known = self._alike.get(key)
        if known is None or known.device != device:
            known = self._alike[key] = Fact(*key, device)
        self.facts[ref] = known
        return ref

    def input(self, value: Any) -> Ref:
        """Return a new input of the program."""
        ref = self.new(value)
        self.inputs.append(ref)
        return ref

    def constant(self, value: Any) -> Ref:
        """Return the value of the program that stands for an array that is the same in each run."""
        ref = self._refs.get(id(value))
        if ref is None:
            ref = self._refs[id(value)] = self.new(value)
            self.constants[ref] = value
        return ref

    def place_of(self, array: Any) -> Ref:
        """Return the value of the program that a traced array is."""
        return self.constant(array.payload) if array.ref is None else array.ref

    def step(
        self,
        op: str,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        out: Any,
        given: Sequence[tuple[Ref, Any]],
    ) -> Sequence[Ref]:
        """Note a call; return its results' places. ``given`` are the arrays it was called with."""
        several = isinstance(out, _SEVERAL)
        values = out if several else (out,)
        refs = tuple([self.new(value) for value in values])
        shares = self._shares
        bases = [ref for ref, x in given for value in values if shares(value, x)]
        views = tuple(dict.fromkeys(bases)) if bases else ()
        location = place(self)
        self.ages.append(-next_rank())
        self.lines.append(location)
        self.steps.append(Step(op, args, kwargs, refs, several, views, location))
        if self.steps[-1].effects:
            self.effects = True
            self._check_alone()
        return refs

    def guard(self, kind: str, ref: Ref, value: Any) -> None:
        """Note that Python looked at a value."""
        options = {"kind": kind, "value": seen_by(kind, value), "number": self._guards}
        self._guards += 1
        self.steps.append(Step(GUARD, (ref,), options, (), location=place(self)))
        self._check_alone()

    def visiting(self) -> Visit:
        """Return what a pass that begins tells where it is."""
        visit = Visit()
        self.visits.append(ref(visit))
        return visit

    def visit(self) -> Visit | None:
        """Return where the innermost pass is that runs, None if none does."""
        while self.visits:
            visit = self.visits[-1]()
            if visit is not None:
                return visit
            self.visits.pop()  # only the pass held it, and has ended
        return None

    def _check_alone(self) -> None:
        """Raise if the program has guards and effects: a guard that fails would repeat those."""
        if self.effects and self._guards:
            raise refused(
                "the function looks at a value, and calls an op with effects, such as sending a "
                "message: where the value differs, a program would repeat them; use xp.where, or "
                "look at the value outside of the function"
            )

    def program(self, outputs: Sequence[Ref], name: str) -> TracedProgram:
        """Return what was recorded."""
        used = {ref for step in self.steps for ref in step.uses()} | set(outputs)
        constants = {ref: value for ref, value in self.constants.items() if ref in used}
        return TracedProgram(
            self.domain,
            tuple(self.inputs),
            constants,
            tuple(self.steps),
            tuple(outputs),
            dict(self.facts),
            name,
        )


def refused(what: str) -> CompileError:
    """Return the error of something that a program cannot do; ``what`` follows the place."""
    at = place(running.get())
    return CompileError(f"ag.compile{f' at {at}' if at else ''}: {what}")


def place(run: Recording | None) -> str | None:
    """Return the line of the user's code that runs now, or whose derivative a run computes.

    It is the first outside of agnograd, and of the functions that it writes. A reverse pass comes
    before that: what its rules compute is of the line that called the op of the node that it
    visits. That was the last line to call one before the node was made.
    """
    frame: FrameType | None = sys._getframe(1)
    visit = run.visit() if run is not None and run.visits else None
    while frame is not None:
        file = frame.f_code.co_filename
        if not (_is_own(frame.f_globals.get("__name__", "")) or file.startswith("<agnograd")):
            return f"{file}:{frame.f_lineno} in {frame.f_code.co_name}"
        if run is not None and visit is not None and frame.f_code is visit.code:
            older = bisect_left(run.ages, -visit.rank)
            if older:
                return run.lines[older - 1]
        frame = frame.f_back
    return None


@cache
def _is_own(module: str) -> bool:
    return is_own(module) or module.partition(".")[0] in ("functools", "contextlib", "optree")


_SEVERAL = (tuple, list)
