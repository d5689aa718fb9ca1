"""What every plugin must hold to, checked on one."""

from __future__ import annotations

from collections.abc import Sequence

from agnograd._arrays.domains import namespace
from agnograd._plugins.backends import backends as installed_backends
from agnograd.errors import PluginError

__all__ = ["plugin_contract"]


def plugin_contract(plugin: object, backends: Sequence[str] | None = None) -> list[str]:
    """Check that a plugin leaves results and arrays as they are, whatever happens around it.

    It is run through first and second derivatives of ops of every kind, ops that fail forward and
    backward, nested scopes, and two threads that share it and take turns at every op, on every
    backend. What the plugin itself reports is for its own tests; ``record_events`` helps there.

    Parameters
    ----------
    plugin : str or object
        What ``agnograd.hooks`` takes. Of a name or a class new instances are made; an object is
        used all the time.
    backends : sequence of str, optional
        The backends to run on; by default all that are installed and whose libraries are, too.

    Returns
    -------
    list of str
        The backends that it ran on.

    Raises
    ------
    AssertionError
        If the plugin breaks something; the message names the plugin, the backend, what was done,
        what came of it, and the hook. The exception that it is about is its cause.

    Examples
    --------
    >>> from agnograd.testing import plugin_contract
    >>> plugin_contract("timer", backends=["numpy"])
    ['numpy']
    """
    # Imported here because it takes pluggy, which agnograd itself imports when it is needed.
    from agnograd._hooks.activation import hooks
    from agnograd.testing._trials import TRIALS

    hooks(plugin)  # whether it exists and loads is not a matter of the contract
    checked = []
    for backend in installed_backends() if backends is None else backends:
        try:
            xp = namespace(backend)
        except PluginError:
            if backends is not None:
                raise
            continue
        checked.append(backend)
        for what, trial in TRIALS.items():
            try:
                trial(plugin, xp)
            except Exception as error:
                raise AssertionError(
                    f"plugin {_called(plugin)!r} on backend {backend!r}, {what}: {_reason(error)}"
                ) from error
    return checked


def _called(plugin: object) -> str:
    if isinstance(plugin, str):
        return plugin
    kind = plugin if hasattr(plugin, "__name__") else type(plugin)
    return str(getattr(kind, "__name__", kind))


def _reason(error: Exception) -> str:
    kind = "" if isinstance(error, AssertionError) and str(error) else f"{type(error).__name__}: "
    notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    return f"{kind}{error}{notes}"
