"""What holds for the project as a whole: imports, exports, packaging, sizes."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import agnograd
import agnograd.extend.arguments
import agnograd.extend.entry_points
import agnograd.extend.members
import agnograd.extend.transforms
from agnograd._plugins.op_sets import op_sets

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTEND = (
    *(agnograd.extend.arguments, agnograd.extend.entry_points),
    *(agnograd.extend.members, agnograd.extend.transforms),
)
PACKAGES = [
    ROOT / path for path in PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
]
SOURCES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
# Op packs: every namespace has their ops.
OPS = {
    value.partition(":")[0]
    for value in PYPROJECT["project"]["entry-points"]["agnograd.ops"].values()
}
LIBRARIES = {
    *("numpy", "autograd", "cupy", "cupyx", "torch", "jax", "dask", "scipy", "array_api_strict"),
}


def modules():
    """Yield every module, but those that need an array library which is not installed."""
    for package in PACKAGES:
        yield importlib.import_module(package.name)
        for info in pkgutil.walk_packages([str(package)], package.name + "."):
            try:
                yield importlib.import_module(info.name)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] not in LIBRARIES:
                    raise


@cache
def imports(path):
    """Return the import statements of a module, also those in functions."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


def test_importing_agnograd_imports_no_array_library_and_no_plugin():
    loaded = {
        name.partition(".")[0]
        for name in python("import sys, agnograd; print(*sys.modules, sep='\\n')")
    }
    assert not loaded & LIBRARIES
    assert not {name for name in loaded if name.startswith("agnograd_")}


def test_choosing_a_backend_imports_its_library_alone():
    code = "import sys, agnograd; agnograd.namespace('{}'); print(*sys.modules, sep='\\n')"
    loaded = {name.partition(".")[0] for name in python(code.format("numpy"))}
    others = {package.name for package in PACKAGES[1:]} - {"agnograd_numpy"} - OPS
    assert loaded & (LIBRARIES | others) == {"numpy"}
    # Meeting a raw array finds its backend without importing any other backend or library.
    meet = "agnograd.Variable(numpy.ones(2))"
    code = f"import sys, numpy, agnograd; {meet}; print(*sys.modules, sep='\\n')"
    loaded = {name.partition(".")[0] for name in python(code)}
    assert loaded & (LIBRARIES | others) == {"numpy"}


def test_importing_a_backend_imports_no_library():
    names = [package.name for package in PACKAGES if package.parent.name == "backends"]
    calls = "".join(f"import {name}; {name}.backend(); " for name in names)
    loaded = python(f"import sys; {calls}print(*sys.modules, sep='\\n')")
    assert len(names) >= 6
    assert not {name.partition(".")[0] for name in loaded} & LIBRARIES


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_short_and_documented(path):
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module says what it is for"
    assert text.count("\n") <= 600
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= 45, f"{node.name}: {lines} lines"


def test_the_core_imports_no_array_library_and_no_plugin():
    for path in SOURCES:
        # The kernels of an op pack, and an engine, are imported with their library.
        its_own = path.parent.name == "kernels" or path.name == "engine.py"
        if path.is_relative_to(ROOT / "backends") or its_own:
            continue
        for node in imports(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            roots = {name.partition(".")[0] for name in names}
            assert not roots & LIBRARIES, path
            if path.is_relative_to(ROOT / "agnograd"):
                assert not {root for root in roots if root.startswith("agnograd_")}, path


def test_what_is_built_in_imports_what_a_stranger_can():
    allowed = {"agnograd.errors", "agnograd.extend", *(each.__name__ for each in EXTEND)}
    allowed |= {"agnograd.hookspecs", "agnograd.testing"}
    allowed |= {f"agnograd.testing.{name}" for name in ("differences", "gaps", "host", "page")}
    allowed |= {package.name for package in PACKAGES[1:]}
    for path in SOURCES:
        if path.is_relative_to(ROOT / "agnograd") and "rules" not in path.parts:
            continue
        own = ".".join(path.relative_to(ROOT).parent.parts)  # a stranger's modules may share, too
        for node in imports(path):
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names if alias.name.startswith("agnograd")}
                assert names <= allowed | {"agnograd"}, path
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agnograd"):
                if node.module == "agnograd":
                    assert not [each for each in node.names if each.name.startswith("_")], path
                    continue
                root = (
                    node.module
                    if node.module.startswith("agnograd.")
                    else node.module.partition(".")[0]
                )
                assert root in allowed or root.rpartition(".")[0] == own, f"{path}: {node.module}"
                other = root.startswith("agnograd_") and f".{root}." not in f".{own}."
                assert not (other and "._" in node.module), f"{path}: {node.module}"


