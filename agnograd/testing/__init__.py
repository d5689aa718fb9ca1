"""Checks of derivatives and of plugins, and the samples that rules are checked on.

Sample inputs are registered with the rules. The table of conventions lists the gradients at points
without a derivative.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
