"""Everything that authors of rules, backends and plugins import."""

from typing import TYPE_CHECKING, Any

from agnograd._arguments import is_plain_numpy, numpy_function, operand
from agnograd._axes import inverse_permutation, keep_axes, reduced_axes, reshaped_strides
from agnograd._backend import Backend
from agnograd._call import Call
from agnograd._capabilities import Capabilities
from agnograd._deferred import Deferred, later
from agnograd._devices import device_of
from agnograd._fit import (
    adjoint,
    conjugate_if_complex,
    divide_or_zero,
    is_complex,
    is_python_scalar,
    sum_to,
)
from agnograd._indexing import is_basic, without_newaxis
from agnograd._inline import inline
from agnograd._ops import Op, OpSet, Rule
from agnograd._variable import is_tracked
from agnograd.hookspecs import hookimpl

if TYPE_CHECKING:
    from agnograd._bridges import Bridge, Flat, Program, Record
    from agnograd._keywords import with_keywords
    from agnograd._locks import Lock
    from agnograd._sensitivity import sensitivity
    from agnograd._uncopied import Uncopied
    from agnograd.testing._samples import Sample, array

__all__ = [
    "Backend",
    "Bridge",
    "Call",
    "Capabilities",
    "Deferred",
    "Flat",
    "Lock",
    "Op",
    "OpSet",
    "Program",
    "Record",
    "Rule",
    "Sample",
    "Uncopied",
    "adjoint",
    "array",
    "conjugate_if_complex",
    "device_of",
    "divide_or_zero",
    "hookimpl",
    "inline",
    "inverse_permutation",
    "is_basic",
    "is_complex",
    "is_plain_numpy",
    "is_python_scalar",
    "is_tracked",
    "keep_axes",
    "numpy_function",
    "operand",
    "reduced_axes",
    "reshaped_strides",
    "sensitivity",
    "sum_to",
    "with_keywords",
    "without_newaxis",
]


# What checks need, and what some backends do: a namespace over NumPy needs none of it.
_LATER = {
    **dict.fromkeys(("Bridge", "Flat", "Program", "Record"), "agnograd._bridges"),
    **dict.fromkeys(("Sample", "array"), "agnograd.testing._samples"),
    "Lock": "agnograd._locks",
    "sensitivity": "agnograd._sensitivity",
    "Uncopied": "agnograd._uncopied",
    "with_keywords": "agnograd._keywords",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return later(_LATER[name], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
