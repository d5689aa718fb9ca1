"""Entry points: what importlib.metadata finds, found in a fraction of the time."""

import os
import subprocess
import sys
import textwrap
import zipfile
from importlib.metadata import entry_points

import pytest

from agnograd._plugins.entry_points import BACKENDS, EntryPoint, _entry_points

PRINTED = """
import sys
{first}
from agnograd._plugins.entry_points import OPS, PLUGINS, installed, origin
for group in (OPS, PLUGINS):
    for name, entry in installed(group).items():
        if "agnograd" not in entry.distribution:
            print(name, "|", entry.module, "|", entry.attr, "|", origin(entry))
print("importlib.metadata" in sys.modules)
"""


def found(*places, first=""):
    """Return what a process finds with these places on its path, and whether it asked Python."""
    done = subprocess.run(
        [sys.executable, "-c", PRINTED.format(first=textwrap.dedent(first))],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, places))},
    )
    assert done.returncode == 0, done.stderr
    *lines, asked = done.stdout.splitlines()
    return lines, asked == "True"


def described(folder, name, text, version="1.0", kind="dist-info"):
    """Write a folder that describes a distribution."""
    info = folder / f"{name.replace('-', '_')}-{version}.{kind}"
    info.mkdir(parents=True)
    facts = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: of a body\n"
    (info / ("METADATA" if kind == "dist-info" else "PKG-INFO")).write_text(facts)
    (info / "entry_points.txt").write_text(text)


def test_installed_are_those_of_importlib():
    expected = {
        (
            each.name,
            each.value,
            group,
            each.dist.name,
            each.dist.version,
            each.module,
            each.attr or "",
        )
        for group in entry_points().groups
        if group.startswith("agnograd.")
        for each in entry_points(group=group)
    }
    ours = [(*each, each.module, each.attr) for each in _entry_points()]
    assert set(ours) == expected
    assert len(ours) == len(expected) > 20


def test_importlib_is_not_asked(tmp_path):
    text = """
        # a comment
        [console_scripts]
        tool = pack.tool:main

        [agnograd.ops]
        one = pack.ops : first.part [extra]

        two=pack
        [agnograd.plugins]
        three = pack:Three
        [agnograd.other]
        four = pack:four
    """
    described(tmp_path, "a-pack", textwrap.dedent(text))
    described(tmp_path, "an.egg", "[agnograd.plugins]\nfive = egg", kind="egg-info")
    assert found(tmp_path) == (
        [
            *("one | pack.ops | first.part | a-pack 1.0", "two | pack |  | a-pack 1.0"),
            *("five | egg |  | an.egg 1.0", "three | pack | Three | a-pack 1.0"),
        ],
        False,
    )


def test_a_distribution_hides_what_comes_later_on_the_path(tmp_path):
    described(tmp_path / "new", "pack", "[agnograd.ops]\none = new", version="2.0")
    described(tmp_path / "old", "pack", "[agnograd.ops]\none = old\ntwo = old")
    assert found(tmp_path / "new", tmp_path / "old")[0] == ["one | new |  | pack 2.0"]
    described(tmp_path / "bare", "pack", "[console_scripts]\nrun = pack:run", version="3.0")
    assert found(tmp_path / "bare", tmp_path / "old") == ([], False)


def test_archives_are_left_to_importlib(tmp_path):
    with zipfile.ZipFile(tmp_path / "pack.zip", "w") as archive:
        archive.writestr("pack-1.0.dist-info/METADATA", "Name: pack\nVersion: 1.0\n")
        archive.writestr("pack-1.0.dist-info/entry_points.txt", "[agnograd.ops]\none = pack:ops")
    assert found(tmp_path / "pack.zip") == (["one | pack | ops | pack 1.0"], True)


def test_finders_of_other_kinds_are_left_to_importlib(tmp_path):
    described(tmp_path, "pack", "[agnograd.ops]\none = pack:ops")
    first = f"""
        from importlib.metadata import MetadataPathFinder, DistributionFinder

        class Finder:
            find_spec = staticmethod(lambda *_: None)

            def find_distributions(self, context=DistributionFinder.Context()):
                there = DistributionFinder.Context(name=context.name, path=[{str(tmp_path)!r}])
                return MetadataPathFinder.find_distributions(there)

        sys.meta_path.append(Finder())
    """
    assert found(first=first)[0] == ["one | pack | ops | pack 1.0"]


def test_what_is_no_distribution_is_passed_over(tmp_path):
    (tmp_path / "file-1.0.dist-info").write_text("no folder")
    (tmp_path / "empty-1.0.dist-info").mkdir()
    described(tmp_path, "pack", "[agnograd.ops]\none = pack:ops")
    assert found(tmp_path, tmp_path / "nowhere")[0] == ["one | pack | ops | pack 1.0"]


@pytest.mark.parametrize(
    ("value", "expected"), [("os", os), ("os.path", os.path), ("os : path.join", os.path.join)]
)
def test_an_object_is_loaded(value, expected):
    assert EntryPoint("name", value, BACKENDS, "pack", "1.0").load() is expected
