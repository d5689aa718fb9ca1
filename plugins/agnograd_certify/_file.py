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
        The calls; nothing is imported before the first is made, or ``prepare`` is called.
    prepare : callable
        Imports the library, runs the setup and makes the inputs; raises ``CallsError``.
    """

    path: Path
    library: str
    environment: dict[str, str]
    calls: list[TextCall]
    prepare: Callable[[], None]


def read_calls(path: Path, library: str | None = None) -> CallsFile:
    """Return the calls of a file.

    Parameters
    ----------
    path : Path
        The file.
    library : str, optional
        The module that is certified; by default what the file says.

    Raises
    ------
    CallsError
        If the file is not one of calls.
    """
    found = _parsed(path)
    library = library or found.get("library")
    if not library:
        raise CallsError(f'{path}: library = "name" says which module is certified')
    inputs, scope = _Inputs(found.get("inputs", {}), path), _Scope(path, library, found)
    inputs.scope = scope
    calls, names = [], set()
    for number, entry in enumerate(_entries(found, path), 1):
        text, name = (entry, None) if isinstance(entry, str) else (entry["call"], entry.get("name"))
        try:
            call = TextCall(text, inputs, scope, (library.partition(".")[0],), name)
        except SyntaxError as error:
            raise CallsError(f"{path}: call {number}, {text!r}: {error.msg}") from error
        if call.name in names:
            raise CallsError(f"{path}: two calls are named {call.name!r}")
        names.add(call.name)
        calls.append(call)

    def prepare() -> None:
        scope()
        for call in calls:
            _ = call.arrays

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
    entries = [each for each in entries if not isinstance(each, str) or _says_something(each)]
    if not entries:
        raise CallsError(f"{path} has no calls; a file of calls looks like this:\n{EXAMPLE}")
    return entries


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith("#")


class _Scope:
    """What calls name besides arrays: made once, when it is first needed."""

    def __init__(self, path: Path, library: str, found: Mapping[str, Any]) -> None:
        self._path, self._library, self._setup = path, library, found.get("setup", "")
        self._made: dict[str, Any] | None = None

    def __call__(self) -> dict[str, Any]:
        if self._made is None:
            np, library = plain_numpy(), self._library
            try:
                module = import_module(library)
                root = import_module(library.partition(".")[0])
                own = {root.__name__: root, library.rpartition(".")[2]: module}
                self._made = {"np": np, "numpy": np} | own | self._run(own | {"np": np})
            except Exception as error:
                raise CallsError(
                    f"{self._path}: the setup of {library} fails with {type(error).__name__}: "
                    f"{error}"
                ) from error
        return self._made

    def _run(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """Run the setup as the body of a function, whose variables it returns."""
        tree = ast.parse(self._setup)
        if not tree.body:
            return {}
        # What it defines are variables of a function, so that its functions see each other.
        function: Any = ast.parse("def setup():\n    return locals()").body[0]
        function.body[:0] = tree.body
        text = ast.unparse(ast.fix_missing_locations(function)) + "\n"
        found: dict[str, Any] = function_from(text, {"__name__": "", **own}, keep=False)()
        return found


class _Inputs(Mapping[str, Any]):
    """Arrays by name: numbers and lists as they are, and text as an expression."""

    scope: Callable[[], Mapping[str, Any]]

    def __init__(self, given: Mapping[str, Any], path: Path) -> None:
        self._given, self._path, self._made = given, path, dict[str, Any]()

    def __iter__(self) -> Any:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            np, value = plain_numpy(), self._given[name]
            try:
                if isinstance(value, str):
                    text = f"def {name}():\n    return {value.strip()}\n"
                    value = function_from(text, {"__name__": "", **self.scope()}, keep=False)()
                array = np.asarray(value)
                if array.dtype.kind not in "biufc":
                    raise TypeError(f"its dtype is {array.dtype}")
            except CallsError:
                raise
            except Exception as error:
                raise CallsError(
                    f"{self._path}: input {name!r} is not an array: {type(error).__name__}: {error}"
                ) from error
            self._made[name] = array
        return self._made[name]
