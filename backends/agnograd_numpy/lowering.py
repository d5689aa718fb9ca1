"""Traced programs as straight-line Python that calls NumPy, and writes to planned memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from agnograd.extend import is_basic, switch
from agnograd_compile.lowering import (
    Description,
    Fact,
    Lowering,
    Ref,
    Runnable,
    Step,
    TracedProgram,
    Way,
    named_function,
)
from agnograd_numpy import _steps
from agnograd_numpy._blocks import grouped
from agnograd_numpy._elementwise import ElementwiseWriter
from agnograd_numpy._kernels import KERNELS
from agnograd_numpy._pullbacks import cosh_squared
from agnograd_numpy._steps import BLOCKS, CALL, Buffers, is_product

__all__ = ["NumpyLowering", "NumpyWriter", "lowering"]

_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_REAL = frozenset((np.float32, np.float64))
_COMPLEX = frozenset((np.complex64, np.complex128))

# From how many bytes on it pays to let a value's own memory go before the function ends.
FREED_BYTES = switch("FREED_BYTES", 2**12, least=0, most=2**62, module=__name__)


class NumpyLowering(Lowering):
    """Runs a program as one function, whose steps call NumPy and write to memory that stays."""

    preference = 2
    exact = True

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program."""
        return NumpyWriter(grouped(program)).runnable()

    def describe(self, program: TracedProgram) -> Description:
        """Return the groups that are computed in blocks, the buffers, and the text."""
        groups = grouped(program)
        writer = NumpyWriter(groups)
        places = {id(step): place for place, step in enumerate(program.steps)}
        found = [step.kwargs["blocks"] for step in groups.steps if step.op == BLOCKS]
        return {
            "groups": [[places[id(step)] for step in blocks.members] for blocks in found],
            "buffers": [*writer.plan.sizes, *(each for b in found for each in b.buffers.sizes)],
            "source": writer.source(),
        }


lowering = NumpyLowering()


