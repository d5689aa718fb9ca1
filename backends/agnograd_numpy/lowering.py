"""Traced programs as straight-line Python that calls NumPy, and writes to planned memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from agnograd.extend import (
    Fact,
    Lowering,
    MemoryPlan,
    Ref,
    Runnable,
    Step,
    TracedProgram,
    Way,
    Writer,
    is_basic,
    named_function,
    nbytes,
    planned,
    verify,
)
from agnograd_numpy._kernels import KERNELS

__all__ = ["NumpyLowering", "NumpyWriter", "lowering"]

_INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_REAL = frozenset((np.float32, np.float64))
_MATMUL = KERNELS["matmul"]
_SCATTERS = ("@scatter_add", "@scatter_add_axis")

# Those that give the same bits for a number as for an array that is full of it. NumPy's power is
# not among them: it squares where the exponent is one number, 2.
_BESIDE = frozenset(
    (
        *("add", "subtract", "multiply", "divide", "maximum", "minimum"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    )
)

# Up to how many elements an array that is full of a number is read faster than the number.
_FULL = 64

# From how many bytes on it pays to let a value's own memory go before the function ends.
_FREED = 2**12

_VERIFIED = os.environ.get("AGNOGRAD_VERIFY", "0") not in ("", "0")


class NumpyLowering(Lowering):
    """Runs a program as one function, whose steps call NumPy and write to memory that stays."""

    preference = 2
    exact = True

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program."""
        return NumpyWriter(program).runnable()


lowering = NumpyLowering()


def ufunc_of(program: TracedProgram, step: Step) -> Any:
    """Return the ufunc that computes a step element by element, or None."""
    if step.op.startswith("@") or step.kwargs or step.several:
        return None
    function = named_function(program, step.op, step.kwargs)
    if type(function) is not np.ufunc or function.signature is not None:
        return None
    return function if len(step.args) == function.nin and function.nout == 1 else None


def is_array(fact: Fact) -> bool:
    """Return whether a value is an array that has axes: not a scalar, nor of another class."""
    return fact.kind is np.ndarray and bool(fact.shape)


def way_of(program: TracedProgram, step: Step) -> Way:
    """Return how NumPy can compute a step."""
    if step.op in _SCATTERS:
        into = step.args[0]
        owned = type(into) is Ref and is_array(program.facts[into])
        return Way.UPDATE if owned and is_array(program.facts[step.outs[0]]) else Way.NEW
    if len(step.outs) != 1 or not is_array(program.facts[step.outs[0]]):
        return Way.NEW
    if ufunc_of(program, step) is not None:
        out = program.facts[step.outs[0]]
        # NumPy rounds a product of two complex numbers otherwise where it overwrites one of them.
        return Way.INTO if out.size == 1 and out.dtype.kind == "c" else Way.ELEMENTWISE
    return Way.INTO if _is_product(program, step) else Way.NEW


def _is_product(program: TracedProgram, step: Step) -> bool:
    """Return whether a step is a product of two matrices of the result's dtype."""
    if step.op.startswith("@") or step.kwargs or len(step.args) != 2:
        return False
    if named_function(program, step.op, step.kwargs) is not _MATMUL:
        return False
    facts = program.facts
    out = facts[step.outs[0]]
    found = [facts[each] for each in step.args if type(each) is Ref]
    alike = all(is_array(each) and each.dtype == out.dtype for each in found)
    return len(found) == 2 and alike and all(len(each.shape) == 2 for each in found)


class Buffers:
    """Sets of buffers, each of which one run at a time writes to."""

    def __init__(self, plan: MemoryPlan, forms: list[tuple[int, Fact]]) -> None:
        self.sizes, self.forms = plan.sizes, forms
        self.free: list[list[Any]] = []

    def take(self) -> list[Any]:
        """Return a set that nobody uses: arrays, each in the layout of a value."""
        try:
            return self.free.pop()
        except IndexError:
            memory = [np.empty(size, np.uint8) for size in self.sizes]
            return [
                np.ndarray(fact.shape, fact.dtype, memory[number], 0, fact.strides)
                for number, fact in self.forms
            ]