def test_exports_are_sorted_and_exist():
    for module in modules():
        exported = getattr(module, "__all__", None)
        if exported is None:
            package = hasattr(module, "__path__")  # with nothing but a docstring
            private = "._" in module.__name__
            samples = ".samples." in f"{module.__name__}."
            assert package or private or samples, module.__name__
            continue
        ordered = sorted(exported, key=lambda name: (not name.isupper(), name[0].islower(), name))
        assert list(exported) == ordered, module.__name__
        for name in exported:
            assert hasattr(module, name), f"{module.__name__}.{name}"


@pytest.mark.parametrize(
    "module",
    [agnograd, agnograd.autodiff, agnograd.bridge, agnograd.errors, *EXTEND],
    ids=lambda module: module.__name__,
)
def test_public_names_are_documented(module):
    for name in module.__all__:
        assert inspect.getdoc(getattr(module, name)), name


def test_every_package_is_in_the_wheel_and_typed():
    found = {ROOT / "agnograd"}
    for folder in ("backends", "plugins"):
        found |= {path.parent for path in (ROOT / folder).glob("agnograd_*/__init__.py")}
    assert found == set(PACKAGES)
    for package in PACKAGES:
        assert (package / "py.typed").exists()


def test_installed_entry_points_are_those_of_the_project_file():
    for group, entries in PYPROJECT["project"]["entry-points"].items():
        installed = {
            entry.name: entry.value
            for entry in entry_points(group=group)
            if entry.dist.name == "agnograd"
        }
        assert installed == entries, f"{group}: reinstall with pip install -e '.[test]'"


def test_every_rules_module_is_an_entry_point_or_of_an_op_set_that_is_one():
    rules = {path.stem for path in (ROOT / "agnograd" / "rules").glob("*.py")}
    rules -= {"__init__", "_keys"}  # which has a part of the rules for indexing
    later = {module for _, op_set in op_sets() for module in op_set.modules}
    assert {f"agnograd.rules.{name}" for name in rules} == {
        module for module in OPS | later if module.startswith("agnograd.")
    }


# Where code is made of text, or an object becomes one of another type, and by which door others do
# so: agnograd._util.deferred.
MAKERS = {"_codegen", "_util/deferred.py"}
DOORS = ("exec", "eval", "FunctionType")


def test_text_becomes_code_by_one_door():
    found = set()
    for path in (ROOT / "agnograd").rglob("*.py"):
        module, source = path.relative_to(ROOT / "agnograd").as_posix(), path.read_text()
        if not any(word in source for word in (*DOORS, "compile", "__class__")):
            continue
        for node in ast.walk(ast.parse(source)):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name.rpartition(".")[2] in DOORS or name == "compile":
                found.add((module, name))
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
                found |= {(module, node.attr)} if node.attr == "__class__" else set()
    assert ("_util/deferred.py", "exec") in found
    assert not {each for each in found if not MAKERS & {each[0], each[0].partition("/")[0]}}


def test_warnings_say_whose_they_are():
    found = 0
    for path in SOURCES:
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if ".warn" in source else ():
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in ("warnings.warn", "warnings.warn_explicit"):
                message = node.args[0]
                if isinstance(message, ast.Call):  # a warning that carries facts
                    message = message.args[0]
                text = message.values[0] if isinstance(message, ast.JoinedStr) else message
                assert isinstance(text, ast.Constant), f"{path}:{node.lineno}"
                assert text.value.startswith("AGNOGRAD: "), f"{path}:{node.lineno}"
                found += 1
            assert not name.endswith(".warn") or name == "warnings.warn", f"{path}:{node.lineno}"
    assert found >= 5


