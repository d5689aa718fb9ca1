"""The house: imports go down only, layers keep to their budgets, code is made by one door."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = ROOT / "agnograd"
# Lowest first. What is beside each other does not import each other.
LAYERS = (
    ("errors", "hookspecs"),
    ("_util",),
    ("_ops",),
    ("_plugins",),
    ("_graph",),
    ("_hooks",),
    ("_engine",),
    ("_codegen",),
    ("_arrays",),
    ("_levels",),
    ("_batch",),
    ("_functions",),
    ("_transforms",),
    ("autodiff",),
    ("testing",),
    ("extend",),
    ("rules",),
    ("_cli",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# The most lines of the package, and of what tells how a gradient is computed. Lower them when it
# shrinks.
MOST_LINES, MOST_LINES_OF_THE_PASS = 26_505, 1968
MODULES = sorted(path for path in CORE.rglob("*.py") if "templates" not in path.parts)


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


KNOWN = {name_of(path) for path in MODULES}


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of each import of the package, also of those for types only.

    Those in functions count, and those by name: ``later("agnograd...", "name")``.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agnograd"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in KNOWN else node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "agnograd":
                    yield alias.name, alias.name
        elif isinstance(node, ast.Constant) and node.value in KNOWN - {"agnograd"}:
            yield node.value, ""  # a name that is looked up later


def layer_of(module: str) -> str:
    package, _, inner = module.partition(".")
    return inner.partition(".")[0] or package


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_down(path):
    own = layer_of(name_of(path))
    if own == "agnograd":  # the package itself hands all layers on
        return
    for module, name in imported(ast.parse(path.read_text())):
        layer = layer_of(module)
        if layer in (own, "agnograd"):
            continue
        assert RANK[layer] < RANK[own], (
            f"{name_of(path)} imports {name or module}: {layer} is above"
        )


def test_no_circle_of_modules():
    graph = {
        name_of(path): {
            module
            for module, _ in imported(ast.parse(path.read_text()))
            if module in KNOWN and module not in ("agnograd", name_of(path))
        }
        for path in MODULES
    }
    done: set[str] = set()

    def visit(module: str, above: tuple[str, ...]) -> None:
        circle = " -> ".join((*above[above.index(module) :], module)) if module in above else ""
        assert not circle, circle
        if module not in done:
            for each in sorted(graph[module]):
                visit(each, (*above, module))
            done.add(module)

    for module in sorted(graph):
        if module != "agnograd":
            visit(module, ())


def lines_of(*layers: str) -> int:
    paths = [p for layer in layers for p in (CORE / layer).rglob("*.py")] if layers else MODULES
    return sum(len(path.read_text().splitlines()) for path in paths)


def test_the_package_does_not_grow():
    assert lines_of() <= MOST_LINES


def test_what_tells_how_a_gradient_is_computed_can_be_read_in_an_afternoon():
    assert lines_of("_graph", "_engine") <= MOST_LINES_OF_THE_PASS


def test_no_two_classes_of_the_core_have_one_name():
    found = defaultdict(list)
    for path in MODULES:
        if "testing" in path.parts or "rules" in path.parts:
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name_of(path))
    twice = {name: modules for name, modules in found.items() if len(modules) > 1}
    assert not twice, twice
