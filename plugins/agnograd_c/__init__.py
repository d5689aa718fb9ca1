"""The lowering ``c``: element-wise steps of programs of NumPy arrays as compiled C.

Groups of steps on many elements, and of many steps, become one C function each; all other steps run
as they are. Without a C compiler, all do.
"""

from __future__ import annotations

from typing import ClassVar

from agnograd_c._extremes import by_ties
from agnograd_c._groups import groups_of
from agnograd_c._parts import in_parts
from agnograd_c._recompute import recomputed
from agnograd_c._slopes import with_slopes
from agnograd_c._triangles import by_substitution
from agnograd_c._turned import turned
from agnograd_c._unrolled import unrolled
from agnograd_compile.lowering import Description, Lowering, Runnable, TracedProgram, lowering_for

__all__ = ["C", "lowering"]


class C(Lowering):
    """Runs element-wise steps by compiled C functions, and the others as NumPy does."""

    preference: ClassVar[int] = 30
    exact: ClassVar[bool] = False

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program."""
        plain, program = lowering_for("numpy", "numpy"), _substituted(program)
        prepared = _prepared(program)
        groups = groups_of(prepared)
        if not groups:
            return plain.lower(program)
        from agnograd_c._lowering import in_c  # which takes long to import

        found = in_c(prepared, groups)
        return plain.lower(program if found is prepared else found)

    def describe(self, program: TracedProgram) -> Description:
        """Return the groups that become C, and the text of all that runs."""
        plain, program = lowering_for("numpy", "numpy"), _substituted(program)
        prepared = _prepared(program)
        if not groups_of(prepared):
            return plain.describe(program)
        from agnograd_c._lowering import described

        return described(prepared, plain, program)


def _substituted(program: TracedProgram) -> TracedProgram:
    """Return a program that solves by substitution where it can.

    Without a compiler it stays as it is, since it has to give NumPy's bits then.
    """
    found = by_substitution(program)
    if found is not program:
        try:
            from agnograd_c._compiler import NoCompiler, compiler  # which take long to import

            compiler()
        except (NoCompiler, OSError):
            return program
    return found


def _prepared(program: TracedProgram) -> TracedProgram:
    """Return a program as groups are looked for in it."""
    return with_slopes(recomputed(by_ties(turned(in_parts(unrolled(program))))))


lowering = C()
