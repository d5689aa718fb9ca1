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
from typing import TYPE_CHECKING

import click

from agnograd._plugins.entry_points import BACKENDS, OPS, PLUGINS, installed, origin
from agnograd._util.signatures import NO_OPS

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

# By kind: the group of its entry point, what that names, and a description.
KINDS = {
    "plugin": (PLUGINS, "{module}:{Class}", "A plugin for agnograd: counts the calls of each op"),
    "backend": (
        BACKENDS,
        "{module}",
        "A backend for agnograd: differentiates on the arrays of {library}",
    ),
    "ops": (OPS, "{module}:ops", "An op pack for agnograd: {entry}, with its derivative"),
}

# What a generated module, op or class would take the name of: Python's, and those of its imports.
_KNOWN = frozenset({*dir(builtins), *keyword.kwlist, *NO_OPS})
_KNOWN |= {"Backend", "Call", "Capabilities", "Counter", "ModuleType", "OpSet", "Sample"}
_KNOWN |= {"agnograd", "array_api_strict", "conftest", "pytest", "tests"}


def create(kind: str, name: str, into: Path, library: str = "array_api_strict") -> Path:
    """Write a new distribution into a folder of its name, whole or not at all; return the folder.

    ``library`` is the module of the array library, for a backend.
    """
    fields = _names(name)
    _check_free(kind, **fields)
    if not all(map(_is_module, library.split("."))):
        raise click.ClickException(
            f"{library!r} is not a name of a Python module, such as 'torch' or 'mlx.core'"
        )
    group, target, description = KINDS[kind]
    root = library.partition(".")[0]
    needed = ["agnograd>=0.1", *([root.replace("_", "-")] if kind == "backend" else [])]
    fields |= {"library": library, "root": root, "group": group}
    fields |= {
        "dependencies": ", ".join(f'"{each}"' for each in needed),
        "description": description.format_map(fields),
        "target": target.format_map(fields),
    }
    folder = into / name
    left = ""
    try:
        folder.mkdir()
        left = ", and nothing is left of it"
        for part in ("every", kind):
            _write(files("agnograd._cli") / "templates" / part, folder, fields)
    except FileExistsError as error:
        raise click.ClickException(
            f"{folder} exists already, and nothing was written; choose another name, or another "
            "place with --into"
        ) from error
    except BaseException as error:
        if left:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise click.ClickException(f"{folder} cannot be written{left}: {error}") from error
        raise
    return folder


def _names(name: str) -> dict[str, str]:
    """Return what is named after a distribution: its module, its entry point (or op), a class."""
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
    camel = "".join(part[:1].upper() + part[1:] for part in entry.split("_"))
    return {"distribution": name, "module": module, "entry": entry, "Class": camel}


def _is_module(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _check_free(kind: str, *, distribution: str, module: str, entry: str, Class: str) -> None:  # noqa: N803
    """Raise if a name is taken by something installed, or used for something else in templates."""
    from importlib.metadata import distributions
    from importlib.util import find_spec

    from agnograd._arrays.domains import namespace
    from agnograd._plugins.op_sets import ops

    group = KINDS[kind][0]
    taken = installed(group).get(entry)
    if taken is not None:
        what = f"{group} entry point {entry!r} belongs to {origin(taken)}"
    elif kind == "ops" and entry in ops():
        what = f"op {entry!r} belongs to {ops()[entry].distribution}"
    elif kind == "ops" and hasattr(namespace("numpy"), entry):
        what = f"{entry!r} is in the array API standard"
    elif module in sys.stdlib_module_names or find_spec(module) is not None:
        what = f"a module {module!r} is installed"
    elif any(distributions(name=distribution)):
        what = f"a distribution {distribution!r} is installed"
    else:
        known = next((name for name in (module, entry, Class) if name in _KNOWN), None)
        if known is None:
            return
        raise click.ClickException(
            f"{distribution!r} would make a module {module!r} and a class {Class!r}, and {known!r} "
            "is already a name in Python, or in what is written there; choose another name"
        )
    raise click.ClickException(f"{what} already; choose a name other than {distribution!r}")


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
