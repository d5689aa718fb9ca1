"""What authors of lowerings import: traced programs, how they are written, and plans of memory."""

from agnograd_compile._lowerings import (
    Description,
    Lowering,
    lowering_around,
    lowering_for,
)
from agnograd_compile._passes.dead import dead
from agnograd_compile._programs.editor import Editor
from agnograd_compile._programs.plan import MemoryPlan, Room, Way, nbytes, planned
from agnograd_compile._programs.program import (
    Fact,
    Missed,
    Ref,
    Runnable,
    Step,
    TracedProgram,
    declared,
    freed_after,
    roots_of,
    seen_by,
)
from agnograd_compile._programs.rooms import lent
from agnograd_compile._programs.straight import Writer, named_function, straight
from agnograd_compile._programs.verify import PlanError, verify

__all__ = [
    "Description",
    "Editor",
    "Fact",
    "Lowering",
    "MemoryPlan",
    "Missed",
    "PlanError",
    "Ref",
    "Room",
    "Runnable",
    "Step",
    "TracedProgram",
    "Way",
    "Writer",
    "dead",
    "declared",
    "freed_after",
    "lent",
    "lowering_around",
    "lowering_for",
    "named_function",
    "nbytes",
    "planned",
    "roots_of",
    "seen_by",
    "straight",
    "verify",
]
