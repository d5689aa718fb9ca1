"""Ops as functions that HIPS autograd differentiates: an engine for ``agnograd.bridge.library``.

autograd's own functions are those of older versions of NumPy, and some have no derivative. So the
functions of the standard that rules and programs call are made of agnograd's rules, too.
"""

__all__: list[str] = []
