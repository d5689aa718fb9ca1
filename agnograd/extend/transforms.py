"""What transformations of functions are written with: trees, levels, and what a call depends on.

These names are provisional: for two releases they may change without a warning.
"""

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_of
from agnograd._arrays.levels import highest, levels_up
from agnograd._functions.runs import Prepared, apart, at_no_level, connected
from agnograd._hooks.entering import is_inside
from agnograd._ops.rule_helpers import known_size
from agnograd._transforms.members import each_member, is_above, same_for_all, warn_of_members
from agnograd._util.checks import number_in, positive_in
from agnograd._util.trees import flatten, unflatten

__all__ = [
    "Domain",
    "Prepared",
    "apart",
    "at_no_level",
    "connected",
    "domain_of",
    "each_member",
    "flatten",
    "highest",
    "is_above",
    "is_inside",
    "known_size",
    "levels_up",
    "number_in",
    "positive_in",
    "same_for_all",
    "unflatten",
    "warn_of_members",
]
