"""The C functions of the groups of a program."""

from __future__ import annotations

from collections.abc import Mapping

from agnograd_c._arrays import ArrayWriter
from agnograd_c._function import Function
from agnograd_c._groups import Group
from agnograd_c._products import product
from agnograd_c._scalars import ScalarWriter
from agnograd_compile.lowering import Ref, TracedProgram

__all__ = ["written"]


def written(
    program: TracedProgram,
    group: Group,
    needed: frozenset[Ref],
    views: Mapping[Ref, Ref],
    serial: bool = True,
) -> tuple[Function, list[int]] | None:
    """Return the function of a group, and the steps that it leaves; None if there is none.

    ``needed`` are the values that are used outside of the group, and ``views`` the transposed views
    of matrices. Unless it may be ``serial``, the function is one for any number of threads.
    """
    if group.is_product:
        return product(program, [program.steps[number] for number in group.steps], views), []
    writer = ScalarWriter if group.shape == () else ArrayWriter
    made = writer(program, group, needed, serial)
    made.build()
    function = made.function()
    return None if function is None else (function, made.left)
