"""SciPy's functions on each chunk of Dask's arrays: nothing is computed before it is asked for."""

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

import dask.array as da
import numpy as np

from agnograd_special._set import FORMULAS
from agnograd_special.kernels.numpy import compute

__all__: list[str] = []

# How many results functions have that have several.
RESULTS = {"airy": 4, "ellipj": 4, "fresnel": 2, "shichi": 2, "sici": 2}
LOOSE = ("lambertw", "multigammaln", "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn")


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_") or name in FORMULAS:
        raise AttributeError(name)
    return partial(_blockwise, name)


def _blockwise(name: str, *args: Any, **options: Any) -> Any:
    """Compute a function block by block; arguments are broadcast."""
    arrays = [np.asarray(arg)[()] if isinstance(arg, complex) else arg for arg in args]
    if name not in RESULTS:
        return da.core.elemwise(partial(compute, name, **options), *arrays)
    return tuple(
        da.core.elemwise(partial(_one, name, index, options), *arrays)
        for index in range(RESULTS[name])
    )


def _one(name: str, index: int, options: dict[str, Any], *args: Any) -> Any:
    return itemgetter(index)(compute(name, *args, **options))
