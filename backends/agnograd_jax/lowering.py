"""How traced programs run on JAX: as one function under ``jax.jit``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agnograd.extend import Lowering, Missed, Ref, Step, Writer, seen_by, straight

if TYPE_CHECKING:
    from agnograd.extend import Description, Runnable, TracedProgram

__all__ = ["Jit", "jit"]

# Larger constants are arguments: XLA would keep a copy in each compiled function, and compute with
# them while it compiles.
BAKED = 256


class Jit(Lowering):
    """Compiles the whole program by ``jax.jit``."""

    preference = 2

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program; the first run compiles it.

        Settings of a thread, such as that of 64-bit numbers, are part of JAX's own key.
        """
        if any(step.op == "@call" or step.effects for step in program.steps):
            return straight(program)  # what such a step does, JAX would do only once
        return Compiled(program)

    def describe(self, program: TracedProgram) -> Description:
        """Return the function that JAX traces: all steps are of one group."""
        steps = [n for n, step in enumerate(program.steps) if step.op != "@guard"]
        return {"source": JitWriter(program).source(), "groups": [steps]}


class Compiled:
    """A program under ``jax.jit``; it runs step by step if JAX cannot trace it."""

    def __init__(self, program: TracedProgram) -> None:
        writer = JitWriter(program)
        self._guards = [step.kwargs for step in program.guards()]
        self._large = [program.constants[ref] for ref in writer.large]
        import jax  # the module is loaded where JAX need not be installed

        self._run = jax.jit(writer.runnable())
        self._refusals = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
        self._straight = straight(program)
        self._is_traceable = True

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the program."""
        if not self._is_traceable:
            return self._straight(arrays)
        try:
            found: list[Any] = self._run(*self._large, *arrays)
        except self._refusals:
            # A step looks at values, such as a mask as a key.
            found = self._straight(arrays)
            self._is_traceable = False
            return found
        if self._guards:
            count = len(found) - len(self._guards)
            check(self._guards, found[count:])
            del found[count:]
        return found


class JitWriter(Writer):
    """Writes a function of the large constants and the inputs, without branches.

    It returns the values that guards look at after the outputs.
    """

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self.large = [ref for ref in program.constants if program.facts[ref].size > BAKED]
        self._seen: list[Ref] = []

    def source(self) -> str:
        """Write the function."""
        self.body()
        given = ", ".join(map(self.name, (*self.large, *self.program.inputs)))
        lines = [f"def run({given}):", *[f"    {line}" for line in self.lines]]
        return "\n".join([*lines, f"    return {self.outputs()}", ""])

    def body(self) -> None:
        """Write all steps; JAX's tracers take no memory that would have to be let go."""
        for number, step in enumerate(self.program.steps):
            self.step(number, step)

    def guard(self, step: Step) -> None:
        """Keep a value to be looked at after the run."""
        self._seen.append(step.args[0])

    def outputs(self) -> str:
        """Write the list of outputs, and what guards look at."""
        seen = "".join(f", {self.name(ref)}" for ref in self._seen)
        return f"[*{super().outputs()}{seen}]"


def check(guards: Sequence[Mapping[str, Any]], values: Sequence[Any]) -> None:
    """Raise for the first guard whose value is not the one that was traced."""
    for guard, value in zip(guards, values, strict=True):
        seen = seen_by(guard["kind"], value)
        if seen != guard["value"]:
            raise Missed(guard["number"], seen)


jit = Jit()
