"""SciPy's functions of matrices on Dask's arrays: a matrix is put into one chunk."""

from collections.abc import Callable
from functools import partial
from typing import Any

import dask.array as da
import numpy as np

from agnograd_scipy.kernels import matrices

__all__ = ["expm", "logm", "lu_parts", "sqrtm", "sylvester"]


def _each(
    function: Callable[..., Any],
    signature: str,
    *arrays: Any,
    dtypes: Any = None,
    sizes: Any = None,
) -> Any:
    """Apply a function to stacks of matrices, chunk by chunk."""
    whole = [x.rechunk({x.ndim - 2: -1, x.ndim - 1: -1}) for x in arrays]
    dtypes = dtypes or np.result_type(*(x.dtype for x in arrays))
    return da.apply_gufunc(function, signature, *whole, output_dtypes=dtypes, output_sizes=sizes)


expm = partial(_each, matrices.expm, "(i,j)->(i,j)")
logm = partial(_each, matrices.logm, "(i,j)->(i,j)")
sqrtm = partial(_each, matrices.sqrtm, "(i,j)->(i,j)")
sylvester = partial(_each, matrices.sylvester, "(i,i),(j,j),(i,j)->(i,j)")


def lu_parts(x: Any, /) -> Any:
    """Return indices of rows, and both factors."""
    dtypes = (np.dtype(np.int64), x.dtype, x.dtype)
    sizes = {"k": min(x.shape[-2:])}
    return _each(matrices.lu_parts, "(i,j)->(i),(i,k),(k,j)", x, dtypes=dtypes, sizes=sizes)
