"""Special functions in every namespace, ``xp.special``, with derivatives.

Each library's own kernels compute them; SciPy's where a library on the host has none.
"""

from agnograd_special._set import ops

__all__ = ["ops"]
