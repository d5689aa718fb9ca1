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
    ("_program",),
    ("_plugins",),
    ("_passes",),
    ("_graph",),
    ("_hooks",),
    ("_engine",),
    ("_codegen",),
    ("_arrays",),
    ("_batch",),
    ("_functions",),
    ("_transforms",),
    ("_sparse",),
    ("_implicit",),
    ("_surroundings",),
    ("_compile",),
    ("autodiff", "bridge"),
    ("testing",),
    ("extend",),
    ("rules",),
    ("certify",),
    ("_cli",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# What a layer below may name for its types only.
NAMED = {"Domain", "Variable", "ActiveHooks", "Call", "Backend"}
# The most lines that a layer has. Lower these when a layer shrinks.
BUDGETS = {
    "_util": 857,
    "_ops": 1163,
    "_program": 1119,
    "_plugins": 2071,
    "_passes": 1651,
    "_graph": 678,
    "_hooks": 1227,
    "_engine": 1322,
    "_codegen": 1936,
    "_arrays": 3495,
    "_batch": 860,
    "_functions": 2443,
    "_transforms": 2551,
    "_sparse": 2400,
    "_implicit": 1070,
    "_surroundings": 2395,
    "_compile": 2685,
    "certify": 2296,
    "_cli": 652,
}
MODULES = sorted(path for path in CORE.rglob("*.py") if "templates" not in path.parts)


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


KNOWN = {name_of(path) for path in MODULES}


def imported(tree: ast.Module) -> Iterator[tuple[str, str, bool]]:
    """Yield the module, the name, and whether for types only, of each import of the package.

    Those in functions count, and those by name: ``later("agnograd...", "name")``.
    """
    typing = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            typing |= {id(inner) for each in node.body for inner in ast.walk(each)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("agnograd"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in KNOWN else node.module, alias.name, id(node) in typing
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "agnograd":
                    yield alias.name, alias.name, id(node) in typing
        elif isinstance(node, ast.Constant) and node.value in KNOWN - {"agnograd"}:
            yield node.value, "", id(node) in typing  # a name that is looked up later


def layer_of(module: str) -> str:
    package, _, inner = module.partition(".")
    return inner.partition(".")[0] or package


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_go_down(path):
    own = layer_of(name_of(path))
    if own == "agnograd":  # the package itself hands all layers on
        return
    for module, name, typing in imported(ast.parse(path.read_text())):
        layer = layer_of(module)
        if layer in (own, "agnograd") or (typing and name in NAMED):
            continue
        assert RANK[layer] < RANK[own], (
            f"{name_of(path)} imports {name or module}: {layer} is above"
        )


def test_no_circle_of_modules():
    graph = {
        name_of(path): {
            module
            for module, _, typing in imported(ast.parse(path.read_text()))
            if module in KNOWN and module not in ("agnograd", name_of(path)) and not typing
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


@pytest.mark.parametrize("layer", BUDGETS)
def test_layers_keep_to_their_budgets(layer):
    sizes = {p.name: len(p.read_text().splitlines()) for p in (CORE / layer).glob("*.py")}
    listed = "\n".join(f"{n:5} {name}" for name, n in sorted(sizes.items(), key=lambda x: -x[1]))
    assert sum(sizes.values()) <= BUDGETS[layer], f"{layer} has {sum(sizes.values())}:\n{listed}"
    crumbs = [name for name, n in sizes.items() if n < 40 and name != "__init__.py"]
    assert not crumbs, f"too small for a file of their own: {', '.join(crumbs)}"
    assert max(sizes.values()) <= 400, listed
    assert len(sizes) - 1 <= 14, listed


def test_what_tells_how_a_gradient_is_computed_can_be_read_in_an_afternoon():
    paths = [path for layer in ("_graph", "_engine") for path in (CORE / layer).glob("*.py")]
    assert sum(len(path.read_text().splitlines()) for path in paths) <= 2000


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
