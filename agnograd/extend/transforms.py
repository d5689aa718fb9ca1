"""What transformations of functions are written with: levels, and what a call depends on.

These names are provisional: for two releases they may change without a warning.
"""

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_of, owner_of
from agnograd._arrays.levels import derived, highest, levels_up, root_of
from agnograd._arrays.namespace import bound_to, within
from agnograd._arrays.variable import owners
from agnograd._batch.binding import Bound, Names
from agnograd._functions.connections import behind_mask, connected, leave_out, made_from, rank_of
from agnograd._functions.runs import Prepared, apart, at_no_level
from agnograd._graph.nodes import next_rank
from agnograd._hooks.entering import entered, is_inside, recording_since
from agnograd._hooks.state import Mode, current_mode, set_mode
from agnograd._levels.border import Border
from agnograd._levels.interpreted import map_parts, payload_of
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
    "OtherLevelError",
    "Prepared",
    "Pushforward",
    "Trace",
    "apart",
    "at_no_level",
    "behind_mask",
    "bound_to",
    "connected",
    "current_mode",
    "derived",
    "domain_of",
    "entered",
    "highest",
    "is_inside",
    "leave_out",
    "levels_up",
    "made_from",
    "map_parts",
    "may_be_nan",
    "next_rank",
    "outputs_of",
    "owner_of",
    "owners",
    "payload_of",
    "rank_of",
    "recording_since",
    "root_of",
    "seldom_collected",
    "set_mode",
    "tangent_of",
    "within",
]
