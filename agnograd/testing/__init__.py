"""Checks of derivatives and of plugins, and what rules are checked on.

Sample inputs stand beside the rules; the table of conventions says what a gradient is where there
is no derivative.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
