"""Where to mend what a check found: the lines of a rule, an op, or a backend."""

from __future__ import annotations

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from agnograd import ops as known_ops
from agnograd_conformance._trial import NotApplicable, Trial

__all__ = ["mend", "passes"]

# What these find is in the op's function, or in its rules; what others find may be in both.
OF_FUNCTIONS = ("forward", "layouts", "misuse", "hooks", "batched")
OF_DERIVATIVES = ("first_derivative", "second_derivative", "forward_mode", "gradient_form")
OF_RULES = (*OF_DERIVATIVES, "shapes", "composed")
OF_BATCHING = ("batched", "composed")
# What the suite itself asks of a backend.
OF_THE_SUITE = ("array_types", "array", "conformance", "item", "namespace", "own", "to_host")


def mend(check: Callable[[Trial], None], trial: Trial, error: BaseException) -> str:
    """Return the places to look at for what a check raised, the most likely one first.

    If the same sample passes on NumPy, the rule is right: what ran of the backend is not.
    """
    places = [] if isinstance(error, AssertionError) else list(_raised(trial, error))
    if _passes_on_numpy(check, trial):
        places += [*_ran(check, trial), *_function(trial)]
    else:
        places += _batching(trial) if check.__name__ in OF_BATCHING else []
        places += [] if check.__name__ in OF_RULES else _function(trial)
        places += [] if check.__name__ in OF_FUNCTIONS else _rules(trial)
    return "; ".join(dict.fromkeys(places))


def passes(check: Callable[[Trial], None], trial: Trial) -> bool | None:
    """Return whether a check passes; None if it does not apply."""
    try:
        check(trial)
    except NotApplicable:
        return None
    except Exception:
        return False
    return True


def _passes_on_numpy(check: Callable[[Trial], None], trial: Trial) -> bool:
    if trial.backend == "numpy" or not trial.runs_on("numpy"):
        return False
    found = passes(check, trial.on("numpy"))
    return check.__name__ == "agrees_with_numpy" if found is None else found


def _ran(check: Callable[[Trial], None], trial: Trial) -> Iterator[str]:
    """Yield the functions of the backend's own that run in a check, the last one first."""
    folder = str(Path(_own_file(trial)).parent)
    codes: dict[Any, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(folder):
            codes.pop(code, None)
            codes[code] = None

    usual = sys.getprofile()
    sys.setprofile(note)
    try:
        passes(check, trial.on(trial.backend))  # what is known of a trial is not computed again
    finally:
        sys.setprofile(usual)
    for code in reversed(codes):
        if code.co_name not in OF_THE_SUITE:
            yield f"{_short(code.co_filename)}:{code.co_firstlineno} ({code.co_qualname})"


def _raised(trial: Trial, error: BaseException) -> Iterator[str]:
    """Yield where an exception came from: the last line of the backend's or the op's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    codes = [getattr(rule.function, "__code__", None) for rule in trial.op.rules.values()]
    owners = [_own_file(trial), *(code.co_filename for code in codes if code is not None)]
    folders = {str(Path(owner).parent) for owner in owners}
    for frame in reversed(frames):
        if any(frame.filename.startswith(folder) for folder in folders):
            yield f"{_short(frame.filename)}:{frame.lineno} (raised there)"
            return


def _rules(trial: Trial) -> Iterator[str]:
    op = trial.op
    if op.composed:
        yield from _function(trial)
    for name, rule in op.rules.items():
        where = _where(rule.function)
        yield f"{where} (the rule for {name!r})" if where else f"{_of_the_set(trial)} (a constant)"


def _batching(trial: Trial) -> Iterator[str]:
    rule = trial.op.batch
    if rule is not None:
        yield f"{_where(rule) or _of_the_set(trial)} (batch)"


def _function(trial: Trial) -> Iterator[str]:
    op, backend = trial.op, trial.domain.backend
    if op.forward is not None and _where(op.forward):
        yield f"{_where(op.forward)} (the op's forward)"
        return
    kind = type(backend)
    named = "kernels" if op.name in backend.kernels() else "namespace"
    yield f"{_where(getattr(kind, named))} ({kind.__name__}.{named})"


def _of_the_set(trial: Trial) -> str:
    op = known_ops()[trial.sample.op]
    return f"op set {op.chapter!r} of {op.distribution}"


def _own_file(trial: Trial) -> str:
    return inspect.getfile(type(trial.domain.backend))


def _where(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return "" if code is None else f"{_short(code.co_filename)}:{code.co_firstlineno}"


def _short(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