# Numbers that are no switches, by the reason.
FIXED = {
    "what is printed or drawn, and the format of files": """
        agnograd/_arrays/repr._WIDTH agnograd/_cli/main._WIDE agnograd_compile/_explain._RUNS
        agnograd_compile/_listing._COSTLY agnograd_compile/_listing._short
        agnograd_compile/_picture._MOST agnograd_compile/_picture._WIDE
        agnograd_sparse/_picture._MOST agnograd_sparse/_picture._COLOURS
        agnograd_certify/_report.FORMAT agnograd_conformance/_items._SHOWN
        agnograd_conformance/_report.FORMAT agnograd_memory/_ledger._POINTS
        agnograd_timer/_timeline._INSIDE agnograd_compile/_listing:count<1000
        agnograd_compile/_listing:len(constants)>8 agnograd_certify/_calls:len(text)<=40
    """,
    "what stands for something that is no number": """
        agnograd/_arrays/protocols.__array_priority__ agnograd/_graph/nodes.began
        agnograd_compile/_passes/order._DONE agnograd_compile/_programs/plan.ADD
        agnograd_compile/_programs/plan.ELEMENTWISE agnograd_compile/_programs/plan.INTO
        agnograd_compile/_programs/plan.NEW agnograd_compile/_programs/plan.UPDATE
        agnograd_sparse/_stars._NONE agnograd_c/__init__.preference
        agnograd_distributed/kernels/mpi._GATHER agnograd_distributed/kernels/mpi._MESSAGE
    """,
    "numbers of others: DLPack, the operating system, processors, SciPy, and sources in C": """
        agnograd/_plugins/backend._CPU agnograd_compile/_programs/rooms._ALIGNED
        agnograd/_transforms/wrapped._CPU agnograd_pool/__init__._MMAP_MAX
        agnograd_pool/__init__._TRIM_THRESHOLD agnograd_c/_write/additions._BLOCKS
        agnograd_c/_write/arrays._CHUNK agnograd_scipy/interpolation._PADDING
    """,
    "prices in nanoseconds, of which switches say how many are worth it": """
        agnograd_c/_choose/groups.CALL agnograd_c/_choose/groups.ELEMENT
        agnograd_c/_choose/groups.GROUP agnograd_c/_choose/groups.SCALAR
    """,
    "how far a check looks": """
        agnograd/_codegen/inline._CLOSING agnograd/_functions/purity._DEPTH
        agnograd_conformance/composed._TOGETHER agnograd_conformance/declared._FEW
        agnograd_conformance/declared._LENGTH agnograd_conformance/declared._READS
    """,
    "what numbers a key draws, which stay the same": """
        agnograd_random/_draws.ROUNDS agnograd_random/_draws._BOOST agnograd_random/_draws._STEPS
        agnograd_random/_exact._SPARE agnograd_random/standard._MOST
        agnograd_random/threefry.FOLD agnograd_random/threefry.PARITY
        agnograd_random/threefry.ROTATIONS agnograd_random/threefry.SPLIT
        agnograd_random/threefry.WORD agnograd_random/vectors._EXACT
    """,
    "formulas: terms and bounds of series, nodes, steps, and the digits of a precision": """
        agnograd_certify/_probe.STENCIL agnograd_digits/_norms.DOUBLE
        agnograd_scipy/integrals._NODES agnograd_scipy/jacobians._POLISH
        agnograd_scipy/kernels/matrices._ROOTS agnograd_scipy/tails._STEPS
        agnograd_special/bessel01._FAR agnograd_special/bessel01._TERMS
        agnograd_special/densities._LOG_OVER_PSI agnograd_special/densities._STIRLING
        agnograd_special/differences._BERNOULLI agnograd_special/differences._SHIFT
        agnograd_special/elliptic._TERMS agnograd_special/error._FAR agnograd_special/error._TERMS
        agnograd_special/shapes._FROM agnograd_special/shapes._H agnograd_special/shapes._TERMS
        agnograd_special/shapes._TO agnograd_special/zeta._SUMMED
        agnograd_torch/_calls._EXACT
    """,
    "arguments that are checked": """
        agnograd_digits/__init__:0<digits<400 agnograd_offload/__init__:1<=int(level)<=9
    """,
}


def value_of(node):
    """Return the value of an expression of numbers, one of which is an integer; else None."""
    expressions = ast.Constant | ast.UnaryOp | ast.BinOp | ast.Tuple
    parts = expressions | ast.operator | ast.unaryop | ast.expr_context
    inner = list(ast.walk(node))
    types = {type(each.value) for each in inner if isinstance(each, ast.Constant)}
    if int not in types or not types <= {int, float}:
        return None
    return eval(ast.unparse(node)) if all(isinstance(each, parts) for each in inner) else None


def plain_numbers(path):
    """Yield constants that are numbers, and comparisons with a number in place of a constant."""
    package = next(each for each in PACKAGES if each in path.parents)
    module = path.relative_to(package.parent).with_suffix("").as_posix()
    for outer in ast.walk(ast.parse(path.read_text())):
        for node in outer.body if isinstance(outer, ast.Module | ast.ClassDef) else ():
            assigns = isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
            value = value_of(node.value) if assigns else None
            large = isinstance(value, int) and abs(value) >= 8
            targets = (
                node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            )
            for each in (
                name for target in targets if value is not None for name in ast.walk(target)
            ):
                if isinstance(each, ast.Name) and (each.id.isupper() or large):
                    yield f"{module}.{each.id}"
        for each in (outer.left, *outer.comparators) if isinstance(outer, ast.Compare) else ():
            value, text = value_of(each), ast.unparse(outer).replace(" ", "")
            # The bits of a dtype, and what an integer of 32 bits holds, are no choice.
            if isinstance(value, int) and 8 <= abs(value) != 2**31 and "bits" not in text:
                yield f"{module}:{text}"


def test_a_number_at_which_something_changes_is_a_switch():
    fixed = {name for names in FIXED.values() for name in names.split()}
    paths = [path for path in SOURCES if "samples" not in (*path.parts, path.stem)]
    found = {name for path in paths for name in plain_numbers(path)}
    assert sorted(found - fixed) == []
    assert sorted(fixed - found) == []
