"""A proof that a plan of buffers is right: a run of the program on nothing but memory's names.

This shares no code with the planner. It follows what is in each piece of memory from step to step,
and notices if a step reads what has been overwritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from agnograd_compile._programs.plan import MemoryPlan, Way
from agnograd_compile._programs.program import Ref, Step, TracedProgram

# A piece of memory, and how often it had been written to when a value came to be there.
Content = tuple[str, int]
# Ways whose results can be written to memory that the plan names.
_WRITTEN = (Way.INTO, Way.ELEMENTWISE, Way.ADD)


class PlanError(AssertionError):
    """A plan of buffers is wrong: a run would compute something else than the program."""


def verify(program: TracedProgram, plan: MemoryPlan, way: Callable[[Step], Way]) -> None:
    """Prove that no step of a program reads what another one has overwritten.

    Parameters
    ----------
    program : TracedProgram
        The program.
    plan : MemoryPlan
        Where its results are written to.
    way : callable
        What the lowering can do with each step.

    Raises
    ------
    PlanError
        If the plan is wrong. It names the step and the value.
    """
    if len(plan.writes) != len(program.steps):
        raise PlanError(f"{len(plan.writes)} steps are planned, of {len(program.steps)}")
    _Verifier(program, plan, way).run()


class _Verifier:
    """What is where, while steps run."""

    def __init__(
        self, program: TracedProgram, plan: MemoryPlan, way: Callable[[Step], Way]
    ) -> None:
        self.program, self.plan, self.way = program, plan, way
        self.written: dict[str, int] = {}  # how often each piece of memory was written to
        self.contents: dict[Ref, frozenset[Content]] = {}
        self.whole: set[Ref] = set()  # values that are all of their memory, and no view of it
        self.given: set[str] = set()  # memory that belongs to the caller
        self.own: set[str] = set()  # memory of results, which no function called can have kept
        self.beside: dict[str, list[str]] = {}  # for each piece of memory, what is in a part of it
        self.owners = {room.owner for room in plan.rooms}
        parts = [(f"buffer {len(plan.sizes) + k}", *room) for k, room in enumerate(plan.rooms)]
        for name, owner, first, size in parts:
            self.beside.setdefault(f"memory of {owner}", []).append(name)
            self.beside[name] = [f"memory of {owner}"]
            self.beside[name] += [
                other
                for other, of, at, length in parts
                if of is owner and other != name and at < first + size and first < at + length
            ]
        for ref in (*program.inputs, *program.constants):
            self.given.add(self._appear(ref, f"given {ref}"))

    def run(self) -> None:
        for number, step in enumerate(self.program.steps):
            self._step(number, step)
        for ref in self.program.outputs:
            self._read("the result", ref)
            for memory in self._memories(ref):
                if memory.startswith("buffer"):
                    raise PlanError(f"output {ref} is in {memory}, which the next run overwrites")

    def _step(self, number: int, step: Step) -> None:
        title = f"step {number} ({step.op})"
        for ref in step.uses():
            self._read(title, ref)
        buffers = self.plan.writes[number]
        if len(buffers) != len(step.outs):
            raise PlanError(f"{title} has {len(step.outs)} results, and {len(buffers)} are planned")
        if number in self.plan.updates:
            self._update(title, step, buffers)
            return
        if number in self.plan.over:
            self._write_over(title, step, self.plan.over[number], buffers)
            return
        named = [buffer for buffer in buffers if buffer is not None]
        if len(set(named)) != len(named):
            raise PlanError(f"{title} writes two results to one buffer")
        above: frozenset[Content] = frozenset().union(
            *(self.contents[ref] for ref in step.views if ref in self.contents)
        )
        for ref, buffer in zip(step.outs, buffers, strict=True):
            if buffer is not None:
                self._write(title, step, ref, buffer)
            elif above:
                self.contents[ref] = above
            else:
                self._appear_alone(title, step, ref)

    def _appear_alone(self, title: str, step: Step, ref: Ref) -> None:
        """Let a result appear in memory of its own, which may have been lent to other values."""
        memory, is_own = f"memory of {ref}", self.way(step) in _WRITTEN
        for used in step.uses():
            if not self._memories(used).isdisjoint(self.beside.get(memory, ())):
                raise PlanError(f"{title} writes {ref} to memory that its argument {used} is in")
        if ref in self.owners and not is_own:
            raise PlanError(f"{title} cannot write {ref} to memory that was lent")
        self._appear(ref, memory)
        if is_own:
            self.own.add(memory)

    def _write(self, title: str, step: Step, ref: Ref, buffer: int) -> None:
        """Write a result to a buffer: no argument may be there, but one that is read in step."""
        way, memory = self.way(step), f"buffer {buffer}"
        if way not in _WRITTEN:
            raise PlanError(f"{title} cannot write {ref} to {memory}")
        if step.views:
            raise PlanError(f"{title} writes {ref} to {memory}, but it is a view of {step.views}")
        sizes = [*self.plan.sizes, *(room.size for room in self.plan.rooms)]
        if not 0 <= buffer < len(sizes):
            raise PlanError(f"{title} writes {ref} to {memory}, which does not exist")
        if buffer >= len(self.plan.sizes):
            room = self.plan.rooms[buffer - len(self.plan.sizes)]
            fact = self.program.facts[room.owner]
            if not 0 <= room.offset <= fact.size * fact.dtype.itemsize - room.size:
                raise PlanError(f"{title} writes {ref} to {memory}, outside of {room.owner}")
        self._fits(title, ref, sizes[buffer])
        self._go_over(title, step, ref, memory)

    def _go_over(self, title: str, step: Step, ref: Ref, memory: str) -> None:
        """Write a result where arguments may be: those that are read element by element."""
        for used in step.uses():
            if self._memories(used).isdisjoint((memory, *self.beside.get(memory, ()))):
                continue
            alike = self.program.facts[used] == self.program.facts[ref] and used in self.whole
            if (
                self.way(step) is not Way.ELEMENTWISE
                or not alike
                or {memory} != self._memories(used)
            ):
                raise PlanError(f"{title} writes {ref} to {memory}, where its argument {used} is")
        self._appear(ref, memory)

    def _write_over(self, title: str, step: Step, into: Ref, buffers: Iterable[int | None]) -> None:
        """Write the only result over an argument that is in memory of its own."""
        if into not in step.uses() or step.views or [*buffers] != [None]:
            raise PlanError(f"{title} cannot write over {into}")
        memories = self._memories(into)
        if not memories <= self.own or into not in self.whole:
            raise PlanError(f"{title} writes over {into}, which is not in memory of its own")
        (memory,) = memories
        self._go_over(title, step, step.outs[0], memory)

    def _update(self, title: str, step: Step, buffers: Iterable[int | None]) -> None:
        """Change the first argument: the result is where it was."""
        if self.way(step) not in (Way.UPDATE, Way.ADD) or len(step.outs) != 1 or step.views:
            raise PlanError(f"{title} cannot change its first argument")
        (out,), into = step.outs, step.args[0]
        if self.program.facts[into] != self.program.facts[out] or into not in self.whole:
            raise PlanError(f"{title} makes {out} of {into}, which has another layout")
        (memory,) = self._memories(into)
        if memory in self.given:
            raise PlanError(f"{title} changes {into}, which is not the program's own")
        planned = [None if buffer is None else f"buffer {buffer}" for buffer in buffers]
        if planned != [memory if memory.startswith("buffer") else None]:
            raise PlanError(f"{title} changes {into} in {memory}, and not in {planned}")
        rest = [*step.uses()]
        rest.remove(into)
        for used in rest:
            if memory in self._memories(used):
                raise PlanError(f"{title} changes {into} while it reads {used}, in the same memory")
        self._appear(out, memory)

    def _fits(self, title: str, ref: Ref, size: int) -> None:
        """Check that a value's elements fill the first bytes of its buffer."""
        fact = self.program.facts[ref]
        reached = fact.dtype.itemsize
        axes = sorted(zip(fact.strides or (), fact.shape, strict=True))
        for stride, length in axes:
            if length > 1 and stride < reached:
                raise PlanError(f"{title}: elements of {ref} lie on each other")
            reached += (length - 1) * stride
        if not fact.size or reached != fact.size * fact.dtype.itemsize:
            raise PlanError(f"{title}: the elements of {ref} leave gaps in its buffer")
        if reached > size:
            raise PlanError(f"{title}: {ref} has more than the {size} bytes of its buffer")

    def _appear(self, ref: Ref, memory: str) -> str:
        """Let a value appear in memory, over what was there."""
        self.written[memory] = count = self.written.get(memory, 0) + 1
        for part in self.beside.get(memory, ()):
            self.written[part] = self.written.get(part, 0) + 1
        self.contents[ref] = frozenset(((memory, count),))
        self.whole.add(ref)
        return memory

    def _read(self, title: str, ref: Ref) -> None:
        if ref not in self.contents:
            raise PlanError(f"{title} reads {ref}, which is not there yet")
        for memory, count in self.contents[ref]:
            if self.written[memory] != count:
                raise PlanError(f"{title} reads {ref}, but {memory} was written to since")

    def _memories(self, ref: Ref) -> set[str]:
        return {memory for memory, _ in self.contents[ref]}
