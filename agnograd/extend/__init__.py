"""Everything that authors of rules, backends and plugins import."""

from typing import TYPE_CHECKING, Any

from agnograd._arrays.conversions import is_plain_numpy
from agnograd._arrays.domains import as_ufunc, backend_of, domain_named, operand, operands
from agnograd._arrays.levels import is_tracked
from agnograd._arrays.views import every_element, is_in_rows, replace
from agnograd._ops.batching import (
    behind,
    in_full,
    in_one_row,
    in_stacks,
    of_numbers,
    unequal_shapes,
    with_rank,
)
from agnograd._ops.fitting import fit, sum_to
from agnograd._ops.op import Op, Rule, itself
from agnograd._ops.op_set import OpSet
from agnograd._ops.rule_helpers import (
    adjoint,
    conjugate,
    conjugate_if_complex,
    device_of,
    divide_or_zero,
    inverse_permutation,
    is_basic,
    is_complex,
    is_mask,
    is_python_scalar,
    keep_axes,
    reduced_axes,
    reshaped_strides,
    set_device,
    without_newaxis,
)
from agnograd._plugins.backend import Backend
from agnograd._plugins.backends import backend_named, is_array
from agnograd._plugins.capabilities import Capabilities
from agnograd._plugins.op_sets import op_named
from agnograd._util.deferred import Deferred, function_from, inline, later
from agnograd._util.locks import Lock
from agnograd._util.switches import switch
from agnograd.hookspecs import hookimpl

if TYPE_CHECKING:
    from agnograd._functions.sensitivity import sensitivity
    from agnograd._graph.calls import Call
    from agnograd._levels.interpretation import Interpretation
    from agnograd._levels.interpreted import Interpreted, Run
    from agnograd._ops.saved import values_named
    from agnograd._plugins.bridges import Bridge, Flat, Program, Record
    from agnograd._plugins.hook_plugins import Uncopied
    from agnograd._plugins.info import library_of, versions
    from agnograd._plugins.keywords import with_keywords
    from agnograd._plugins.protocols import Protocol
    from agnograd.testing._samples import ArraySpec, Sample, array

__all__ = [
    "ArraySpec",
    "Backend",
    "Bridge",
    "Call",
    "Capabilities",
    "Deferred",
    "Flat",
    "Interpretation",
    "Interpreted",
    "Lock",
    "Op",
    "OpSet",
    "Program",
    "Protocol",
    "Record",
    "Rule",
    "Run",
    "Sample",
    "Uncopied",
    "adjoint",
    "array",
    "as_ufunc",
    "backend_named",
    "backend_of",
    "behind",
    "conjugate",
    "conjugate_if_complex",
    "device_of",
    "divide_or_zero",
    "domain_named",
    "every_element",
    "fit",
    "function_from",
    "hookimpl",
    "in_full",
    "in_one_row",
    "in_stacks",
    "inline",
    "inverse_permutation",
    "is_array",
    "is_basic",
    "is_complex",
    "is_in_rows",
    "is_mask",
    "is_plain_numpy",
    "is_python_scalar",
    "is_tracked",
    "itself",
    "keep_axes",
    "library_of",
    "of_numbers",
    "op_named",
    "operand",
    "operands",
    "reduced_axes",
    "replace",
    "reshaped_strides",
    "sensitivity",
    "set_device",
    "sum_to",
    "switch",
    "unequal_shapes",
    "values_named",
    "versions",
    "with_keywords",
    "with_rank",
    "without_newaxis",
]


# What checks need, and what some backends do: a namespace over NumPy needs none of it.
_LATER = {
    "Call": "agnograd._graph.calls",
    "Interpretation": "agnograd._levels.interpretation",
    **dict.fromkeys(("Interpreted", "Run"), "agnograd._levels.interpreted"),
    "Protocol": "agnograd._plugins.protocols",
    **dict.fromkeys(("Bridge", "Flat", "Program", "Record"), "agnograd._plugins.bridges"),
    **dict.fromkeys(("ArraySpec", "Sample", "array"), "agnograd.testing._samples"),
    **dict.fromkeys(("library_of", "versions"), "agnograd._plugins.info"),
    "sensitivity": "agnograd._functions.sensitivity",
    "Uncopied": "agnograd._plugins.hook_plugins",
    "values_named": "agnograd._ops.saved",
    "with_keywords": "agnograd._plugins.keywords",
}


# What authors of engines and of lowerings import is in plugins now: by names of ``agnograd.names``.
_MOVED = {
    **dict.fromkeys(("Calling", "Engine", "Primitive", "engine_function"), "extend.engines"),
    **dict.fromkeys(
        (
            *("Description", "Fact", "Lowering", "MemoryPlan", "Missed", "PlanError", "Ref"),
            *("Room", "Runnable", "Step", "TracedProgram", "Way", "Writer", "dead", "freed_after"),
            *("lent", "lowering_for", "named_function", "nbytes", "planned", "roots_of"),
            *("seen_by", "straight", "verify"),
        ),
        "extend.lowering",
    ),
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return later(_LATER[name], name)
    if name in _MOVED:
        there: Any = later("agnograd._plugins.names", "named")(_MOVED[name])
        text = f"agnograd.extend.{name} is {there.__name__}.{name} now, and goes in 0.4"
        later("warnings", "warn")(text, DeprecationWarning, stacklevel=2)
        return getattr(there, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
