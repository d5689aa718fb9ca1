"""Programs whose groups are C functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from agnograd.extend import switch
from agnograd_c._choose.groups import Group, groups_of, is_worth_it, replaced
from agnograd_c._choose.products import transposed
from agnograd_c._rewrite.recompute import unpinned
from agnograd_c._run.compiler import NoCompiler, compiler
from agnograd_c._run.library import library_of
from agnograd_c._write.arrays import ArrayWriter
from agnograd_c._write.function import Function
from agnograd_c._write.products import product
from agnograd_c._write.scalars import ScalarWriter
from agnograd_compile.lowering import Description, Lowering, Ref, Step, TracedProgram, dead

# From how many steps of elements on several threads take less time than one.
THREADED_STEPS = switch("THREADED_STEPS", 2**21, least=1, most=2**62, module=__name__)
# By how many threads groups are computed at most, unless the environment says it: more wait for
# memory.
THREADS = switch("THREADS", 8, least=1, most=64, module=__name__)


def described(
    program: TracedProgram, groups: Sequence[Group], plain: Lowering, given: TracedProgram
) -> Description:
    """Return the groups that become C, and the text of all that runs.

    ``plain`` is what runs the other steps, and all steps of the program that was ``given`` if there
    is no compiler.
    """
    try:
        compiler()
    except NoCompiler:
        return plain.describe(given)
    found = functions_of(program, groups)
    texts = [each.text.replace("@", f"group{k}") for k, (_, each) in enumerate(found)]
    own = plain.describe(unpinned(in_c(program, groups)))
    return {
        "program": program,
        "groups": [group.steps for group, _ in found],
        "buffers": own.get("buffers", ()),
        "source": "\n\n".join([*texts, own.get("source", "")]),
    }


def in_c(program: TracedProgram, groups: Sequence[Group] | None = None) -> TracedProgram:
    """Return a program with calls of C functions in place of the groups that C is better at.

    ``groups`` are those that ``groups_of`` returns, if they are known. Without any, or without a
    compiler, it is the program itself.
    """
    from agnograd_c.kernels import calls

    groups = groups_of(program) if groups is None else groups
    if not groups:
        return program
    try:
        compiler()
        # Compilers run beside each other, and beside what writes their texts.
        with ThreadPoolExecutor(4) as pool:
            driver = pool.submit(calls.driver)
            found = functions_of(program, groups)
            made = _callables(program, [function for _, function in found], pool, driver)
    except (NoCompiler, OSError):  # the latter of imports, too, where no more files can be opened
        return program
    steps = [
        Step(
            "@call",
            function.inputs,
            {"function": call, "into": function.lanes > 1, "adds": function.adds},
            function.outputs,
            several=True,
            location=program.steps[group.steps[0]].location,
        )
        for (group, function), call in zip(found, made, strict=True)
    ]
    if not found:
        return program
    return dead(unpinned(replaced(program, [group for group, _ in found], steps.__getitem__)))


def functions_of(program: TracedProgram, groups: Sequence[Group]) -> list[tuple[Group, Function]]:
    """Return the groups that become C, and their functions."""
    readers: dict[Ref, set[int]] = {ref: {-1} for ref in program.outputs}
    for number, step in enumerate(program.steps):
        for ref in step.uses():
            readers.setdefault(ref, set()).add(number)
    found, views = [], transposed(program)
    for group in groups:
        inside, outside = set(group.steps), set[Ref]()
        for number in group.steps:
            for ref in program.steps[number].outs:
                if not readers.get(ref, inside) <= inside:
                    outside.add(ref)
        needed = frozenset(outside)
        made = written(program, group, needed, views)
        if made is not None and made[0].is_serial and _threads_of(made[0]) > 1:
            made = written(program, group, needed, views, serial=False)
        if made is None:
            continue
        function, left = made
        own = replace(group, steps=[n for n in group.steps if n not in set(left)])
        if is_worth_it(program, own):
            found.append((own, function))
    return found


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


def _callables(
    program: TracedProgram, functions: Sequence[Function], pool: Executor, driver: Future[Any]
) -> list[Callable[..., Any]]:
    """Return what calls the functions, each library of which is compiled in the pool."""
    from agnograd_c.kernels import calls

    alike: dict[tuple[int, str], list[Function]] = {}
    for each in functions:
        alike.setdefault((each.lanes, each.header), []).append(each)
    libraries = [(own, pool.submit(library_of, own)) for own in alike.values()]
    driver.result()
    made: dict[int, Callable[..., Any]] = {}  # by the identity of the function
    for own, found in libraries:
        library, names = found.result()
        for each, name in zip(own, names, strict=True):
            facts = [program.facts[ref] for ref in each.inputs]
            count = 1 if each.is_serial else _threads_of(each)
            made[id(each)] = calls.callable_of(library, name, facts, each.results, count)
    return [made[id(each)] for each in functions]


def _threads_of(function: Function) -> int:
    return threads() if function.work >= THREADED_STEPS and function.lanes > 1 else 1


def threads() -> int:
    """Return how many threads large groups are computed by."""
    for name in ("AGNOGRAD_NUM_THREADS", "OMP_NUM_THREADS"):
        if (given := os.environ.get(name, "")).isdecimal() and int(given):
            return int(given)
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, THREADS)