class NumpyWriter(Writer):
    """Writes NumPy's ufuncs, methods and operators."""

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)

        def way(step: Step) -> Way:
            return way_of(program, step)

        self.plan = planned(program, way)
        if _VERIFIED:
            verify(program, self.plan, way)
        self._forms: dict[tuple[int, Fact], str] = {}
        self._full: dict[tuple[str, Any], str] = {}

    # -- the function ------------------------------------------------------------------------------

    def source(self) -> str:
        """Write the function: around its steps, it takes a set of buffers, and gives it back."""
        self.body()
        program, forms = self.program, self._forms
        given = "".join(f"{self.name(ref)}, " for ref in program.inputs)
        lines = ["def run(arrays):"]
        lines += [f"    {given}= arrays"] * bool(given)
        body = [*self.lines, f"return {self.outputs()}"]
        if forms:
            buffers = Buffers(self.plan, [*forms])
            self.scope |= {"_take": buffers.take, "_give_back": buffers.free.append}
            lines.append("    _buffers = _take()")
            lines.append("    try:")
            lines.append(f"        {''.join(f'{name}, ' for name in forms.values())}= _buffers")
            lines += [f"        {line}" for line in body]
            lines += ["    finally:", "        _give_back(_buffers)"]
        else:
            lines += [f"    {line}" for line in body]
        return "\n".join([*lines, ""])

    def is_named(self, ref: Ref) -> bool:
        """Return whether a value is worth a ``del``: one of its own memory, if that is large."""
        fact = self.program.facts[ref]
        large = fact.kind is np.ndarray and fact.size * fact.dtype.itemsize >= _FREED
        return large and super().is_named(ref)

    # -- steps -------------------------------------------------------------------------------------

    def step(self, number: int, step: Step) -> None:
        """Write one step."""
        if step.op.startswith("@"):
            writer = self.scatter if step.op in _SCATTERS else None
        elif (ufunc := ufunc_of(self.program, step)) is not None:
            self.lines.append(f"{self.results(step)} = {self.elementwise(number, step, ufunc)}")
            return
        else:
            writer = None
            text = self._written(number, step)
            if text is not None:
                self.lines.append(f"{self.results(step)} = {text}")
                return
        if writer is None or not writer(number, step):
            super().step(number, step)

    def elementwise(self, number: int, step: Step, ufunc: Any) -> str:
        """Write a call of a ufunc, or an operator between scalars."""
        facts = self.program.facts
        out = facts[step.outs[0]]
        if out.kind in _REAL and all(self._is_real(each, out) for each in step.args):
            texts = [*map(self.text, step.args)]
            if step.op in _INFIX:
                return f"{texts[0]} {_INFIX[step.op]} {texts[1]}"
            if step.op == "negative":
                return f"-{texts[0]}"
        texts = [self.beside(step, each) or self.text(each) for each in step.args]
        # NumPy wants to be sure that nobody means a third operand of these two.
        prefix = "out=" if ufunc in (np.maximum, np.minimum) else ""
        into = [prefix + each for each in self.buffer(number, step)]
        return f"{self.held(ufunc, step.op)}({', '.join([*texts, *into])})"

    def _is_real(self, value: Any, out: Fact) -> bool:
        """Return whether an operand is a scalar of the result's type, or a number beside one."""
        if type(value) is Ref:
            return self.program.facts[value].kind is out.kind
        return type(value) is float or (type(value) is int and abs(value) < 2**31)

    def beside(self, step: Step, value: Any) -> str | None:
        """Write a number that stands beside an array as an array, which NumPy converts to faster.

        It has the array's dtype, as it has when NumPy converts it.
        """
        if step.op not in _BESIDE:
            return None
        others = [each for each in step.args if type(each) is Ref and each is not value]
        facts = [self.program.facts[each] for each in others]
        if len(facts) != 1 or not is_array(facts[0]):
            return None
        (fact,) = facts
        if type(value) is Ref:
            known = self.program.constants.get(value)
            value = known if isinstance(known, np.generic) and known.dtype == fact.dtype else None
        exact = fact.dtype.kind in "fc" and type(value) in (int, float)
        if not exact and not isinstance(value, np.generic):
            return None
        # A full array is laid out as the other operand: NumPy lays results out as its operands are.
        full = fact.size <= _FULL and nbytes(fact) is not None
        key = (repr(value), fact if full else fact.dtype)
        if key not in self._full:
            made = np.empty((), fact.dtype)
            if full:
                memory = np.empty(fact.size, fact.dtype)
                made = np.ndarray(fact.shape, fact.dtype, memory, 0, fact.strides)
            with np.errstate(all="ignore"):
                made.fill(value)
            if np.isfinite(value) and not np.isfinite(made).all():
                return None  # NumPy warns of the overflow each time it converts the number
            self._full[key] = self.held(made, "full")
        return self._full[key]

    def buffer(self, number: int, step: Step) -> list[str]:
        """Return the name of the buffer for a step's only result, if it has one."""
        (planned,) = self.plan.writes[number]
        if planned is None:
            return []
        form = planned, self.program.facts[step.outs[0]]
        return [self._forms.setdefault(form, f"b{len(self._forms)}")]

    def _written(self, number: int, step: Step) -> str | None:
        """Write what has a shorter form than a call of the op's function."""
        function = named_function(self.program, step.op, step.kwargs)
        if _is_product(self.program, step):
            one, other = map(self.text, step.args)
            return f"{one}.dot({', '.join((other, *self.buffer(number, step)))})"
        if len(step.outs) != 1 or not step.args or type(step.args[0]) is not Ref:
            return None
        write = _SHORT.get(step.op)
        known = KERNELS.get(step.op)
        if write is None or (known is not None and known is not function):
            return None
        return write(self, step, self.text(step.args[0]), self.program.facts[step.args[0]])

    def key(self, key: Any) -> str:
        """Write what stands in brackets: one object, unless a part of it is a value."""
        constant = type(key) is not Ref and not [*_refs(key)] and type(key) is not int
        return self.held(key, "key") if constant else self.text(key)

    def scatter(self, number: int, step: Step) -> bool:
        """Write an addition to an array that is this program's own."""
        if number not in self.plan.updates:
            return False
        (out,), (into, key, *rest) = step.outs, step.args
        own, target = self.text(into), self.name(out)
        if step.op == "@scatter_add" and is_basic(key):
            self.lines.append(f"{target} = {own}")
            self.lines.append(f"{target}[{self.key(key)}] += {self.text(rest[0])}")
        else:
            function = self.held(getattr(self.program.domain.backend, step.op[1:]), step.op)
            given = ", ".join(map(self.text, (key, *rest)))
            self.lines.append(f"{target} = {function}({own}, {given})")
        return True


