"""Write the functions of ops into modules, as a wheel has them.

``python tools/functions.py FOLDER [PLACES]`` writes a module for each op of the standard, with the
functions that agnograd would otherwise write when the op is first called on NumPy; and a second
one, ``_other``, for libraries whose own functions are called. Python then keeps their bytecode, and
no process writes them again. A build of a wheel does it by the hook below; an editable install does
not. Places are those of the packages, if the project is not installed.
"""

import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import distributions
from pathlib import Path
from textwrap import indent
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parents[1]
BACKWARD = ("backward", "guarded", "of_ones", "step")
Found = dict[str, tuple[str, list[str]]]  # texts, and what they find, by all that they depend on


class Functions(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the modules to a wheel that is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the modules where nothing of the tree is changed, and tell the build of them."""
        if version == "editable":
            return
        self.folder = tempfile.TemporaryDirectory()
        folder = Path(self.folder.name)
        places = {place.parent: None for place in packages()}
        if not [*distributions(name="agnograd")]:  # an environment only for builds
            places[installed(folder)] = None
        # PYTHONPATH is pip's, whose environment for builds it makes.
        command = [sys.executable, "-B", "-W", "error", __file__, str(folder / "built"), *places]
        subprocess.run(command, check=True)
        build_data["force_include"][str(folder / "built")] = "agnograd/_built"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete what was written."""
        if version != "editable":
            self.folder.cleanup()


def packages() -> list[Path]:
    """Return the packages of a wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    return [ROOT / each for each in wheel["packages"]]


def installed(folder: Path) -> Path:
    """Write what tells of entry points into a folder, as if the project were installed there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    info = folder / "agnograd-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: agnograd\nVersion: 0\n")
    (info / "entry_points.txt").write_text(
        "\n".join(
            f"[{group}]\n" + "\n".join(f"{name} = {value}" for name, value in points.items())
            for group, points in project["entry-points"].items()
        )
    )
    return folder


def write(folder: Path) -> None:
    """Write a module for each op of the standard."""
    from agnograd._codegen.texts import module_of

    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(signatures())
    numpys, others = functions()
    for found, end in ((numpys, ""), (others, "_other")):
        for op, texts in found.items():
            (folder / f"{module_of(op)}{end}.py").write_text(module(op, texts))


def module(op: str, found: Found) -> str:
    """Return the text of a module with an op's functions."""
    numbers: dict[tuple[str, tuple[str, ...]], int] = {}
    for text, names in found.values():
        numbers.setdefault((text, (*names,)), len(numbers))
    lines = [f'"""What tools/functions.py wrote for the op {op}."""']
    for (text, _), number in numbers.items():
        name = text.strip().partition("(")[0].removeprefix("def ")
        definition = f"def _{number}():\n{indent(text.strip(), '    ')}\n\n    return {name}"
        scope: dict[str, Any] = {}
        exec(definition, scope)
        if scope[f"_{number}"].__code__.co_cellvars:
            raise RuntimeError(f"a function of {op} names itself, which is something else there")
        lines.append(f"\n\n{definition}")
    lines.append("\n\nFUNCTIONS = {")
    for key, (text, names) in found.items():
        lines.append(f"    {key!r}: (_{numbers[text, (*names,)]}, {names}),")
    return "\n".join([*lines, "}", ""])


def signatures() -> str:
    """Return the text of the package: functions that have the signatures of ops."""
    from agnograd._plugins.op_sets import registered_in
    from agnograd._util.signatures import EXTENSIONS

    ops = [op for part in ("", *EXTENSIONS) for op, _ in registered_in(part).values()]
    texts = (op.text.partition("(")[2] for op in ops)
    lines, known = ['"""What was written for ops of the standard, and their signatures."""\n'], []
    for number, rest in enumerate(dict.fromkeys(texts)):
        lines.append(f"\ndef _{number}({rest}:\n    ...\n")
        known.append(f"    {rest!r}: _{number},")
    return "\n".join([*lines, "\nFUNCTIONS = {", *known, "}", ""])


def functions() -> tuple[dict[str, Found], dict[str, Found]]:
    """Return what is written for each op of the standard by its name: on NumPy, and elsewhere."""
    from agnograd._codegen import functions
    from agnograd._util.deferred import now

    texts = Texts()
    functions.function_for = texts.function_for
    domain, asked = ops()
    standard = standards()
    for op, kernel, form in asked:
        if op.name not in standard:  # it may need another library
            continue
        functions.generated(op, domain, now(kernel), form)
        scope = texts.scopes[-1]
        for call in filter(None, (scope["_call"], scope.get("_of_numbers"))):
            for attribute in BACKWARD:
                make = getattr(call if attribute == "step" else call.compiled, attribute, None)
                if make is not None and make.__module__ == functions.__name__:
                    make(None, None)
        for other in (kernel, ...):  # also of a library that has no type for numbers
            texts.function_for("forward_source", {}, op, form, other, False)
    others = {
        op: {key: each for key, each in found.items() if key not in texts.numpys[op]}
        for op, found in texts.others.items()
    }
    return texts.numpys, {op: found for op, found in others.items() if found}


class Texts:
    """Writes what is asked for, and keeps it."""

    def __init__(self) -> None:
        self.numpys: dict[str, Found] = {}
        self.others: dict[str, Found] = {}
        self.scopes: list[dict[str, Any]] = []

    def function_for(self, writer: str, scope: dict[str, Any], op: Any, *facts: Any) -> Any:
        """Stand for the function of this name; without a scope it is one for other libraries."""
        from agnograd._codegen.texts import WRITERS, key_of
        from agnograd._util.deferred import later

        names: list[str] = []
        text, key = later(WRITERS[writer], writer)(op, *facts, names), key_of(writer, op, *facts)
        known = (self.numpys if scope else self.others).setdefault(op.name, {})
        if " at 0x" in key or known.setdefault(key, (text, names)) != (text, names):
            raise RuntimeError(f"{op.name} has texts that nothing tells apart: {key}")
        self.scopes.append(scope)
        return lambda *_: None


def standards() -> dict[str, Any]:
    """Return the ops of the standard, and those that its rules need, by name."""
    from agnograd._plugins.op_sets import op_sets

    sets = (op_set for entry, op_set in op_sets() if entry.module.startswith("agnograd.rules."))
    return {name: op for op_set in sets for name, op in op_set.ops.items()}


def ops() -> tuple[Any, list[tuple[Any, Any, str]]]:
    """Return NumPy's domain, and each op that it compiles with its kernel and form."""
    from agnograd._arrays import namespace, operators
    from agnograd._arrays.domains import domain_named
    from agnograd._util.signatures import EXTENSIONS

    asked: list[tuple[Any, Any, str]] = []
    compiled = operators.compile_op

    def compile_op(op: Any, domain: Any, kernel: Any, form: str = "function") -> Any:
        asked.append((op, kernel, form))
        return compiled(op, domain, kernel, form)

    operators.compile_op = namespace.compile_op = compile_op
    domain = domain_named("numpy")
    for extension in EXTENSIONS:
        dir(getattr(domain.namespace, extension))  # which fills it
    for op in {op.name: op for op, *_ in asked if op.name in operators.OF_TWO}.values():
        operators.compiled(domain, op, operators.OF_TWO[op.name], "ufunc")
    return domain, asked


if __name__ == "__main__":
    if Path(sys.argv[1]).resolve().is_relative_to(ROOT):
        sys.exit("choose a folder elsewhere: a checkout would not see that what writes has changed")
    sys.path[:0] = sys.argv[2:]
    write(Path(sys.argv[1]))
