"""What becomes of values from outside in all functions together: whether Python looks at them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from agnograd.extend.transforms import owners
from agnograd_compile._surroundings.inventory import Name
from agnograd_compile._surroundings.looks import (
    MADE,
    Names,
    Passed,
    flows_of,
    parameter,
    result,
)
from agnograd_compile._surroundings.reading import codes_in, is_own, is_users


class Closure:
    """Follows names to where they come from, in all functions together.

    Parameters
    ----------
    codes : iterable of code
        Of the functions. That of functions in them is found in it.
    called : iterable of (Name, object)
        What may be called, and modules.
    arrays, others, variables : collection of str
        The names of raw arrays, of what else there is outside, and of Variables.
    """

    def __init__(
        self,
        codes: Iterable[CodeType],
        called: Iterable[tuple[Name, Any]],
        arrays: Collection[str],
        others: Collection[str],
        variables: Collection[str],
    ) -> None:
        self._arrays, self._variables = arrays, variables
        self._raw = {MADE, *arrays, *others}
        # By the names of variables and attributes: the code of the user's functions; what is
        # agnograd's, namespaces, functions, and what its transformations made; and the modules and
        # functions of libraries of arrays, which compute with what they are given.
        self._codes: defaultdict[str, set[CodeType]] = defaultdict(set)
        self._ops: set[str] = set()
        self._libraries: set[str] = set()
        roots = {"numpy", *(each.__module__.partition(".")[0] for each in owners)}
        for name, value in called:
            module = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
            for word in name.words()[-1:]:
                if is_own(module):
                    self._ops.add(word)
                elif module.partition(".")[0] in roots:
                    self._libraries.add(word)
                self._codes[word].update(_codes_of(value))
        flows = []
        for code in chain.from_iterable(map(codes_in, codes)):
            self._codes[code.co_name].add(code)
            flows.append(flows_of(code))
        self._sources: defaultdict[str, set[str]] = defaultdict(set)
        self._looked = {name for each in flows for name in each.looked}
        self._mixed = defaultdict(list)
        for each in flows:
            for moved, source in each.moved:
                self._sources[moved].add(source)
            for parts, mixed in each.mixed.items():
                self._mixed[mixed].append(parts)
        self._computed: list[tuple[Names, ...]] = []
        for each in flows:
            for passed in each.passed:
                self._pass(passed)

    def _pass(self, passed: Passed) -> None:
        """Follow arguments into functions of the user's; others may look at them."""
        callee = passed.callee
        is_op = not callee.isdisjoint(self._ops)
        within = {*callee}
        if is_op:  # which may call functions that it is given, with what else it is given
            within = within.union(*(names for _, names in passed.given))
        codes = {code for each in within & self._codes.keys() for code in self._codes[each]}
        inner = {each for each in callee if each.endswith(("comp>", "genexpr>"))}
        for each in inner:
            self._sources[f"{each}(.0)"] |= callee
        for code in codes:
            for place, names in passed.given:
                if isinstance(place, str):
                    self._sources[place] |= names  # as the key of a dict of these
                for each in _parameters(code, None if is_op else place):
                    self._sources[parameter(code, each)] |= names
        if codes or inner or is_op:
            return
        given = tuple(names for _, names in passed.given)
        if callee.isdisjoint(self._libraries) and callee.isdisjoint(self._arrays):
            self._looked.update(*given)
        elif all(given):
            self._computed.append(given)  # by an op, if one of these is traced

    def looked(self) -> set[str]:
        """Return the names of all that Python looks at, in any of the functions."""
        found = {*self._looked}
        for parts in self._computed:
            found.update(self._open(parts))
        todo = [*found]
        while todo:
            name = todo.pop()
            new = {*self._from(name)}
            for parts in self._mixed.get(name, ()):
                new.update(self._open(parts))
            todo += new - found
            found |= new
        return found

    def _from(self, name: str) -> Iterator[str]:
        """Yield where what has a name may come from."""
        yield from self._sources.get(name, ())
        known = name.removesuffix("()")
        codes = self._codes.get(known, ())
        yield from {result(each.co_name) for each in codes}  # of a call, or of a property
        if not codes and known != name:
            yield known

    def _open(self, parts: tuple[Names, ...]) -> Iterator[str]:
        """Yield the names of what Python computes with: where all else may be a raw array."""
        for place, names in enumerate(parts):
            if all(self._may_be_raw(each) for each in (*parts[:place], *parts[place + 1 :])):
                yield from names

    def _may_be_raw(self, names: Names) -> bool:
        """Return whether what has one of these names may come from a raw array outside."""
        found, todo = {*names}, [*names]
        while todo:
            name = todo.pop()
            mixed = (each for parts in self._mixed.get(name, ()) for each in parts)
            new = {*self._from(name)}.union(*mixed) - found
            todo += new
            found |= new
        return not found.isdisjoint(self._raw) and names.isdisjoint(self._variables)


def _module_of(value: Any) -> str:
    kind = type(value)
    own = value if isinstance(value, FunctionType | BuiltinFunctionType | type) else kind
    return str(own.__module__)


def _codes_of(value: Any) -> Iterator[CodeType]:
    """Yield the code of the user's that a call of something runs first."""
    if isinstance(value, MethodType):
        value = value.__func__
    if not isinstance(value, FunctionType):
        name, kind = ("__init__", value) if isinstance(value, type) else ("__call__", type(value))
        value = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    if isinstance(value, FunctionType) and is_users(value.__module__):
        yield value.__code__


def _parameters(code: CodeType, place: int | str | None) -> Iterator[str]:
    """Yield the parameters that an argument may be for; the first one may be the object."""
    names = code.co_varnames
    count = code.co_argcount
    named = count + code.co_kwonlyargcount
    rest = names[named : named + (code.co_flags & 0x0C).bit_count()]
    if place is None:
        yield from (*names[:named], *rest)
    elif isinstance(place, str):
        yield from (place,) if place in names[:named] else rest
    else:
        yield from names[place : min(place + 2, count)]
        if place + 2 > count:
            yield from rest