def _refs(key: Any) -> list[Ref]:
    return [*Step("", (key,), {}, ()).uses()]


# -- kernels, as they are in _kernels --------------------------------------------------------------


def _getitem(writer: NumpyWriter, step: Step, x: str, fact: Fact) -> str | None:
    return f"{x}[{writer.key(step.args[1])}]"


def _transposed(writer: NumpyWriter, step: Step, x: str, fact: Fact) -> str | None:
    return f"{x}.T" if len(fact.shape) == 2 and not step.kwargs else None


def _permuted(writer: NumpyWriter, step: Step, x: str, fact: Fact) -> str | None:
    return _method(writer, step, x, "transpose", "axes")


def _reshaped(writer: NumpyWriter, step: Step, x: str, fact: Fact) -> str | None:
    if step.kwargs.get("copy") is not None:
        return None
    kwargs = {name: value for name, value in step.kwargs.items() if name != "copy"}
    return _method(writer, Step(step.op, step.args, kwargs, step.outs), x, "reshape", "shape")


def _method(writer: NumpyWriter, step: Step, x: str, name: str, argument: str) -> str | None:
    """Write a method of one argument, which is positional or has a name."""
    given = [*step.args[1:], *step.kwargs.values()]
    if len(given) != 1 or not set(step.kwargs) <= {argument}:
        return None
    return f"{x}.{name}({writer.text(given[0])})"


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
    "permute_dims": _permuted,
    "reshape": _reshaped,
    "sum": _reduction(np.add),
}
