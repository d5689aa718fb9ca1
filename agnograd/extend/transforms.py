"""What transformations of functions are written with: trees, levels, and what a call depends on.

These names are provisional: for two releases they may change without a warning.
"""

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_of, owner_of
from agnograd._arrays.levels import derived, highest, levels_up, root_of
from agnograd._arrays.namespace import bound_to, within
from agnograd._arrays.variable import owners
from agnograd._batch.binding import Bound, Names
from agnograd._batch.members import OfMembers, computed, given_in
from agnograd._functions.connections import behind_mask, connected, leave_out, made_from, rank_of
from agnograd._functions.runs import Prepared, apart, at_no_level
from agnograd._graph.nodes import next_rank
from agnograd._hooks.entering import entered, is_inside, recording_since
from agnograd._hooks.state import Mode, current_mode, set_mode
from agnograd._levels.border import Border
from agnograd._levels.interpreted import map_parts, payload_of
from agnograd._ops.batching import batching, batching_rule
from agnograd._ops.fitting import fit
from agnograd._ops.rule_helpers import conjugate, set_device
from agnograd._ops.saved import values_named
from agnograd._transforms.members import (
    each_member,
    is_above,
    member_by_member,
    same_for_all,
    warn_of_members,
)
from agnograd._transforms.passes import OtherLevelError, tangent_of
from agnograd._transforms.pushforward import Pushforward, may_be_nan
from agnograd._transforms.trace import Trace, outputs_of
from agnograd._util.collecting import seldom_collected

__all__ = [
    "Border",
    "Bound",
    "Domain",
    "Mode",
    "Names",
    "OfMembers",
    "OtherLevelError",
    "Prepared",
    "Pushforward",
    "Trace",
    "apart",
    "at_no_level",
    "batching",
    "batching_rule",
    "behind_mask",
    "bound_to",
    "computed",
    "conjugate",
    "connected",
    "current_mode",
    "derived",
    "domain_of",
    "each_member",
    "entered",
    "fit",
    "given_in",
    "highest",
    "is_above",
    "is_inside",
    "leave_out",
    "levels_up",
    "made_from",
    "map_parts",
    "may_be_nan",
    "member_by_member",
    "next_rank",
    "outputs_of",
    "owner_of",
    "owners",
    "payload_of",
    "rank_of",
    "recording_since",
    "root_of",
    "same_for_all",
    "seldom_collected",
    "set_device",
    "set_mode",
    "tangent_of",
    "values_named",
    "warn_of_members",
    "within",
]
