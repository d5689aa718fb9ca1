"""The C compiler, and a folder that keeps what it made."""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

__all__ = [
    "FLAGS",
    "NoCompiler",
    "built",
    "compiler",
    "folder",
    "machine",
    "name_of",
    "vector_functions",
]

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
        parts = shlex.split(command or "")
        if parts and shutil.which(parts[0]):
            return tuple(parts)
    raise NoCompiler("no C compiler was found")


@cache
def machine() -> str:
    """Return what compiled code depends on besides its text: the compiler and the processor."""
    version = subprocess.run(
        [*compiler(), "-v", "-march=native", "-E", "-x", "c", os.devnull],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    lines = [line for line in version.stderr.splitlines() if "cc1" in line or "version" in line]
    return "\n".join((*compiler(), platform.machine(), *lines))


def folder() -> Path | None:
    """Return the folder for what is compiled, None if nothing is to be kept.

    It is that of ``AGNOGRAD_CACHE``, or ``agnograd`` in the user's folder for caches.
    """
    if sys.dont_write_bytecode:
        return None
    given = os.environ.get("AGNOGRAD_CACHE")
    base = Path(given) if given else _caches() / "agnograd"
    try:
        (base / "c").mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    return base / "c" if os.access(base / "c", os.W_OK | os.X_OK) else None


def _caches() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@cache
def _temporary() -> Path:
    """Return a folder that is there as long as the process."""
    path = Path(tempfile.mkdtemp(prefix="agnograd-"))
    atexit.register(_removed, path, os.getpid())
    return path


def _removed(path: Path, owner: int) -> None:
    """Remove a folder at the end of the process that made it, and not of a fork of it."""
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


def name_of(source: str, options: Sequence[str]) -> str:
    """Return a name that only this text, compiled in this way on this machine, has."""
    key = "\0".join((source, *FLAGS, *options, machine()))
    return f"agnograd_{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def built(source: str, options: Sequence[str] = (), name: str = "", again: bool = False) -> Path:
    """Return the shared library of a text: that of the folder, or a new one.

    Raises
    ------
    NoCompiler
        If it cannot be compiled.
    """
    name = name or name_of(source, options)
    place = folder() or _temporary()
    made = place / f"{name}.so"
    if made.exists() and not again:
        return made
    # Several processes may come here at once: each writes a file of its own, and puts it in place.
    number, other = tempfile.mkstemp(suffix=".so", prefix=f"{name}-", dir=place)
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
        os.replace(other, made)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoCompiler(str(error)) from error
    finally:
        Path(other).unlink(missing_ok=True)
    return made


@cache
def vector_functions() -> frozenset[str]:
    """Return the names that the vector functions of glibc have, without the mangled part."""
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError:
        return frozenset()
    prefix = "_ZGVnN2" if platform.machine() == "aarch64" else "_ZGVbN2"
    names = [
        f"{a}{name}{h}" for a in ("", "a") for name in ("sin", "cos", "tan") for h in ("", "h")
    ]
    names += ["exp", "expm1", "log", "log1p", "log2", "log10"]
    one = (name for name in names if hasattr(library, f"{prefix}v_{name}"))
    two = (name for name in ("pow", "atan2", "hypot") if hasattr(library, f"{prefix}vv_{name}"))
    return frozenset((*one, *two))
