"""Entry points: what is installed, for plugins that have plugins of their own.

These names are provisional: for two releases they may change without a warning.
"""

from agnograd._plugins.entry_points import EntryPoint, chosen, installed, load, origin, warn
from agnograd._plugins.op_sets import op_sets, registered_in

__all__ = [
    "EntryPoint",
    "chosen",
    "installed",
    "load",
    "op_sets",
    "origin",
    "registered_in",
    "warn",
]
