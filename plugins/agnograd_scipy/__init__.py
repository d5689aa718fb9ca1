"""Functions of SciPy's in every namespace, with derivatives.

They are in the extensions that SciPy's packages give the names of: ``xp.signal``, ``xp.ndimage``,
``xp.spatial``, ``xp.interpolate``, ``xp.integrate`` and ``xp.optimize``.
"""

from agnograd_scipy import (  # noqa: F401 (they register their ops)
    banded,
    convolution,
    distance,
    filters,
    integrate,
    interpolate,
    interpolation,
    ndfilters,
    optimize,
    splines,
)
from agnograd_scipy._ops import ops

__all__ = ["ops"]
