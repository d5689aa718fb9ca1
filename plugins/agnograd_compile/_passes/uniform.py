"""Uniform arrays: one number takes the place of an array all of whose elements are that number."""

from __future__ import annotations

from typing import Any

from agnograd.extend import is_basic, switch
from agnograd_compile._passes.identities import instead
from agnograd_compile._programs.editor import Editor
from agnograd_compile._programs.program import Fact, Ref, Step, TracedProgram, declared, mapped
from agnograd_compile._programs.straight import named_function

Number = int | float

# Those that take a Python number in every library.
_WITH_NUMBERS = frozenset(("add", "subtract", "multiply", "divide"))
_FILLED = {"zeros_like": 0, "ones_like": 1}
# Those beside ops that are exact, or select elements, whose results may be known by arguments.
_TELLING = _FILLED.keys() | {"full_like", "pow", "astype"}
# A step on constants is computed once and for all if its result has at most this many elements.
FOLDED_ELEMENTS = switch("FOLDED_ELEMENTS", 2**16, least=0, most=2**62, module=__name__)


def uniform(program: TracedProgram) -> TracedProgram:
    """Return the program with numbers, or arrays without axes, in place of uniform arrays.

    They take the places of arguments of element-wise ops that are the same bit for bit with a
    number, beside an argument that has the result's shape and decides on its layout. Arrays that
    only uniform arrays made are uniform, too, and what constants make is a constant.
    """
    if program.domain.backend.capabilities.lazy:  # nothing may be computed to look at it
        return program
    return Numbers(program).rewritten()


