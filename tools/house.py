"""Write the picture of the house: what imports what, as a graph for Graphviz.

``python tools/house.py`` reads the imports of ``agnograd/``, ``backends/`` and ``plugins/``, and
writes ``docs/images/house.dot``. ``python docs/draw.py`` draws it.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "house.dot"
TRANSFORMS = "extend.*"  # its modules have a place of their own in the picture
REST = "all other plugins\nand backends"
Graph = dict[str, set[str]]

HEAD = """\
// Written by `python tools/house.py`, from the imports. An arrow leads from what imports to what is
// imported. Where a way leads on, the arrow past it is left out.
digraph {
  graph [bgcolor=transparent]
  node [shape=box, style="rounded,filled", fillcolor="#e8eef7", color="#4a6fa5"]
  node [fontcolor="#1b2b40", fontname="Helvetica,Arial,sans-serif", fontsize=12, margin="0.16,0.08"]
  edge [color="#7a8699"]
  nodesep=0.35; ranksep=0.3
"""


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of agnograd that a file imports, other than for types only."""
    tree = ast.parse(path.read_text())
    typing = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for each in node.body
        for inner in ast.walk(each)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in typing and node.module:
            yield node.module


def layers() -> Graph:
    """Return which layers of ``agnograd/`` each of them imports."""
    found: Graph = {}
    for path in sorted((ROOT / "agnograd").rglob("*.py")):
        own = part_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
        if own == "agnograd":  # the package hands all of them on
            continue
        parts = {part_of(each) for each in imported(path) if each.startswith("agnograd.")}
        found.setdefault(own, set()).update(parts - {own, "agnograd"})
    return found


def part_of(module: str) -> str:
    """Return the layer, or the door, that a module of agnograd belongs to."""
    if module.startswith("agnograd.extend.") and not module.endswith("__init__"):
        return TRANSFORMS
    inner = module.split(".")[1:2]
    return inner[0] if inner and inner[0] != "__init__" else "agnograd"


def plugins() -> Graph:
    """Return the plugins that need more than ``extend``, and what they import; and all others."""
    found: Graph = defaultdict(set)
    for folder in sorted([*(ROOT / "backends").iterdir(), *(ROOT / "plugins").iterdir()]):
        modules = {each for path in folder.rglob("*.py") for each in imported(path)}
        parts = {part_of(each) for each in modules if each.startswith("agnograd.")} - {"errors"}
        found[folder.name if parts & {TRANSFORMS, "testing"} else REST] |= parts
    return found


def reduced(graph: Graph) -> Graph:
    """Return a graph without the arrows past a way that leads to the same place."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        left = [start]
        while left:
            for each in graph.get(left.pop(), ()):
                if each not in seen:
                    seen.add(each)
                    left.append(each)
        return seen

    return {
        one: {each for each in to if not any(each in reached(other) for other in to - {each})}
        for one, to in graph.items()
    }


def drawn() -> str:
    """Return the picture as a text in Graphviz's language."""
    above = plugins()
    graph = reduced(layers() | above)
    lines = [HEAD]
    for name in sorted(graph):
        if name in above:
            lines.append(f'  "{name}" [fillcolor="#e9f5e6", color="#5b9a4b"]\n')
        elif not name.startswith("_"):
            lines.append(f'  "{name}" [fillcolor="#fbf1dc", color="#b3862f"]\n')
    for one in sorted(graph):
        lines.extend(f'  "{one}" -> "{other}"\n' for other in sorted(graph[one]))
    return "".join([*lines, "}\n"])


if __name__ == "__main__":
    PICTURE.write_text(drawn())
