"""More libraries: a file of calls for ``agnograd certify`` and one of known gaps for each.

The libraries are those of the extra ``certified``. Certificates are made with

    agnograd certify LIBRARY --calls more/NAME.toml --backend numpy,strict,torch,jax \
        --gaps more/NAME.gaps --update-gaps --json NAME.json

and ``python -m tests.clients.more *.json`` writes into ``more/outcomes.json`` how many gradients
are right.
"""

import json
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agnograd.testing.gaps import Gap, read_gaps
from agnograd_certify._file import read_calls

from .matrix import BACKENDS, FOLDER, ROOT

OUTCOMES = FOLDER / "more" / "outcomes.json"


@dataclass(frozen=True)
class Library:
    """A library of the extra: what is called of it, and what is known to be bad."""

    path: Path

    @property
    def name(self) -> str:
        """Return the name of its distribution."""
        return self.path.stem

    @property
    def about(self) -> str:
        """Return what it is for: the first line of its file."""
        return self.path.read_text().partition("\n")[0].strip("# .")

    @property
    def module(self) -> str:
        """Return the module that is certified."""
        return read_calls(self.path).library

    @property
    def calls(self) -> list[str]:
        """Return the names of its calls."""
        return [call.name for call in read_calls(self.path).calls]

    @property
    def gaps(self) -> list[Gap]:
        """Return its known gaps."""
        return read_gaps(self.path.with_suffix(".gaps"))

    @property
    def outcomes(self) -> dict[str, dict[str, int]]:
        """Return, for each backend, how many gradients have each status."""
        found: dict[str, dict[str, int]] = json.loads(OUTCOMES.read_text())[self.name]
        return found

    @property
    def reason(self) -> str:
        """Return why most gradients on numpy are bad."""
        ended = [gap for gap in self.gaps if gap.pattern.endswith("::gradient[numpy]")]
        found = Counter(_short(gap.reason) for gap in ended)
        return found.most_common(1)[0][0] if found else ""


def _short(reason: str) -> str:
    """Return a reason without its line and what to do."""
    text = reason.partition(" (")[0].partition(": ")[2]
    return text.partition(" would lose the gradient")[0].partition("; ")[0]


def libraries() -> list[Library]:
    """Return all libraries."""
    return [Library(path) for path in sorted((FOLDER / "more").glob("*.toml"))]


def versions() -> list[str]:
    """Return the versions that are spoken of."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: list[str] = project["optional-dependencies"]["certified"]
    return found


def table() -> str:
    """Return a table of the libraries in Markdown."""
    head = " | ".join(f"`{name}`" for name in BACKENDS)
    lines = [
        f"| library | what it is for | calls | {head} | what ends most of the others on numpy |",
        f"| --- | --- | --- | {' | '.join('---' for _ in BACKENDS)} | --- |",
    ]
    for each in libraries():
        cells = " | ".join(_cell(each.outcomes[backend]) for backend in BACKENDS)
        reason = f"`{each.reason}`" if each.reason else ""
        lines.append(f"| {each.name} | {each.about} | {len(each.calls)} | {cells} | {reason} |")
    return "\n".join(lines) + "\n"


def _cell(counts: dict[str, int]) -> str:
    right, left_out = counts.get("right", 0), counts.get("unsupported", 0)
    return f"{right} of {sum(counts.values()) - left_out}"


def counted(report: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Return, for each backend of a certificate, how many gradients have each status."""
    cells = [cell for cell in report["cells"] if cell["check"] == "gradient"]
    return {
        name: dict(sorted(Counter(c["status"] for c in cells if c["backend"] == name).items()))
        for name in report["backends"]
    }


def update(paths: list[Path]) -> None:
    """Write how many gradients are right, of certificates in JSON named as the libraries are."""
    found = json.loads(OUTCOMES.read_text()) if OUTCOMES.exists() else {}
    found |= {path.stem: counted(json.loads(path.read_text())) for path in paths}
    OUTCOMES.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")


if __name__ == "__main__":
    update([Path(each) for each in sys.argv[1:]])
