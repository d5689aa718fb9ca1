"""At which line of the certified library a pass made the first NaN, or failed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from traceback import walk_stack
from typing import Any

from agnograd.hookspecs import hookimpl
from agnograd_certify._findings import innermost, place_of

__all__ = ["Locator"]


class Locator:
    """A plugin that notes where ops are called, and which of them a pass goes wrong at.

    ``op`` is that op, and ``where`` the line of the packages ``theirs`` that called it; both are
    empty as long as nothing went wrong.
    """

    def __init__(self, theirs: Sequence[str]) -> None:
        self.where = self.op = ""
        self._theirs = theirs
        # By the ops' ids, which stay theirs for as long as they are kept here.
        self._places: dict[int, tuple[Any, str, int, str]] = {}

    @hookimpl
    def forward_preprocess(self, op: Any) -> None:
        """Note where an op is called."""
        frames = [*walk_stack(sys._getframe(1))]
        found = innermost(frames[::-1], self._theirs)
        if found is not None:
            self._places[id(op)] = (op, *found)

    @hookimpl
    def backward_postprocess(
        self, op: Any, grad_outputs: Sequence[Any], grad_inputs: Sequence[Any], error: Any
    ) -> None:
        """Look at what a rule made of finite cotangents."""
        failed = error is not None
        if self.op or not (failed or (not _bad(op, grad_outputs) and _bad(op, grad_inputs))):
            return
        self.op = op.name
        if id(op) in self._places:
            self.where = place_of(*self._places[id(op)][1:])


def _bad(op: Any, arrays: Sequence[Any]) -> bool:
    """Return whether an array has an element that is not finite."""
    xp, backend = op.domain.raw, op.backend
    for each in arrays:
        inexact = hasattr(each, "dtype") and op.domain.is_inexact(each.dtype)
        if inexact and not bool(backend.to_host(xp.all(xp.isfinite(each)))):
            return True
    return False
