"""Misuse: it is an error of the right kind, which says what it is about."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from agnograd import is_grad_enabled
from agnograd.errors import FreedGraphError, GradientError, MixedBackendsError, NoGradientError
from agnograd_conformance._trial import Recorded, Trial

__all__ = ["misuse"]


class _Foreign:
    """An array of no backend."""

    shape, dtype = (), "float64"

    def __array_namespace__(self) -> None: ...


def misuse(trial: Trial) -> None:
    """A foreign array, a bad cotangent and a second pass are errors that name what is wrong."""
    call = Recorded(trial)
    case = call.case
    function = attrgetter(case.op.name)(case.domain.namespace)
    given = call.cotangents()

    def foreign() -> None:
        args, kwargs = case.filled(
            *([_Foreign()] if isinstance(x, list | tuple) else _Foreign() for x in case.inputs)
        )
        function(*args, **kwargs)

    def misshapen() -> None:
        xp = case.domain.namespace
        wrong = [xp.ones((7, *out.shape), dtype=out.dtype) for out in call.outputs]
        call.gradients(wrong)

    def untracked() -> None:
        result = function(*case.args, **case.kwargs)
        for each in result if isinstance(result, tuple | list) else [result]:
            each.backward(given[0])

    short = case.op.name.rpartition(".")[2]
    _expect(MixedBackendsError, short, "an array of no backend", foreign)
    _expect(TypeError, "misspelt", "a misspelt argument", lambda: function(*case.args, misspelt=1))
    _expect(GradientError, "shape", "a cotangent of the wrong shape", misshapen)
    _expect(NoGradientError, "", "a pass where nothing needs a gradient", untracked)
    call.gradients(given)
    _expect(FreedGraphError, short, "a second pass", lambda: call.gradients(given))
    if not is_grad_enabled():
        raise AssertionError("after an error nothing is recorded any more")
    if any(leaf.grad is not None for leaf in call.leaves):
        raise AssertionError("a pass that failed has changed a gradient")


def _expect(kind: type[Exception], word: str, what: str, program: Callable[[], Any]) -> None:
    try:
        program()
    except kind as error:
        if word not in str(error):
            raise AssertionError(
                f"{what} is a {kind.__name__} that does not name {word!r}: {error}"
            ) from error
        return
    except Exception as error:
        raise AssertionError(
            f"{what} is {type(error).__name__}, not {kind.__name__}: {error}"
        ) from error
    raise AssertionError(f"{what} raises no error, but should raise a {kind.__name__}")
