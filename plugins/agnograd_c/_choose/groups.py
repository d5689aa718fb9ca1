"""Groups: sets of steps that one C function can compute, with nothing else between them."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from agnograd.extend import switch
from agnograd_c._choose.layout import CACHED_ELEMENTS, VECTOR_LOOP
from agnograd_c._choose.places import Additions, is_read, is_scatter
from agnograd_c._choose.products import added_to, is_product, work_of
from agnograd_c._choose.steps import SUMS, Fitting, is_inexact, looked_at
from agnograd_compile.lowering import Fact, Ref, Step, TracedProgram

GUARD = "@guard"

# Nanoseconds that NumPy takes to call a step, and for each element of it more than C; what a call
# of C takes; and what a step of scalars saves.
CALL, ELEMENT, GROUP, SCALAR = 400, 0.1, 200, 250 / 3
PAIR = 0.01  # nanoseconds that a product of small matrices takes longer for each pair of numbers
# How many nanoseconds a program has to save in each run to be worth a C compiler's time.
NANOSECONDS = switch("NANOSECONDS", 4000, least=-(10**9), most=10**9, module=__name__)
# How many steps of scalars are worth a call of C.
SCALAR_STEPS = switch("SCALAR_STEPS", 48, least=1, most=2**62, module=__name__)
_CALLS = {"where": 2, "sum": 2, "mean": 3, "@pullback": 4, "@call": 4}  # of NumPy's

# Steps that take NumPy next to nothing.
FREE = frozenset(("broadcast_to", "real", "imag", "positive"))


@dataclass(slots=True)
class Group:
    """Steps for one C function, whose elements all have one shape: () for scalars.

    Or a product of two matrices, and the sum that it is added to, if there is one.
    """

    shape: tuple[int, ...]
    steps: list[int] = field(default_factory=list)
    is_product: bool = False


# Of a step: the shape of its group's elements, None if it is in none; how often groups and other
# steps alternate before it; and whether no other step of its group can read its result.
Level = tuple[tuple[int, ...] | None, int, bool]
_GIVEN: Level = (None, 0, False)


def groups_of(program: TracedProgram) -> list[Group]:
    """Return the groups that take C less time than NumPy.

    Each step has a level: how often groups and other steps alternate before it. A group has all
    steps of a level and shape. So what is between two steps of a group is in the group, too, and
    the groups and the other steps can be put in an order.
    """
    facts, exact = program.facts, looked_at(program)
    sums = added_to(program, exact)
    made, added = levels_of(program, sums), frozenset(sums.values())
    found: dict[tuple[tuple[int, ...], int], Group] = {}
    products: list[Group] = []
    for number, step in enumerate(program.steps):
        shape, level, _ = made[step.outs[0]] if step.outs else _GIVEN
        if shape is not None:
            found.setdefault((shape, level), Group(shape)).steps.append(number)
        elif number in sums:
            products.append(Group(facts[step.outs[0]].shape, [sums[number], number], True))
        elif number not in added and exact.isdisjoint(step.outs) and is_product(facts, step):
            products.append(Group(facts[step.outs[0]].shape, [number], is_product=True))
    groups = [*filter(lambda group: is_worth_it(program, group), found.values()), *products]
    return groups if sum(_saved(program, group) for group in groups) >= NANOSECONDS else []


def levels_of(program: TracedProgram, sums: Container[int]) -> dict[Ref, Level]:
    """Return the level of the step that makes each value; sums with products are in no group."""
    fitting, exact, additions = Fitting(program.facts), looked_at(program), Additions(program)
    made: dict[Ref, Level] = {}
    of_effects = 0  # the level of the last step with effects, which come one after the other
    for number, step in enumerate(program.steps):
        shape = None if number in sums else _shape_of(fitting, step, made)
        if shape is not None and is_inexact(step) and not exact.isdisjoint(step.outs):
            shape = None
        adds = shape is None and exact.isdisjoint(step.outs) and additions.fits(step, made)
        if adds:
            shape = fitting.facts[step.args[2]].shape
        level = 0
        for ref in step.uses():
            of, at, ends = made.get(ref, _GIVEN)
            ends = ends and not (adds and ref is step.args[0])  # which its group has made
            level = max(level, at + (of is not None and (of != shape or ends)))
        if step.effects:
            level = of_effects = max(level, of_effects)
        ends = adds or step.op in SUMS
        made.update(dict.fromkeys(step.outs, (shape, level, ends)))
    return made


def _shape_of(fitting: Fitting, step: Step, made: Mapping[Ref, Level]) -> tuple[int, ...] | None:
    """Return the shape of the groups that a step can be in, None if there are none."""
    facts = fitting.facts
    if step.op in SUMS:
        (x,) = step.args[:1]
        of, _, ends = made.get(x, _GIVEN) if type(x) is Ref else _GIVEN
        return of if of and not ends and is_sum(facts, step) else None
    if is_read(facts, step) or is_scatter(facts, step):
        return ()
    if len(step.outs) == 1 and facts[step.outs[0]].size and fitting.fits(step):
        return facts[step.outs[0]].shape
    return None


def is_sum(facts: Mapping[Ref, Fact], step: Step) -> bool:
    """Return whether a step adds up real numbers along axes that C is better at: see axes_kept."""
    (x,), (out,) = step.args, step.outs
    kept = axes_kept(step, facts[x].shape)
    kinds = facts[x].dtype.kind, facts[out].dtype.kind
    return (
        kept is not None
        and kinds[1] in "fi"
        and facts[out].dtype.itemsize in (4, 8)
        and (kinds[0] in "bi" or kinds == ("f", "f"))
        and (step.op == "sum" or kinds[0] == "f")
    )


def axes_kept(step: Step, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Return the axes that a sum leaves; None if NumPy is good at it.

    C is better at all elements, and at the last axes. It is also better at one axis before a few
    numbers, as in the sum of many vectors of three: NumPy adds up a few numbers at a time.
    """
    axis, rank = step.kwargs.get("axis"), len(shape)
    if axis is None:
        return ()
    added = sorted(each % rank for each in (axis if type(axis) is tuple else (axis,)))
    kept = tuple(each for each in range(rank) if each not in added)
    if not kept or kept[-1] == len(kept) - 1:
        return kept
    few, length = math.prod(shape[added[-1] + 1 :]), shape[added[-1]]
    one = len(added) == 1 and few < VECTOR_LOOP <= length and few * length <= CACHED_ELEMENTS
    return kept if one else None


