"""Every doctest holds, in every module that the wheel carries."""

import doctest
import importlib
import pkgutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = [
    ROOT / folder for folder in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
]
MODULES = [
    name
    for package in PACKAGES
    for name in (
        package.name,
        *(info.name for info in pkgutil.walk_packages([str(package)], package.name + ".")),
    )
]


def imported(name):
    """Return a module; skip if a library that it needs is missing, fail if one of ours is."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in {package.name for package in PACKAGES}:
            raise
        pytest.skip(f"{name} needs {error.name}, which is not installed")


@pytest.mark.parametrize("name", MODULES)
def test_doctests_hold(name, monkeypatch):
    monkeypatch.delenv("AGNOGRAD_BACKEND", raising=False)
    failed, _ = doctest.testmod(imported(name), optionflags=doctest.ELLIPSIS)
    assert not failed


def test_doctests_are_found():
    examples = doctest.DocTestFinder().find(
        importlib.import_module("agnograd._transforms.gradients")
    )
    assert any(test.examples for test in examples)
