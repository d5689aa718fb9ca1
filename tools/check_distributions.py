"""Check a wheel and an sdist before they are published.

``python tools/check_distributions.py dist`` compares what is in them with ``pyproject.toml`` and
the folders of the repository; with ``--tag v0.2.0`` also their version, and the changelog's newest
section, with the tag. It prints what is wrong, a line each, and exits with 1.
"""

import argparse
import email
import re
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# What someone needs to build, to test and to cite an sdist.
IN_SDIST = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "tests",
    "docs",
)
BUILT = "agnograd/_built/"  # what is in no working tree, and in every wheel
# What may be in a working tree, and is nobody else's business.
JUNK = re.compile(r"(^|/)(__pycache__|\.git|\.venv|build|dist|\.\w+_cache|\.hypothesis|\.env)(/|$)")


def version() -> str:
    """Return the version that the sources say."""
    (found,) = re.findall(
        r'^__version__ = "(.+)"$', (ROOT / "agnograd/__init__.py").read_text(), re.MULTILINE
    )
    return str(found)


def of_tag(tag: str) -> Iterator[str]:
    """Say where a tag differs from the version and the changelog."""
    if tag != f"v{version()}":
        yield f"the tag is {tag}, and the version in agnograd/__init__.py {version()}"
    heading = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if heading is None or not re.fullmatch(
        rf"{re.escape(tag[1:])} \(\d{{4}}-\d\d-\d\d\)", heading[1]
    ):
        found = heading[1] if heading else "missing"
        yield f"the newest section of CHANGELOG.md is {found!r}, not '{tag[1:]} (DATE)'"


def of_wheel(path: Path) -> Iterator[str]:
    """Say what is missing in a wheel, or should not be there."""
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        info = f"agnograd-{version()}.dist-info"
        if f"{info}/METADATA" not in names:
            yield f"{path.name} is not of version {version()}"
            return
        metadata = email.message_from_bytes(wheel.read(f"{info}/METADATA"))
        points = wheel.read(f"{info}/entry_points.txt").decode()
    packages = [
        ROOT / each for each in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    ]
    expected = {
        file.relative_to(package.parent).as_posix()
        for package in packages
        for file in package.rglob("*")
        if file.is_file() and not JUNK.search(file.relative_to(package.parent).as_posix())
    }
    present = {name for name in names if not name.startswith((info, BUILT))}
    if not {f"{BUILT}{name}.py" for name in ("__init__", "op_add")} <= names:
        yield f"{path.name} lacks what tools/functions.py writes"
    yield from (f"{path.name} lacks {name}" for name in sorted(expected - present))
    yield from (
        f"{path.name} has {name}, which no package has" for name in sorted(present - expected)
    )
    if f"{info}/licenses/LICENSE" not in names:
        yield f"{path.name} lacks the license"
    parser = ConfigParser(delimiters="=")
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(points)
    declared = dict(PROJECT["project"]["entry-points"])
    declared["console_scripts"] = PROJECT["project"]["scripts"]
    if {group: dict(parser[group]) for group in parser.sections()} != declared:
        yield f"{path.name} has other entry points than pyproject.toml"
    if metadata["Requires-Python"] != PROJECT["project"]["requires-python"]:
        yield f"{path.name} requires Python {metadata['Requires-Python']}"


def of_sdist(path: Path) -> Iterator[str]:
    """Say what is missing in an sdist, or should not be there."""
    root = f"agnograd-{version()}"
    with tarfile.open(path) as sdist:
        names = {name.removeprefix(f"{root}/") for name in sdist.getnames()}
    tops = {name.partition("/")[0] for name in names}
    yield from (f"{path.name} lacks {name}" for name in IN_SDIST if name not in tops)
    yield from (f"{path.name} has {name}" for name in sorted(names) if JUNK.search(name))


def problems(folder: Path, tag: str | None = None) -> list[str]:
    """Return all that is wrong with the distributions in a folder."""
    wheels, sdists = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    if (len(wheels), len(sdists)) != (1, 1):
        return [f"{folder} has {len(wheels)} wheels and {len(sdists)} sdists: build one of each"]
    return [*(of_tag(tag) if tag else ()), *of_wheel(wheels[0]), *of_sdist(sdists[0])]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where `python -m build` put them")
    parser.add_argument("--tag", help="the tag that is being released, such as v0.2.0")
    arguments = parser.parse_args()
    found = problems(arguments.folder, arguments.tag)
    print("\n".join(found) or "the wheel and the sdist are complete")
    sys.exit(bool(found))