class NumpyWriter(ElementwiseWriter):
    """Writes NumPy's ufuncs, methods and operators."""

    goes_over = lends = True

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self.buffers: dict[Ref, int | None] = {}  # those that single results are written to
        self._given = frozenset(program.inputs)
        self._cells: dict[Ref, str] = {}  # the variables of arrays that hold scalars
        self._numbers: dict[Ref, str] = {}  # the variables of inputs without axes, as scalars

    def cell(self, value: Any) -> str | None:
        """Write a scalar into an array without axes, which NumPy reads in half the time."""
        if type(value) is not Ref or value in self.program.constants:
            return None
        fact = self.program.facts[value]
        if not issubclass(fact.kind, np.number):
            return None
        if value not in self._cells:
            self._cells[value] = f"a{value.number}"
            self.lines.append(f"{self._cells[value]}[()] = {self.name(value)}")
        return self._cells[value]

    # -- the function ------------------------------------------------------------------------------

    def source(self) -> str:
        """Write the function: around its steps, it takes a set of buffers, and gives it back."""
        self.body()
        program, forms = self.program, self.forms
        given = "".join(f"{self.name(ref)}, " for ref in program.inputs)
        lines = ["def run(arrays):"]
        lines += [f"    {given}= arrays"] * bool(given)
        numbers = [f"{number} = {self.name(ref)}[()]" for ref, number in self._numbers.items()]
        outputs = self.outputs()
        body = [*numbers, *self._rooms(), *self.lines, f"return {outputs}"]
        kept = [form for form in forms if form[0] < len(self.plan.sizes)]
        variables = [*map(forms.__getitem__, kept), *self._cells.values()]
        if variables:
            dtypes = [program.facts[ref].dtype for ref in self._cells]
            buffers = Buffers(self.plan, kept, dtypes)
            self.scope |= {"_take": buffers.take, "_give_back": buffers.free.append}
            lines.append("    _buffers = _take()")
            lines.append("    try:")
            lines.append(f"        {''.join(f'{name}, ' for name in variables)}= _buffers")
            lines += [f"        {line}" for line in body]
            lines += ["    finally:", "        _give_back(_buffers)"]
        else:
            lines += [f"    {line}" for line in body]
        return "\n".join([*lines, ""])

    def _rooms(self) -> list[str]:
        """Write what makes the results whose memory is lent, and the arrays that it is lent to."""
        lines = []
        for ref, name in self.owners.items():
            lines.append(f"{name} = {self._array(self.program.facts[ref])}")
        for (buffer, fact), name in self.forms.items():
            if buffer >= len(self.plan.sizes):
                room = self.plan.rooms[buffer - len(self.plan.sizes)]
                memory = self.owners[room.owner], room.offset
                lines.append(f"{name} = {self._array(fact, *memory)}")
        return lines

    def _array(self, fact: Fact, memory: str = "None", offset: int = 0) -> str:
        """Write a call that makes an array, of new memory or in another array's."""
        made = f"{fact.shape}, {self.text(fact.dtype)}, {memory}, {offset}, {fact.strides}"
        return f"{self.held(np.ndarray, 'ndarray')}({made})"

    def is_named(self, ref: Ref) -> bool:
        """Return whether a value is worth a ``del``: one of its own memory, if that is large."""
        if ref in self.places:
            return False
        fact = self.program.facts[ref]
        large = fact.kind is np.ndarray and fact.size * fact.dtype.itemsize >= FREED_BYTES
        return large and super().is_named(ref)

    # -- steps -------------------------------------------------------------------------------------

    def step(self, number: int, step: Step) -> None:
        """Write one step."""
        into = self.place(number, step)
        if step.op == BLOCKS:
            self.blocks(number, step)
        elif step.op == CALL and "into" in step.kwargs:
            self.call_into(number, step, into)
        elif number in self.plan.updates:
            self.scatter(step, into)
        elif self.way(step) is Way.ELEMENTWISE:
            self.compute(step, self.elementwise(step, into), into)
        elif (operands := _steps.operands_of_tanh(self.program, step)) is not None:
            self.tanh(step, operands, into)
        elif (text := self.short(step, into)) is not None:
            self.compute(step, text, into)
        else:
            super().step(number, step)
        if into is not None:
            self.places[step.outs[0]] = into
            self.buffers[step.outs[0]] = self.plan.writes[number][0]

    def scalar(self, step: Step) -> str | None:
        """Write an operator between scalars, which takes a tenth of the time of a ufunc."""
        out = self.program.facts[step.outs[0]]
        known = self._is_real if out.kind in _REAL else self._is_complex
        if not all(known(each, out) for each in step.args):
            return None
        texts = [*map(self.operand, step.args)]
        if step.op == "negative":
            return f"-{texts[0]}"
        return f"{texts[0]} {_INFIX[step.op]} {texts[1]}"

    def _is_real(self, value: Any, out: Fact) -> bool:
        """Return whether an operand is a scalar of the result's type, or a number beside one."""
        if type(value) is not Ref:
            return type(value) is float or (type(value) is int and abs(value) < 2**31)
        fact = self.program.facts[value]
        return fact.kind is out.kind or (value in self._given and self._is_number(fact, out))

    def _is_complex(self, value: Any, out: Fact) -> bool:
        """Return whether an operand is a complex scalar of the result's type, or a number.

        An array without axes stays one: NumPy rounds its products otherwise.
        """
        if type(value) is not Ref:
            return type(value) in (complex, float) or self._is_real(value, out)
        return out.kind in _COMPLEX and self.program.facts[value].kind is out.kind

    def _is_number(self, fact: Fact, out: Fact) -> bool:
        """Return whether a value is an array without axes of a scalar's dtype."""
        return fact.kind is np.ndarray and not fact.shape and fact.dtype == out.dtype

    def operand(self, value: Any) -> str:
        """Write an operand between scalars: an input without axes is made one at the beginning."""
        if value not in self._given or self.program.facts[value].kind is not np.ndarray:
            return self.text(value)
        return self._numbers.setdefault(value, f"n{value.number}")

    def short(self, step: Step, into: str | None) -> str | None:
        """Write what has a shorter form than a call of the op's function."""
        if step.op in _INFIX or step.op == "negative":
            return self.scalar(step)
        if step.op == "@chain":
            start, values = map(self.text, step.args)
            return f"{self.held(_steps.sum_in_order, 'sum_in_order')}({start}, {values})"
        if into and step.op == "concat":
            axis = step.kwargs.get("axis", 0)
            return (
                f"{self.held(np.concatenate, 'concat')}({self.text(step.args[0])}, {axis}, {into})"
            )
        if into and step.op == "roll":
            return self.roll(step, into)
        if step.op == "stack" and into is None and step.kwargs == {"axis": 0}:
            return self.stack(step)
        if step.op[0] == "@" or len(step.outs) != 1:
            return None
        if is_product(self.program, step):
            one, other = map(self.text, step.args)
            return f"{one}.dot({other}{f', {into}' if into else ''})"
        if into and _steps.is_stack_of_products(self.program, step):
            one, other = map(self.text, step.args)
            return f"{self.held(np.matmul, 'matmul')}({one}, {other}, {into})"
        write, known = _SHORT.get(step.op), KERNELS.get(step.op)
        if write is None or not step.args or type(step.args[0]) is not Ref:
            return None
        if known is not None and known is not named_function(self.program, step.op, step.kwargs):
            return None
        return write(self, step, self.text(step.args[0]), self.program.facts[step.args[0]])

    def stack(self, step: Step) -> str | None:
        """Write an array of scalars, which ``numpy.stack`` makes of one array for each of them."""
        facts = [self.program.facts[ref] for ref in step.args[0]]
        dtype = self.program.facts[step.outs[0]].dtype
        if any(fact.shape or fact.dtype != dtype for fact in facts):
            return None
        return f"{self.held(np.array, 'array')}({self.text(step.args[0])})"

    def roll(self, step: Step, into: str) -> str | None:
        """Write what puts the two parts of an axis together."""
        parts = _steps.parts_of_roll(self.program, step)
        if parts is None:
            return None
        x, concat = self.text(step.args[0]), self.held(np.concatenate, "concat")
        first, second = (f"{x}[{self.held(key, 'key')}]" for key in parts[:2])
        return f"{concat}(({first}, {second}), {parts[2]}, {into})"

    def key(self, key: Any) -> str:
        """Write what stands in brackets: one object, unless a part of it is a value."""
        if type(key) in (int, Ref) or any(True for _ in Step("", (key,), {}, ()).uses()):
            return self.text(key)
        return self.held(key, "key")

    def tanh(self, step: Step, operands: tuple[Any, Any], into: str | None) -> None:
        """Write the derivative of tanh as it is in ``_pullbacks``."""
        g, x = map(self.text, operands)
        out = into or self.name(step.outs[0])
        made = f"{self.held(cosh_squared, 'cosh_squared')}({x}, {into})"
        self.lines += [
            f"if {made if into else f'({out} := {made})'} is not None:",
            f"    {self.held(np.divide, 'divide')}({g}, {out}, {out})",
            "else:",
            f"    {f'{into}[...]' if into else out} = {self.call(step)}",
        ]

    def call_into(self, number: int, step: Step, into: str | None) -> None:
        """Write the call of a function that is given arrays to write to."""
        given, new = [*map(self.text, step.args)], []
        for ref, buffer in zip(step.outs, self.plan.writes[number], strict=True):
            place = into or self.room(ref, buffer)
            if place is None:
                new.append(self.name(ref))
            else:
                self.places[ref] = place
            given.append(place or "None")
        text = f"{self.held(step.kwargs['function'], 'group')}({', '.join(given)})"
        self.lines.append(f"{', '.join(new)} = {text}" if new else text)

    def blocks(self, number: int, step: Step) -> None:
        """Write the call of a group of steps, which writes to given arrays."""
        for ref, buffer in zip(step.outs, self.plan.writes[number], strict=True):
            place = self.room(ref, buffer)
            if place is None:
                self.lines.append(f"{self.name(ref)} = {self._array(self.program.facts[ref])}")
            else:
                self.places[ref] = place
        function = self.held(step.kwargs["blocks"].run, "blocks")
        outs = "".join(f"{self.name(ref)}, " for ref in step.outs)
        self.lines.append(f"{function}({self.text(step.args)}, ({outs}))")

    def scatter(self, step: Step, into: str | None) -> None:
        """Write an addition to an array that is this program's own."""
        own, key, *rest = step.args
        target = into or self.name(step.outs[0])
        if not into:
            self.lines.append(f"{target} = {self.text(own)}")
        if step.op == "@scatter_add" and is_basic(key):
            self.lines.append(f"{target}[{self.key(key)}] += {self.text(rest[0])}")
        else:
            function = self.held(getattr(self.program.domain.backend, step.op[1:]), step.op)
            self.lines.append(f"{function}({', '.join([target, *map(self.text, (key, *rest))])})")


