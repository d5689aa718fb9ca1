"""SciPy functions in every namespace, with derivatives.

They are in the extensions that SciPy's packages give the names of: ``xp.signal``, ``xp.ndimage``,
``xp.spatial``, ``xp.stats``, ``xp.interpolate``, ``xp.integrate``, ``xp.optimize``, and
``xp.linalg``, which has the standard's functions, too.

``Derivatives`` hands a function and its derivatives to SciPy's own optimisers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agnograd.extend import OpSet

if TYPE_CHECKING:
    from agnograd_scipy.derivatives import Derivatives

__all__ = [
    "Derivatives",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "spatial",
    "stats",
]


def _extension(name: str, *modules: str, chapter: str = "", **kernels: str) -> OpSet:
    """Return the op set of an extension, with the modules of its kernels by backend."""
    kernels = kernels or {"dask": "dask", "numpy": "numpy", "torch": "torch"}
    return OpSet(
        chapter or name,
        samples=f"agnograd_scipy.samples.{name}",
        kernels={backend: f"agnograd_scipy.kernels.{each}" for backend, each in kernels.items()},
        extension=name,
        modules=[f"agnograd_scipy.{module}" for module in modules],
    )


integrate = _extension("integrate", "equations", "integrals")
interpolate = _extension("interpolate", "banded", "points")
linalg = _extension(
    "linalg",
    *("factorisations", "matrix_equations", "matrix_functions", "structured", "triangular"),
    chapter="scipy.linalg",  # the standard has a chapter linalg
    dask="matrices_dask",
    jax="matrices_jax",
    numpy="matrices",
    torch="matrices_torch",
)
ndimage = _extension("ndimage", "interpolation", "ndfilters", "splines")
optimize = _extension("optimize", "implicit")
signal = _extension("signal", "convolution", "filters")
spatial = _extension("spatial", "distance")
stats = _extension("stats", "continuous", "discrete", "multivariate")


def __getattr__(name: str) -> Any:
    if name == "Derivatives":  # few programs need it
        return getattr(import_module("agnograd_scipy.derivatives"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
