"""What a function reads besides its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType, MethodType
from typing import Any

from agnograd import Variable
from agnograd.errors import CompileError
from agnograd.extend import switch
from agnograd_compile._surroundings.flows import Closure
from agnograd_compile._surroundings.inventory import Inventory, Name, Reader, Reading, Structure
from agnograd_compile._surroundings.walk import Walk

# Of how many structures the readers are known at a time: two that take turns cost no more than
# one.
READERS = switch("READERS", 4, least=1, most=64, module=__name__)


class Surroundings:
    """All that a function can read from outside, found by its code and by what its code names.

    That is what is in its closure, the variables of modules that it names, defaults, attributes of
    objects, items of containers; and the same for the user's functions that are found so, also in
    functions of agnograd, such as ``ag.grad(f)``. What code reads in other ways, such as files and
    the environment, is not found.

    Numbers of libraries, such as ``numpy.float64``, count as numbers, not as arrays.

    Parameters
    ----------
    f : callable
        The function.
    static : mapping
        Objects whose attributes and functions it may use as well: its static arguments, by their
        names or positions.
    watch : bool
        Whether to look at anything; otherwise nothing is found.

    Attributes
    ----------
    changing : list of str
        What may be called that gives something else in each call, by the last walk.
    attributes : set of str
        The names of attributes, and of imported modules, in all code that was found.
    reader : Reader or None
        What the last call of ``read`` found all by; None if it had to walk.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        static: Mapping[int | str, Any] = MappingProxyType({}),
        watch: bool = True,
    ) -> None:
        self.roots = [(f, Name("", _called(f), ""))]
        for name, value in static.items():
            self.roots.append((value, Name("static argument '", str(name), "'")))
        if not watch:
            self.roots = []
        self.attributes: set[str] = set()
        self.changing: list[str] = []
        self._everything = self._absences = False
        self._readers: tuple[Reader, ...] = ()
        self._met: Structure | None = None  # in the last walk
        self.reader: Reader | None = None
        self._walk: Walk | None = None

    def read(self) -> Reading:
        """Return the arrays, and the key of all else, as they are now.

        The arrays are raw ones and Variables, each once, always in the same order for equal keys;
        ``arrays`` of the key names them.
        """
        for reader in self._readers:
            found = reader.read()
            if found is not None:
                self.reader = reader
                return found
        self.reader = None
        inventory = self.walk()
        structure = inventory.facts.structure
        if structure == self._met:  # what differs each time is worth no function that reads it
            self.reader = inventory.reader()
            self._readers = (self.reader, *self._readers[: READERS - 1])
        self._met = structure
        return [found.value for found in inventory.arrays], inventory.facts

    def walk(self) -> Inventory:
        """Look at everything again."""
        while True:
            before = len(self.attributes), self._everything, self._absences
            walk = Walk(self.attributes, self._everything, self._absences)
            try:
                for each, name in self.roots:
                    walk.visit(each, None, name)
            except RecursionError:
                raise CompileError(
                    "ag.compile: what the function can read from outside is nested too deeply; "
                    "give it what it needs as arguments"
                ) from None
            self._everything, self._absences = walk.everything, walk.absences
            if before == (len(self.attributes), self._everything, self._absences):
                self._walk, self.changing = walk, walk.changing
                return walk.inventory.close()

    def looked_at(self) -> list[Name]:
        """Return the names of the raw arrays at whose elements code may look, by the last walk."""
        walk = self._walk
        if walk is None:
            return []
        arrays: dict[str, list[Name]] = {}
        variables = set()
        for _, value, name in walk.inventory.arrays:
            for last in name.words()[-1:]:
                if isinstance(value, Variable):
                    variables.add(last)
                else:
                    arrays.setdefault(last, []).append(name)
        if not arrays:
            return []
        others = {word for name, _ in walk.inventory.structure for word in name.words()}
        names = variables - arrays.keys()
        found = Closure(walk.codes, walk.called, arrays, others, names).looked()
        return [name for word in arrays.keys() & found for name in arrays[word]]


def _called(root: Any) -> str:
    """Return what messages call a function or an object, and its attributes."""
    named = isinstance(root, type | FunctionType | MethodType)
    return str(root.__name__) if named else "self"
