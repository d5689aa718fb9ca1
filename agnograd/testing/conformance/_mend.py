"""Where to mend what a check found: the lines of a rule, an op, or a backend."""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agnograd._registry import registered
from agnograd.testing.conformance._trial import Trial

__all__ = ["mend"]

CORE = Path(__file__).parents[2]
# What these find is rather in the op's function than in its rules.
OF_THE_FUNCTION = ("forward", "layouts", "misuse", "hooks")


def mend(check: str, trial: Trial, error: BaseException) -> str:
    """Return the places to look at for an error that a check raised, most likely first."""
    places = [] if isinstance(error, AssertionError) else list(_raised(trial, error))
    function, rules = list(_function(trial)), list(_rules(trial))
    places += function if check in OF_THE_FUNCTION else rules
    if check == "agrees_with_numpy":
        places += function
    return "; ".join(dict.fromkeys(places))


def _raised(trial: Trial, error: BaseException) -> Iterator[str]:
    """Yield where an exception came from: the last line of the backend's or the op's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    owners = [inspect.getfile(type(trial.domain.backend))]
    owners += [_file(rule.function) for rule in _op(trial).rules.values()]
    folders = {str(Path(owner).parent) for owner in owners if owner}
    for frame in reversed(frames):
        if any(frame.filename.startswith(folder) for folder in folders):
            yield f"{_short(frame.filename)}:{frame.lineno} (raised there)"
            return


def _rules(trial: Trial) -> Iterator[str]:
    op = _op(trial)
    for name, rule in op.rules.items():
        where = _where(rule.function)
        yield f"{where} (the rule for {name!r})" if where else _of_the_set(trial)


def _function(trial: Trial) -> Iterator[str]:
    op, backend = _op(trial), trial.domain.backend
    if op.forward is not None and _where(op.forward):
        yield f"{_where(op.forward)} (the op's forward)"
        return
    kind = type(backend)
    named = "kernels" if op.name in backend.kernels() else "namespace"
    yield f"{_where(getattr(kind, named))} ({kind.__name__}.{named})"


def _of_the_set(trial: Trial) -> str:
    op, source = registered()[trial.sample.op]
    return f"op set {op.chapter!r} of {source} (a constant as rule)"


def _op(trial: Trial) -> Any:
    return registered()[trial.sample.op][0]


def _file(function: Any) -> str:
    return str(getattr(getattr(function, "__code__", None), "co_filename", ""))


def _where(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return "" if code is None else f"{_short(code.co_filename)}:{code.co_firstlineno}"


def _short(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
