"""Keep the memory of freed arrays for those to come, instead of giving it back to the system."""

from __future__ import annotations

import ctypes
import platform
from types import TracebackType
from typing import Self

from agnograd.errors import PluginError
from agnograd.extend import Lock

__all__ = ["Pool"]

# Parameters of mallopt, as glibc's malloc.h numbers them, and the values that keep all memory.
_MMAP_MAX, _TRIM_THRESHOLD = -4, -1
_KEEP = {_MMAP_MAX: 0, _TRIM_THRESHOLD: -1}
# The values to return to: glibc's own for the former, and for the latter what it comes to by itself
# once arrays of 32 MiB were freed (mallopt(3), "dynamic mmap threshold").
_USUAL = {_MMAP_MAX: 65536, _TRIM_THRESHOLD: 64 << 20}

_lock = Lock()
_active = 0


class Pool:
    """Keep the memory of freed arrays while the plugin is active.

    NumPy takes arrays from the C library's allocator. glibc's asks the system for every large one,
    and gives it back when it is freed; the system then clears each page of it when it is first
    touched, which for a sum or a product costs as much as the arithmetic. This plugin lets the
    allocator keep what is freed, for all of the process, until the last block that it is active in
    is left: then what is unused goes back to the system.

    Raises
    ------
    PluginError
        On entering, if the C library is not glibc.
    """

    def __enter__(self) -> Self:
        global _active
        with _lock:
            if not _active:
                _set(_KEEP)
            _active += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _active
        with _lock:
            _active -= 1
            if not _active:
                _set(_USUAL)
                _library().malloc_trim(0)


def _library() -> ctypes.CDLL:
    name, _ = platform.libc_ver()
    if name != "glibc":
        raise PluginError(
            "the plugin 'pool' sets options of glibc's allocator; here the C library is "
            f"{name or 'another one'}, so do without the plugin"
        )
    return ctypes.CDLL(None)


def _set(options: dict[int, int]) -> None:
    library = _library()
    for option, value in options.items():
        if not library.mallopt(option, value):
            raise PluginError(
                f"the plugin 'pool': glibc refused mallopt({option}, {value}); do without it"
            )
