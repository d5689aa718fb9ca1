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
    "triangles": by_substitution,  # first, since it pays even if no group becomes C
    "unrolled": unrolled,  # before the passes on arrays, for which scalars leave fewer
    "parts": in_parts,  # before ``turned``, since a product in parts is a sum
    "turned": turned,  # before memory is looked at, since it saves that of a product
    "extremes": by_ties,  # before ``recomputed``, since ties may be made again
    "recomputed": recomputed,  # once all steps are there of which a value may be made again
    "slopes": with_slopes,  # last, since to make a slope again would need tanh's argument, too
}
# What it makes of a program also runs without C functions, but not without a compiler.
ALONE = "triangles"


def rewritten(program: TracedProgram) -> TracedProgram:
    """Return a program as groups are looked for in it, after all passes but the first."""
    for name, each in PASSES.items():
        if name != ALONE:
            program = each(program)
    return program
