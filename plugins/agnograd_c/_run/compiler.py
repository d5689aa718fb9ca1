"""The C compiler."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from agnograd_c._choose.steps import FUNCTIONS, FUNCTIONS2
from agnograd_c._run.cache import is_whole, places, put

# No option that changes results: no fused products, and no algebra of real numbers.
FLAGS = (
    "-O2",
    "-march=native",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fPIC",
    "-shared",
    "-pthread",
    "-w",
    "-Wno-psabi",
)
_SECONDS = 60.0


class NoCompiler(Exception):  # noqa: N818 - it says what is missing, and no user sees it
    """There is no C compiler, or it does not compile what it is given."""


@cache
def compiler() -> tuple[str, ...]:
    """Return the command of the C compiler.

    It is the one of ``AGNOGRAD_CC`` or ``CC``, the one that Python was made with, or one of ``cc``,
    ``gcc`` and ``clang``.

    Raises
    ------
    NoCompiler
        If none is found.
    """
    own = os.environ.get("AGNOGRAD_CC", os.environ.get("CC"))
    tried = [own] if own is not None else [sysconfig.get_config_var("CC"), "cc", "gcc", "clang"]
    for command in tried:
        with suppress(ValueError):  # of a quotation mark that is open
            parts = shlex.split(command or "")
            if parts and shutil.which(parts[0]):
                return tuple(parts)
    raise NoCompiler("no C compiler was found")


@cache
def machine() -> str:
    """Return what compiled code depends on besides its text: the compiler and the processor."""
    with environment():
        version = subprocess.run(
            [*compiler(), "-v", "-march=native", "-E", "-x", "c", os.devnull],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    lines = [line for line in version.stderr.splitlines() if "cc1" in line or "version" in line]
    return "\n".join((*compiler(), platform.machine(), *lines))


def name_of(source: str, options: Sequence[str]) -> str:
    """Return a name that only this text, compiled in this way on this machine, has."""
    key = "\0".join((source, *FLAGS, *options, machine()))
    return f"agnograd_{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def loaded(
    load: Callable[[Path], Any], source: str, options: Sequence[str] = (), name: str = ""
) -> Any:
    """Return what a function makes of the shared library of a text, which is built if need be.

    It is that of the user's folder, or, where that does not do, as on a disk without execution, of
    a private one.

    Raises
    ------
    NoCompiler
        If the text cannot be compiled, or the library not be loaded.
    """
    name = name or name_of(source, options)
    failure: Exception | None = None
    with environment():
        for place in places():
            path = place / f"{name}.so"
            for build in (False, True) if is_whole(path) else (True,):
                try:
                    if build:
                        _build(source, options, path)
                    return load(path)
                except (OSError, ImportError) as error:
                    failure = error
    raise NoCompiler(str(failure))


def _build(source: str, options: Sequence[str], path: Path) -> None:
    # Several processes may come here at once: each writes a file of its own, and puts it in place.
    number, other = tempfile.mkstemp(suffix=".so", prefix=f"{path.stem}-", dir=path.parent)
    os.close(number)
    try:
        done = subprocess.run(
            [*compiler(), *FLAGS, "-x", "c", "-", "-o", other, *options],
            input=source.encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        if done.returncode:
            raise NoCompiler(done.stderr.decode(errors="replace"))
        put(Path(other), path)
    finally:
        Path(other).unlink(missing_ok=True)


@contextmanager
def environment() -> Iterator[None]:
    """Say of a failure of the environment, such as no file descriptors, that C is not to be had."""
    try:
        yield
    except (OSError, subprocess.SubprocessError) as error:
        raise NoCompiler(str(error)) from error


@cache
def vector_functions() -> frozenset[str]:
    """Return the names that the vector functions of glibc have, without the mangled part."""
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return frozenset()
    prefix = "_ZGVnN2" if platform.machine() == "aarch64" else "_ZGVbN2"
    kinds = (("v", FUNCTIONS), ("vv", FUNCTIONS2))
    return frozenset(
        name
        for kind, names in kinds
        for name in names
        if hasattr(library, f"{prefix}{kind}_{name}")
    )
