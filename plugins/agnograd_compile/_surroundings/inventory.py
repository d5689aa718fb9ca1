"""What a walk through a function's surroundings found, and the function that reads it again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from agnograd import Variable
from agnograd.extend import function_from
from agnograd_compile._surroundings.keys import Key, raw_of, value_key
from agnograd_compile._surroundings.objects import is_value
from agnograd_compile._surroundings.reading import is_users

_WORD = re.compile(r"[^\W\d]\w*")


class Name(NamedTuple):
    """What messages call something: a path, with what stands before and after it."""

    before: str
    path: str
    after: str

    def part(self, text: str) -> Name:
        """Return the name of something that is in it: an attribute ``.w``, or an item ``[0]``."""
        return Name(self.before, self.path + text, self.after)

    def words(self) -> list[str]:
        """Return the names of the variable and attributes in it, and of texts that are keys."""
        return _WORD.findall(self.path)

    def __str__(self) -> str:
        return "".join(self)


class Found(NamedTuple):
    """An array, or another value, that was found: the variable that holds it, and its name."""

    variable: str
    value: Any
    name: Name


class Structure(tuple[Any, ...]):
    """What is fixed, and how containers and objects are made up; it is hashed once."""

    _hash: int

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash = super().__hash__()
            return self._hash


class Facts:
    """The key of all that a function reads from outside, but for the arrays.

    Attributes
    ----------
    structure : Structure
        Pairs of a name and a key.
    values : tuple
        The keys of numbers, texts and the like.
    names : tuple of str
        What the values are called.
    arrays : tuple of str
        What the arrays are called.
    """

    __slots__ = ("_hash", "arrays", "names", "structure", "values")

    def __init__(
        self, structure: Structure, values: Key, names: tuple[Name, ...], arrays: tuple[Name, ...]
    ) -> None:
        self.structure, self.values, self.names, self.arrays = structure, values, names, arrays
        self._hash = hash((structure, values))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not Facts or self._hash != other._hash or self.values != other.values:
            return False
        if self.structure is not other.structure:
            if self.structure != other.structure:
                return False
            other.structure = self.structure  # so that they need not be compared again
        return True


Reading = tuple[list[Any], Facts]


class Reader(NamedTuple):
    """A function that reads again what was found, and what it is written of.

    Attributes
    ----------
    read : callable
        Returns what was found, or None if it is made up otherwise.
    lines : tuple of str
        What it looks at besides the arrays, in statements that return None where something is not
        as it was. They may raise exceptions, which mean the same.
    constants : dict of str to object
        What these name.
    facts : Facts
        The facts, as long as the values are these objects.
    same : str
        The condition that they are, empty if there are none.
    again : str
        An expression of the facts where they are not; None where one of them is not a value.
    arrays : tuple of str
        The variables of the arrays.
    merged : str
        The condition that two of these are one array, empty if there are no two.
    """

    read: Callable[[], Reading | None]
    lines: tuple[str, ...]
    constants: dict[str, Any]
    facts: Facts
    same: str
    again: str
    arrays: tuple[str, ...]
    merged: str = ""


class Inventory:
    """How to read again what was found.

    It is written as one function, line by line while the walk goes on. It returns None where
    the structure is another one. Values that are the very objects that were found before give the
    very same facts.
    """

    def __init__(self) -> None:
        self.structure: list[tuple[Name, Any]] = []
        self.arrays: list[Found] = []
        self.values: list[Found] = []
        self.objects: list[Found] = []
        self._lines: list[str] = []
        self._kinds: list[str] = []  # conditions that what was an array is another thing
        self._merged = ""
        self._constants: dict[int, tuple[str, Any]] = {}
        self._count = 0

    def constant(self, value: Any) -> str:
        """Return the name under which the function knows an object."""
        known = self._constants.setdefault(id(value), (f"k{len(self._constants)}", value))
        return known[0]

    def let(self, text: str) -> str:
        """Return a new variable of the function, for what an expression gives."""
        self._count += 1
        self._lines.append(f"v{self._count} = {text}")
        return f"v{self._count}"

    def differs_if(self, text: str) -> None:
        """Let the structure be another one where a condition is true."""
        self._lines.append(f"if {text}: return None")

    def array(self, variable: str, value: Any, name: Name) -> None:
        """Note an array, which a variable of the function holds."""
        self._kinds.append(f"type({variable}) is not {self.constant(type(value))}")
        self.note(name, "array")
        self.arrays.append(Found(variable, value, name))

    def note(self, name: Name, key: Any) -> None:
        """Note a part of the structure."""
        self.structure.append((name, key))

    def close(self) -> Inventory:
        """Make the facts: the walk has come to its end."""
        names = tuple(found.name for found in self.arrays)
        known = [id(raw_of(found.value)) for found in self.arrays]
        if len(names) > 1:  # which of them are one: a Variable, and the raw array that it holds
            ids = ", ".join(
                f"id({each}._raw)" if isinstance(value, Variable) else f"id({each})"
                for each, value, _ in self.arrays
            )
            if len(set(known)) == len(names):
                self._merged = f"len({{{ids}}}) != {len(names)}"
            else:  # rare: so it is looked at again each time
                self.differs_if("True")
                self.note(names[0], ("one", tuple(map(known.index, known))))
        structure = Structure(self.structure)
        known_as = tuple(found.name for found in self.values)

        def facts_of(values: tuple[Any, ...]) -> Facts:
            return Facts(structure, tuple(map(value_key, values)), known_as, names)

        kinds = [type(found.value) for found in self.values]

        def again(values: tuple[Any, ...]) -> Facts | None:
            pairs = zip(values, kinds, strict=True)
            return facts_of(values) if all(_may_stand(*each) for each in pairs) else None

        self._facts_again = again
        self.facts = facts_of(tuple(found.value for found in self.values))
        return self

    def reader(self) -> Reader:
        """Return the function that reads it all again."""
        facts, again = self.constant(self.facts), self.constant(self._facts_again)
        same = " and ".join(
            f"{found.variable} is {self.constant(found.value)}" for found in self.values
        )
        variables = tuple(found.variable for found in self.arrays)
        values = "".join(f"{found.variable}, " for found in self.values)
        other, merged = f"{again}(({values}))", self._merged
        looked = [*self._lines, *(f"if {each}: return None" for each in self._kinds)]
        looked += [f"if {merged}: return None"] * bool(merged)
        lines = [f"return [{', '.join(variables)}], {facts}"]
        if same:
            lines = [f"if {same}:", f" {lines[0]}", f"again = {other}"]
            lines.append(f"return None if again is None else ([{', '.join(variables)}], again)")
        constants = dict(self._constants.values())
        read, own = written("read()", looked, lines, constants), tuple(self._lines)
        return Reader(read, own, constants, self.facts, same, other, variables, merged)


def written(head: str, tried: Sequence[str], lines: Sequence[str], scope: Mapping[str, Any]) -> Any:
    """Return the function of a head, which returns None where its first lines raise anything.

    ``scope`` has what these and the other lines name. Many functions differ in no more than that.
    """
    body = ["try:", *(f" {line}" for line in tried or ("pass",)), "except Exception:"]
    text = "\n  ".join([f" def {head}:", *body, " return None", *lines])
    name, _, _ = head.partition("(")
    return _maker(f"def make({', '.join(scope)}):\n{text}\n return {name}")(*scope.values())


@lru_cache(256)
def _maker(text: str) -> Callable[..., Any]:
    """Return the function that a text defines."""
    return function_from(text, {}, keep=False)


def _may_stand(value: Any, kind: type) -> bool:
    """Return whether a value can be read where one of a type was: there is no more to look at."""
    own = type(value)
    return is_value(value) and (own is kind or not is_users(own.__module__))
