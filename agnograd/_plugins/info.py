"""What is installed here and in which version: what to put into a report of a bug."""

from __future__ import annotations

import platform
import re
import sys
import warnings
from collections.abc import Iterator
from importlib.metadata import distributions, requires, version

from agnograd._plugins.backends import backend_named, backends, default_name, require
from agnograd._plugins.entry_points import BACKENDS, installed, origin


def versions() -> Iterator[tuple[str, str]]:
    """Give the versions of Python, of agnograd, and of what agnograd depends on."""
    yield "Python", f"{platform.python_version()} on {platform.platform(terse=True)}"
    yield "agnograd", version("agnograd")
    for requirement in requires("agnograd") or ():
        if "extra ==" not in requirement:
            name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
            yield name, version(name)


def backend_rows() -> Iterator[tuple[str, str, str, str, str]]:
    """Give each backend, its distribution, library, lowerings and devices, or what is wrong.

    This imports the libraries that are installed.
    """
    for name in backends():
        default = " (default)" if name == default_name() else ""
        source = origin(installed(BACKENDS)[name])
        try:
            library, devices = library_of(name)
        except Exception as error:  # a library may fail as it likes: this is where one looks why
            library, devices = f"{type(error).__name__}: {error}", ""
        known = (each.rpartition(".")[::2] for each in installed("agnograd.lowerings"))
        lowerings = {lowering for of, lowering in known if of in (name, "any")}
        yield name + default, source, library, ", ".join(sorted(lowerings)), devices


def library_of(name: str) -> tuple[str, str]:
    """Return a library with its version, and its devices."""
    backend = backend_named(name)
    xp, root = require(backend), backend.modules[0]
    told = getattr(sys.modules.get(root), "__version__", None)
    if told is None:  # then that of a distribution of the module's name
        told = next((each.version for each in distributions(name=root)), "of unknown version")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries try out devices that they no longer like
        devices = xp.__array_namespace_info__().devices()
    return f"{root} {told}", ", ".join(map(str, devices))
