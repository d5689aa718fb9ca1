"""Whether a call is of the same kind as an earlier one, without a key of it.

What is compared is what keys have. All of it is one function: what the function reads from outside,
the structure of the arguments, and what is known of each array. Keys of many small arrays take as
long to make, hash and compare as a small program takes to run, and so do calls of many functions.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agnograd import Variable
from agnograd.extend import is_array
from agnograd.extend.arguments import flatten_in_order
from agnograd_compile._surroundings.elements import WatchedArrays
from agnograd_compile._surroundings.inventory import Facts, Reader, written
from agnograd_compile._surroundings.keys import (
    Key,
    backend_of,
    expressions,
    is_immutable,
    key_of,
    key_of_array,
)
from agnograd_compile._surroundings.surroundings import READERS

# What the abstract value of an array of JAX says.
_IN_AVAL = ("shape", "dtype", "weak_type")

Look = Callable[[Sequence[Any], Mapping[str, Any]], "list[Any] | None"]


class Looking:
    """Writes the functions that look at calls, one for each way to read what is outside.

    Parameters
    ----------
    facts : Facts
        The key of what an earlier call found outside, but for the arrays.
    leaves, tree, outside
        What that call was given, and the arrays that it found.
    watched : WatchedArrays
        Which of these arrays are in its key by their elements.
    elements : tuple
        What this key has of them.
    wanted : sequence of int
        What the functions return: some of the leaves and then the arrays outside, by their places.
    raw : bool
        Whether they return Variables as raw arrays.
    settings : callable or None
        What reads the settings of the library, if programs depend on any.
    """

    def __init__(
        self,
        facts: Facts,
        leaves: Sequence[Any],
        tree: Any,
        outside: Sequence[Any],
        watched: WatchedArrays,
        elements: Key,
        wanted: Sequence[int],
        raw: bool,
        settings: Callable[[], Any] | None = None,
    ) -> None:
        self._wanted, self._returns_raw = wanted, raw
        self._looks: tuple[tuple[Reader, Look | None], ...] = ()
        self._facts, self._has_tree = facts, tree is not None
        self._held: dict[str, Any] = {
            "facts": facts,
            "flatten": flatten_in_order,
            "key_of": key_of,
            "tree": tree,
            "watched": watched,
            "names": watched.names,
            "elements": elements,
        }
        self._sets = f"{self._hold(settings)}() != {self._hold(settings())}" if settings else ""
        self._leaves = [f"x{place}" for place in range(len(leaves))]
        self._inner = [
            each
            for name, leaf in zip(self._leaves, leaves, strict=True)
            for each in self._conditions(name, leaf)
        ]
        # The variables of arrays from outside are known only with what reads them. To be the array
        # that it was says all of one that nobody can write to, but not that it still has to exist.
        self._outer = [self._conditions("{0}", each) for each in outside]
        self._same = [
            f"{self._hold(weakref.ref(each))}() is {{0}} is not None" if is_immutable(each) else ""
            for each in outside
        ]
        self._raw = ["._raw" * isinstance(each, Variable) for each in (*leaves, *outside)]
        samples = watched.samples(elements, facts.arrays) if watched else {}
        self._compares = samples is None  # elements, besides samples of them
        for place, (array, read, data) in (samples or {}).items():
            own = [f"{{0}}{self._raw[len(leaves) + place]} is {self._hold(array)}"]
            own += [f"{self._hold(read)}() == {self._hold(data)}"] * (read is not None)
            if self._same[place] and array is outside[place]:
                self._same[place], self._outer[place] = own[0], own
            else:
                self._outer[place] += own

    def look(self, reader: Reader) -> Look | None:
        """Return the function of positional arguments, and those by name.

        It returns what is wanted, or None if the call is of another kind. It may say so where it
        is not, but not the other way round. There is none if ``reader`` reads what is made up
        otherwise.
        """
        for known, found in self._looks:
            if known is reader:
                return found
        look = None
        if reader.facts.structure == self._facts.structure:
            look = self._function(reader)
        self._looks = ((reader, look), *self._looks[: READERS - 1])
        return look

    def _function(self, reader: Reader) -> Look:
        names = [*self._leaves, *reader.arrays]
        differ = ["watched.names is not names", *[self._sets] * bool(self._sets)]
        if reader.same:
            known = f"not ({reader.same}) and " * (reader.facts == self._facts)
            differ.append(f"{known}{reader.again} != facts")
        elements = f"watched.key([{', '.join(reader.arrays)}], facts.arrays) == elements"
        found = ", ".join(
            names[place] + self._raw[place] * self._returns_raw for place in self._wanted
        )
        lines = [
            *(f"if {each}: return None" for each in differ),
            *self._structure(),
            *(f"if not ({each}): return None" for each in self._inner),
            *self._elsewhere(reader),
            *[f"if not {elements}: return None"] * self._compares,
            f"return [{found}]",
        ]
        scope = {**reader.constants, **self._held}
        look: Look = written("look(args, kwargs)", reader.lines, lines, scope)
        return look

    def _structure(self) -> list[str]:
        """Return the lines that take the arguments apart."""
        given = "".join(f"{name}, " for name in self._leaves)
        unpacked = f"{given}= {'leaves' if self._has_tree else 'args'}"
        lines = [f"if kwargs or len(args) != {len(self._leaves)}: return None"]
        if self._has_tree:
            lines = ["leaves, found = flatten((args, kwargs))", "if found != tree: return None"]
        return lines + [unpacked] * bool(given)

    def _hold(self, thing: Any) -> str:
        name = f"h{len(self._held)}"
        self._held[name] = thing
        return name

    def _elsewhere(self, reader: Reader) -> list[str]:
        """Return the lines that look at arrays from outside, most often the same ones."""
        named = list(zip(reader.arrays, self._same, self._outer, strict=True))
        same = [each.format(name) for name, each, _ in named if each]
        merged = [f"if {reader.merged}: return None"] * bool(reader.merged)
        if len(same) == len(named):  # arrays that were different ones are so again
            each_one = [
                f"if not ({each.format(name)}): return None"
                for name, _, conditions in named
                for each in conditions
            ]
            slow = [f" {line}" for line in (*each_one, *merged)]
            return [f"if not ({' and '.join(same)}):", *slow] if slow else []
        lines = []
        for name, short, conditions in named:
            whole = " and ".join(conditions)
            text = f"({short} or ({whole}))" if short else whole
            lines.append(f"if not ({text.format(name)}): return None")
        return lines + merged

    def _conditions(self, name: str, value: Any) -> list[str]:
        """Return what has to be true for a variable of the text to have a value's key."""
        kind = f"type({name}) is {self._hold(type(value))}"
        if isinstance(value, Variable):
            node = "is" if value._node is None else "is not"
            raw = self._conditions(f"{name}._raw", value._raw)
            return [kind, f"{name}._node {node} None", *raw]
        # Of a subclass of NumPy's arrays, too, the key is the type and the layout.
        has_layout = is_array(value) and len(key_of_array(value)) == 4
        if backend_of(value) is None and not has_layout:
            key = key_of([value], None)
            return [kind, f"key_of([{name}], None) == {self._hold(key)}"]
        pairs = zip(expressions(value)[1:], key_of_array(value)[1:], strict=False)
        held = {text.format(name): self._hold(each) for text, each in pairs if text}
        equal = {text: f"{text} == {each}" for text, each in held.items()}
        dtype = f"{name}.dtype"  # most often the same object
        equal[dtype] = f"({dtype} is {held[dtype]} or {equal[dtype]})"
        if hasattr(value, "aval"):  # JAX has it once for all arrays for which these are the same
            known = [equal.pop(text) for each in _IN_AVAL if (text := f"{name}.{each}") in equal]
            whole = f"({name}.aval is {self._hold(value.aval)} or ({' and '.join(known)}))"
            return [kind, whole, *equal.values()]
        return [kind, *equal.values()]
