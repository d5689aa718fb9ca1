"""Functions of users as functions of all arrays that they use: arguments, and those from outside.

A loop in a program is one step, and what a step takes has to be among its arguments. So the
function runs once where arrays from outside can be seen: at a level of its own, which is given each
of them when an op first meets it. In later runs, the first that is met is the first argument beside
the function's own, and so on. It takes the same way each time, since no value decides about it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from agnograd import Variable
from agnograd.errors import AgnogradError, CompileError
from agnograd.extend import Interpretation, Op, Run, is_python_scalar
from agnograd.extend.arguments import flatten, map_leaves
from agnograd.extend.transforms import current_mode, domain_of, owner_of, rank_of

_OTHERS = (
    "ag.compile: the function that a loop repeats uses other arrays from outside than when it was "
    "traced: give it what it needs in the carry"
)


class NotClosed(AgnogradError):  # noqa: N818 - it says to run the loop in Python, no user sees it
    """A function does what a step of a program cannot: it looks at a value, or has an effect."""


class Uses(Run):
    """One run, and which arrays from outside it meets.

    Attributes
    ----------
    given : list or None
        What stands for them, in the order in which they are met; None while they are being found.
    found : list
        The arrays, as those of the level below.
    """

    def __init__(self, given: Sequence[Any] | None = None) -> None:
        self.given = given
        self.found: list[Any] = []
        self._known: dict[tuple[int, int | None], Any] = {}
        self._kept: list[Any] = []  # so that no other array gets an identity that is in use

    def met(self, value: Any, lift: Callable[[Any], Any]) -> Any:
        """Return what stands for an array from outside."""
        key = id(getattr(value, "_raw", value)), rank_of(value)
        if key not in self._known:
            place, given = len(self._known), self.given
            # Behind those that were found, a function is run again, and makes its constants anew.
            if given is None or place >= len(given):
                found = lift(value)
                if found is NotImplemented:
                    return found
            else:
                found = given[place]
                if (found.shape, found.dtype) != (value.shape, value.dtype):
                    raise CompileError(_OTHERS)
            self.found.append(found.payload)
            self._known[key] = found
            self._kept.append(value)
        return self._known[key]


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
        if array.run is not None and run is not None and run.given is None:
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
        run = Uses()
        found = Closing.interpret(self._called, *arrays, run=run)
        self._results, self.tree = flatten(found)
        self.outside = run.found

    def taken(self) -> list[Any]:
        """Return what the function returned when it was closed, which is kept no longer."""
        found, self._results = self._results, []
        return found

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the leaves of what the function returns."""
        given: list[Any] = []
        run = Uses(given)

        def inner(*variables: Any) -> Any:
            given[:] = [each._raw for each in variables[self._count :]]
            return self._called(*variables[: self._count])

        closed: Callable[..., Any] = partial(Closing.interpret, inner, run=run)
        for _ in range(self._around):
            closed = partial(Closing.interpret, closed, run=Uses(()))
        return tuple(flatten(closed(*arrays))[0])

    def _called(self, *given: Any) -> Any:
        """Call the function; an array from outside that it returns is one of those it uses."""
        domain: Any = domain_of(given[0])

        def own(leaf: Any) -> Any:
            if is_python_scalar(leaf) or owner_of(leaf) in (None, domain):
                return leaf
            return domain.Variable._make(domain.backend.lift(leaf), None)

        return map_leaves(own, self._f(*given))
