"""Chains: long sums, scatters and writes of single elements, by one step on arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agnograd.extend import switch
from agnograd_compile._passes.columns import Columns, element, way
from agnograd_compile._passes.dead import dead
from agnograd_compile._programs.program import CHAIN, Ref, Step, TracedProgram

# How long a chain is at least that takes less time as arrays: these have to be put together.
CHAIN_LINKS = switch("CHAIN_LINKS", 8, least=2, most=2**62, module=__name__)
# How many links of a chain each scatter or write has on average: fewer take as long one by one.
CHAIN_SHARE = switch("CHAIN_SHARE", 4, least=1, most=2**62, module=__name__)
_SUMS = ("add", "subtract")
_WRITES = ("@scatter_add", "__setitem__")
_LINKS = frozenset((*_SUMS, *_WRITES))


@dataclass(slots=True)
class Links:
    """Steps of a chain: each is the only one that reads the result of the one before."""

    op: str
    start: Any
    items: list[Any]  # what is added, or a key and what is added or written there
    steps: list[Step]
    alike: Any = None  # what is alike in how terms are computed


def chains(program: TracedProgram) -> TracedProgram:
    """Return the program with one step for each long chain of steps on single elements.

    These are sums ``s = s + x[i] * x[i]`` in a loop, and the scatters of their gradients, and
    writes ``y[i] = ...``. What is added is computed at once if all of it is computed alike, by ops
    whose results are the same bit for bit in arrays. Sums keep their order.
    """
    found = {
        id(links.steps[-1]): links for links in _found(program) if len(links.items) >= CHAIN_LINKS
    }
    if not found:
        return program
    columns = Columns(program)
    changed = False
    for step in program.steps:
        links = found.get(id(step))
        if links is not None and (_summed if step.op in _SUMS else _written)(columns, links):
            changed = True
        else:
            columns.steps.append(step)
        for ref in step.outs:
            columns.made[ref] = step
    if not changed:
        return program
    # The other steps of these chains are dead now.
    return dead(columns.finished())


def _found(program: TracedProgram) -> list[Links]:
    """Return the chains of a program; a sum ends where terms are computed in a different way."""
    used, facts = program.used(), program.facts
    made: dict[Ref, Step] = {}
    open_: dict[Ref, Links] = {}  # by their last results, which only one step reads
    every = []
    for step in program.steps:
        for ref in step.outs:
            made[ref] = step
        given = _given(step, program) if step.op in _LINKS else None
        if given is None:
            continue
        before, item = given
        if step.op == "add" and before not in open_ and item in open_ and type(before) is Ref:
            before, item = item, before
        alike = None if step.op in _WRITES else way(made.get(item))
        links = open_.pop(before, None)
        if links is None or (links.op, links.alike, facts[links.steps[0].outs[0]]) != (
            *(step.op, alike),
            facts[step.outs[0]],
        ):
            links = Links(step.op, before, [], [], alike)
            every.append(links)
        links.items.append(item)
        links.steps.append(step)
        if used[step.outs[0]] == 1:
            open_[step.outs[0]] = links
    return every


def _given(step: Step, program: TracedProgram) -> tuple[Any, Any] | None:
    """Return what a sum or a write continues, and what it adds or writes there, or None."""
    facts = program.facts
    if step.op in _SUMS:
        one, other = step.args
        return (one, other) if facts[step.outs[0]].shape == () and type(other) is Ref else None
    if step.kwargs:
        return None
    into, key, value = step.args
    if type(value) is not Ref or type(into) is not Ref or facts[value].shape:
        return None
    shape, dtype = facts[into].shape, facts[into].dtype
    at = element(key, shape) if shape else None
    if at is None or facts[value].dtype != dtype or facts[step.outs[0]] != facts[into]:
        return None
    return into, (at, value)


def _summed(columns: Columns, links: Links) -> bool:
    """Add a step for a sum, if its terms are computed alike."""
    start, (first, *rest) = links.start, links.items
    last = links.steps[-1]
    orders = [(start, [first, *rest]), (first, [start, *rest])]
    for begin, terms in orders if links.op == "add" and type(start) is Ref else orders[:1]:
        column = columns.column(terms)
        if column is None or columns.facts[column].dtype != columns.facts[last.outs[0]].dtype:
            continue
        if columns.facts[column].shape:
            if links.op == "subtract":  # which is a sum with the negative
                shape, like = columns.facts[column].shape, columns.facts[terms[0]]
                column = columns.array("negative", (column,), {}, shape, like)
            columns.steps.append(replace(last, op=CHAIN, args=(begin, column), views=()))
            return True
    return False


def _written(columns: Columns, links: Links) -> bool:
    """Add steps for scatters or writes of single elements, each of which has every place once."""
    rounds = _rounds(links)
    if len(links.items) < CHAIN_SHARE * len(rounds):
        return False
    into, shape = links.start, columns.facts[links.start].shape
    last = links.steps[-1]
    for number, places in enumerate(rounds):
        keys = sorted(places)
        values = columns.stacked([places[key] for key in keys]) if keys[1:] else places[keys[0]]
        args = (into, _key(columns, keys, shape), values)
        if number + 1 < len(rounds):
            into = columns.array(links.op, args, {}, shape, columns.facts[into])
        else:
            columns.steps.append(replace(last, args=args, views=()))
    return True


def _rounds(links: Links) -> list[dict[tuple[int, ...], Ref]]:
    """Return what is scattered or written, so that no place is twice in one round.

    Then it does not matter in which order a library adds. Of writes only the last one matters.
    """
    if links.op == "__setitem__":
        return [dict(links.items)]
    rounds: list[dict[tuple[int, ...], Ref]] = []
    count: dict[tuple[int, ...], int] = defaultdict(int)
    for key, value in links.items:
        if count[key] == len(rounds):
            rounds.append({})
        rounds[count[key]][key] = value
        count[key] += 1
    return rounds


def _key(columns: Columns, keys: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> Any:
    found = columns.positions(keys, shape) if len(keys) > 1 else keys[0]
    if found is not None:
        return found
    indices = [columns.indices(numbers) for numbers in zip(*keys, strict=True)]
    return indices[0] if len(shape) == 1 else tuple(indices)
