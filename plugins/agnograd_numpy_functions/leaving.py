"""Who asked for NumPy's memory of a tracked array, and what to use instead: an error's text."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from inspect import currentframe, getattr_static
from itertools import islice, takewhile
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agnograd import Variable

__all__ = ["asked"]

_OWN = frozenset({"agnograd", __package__})
_INSTALLED = frozenset({"site-packages", "dist-packages"})
_CREATION = {"array", "asanyarray", "asarray", "ascontiguousarray", "full"}
# Parts of SciPy whose functions may compute in the namespace of the arrays that they get.
_DISPATCHING = {
    "cluster",
    "differentiate",
    "fft",
    "ndimage",
    "signal",
    "spatial",
    "special",
    "stats",
}
_SCIPY = (
    "with SCIPY_ARRAY_API=1 in the environment before SciPy is imported, those of SciPy's "
    "functions that can do it compute with the Variable itself; "
)
_SKLEARN = (
    "with SCIPY_ARRAY_API=1 in the environment and sklearn.set_config(array_api_dispatch=True), "
    "those of scikit-learn's functions that can do it compute with the Variable itself; "
)


def asked(variable: Variable, protocol: str) -> str:
    """Return who asked for the memory of a tracked array, and what to use instead."""
    frames = list(_outside(currentframe()))
    user = next((frame for frame in frames if not _is_installed(frame)), None)
    source = "" if user is None else _source(user)
    called = None if user is None else _written(user, source)
    name = _named(called) or _entered(frames)
    by = name or source
    where = "" if user is None else f" ({Path(user.f_code.co_filename).name}:{user.f_lineno})"
    told = f": {by} asked for NumPy's memory of it{where}" if by else ""
    instead = _instead(variable, name, called) if name else ""
    if source.endswith("]"):
        instead = "to write to a raw array, make it a Variable first, by xp.asarray(raw); "
    return f"{told}; {instead}".removesuffix("; ") if told or instead else ""


def _outside(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames from the one that asked outward, without those of this package."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _OWN:
            yield frame
        frame = frame.f_back


def _is_installed(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return not _INSTALLED.isdisjoint(Path(file).parts) or file.startswith("<frozen")


def _source(frame: FrameType) -> str:
    """Return the text of the call that a frame is at, if it is in one line of a file."""
    places = islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    first, last, start, end = next(places, (None,) * 4)
    if first is None or first != last or start is None or end is None:
        return ""
    line = linecache.getline(frame.f_code.co_filename, first, frame.f_globals)
    return line.encode()[start:end].decode(errors="replace").strip()


def _written(frame: FrameType, source: str) -> Any:
    """Return the function that a call in the user's source names, without calling anything."""
    if source.count("(") != 1 and not _is_one_call(source):
        return None
    first, *rest = source.partition("(")[0].strip().split(".")
    found = frame.f_locals.get(first, frame.f_globals.get(first))
    for part in rest:
        found = getattr_static(found, part, None)
    return found


def _is_one_call(source: str) -> bool:
    """Return whether the first parenthesis of a call is that of its arguments."""
    depth = 0
    for place, each in enumerate(source):
        depth += (each in "([{") - (each in ")]}")
        if each == ")" and not depth:
            return place == len(source) - 1
    return False


def _named(function: Any) -> str | None:
    """Return the public name of an installed library's function or class."""
    module, name = (getattr_static(function, each, None) for each in ("__module__", "__name__"))
    if hasattr(function, "nin") and type(function).__module__ == "numpy":  # a ufunc
        module, name = "numpy", function.__name__
    elif callable(function) and not (isinstance(module, str) and isinstance(name, str)):
        module, name = getattr(function, "__module__", None), getattr(function, "__name__", None)
    if not (isinstance(module, str) and isinstance(name, str)):
        return None
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    known = module == "numpy" or not _INSTALLED.isdisjoint(Path(file).parts)
    return _public(module, name) if known else None


def _entered(frames: list[FrameType]) -> str | None:
    """Return the public name of the library's function that the user's code entered."""
    called = None
    for frame in takewhile(_is_installed, frames):
        first, _, method = frame.f_code.co_qualname.partition(".")
        module = frame.f_globals.get("__name__", "")
        of = getattr_static(frame.f_locals.get("self"), "name", None) if method else None
        # SciPy's distributions are objects that know their names.
        found = _public(module, of) if isinstance(of, str) else None
        found = found or _public(module, first) or _object_of(module, first)
        if found:
            called = f"{found}.{method}" if method not in ("", "__init__") else found
    return called


def _object_of(module: str, name: str) -> str | None:
    """Return the public name of the object that SciPy makes a class of a distribution for."""
    short = name.removesuffix("_gen").removesuffix("_frozen")
    found = None if short == name else _public(module, short)
    place = "" if found is None else found.rpartition(".")[0]
    return found if not isinstance(getattr(sys.modules.get(place), short, None), type) else None


def _public(module: str, name: str) -> str | None:
    """Return the name by which a module's function is found without underscores."""
    while module and not name.startswith(("_", "<")):
        private = any(part.startswith("_") or part == "core" for part in module.split("."))
        if not private and hasattr(sys.modules.get(module), name):
            return f"{module}.{name}"
        module = module.rpartition(".")[0]
    return None


def _instead(variable: Variable, name: str, called: Any) -> str:
    """Return what to write instead of a call, and the semicolon after it."""
    library, _, function = name.partition(".")
    if library == "numpy":
        return _instead_of_numpys(function, called)
    if library == "sklearn":
        return _SKLEARN
    if library != "scipy":
        return ""
    found: Any = variable.__array_namespace__()
    for part in function.split("."):
        found = None if found is None else getattr(found, part, None)
    if found is not None:
        own = f"xp.{function}, of xp = x.__array_namespace__(), is the same with derivatives; "
        return own + (_SCIPY if function.startswith("special.") else "")
    return _SCIPY if function.partition(".")[0] in _DISPATCHING else ""


def _instead_of_numpys(function: str, called: Any) -> str:
    if function in _CREATION:
        args = "shape, x" if function == "full" else "x"
        return (
            f"np.{function} makes NumPy's arrays, and np.{function}({args}, like=x) a Variable, of "
            "a list of Variables, too; "
        )
    from agnograd_numpy_functions.functions import FUNCTIONS  # few programs need them

    if function not in FUNCTIONS and not hasattr(called, "nin"):
        return ""
    return (
        f"NumPy looks for Variables among the main arguments of np.{function}, and never inside "
        "lists: make these arguments Variables by xp.asarray(list), of "
        "xp = x.__array_namespace__(); "
    )
