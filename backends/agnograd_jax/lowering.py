"""How traced programs run on JAX: as functions under ``jax.jit``, of which there is mostly one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agnograd.extend import switch
from agnograd_compile.lowering import Lowering, Missed, Ref, Writer, seen_by, straight
from agnograd_jax._parts import Run, in_parts, parts_of

if TYPE_CHECKING:
    from agnograd_compile.lowering import Description, Runnable, Step, TracedProgram

__all__ = ["Jit", "jit"]

# Larger constants are arguments: XLA would keep a copy in each compiled function, and compute with
# them while it compiles.
BAKED_ELEMENTS = switch("BAKED_ELEMENTS", 256, least=0, most=2**20, module=__name__)


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
        self._run, self._refusals = self.jitted(program), self.refusals()
        self._straight = straight(program)
        self._fits = True

    def jitted(self, program: TracedProgram) -> Run:
        """Return what computes the outputs, and what guards look at."""
        return in_parts(program, lambda part: jitted(JitWriter(part)))

    def refusals(self) -> tuple[type[Exception], ...]:
        """Return the errors that say that JAX cannot trace the program."""
        import jax  # the module is loaded where JAX need not be installed

        return jax.errors.JAXTypeError, jax.errors.JAXIndexError

    @property
    def direct(self) -> Runnable:
        """What does the same after the first run, in the fewest calls."""
        return self if self._guards or not self._fits else self._run

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the program."""
        if not self._fits:
            return self._straight(arrays)
        try:
            found: list[Any] = self._run([*arrays])  # a tuple would be compiled by itself
        except self._refusals:
            # A step looks at values, such as a mask as a key; it may raise an error here, too.
            found = self._straight(arrays)
            self._fits = False
            return found
        count = len(found) - len(self._guards)
        for guard, value in zip(self._guards, found[count:], strict=True):
            seen = seen_by(guard["kind"], value)
            if seen != guard["value"]:
                raise Missed(guard["number"], seen)
        return found[:count]


