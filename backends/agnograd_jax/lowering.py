"""How traced programs run on JAX: as functions under ``jax.jit``, of which there is mostly one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agnograd.extend import Lowering, Missed, Writer, seen_by, straight
from agnograd_jax._parts import Run, in_parts, parts_of

if TYPE_CHECKING:
    from agnograd.extend import Description, Runnable, TracedProgram

__all__ = ["Jit", "jit"]

# Larger constants are arguments: XLA would keep a copy in each compiled function, and compute with
# them while it compiles.
BAKED = 256


class Jit(Lowering):
    """Compiles the program by ``jax.jit``: the whole, or its parts."""

    preference = 2

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program; the first run compiles it.

        Settings of a thread, such as that of 64-bit numbers, are part of JAX's own key.
        """
        if any(step.op == "@call" or step.effects for step in program.steps):
            return straight(program)  # what such a step does, JAX would do only once
        return Compiled(program)

    def describe(self, program: TracedProgram) -> Description:
        """Return the functions that JAX traces, and the steps of each."""
        sources: list[str] = []

        def written(part: TracedProgram) -> Any:
            sources.append(JitWriter(part).source())

        in_parts(program, written)
        return {"source": "\n\n".join(sources), "groups": parts_of(program)}


class Compiled:
    """A program under ``jax.jit``; it runs step by step if JAX cannot trace it."""

    def __init__(self, program: TracedProgram) -> None:
        self._guards = [step.kwargs for step in program.guards()]
        import jax  # the module is loaded where JAX need not be installed

        self._run = in_parts(program, lambda part: jitted(JitWriter(part)))
        self._refusals = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
        self._straight = straight(program)
        self._is_traceable = True

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the program."""
        if not self._is_traceable:
            return self._straight(arrays)
        try:
            found: list[Any] = self._run(arrays)
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
    """Writes a function of the large constants and the inputs, without branches."""

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self.large = [ref for ref in program.constants if program.facts[ref].size > BAKED]

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


def jitted(writer: JitWriter) -> Run:
    """Return what a writer writes, under ``jax.jit``, as a function of the inputs."""
    import jax

    run = jax.jit(writer.runnable())
    large = [writer.program.constants[ref] for ref in writer.large]
    return lambda arrays: run(*large, *arrays)


def check(guards: Sequence[Mapping[str, Any]], values: Sequence[Any]) -> None:
    """Raise for the first guard whose value is not the one that was traced."""
    for guard, value in zip(guards, values, strict=True):
        seen = seen_by(guard["kind"], value)
        if seen != guard["value"]:
            raise Missed(guard["number"], seen)


jit = Jit()
