"""A graph as text: in Graphviz's language and in Mermaid's; as a picture where Graphviz is."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Box", "Drawing"]


class Box(NamedTuple):
    """What is drawn of a node.

    ``value`` is the shapes and dtypes of its results, as far as they are known; ``saved`` the
    arrays that it keeps, None once they are freed; ``norm`` that of the last gradient.
    """

    number: int
    kind: str
    name: str
    value: str
    saved: Sequence[Any] | None
    norm: float | None

    def lines(self) -> Iterator[str]:
        """Yield the lines of the label."""
        yield self.name
        if self.value:
            yield self.value
        if self.saved is None:
            yield "saved: freed"
        elif self.saved:
            yield f"saved: {', '.join(_saved(each) for each in self.saved)}"
        if self.norm is not None:
            yield f"grad {self.norm:.4g}"


def _saved(info: Any) -> str:
    from rich.filesize import decimal

    size = f" {decimal(info.nbytes)}" if info.nbytes is not None else f" {info.shape}"
    return f"{info.name}{size}"


# What a name may have (those of functions and classes are any strings) and the languages read as
# theirs: quotes, escapes, entities, tags, directives, Markdown.
_DOT = str.maketrans({"\\": r"\\", '"': r"\"", "&": "&amp;"})
_MERMAID = str.maketrans({character: f"#{ord(character)};" for character in "#&<>`\\%;{}"})
_MERMAID[ord('"')] = "#quot;"


def _label(box: Box, language: dict[int, str], end: str) -> str:
    """Return the lines of a label, with escapes for what has no picture, such as a line's end."""
    lines = (
        "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
        for line in box.lines()
    )
    return end.join(line.translate(language) for line in lines)


class Drawing(NamedTuple):
    """Boxes, the oldest first, and edges between their numbers; notebooks show it.

    They show a picture where Graphviz's program ``dot`` is on the path, and Mermaid's text, which
    JupyterLab draws itself, otherwise.
    """

    boxes: tuple[Box, ...]
    edges: tuple[Any, ...]

    def dot(self) -> str:
        """Return the source for Graphviz."""
        lines = ["digraph {", '  node [shape=box, style=rounded, fontname="sans-serif"]']
        for box in self.boxes:
            shape = ", shape=ellipse" if box.kind == "leaf" else ""
            label = _label(box, _DOT, "\\n")
            lines.append(f'  n{box.number} [label="{label}"{shape}]')
        lines += [f"  n{edge.source} -> n{edge.target}" for edge in self.edges]
        return "\n".join([*lines, "}"])

    def mermaid(self) -> str:
        """Return the source for Mermaid."""
        lines = ["flowchart TD"]
        for box in self.boxes:
            label = _label(box, _MERMAID, "<br/>")
            start, end = ("([", "])") if box.kind == "leaf" else ("[", "]")
            lines.append(f'  n{box.number}{start}"{label}"{end}')
        lines += [f"  n{edge.source} --> n{edge.target}" for edge in self.edges]
        return "\n".join(lines)

    def svg(self) -> str:
        """Return a picture.

        Raises
        ------
        FileNotFoundError
            If Graphviz is not installed.
        """
        return self._rendered("svg").decode()

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file; its suffix says what: ``.dot``, ``.mmd``, or one of Graphviz's formats."""
        path = Path(path)
        if path.suffix in (".dot", ".gv"):
            path.write_text(self.dot(), encoding="utf-8")
        elif path.suffix == ".mmd":
            path.write_text(self.mermaid(), encoding="utf-8")
        else:
            path.write_bytes(self._rendered(path.suffix.removeprefix(".")))

    def _rendered(self, kind: str) -> bytes:
        program = shutil.which("dot")
        if program is None:
            raise FileNotFoundError(
                "the program 'dot' is not on the path: install Graphviz (apt install graphviz, "
                "brew install graphviz, conda install graphviz), or use mermaid()"
            )
        done = subprocess.run(
            [program, f"-T{kind}"], input=self.dot().encode(), capture_output=True
        )
        if done.returncode:
            raise ValueError(f"dot cannot draw this: {done.stderr.decode().strip()}")
        return done.stdout

    def _repr_svg_(self) -> str | None:
        return self.svg() if shutil.which("dot") else None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        if shutil.which("dot"):
            return {"image/svg+xml": self.svg(), "text/plain": self.dot()}
        text = self.mermaid()
        return {
            "text/vnd.mermaid": text,
            "text/markdown": f"```mermaid\n{text}\n```",
            "text/plain": text,
        }
