"""What transformations of functions are written with: trees, levels, and what a call depends on.

These names are provisional: for two releases they may change without a warning.
"""

from agnograd._arrays.conversions import holds_variable, stacked
from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_of, owner_of
from agnograd._arrays.levels import derived, highest, levels_up, root_of
from agnograd._arrays.namespace import bound_to, within
from agnograd._arrays.variable import owners
from agnograd._batch.binding import Bound, Names
from agnograd._batch.members import OfMembers, computed, given_in
from agnograd._functions.connections import (
    behind_mask,
    connected,
    leave_out,
    made_from,
    rank_of,
)
from agnograd._functions.runs import Prepared, apart, at_no_level
from agnograd._graph.nodes import next_rank
from agnograd._hooks.entering import entered, is_inside, recording_since
from agnograd._hooks.state import Mode, current_mode, set_mode
from agnograd._levels.border import Border
from agnograd._levels.interpreted import map_parts, payload_of
from agnograd._ops.batching import batching, batching_rule
from agnograd._ops.fitting import fit
from agnograd._ops.rule_helpers import conjugate, known_size, set_device
from agnograd._ops.saved import values_named
from agnograd._plugins.entry_points import EntryPoint, chosen, installed, load, origin, warn
from agnograd._plugins.op_sets import op_sets, registered_in
from agnograd._transforms.members import (
    each_member,
    is_above,
    member_by_member,
    same_for_all,
    warn_of_members,
)
from agnograd._transforms.passes import OtherLevelError, tangent_of
from agnograd._transforms.pushforward import Pushforward, may_be_nan
from agnograd._transforms.trace import ArgNums, Trace, outputs_of
from agnograd._util.checks import (
    argnums_in,
    callable_in,
    did_you_mean,
    name_in,
    number_in,
    positive_in,
    python_number,
)
from agnograd._util.collecting import seldom_collected
from agnograd._util.remaking import made_by, name_of, packed, unpacked
from agnograd._util.signatures import parameters_of
from agnograd._util.trees import flatten, flatten_in_order, map_leaves, unflatten

__all__ = [
    "ArgNums",
    "Border",
    "Bound",
    "Domain",
    "EntryPoint",
    "Mode",
    "Names",
    "OfMembers",
    "OtherLevelError",
    "Prepared",
    "Pushforward",
    "Trace",
    "apart",
    "argnums_in",
    "at_no_level",
    "batching",
    "batching_rule",
    "behind_mask",
    "bound_to",
    "callable_in",
    "chosen",
    "computed",
    "conjugate",
    "connected",
    "current_mode",
    "derived",
    "did_you_mean",
    "domain_of",
    "each_member",
    "entered",
    "fit",
    "flatten",
    "flatten_in_order",
    "given_in",
    "highest",
    "holds_variable",
    "installed",
    "is_above",
    "is_inside",
    "known_size",
    "leave_out",
    "levels_up",
    "load",
    "made_by",
    "made_from",
    "map_leaves",
    "map_parts",
    "may_be_nan",
    "member_by_member",
    "name_in",
    "name_of",
    "next_rank",
    "number_in",
    "op_sets",
    "origin",
    "outputs_of",
    "owner_of",
    "owners",
    "packed",
    "parameters_of",
    "payload_of",
    "positive_in",
    "python_number",
    "rank_of",
    "recording_since",
    "registered_in",
    "root_of",
    "same_for_all",
    "seldom_collected",
    "set_device",
    "set_mode",
    "stacked",
    "tangent_of",
    "unflatten",
    "unpacked",
    "values_named",
    "warn",
    "warn_of_members",
    "within",
]
