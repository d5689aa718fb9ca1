"""Objects that belong to their threads and graphs, and have no copies."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex

from agnograd.errors import ArgumentError

__all__ = ["Uncopied"]


class Uncopied:
    """A plugin that raises an error when it is copied or pickled.

    Its state belongs to running threads or to existing graphs, and a copy would not be notified of
    either.
    """

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        kind = type(self)
        raise ArgumentError(
            f"this {kind.__module__}.{kind.__qualname__} cannot be copied or pickled: its state "
            "belongs to the threads and graphs that it watches; make a new one with the same "
            "options where you need it"
        )
