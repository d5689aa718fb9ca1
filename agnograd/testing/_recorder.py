"""A plugin that notes every event before other plugins get it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agnograd._graph.calls import Call
from agnograd.hookspecs import hookimpl

__all__ = ["Recorder"]


class Recorder:
    """Note every event in ``events``, before the plugins that were activated earlier get it.

    Parameters
    ----------
    event : callable
        Makes an event of a hook's name, an op's name, a value's name and a type of exception.
    """

    def __init__(self, event: Callable[..., Any]) -> None:
        self.event = event
        self.events: list[Any] = []

    def _note(
        self,
        hook: str,
        op: Call | None = None,
        value: str | None = None,
        error: BaseException | None = None,
    ) -> None:
        failure = None if error is None else type(error)
        self.events.append(self.event(hook, None if op is None else op.name, value, failure))

    @hookimpl(tryfirst=True)
    def forward_preprocess(self, op: Call) -> None:
        """Note it."""
        self._note("forward_preprocess", op)

    @hookimpl(tryfirst=True)
    def forward_postprocess(self, op: Call, error: BaseException | None) -> None:
        """Note it."""
        self._note("forward_postprocess", op, error=error)

    @hookimpl(tryfirst=True)
    def backward_preprocess(self, op: Call) -> None:
        """Note it."""
        self._note("backward_preprocess", op)

    @hookimpl(tryfirst=True)
    def backward_postprocess(self, op: Call, error: BaseException | None) -> None:
        """Note it."""
        self._note("backward_postprocess", op, error=error)

    @hookimpl(tryfirst=True)
    def backward_start(self) -> None:
        """Note it."""
        self._note("backward_start")

    @hookimpl(tryfirst=True)
    def backward_finish(self, error: BaseException | None) -> None:
        """Note it."""
        self._note("backward_finish", error=error)

    @hookimpl(tryfirst=True)
    def gradient_ready(self) -> None:
        """Note it."""
        self._note("gradient_ready")

    @hookimpl(tryfirst=True)
    def save_value(self, op: Call, name: str) -> None:
        """Note it, and leave the value to others."""
        self._note("save_value", op, name)

    @hookimpl(tryfirst=True)
    def restore_value(self) -> None:
        """Note it, and leave the value to others."""
        self._note("restore_value")
