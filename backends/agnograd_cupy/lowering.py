"""How traced programs run on CuPy: on the arrays' own device, in memory that nothing reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agnograd_compile.lowering import Lowering, Ref, Writer, freed_after, nbytes, roots_of, straight

if TYPE_CHECKING:
    from agnograd_compile.lowering import Description, Runnable, Step, TracedProgram

__all__ = ["OnDevice", "lowering"]

# The ufuncs of CuPy that read each element before they write it.
UNARY = "abs acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 negative"
UNARY += " sin sinh sqrt square tan tanh"
BINARY = "add divide hypot logaddexp maximum minimum multiply subtract"
IN_PLACE = frozenset((UNARY + " " + BINARY).split())


class OnDevice(Lowering):
    """Runs the steps on the device of the arrays, where ufuncs write to memory that is free.

    CuPy computes on the current device, which may be another one when a program runs than it was
    when it was traced. Nothing here waits for the device but guards.
    """

    preference = 2
    exact = True

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program."""
        found = [fact.device for fact in program.facts.values()]
        if not found or any(device != found[0] for device in found):
            return straight(program)  # the program moves arrays itself
        run, device = OutWriter(program).runnable(), found[0]

        def on_device(arrays: Sequence[Any]) -> list[Any]:
            with device:
                return run(arrays)

        return on_device

    def describe(self, program: TracedProgram) -> Description:
        """Return the text of the function that runs a program."""
        return {"source": OutWriter(program).source()}


class OutWriter(Writer):
    """Writes ``out=`` for ufuncs where an argument's memory is free."""

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self._freed = freed_after(program)
        self._roots = roots_of(program)
        self._fresh = {
            step.outs[0]
            for step in program.steps
            if step.op in IN_PLACE and self._roots[step.outs[0]] == {step.outs[0]}
        }

    def call(self, step: Step) -> str:
        """Write the call of a step's function."""
        text, memory = super().call(step), self._memory(step)
        return text if memory is None else f"{text[:-1]}, out={self.name(memory)})"

    def step(self, number: int, step: Step) -> None:
        """Write one step."""
        self._number = number
        super().step(number, step)

    def _memory(self, step: Step) -> Ref | None:
        """Return an argument in whose place the result can be written."""
        if step.op not in IN_PLACE or step.kwargs:
            return None
        facts = self.program.facts
        wanted = facts[step.outs[0]]
        fitting = (ref for ref in step.args if type(ref) is Ref and facts[ref] == wanted)
        return next((ref for ref in fitting if self._is_free(step, ref)), None)

    def _is_free(self, step: Step, ref: Ref) -> bool:
        if ref not in self._fresh or ref not in self._freed.get(self._number, ()):
            return False
        shared = any(ref in self._roots[each] for each in step.uses() if each != ref)
        return not shared and nbytes(self.program.facts[ref]) is not None


lowering = OnDevice()
