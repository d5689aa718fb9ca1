"""What a function caches: it must not keep what was made while the function was traced."""

from __future__ import annotations

from collections.abc import Iterator
from functools import _lru_cache_wrapper, cached_property
from typing import Any

from agnograd_compile._surroundings.inventory import Inventory
from agnograd_compile._surroundings.objects import dict_of


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
