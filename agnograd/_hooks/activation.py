"""Activating plugins: for a block of code, or for the whole process."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from agnograd._hooks.entering import entered
from agnograd._hooks.state import PROCESS_PLUGINS, Mode, current_mode, initial_mode, set_mode
from agnograd._plugins.hook_plugins import plugin_named
from agnograd.errors import AgnogradError, PluginError, PluginWarning

if TYPE_CHECKING:
    from agnograd._hooks.active import ActiveHooks


class hooks(entered):  # noqa: N801 - used as a statement: with ag.hooks(...)
    """Activate plugins: a context manager (and decorator), per thread and asyncio task.

    Parameters
    ----------
    *plugins : str or object
        Names of installed plugins, or your own plugins: objects with methods marked ``@hookimpl``.
        A name gives a new instance of that plugin. A plugin that is a context manager is entered
        and left together with the block.

    Returns
    -------
    tuple
        What ``with`` returns: the plugins, in the order in which you passed them.

    Raises
    ------
    UnknownPluginError
        If no installed plugin has one of the names.
    PluginError
        If a plugin fails to load, or implements a hook that does not exist.

    Examples
    --------
    >>> import agnograd as ag
    >>> with ag.hooks("timer") as (timer,):
    ...     gradient = ag.grad(lambda x: x * x)(3.0)
    >>> sorted(timer.to_dict()["forward"])
    ['multiply']
    """

    plugins: tuple[object, ...]

    def __init__(self, *plugins: object) -> None:
        self.plugins = tuple(_instance(plugin) for plugin in plugins)
        super().__init__()

    def __enter__(self) -> tuple[Any, ...]:
        outer, stack = current_mode(), ExitStack()
        try:
            for plugin in self.plugins:
                if hasattr(plugin, "__enter__"):
                    stack.enter_context(plugin)  # type: ignore[arg-type]
            level = self.level_inside(outer)
            level.closing = stack
            set_mode(level)
            return self.plugins
        except BaseException as error:
            set_mode(outer)
            stack.__exit__(type(error), error, error.__traceback__)
            raise

    def __repr__(self) -> str:
        return f"ag.hooks({', '.join(map(repr, self.plugins))})"

    def level_inside(self, outer: Mode | None) -> Mode:
        level = super().level_inside(outer)
        level.activate(_joined(level.hooks, self.plugins))
        return level


def _joined(hooks: ActiveHooks | None, plugins: Iterable[object]) -> ActiveHooks:
    """Return the hooks that were active already together with those of more plugins."""
    from agnograd._hooks.active import ActiveHooks

    active = dict(hooks.plugins) if hooks is not None else {}
    for plugin in plugins:
        if not any(plugin is other for other in active.values()):
            active[_free_name(plugin, active)] = plugin
    return ActiveHooks(active)


def _instance(plugin: object) -> object:
    if isinstance(plugin, str):
        plugin = plugin_named(plugin)
    hooked = any(
        hasattr(getattr(type(plugin), n, None), "agnograd_impl") for n in dir(type(plugin))
    )
    if type(plugin).__hash__ is None and not hooked:
        raise PluginError(
            f"a {type(plugin).__qualname__} is not a plugin: pass ag.hooks the names of installed "
            "plugins, or objects with methods marked @hookimpl, each as a separate argument"
        )
    return plugin() if isinstance(plugin, type) else plugin


def _free_name(plugin: object, taken: Mapping[str, object]) -> str:
    kind = plugin if hasattr(plugin, "__name__") else type(plugin)
    base = f"{getattr(kind, '__module__', '')}.{getattr(kind, '__name__', kind)}".lstrip(".")
    numbered = (f"{base}#{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (base, *numbered) if name not in taken)


# What became of the plugins that AGNOGRAD_PLUGINS names: "active", or why not.
process_plugins: dict[str, str] = {}


def activate_process_plugins() -> None:
    """Activate what ``AGNOGRAD_PLUGINS`` names, in every thread; a failure warns."""
    for name in PROCESS_PLUGINS:
        assert initial_mode is not None
        try:
            plugin = _instance(name)
            together = _joined(initial_mode.hooks, [plugin])
            if hasattr(plugin, "__enter__"):
                plugin.__enter__()
        except (Exception, SystemExit) as error:  # whatever it is: the program does not need it
            told = isinstance(error, AgnogradError) and repr(name) in str(error)
            reason = str(error) if told else f"{name!r} raised {type(error).__name__}: {error}"
            process_plugins[name] = reason
            warnings.warn(
                f"AGNOGRAD: a plugin that AGNOGRAD_PLUGINS names is left out: {reason}. Change the "
                "variable, or unset it",
                PluginWarning,
                stacklevel=2,
            )
        else:
            initial_mode.activate(together)
            process_plugins[name] = "active"