class JitWriter(Writer):
    """Writes a function of lists, the large constants and the inputs, without branches.

    There is no list of large constants if there are none.
    """

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        large = [ref for ref in program.constants if program.facts[ref].size > BAKED_ELEMENTS]
        numbers = {ref: number_in(program, ref) for ref in large}
        self.filled = {ref: number for ref, number in numbers.items() if number is not None}
        self.large = [ref for ref in large if ref not in self.filled]
        self._tanhs: dict[Any, Ref] = {}  # by the input
        self._made = {step.outs[0]: step for step in program.steps if step.outs}
        uses = [*(ref for step in program.steps for ref in step.uses()), *program.outputs]
        self._uses = Counter(uses)

    def source(self) -> str:
        """Write the function."""
        self.body()
        lists = {"large": self.large, "arrays": self.program.inputs}
        given = {name: refs for name, refs in lists.items() if refs or name == "arrays"}
        lines = [f"{self.unpacked(refs)} = {name}" for name, refs in given.items() if refs]
        text = "\n    ".join([*lines, *self.lines, f"return {self.outputs()}"])
        return f"def run({', '.join(given)}):\n    {text}\n"

    def unpacked(self, refs: Sequence[Ref]) -> str:
        """Write the variables of the values of a list."""
        return "".join(f"{self.name(ref)}, " for ref in refs)

    def body(self) -> None:
        """Write all steps; JAX's tracers take no memory that would have to be let go."""
        for ref, number in self.filled.items():
            full = self.held(self.program.domain.raw.full, "full")
            shape, dtype = self.text(self.program.facts[ref].shape), self.held(number.dtype, "d")
            value = self.held(number, "k")
            self.lines.append(f"{self.name(ref)} = {full}({shape}, {value}, dtype={dtype})")
        for number, step in enumerate(self.program.steps):
            self.step(number, step)

    def step(self, number: int, step: Step) -> None:
        """Write a step: by what is computed before it where XLA would not find that."""
        if step.op == "tanh":
            self._tanhs[step.args[0]] = step.outs[0]
        known = self.by_tanh(step) or self.by_columns(step)
        if not (known or self.by_factors(step) or self.by_quotient(step)):
            super().step(number, step)

    def maker(self, value: Any, op: str) -> Step | None:
        """Return the step that makes a value, if it is one of this op."""
        step = self._made.get(value) if type(value) is Ref else None
        return step if step is not None and step.op == op else None

    def by_tanh(self, step: Step) -> bool:
        """Write the derivative of tanh by what has been computed, if it has."""
        if step.op != "@pullback" or step.kwargs["op"] != "tanh":
            return False
        from agnograd_jax._tanh import operands, with_tanh

        found = operands(step, self._tanhs)
        if found is not None:
            given, function = ", ".join(map(self.text, found)), self.held(with_tanh, "with_tanh")
            self.lines.append(f"{self.results(step)} = {function}({given})")
        return found is not None

    def by_columns(self, step: Step) -> bool:
        """Write the product of a transposed matrix and a vector, if it is one.

        XLA would write the transposed matrix to memory; in products of matrices it does not.
        """
        if step.op != "matmul":
            return False
        args, facts = [*step.args], self.program.facts
        axes = [len(facts[arg].shape) if arg in facts else 0 for arg in args]
        place = 0 if axes == [2, 1] else 1
        turned = self.maker(args[place], "matrix_transpose")
        if sorted(axes) != [1, 2] or turned is None:
            return False
        args[place] = turned.args[0]
        given = ", ".join(map(self.text, args))
        product = self.held(self.program.domain.raw.tensordot, "tensordot")
        self.lines.append(f"{self.results(step)} = {product}({given}, axes=((0,), ({place},)))")
        return True

    def by_quotient(self, step: Step) -> bool:
        """Write a product with a reciprocal that nothing else uses as a quotient.

        Where a reciprocal is a factor of many elements, it is computed once, which takes less time
        than to divide each of them: that stays.
        """
        if step.op != "multiply":
            return False
        facts, args = self.program.facts, step.args
        for other, ref in (args, args[::-1]):
            inverse = self.maker(ref, "divide")
            if inverse is None or type(one := inverse.args[0]) not in (int, float) or one != 1:
                continue
            below = inverse.args[1]
            if below not in facts or other not in facts or self._uses[ref] > 1:
                continue
            top, bottom, out = facts[other], facts[below], facts[step.outs[0]]
            if top.dtype == bottom.dtype == out.dtype and out.size == bottom.size:
                divide = self.held(self.program.domain.raw.divide, "divide")
                given = f"{self.text(other)}, {self.text(below)}"
                self.lines.append(f"{self.results(step)} = {divide}({given})")
                return True
        return False

    def by_factors(self, step: Step) -> bool:
        """Write the inverse of a matrix in whose place there is the identity if it is singular.

        JAX inverts it, whatever comes of that, so that the identity may take the inverse's place:
        a determinant of the matrix has the factors that the inverse takes, too.
        """
        chosen = self.maker(step.args[0], "where") if step.op == "linalg.inv" else None
        if chosen is None:
            return False
        (singular, identity, x), facts = chosen.args, self.program.facts
        out = facts[step.outs[0]]
        alike = x in facts and (facts[x].shape, facts[x].dtype) == (out.shape, out.dtype)
        whole = singular in facts and set(facts[singular].shape[-2:]) <= {1}
        if not (alike and whole and is_identity(self.program, identity)):
            return False
        inverse = self.call(replace(step, args=(x,)))
        where = self.held(self.program.domain.raw.where, "where")
        given = f"{self.text(singular)}, {self.text(identity)}, {inverse}"
        self.lines.append(f"{self.results(step)} = {where}({given})")
        return True


def is_identity(program: TracedProgram, ref: Any) -> bool:
    """Return whether a value is a constant, the identity matrix."""
    import numpy as np

    shape = program.facts[ref].shape if ref in program.constants else ()
    if len(shape) != 2 or shape[0] != shape[1]:
        return False
    host = on_host(program, ref)
    return host is not None and np.array_equal(host, np.eye(shape[0]))


def on_host(program: TracedProgram, ref: Ref) -> Any:
    """Return a constant as NumPy's array, or None if other processes have parts of it."""
    value = program.constants[ref]
    known = getattr(value, "is_fully_addressable", True)
    return program.domain.backend.to_host(value) if known else None


def number_in(program: TracedProgram, ref: Ref) -> Any:
    """Return the element that all elements of a constant are, bit for bit, as NumPy has it.

    It is None if they differ, where only the array itself says on which device to compute, and
    where JAX would make an array of another dtype.
    """
    import jax
    import numpy as np

    value, fact = program.constants[ref], program.facts[ref]
    known = isinstance(fact.dtype, np.dtype) and not getattr(value, "weak_type", False)
    if not known or jax.dtypes.canonicalize_dtype(fact.dtype) != fact.dtype:
        return None
    beside = any(program.facts[each].device == fact.device for each in program.inputs)
    found = on_host(program, ref) if beside else None
    if found is None:
        return None
    host = np.ascontiguousarray(found).reshape(-1)
    pieces = host.view("u1").reshape(host.size, -1)
    return host[0] if (pieces == pieces[0]).all() else None


def jitted(writer: JitWriter) -> Run:
    """Return what a writer writes, under ``jax.jit``, as a function of the inputs."""
    import jax

    run: Run = jax.jit(writer.runnable())
    large = [writer.program.constants[ref] for ref in writer.large]
    return partial(run, large) if large else run


jit = Jit()
