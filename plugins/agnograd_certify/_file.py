"""Files of calls: TOML with a setup in Python, arrays by name, and expressions."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from agnograd.extend import function_from
from agnograd_certify._calls import TextCall, plain_numpy

__all__ = ["CallsError", "CallsFile", "read_calls"]

KEYS: dict[str, Any] = {
    "library": str,
    "setup": str,
    "calls": (str, list),
    "inputs": dict,
    "environment": dict,
}
EXAMPLE = """\
setup = "from my_library import smooth"
calls = ["smooth(x, 0.3)"]

[inputs]
x = [1.3, 0.4, 2.2]"""


class CallsError(ValueError):
    """A file of calls cannot be read, or its setup fails; the message says where."""


class CallsFile(NamedTuple):
    """What a file of calls has.

    Attributes
    ----------
    path : Path
        The file.
    library : str
        The module that is certified.
    environment : dict
        Environment variables that must be there when libraries are imported.
    calls : list of TextCall
        The calls, which can be made once ``prepare`` has been called.
    prepare : callable
        Imports the library, runs the setup and makes the inputs; raises ``CallsError``.
    """

    path: Path
    library: str
    environment: dict[str, str]
    calls: list[TextCall]
    prepare: Callable[[], None]


def read_calls(path: Path, library: str | None = None) -> CallsFile:
    """Return the calls of a file; the library that is certified is by default what the file says.

    Raises
    ------
    CallsError
        If the file is not one of calls.
    """
    found = _parsed(path)
    library = library or found.get("library")
    if not library:
        raise CallsError(f'{path}: library = "name" says which module is certified')
    scope: dict[str, Any] = {}
    arrays = dict.fromkeys(found.get("inputs", {}))
    calls: list[TextCall] = []
    for number, entry in enumerate(_entries(found, path), 1):
        text, name = (entry, None) if isinstance(entry, str) else (entry["call"], entry.get("name"))
        try:
            call = TextCall(text, arrays, lambda: scope, (library.partition(".")[0],), name)
        except SyntaxError as error:
            raise CallsError(f"{path}: call {number}, {text!r}: {error.msg}") from error
        if call.name in {each.name for each in calls}:
            raise CallsError(f"{path}: two calls are named {call.name!r}")
        calls.append(call)

    def prepare() -> None:
        try:
            scope.update(_scope(library, found.get("setup", "")))
        except Exception as error:
            raise CallsError(f"{path}: the setup of {library} fails with {_told(error)}") from error
        for name in dict.fromkeys(name for call in calls for name in call.names):
            try:
                arrays[name] = _array(found["inputs"][name], scope)
            except Exception as error:
                raise CallsError(
                    f"{path}: input {name!r} is not an array: {_told(error)}"
                ) from error

    environment = {str(name): str(value) for name, value in found.get("environment", {}).items()}
    return CallsFile(path, library, environment, calls, prepare)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CallsError(f"{path} is not TOML: {error}") from error
    for name, value in found.items():
        if name not in KEYS:
            raise CallsError(f"{path}: {name!r} is not one of {', '.join(KEYS)}")
        if not isinstance(value, KEYS[name]):
            raise CallsError(f"{path}: {name!r} is a {type(value).__name__}, as in\n{EXAMPLE}")
    for table in ("inputs", "environment"):
        inside = {"calls", "setup", "library"} & found.get(table, {}).keys()
        if "calls" not in found and inside:
            raise CallsError(
                f"{path}: {', '.join(sorted(inside))} is inside [{table}], as TOML has it; "
                "write it above all tables"
            )
    return found


def _entries(found: Mapping[str, Any], path: Path) -> list[Any]:
    calls = found.get("calls", [])
    entries = calls.strip().splitlines() if isinstance(calls, str) else calls
    for number, each in enumerate(entries, 1):
        table = isinstance(each, dict) and isinstance(each.get("call"), str)
        if not (isinstance(each, str) or (table and each.keys() <= {"call", "name"})):
            raise CallsError(
                f"{path}: call {number} is neither an expression nor a table of `call` and `name`"
            )
    # Empty lines and comments are left out.
    entries = [x for x in entries if isinstance(x, dict) or x.strip().partition("#")[0]]
    if not entries:
        raise CallsError(f"{path} has no calls; a file of calls looks like this:\n{EXAMPLE}")
    return entries


def _scope(library: str, setup: str) -> dict[str, Any]:
    """Return what calls name besides arrays: the library, NumPy, and what the setup defines."""
    module, root = import_module(library), import_module(library.partition(".")[0])
    own = {root.__name__: root, library.rpartition(".")[2]: module, "np": plain_numpy()}
    scope = {"numpy": plain_numpy(), **own}
    tree = ast.parse(setup)
    if tree.body:
        # What it defines are variables of a function, so that its functions see each other.
        function: Any = ast.parse("def setup():\n    return locals()").body[0]
        function.body[:0] = tree.body
        text = ast.unparse(ast.fix_missing_locations(function)) + "\n"
        scope |= function_from(text, {"__name__": "", **own}, keep=False)()
    return scope


def _array(value: Any, scope: Mapping[str, Any]) -> Any:
    """Return an input as an array: numbers and lists as they are, and text as an expression."""
    if isinstance(value, str):
        value = TextCall(value, {}, lambda: scope).call(plain_numpy(), [])
    array = plain_numpy().asarray(value)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"its dtype is {array.dtype}")
    return array


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
