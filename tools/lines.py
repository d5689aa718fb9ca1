"""Print the lines of Python of each part of the product, beside those of the last release.

``python tools/lines.py`` prints the table. ``python tools/lines.py --write`` keeps the counts in
``tools/lines/<version>.txt``, as a release does.
"""

import argparse
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "tools" / "lines"
FOLDERS = ("agnograd/", "backends/", "plugins/")


def counted(root: Path) -> dict[str, int]:
    """Return the lines of each layer of ``agnograd/``, of each backend and of each plugin."""
    found: dict[str, int] = {}
    for folder in FOLDERS:
        for path in (root / folder).rglob("*.py"):
            inner = path.relative_to(root / folder).parts
            part = folder + (inner[0] if len(inner) > 1 else "")
            found[part] = found.get(part, 0) + len(path.read_text().splitlines())
    return dict(sorted(found.items()))


def kept(version: str) -> dict[str, int]:
    """Return the counts of a release."""
    lines = (KEPT / f"{version}.txt").read_text().splitlines()
    return {part: int(count) for part, count in map(str.split, lines)}


def last_release() -> str:
    """Return the newest version with counts."""
    return max(
        (path.stem for path in KEPT.glob("*.txt")),
        key=lambda version: tuple(map(int, version.split("."))),
    )


def table(now: dict[str, int], before: dict[str, int], version: str) -> str:
    """Return a row for each part, and for the folders together."""
    rows = [("", "lines", version, "difference")]
    for part in sorted(now.keys() | before.keys()):
        rows.append(row(part, now.get(part, 0), before.get(part, 0)))
    for folder in FOLDERS:
        sums = (
            sum(n for part, n in each.items() if part.startswith(folder)) for each in (now, before)
        )
        rows.append(row(f"all of {folder}", *sums))
    rows.append(row("all of it", sum(now.values()), sum(before.values())))
    return "\n".join(f"{part:32}{lines:>8}{then:>8}{more:>12}" for part, lines, then, more in rows)


def row(part: str, now: int, before: int) -> tuple[str, str, str, str]:
    """Return the cells of a row."""
    return part, f"{now:,}", f"{before:,}", f"{now - before:+,}" if now != before else ""


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="keep the counts as a release's")
    now = counted(ROOT)
    if parser.parse_args().write:
        text = (ROOT / "agnograd" / "__init__.py").read_text()
        version = re.search(r'__version__ = "(.+)"', text)
        assert version is not None
        lines = "".join(f"{part} {count}\n" for part, count in now.items())
        (KEPT / f"{version[1]}.txt").write_text(lines)
    else:
        version = last_release()
        print(table(now, kept(version), version))


if __name__ == "__main__":
    main()
