"""All passes, by name, and the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agnograd.extend import switch
from agnograd_compile._passes.chains import chains
from agnograd_compile._passes.common import common
from agnograd_compile._passes.dead import dead
from agnograd_compile._passes.identities import identities
from agnograd_compile._passes.order import order
from agnograd_compile._passes.scatters import scatters
from agnograd_compile._passes.uniform import uniform
from agnograd_compile._programs.program import TracedProgram

Pass = Callable[[TracedProgram], TracedProgram]

# In the order in which they run.
PASSES: dict[str, Pass] = {
    "uniform": uniform,
    "identities": identities,
    "common": common,
    "dead": dead,  # before those that count how often values are read
    "chains": chains,
    "scatters": scatters,
    "order": order,
}
# Those that change no bit of a result, and that every lowering takes.
DEFAULT = tuple(PASSES)
# Passes that ask how values are computed, and not how often they are read: that dead steps are gone
# brings nothing to light for them.
UNCOUNTING = frozenset(("uniform", "identities", "common"))
# It changes nothing that another pass looks at, and runs once, at the end.
LAST = "order"
# Each pass sees all that it can in one run; more runs are for what other passes bring to light.
ROUNDS = switch("ROUNDS", 4, least=1, most=64, module=__name__)


def run(program: TracedProgram, names: Sequence[str] = DEFAULT) -> TracedProgram:
    """Run passes on a program, by their names, until none of them changes it any more.

    ``notes["passes"]`` of the result says how many steps each of them removed in all.
    """
    removed = dict.fromkeys(names, 0)
    current = program
    left = set(names) - {LAST}
    for name in list(names) * ROUNDS:
        if name not in left:
            continue
        left.discard(name)
        after = PASSES[name](current)
        removed[name] += len(current.steps) - len(after.steps)
        if after is not current:
            others = set(names) - {name, LAST}
            left |= others - UNCOUNTING if name == "dead" else others
        current = after
    if LAST in names:
        current = PASSES[LAST](current)
    return current.with_(notes={**program.notes, "passes": removed})
