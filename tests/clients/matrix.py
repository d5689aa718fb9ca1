"""The calls of other libraries, as data, and what is expected of each.

A module of ``calls/`` has the calls of one area: expressions as text, whose free names are arrays
of ``INPUTS`` and what ``scope()`` returns, which imports the libraries. ``xp`` is the namespace of
the arrays. ``expected/<backend>.toml`` names the calls that are not right there, with reasons.
"""

import importlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from zlib import crc32

from agnograd_certify._calls import TextCall

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
AREAS = sorted(path.stem for path in (FOLDER / "calls").glob("*.py"))
BACKENDS = ["numpy", "strict", "torch", "jax"]
# JAX compiles each op for each shape, and so its tests make a part of the calls: of those functions
# that are right on numpy about every fourth, by a checksum of the name, with the first call that is
# right; those of ``differentiate``, which take a minute each, are left out.
PART = {"jax": 4}
SLOW = "differentiate."
# The libraries that the matrix is about; all others count together.
PROMISED = ("SciPy", "scikit-learn", "array-api-extra")


@dataclass(frozen=True)
class Call:
    """One call: its area, its text, and the module that has its inputs and its scope."""

    text: str
    module: ModuleType

    @property
    def area(self) -> str:
        """Return the name of the module."""
        return self.module.__name__.rpartition(".")[2]

    @property
    def id(self) -> str:
        """Return what the call is named by."""
        return f"{self.area}: {self.text}"

    @property
    def function(self) -> str:
        """Return the name of what is called, with the methods that are called of its result."""
        text = re.sub(r"'[^']*'", "", self.text)
        known = {"xp", *self.module.INPUTS}
        names = re.findall(r"(?<![\w.])[A-Za-z_][\w.]*", text)
        name = next((name for name in names if name.partition(".")[0] not in known), names[0])
        called = [name, *re.findall(r"[)\]]\.(\w+)", text)]
        return ".".join(part for part in called if part not in ("data", "magnitude"))

    def certifiable(self) -> TextCall:
        """Return the call as certificates have it."""
        module = self.module
        return TextCall(self.text, module.INPUTS, module.scope, module.IMPORTS)


def calls() -> list[Call]:
    """Return all calls."""
    modules = [importlib.import_module(f"tests.clients.calls.{area}") for area in AREAS]
    return [Call(line, module) for module in modules for line in module.CALLS.strip().splitlines()]


def tested(backend: str) -> list[Call]:
    """Return the calls that tests make on a backend."""
    found = calls()
    if backend not in PART:
        return found
    known = expectations("numpy")
    first: dict[str, Call] = {}
    for call in found:
        if call.id not in known and not call.text.startswith(SLOW):
            first.setdefault(call.function, call)
    return [call for name, call in first.items() if crc32(name.encode()) % PART[backend] == 0]


@dataclass(frozen=True)
class Expected:
    """What is expected of a call: a status, an error's regular expression, and the reason."""

    status: str
    why: str = ""
    error: str = ""


RIGHT = Expected("right")


def expectations(backend: str) -> dict[str, Expected]:
    """Return what is expected on a backend of calls, where that is not a right gradient.

    On others than numpy it is what it is there, where their own file says nothing else.
    """
    return _listed("numpy", "group") | _listed(backend, "group")


def warnings(backend: str) -> dict[str, Expected]:
    """Return what calls warn of, that plain NumPy does not, by call; the status is empty."""
    return _listed(backend, "warning")


def _listed(backend: str, kind: str) -> dict[str, Expected]:
    path = FOLDER / "expected" / f"{backend}.toml"
    groups = tomllib.loads(path.read_text()).get(kind, []) if path.exists() else []
    found: dict[str, Expected] = {}
    for group in groups:
        expected = Expected(group.get("status", ""), group["why"], group.get("error", ""))
        for call in group["calls"]:
            if call in found:
                raise ValueError(f"{path.name} names a call twice: {call}")
            found[call] = expected
    return found
