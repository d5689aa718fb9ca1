"""What a function changes outside of itself: a program would not do it again."""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import _lru_cache_wrapper, cached_property
from importlib import import_module
from operator import attrgetter, length_hint
from threading import active_count
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

from agnograd import Variable
from agnograd.errors import CompileError
from agnograd.extend.transforms import owner_of
from agnograd_compile._surroundings.differences import the
from agnograd_compile._surroundings.inventory import Inventory, Name
from agnograd_compile._surroundings.keys import Same, elements_of, value_key
from agnograd_compile._surroundings.objects import dict_of, is_value
from agnograd_compile._surroundings.reading import is_users
from agnograd_compile._surroundings.surroundings import Surroundings

# Generators of random numbers that a whole process shares, if the module is in use.
_SHARED = {"random": "getstate", "numpy.random": "get_state", "torch": "get_rng_state"}
_GENERATORS = (GeneratorType, CoroutineType, AsyncGeneratorType)
_FRAMES = ("gi_frame", "cr_frame", "ag_frame")


class Before:
    """What a function can read, and the states of random numbers, before it runs.

    It looks at all elements of all arrays.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.inventory = surroundings.walk()
        if "random" in surroundings.attributes:
            _import_generators()
        self.caches = Caches(self.inventory)
        self.state = _state_of(self.inventory)
        self.shared = dict(_shared_states())
        self.modules = frozenset(sys.modules)


def check_unchanged(before: Before, name: str = "the function") -> None:
    """Raise if something outside of a function was changed since.

    Raises
    ------
    CompileError
        The message names what was changed.
    """
    found = changed_since(before)
    if found is not None:
        others = ". If another thread did it meanwhile, call again"
        raise CompileError(
            f"ag.compile: {name} {found}, which would happen only in the first call; return it "
            "instead, or do it outside of the compiled function"
            f"{others if active_count() > 1 else ''}"
        )


def changed_since(before: Before) -> str | None:
    """Return what the function did outside of itself, as the rest of a sentence, or None."""
    for module, state in _shared_states():
        if before.shared.get(module, state) != state:
            return f"draws random numbers from the generator that the module {module} shares"
    inventory = before.surroundings.walk()
    now, remembered = _state_of(inventory), _remembered(inventory)
    for place, (verb, state) in now.items():
        name, known = place[0], before.state.get(place)
        if any(_is_in(name.path, each.path) and name[::2] == each[::2] for each in remembered):
            continue
        if known is None:  # which may have come with an import
            imported = sys.modules.keys() - before.modules
            if any(_is_in(name.path, each) for each in imported):
                continue
            return f"sets {the(name)}"
        if known[0] == verb and known[1] != state:
            return f"{verb} {the(name)}"
        if known[0] != verb:
            return f"changes {the(name)}"
    for place in before.state:
        if place not in now:
            return f"deletes {the(place[0])}"
    return None


# A name, and how many things before have the same one; what is done to it; and what it is now.
_State = dict[tuple[Name, int], tuple[str, Any]]


def _state_of(inventory: Inventory) -> _State:
    """Return all that is known of what a function can read."""
    found: _State = {}

    def add(name: Name, verb: str, state: Any) -> None:
        number = 0
        while (name, number) in found:
            number += 1
        found[name, number] = (verb, state)

    for name, key in inventory.structure:
        add(name, "changes", key)
    for _, value, name in inventory.values:
        add(name, "changes", value_key(value))
    for _, array, name in inventory.arrays:
        raw, gradient = array, None
        if isinstance(array, Variable):
            raw, gradient = array._raw, array.grad if array.is_leaf else None
        add(name, "changes", Same(array))
        add(name, "writes to", (Same(raw), _written(raw)))
        add(name, "adds to the gradient of", Same(gradient))
    for _, value, name in inventory.objects:
        add(name, "advances", position(value))
    return found


def _written(raw: Any) -> Any:
    """Return what differs once an array was written to: a hash of all elements.

    It is Python's own, which takes a quarter of the time of one for keys: it is only compared in
    this process. If a library counts writes, that is enough.
    """
    owner = owner_of(raw)
    if owner is None or owner.backend.capabilities.immutable:
        return None
    count = owner.backend.fingerprint(raw)
    return hash(elements_of(raw)) if count is None or isinstance(count, bytes) else count


def _remembered(inventory: Inventory) -> list[Name]:
    """Return the names of what ``functools.cached_property`` keeps: nobody sees that."""
    return [
        name.part(f".{each}") for _, value, name in inventory.objects for each in cached_in(value)
    ]


def _is_in(path: str, whole: str) -> bool:
    """Return whether a path is another one, or goes on from it."""
    return path.startswith(whole) and path[len(whole) :][:1] in ("", ".", "[")


# -- what functions cache -------------------------------------------------------------------------


class Caches:
    """The caches of ``functools`` that a function can reach, and what they have so far.

    An array that is made while a function is traced belongs to the program. A cache would hand it
    to functions that are not traced.
    """

    def __init__(self, inventory: Inventory) -> None:
        values = [each.value for each in inventory.objects]
        self._functions = [
            (value, value.cache_info().misses)
            for value in values
            if isinstance(value, _lru_cache_wrapper)
        ]
        self._objects = [(value, frozenset(cached_in(value))) for value in values]

    def forget(self) -> None:
        """Let caches forget what they got since: it is computed again when it is next needed."""
        for function, misses in self._functions:
            if function.cache_info().misses != misses:
                function.cache_clear()
        for value, known in self._objects:
            for name in [each for each in cached_in(value) if each not in known]:
                del value.__dict__[name]


def cached_in(value: Any) -> Iterator[str]:
    """Yield the attributes that a ``functools.cached_property`` has set; no code of users runs."""
    bases = type(value).__mro__
    for name in dict_of(value) or ():
        found = next((vars(base)[name] for base in bases if name in vars(base)), None)
        if isinstance(found, cached_property):
            yield name


# -- where generators, iterators and files stand --------------------------------------------------


def _shared_states() -> Iterator[tuple[str, bytes]]:
    """Yield the states of the generators that the modules in use share."""
    for module, name in _SHARED.items():
        state = getattr(sys.modules.get(module), name, None)
        if state is not None:
            yield module, _bytes(state())


def _import_generators() -> None:
    """Import what a function is about to import: otherwise its first draws would not be seen."""
    for module in ("random", "numpy.random"):
        root = module.partition(".")[0]
        if root == module or root in sys.modules:
            import_module(module)


def _bytes(state: Any) -> bytes:
    """Return a state as bytes; those of a pickled tensor differ from one time to the next."""
    return pickle.dumps(state.tolist() if hasattr(state, "tolist") else state)


def position(value: Any) -> Any:
    """Return where a generator of random numbers, an iterator or a file stands; else None."""
    if isinstance(value, _GENERATORS):
        frame = next(getattr(value, n) for n in _FRAMES if hasattr(value, n))
        return frame and (frame.f_lasti, *((n, Same(x)) for n, x in frame.f_locals.items()))
    if hasattr(type(value), "__next__") and not hasattr(value, "tell"):
        return _rest(value)
    for path in ("bit_generator.state", "getstate", "get_state", "tell"):
        if not _has(type(value), path.partition(".")[0]):
            continue
        with suppress(Exception):  # of a closed file, say
            found = attrgetter(path)(value)
            return _bytes(found() if callable(found) else found)
    return None


def _has(kind: type, name: str) -> bool:
    """Return whether a class has a member that the user did not write: only those are called."""
    owner = next((base for base in kind.__mro__ if name in vars(base)), None)
    return owner is not None and not is_users(owner.__module__)


def _rest(iterator: Any) -> Any:
    """Return what an iterator has still to give."""
    if type(iterator).__module__ not in ("builtins", "itertools"):
        return None  # the attributes of the user's own say it
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on
        return length_hint(iterator, -1), _parts(iterator.__reduce__())
    return length_hint(iterator, -1), repr(iterator)


def _parts(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_parts, value))
    if is_value(value):
        return value_key(value)
    return position(value) if hasattr(type(value), "__next__") else Same(value)