class Numbers(Editor):
    """What is known of the elements of a program's values.

    Attributes
    ----------
    known : dict
        The Python number, or the value without axes, that all elements of a value are. It has the
        dtype of the value, and numbers lose nothing as Python numbers. It can be a step, too: the
        one that made the value, and that would give the value without axes for arguments that are
        without axes.
    """

    def __init__(self, program: TracedProgram) -> None:
        super().__init__(program)
        self.known: dict[Ref, Number | Ref | Step] = {}
        names = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8")
        self._dtypes = {self.domain.dtype_or_none(name) for name in names} - {None}
        self._held: dict[Any, Ref] = {}  # constants without axes, by number and dtype
        self._computed: dict[Any, Number | None] = {}
        self._kinds: dict[Any, type | None] = {}
        for ref, value in self.constants.items():
            self.note(ref, self.number_of(ref, value))

    def rewritten(self) -> TracedProgram:
        """Return the program with what is known of it."""
        changed = False
        for step in self.program.steps:
            now = self.with_numbers(step) if declared(step.op).exact else step
            changed |= now is not step
            if len(step.outs) == 1 and not step.several:
                if self.folded(now):
                    changed = True
                    continue
                self.note(step.outs[0], self.made_by(step))
            self.steps.append(now)
        if not changed:
            return self.program
        return self.finished()

    def note(self, ref: Ref, number: Any) -> None:
        """Note what is known of a value, if anything is."""
        if type(number) in (int, float, Ref, Step):
            self.known[ref] = number

    def number_of(self, ref: Ref, value: Any) -> Number | None:
        """Return the number that all elements of a constant are, or None."""
        fact, raw = self.facts[ref], self.domain.raw
        if fact.dtype not in self._dtypes or not fact.size:
            return None
        first = value[(0,) * len(fact.shape)] if fact.shape else value
        number: Number = self.domain.backend.item(first)
        if fact.shape and any(fact.strides or (1,)):
            signed = number == 0 and type(number) is float
            if not bool(raw.all(raw.equal(value, first))):
                return None
            if signed and not bool(raw.all(raw.equal(raw.signbit(value), raw.signbit(first)))):
                return None
        return number if number == number else None  # NaN has many forms

    # -- numbers as arguments ----------------------------------------------------------------------

    def with_numbers(self, step: Step) -> Step:
        """Return an element-wise step with numbers in place of uniform arrays."""
        known = [type(arg) is Ref and arg in self.known for arg in step.args]
        if True not in known or step.kwargs:
            return step
        out = self.facts[step.outs[0]]
        waits = any(type(self.known.get(arg)) is Step for arg in step.args if type(arg) is Ref)
        if waits and self.kind_of(step) is not None and _is_in_rows(out):
            return self.spread(step, out)
        first = 1 if step.op == "where" else 0
        partners = {
            self.facts[arg].dtype
            for arg, is_known in zip(step.args[first:], known[first:], strict=True)
            if type(arg) is Ref and not is_known and _decides(self.facts[arg], out)
        }
        args = list(step.args)
        for place in range(first, len(args)):
            if known[place] and self.facts[args[place]].dtype in partners:
                args[place] = self.smaller(args[place], step.op in _WITH_NUMBERS)
        return step if tuple(args) == step.args else instead(step, step.op, tuple(args))

    def smaller(self, arg: Ref, is_number: bool) -> Number | Ref:
        """Return the number that an array consists of, as an array without axes if need be."""
        number = self.one(arg)
        if is_number or type(number) is Ref or not self.facts[arg].shape:
            return number if is_number or type(number) is Ref else arg
        dtype, device = self.facts[arg].dtype, self.facts[arg].device
        key = (type(number), repr(number), dtype, repr(device))
        if key not in self._held:
            value = self.domain.library.asarray(number, dtype=dtype, device=device)
            ref = self._held[key] = self.value(_like(self.facts[arg], (), type(value)))
            self.constants[ref] = value
        return self._held[key]

    # -- arrays that only uniform arrays made ------------------------------------------------------

    def kind_of(self, step: Step) -> type | None:
        """Return the type of a step's result without axes, None if not all arguments are uniform.

        That all of them are numbers does not count.
        """
        known, facts = self.known, self.facts
        refs = [arg for arg in step.args if type(arg) is Ref]
        for arg in refs:
            if arg not in known and facts[arg].shape:
                return None
        if all(type(known.get(arg)) in (int, float) for arg in refs):
            return None
        given = [self.facts[arg].dtype if type(arg) is Ref else arg for arg in step.args]
        key = (step.op, self.facts[step.outs[0]].dtype, *map(repr, given))
        if key not in self._kinds:
            asarray = self.domain.library.asarray
            values = [
                asarray(1, dtype=dtype) if type(arg) is Ref else arg
                for arg, dtype in zip(step.args, given, strict=True)
            ]
            with self.domain.backend.quiet():
                value = named_function(self.program, step.op, {})(*values)
            fits = value.dtype == self.facts[step.outs[0]].dtype
            self._kinds[key] = type(value) if fits else None
        return self._kinds[key]

    def one(self, ref: Ref) -> Number | Ref:
        """Return what all elements of a uniform array are; steps compute it if need be."""
        pending = [ref]
        while pending:
            step = self.known[pending[-1]]
            if type(step) is not Step:
                pending.pop()
                continue
            waiting = [arg for arg in step.args if type(arg) is Ref and arg in self.known]
            waiting = [arg for arg in waiting if type(self.known[arg]) is Step]
            if waiting:
                pending += waiting
                continue
            kind = self.kind_of(step)
            assert kind is not None
            args = tuple(self._without_axes(step, arg) for arg in step.args)
            fact = _like(self.facts[step.outs[0]], (), kind)
            new = self.emit(step.op, args, {}, fact, location=step.location)
            self.known[pending.pop()] = new
        return self.known[ref]  # type: ignore[return-value]

    def spread(self, step: Step, out: Fact) -> Step:
        """Return a step that makes a uniform array of numbers, and spreads one of them."""
        args = [self._without_axes(step, arg) for arg in step.args]
        place = next(at for at, arg in enumerate(args) if type(arg) is Ref)
        one = self.domain.library.asarray(1, dtype=self.facts[args[place]].dtype)
        made = named_function(self.program, "broadcast_to", {})(one, out.shape)
        strides = self.domain.backend.strides(made)  # some copy what is small
        given = args[place]
        fact = _like(self.facts[given], out.shape, out.kind, strides)
        args[place] = self.emit("broadcast_to", (given, out.shape), {}, fact, views=(given,))
        return instead(step, step.op, tuple(args))

    def _without_axes(self, step: Step, arg: Any) -> Any:
        if type(arg) is not Ref or arg not in self.known:
            return arg
        # A Python number would leave the dtype of the result to the other arguments.
        others = [x for x in step.args if type(x) is Ref and x is not arg]
        others = [x for x in others if type(self.known.get(x)) not in (int, float)]
        alike = any(self.facts[x].dtype == self.facts[arg].dtype for x in others)
        return self.smaller(arg, alike and step.op in _WITH_NUMBERS)

    # -- what is known of results ------------------------------------------------------------------

    def made_by(self, step: Step) -> Any:
        """Return what all elements of a step's result are, or None."""
        op = declared(step.op)
        selects = op.pattern == "selects"
        if not (selects or op.exact or step.op in _TELLING) or not step.args:
            return None
        fact, x = self.facts[step.outs[0]], step.args[0]
        if not fact.size:
            return None
        if selects and type(x) is Ref:
            if step.op == "__getitem__" and not is_basic(step.args[1]):
                return None
            return self.known.get(x, x if self.facts[x].shape == () and fact.shape else None)
        if fact.dtype not in self._dtypes:
            return None
        if step.op in _FILLED:
            return self.computed("astype", (_FILLED[step.op],), fact.dtype)
        if step.op == "full_like" and len(step.args) > 1:
            return self.computed("astype", step.args[1:2], fact.dtype)
        if step.op == "pow" and type(step.args[1]) in (int, float) and step.args[1] == 0:
            return self.computed("astype", (1,), fact.dtype)
        if step.op == "astype":
            return self.computed("astype", (x,), fact.dtype)
        if not op.exact or step.kwargs:
            return None
        number = self.computed(step.op, step.args, fact.dtype)
        alike = number is None and fact.shape and self.kind_of(step) is not None
        return step if alike else number

    def computed(self, op: str, args: tuple[Any, ...], dtype: Any) -> Number | None:
        """Return what an op gives for numbers, None if that is not finite, or one is not known.

        The library computes it, in arrays without axes, of the dtypes that the arguments have.
        """
        values = []
        for arg in args:
            value: Any = self.known.get(arg) if type(arg) is Ref else arg
            if type(value) not in (int, float):
                return None
            if type(arg) is Ref or op == "astype":
                of = self.facts[arg].dtype if type(arg) is Ref else dtype
                value = self.domain.library.asarray(value, dtype=of)
            values.append(value)
        key = (op, dtype, *((getattr(each, "dtype", type(each)), repr(each)) for each in values))
        if key not in self._computed:
            self._computed[key] = self._number(op, values, dtype)
        return self._computed[key]

    def _number(self, op: str, values: list[Any], dtype: Any) -> Number | None:
        with self.domain.backend.quiet():
            function = named_function(self.program, op, {})
            value = function(*values, dtype) if op == "astype" else function(*values)
            if value.dtype != dtype or not bool(self.domain.raw.isfinite(value)):
                return None
        number = self.domain.backend.item(self.domain.backend.array(value))
        return number if type(number) in (int, float) else None

    # -- constants ---------------------------------------------------------------------------------

    def folded(self, step: Step) -> bool:
        """Compute a step that only takes constants, if its result is small, and finite.

        What is not finite may warn, or raise, in each run.
        """
        out, refs = step.outs[0], step.uses()
        if not refs or refs[0] not in self.constants:  # most often
            return False
        if not all(ref in self.constants for ref in refs):
            return False
        if step.op.startswith("@") or step.effects or self.facts[out].size > FOLDED_ELEMENTS:
            return False
        value_of = self.constants.__getitem__
        kwargs = {name: mapped(value_of, each) for name, each in step.kwargs.items()}
        with self.domain.backend.quiet():
            function = named_function(self.program, step.op, {})
            value = function(*mapped(value_of, step.args), **kwargs)
        numeric = self.domain.library.isdtype(value.dtype, "numeric")
        if numeric and not bool(self.domain.raw.all(self.domain.raw.isfinite(value))):
            return False
        self.constants[out] = value
        self.note(out, self.number_of(out, value))
        return True


def _like(fact: Fact, shape: tuple[int, ...], kind: type, strides: Any = ()) -> Fact:
    """Return what is known of a value of another shape and type, with a value's dtype."""
    strides = None if fact.strides is None else strides
    return Fact(shape, fact.dtype, strides, kind, fact.device)


def _decides(fact: Fact, out: Fact) -> bool:
    """Return whether a result has the shape of an argument, and its elements in the same order."""
    if fact.shape != out.shape:
        return False
    if fact.strides is None or out.strides is None:
        return True
    order = _order(fact)
    return order is not None and order == _order(out)


def _is_in_rows(fact: Fact) -> bool:
    """Return whether the elements of an array are in row-major order."""
    return fact.strides is None or (order := _order(fact)) is None or order == sorted(order)


def _order(fact: Fact) -> list[int] | None:
    """Return the axes from the largest stride to the smallest, None if elements share memory."""
    steps = fact.strides or ()
    axes = [axis for axis, length in enumerate(fact.shape) if length > 1]
    if any(steps[axis] <= 0 for axis in axes):
        return None
    return sorted(axes, key=lambda axis: -steps[axis])
