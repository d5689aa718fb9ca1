"""What is installed here and in which version: what to put into a report of a bug."""

from __future__ import annotations

import platform
import re
import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from agnograd._plugins.backends import backend_named, backends, default_name, require
from agnograd._plugins.entry_points import BACKENDS, installed, origin


class BackendRow(NamedTuple):
    """A backend: its distribution, and its library with version and devices, or what is wrong."""

    name: str
    distribution: str
    library: str
    devices: str


def versions() -> Iterator[tuple[str, str]]:
    """Give the versions of Python, of agnograd, and of what agnograd depends on."""
    from importlib.metadata import requires, version

    yield "Python", f"{platform.python_version()} on {platform.platform(terse=True)}"
    yield "agnograd", version("agnograd")
    for requirement in requires("agnograd") or ():
        if "extra ==" not in requirement:
            name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
            yield name, version(name)


def backend_rows() -> Iterator[BackendRow]:
    """Give what is known of each backend; this imports the libraries that are installed."""
    for name in backends():
        default = " (default)" if name == default_name() else ""
        source = origin(installed(BACKENDS)[name])
        try:
            library, devices = library_of(name)
        except Exception as error:  # a library may fail as it likes: this is where one looks why
            library, devices = f"{type(error).__name__}: {error}", ""
        yield BackendRow(name + default, source, library, devices)


def library_of(name: str) -> tuple[str, str]:
    """Return a library with its version, and its devices."""
    backend = backend_named(name)
    xp = require(backend)
    root = backend.modules[0]
    version = getattr(sys.modules.get(root), "__version__", None) or _installed_version(root)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries try out devices that they no longer like
        devices = xp.__array_namespace_info__().devices()
    return f"{root} {version}", ", ".join(str(device) for device in devices)


def _installed_version(name: str) -> str:
    """Return the version of a distribution of a module's name, which the module does not tell."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "of unknown version"
