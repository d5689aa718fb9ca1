"""The log of what hooks are told while a program runs, to assert on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

__all__ = ["Event", "record_events"]


class Event(NamedTuple):
    """One call of a hook.

    Attributes
    ----------
    hook : str
        The hook's name.
    op : str or None
        The name of the op; None for hooks that do not get one.
    value : str or None
        For ``save_value``: the name that the op's rule knows the saved array by.
    error : type or None
        For the hooks that get failures: the type of the exception.
    """

    hook: str
    op: str | None = None
    value: str | None = None
    error: type[BaseException] | None = None


def record_events(plugins: Iterable[object], program: Callable[[], object]) -> list[Event]:
    """Run a program with plugins active, and return what hooks were told, in order.

    An event is noted before the plugins get it, so that one whose hook raises is in the log.

    Parameters
    ----------
    plugins : iterable of str or object
        What ``agnograd.hooks`` takes; may be empty.
    program : callable
        A function without arguments. Its exceptions go through: one that the log is wanted of
        catches them itself.

    Returns
    -------
    list of Event
        The events of the thread (or task) that ran the program.

    Examples
    --------
    >>> import agnograd as ag
    >>> from agnograd.testing import Event, record_events
    >>> x = ag.Variable(0.5)
    >>> log = record_events(["timer"], lambda: (x * x).backward())
    >>> [event.hook for event in log if event.op is None]
    ['backward_start', 'gradient_ready', 'backward_finish']
    >>> log[0]
    Event(hook='forward_preprocess', op='multiply', value=None, error=None)
    """
    # Imported here because it takes pluggy, which agnograd itself imports when it is needed.
    from agnograd._hooks.activation import hooks
    from agnograd.testing._recorder import Recorder

    recorder = Recorder()
    with hooks(*plugins, recorder):
        program()
    return [Event(*each) for each in recorder.events]
