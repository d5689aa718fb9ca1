"""Tracing: a function's run as a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from operator import itemgetter
from types import AsyncGeneratorType, CoroutineType, GeneratorType, MappingProxyType
from typing import Any, NamedTuple
from weakref import ref

from agnograd import Variable
from agnograd.extend import is_python_scalar
from agnograd.extend.arguments import flatten, unflatten
from agnograd.extend.transforms import Domain, current_mode, entered, owner_of, set_mode
from agnograd_compile._programs.program import TracedProgram
from agnograd_compile._recording import Recording, refused, running
from agnograd_compile._surroundings.keys import is_constant
from agnograd_compile._traced import TracedArray, Tracing

_LATER = (GeneratorType, CoroutineType, AsyncGeneratorType)  # run after they are returned
# What stands for an array among the leaves of arguments and results.
ARRAY: Any = type("Array", (), {"__repr__": lambda self: "an array"})()


class Signature(NamedTuple):
    """How arrays become the arguments of a function.

    ``leaves`` are those of the arguments, with ``ARRAY`` in place of arrays. ``tree`` is their
    structure, or None if they are the positional arguments themselves.
    """

    leaves: tuple[Any, ...]
    tree: Any

    def arguments(self, arrays: Sequence[Any]) -> tuple[Any, Any]:
        """Return the arguments, positional and by name."""
        given = iter(arrays)
        return arguments([next(given) if x is ARRAY else x for x in self.leaves], self.tree)


def arguments(leaves: Sequence[Any], tree: Any) -> tuple[Any, Any]:
    """Return positional and other arguments of leaves; without a tree they are positional."""
    return (leaves, {}) if tree is None else unflatten(tree, leaves)


def is_of_another(leaf: Any) -> bool:
    """Return whether a leaf that a program's library does not know is another one's raw array."""
    owner = None if isinstance(leaf, Variable) or is_python_scalar(leaf) else owner_of(leaf)
    return owner is not None and not owner.level


def copy_of(value: Any) -> Any:
    """Return a copy of a raw array, also of one with a mask; all else as it is."""
    return deepcopy(value) if is_of_another(value) else value


class Result(NamedTuple):
    """What a function returned: its arrays, and what stands around them."""

    arrays: list[Any]
    others: list[Any]  # its leaves, with ``ARRAY`` in place of arrays
    tree: Any

    def filler(self) -> Callable[[Sequence[Any]], Any]:
        """Return what makes the result of other arrays."""
        others, tree = self.others, self.tree
        if all(x is ARRAY for x in others):
            places = tuple(range(len(others)))
            whole = unflatten(tree, places)
            if whole == places and type(whole) is tuple:
                return tuple
            if places == (0,) and whole == 0:
                return itemgetter(0)
            return lambda arrays: unflatten(tree, arrays)

        copied = [place for place, x in enumerate(others) if x is not ARRAY and is_of_another(x)]

        def filled(arrays: Sequence[Any]) -> Any:
            given = iter(arrays)
            found = [next(given) if x is ARRAY else x for x in others]
            for place in copied:
                found[place] = deepcopy(found[place])
            return unflatten(tree, found)

        return filled


# A function of Variables over traced arrays, which is called while a recording runs.
Traceable = Callable[[Recording, Sequence[Variable]], Result]


class Callee:
    """A function of users, as one of a flat list of arrays.

    It is called while a recording runs, with Variables over traced arrays. After the arrays among
    its arguments come those that it finds elsewhere.
    """

    def __init__(
        self, f: Callable[..., Any], signature: Signature, foreign: Sequence[Any] = ()
    ) -> None:
        self.f, self.signature = f, signature
        self._inner = sum(leaf is ARRAY for leaf in signature.leaves)
        # Nothing keeps them alive. Scalars, which have no weak references, are Python's to ops.
        self._foreign = [ref(each) for each in foreign if type(each).__weakrefoffset__]

    def __call__(self, run: Recording, arrays: Sequence[Variable]) -> Result:
        """Call the function; what it finds elsewhere stands for arrays that it is given here."""
        run.foreign = self._foreign
        run.finds(arrays, range(self._inner, len(arrays)))
        args, kwargs = self.signature.arguments(arrays[: self._inner])
        found, tree = flatten(self.f(*args, **kwargs))
        backend: Any = run.traced
        results: list[Any] = []
        others: list[Any] = []
        for leaf in found:
            if isinstance(leaf, _LATER):
                getattr(leaf, "close", bool)()  # a coroutine that never runs gives a warning
                raise refused(
                    f"the function returns a {type(leaf).__name__}, whose code would not be part "
                    "of a program; return a list of arrays"
                )
            array = as_traced(backend, run.domain, leaf)
            raw = getattr(leaf, "_raw", None)
            if array is None and isinstance(raw, TracedArray) and raw.run is leaf._node is None:
                leaf = raw.payload  # a constant of another library
            if array is None and is_of_another(leaf):
                run.unknown = True  # Python may have made it of any array
            elif array is None and not is_constant(leaf):
                raise refused(
                    f"the function returns a {type(leaf).__qualname__}, which all calls would "
                    "share: return arrays and values in tuples, lists or dicts, or register the "
                    "class with optree as a pytree"
                )
            results += [] if array is None else [array]
            others.append(leaf if array is None else ARRAY)
        return Result(results, others, tree)


def as_traced(backend: Any, below: Domain, leaf: Any) -> Any:
    """Return an array that a traced function made, or found outside, as a Variable; else None."""
    domain = Tracing.domain(below)
    if isinstance(leaf, Variable) and leaf._domain is domain:
        return leaf
    if not isinstance(leaf, (Variable, backend.array_class, *below.array_types)):
        return None
    lifted = backend.lift(leaf)
    if lifted is NotImplemented or isinstance(lifted, Variable):
        return None if lifted is NotImplemented else lifted
    return domain.Variable._make(lifted, None)


class Traced(NamedTuple):
    """A program, and what the traced function returned beside arrays.

    ``by_elements`` are the arrays from outside that it is made for as they are, and ``is_mixed``
    says whether Python made something of them.
    """

    program: TracedProgram
    result: Result
    by_elements: tuple[Any, ...]
    is_mixed: bool


def record(
    callee: Traceable,
    below: Domain,
    arrays: Sequence[Any],
    name: str = "a function",
    ranks: Mapping[int, int] = MappingProxyType({}),
) -> Traced:
    """Run a function of raw arrays, and return what it computes as a program.

    ``ranks`` are those of the nodes of arrays from outside, by their places.
    """
    domain = Tracing.domain(below)
    backend: Any = domain.backend
    run = Recording(below, backend, arrays, ranks)
    given = [
        domain.Variable._make(backend.array_class(each, run, run.input(each)), None)
        for each in arrays
    ]
    outer, token = current_mode(), running.set(run)
    try:
        # Hooks see the program when it runs.
        with entered(hooks=False, inside=True, level=domain):
            result = callee(run, given)
            outputs = [run.place_of(each._raw) for each in result.arrays]
    finally:
        run.returned = True
        running.reset(token)
        set_mode(outer)  # an interrupt may have kept the block from restoring it
    return Traced(
        run.program(outputs, name), result._replace(arrays=[]), run.by_elements, run.unknown
    )
