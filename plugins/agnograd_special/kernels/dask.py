"""SciPy's functions on each chunk of Dask's arrays: nothing is computed before it is asked for."""

from collections.abc import Callable
from contextvars import Context
from functools import partial
from operator import itemgetter
from typing import Any

import dask.array as da
import numpy as np

import agnograd as ag
from agnograd_special._set import FORMULAS, NEEDED
from agnograd_special.kernels.numpy import compute

__all__: list[str] = []

# How many results functions have that have several.
RESULTS = {"airy": 4, "ellipj": 4, "fresnel": 2, "shichi": 2, "sici": 2}


def __getattr__(name: str) -> Callable[..., Any]:
    if name in NEEDED:
        return partial(_by_numpy, name)
    if name.startswith("_") or name in FORMULAS:
        raise AttributeError(name)
    return partial(_blockwise, name)


def _by_numpy(name: str, *args: Any, **options: Any) -> Any:
    """Compute a function block by block with NumPy: as one of Dask's its graph would be long."""
    return da.core.elemwise(partial(_of_blocks, name, options), *args)


def _of_blocks(name: str, options: dict[str, Any], *args: Any) -> Any:
    # In a context of its own: the hooks that are active see the op, and not its blocks.
    function = getattr(ag.namespace("numpy").special, name)
    return Context().run(function, *args, **options).data


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
