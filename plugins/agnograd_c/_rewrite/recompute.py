"""Values that are computed again rather than kept, where that takes less memory and little time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod

from agnograd.extend import switch
from agnograd_c._choose.groups import Group, groups_of, levels_of
from agnograd_c._choose.places import ADDS
from agnograd_c._choose.steps import SUMS
from agnograd_c._rewrite.lives import Life, Lives
from agnograd_compile.lowering import Editor, Ref, Step, TracedProgram, dead, roots_of

# A step whose result is its first argument, as it is after its second one is there. Groups have
# steps that can run at one time: it keeps what is computed again out of the group that made it.
AFTER = "@after"

# How many bytes a value has at least that is computed again, and of which part of all in use.
VALUE_BYTES = switch("VALUE_BYTES", 2**10, least=1, most=2**62, module=__name__)
VALUE_PART = switch("VALUE_PART", 512, least=1, most=2**62, module=__name__)
# How many bytes have to be saved, and their share of all: less is not worth the time.
SAVED_BYTES = switch("SAVED_BYTES", 2**16, least=0, most=2**62, module=__name__)
SAVED_SHARE = switch("SAVED_SHARE", 0.1, least=0.0, most=1.0, module=__name__)
# By how many steps a value may be computed again, and how often: each takes time.
AGAIN_STEPS = switch("AGAIN_STEPS", 4, least=1, most=64, module=__name__)
AGAIN_TIMES = switch("AGAIN_TIMES", 3, least=1, most=64, module=__name__)
# By how many steps a group makes a value itself in no more time than it takes to read it.
QUICK_STEPS = switch("QUICK_STEPS", 2, least=0, most=64, module=__name__)
_QUICK = frozenset(("add", "subtract", "multiply", "negative", "maximum", "minimum", "abs"))


def recomputed(program: TracedProgram) -> TracedProgram:
    """Return the program that keeps fewer bytes at its peak, as it computes some values twice.

    A value is made again if the peak lies between two of its readers, by a few element-wise steps
    from values that are kept anyway: the state of a layer from what its derivative needs, or a
    softmax's numerator from its scores. It is made before its next reader, or before the last one
    of what it is made from, whose place it takes then. A group that reads it makes it itself.

    What only such groups read, and one or two quick steps make of a value that is kept beside it,
    is never kept: each of them makes it of the other one.
    """
    if not _may_gain(program):
        return program
    groups = [group for group in groups_of(program) if group.shape]
    if all(group.is_product for group in groups):
        return program
    search = _Search(program, groups)
    late = search.late()
    before, known = max(search.lives.use), dict(search.lives.known)
    found = search.found(late)
    if before - max(search.lives.use) < max(SAVED_BYTES, SAVED_SHARE * before):
        search.lives.known, found = known, late
    if not found:
        return program
    return _Writer(program, search).written(found)


def unpinned(program: TracedProgram) -> TracedProgram:
    """Return the program without the steps that keep others apart; its order is what it is."""
    same: dict[Ref, Ref] = {}
    steps = []
    for step in program.steps:
        if step.op == AFTER:
            same[step.outs[0]] = same.get(step.args[0], step.args[0])
        else:
            steps.append(step.renamed(same))
    return program.with_(steps=tuple(steps)) if same else program


def _may_gain(program: TracedProgram) -> bool:
    """Return whether the values of a program are large enough, all of them together."""
    total = 0
    for fact in program.facts.values():  # a loop: it is asked of every program
        size = prod(fact.shape) * getattr(fact.dtype, "itemsize", 0) if fact.shape else 0
        total += size if size >= VALUE_BYTES else 0
    return total >= SAVED_BYTES


class _Search:
    """A search for values that are not read for a while, and can be computed again."""

    def __init__(self, program: TracedProgram, groups: Sequence[Group]) -> None:
        self.lives = Lives(program, groups, VALUE_BYTES)
        self.makers = {ref: step for step in program.steps for ref in step.outs}
        self.roots = roots_of(program)
        self._sources: set[Ref] = set()  # what other values are made of, and which is kept for them
        elementwise = (group for group in groups if not group.is_product)
        steps = [program.steps[number] for group in elementwise for number in group.steps]
        self.members = {
            ref
            for step in steps
            if step.op not in (*SUMS, ADDS) and not step.effects
            for ref in step.outs
        }
        for step in program.steps:
            if len(step.outs) > 1 and step.views:  # which would all be taken again for one of them
                self.members.difference_update(*(self.roots[ref] for ref in step.views))

    def late(self) -> dict[int, list[Ref]]:
        """Return what groups make themselves, by the unit of the group.

        Wherever a value was, only what it is made of is in its place, or both were before.
        """
        lives, due = self.lives, dict[int, list[Ref]]()
        for ref, life in [*lives.known.items()]:
            made, *readers = life.events
            shape = lives.shapes[made]
            if ref not in self.members or ref in self._sources or len(readers) > AGAIN_TIMES:
                continue
            if any(lives.shapes[each] != shape for each in readers):
                continue
            sources = self._made_quickly(ref, made, readers[-1])
            if not sources:
                continue
            self._sources.update(sources)
            (source, *_) = sources
            lives.change(ref, Life(life.size, life.events, [False] * len(life.kept)))
            lives.change(source, lives.known[source].until(readers))
            for each in readers:
                due.setdefault(each, []).append(ref)
        return due

    def _made_quickly(self, ref: Ref, unit: int, last: int) -> list[Ref]:
        """Return what a few quick steps of a unit make a value of, none if it cannot replace it.

        Only the first one may have to be kept longer, if it is at most as large; all others are
        there up to the last unit that reads the value.
        """
        lives, left, steps, kept = self.lives, [ref], set[Ref](), set[Ref]()
        while left:
            each = left.pop()
            if each in steps or each in kept:
                continue
            life = lives.known.get(each)
            if each is not ref and life is not None and all(life.kept):
                kept.add(each)
            elif each in self.members and lives.made[each] == unit and len(steps) < QUICK_STEPS:
                if self.makers[each].op not in _QUICK:
                    return []
                steps.add(each)
                left += self.makers[each].uses()
            elif not lives.is_there(each, last):
                return []
        known = lives.known
        ends = {each: known[each].events[-1] for each in kept}
        longer = [each for each in kept if ends[each] < last]
        if len(longer) > 1 or any(known[each].size > known[ref].size for each in longer):
            return []
        return sorted(kept, key=lambda each: (ends[each], each.number))

    def found(self, late: Mapping[int, Sequence[Ref]]) -> dict[int, list[Ref]]:
        """Return what is computed again, by the unit before which that is; see ``lives`` then.

        ``late`` is a part of that.
        """
        lives, due = self.lives, {unit: [*refs] for unit, refs in late.items()}
        while lives.use:
            most = max(lives.use)
            peak = lives.use.index(most)
            large = [ref for ref, life in lives.known.items() if life.size * VALUE_PART >= most]
            for ref in sorted(large, key=lambda ref: (-lives.known[ref].size, ref.number)):
                gap = self._gap(ref, peak)
                if gap is not None:
                    place, until = gap
                    lives.change(ref, lives.known[ref].without(place, until))
                    due.setdefault(until, []).append(ref)
                    if max(lives.use) > lives.use[peak]:
                        break  # there is another peak now
            if lives.use[peak] == most:
                break
        return due

    def _gap(self, ref: Ref, peak: int) -> tuple[int, int] | None:
        """Return the place of the event after which a value is not kept, and the unit until which.

        None if it is there at the peak all the same.
        """
        lives, life = self.lives, self.lives.known[ref]
        if ref not in self.members or life.kept.count(False) == AGAIN_TIMES:
            return None
        if not lives.is_in(ref, peak, life):
            return None
        for place, (first, last) in enumerate(pairwise(life.events)):
            if not (life.kept[place] and first <= peak <= last):
                continue
            made_from: set[Ref] = set()
            if not self._is_made_from(ref, last, set(), made_from):
                continue
            known = [lives.known[each].events[-1] for each in made_from if each in lives.known]
            until = min([last, *known])
            if first < until and not lives.is_in(ref, peak, life.without(place, until)):
                return place, until
        return None

    def _is_made_from(self, ref: Ref, unit: int, steps: set[Ref], made_from: set[Ref]) -> bool:
        """Return whether a few steps make a value again before a unit.

        Add what they make to a set, and what they read to another one.
        """
        step = self.makers[ref]
        if ref not in self.members and not step.views:
            return False
        steps.update(step.outs if ref in self.members else ())
        for each in step.uses():
            if each in steps or len(steps) > AGAIN_STEPS:
                continue
            if self.lives.is_there(each, unit):
                made_from.update(self.roots[each])
            elif not self._is_made_from(each, unit, steps, made_from):
                return False
        return len(steps) <= AGAIN_STEPS


class _Writer(Editor):
    """Writes a program that computes values again."""

    def __init__(self, program: TracedProgram, search: _Search) -> None:
        super().__init__(program)
        self.lives, self.members = search.lives, search.members
        self.makers, self.roots = search.makers, search.roots
        self.levels = levels_of(program, ())
        self.new: dict[Ref, Ref] = {}  # what later steps read in place of values
        self.gone: set[Ref] = set()  # values that were computed again
        self._latest: Ref | None = None  # the value so far that was made at the highest level

    def written(self, due: Mapping[int, Sequence[Ref]]) -> TracedProgram:
        """Return the program that computes values again before units."""
        for unit, numbers in enumerate(self.lives.units):
            steps = [self.program.steps[number] for number in numbers]
            if unit in due:
                self._compute(due[unit], unit, steps)
            for step in steps:
                for ref in step.uses():
                    self._viewed(ref)
                self.steps.append(step.renamed(self.new))
                if step.outs and self._level(step.outs[0]) >= self._level(self._latest):
                    self._latest = step.outs[-1]
        return dead(self.finished())

    def _level(self, ref: Ref | None) -> int:
        """Return the level of what can be computed once a value is there."""
        shape, level, _ = self.levels.get(ref, (None, -1, False)) if ref else (None, -1, False)
        return level + (shape is not None)

    def _token(self, refs: Sequence[Ref], steps: Sequence[Step]) -> Ref:
        """Return a value that is there before some steps, and made after the groups of values."""
        inside = {ref for step in steps for ref in step.outs}
        used = (ref for step in steps for ref in step.uses() if ref not in inside)
        read = [ref for ref in used if self.gone.isdisjoint(self.roots[ref])]
        token = max(read, key=self._level, default=None)
        if self._level(token) <= max(self.levels[ref][1] for ref in refs):
            token = self._latest
        assert token is not None
        return self.new.get(token, token)

    def _compute(self, refs: Sequence[Ref], unit: int, steps: Sequence[Step]) -> None:
        """Compute values again before some steps, in the order in which they were made."""
        self.gone.update(refs)
        for ref in [ref for ref in self.new if not self.roots[ref].isdisjoint(refs)]:
            del self.new[ref]  # what was computed again before, and views of it
        token, now = self._token(refs, steps), dict[Ref, Ref]()
        for ref in refs:
            self._again(ref, unit, token, now)
        self.new |= now

    def _again(self, ref: Ref, unit: int, token: Ref, now: dict[Ref, Ref]) -> Ref:
        """Return a value as it is once the token is there: computed again, or kept."""
        if ref not in now:
            step = self.makers.get(ref)
            there = self.lives.is_there(ref, unit)
            if step is None or there or not (ref in self.members or step.views):
                kept = self._viewed(ref)
                now[ref] = self._add(Step(AFTER, (kept, token), {}, (ref,), views=(kept,)))
            else:
                new = {each: self._again(each, unit, token, now) for each in step.uses()}
                now[ref] = self._add(step.renamed(new))
        return now[ref]

    def _viewed(self, ref: Ref) -> Ref:
        """Return a value as it is now; a view of one that was computed again is taken again."""
        if ref not in self.new and not self.gone.isdisjoint(self.roots[ref]):
            step = self.makers[ref]
            self.new[ref] = self._add(step.renamed({e: self._viewed(e) for e in step.uses()}))
        return self.new.get(ref, ref)

    def _add(self, step: Step) -> Ref:
        """Add a step whose result is a new one, like the result that it names; return it."""
        (like,) = step.outs
        ref = self.value(self.facts[like])
        self.steps.append(replace(step, outs=(ref,)))
        return ref
