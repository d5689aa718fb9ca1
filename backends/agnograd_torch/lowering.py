"""How traced programs run on PyTorch: by its functions called directly, or compiled by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from agnograd.extend import Lock
from agnograd_compile.lowering import (
    Lowering,
    Missed,
    Ref,
    Step,
    Writer,
    freed_after,
    nbytes,
    roots_of,
    seen_by,
    straight,
)
from agnograd_torch._calls import IN_PLACE, UPDATES, direct_call
from agnograd_torch._linalg import factors, solved, solved_by_adjoints
from agnograd_torch._select import select_call

if TYPE_CHECKING:
    from agnograd_compile.lowering import Description, Runnable, TracedProgram

__all__ = ["Direct", "Inductor", "direct", "inductor"]


class Direct(Lowering):
    """Runs the steps by PyTorch's own functions, in memory that nothing reads any more.

    What the functions of the standard do before they call PyTorch's depends only on dtypes, shapes
    and options, which a program knows: it is done when the program is written, or left out. So the
    same kernels run on the same layouts, and results are the same bit for bit.
    """

    preference = 2
    exact = True

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program."""
        if any(step.effects for step in program.steps):  # nothing may run once more
            return straight(program)
        run, plain = DirectWriter(program).runnable(), straight(program)

        def guarded(arrays: Sequence[Any]) -> list[Any]:
            try:
                return run(arrays)
            except RuntimeError:
                # PyTorch's transformations refuse to write to memory: the plain program writes
                # nothing, and an error of the program's own is raised again, by the same op.
                return plain(arrays)

        return guarded

    def describe(self, program: TracedProgram) -> Description:
        """Return the text of the function that runs a program."""
        return {"source": DirectWriter(program).source()}


class DirectWriter(Writer):
    """Writes calls of PyTorch's functions, with ``out=`` where an argument's memory is free."""

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        backend = program.domain.backend
        self._updates = {op: getattr(backend, op[1:]) for op in UPDATES}
        self._freed = freed_after(program)
        self._solves = shared_factors(program)
        self._roots = roots_of(program)
        self._fresh = {
            step.outs[0]
            for step in program.steps
            if len(step.outs) == 1
            and (step.op in UPDATES or not step.op.startswith("@"))
            and self._roots[step.outs[0]] == {step.outs[0]}
        }

    def step(self, number: int, step: Step) -> None:
        """Write a step by a direct call if there is one."""
        if step.op in UPDATES:
            self._update(number, step)
            return
        if number in self._solves:
            self._solve(number, step)
            return
        found = select_call(step, self.program) or direct_call(step, self.program.facts)
        if found is None:
            super().step(number, step)
            return
        function, args, options = found
        given = [*map(self.text, args), *(f"{n}={self.text(v)}" for n, v in options.items())]
        first = args[0] if args else None
        # Not all functions have `out=` for a number before a tensor.
        memory = self._memory(number, step) if isinstance(first, Ref | torch.Tensor) else None
        if memory is not None:
            given.append(f"out={self.name(memory)}")
        name = self.held(function, step.op)
        self.lines.append(f"{self.results(step)} = {name}({', '.join(given)})")

    def _update(self, number: int, step: Step) -> None:
        """Write what adds to its first argument: in place, or to a copy."""
        function = self.held(self._updates[step.op], step.op)
        into, *given = map(self.text, step.args)
        if not self._is_free(number, step, step.args[0]):
            into = f"{into}.clone()"
        self.lines.append(f"{self.results(step)} = {function}({', '.join([into, *given])})")

    def _solve(self, number: int, step: Step) -> None:
        """Write what solves by a matrix that other steps solve by, too: it is factorised once."""
        matrix, right = map(self.text, step.args)
        steps = self._solves[number]
        known = f"f{steps[0]}"
        if number == steps[0]:
            self.lines.append(f"{known} = {self.held(factors, 'factors')}({matrix})")
        if step.op == "linalg.solve":
            call = f"{self.held(solved, 'solved')}({matrix}, {known}, {right})"
        else:
            call = f"{self.held(solved_by_adjoints, 'solved_by_adjoints')}({known}, {right})"
        self.lines.append(f"{self.results(step)} = {call}")
        if number == steps[-1]:
            self.lines.append(f"del {known}")

    def _memory(self, number: int, step: Step) -> Ref | None:
        """Return an argument in whose place the result can be written."""
        if step.op not in IN_PLACE:
            return None
        facts = self.program.facts
        wanted = facts[step.outs[0]]
        if wanted.dtype.is_complex:  # whose last bits depend on where they are written
            return None
        fitting = (ref for ref in step.args if type(ref) is Ref and facts[ref] == wanted)
        return next((ref for ref in fitting if self._is_free(number, step, ref)), None)

    def _is_free(self, number: int, step: Step, ref: Any) -> bool:
        """Return whether a step may write over an argument, which nothing reads but the step."""
        if ref not in self._fresh or ref not in self._freed.get(number, ()):
            return False
        others = [each for each in step.uses() if each != ref]
        shared = any(ref in self._roots[each] for each in others)
        return not shared and nbytes(self.program.facts[ref]) is not None


def shared_factors(program: TracedProgram) -> dict[int, list[int]]:
    """Return the steps that solve by one matrix that others solve by, too, and all of these.

    Where PyTorch solves by other factors than those of the matrix itself, as on a device, results
    would not be the same bit for bit.
    """
    by: dict[Ref, list[int]] = {}
    facts = program.facts
    for number, step in enumerate(program.steps):
        if step.op not in ("linalg.solve", "linalg.solve_adjoint") or step.kwargs:
            continue
        if not all(type(each) is Ref for each in step.args):
            continue
        one, two = (facts[each] for each in step.args)
        alike = one.dtype == two.dtype and torch.device(one.device).type == "cpu"
        if alike and len(one.shape) == 2 and 1 <= len(two.shape) <= 2:
            by.setdefault(step.args[0], []).append(number)
    return {number: steps for steps in by.values() if steps[1:] for number in steps}


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

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program; the first run compiles it."""
        if any(step.effects for step in program.steps):  # PyTorch could do them only once
            return direct.lower(program)
        return Compiled(program)

    def describe(self, program: TracedProgram) -> Description:
        """Return the function that PyTorch compiles: all steps are of one group."""
        steps = [n for n, step in enumerate(program.steps) if step.op != "@guard"]
        return {"source": GuardsLast(program).source(), "groups": [steps]}


class Compiled:
    """A program under ``torch.compile``; it runs directly if PyTorch cannot compile it."""

    def __init__(self, program: TracedProgram) -> None:
        self._direct = direct.lower(program)
        self._guards = [step.kwargs for step in program.guards()]
        self._lock = Lock()
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
        for guard, value in zip(self._guards, seen, strict=True):
            found = seen_by(guard["kind"], value)
            if found != guard["value"]:
                raise Missed(guard["number"], found)
        return outputs


direct = Direct()
inductor = Inductor()
