"""How traced programs run on PyTorch: by its functions called directly, or compiled by it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from agnograd.extend import (
    Fact,
    Lowering,
    Missed,
    Ref,
    Step,
    Writer,
    freed_after,
    roots_of,
    seen_by,
    straight,
)
from agnograd_torch._calls import IN_PLACE, direct_call

if TYPE_CHECKING:
    from agnograd.extend import TracedProgram

__all__ = ["Direct", "Inductor", "direct", "inductor"]

Run = Callable[[Sequence[Any]], list[Any]]


class Direct(Lowering):
    """Runs the steps by PyTorch's own functions, in memory that nothing reads any more.

    What the functions of the standard do before they call PyTorch's depends only on dtypes, shapes
    and options, which a program knows: it is done when the program is written, or left out. So the
    same kernels run on the same layouts, and results are the same bit for bit.
    """

    preference = 2
    exact = True

    def lower(self, program: TracedProgram) -> Run:
        """Return the function that runs a program."""
        run, plain = DirectWriter(program).runnable(), straight(program)

        def guarded(arrays: Sequence[Any]) -> list[Any]:
            try:
                return run(arrays)
            except RuntimeError:
                # PyTorch's transformations refuse to write to memory: the plain program writes
                # nothing, and an error of the program's own is raised again, by the same op.
                return plain(arrays)

        return guarded


class DirectWriter(Writer):
    """Writes calls of PyTorch's functions, with ``out=`` where an argument's memory is free."""

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self._freed = freed_after(program)
        self._fresh = _fresh(program)

    def step(self, number: int, step: Step) -> None:
        """Write a step by a direct call if there is one."""
        found = direct_call(step, self.program.facts)
        if found is None:
            super().step(number, step)
            return
        function, args, options = found
        given = [*map(self.text, args), *(f"{n}={self.text(v)}" for n, v in options.items())]
        memory = self._memory(number, step)
        if memory is not None:
            given.append(f"out={self.name(memory)}")
        name = self.held(function, step.op)
        self.lines.append(f"{self.results(step)} = {name}({', '.join(given)})")

    def _memory(self, number: int, step: Step) -> Ref | None:
        """Return an argument in whose place the result can be written."""
        if step.op not in IN_PLACE:
            return None
        facts = self.program.facts
        wanted = facts[step.outs[0]]
        if not _is_dense(wanted):
            return None
        free = self._fresh.intersection(self._freed.get(number, ()))
        fitting = (ref for ref in step.args if type(ref) is Ref and facts[ref] == wanted)
        return next((ref for ref in fitting if ref in free), None)


def _fresh(program: TracedProgram) -> set[Ref]:
    """Return the values whose memory a step has made, and that only views of them share."""
    roots = roots_of(program)
    return {
        step.outs[0]
        for step in program.steps
        if len(step.outs) == 1
        and not step.op.startswith("@")
        and roots[step.outs[0]] == {step.outs[0]}
    }


def _is_dense(fact: Fact) -> bool:
    """Return whether the elements fill the memory from the first to the last one."""
    if fact.strides is None or not fact.size:
        return False
    last = sum((n - 1) * stride for n, stride in zip(fact.shape, fact.strides, strict=True))
    return last == (fact.size - 1) * int(fact.dtype.itemsize)


class GuardsLast(Writer):
    """Writes a function without branches: it returns the values of guards beside the outputs."""

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self.seen: list[str] = []

    def guard(self, step: Step) -> None:
        """Keep a guard's value for later."""
        self.seen.append(self.text(step.args[0]))

    def is_named(self, ref: Ref) -> bool:
        """Return whether a value may be let go: what guards look at is kept."""
        return super().is_named(ref) and self.name(ref) not in self.seen

    def outputs(self) -> str:
        """Write the outputs, and what guards look at."""
        return f"{super().outputs()}, [{', '.join(self.seen)}]"


class Inductor(Lowering):
    """Compiles the whole program by ``torch.compile``, as one graph without breaks."""

    def lower(self, program: TracedProgram) -> Run:
        """Return the function that runs a program; the first run compiles it."""
        return Compiled(program)


class Compiled:
    """A program under ``torch.compile``; it runs directly if PyTorch cannot compile it."""

    def __init__(self, program: TracedProgram) -> None:
        self._direct = direct.lower(program)
        self._guards = [step.kwargs for step in program.guards()]
        self._lock = threading.Lock()
        self._is_compiled = False
        function = GuardsLast(program).runnable()
        self._run = torch.compile(function, fullgraph=True, dynamic=False)

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the program."""
        if self._run is None:
            return self._direct(arrays)
        if not self._is_compiled:
            with self._lock:  # two threads must not compile the same
                return self._first(arrays)
        return self._checked(*self._run(arrays))

    def _first(self, arrays: Sequence[Any]) -> list[Any]:
        run = self._run
        if run is None:
            return self._direct(arrays)
        try:
            outputs, seen = run(arrays)
        except Exception:
            # There may be no C++ compiler, or an op that the compiler does not know; an error of
            # the program's own is raised here.
            found = self._direct(arrays)
            self._run = None
            return found
        self._is_compiled = True
        return self._checked(outputs, seen)

    def _checked(self, outputs: list[Any], seen: Sequence[Any]) -> list[Any]:
        """Return the outputs, or raise if a guard's value is not the one that was traced."""
        for number, (guard, value) in enumerate(zip(self._guards, seen, strict=True)):
            found = seen_by(guard["kind"], value)
            if found != guard["value"]:
                raise Missed(number, found)
        return outputs


direct = Direct()
inductor = Inductor()
