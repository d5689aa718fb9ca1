"""The public names of agnograd, a line each: what a release promises to keep.

``python tests/helpers/public_names.py`` writes them to ``tests/public_names/<version>.txt``. What
is public is said in ``docs/versions.md``: exported names, the attributes of classes, the names of
parameters, hooks with their arguments, ops, what is registered, and commands with their options.
"""

import enum
import importlib
import inspect
import warnings
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import click

import agnograd as ag
from agnograd._cli.main import main
from agnograd.hookspecs import BackendSpecs, HookSpecs

FOLDER = Path(__file__).parents[1] / "public_names"
PUBLIC = (
    *("autodiff", "bridge", "certify", "errors", "extend", "extend.arguments"),
    *("extend.entry_points", "extend.members", "extend.transforms", "testing"),
)
PLUGINS = entry_points(group="agnograd.plugins")
BUILT_IN = [each.module for each in PLUGINS if each.dist and each.dist.name == "agnograd"]
MODULES = (
    *("agnograd", *(f"agnograd.{name}" for name in PUBLIC)),
    *sorted({*BUILT_IN, "agnograd_compile.lowering", "agnograd_distributed", "agnograd_scipy"}),
)
# Of these classes only some attributes are public, as in docs/reference/extend.md.
ONLY = {
    "agnograd.extend.Call": {
        *("name", "chapter", "parameters", "location", "batch_size", "backend"),
    },
    "agnograd.extend.Interpretation": {
        *("interpret", "compute", "rule", "concrete", "wrapped", "functions", "function", "lift"),
        *("domain", "visiting"),
    },
    "agnograd.extend.transforms.Domain": {
        *(
            "Variable",
            "array_types",
            "backend",
            "copy",
            "is_complex",
            "is_inexact",
            "item",
            "level",
        ),
        *("library", "name_of", "namespace", "raw", "size", "to_raw"),
    },
}


def public_names() -> list[str]:
    """Return the public names, sorted."""
    names = {name for module in MODULES for name in _of_module(module)}
    names |= {f"hook {name}" for specs in (HookSpecs, BackendSpecs) for name in _of_hooks(specs)}
    names |= {name for op in ag.ops() for name in _of_op(op)}
    names |= {
        f"{group}: {entry.name}"
        for group in entry_points().groups
        if group.startswith("agnograd.") and group != "agnograd.ops"
        for entry in entry_points(group=group)
        if entry.dist is not None and entry.dist.name == "agnograd"
    }
    names |= set(_of_command("agnograd", main))
    return sorted(names)


def _of_module(module: str) -> Iterator[str]:
    found = importlib.import_module(module)
    for name in (*found.__all__, *getattr(found, "_MOVED", ())):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            value = getattr(found, name)
        yield f"{module}.{name}"
        if inspect.ismodule(value):
            continue  # which are in MODULES
        if f"{module}.{name}" not in ONLY:
            yield from _parameters(f"{module}.{name}", value)
        if inspect.isclass(value):
            yield from _of_class(f"{module}.{name}", value)


def _of_class(path: str, cls: type) -> Iterator[str]:
    own = [each for each in cls.__mro__ if each.__module__.startswith("agnograd")]
    names = {name for each in own for name in (*vars(each), *inspect.get_annotations(each))}
    for name in ONLY.get(path, names):  # what other libraries' bases bring is not ours to keep
        value = inspect.getattr_static(cls, name, None)
        if not name.startswith("_") and not hasattr(value, "agnograd_impl"):  # a plugin's hooks
            yield f"{path}.{name}"
            yield from _parameters(f"{path}.{name}", value)


def _of_hooks(specs: type) -> Iterator[str]:
    for name, hook in vars(specs).items():
        if not name.startswith("_"):
            yield name
            yield from _parameters(name, hook)


def _of_op(op: str) -> Iterator[str]:
    """Yield an op of the namespace over NumPy, which has all ops that do not need a device."""
    if ag.ops()[op].status == "missing":
        return
    value = ag.namespace("numpy")
    for part in op.split("."):
        value = getattr(value, part, None)
    if value is not None:
        yield f"xp.{op}"
        yield from _parameters(f"xp.{op}", value)


def _of_command(path: str, command: click.Command) -> Iterator[str]:
    yield f"$ {path}"
    for parameter in command.params:
        options = [each for each in parameter.opts if each.startswith("--")]
        yield from (f"$ {path} {option}" for option in options)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _of_command(f"{path} {name}", command.get_command(context, name))


def _parameters(path: str, value: object) -> Iterator[str]:
    """Yield the parameters by which a caller can name an argument."""
    value = getattr(value, "__func__", value)
    if isinstance(value, type) and issubclass(value, enum.Enum):  # Python's own, other in each
        return
    if inspect.isbuiltin(value) or inspect.ismethoddescriptor(value):  # in C, of Python itself
        return
    try:
        parameters = inspect.signature(value).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):  # an attribute, or a class without a signature in Python
        return
    for each in parameters:
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) and each.name != "self":
            yield f"{path}({each.name})"


if __name__ == "__main__":
    path = FOLDER / f"{ag.__version__}.txt"
    path.write_text("\n".join(public_names()) + "\n")
    print(f"{path}: {len(public_names())} names")
