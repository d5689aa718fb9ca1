"""New distributions: a plugin, a backend or an op pack that works, to start from."""

from __future__ import annotations

import builtins
import keyword
import re
import shutil
import sys
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from agnograd._plugins.entry_points import BACKENDS, OPS, PLUGINS, installed, origin
from agnograd._util.signatures import NO_OPS

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Kind = Literal["plugin", "backend", "ops"]

GROUPS: dict[Kind, str] = {"plugin": PLUGINS, "backend": BACKENDS, "ops": OPS}
TARGETS: dict[Kind, str] = {
    "plugin": "{module}:{Class}",
    "backend": "{module}",
    "ops": "{module}:ops",
}
DESCRIPTIONS: dict[Kind, str] = {
    "plugin": "A plugin for agnograd: counts the calls of each op",
    "backend": "A backend for agnograd: differentiates on the arrays of {library}",
    "ops": "An op pack for agnograd: {entry}, with its derivative",
}


# What a generated module, op or class would take the name of: Python's, and those of its imports.
_KNOWN = frozenset({*dir(builtins), *keyword.kwlist, *NO_OPS})
_KNOWN |= {"Backend", "Call", "Capabilities", "Counter", "ModuleType", "OpSet", "Sample"}
_KNOWN |= {"agnograd", "array_api_strict", "conftest", "pytest", "tests"}


class Names(NamedTuple):
    """What is named after a new distribution.

    Attributes
    ----------
    distribution : str
        The distribution itself.
    module : str
        Its import package.
    entry : str
        Its entry point, and the op of an op pack.
    """

    distribution: str
    module: str
    entry: str

    @property
    def camel(self) -> str:
        """The name of a class."""
        return "".join(part[:1].upper() + part[1:] for part in self.entry.split("_"))


def create(kind: Kind, name: str, into: Path, library: str = "array_api_strict") -> Path:
    """Write a new distribution into a folder of its name; return the folder.

    Parameters
    ----------
    kind : {"plugin", "backend", "ops"}
        What it is to bring.
    name : str
        The name of the distribution.
    into : Path
        Where to make the folder.
    library : str, optional
        The module of the array library, for a backend.

    Raises
    ------
    click.ClickException
        If the name does not do, or the folder exists; nothing is written then.
    """
    names = _names(name)
    _check_free(kind, names)
    root = library.partition(".")[0]
    if not all(map(_is_module, library.split("."))):
        raise click.ClickException(
            f"{library!r} is not a name of a Python module, such as 'torch' or 'mlx.core'"
        )
    fields = {"entry": names.entry, "module": names.module, "library": library, "root": root}
    fields |= {"Class": names.camel, "distribution": name, "group": GROUPS[kind]}
    needed = ["agnograd>=0.1", *([root.replace("_", "-")] if kind == "backend" else [])]
    fields["dependencies"] = ", ".join(f'"{each}"' for each in needed)
    fields["description"] = DESCRIPTIONS[kind].format_map(fields)
    fields["target"] = TARGETS[kind].format_map(fields)
    return _written(into / name, kind, fields)


def _written(folder: Path, kind: Kind, fields: dict[str, str]) -> Path:
    """Write the folder whole, or not at all."""
    try:
        folder.mkdir()
    except FileExistsError as error:
        raise click.ClickException(
            f"{folder} exists already, and nothing was written; choose another name, or another "
            "place with --into"
        ) from error
    except OSError as error:
        raise click.ClickException(f"{folder} cannot be written: {error}") from error
    try:
        for part in ("every", kind):
            _write(files("agnograd._cli") / "templates" / part, folder, fields)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise click.ClickException(
                f"{folder} cannot be written, and nothing is left of it: {error}"
            ) from error
        raise
    return folder


def _names(name: str) -> Names:
    """Return what a distribution's name gives rise to; an error says what a name looks like."""
    # https://packaging.python.org/en/latest/specifications/name-normalization/
    if not re.fullmatch(r"[a-z0-9]|[a-z0-9][a-z0-9._-]*[a-z0-9]", name, re.ASCII | re.IGNORECASE):
        close = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("._-")
        raise click.ClickException(
            f"{name!r} is not a valid name of a distribution: it takes letters and digits, with "
            "'-', '_' or '.' between them" + (f"; try {close!r}" if close else "")
        )
    module = re.sub(r"[-_.]+", "_", name).lower()
    entry = module.removeprefix("agnograd_")
    if not (_is_module(module) and _is_module(entry)):
        raise click.ClickException(
            f"{name!r} would make a module {module!r} and an entry point {entry!r}, which must be "
            "names in Python: begin with a letter, and use no keyword"
        )
    return Names(name, module, entry)


def _is_module(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _check_free(kind: Kind, names: Names) -> None:
    """Raise if a name is taken by something that is installed."""
    from importlib.util import find_spec

    from agnograd._arrays.domains import namespace
    from agnograd._plugins.op_sets import ops

    module, entry = names.module, names.entry
    taken = installed(GROUPS[kind]).get(entry)
    if taken is not None:
        what = f"{GROUPS[kind]} entry point {entry!r} belongs to {origin(taken)}"
    elif kind == "ops" and entry in ops():
        what = f"op {entry!r} belongs to {ops()[entry].distribution}"
    elif kind == "ops" and hasattr(namespace("numpy"), entry):
        what = f"{entry!r} is in the array API standard"
    elif module in sys.stdlib_module_names or find_spec(module) is not None:
        what = f"a module {module!r} is installed"
    elif _is_installed(names.distribution):
        what = f"a distribution {names.distribution!r} is installed"
    else:
        _check_own(names)
        return
    raise click.ClickException(f"{what} already; choose a name other than {names.distribution!r}")


def _check_own(names: Names) -> None:
    """Raise if what is generated would have a name that it uses for something else."""
    names_of = (names.module, names.entry, names.camel)
    known = next((name for name in names_of if name in _KNOWN), None)
    if known is not None:
        raise click.ClickException(
            f"{names.distribution!r} would make a module {names.module!r} and a class "
            f"{names.camel!r}, and {known!r} is already a name in Python, or in what is written "
            "there; choose another name"
        )


def _is_installed(distribution: str) -> bool:
    from importlib.metadata import PackageNotFoundError, version

    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


def _write(source: Traversable, folder: Path, fields: dict[str, str]) -> None:
    """Fill in templates, also in folders below: MODULE in a path is the module's name."""
    for each in source.iterdir():
        path = folder / each.name.replace("MODULE", fields["module"]).removesuffix(".template")
        if each.is_dir():
            path.mkdir(exist_ok=True)
            _write(each, path, fields)
        else:
            text = Template(each.read_text(encoding="utf-8")).substitute(fields)
            path.write_text(text, encoding="utf-8")
