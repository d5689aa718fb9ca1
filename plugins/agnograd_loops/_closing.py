"""Functions of users as functions of all arrays that they use: arguments, and those from outside.

A loop in a program is one step, and what a step takes has to be among its arguments. So the
function runs once where arrays from outside can be seen: at a level of its own, which is given each
of them when an op meets it. In later runs, others stand for these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from agnograd import Variable
from agnograd.errors import AgnogradError, CompileError
from agnograd.extend import Interpretation, Op, Run, is_python_scalar
from agnograd.extend.arguments import flatten, map_leaves
from agnograd.extend.members import same_for_all
from agnograd.extend.transforms import current_mode, derived, domain_of, owner_of, rank_of, root_of

_OTHERS = (
    "ag.compile: the function that a loop repeats uses other arrays from outside than when it was "
    "traced: give it what it needs in the carry"
)


Key = tuple[int, int | None]  # the identity of an array, and the rank of the node of a Variable


class NotClosed(AgnogradError):  # noqa: N818 - it says to run the loop in Python, no user sees it
    """A function does what a step of a program cannot: it looks at a value, or has an effect."""


class UsesOthersError(CompileError):
    """A function uses other arrays from outside than it did when it was closed."""


class Uses(Run):
    """One run, and which arrays from outside it meets.

    Those that are the same in each run of what is around are constants here, too. All others have
    places, in the order in which they were found.

    Parameters
    ----------
    first : Uses, optional
        The run in which the arrays were found. An array that was met there has its place here, too.

    Attributes
    ----------
    found : list
        The arrays that have a place, as those of the level below.
    """

    def __init__(self, first: Uses | None = None) -> None:
        self.first = first
        self.found: list[Any] = []
        self._places: dict[Key, int] = {}
        self._roots: dict[int, int] = {}  # by the identities of the arrays of libraries
        self._given: Sequence[Any] = ()
        self._left: dict[int, None] = {}  # the places of arrays that were not met
        self._arrays: dict[Key, Any] = {}
        self._kept: list[Any] = []  # so that no other array gets an identity that is in use

    def stand_for(self, given: Sequence[Any]) -> None:
        """Take what stands for the arrays that have places."""
        self._given, self._left = given, dict.fromkeys(range(len(given)))

    def met(self, value: Any, lift: Callable[[Any], Any]) -> Any:
        """Return what stands for an array from outside."""
        key = id(value._raw if isinstance(value, Variable) else value), rank_of(value)
        if key not in self._arrays:
            place = self._place_of(key, value)
            found = lift(value) if place is None else self._given[place]
            if found is NotImplemented:
                return found
            if self.first is None and same_for_all(found) is None:
                self._add(key, found)
            self._arrays[key] = found
            self._kept.append(value)
        return self._arrays[key]

    def _add(self, key: Key, found: Any) -> None:
        root = found
        while type(root) in derived or isinstance(root, Variable):
            root = root._raw if isinstance(root, Variable) else root.payload
        place = len(self.found)
        if self._roots.setdefault(id(root), place) != place:
            raise NotClosed  # in later runs, nobody could tell which of the two it is
        self._places[key] = place
        self.found.append(found.payload)
        self._kept.append(root)

    def _place_of(self, key: Key, value: Any) -> int | None:
        """Return the place of an array; None for a constant."""
        if self.first is None or not self._given:
            return None
        place, root = self.first._places.get(key), same_for_all(value)
        if place is None and root is None:
            raise UsesOthersError(_OTHERS)
        if place is None:  # it is from outside of all levels
            place = self.first._roots.get(id(root))
        self._left.pop(place, None)  # type: ignore[arg-type]
        return place

    def check(self) -> None:
        """Raise if an array was not met: another one may have taken its place since."""
        if self._left:
            raise UsesOthersError(_OTHERS)


class Closing(Interpretation):
    """Computes what a function computes, and sees what it uses from outside."""

    title = "loop"
    whole = True

    def __init__(self, below: Any) -> None:
        super().__init__(below)
        self.traces = below.backend.traces  # type: ignore[misc]

    def lift(self, value: Any) -> Any:
        """Return what stands for an array from outside."""
        run: Any = self.running.get()
        domain = None if run is None else owner_of(value)
        if domain is None or domain.level >= self.level:  # it is not from outside
            return super().lift(value)
        return run.met(value, super().lift)

    def compute(self, op: Op, xp: Any, run: Any, args: Any, kwargs: Any) -> Any:
        if op.effects:
            raise NotClosed
        return super().compute(op, xp, run, args, kwargs)

    def concrete(self, array: Any) -> Any:
        """Return the values, but not while a function is closed: these may be other ones later."""
        run: Any = self.running.get()
        if run is not None and run.first is None and same_for_all(array) is None:
            raise NotClosed
        return super().concrete(array)

    def gathered(self, gradient: Any, run: Any, of_all: Any) -> Any:
        """Return the payload: what is computed here is what is computed below."""
        return gradient.payload

    def refuse_write(self) -> NoReturn:
        """Refuse a write to an array from outside: the loop runs in Python then."""
        raise NotClosed


def here(x: Variable) -> Variable:
    """Return a Variable as one of the level at which a function is closed, if one is."""
    level: Any = _entered()
    if level is None or x._domain.level >= level.level:
        return x
    array = level.backend.lift(x)
    return x if array is NotImplemented else level.Variable._make(array, None)


def _entered() -> Any:
    """Return the level at which a function is closed, if one is."""
    mode = current_mode()
    level: Any = None if mode is None else mode.level
    return level if level is not None and isinstance(level.backend, Closing) else None


class Closed:
    """A function of a flat list of arrays: its arguments, and then what it uses from outside.

    Attributes
    ----------
    outside : list of arrays
        What it uses, as arrays and Variables of the level in which it is closed.
    tree
        The structure of what it returns.

    Raises
    ------
    NotClosed
        If it looks at a value, has an effect, or writes to an array from outside.
    """

    def __init__(self, f: Callable[..., Any], arrays: Sequence[Any]) -> None:
        self._f, self._count = f, len(arrays)
        # How many functions are closed around it: what is theirs has to be below in later runs.
        self._around, level = 0, _entered()
        while level is not None and isinstance(level.backend, Closing):
            self._around, level = self._around + 1, level.backend.below
        self._uses = Uses()
        with root_of(domain_of(arrays[0])).backend.quiet():  # as to infinities, say
            found = Closing.interpret(self._called, *arrays, run=self._uses)
        self._results, self.tree = flatten(found)
        self.outside = self._uses.found

    def taken(self) -> list[Any]:
        """Return what the function returned when it was closed, which is kept no longer."""
        found, self._results = self._results, []
        return found

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the leaves of what the function returns."""
        run = Uses(self._uses)

        def inner(*variables: Any) -> Any:
            run.stand_for([each._raw for each in variables[self._count :]])
            found = self._called(*variables[: self._count])
            run.check()
            return found

        closed: Callable[..., Any] = partial(Closing.interpret, inner, run=run)
        for _ in range(self._around):
            closed = partial(Closing.interpret, closed, run=Uses(self._uses))
        return tuple(flatten(closed(*arrays))[0])

    def _called(self, *given: Any) -> Any:
        """Call the function; an array from outside that it returns is one of those it uses."""
        domain: Any = domain_of(given[0])

        def own(leaf: Any) -> Any:
            if is_python_scalar(leaf) or owner_of(leaf) in (None, domain):
                return leaf
            return domain.Variable._make(domain.backend.lift(leaf), None)

        return map_leaves(own, self._f(*given))
