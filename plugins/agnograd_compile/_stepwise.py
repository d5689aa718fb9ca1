"""Programs step by step: between the hooks of plugins, and to find the step that fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from agnograd.extend import Call
from agnograd.extend.transforms import current_mode
from agnograd_compile._programs.program import (
    CALLS,
    GUARD,
    Missed,
    Ref,
    Step,
    TracedProgram,
    declared,
    mapped,
    seen_by,
)
from agnograd_compile._programs.straight import copied_outputs, named_function


class Stepwise:
    """Runs a program as it was traced, one step after the other.

    If plugins with hooks on ops are active, each step calls them: with the op, its parameters, the
    line of the user's code, and the arrays.
    """

    def __init__(self, program: TracedProgram) -> None:
        self.program = program
        self._copied = copied_outputs(program)

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the arrays of the program's outputs."""
        program = self.program
        values: dict[Ref, Any] = {**program.constants}
        values.update(zip(program.inputs, arrays, strict=True))
        for step in program.steps:
            try:
                self._step(step, values)
            except Missed:
                raise
            except Exception as error:  # notes the op, and the line of the user's code
                op, at = step.op.lstrip("@"), f", called at {step.location}" * bool(step.location)
                error.add_note(f"agnograd: in compiled {program.name}, at op {op!r}{at}")
                raise
        return [
            program.domain.copy(values[ref]) if copied else values[ref]
            for ref, copied in zip(program.outputs, self._copied, strict=True)
        ]

    def _step(self, step: Step, values: dict[Ref, Any]) -> None:
        args = mapped(values.__getitem__, step.args)
        if step.op == GUARD:
            found = seen_by(step.kwargs["kind"], args[0])
            if found != step.kwargs["value"]:
                raise Missed(step.kwargs["number"], found)
            return
        kwargs = {n: mapped(values.__getitem__, v) for n, v in step.kwargs.items()}
        function = named_function(self.program, step.op, step.kwargs)
        compute = partial(function, *args, **({} if step.op in CALLS else kwargs))
        mode = current_mode()
        if mode is None or mode.observers is None:
            out = compute()
        else:
            inputs = tuple([values[ref] for ref in step.uses()])
            call = ReplayedCall(self.program, step)
            options = {name: value for name, value in kwargs.items() if not callable(value)}
            _, out = mode.observers.forward(call, compute, (), inputs, options)
        results = out if step.several else (out,)
        values.update(zip(step.outs, results, strict=True))


class ReplayedCall(Call):
    """How hooks see one step of a program: the user's line is the one that was traced."""

    __slots__ = ("_place",)

    def __init__(self, program: TracedProgram, step: Step) -> None:
        chapter = declared(step.op).chapter or "function"
        super().__init__(step.op.lstrip("@"), chapter, program.domain)
        self._place = step.location

    def observed(self, parameters: Mapping[str, Any]) -> ReplayedCall:
        """Return what stands for this call: it is made for one."""
        self.parameters = parameters
        return self

    @property
    def location(self) -> str | None:
        """Where the user's code called the op when it was traced."""
        return self._place


def locate(error: BaseException, program: TracedProgram, arrays: Sequence[Any]) -> None:
    """Run a program that failed once more, step by step, and add to its error where it failed."""
    if any(step.effects for step in program.steps):  # which must not happen once more
        return
    try:
        Stepwise(program)(arrays)
    except Missed:
        return
    except Exception as again:
        if type(again) is type(error):
            for text in getattr(again, "__notes__", ())[-1:]:
                error.add_note(text)
