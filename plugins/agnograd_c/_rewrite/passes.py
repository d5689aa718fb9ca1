"""All passes of the lowering ``c``, by name, and the order in which they run."""

from __future__ import annotations

from collections.abc import Callable

from agnograd_c._rewrite.extremes import by_ties
from agnograd_c._rewrite.parts import in_parts
from agnograd_c._rewrite.recompute import recomputed
from agnograd_c._rewrite.slopes import with_slopes
from agnograd_c._rewrite.triangles import by_substitution
from agnograd_c._rewrite.turned import turned
from agnograd_c._rewrite.unrolled import unrolled
from agnograd_compile.lowering import TracedProgram

Pass = Callable[[TracedProgram], TracedProgram]

# In the order in which they run, each with the reason for its place. Then groups are chosen.
PASSES: dict[str, Pass] = {
    "triangles": by_substitution,  # first: it is worth it even if no group becomes C
    "unrolled": unrolled,  # before those that look at arrays: its scalars are in none
    "parts": in_parts,  # before products are turned: one that is put together is no product then
    "turned": turned,  # once the products are those that C computes
    "extremes": by_ties,  # before values are made again: its ties take part in that
    "recomputed": recomputed,  # once all steps are there that may make a value again
    "slopes": with_slopes,  # last: a slope that is made again would need tanh's argument, too
}
# What it makes of a program also runs without C functions, but not without a compiler.
ALONE = "triangles"


def rewritten(program: TracedProgram) -> TracedProgram:
    """Return a program as groups are looked for in it, after all passes but the first."""
    for name, each in PASSES.items():
        if name != ALONE:
            program = each(program)
    return program
