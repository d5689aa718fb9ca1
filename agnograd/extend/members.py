"""What transformations know of the members of ``ag.vmap``, one by one or all at once.

These names are provisional: for two releases they may change without a warning.
"""

from agnograd._batch.members import OfMembers, computed, given_in
from agnograd._ops.batching import batching, batching_rule
from agnograd._transforms.members import (
    each_member,
    is_above,
    member_by_member,
    same_for_all,
    warn_of_members,
)

__all__ = [
    "OfMembers",
    "batching",
    "batching_rule",
    "computed",
    "each_member",
    "given_in",
    "is_above",
    "member_by_member",
    "same_for_all",
    "warn_of_members",
]
