"""The folder that keeps what the compiler made: the user's own, to which nobody else can write."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

_HOUR, _DAY = 3600.0, 86400.0
_KEPT = 90 * _DAY  # after which a library that nobody used goes


def places() -> Iterator[Path]:
    """Yield the folders for libraries, the best first: the user's, and one of this process."""
    kept = folder()
    if kept is not None:
        yield kept
    yield _temporary(os.getpid())


def folder() -> Path | None:
    """Return the folder that keeps libraries for other processes, None if there is none.

    It is that of ``AGNOGRAD_CACHE``, or ``agnograd`` in the user's folder for caches. Whoever can
    write to it, or put another one in its place, could have this process run what they like.
    """
    if sys.dont_write_bytecode:
        return None
    given = os.environ.get("AGNOGRAD_CACHE")
    try:
        base = Path(given) if given else _caches() / "agnograd"
        for path in (base, base / "c"):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        usable = _is_private(base / "c") and os.access(base / "c", os.W_OK | os.X_OK)
    except (OSError, RuntimeError):  # the latter of a user without a home
        return None
    return base / "c" if usable else None


def _caches() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _is_private(path: Path) -> bool:
    """Return whether only the user and the administrator can change what is at a path."""
    if os.name != "posix":
        return True
    whole = path.resolve()
    for each in (whole, *whole.parents):
        found = each.lstat()
        sticky = each is not whole and found.st_mode & stat.S_ISVTX  # as of /tmp
        if found.st_uid not in (os.geteuid(), 0) or (found.st_mode & 0o022 and not sticky):
            return False
    return True


@cache
def _temporary(process: int) -> Path:
    """Return a folder that is there as long as the process."""
    path = Path(tempfile.mkdtemp(prefix="agnograd-"))
    atexit.register(_removed, path, process)
    return path


def _removed(path: Path, owner: int) -> None:
    """Remove a folder at the end of the process that made it, and not of a fork of it."""
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


# -- files -----------------------------------------------------------------------------------------


def is_whole(path: Path) -> bool:
    """Return whether a library is there as it was put there, and is the user's own."""
    try:
        if not (_is_private(path) and path.is_file()):
            return False
        is_same = _digest(path) == _sum_of(path).read_text()
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)  # it is in use
    except OSError:
        return False
    return is_same


def put(made: Path, path: Path) -> None:
    """Put a file that was made in the folder of a path in its place, with its digest."""
    number, digest = tempfile.mkstemp(prefix=f"{path.stem}-", dir=path.parent)
    try:
        with os.fdopen(number, "w") as file:
            file.write(_digest(made))
        # Where two processes come here at once, a file may be of one and its digest of the other:
        # then it is made again.
        made.chmod(0o700)
        os.replace(digest, _sum_of(path))
        os.replace(made, path)
    finally:
        Path(digest).unlink(missing_ok=True)
    _prune(path.parent)


def _sum_of(path: Path) -> Path:
    return path.with_suffix(".sha256")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _prune(place: Path) -> None:
    """Remove what killed compilers left, and what was not used for a long time."""
    now = time.time()
    for each in place.iterdir():
        with suppress(OSError):
            age = now - max(each.stat().st_mtime, _used(each))
            if age > (_HOUR if "-" in each.name else _KEPT):
                each.unlink()


def _used(path: Path) -> float:
    """Return when the library of a digest was used last."""
    library = path.with_suffix(".so")
    return library.stat().st_mtime if library.exists() else 0.0
