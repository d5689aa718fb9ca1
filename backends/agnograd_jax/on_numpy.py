"""How traced programs of NumPy arrays run on JAX: compiled by XLA, from and to NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from agnograd.extend import domain_named
from agnograd_compile.lowering import Fact, Lowering, Step, straight
from agnograd_jax._parts import Run, in_parts
from agnograd_jax.lowering import Compiled, JitWriter, jitted

if TYPE_CHECKING:
    from agnograd_compile.lowering import Runnable, TracedProgram

__all__ = ["JitOnNumpy", "lowering"]

# The kinds of numbers that both libraries have, up to 64 bits of each part.
KINDS = "biufc"
# Ops whose arguments NumPy brings to one dtype: of integers and floating-point numbers, JAX takes
# another one.
NAMES = "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal"
NAMES += " logaddexp matmul maximum minimum multiply not_equal pow remainder subtract"
PROMOTING = frozenset(NAMES.split())


class JitOnNumpy(Lowering):
    """Compiles the whole program by ``jax.jit``; results are NumPy arrays of their own.

    XLA reads arrays where NumPy has them if they are aligned to 64 bytes, and otherwise a copy.
    """

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program; the first run compiles it."""
        if not all(map(is_known, program.facts.values())):
            return straight(program)
        if any(step.effects for step in program.steps):  # JAX would do them only once
            return straight(program)
        try:
            return CompiledOnNumpy(program)
        except (AttributeError, UnfitError):  # what JAX's namespace does not have
            return straight(program)


class UnfitError(Exception):
    """JAX cannot compute a step as NumPy does."""


def is_known(fact: Fact) -> bool:
    """Return whether JAX has a dtype."""
    wide = 16 if fact.dtype.kind == "c" else 8
    return fact.dtype.kind in KINDS and fact.dtype.isnative and fact.dtype.itemsize <= wide


class CompiledOnNumpy(Compiled):
    """A program on NumPy arrays, under ``jax.jit`` with 64-bit numbers."""

    def jitted(self, program: TracedProgram) -> Run:
        """Return what computes the outputs, and what guards look at, as NumPy has them."""
        import jax  # the module is loaded where JAX need not be installed

        facts = [program.facts[ref] for ref in program.outputs]
        with jax.enable_x64(True):  # as when it runs
            run = in_parts(on_jax(program), lambda part: jitted(FittingWriter(part)))

        def computed(arrays: Sequence[Any]) -> list[Any]:
            with jax.enable_x64(True):
                found = run([*arrays])
            values = list(map(np.asarray, found))  # waits for all of them
            return [*map(returned, values, facts), *values[len(facts) :]]

        return computed

    def refusals(self) -> tuple[type[Exception], ...]:
        """Return what is raised while JAX traces the program."""
        return UnfitError, IndexError, NotImplementedError, TypeError, ValueError


def on_jax(program: TracedProgram) -> TracedProgram:
    """Return a program of the same steps on JAX's arrays."""
    domain = domain_named("jax")

    def on_it(step: Step) -> Step:
        if step.op == "@call":
            raise UnfitError("a function of NumPy arrays")
        kwargs = {name: value for name, value in step.kwargs.items() if name != "device"}
        if step.op == "@pullback":
            kwargs["function"] = kwargs["function"].on(domain)
        return replace(step, kwargs=kwargs)

    return program.with_(domain=domain, steps=tuple(map(on_it, program.steps)))


class FittingWriter(JitWriter):
    """Writes steps that promote as NumPy does, and checks what JAX makes of them."""

    def step(self, number: int, step: Step) -> None:
        """Write a step, and while JAX traces it, compare its results with the program's facts."""
        super().step(number, self._promoted(step))
        fits = self.held(check_fact, "fits")
        for ref in step.outs:
            fact = self.held(self.program.facts[ref], "fact")
            self.lines.append(f"{fits}({self.name(ref)}, {fact})")

    def _promoted(self, step: Step) -> Step:
        facts = self.program.facts
        dtypes = {facts[ref].dtype for ref in step.uses()}
        if step.op not in PROMOTING or len(dtypes) == 1:
            return step
        common = np.result_type(*dtypes)
        convert = self.held(attrgetter("astype")(self.program.domain.raw), "astype")
        new = {}
        for ref in step.uses():
            if facts[ref].dtype != common:
                name = f"w{ref.number}"
                self.lines.append(f"{name} = {convert}({self.name(ref)}, {self.text(common)})")
                new[ref] = Named(name)
        return step.renamed(new)

    def text(self, value: Any) -> str:
        """Write an argument."""
        return value.name if type(value) is Named else super().text(value)


class Named:
    """A variable of the text for what is not a value of the program."""

    def __init__(self, name: str) -> None:
        self.name = name


def check_fact(value: Any, fact: Fact) -> None:
    """Raise if JAX has made something else than NumPy: it is called while JAX traces."""
    if value.shape != fact.shape or value.dtype != fact.dtype:
        raise UnfitError(f"{value.dtype}{value.shape} instead of {fact.dtype}{fact.shape}")


def returned(value: Any, fact: Fact) -> Any:
    """Return a result as NumPy has it: an array in memory of its own, or a scalar."""
    if issubclass(fact.kind, np.generic):
        return value[()]
    strides = fact.strides or ()
    order = sorted(range(len(strides)), key=lambda axis: -strides[axis])
    out = np.empty([fact.shape[axis] for axis in order], fact.dtype)
    out = out.transpose(np.argsort(order)) if len(order) > 1 else out
    out[...] = value
    return out


lowering = JitOnNumpy()
