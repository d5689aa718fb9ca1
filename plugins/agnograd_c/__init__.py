"""The lowering ``c``: element-wise steps of programs of NumPy arrays as compiled C.

Groups of steps on many elements, and of many steps, become one C function each; all other steps run
as they are. Without a C compiler, all do. ``_rewrite`` has the passes that prepare a program,
``_choose`` the choice of groups, ``_write`` the text of their functions, and ``_run`` the compiler.
"""

from __future__ import annotations

from typing import ClassVar

from agnograd_c._choose.groups import Group, groups_of
from agnograd_c._rewrite.passes import ALONE, PASSES, rewritten
from agnograd_compile.lowering import Description, Lowering, Runnable, TracedProgram, lowering_for

__all__ = ["C", "lowering"]


class C(Lowering):
    """Runs element-wise steps by compiled C functions, and the others as NumPy does."""

    preference: ClassVar[int] = 30
    exact: ClassVar[bool] = False

    def lower(self, program: TracedProgram) -> Runnable:
        """Return the function that runs a program."""
        plain, (given, prepared, groups) = lowering_for("numpy", "numpy"), _prepared(program)
        if not groups:
            return plain.lower(given)
        from agnograd_c._run.lowering import in_c  # which takes long to import

        found = in_c(prepared, groups)
        return plain.lower(given if found is prepared else found)

    def describe(self, program: TracedProgram) -> Description:
        """Return the groups that become C, and the text of all that runs."""
        plain, (given, prepared, groups) = lowering_for("numpy", "numpy"), _prepared(program)
        if not groups:
            return plain.describe(given)
        from agnograd_c._run.lowering import described

        return described(prepared, groups, plain, given)


def _prepared(program: TracedProgram) -> tuple[TracedProgram, TracedProgram, list[Group]]:
    """Return the program that runs without C, the one that groups are of, and the groups.

    Without a compiler the former is the program itself: it has to give NumPy's bits then.
    """
    given = PASSES[ALONE](program)
    if given is not program:
        try:
            from agnograd_c._run.compiler import NoCompiler, compiler  # which take long to import

            compiler()
        except (NoCompiler, OSError):
            given = program
    prepared = rewritten(given)
    return given, prepared, groups_of(prepared)


lowering = C()
