"""What code names: the variables of its module, and the attributes that it reads or sets."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dis import get_instructions
from functools import cache, lru_cache
from pathlib import PurePath
from types import CodeType
from typing import Any, NamedTuple

from agnograd.extend import switch

_GLOBALS = frozenset({"LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL"})
_NAMES = frozenset({"LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})  # in the body of a class
_ATTRIBUTES = frozenset(
    {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR", "IMPORT_FROM"}
)
# Functions, modules and attributes with which code reads what it does not name.
_DYNAMIC = frozenset(
    {
        *(
            "getattr",
            "setattr",
            "delattr",
            "hasattr",
            "vars",
            "dir",
            "eval",
            "exec",
            "globals",
            "locals",
        ),
        *("attrgetter", "methodcaller", "copy", "deepcopy", "dataclasses", "inspect", "pickle"),
        *("asdict", "astuple", "fields", "replace", "getmembers"),
    }
)
_OPENING = frozenset({"__dict__", "__getattribute__", "__setattr__", "attrgetter", "methodcaller"})
_WORD = re.compile(r"[^\W\d]\w*")
# The length of a text that is neither a name nor a short expression; what code names by a shorter
# one is looked at.
WORD_CHARACTERS = switch("WORD_CHARACTERS", 1000, least=1000, most=2**62, module=__name__)


class Named(NamedTuple):
    """What code names.

    Attributes
    ----------
    variables : tuple of str
        Global variables.
    attributes : frozenset of str
        Attributes of anything, methods among them.
    modules : tuple of str
        Modules that it imports while it runs; relative ones begin with dots.
    dynamic : bool
        Whether it may read other attributes as well, by ``getattr`` say.
    catches : bool
        Whether it handles exceptions, as of a missing attribute.
    """

    variables: tuple[str, ...]
    attributes: frozenset[str]
    modules: tuple[str, ...]
    dynamic: bool
    catches: bool


@lru_cache(4096)
def named_in(code: CodeType) -> Named:
    """Return what code names, and all functions, comprehensions and classes in it."""
    variables: dict[str, None] = {}
    attributes: set[str] = set()
    modules: list[str] = []
    words: list[str] = []
    dynamic = False
    level: Any = 0
    for each in codes_in(code):
        before: list[Any] = [None, None]  # the last two constants, for the dots of an import
        for instruction in get_instructions(each):
            name, value = instruction.opname, instruction.argval
            if name in _GLOBALS or name in _NAMES:
                variables[value] = None
            elif name in _ATTRIBUTES:
                attributes.add(value)
            elif name == "IMPORT_NAME":
                level = before[0]
                modules.append("." * (level if isinstance(level, int) else 0) + value)
            elif name == "MATCH_CLASS":
                dynamic = True
            elif name == "LOAD_CONST":
                before = [before[1], value]
        words += (c for c in each.co_consts if isinstance(c, str) and len(c) < WORD_CHARACTERS)
    if dynamic or not _OPENING.isdisjoint(attributes) or not _DYNAMIC.isdisjoint(variables):
        dynamic = True
        found = [word for text in words for word in _WORD.findall(text)]
        attributes.update(found)
        if not {"globals", "eval", "exec", "vars"}.isdisjoint(variables):
            variables.update(dict.fromkeys(found))
    catches = any(each.co_exceptiontable for each in codes_in(code))
    return Named(tuple(variables), frozenset(attributes), tuple(modules), dynamic, catches)


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and of all functions, comprehensions and classes in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_in(each)


# -- whose code it is -----------------------------------------------------------------------------


def is_own(module: str) -> bool:
    """Return whether a module, by its name, is agnograd's or a plugin's of such a name."""
    return f"{module}.".startswith(("agnograd.", "agnograd_"))


def is_users(module: str | None) -> bool:
    """Return whether a module, by its name, is the user's own: what it holds may change.

    The user's own are scripts, notebooks, and all projects whose files are not where packages are
    installed, an editable one too. Neither agnograd and its plugins are, nor Python's own modules
    and installed packages: their variables are constants to programs.
    """
    if not module:
        return True
    return _is_users(module, getattr(sys.modules.get(module), "__file__", None))


@cache
def _is_users(module: str, file: str | None) -> bool:
    root = module.partition(".")[0]
    if root in sys.stdlib_module_names:
        return root == "__main__"
    if is_own(module):
        return False
    return file is None or _INSTALLED.isdisjoint(PurePath(file).parts)


_INSTALLED = frozenset({"site-packages", "dist-packages"})
