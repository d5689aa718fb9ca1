"""Distributions made importable as an installation makes them, without pip."""

import shutil
import tomllib


def install(folder, site):
    """Copy a distribution's packages into ``site``, with the metadata that entry points are in."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    shutil.copytree(folder / "src", site, dirs_exist_ok=True)
    module = project["name"].replace("-", "_").replace(".", "_")
    info = site / f"{module}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