def is_worth_it(program: TracedProgram, group: Group) -> bool:
    """Return whether C takes less time for a group than NumPy."""
    if group.shape == () and not group.is_product:
        return _count(program, group) >= SCALAR_STEPS
    return _saved(program, group) > 0


def _saved(program: TracedProgram, group: Group) -> float:
    """Return about how many nanoseconds a group saves in each run."""
    if group.is_product:
        return GROUP + PAIR * work_of(program.facts, program.steps[group.steps[0]])
    if group.shape == ():
        return _count(program, group) * SCALAR
    steps = [program.steps[number] for number in group.steps]
    each = ELEMENT * math.prod(group.shape)
    taken = sum(_CALLS.get(step.op, 1) * (CALL + each) for step in steps if step.op not in FREE)
    return taken - GROUP


def _count(program: TracedProgram, group: Group) -> int:
    return sum(program.steps[number].op not in FREE for number in group.steps)


def replaced(
    program: TracedProgram, groups: Sequence[Group], step_of: Callable[[int], Step]
) -> TracedProgram:
    """Return the program with a step in place of each group.

    The others stay in their order as far as possible, so that values live no longer than before.
    """
    steps = program.steps
    at = {group.steps[-1]: index for index, group in enumerate(groups)}
    whole = {n: group.steps[-1] for group in groups for n in group.steps}
    makers = {ref: whole.get(n, n) for n, step in enumerate(steps) for ref in step.outs}
    before: dict[int, set[int]] = {}
    fixed = None  # the last guard, or step with effects: they stay in their order
    for number, step in enumerate(steps):
        place = whole.get(number, number)
        own = before.setdefault(place, set())
        own.update(makers[ref] for ref in step.uses() if ref in makers)
        if step.op == GUARD or step.effects:
            own.update(() if fixed is None else (fixed,))
            fixed = place
        own.discard(place)
    sorter = TopologicalSorter(before)
    sorter.prepare()
    ready: list[int] = []
    order: list[Step] = []
    while sorter.is_active():
        for number in sorter.get_ready():
            heapq.heappush(ready, number)
        number = heapq.heappop(ready)
        order.append(step_of(at[number]) if number in at else steps[number])
        sorter.done(number)
    return program.with_(steps=tuple(order))
