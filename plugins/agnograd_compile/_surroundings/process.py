"""What functions read of the process: it is compared in each call, or they are warned of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from operator import attrgetter
from typing import Any

# What is compared of a part: what a function returns, by default, or else this.
_COMPARED: dict[str, Callable[[Any], Any]] = {
    "os.environ": dict,
    "os.getenv": lambda _: dict(os.environ),
    "sys.argv": list,
    "sys.path": list,
    "decimal.getcontext": lambda get: repr(get()),
    **dict.fromkeys(
        ("os.getcwd", "sys.getrecursionlimit", "numpy.geterr", "numpy.get_printoptions"),
        lambda get: get(),
    ),
}
# What differs from call to call, or lies outside of the process.
_CHANGING = (
    "sys.modules",
    *("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.process_time"),
    *("time.perf_counter", "time.perf_counter_ns", "time.localtime", "time.gmtime"),
    *("datetime.datetime.now", "datetime.datetime.today", "datetime.date.today"),
    *("uuid.uuid1", "uuid.uuid4", "secrets.token_bytes", "secrets.token_hex", "secrets.randbelow"),
    *("os.urandom", "os.listdir", "os.scandir", "os.stat", "os.path.exists", "os.path.isfile"),
    *("os.path.isdir", "os.path.getmtime", "os.path.getsize", "builtins.open", "builtins.input"),
    *("pathlib.Path.exists", "pathlib.Path.read_text", "pathlib.Path.read_bytes"),
    *("glob.glob", "subprocess.run", "subprocess.check_output", "socket.gethostname"),
    *("numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile"),
)
_MODULES = tuple(dict.fromkeys(each.partition(".")[0] for each in (*_COMPARED, *_CHANGING)))


Part = tuple[tuple[str, ...], str, Callable[[], Any] | None]
_known: dict[int, list[Part]] = {}
_kept: list[Any] = []  # what they begin with, so that nothing else has its identity
_modules: tuple[str, ...] = ()  # those whose parts are known


def parts() -> dict[int, list[Part]]:
    """Return what code may read of the process, by the identity of what it names.

    That is a module, something in it, or what is read itself. Each part has the attributes by which
    it is read from there, what it is called, and what returns what it is now, to compare with; None
    if that says nothing.
    """
    global _modules
    loaded = tuple(filter(sys.modules.__contains__, _MODULES))
    if loaded == _modules:
        return _known
    for path in (*_COMPARED, *_CHANGING):
        module = path.partition(".")[0]
        if module not in loaded or module in _modules:
            continue
        scope, names = sys.modules[module], path.split(".")[1:]
        begins = [*accumulate(names, getattr, initial=scope)]
        compared = _COMPARED.get(path)
        read = None if compared is None else partial(_read, compared, scope, path)
        for count, begin in enumerate(begins):
            _known.setdefault(id(begin), []).append((tuple(names[count:]), path, read))
        _kept.append(begins)
    _modules = loaded
    return _known


def _read(compared: Callable[[Any], Any], scope: Any, path: str) -> Any:
    return compared(attrgetter(path.partition(".")[2])(scope))
