"""Which samples a library cannot compute by its nature: the standard's optional capabilities."""

from __future__ import annotations

import math
from collections.abc import Collection

from agnograd.extend import ArraySpec, Capabilities, Sample

__all__ = ["has_what_it_needs", "shape_needs_values"]

# https://data-apis.org/array-api/latest/design_topics/data_dependent_output_shapes.html
_DATA_DEPENDENT = ("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values")
_AT_KEYS = ("__getitem__", "__setitem__", "scatter_add")


def has_what_it_needs(sample: Sample, capabilities: Capabilities) -> bool:
    """Return whether a library of these capabilities has what a sample needs, but for its dtype."""
    named = [str(item).removeprefix("dtype:") for item in sample.items() if _is_dtype(item)]
    if not all(map(capabilities.has, named)):
        return False
    at_mask = sample.op in _AT_KEYS and _holds_booleans(sample)
    if at_mask and not capabilities.boolean_indexing:
        return False
    if capabilities.data_dependent_shapes:
        return True
    read = at_mask and sample.op != "__setitem__"
    return not (read or sample.op in _DATA_DEPENDENT or _repeats_by_array(sample))


def shape_needs_values(sample: Sample, names: Collection[str]) -> bool:
    """Return whether the values given for some of these parameters decide the result's shape."""
    if sample.op in _AT_KEYS and _holds_booleans(sample):
        return "key" in names and not (sample.op == "__setitem__" and _writes_one(sample))
    if _repeats_by_array(sample):
        return "repeats" in names
    return sample.op in (*_DATA_DEPENDENT, "arange")


def _writes_one(sample: Sample) -> bool:
    value = sample.args[2]
    return not isinstance(value, ArraySpec) or math.prod(value.shape) == 1


def _is_dtype(item: object) -> bool:
    return isinstance(item, str) and item.startswith("dtype:")


def _holds_booleans(sample: Sample) -> bool:
    return any(spec.dtype == "bool" for spec in sample.specs())


def _repeats_by_array(sample: Sample) -> bool:
    given = [*sample.args[1:2], *sample.kwargs.values()]
    return sample.op == "repeat" and any(isinstance(each, ArraySpec) for each in given)
