"""The functions of a program's groups as shared libraries."""

from __future__ import annotations

import _ctypes
import ctypes
import weakref
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from agnograd_c._choose.steps import FUNCTIONS2
from agnograd_c._run.compiler import environment, loaded, vector_functions
from agnograd_c._write.function import Function
from agnograd_c._write.products import HEADER, OPTIONS

_FOLDER = Path(__file__).parent.parent / "csrc"
_close = getattr(_ctypes, "dlclose", None)  # not on Windows


@cache
def source_of(name: str) -> str:
    """Return the text of a file in C."""
    with environment():
        return (_FOLDER / name).read_text()


class Library(ctypes.CDLL):
    """A shared library that is closed once neither it nor one of its functions is used any more.

    Else a process that compiles many thousands of functions could open no more of them.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        if _close is not None:
            # At the end of the process other threads may still run what is in it.
            weakref.finalize(self, _close, self._handle).atexit = False


def library_of(functions: Sequence[Function]) -> tuple[Library, list[str]]:
    """Compile functions of one header, and of as many lanes.

    Return their library, and what they are called in it.

    Raises
    ------
    NoCompiler
        If they cannot be compiled.
    """
    lanes = functions[0].lanes
    vectors = vector_functions() if lanes > 1 else frozenset()
    texts = [f"#define LANES {lanes}", source_of(functions[0].header)]
    if lanes > 1:
        texts.append(source_of("spread.h"))
    called = sorted(set().union(*(each.functions for each in functions)))
    for name, type in called:
        kind = "2" * (name in FUNCTIONS2)
        if name in vectors:
            texts.append(f"VECTORS{kind}({name}, {type})")
        else:
            texts.append(f"FUNCTION{kind}({name}, {type}, {'f' * (type == 'f32')})")
    known: dict[str, str] = {}  # what is repeated is compiled once
    names = [known.setdefault(each.text, f"group{len(known)}") for each in functions]
    texts += [text.replace("@", name) for text, name in known.items()]
    options = [*OPTIONS] if functions[0].header == HEADER else []
    options += ["-lmvec"] if any(name in vectors for name, _ in called) else []
    return loaded(Library, "\n".join([*texts, ""]), [*options, "-lm"]), names
