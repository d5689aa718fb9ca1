"""The conformance suite: every op, on every sample, in every precision, on one backend."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