# -- kernels, as they are in _kernels --------------------------------------------------------------


def _getitem(writer: NumpyWriter, step: Step, x: str, fact: Fact) -> str | None:
    return f"{x}[{writer.key(step.args[1])}]"


def _transposed(writer: NumpyWriter, step: Step, x: str, fact: Fact) -> str | None:
    return f"{x}.T" if len(fact.shape) == 2 and not step.kwargs else None


def _method(name: str, argument: str) -> Callable[..., str | None]:
    """Return what writes a method of one argument, which is positional or has a name."""

    def write(writer: NumpyWriter, step: Step, x: str, fact: Fact) -> str | None:
        options = {n: v for n, v in step.kwargs.items() if n != "copy" or v is not None}
        given = [*step.args[1:], *options.values()]
        if len(given) != 1 or not set(options) <= {argument}:
            return None
        return f"{x}.{name}({writer.text(given[0])})"

    return write


def _reduction(ufunc: Any) -> Callable[..., str | None]:
    """Return what writes a reduction by a method of a ufunc."""

    def write(writer: NumpyWriter, step: Step, x: str, fact: Fact) -> str | None:
        if len(step.args) != 1 or not set(step.kwargs) <= {"axis", "dtype", "keepdims"}:
            return None
        axis, dtype = (writer.text(step.kwargs.get(name)) for name in ("axis", "dtype"))
        keepdims = writer.text(step.kwargs.get("keepdims", False))
        reduce = writer.held(ufunc.reduce, f"{ufunc.__name__}_reduce")
        return f"{reduce}({x}, {axis}, {dtype}, None, {keepdims})"

    return write


_SHORT: dict[str, Callable[[NumpyWriter, Step, str, Fact], str | None]] = {
    "__getitem__": _getitem,
    "all": _reduction(np.logical_and),
    "any": _reduction(np.logical_or),
    "linalg.matrix_transpose": _transposed,
    "matrix_transpose": _transposed,
    "max": _reduction(np.maximum),
    "min": _reduction(np.minimum),
    "permute_dims": _method("transpose", "axes"),
    "reshape": _method("reshape", "shape"),
    "sum": _reduction(np.add),
}
