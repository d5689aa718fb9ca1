"""What took long to make from a text, kept for later processes as Python keeps bytecode.

It is in one file, in the folder ``__pycache__`` beside this module or below
``PYTHONPYCACHEPREFIX``. Like bytecode it is trusted, and not written under ``-B`` or
``PYTHONDONTWRITEBYTECODE``. Where the file cannot be read or written, things are made again. It may
be deleted at any time.

The file is a row of records. Each is added at its end by a single write, so that processes need no
lock. Records are found by a hash of all of the text: what was made of another text, or by another
version of Python, is never taken. If anything is wrong with the file, it is deleted.
"""

from __future__ import annotations

import _imp  # the hash by which Python itself knows sources
import contextlib
import marshal
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
BEGINNING = time.time()  # of this process, as far as its modules are concerned

_HEAD = struct.Struct("<L8sL")  # Python's version, a hash of the rest, and the length of that
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
_MOST = 2**22  # bytes: twice as many as all functions of a backend take


def kept(text: str, make: Callable[[], T], is_known: Callable[[], bool] = lambda: True) -> T:
    """Return what ``make`` returns, or did in an earlier process: it depends only on the text.

    It is code, or text, or lists and tuples of them. ``is_known`` says, after ``make``, whether the
    text is all that it depended on.
    """
    key = digest(text.encode(errors="surrogatepass"))
    known = _known().get(key)
    if known is None:
        made: Any = make()
        if is_known():
            _keep(key + marshal.dumps(made))
        return made  # type: ignore[no-any-return]
    found: T = marshal.loads(known)
    return found


def digest(data: bytes) -> bytes:
    """Return a hash of 16 bytes."""
    return _imp.source_hash(0, data) + _imp.source_hash(1, data)


def _file() -> str | None:
    """Return the file's path: that of this module's bytecode, but for its end."""
    bytecode = __spec__.cached if __spec__ is not None else None
    return None if bytecode is None else bytecode.removesuffix(".pyc") + ".functions"


@cache
def _known() -> dict[bytes, bytes]:
    """Return the records, by their keys."""
    path = _file()
    with contextlib.suppress(OSError):
        if path is not None:
            with open(path, "rb") as file:
                data = file.read()
            try:
                return {record[:16]: record[16:] for record in _records(data)}
            except ValueError:
                if not sys.dont_write_bytecode:
                    os.unlink(path)
    return {}


def _records(data: bytes) -> Iterator[bytes]:
    """Yield the records of a file; it raises if one is not as it was written.

    The last one may be incomplete: another process is writing it.
    """
    place = 0
    while place + _HEAD.size <= len(data):
        version, known, length = _HEAD.unpack_from(data, place)
        place += _HEAD.size + length
        record = data[place - length : place]
        if version != sys.hexversion or length > _MOST:
            raise ValueError("this is not a record of this version of Python")
        if len(record) == length:
            if known != _imp.source_hash(0, record):
                raise ValueError(f"the record that ends at {place} is not as it was written")
            yield record


def _keep(record: bytes) -> None:
    """Add a record to the file; one that has become large is deleted, so that another begins."""
    path = _file()
    if path is None or sys.dont_write_bytecode:
        return
    data = _HEAD.pack(sys.hexversion, _imp.source_hash(0, record), len(record)) + record
    with contextlib.suppress(OSError):
        try:
            file = os.open(path, _APPENDING, 0o666)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            file = os.open(path, _APPENDING, 0o666)
        try:
            os.write(file, data)
            large = os.fstat(file).st_size > _MOST
        finally:
            os.close(file)
        if large:
            os.unlink(path)
