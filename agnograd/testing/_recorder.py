"""A plugin that notes every event before other plugins get it."""

from __future__ import annotations

import inspect
from typing import Any

from agnograd._graph.calls import Call
from agnograd._util.deferred import function_from
from agnograd.hookspecs import HookSpecs, hookimpl

__all__ = ["Recorder", "give_hooks"]


class Recorder:
    """Note what makes an ``Event``, in ``events``, before plugins activated earlier get it."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def _note(
        self,
        hook: str,
        op: Call | None = None,
        name: str | None = None,
        error: BaseException | None = None,
    ) -> None:
        failure = None if error is None else type(error)
        self.events.append((hook, None if op is None else op.name, name, failure))


def give_hooks(kind: type, body: str, wanted: str, without: str, **options: Any) -> None:
    """Give a class of plugins each hook but one.

    Each takes those of the ``wanted`` arguments that it is specified with. In the text of its body
    ``{hook}`` stands for its name, and ``{given}`` for these arguments by name, after a comma.
    """
    for hook in (name for name in vars(HookSpecs) if name[0] != "_" and name != without):
        known = inspect.signature(getattr(HookSpecs, hook)).parameters
        names = [name for name in wanted.split() if name in known]
        given = "".join(f", {name}={name}" for name in names)
        text = f"def {hook}({', '.join(['self', *names])}):\n {body}\n"
        function = function_from(text.format(hook=repr(hook), given=given), {})
        setattr(kind, hook, hookimpl(**options)(function))


give_hooks(
    Recorder, "self._note({hook}{given})", "op name error", "replace_gradients", tryfirst=True
)
