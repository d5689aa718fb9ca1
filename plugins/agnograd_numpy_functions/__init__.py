"""Functions beside the standard's that other libraries ask a namespace for, by NumPy's names.

xarray is one of them: ``DataArray.differentiate`` calls ``gradient`` of its array's namespace, and
``rolling`` calls ``pad`` and ``lib.stride_tricks.sliding_window_view``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import agnograd as ag
from agnograd.errors import UnsupportedFunctionError
from agnograd.extend import OpSet, backend_of

__all__ = ["numpy_function", "ops"]

ops = OpSet("numpy_names", samples="agnograd_numpy_functions.samples")


def numpy_function(name: str) -> Callable[..., Any]:
    """Return a NumPy function in the form that ``OpSet.composed`` takes, with a namespace first.

    It is the program that agnograd runs when NumPy's function gets a Variable. It works on every
    backend, with NumPy's arguments.

    Parameters
    ----------
    name : str
        The name in NumPy, such as ``linalg.norm`` for a function of a submodule.

    Returns
    -------
    callable
        Its first argument is a namespace, of Variables or of raw arrays. The other arguments are
        those of the NumPy function.

    Raises
    ------
    UnsupportedFunctionError
        When it is called, if there is no such program.

    Examples
    --------
    >>> from agnograd.extend import OpSet
    >>> from agnograd_numpy_functions import numpy_function
    >>> ops = OpSet("differences")
    >>> ops.composed("gradient(f, *varargs, axis=None)", numpy_function("gradient"))
    """

    def function(xp: Any, *args: Any, **options: Any) -> Any:
        own = ag.namespace(backend_of(xp).name)
        out = _answer(name)(own, args, options)
        return out if xp is own else _raw(out)

    function.__doc__ = f"Compute what ``numpy.{name}`` computes, with NumPy's arguments."
    return function


def _raw(out: Any) -> Any:
    if isinstance(out, tuple):
        return tuple(_raw(each) for each in out)
    return out.data if isinstance(out, ag.Variable) else out


def _answer(name: str) -> Callable[..., Any]:
    from agnograd_numpy_functions.functions import FUNCTIONS  # few programs need them

    program = FUNCTIONS.get(name)
    if program is None:
        raise UnsupportedFunctionError(f"np.{name} has no counterpart on Variables")
    return program


for _signature in (
    "cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None)",
    "cumprod(a, axis=None, dtype=None)",
    "cumsum(a, axis=None, dtype=None)",
    "gradient(f, *varargs, axis=None, edge_order=1)",
    "lib.stride_tricks.sliding_window_view(x, window_shape, axis=None)",
    "median(a, axis=None, *, keepdims=False)",
    "pad(array, pad_width, mode='constant', *, constant_values=0)",
    "quantile(a, q, axis=None, *, method='linear', keepdims=False)",
):
    ops.composed(_signature, numpy_function(_signature.partition("(")[0]))
