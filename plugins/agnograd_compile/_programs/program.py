"""Programs: what a traced function computes, as a list of raw calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from agnograd.extend import Op, op_named

if TYPE_CHECKING:
    from agnograd.extend.transforms import Domain

_PLAIN = frozenset((int, float, bool, str, type(None)))  # arguments that no value is in
# The step that compares a value with what the traced function saw: see ``Step``.
GUARD = "@guard"
# The step that adds numbers in their order.
CHAIN = "@chain"
PULLBACK = "@pullback"
CALLS = frozenset(("@call", PULLBACK))  # of Python functions, which are their keyword ``function``


_NO_OP = Op("", "", "", (), (), {}, "no gradient")


@cache
def declared(name: str) -> Op:
    """Return the op of a step's name, or an op that declares nothing if there is none.

    Passes ask for it often. Once it is known, this calls no Python function.
    """
    return op_named(name) or _NO_OP


class Ref:
    """A value of a program: one of its inputs or constants, or a step's result.

    It is known by its identity, so that sets and dicts of many values call no Python function. Its
    number is what it is called in texts. Nothing may depend on the order of a set of values.
    """

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"%{self.number}"


class Fact(NamedTuple):
    """What is known of a value before it is computed.

    Attributes
    ----------
    shape : tuple of int
        The length of each axis.
    dtype : dtype
        The library's own dtype object.
    strides : tuple of int or None
        The bytes from one element to the next along each axis, if the library's arrays have any.
    kind : type
        The type of the value: an array type of the library, or one of its scalar types.
    device : device or None
        Where the value is, None for libraries with one device only.
    """

    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...] | None
    kind: type
    device: Any = None

    def __hash__(self) -> int:  # some libraries' devices have none
        return hash(self[:4])

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)


@dataclass(slots=True)
class Step:
    """One call: an op, its arguments, and the values that it makes. It is never changed.

    Attributes
    ----------
    op : str
        The name of an op, with dots, as in the raw namespace; or one of these: ``@guard``, which
        compares a value with what the traced function saw, and has no results: ``seen_by(kind, x)``
        is ``value``, and ``number`` says which guard it is, whatever passes leave out; ``@call``,
        which calls a Python function; ``@pullback``, which calls the backend's derivative of an op
        with respect to an input, named by the keywords ``op`` and ``input``; ``@scatter_add`` and
        ``@scatter_add_axis``, which return their first argument, as a new value, with something
        added to it, as ``Backend`` has them; ``@chain``, which adds the elements of its second
        argument, an array with one axis, to its first, a number or a value without axes, one after
        the other, and rounds each time; and what lowerings make, whose meaning they know.
    args, kwargs
        The arguments, with ``Ref`` in place of arrays, also in tuples, lists and slices.
    outs : tuple of Ref
        The results.
    several : bool
        Whether the call returns a tuple or list of results.
    views : tuple of Ref
        Arguments that the results may share memory with.
    location : str or None
        ``file:line in function`` of the user's code.
    """

    op: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    outs: tuple[Ref, ...]
    several: bool = False
    views: tuple[Ref, ...] = ()
    location: str | None = None
    _uses: tuple[Ref, ...] | None = field(default=None, init=False, repr=False, compare=False)

    def uses(self) -> tuple[Ref, ...]:
        """Return the values that the step reads, as often as it names them."""
        if self._uses is None:  # passes ask for this more than for anything else
            found: list[Ref] = []
            for value in (*self.args, *self.kwargs.values()) if self.kwargs else self.args:
                kind = type(value)
                if kind is Ref:
                    found.append(value)
                elif kind not in _PLAIN:
                    found.extend(refs_in(value))
            self._uses = tuple(found)
        return self._uses

    @property
    def effects(self) -> bool:
        """Whether each run makes the call, in its place among others like it (see ``Op``)."""
        return declared(self.op).effects

    def renamed(self, new: Mapping[Ref, Any]) -> Step:
        """Return the step with other values, or numbers, in place of some that it reads."""
        if not new or new.keys().isdisjoint(self.uses()):
            return self
        kwargs = {name: substituted(value, new) for name, value in self.kwargs.items()}
        views = tuple(found for ref in self.views if type(found := new.get(ref, ref)) is Ref)
        args = tuple([substituted(value, new) for value in self.args])
        return Step(self.op, args, kwargs, self.outs, self.several, views, self.location)


@dataclass(slots=True)
class TracedProgram:
    """A list of calls, in the order in which they are made.

    A program is never changed: passes return new ones, and may share steps with the old one.

    Attributes
    ----------
    domain : domain
        The domain of the library; ``domain.raw`` has the functions of ops on raw arrays.
    inputs : tuple of Ref
        The arrays that each run is given.
    constants : mapping of Ref to array
        Values that are the same in each run. They are never written to.
    steps : tuple of Step
        What is computed.
    outputs : tuple of Ref
        What a run returns. It shares no memory with inputs, constants, buffers, or each other.
    facts : mapping of Ref to Fact
        What is known of each value.
    name : str
        What the traced function is called.
    """

    domain: Domain
    inputs: tuple[Ref, ...]
    constants: Mapping[Ref, Any]
    steps: tuple[Step, ...]
    outputs: tuple[Ref, ...]
    facts: Mapping[Ref, Fact]
    name: str = "program"
    notes: Mapping[str, Any] = field(default_factory=dict)  # what passes say of what they did
    # What ``roots_of`` and ``freed_after`` found: planners and writers ask for it again.
    _roots: dict[Ref, frozenset[Ref]] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    _freed: dict[int, list[Ref]] | None = field(default=None, init=False, repr=False, compare=False)

    def with_(self, **changes: Any) -> TracedProgram:
        """Return the program with other parts."""
        return replace(self, **changes)

    def guards(self) -> Iterator[Step]:
        """Yield the guards, in their order."""
        return (step for step in self.steps if step.op == GUARD)

    def next_number(self) -> int:
        """Return a number that no value of the program has."""
        return 1 + max((ref.number for ref in self.facts), default=-1)

    def used(self) -> dict[Ref, int]:
        """Return how often each value is read, as an output too."""
        found: dict[Ref, int] = dict.fromkeys(self.facts, 0)
        for step in self.steps:
            for ref in step.uses():
                found[ref] += 1
        for ref in self.outputs:
            found[ref] += 1
        return found


class Missed(Exception):  # noqa: N818 - it says where to go on, and no user sees it
    """A guard found a value that is not the one that the traced function saw.

    ``number`` is that of the guard, from 0, and ``seen`` is what it found.
    """

    def __init__(self, number: int, seen: Any) -> None:
        super().__init__(number, seen)
        self.number, self.seen = number, seen


# A program that is ready to run: arrays in the order of its inputs to those of its outputs. It
# raises ``Missed`` where a guard finds another value.
Runnable = Callable[[Sequence[Any]], list[Any]]


def refs_in(value: Any) -> Iterator[Ref]:
    """Yield the values in an argument, also those in tuples, lists and slices."""
    kind = type(value)
    if kind is Ref:
        yield value
    elif kind is slice:
        yield from refs_in((value.start, value.stop, value.step))
    elif isinstance(value, tuple | list):
        for each in value:
            yield from refs_in(each)


def substituted(value: Any, new: Mapping[Ref, Any]) -> Any:
    """Return an argument with something else in place of some values."""
    kind = type(value)
    if kind is Ref:
        return new.get(value, value)
    if kind in _PLAIN:
        return value
    return mapped(lambda ref: new.get(ref, ref), value)


def mapped(function: Callable[[Ref], Any], value: Any) -> Any:
    """Return an argument with what a function returns in place of each value."""
    kind = type(value)
    if kind is Ref:
        return function(value)
    if kind is slice:
        return slice(*[mapped(function, each) for each in (value.start, value.stop, value.step)])
    if isinstance(value, tuple | list):
        parts = [mapped(function, each) for each in value]
        return kind(*parts) if hasattr(value, "_fields") else kind(parts)
    return value


def seen_by(kind: str, value: Any) -> Any:
    """Return what a guard of a kind compares: a Python value that tells all others apart.

    ``kind`` is the conversion: "bool", "int", "float" or "complex", or "text", of arrays.
    """
    if kind == "text":
        return repr(value)
    if kind == "bool":
        return bool(value)
    if kind == "int":
        return int(value)
    if kind == "float":
        return float(value).hex()  # tells 0.0 and -0.0 apart; NaN is itself
    number = complex(value)
    return number.real.hex(), number.imag.hex()


def freed_after(program: TracedProgram) -> Mapping[int, Sequence[Ref]]:
    """Return, by the number of a step, the values that nothing reads after it.

    A value is read as long as a view of it is. Inputs, constants, and outputs are not among them.
    """
    if program._freed is not None:
        return program._freed
    roots = roots_of(program)
    views = {ref for ref, own in roots.items() if ref not in own}
    last: dict[Ref, int] = {}
    for number, step in enumerate(program.steps):
        for ref in (*step.uses(), *step.outs):
            if ref in views:
                last.update(dict.fromkeys(sorted(roots[ref], key=_number), number))
            last[ref] = number
    kept = {*program.inputs, *program.constants}
    for ref in program.outputs:
        kept.update(roots.get(ref, ()), (ref,))
    found: dict[int, list[Ref]] = {}
    for ref, number in last.items():
        if ref not in kept:
            found.setdefault(number, []).append(ref)
    program._freed = found
    return found


_number = attrgetter("number")


def roots_of(program: TracedProgram) -> Mapping[Ref, frozenset[Ref]]:
    """Return, for each value, those whose memory it may share: itself if it is a new array."""
    if program._roots is not None:
        return program._roots
    found: dict[Ref, frozenset[Ref]] = {
        ref: frozenset((ref,)) for ref in (*program.inputs, *program.constants)
    }
    for step in program.steps:
        above: frozenset[Ref] | None = None
        for ref in step.views:
            own = found.get(ref) or frozenset((ref,))
            above = own if above is None else above | own
        for ref in step.outs:
            found[ref] = above or frozenset((ref,))
    program._roots = found
    return found
