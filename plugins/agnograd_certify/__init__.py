"""Certificates of differentiability: what becomes of the gradients of a library's functions.

For each call of a library, and on each backend, a certificate says whether the gradient is right,
wrong, lost, NaN or refused, and why. ``agnograd certify`` is the command, and ``pytest
--differentiable`` runs the calls that ``differentiable`` declares in tests.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
