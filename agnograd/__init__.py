"""Differentiate code written against the Python array API standard, on any array library."""

import lazy_loader

from agnograd._mode import PROCESS_PLUGINS

# The names are those of __init__.pyi: each module is imported when one of its names is first used.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"

if PROCESS_PLUGINS:
    from agnograd._activation import activate_process_plugins

    activate_process_plugins()
