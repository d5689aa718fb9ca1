"""Functions of SciPy's in every namespace, with derivatives.

They are in the extensions that SciPy's packages give the names of: ``xp.signal``, ``xp.ndimage``,
``xp.spatial``, ``xp.interpolate``, ``xp.integrate`` and ``xp.optimize``.
"""

from agnograd_scipy._ops import integrate, interpolate, ndimage, optimize, signal, spatial

__all__ = ["integrate", "interpolate", "ndimage", "optimize", "signal", "spatial"]
