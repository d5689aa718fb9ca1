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
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from agnograd._util.switches import switch

T = TypeVar("T")
BEGINNING = time.time()  # of this process, as far as its modules are concerned

# Python's version, a hash of key and content, the content's length, and the key.
_HEAD = struct.Struct("<L8sL16s")
_APPENDING = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
# How long the file may become: several times as long as a program's functions take.
KEPT_BYTES = switch("KEPT_BYTES", 2**21, least=2**16, most=2**26, module=__name__)


def kept(text: str, make: Callable[[], T], is_known: Callable[[], bool] = lambda: True) -> T:
    """Return what ``make`` returns, or did in an earlier process: it depends only on the text.

    It is code, or text, or lists and tuples of them. ``is_known`` says, after ``make``, whether the
    text is all that it depended on.
    """
    key = digest(text.encode(errors="surrogatepass"))
    known = _found(key)
    if known is None:
        made: Any = make()
        if is_known():
            _keep(key, marshal.dumps(made))
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


def _found(key: bytes) -> bytes | None:
    """Return the content of a record, if there is one and it is as it was written."""
    data, places = _known()
    place = places.get(key)
    if place is None:
        return None
    _, known, length, _ = _HEAD.unpack_from(data, place)
    content = data[place + _HEAD.size : place + _HEAD.size + length]
    if _imp.source_hash(0, key + content) == known:
        return content
    _forget()
    return None


@cache
def _known() -> tuple[bytes, dict[bytes, int]]:
    """Return the file, and where a record is in it by its key."""
    path, places = _file(), dict[bytes, int]()
    try:
        with open(path or "", "rb") as file:
            data = file.read()
    except OSError:
        return b"", places
    place = 0
    while place + _HEAD.size <= len(data):
        version, _, length, key = _HEAD.unpack_from(data, place)
        if version != sys.hexversion or length > KEPT_BYTES:  # it is of another one, or broken
            _forget()
            return b"", {}
        places[key] = place
        place += _HEAD.size + length
    if place > len(data):  # another process is writing it
        del places[key]
    return data, places


def _forget() -> None:
    path = _file()
    if path is not None and not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _keep(key: bytes, content: bytes) -> None:
    """Add a record to the file; one that has become large is deleted, so that another begins."""
    path = _file()
    if path is None or sys.dont_write_bytecode:
        return
    head = _HEAD.pack(sys.hexversion, _imp.source_hash(0, key + content), len(content), key)
    with contextlib.suppress(OSError):
        try:
            file = os.open(path, _APPENDING, 0o666)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            file = os.open(path, _APPENDING, 0o666)
        try:
            os.write(file, head + content)
            large = os.fstat(file).st_size > KEPT_BYTES
        finally:
            os.close(file)
        if large:
            _forget()
