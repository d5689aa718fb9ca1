"""Functions of SciPy's in every namespace, with derivatives.

They are in the extensions that SciPy's packages give the names of: ``xp.signal``, ``xp.ndimage``,
``xp.spatial``, ``xp.stats``, ``xp.interpolate``, ``xp.integrate``, ``xp.optimize``, and
``xp.linalg``, which has the standard's functions, too.
"""

from agnograd_scipy._ops import (
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    spatial,
    stats,
)

__all__ = [
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "spatial",
    "stats",
]
