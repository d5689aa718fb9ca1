"""Put a build of the documentation into a site of several versions.

``python tools/site.py build/docs build/site 0.2`` copies the build to ``build/site/0.2``, in the
place of an earlier build of that version, and writes what the switch of versions needs:
``versions.json``, the names, newest first. ``index.html`` leads to the newest. Any web server of
static files can serve the site.
"""

import json
import re
import shutil
import sys
from pathlib import Path

INDEX = """\
<!doctype html>
<meta charset="utf-8">
<title>agnograd</title>
<meta http-equiv="refresh" content="0; url={version}/">
<a href="{version}/">The documentation of agnograd {version}</a>
"""


def versions(site: Path) -> list[str]:
    """Return the versions that a site has, newest first."""
    names = [path.name for path in site.iterdir() if re.fullmatch(r"\d+\.\d+", path.name)]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")], reverse=True)


def add(build: Path, site: Path, version: str) -> None:
    """Put a build into a site, as the documentation of a version such as "0.2"."""
    if not re.fullmatch(r"\d+\.\d+", version):
        raise SystemExit(f"site.py: the version must be like 0.2, not {version!r}")
    if not (build / "index.html").exists():
        raise SystemExit(f"site.py: {build} has no index.html: build the documentation first")
    site.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(site / version, ignore_errors=True)
    shutil.copytree(build, site / version, ignore=shutil.ignore_patterns(".doctrees", ".buildinfo"))
    names = versions(site)
    (site / "versions.json").write_text(json.dumps(names) + "\n")
    (site / "index.html").write_text(INDEX.format(version=names[0]))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit("usage: python tools/site.py BUILD SITE VERSION")
    add(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
