"""What functions are given: pytrees, checks of options, and pickles of what was made of them.

These names are provisional: for two releases they may change without a warning.
"""

from agnograd._arrays.conversions import holds_variable, stacked
from agnograd._ops.rule_helpers import known_size
from agnograd._transforms.trace import ArgNums
from agnograd._util.checks import (
    argnums_in,
    callable_in,
    did_you_mean,
    name_in,
    number_in,
    positive_in,
    python_number,
)
from agnograd._util.remaking import made_by, name_of, packed, unpacked
from agnograd._util.signatures import parameters_of
from agnograd._util.trees import flatten, flatten_in_order, map_leaves, unflatten

__all__ = [
    "ArgNums",
    "argnums_in",
    "callable_in",
    "did_you_mean",
    "flatten",
    "flatten_in_order",
    "holds_variable",
    "known_size",
    "made_by",
    "map_leaves",
    "name_in",
    "name_of",
    "number_in",
    "packed",
    "parameters_of",
    "positive_in",
    "python_number",
    "stacked",
    "unflatten",
    "unpacked",
]
