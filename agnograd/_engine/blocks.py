"""Large cotangents on their way through element-wise ops: block by block, not op by op.

Op by op, each product and each sum of a rule reads and writes as much memory as its arrays have. A
block of elements can go through the rules of a stretch of such ops in the processor's cache.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import Any, NamedTuple

from agnograd._engine.arrivals import Arrivals
from agnograd._engine.pending import Pending
from agnograd._graph.calls import Backward, Call, note
from agnograd._graph.nodes import FIRST, OP, RANK, WATCH, Edge, Leaf, Node, edges_of, forget
from agnograd._plugins.backend import RawDomain
from agnograd._util.switches import switch

# Up to how many elements a gradient is held until the next one is made. It is the last of many
# arrays: if it were freed, too, C libraries would hand all that memory back to the system, and the
# next pass would wait for each page. Above 32 MiB, at eight bytes, they do so in any case.
HELD_ELEMENTS = switch("HELD_ELEMENTS", 2**22, least=0, most=2**62, module=__name__)


def in_blocks(arrivals: Arrivals, start: Node, g: Any, keep: bool) -> bool:
    """Carry a large cotangent through a stretch of element-wise ops, if there is one at a node.

    Return whether it was done; otherwise nothing has changed. ``start`` is the newest node that is
    left. What it saved is not freed here, nor, with ``keep``, what the other nodes saved.
    """
    domain: RawDomain = start[OP].domain
    backend = domain.backend
    whole = None if start[RANK] <= arrivals.tried else backend.flat(g)
    if whole is None:
        return False
    number, leading = backend.uniform(whole), _step_of(start, g.shape)
    if leading is None or (number is not None and leading.passes_number_on()):
        return False
    steps, ends = _stretch(leading, g.shape, arrivals)
    working = sum(step.works for step in steps)
    adds = any(end[RANK] in arrivals.gradients for end in ends)
    numbers = number is not None and not any(step.places for step in steps)
    if numbers or working == 0 or (working == 1 and not adds):  # no array of results is spared
        arrivals.tried = steps[-1].node[RANK]
        return False
    totals = [_Total(end, g, domain, arrivals) for end in ends]
    # The gradient of a sum, which most programs end with: a product with it changes nothing.
    ones = number == 1 and g.dtype not in domain.complex_dtypes
    block = backend.block * max(1, 5 - len(steps))  # few steps have few arrays for the cache
    if ones and len(steps) == 1:  # or none
        block *= 4
    for first in range(0, whole.shape[0], block):
        part = slice(first, first + block)
        cotangent = whole[part]
        arrived, owned = {start[RANK]: cotangent}, set[int]()
        for step in steps:
            step.run(arrived, owned, part, cotangent if ones else None)
        for total in totals:
            total.add(arrived, part)
    for total in totals:
        total.arrive()
    if not keep:
        for step in steps[1:]:
            forget(step.node)
    return True


class _Step(NamedTuple):
    """A node of a stretch, and the same with flat views of the arrays at some places."""

    node: Node
    flat: Node
    places: list[int]
    # Whether its rules compute anything, and do not pass the cotangent on as it is.
    works: bool
    backward: Backward
    of_ones: Backward

    def passes_number_on(self) -> bool:
        """Return whether one number for all elements stays so on its only way, as with constants.

        Of more ways, others may need arrays: these are made in blocks.
        """
        return not self.places and sum(edge is not None for edge in edges_of(self.node)) == 1

    def run(self, arrived: dict[int, Any], owned: set[int], part: slice, ones: Any) -> None:
        """Take the cotangent of a block from what has arrived, and add what its rules make.

        Sums are made here, and are changed in place. ``ones`` is the block of ones to begin with.
        """
        flat = self.flat
        g = arrived.pop(flat[RANK], None)
        if g is None:
            return
        block = flat.copy()
        for place in self.places:
            block[place] = flat[place][part]
        try:
            for edge, gradient in (self.of_ones if g is ones else self.backward)(g, block):
                if gradient is None:
                    continue
                rank = edge[RANK]
                if rank not in arrived:
                    arrived[rank] = gradient
                elif rank in owned:
                    arrived[rank] += gradient
                else:
                    arrived[rank] = arrived[rank] + gradient
                    owned.add(rank)
        except BaseException as error:
            note(error, flat[OP])
            raise


def _step_of(node: Node, shape: tuple[int, ...]) -> _Step | None:
    """Return the step of a node, or None if it cannot be one."""
    op = node[OP]
    if type(op) is not Call or op.compiled.works is None:
        return None
    backward, of_ones = op.compiled.backward, op.compiled.of_ones
    if op.hooks is not None:  # the node keeps something in place of its arrays
        backward = of_ones = op.hooks.of_packed
        if backward is None:
            return None
    flat, places, arrays = node.copy(), [], op.domain.viewable_types
    for place in range(FIRST, op.first):
        value = node[place]
        if type(value) in arrays:
            flat[place] = op.domain.backend.flat(value) if value.shape == shape else None
            if flat[place] is None:
                return None
            places.append(place)
        elif type(value) is tuple:  # the shapes and dtypes that gradients have to fit
            return None
    used = zip(op.compiled.works, edges_of(node), strict=True)
    works = any(works for works, edge in used if edge is not None)
    return _Step(node, flat, places, works, backward, of_ones)


def _stretch(
    leading: _Step, shape: tuple[int, ...], arrivals: Arrivals
) -> tuple[list[_Step], list[Edge]]:
    """Return the steps of the stretch that begins with one, newest first, and what it ends at.

    All consumers of a step are steps: a node that another one may yet send a gradient to is an end.
    """
    start = leading.node
    queue, masked = arrivals.queue, arrivals.masked
    steps, ends, reached, seen = [], [], [start], {start[RANK]}
    newest = queue[0][RANK] if queue else inf  # of the nodes that run before the older ones
    while reached:
        node: Any = heappop(reached)
        plain = node[WATCH] is None and node[RANK] not in masked
        passes = plain and node[RANK] < newest
        step = leading if node is start else _step_of(node, shape) if passes else None
        if step is None:
            ends.append(node)
            if type(node) is not Leaf:
                newest = min(newest, node[RANK])
            continue
        steps.append(step)
        for edge in edges_of(node):
            if edge is not None and edge[RANK] not in seen:
                seen.add(edge[RANK])
                heappush(reached, edge)
    return steps, ends


class _Total:
    """The gradient of an end: what has arrived there before, if it has, and what is added here."""

    total: Any = None
    flat: Any = None
    new = True

    def __init__(self, end: Edge, g: Any, domain: RawDomain, arrivals: Arrivals) -> None:
        self.end, self.g, self.domain, self.arrivals = end, g, domain, arrivals

    def add(self, arrived: dict[int, Any], part: slice) -> None:
        """Add the gradient of a block, if there is one."""
        gradient = arrived.get(self.end[RANK])
        if gradient is None:
            return
        if self.flat is None:
            self._begin(gradient.dtype)
        if self.new:
            self.flat[part] = gradient
        else:
            self.flat[part] += gradient

    def _begin(self, dtype: Any) -> None:
        flat, before = self.domain.backend.flat, self.arrivals.gradients.get(self.end[RANK])
        fits = before is not None and not isinstance(before, Pending) and before.dtype == dtype
        del before  # it is changed in place if nothing else refers to it
        if fits:
            self.total = self.arrivals.buffer(self.end, self.domain)
            self.flat = flat(self.total)
        self.new = self.flat is None
        if self.new:
            device = self.domain.device(self.g)
            self.total = self.domain.library.empty(self.g.shape, dtype=dtype, device=device)
            self.flat = flat(self.total)

    def arrive(self) -> None:
        """Let the gradient arrive at the end."""
        if self.new and self.end[RANK] in self.arrivals.gradients:
            self.arrivals.add(self.end, self.total)
        elif self.total is not None:
            self.arrivals.own(self.end, self.total)
        if self.domain.count(self.g) <= HELD_ELEMENTS:
            self.domain.held = self.total
