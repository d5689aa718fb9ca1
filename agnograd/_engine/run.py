"""The reverse pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from contextlib import ExitStack
from functools import partial
from heapq import heapify, heappop, heapreplace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from agnograd._engine.arrivals import Arrivals, completed, leaves_out, of_masked
from agnograd._engine.blocks import in_blocks
from agnograd._engine.pending import PENDING, Pending
from agnograd._graph.calls import Call, Pairs, note
from agnograd._graph.nodes import (
    FIRST,
    OP,
    RANK,
    WATCH,
    ByNode,
    Edge,
    Leaf,
    Node,
    Output,
    Parts,
    Value,
    domain_at,
    edges_of,
    forget,
    leaves_alive,
    maker_of,
    on_device,
    raw_gradient,
)
from agnograd._graph.paths import last_uses, on_path, within
from agnograd._hooks.entering import enable_grad, no_grad
from agnograd._hooks.state import REFERENCE, Mode, current_mode, set_mode
from agnograd._plugins.backend import Backend, RawDomain
from agnograd._util.deferred import later
from agnograd.errors import GradientError

if TYPE_CHECKING:
    from agnograd._hooks.active import ActiveHooks

Callback = Callable[[Any], Any]
_RANK = itemgetter(RANK)
_LEAVES = frozenset({Leaf})


def run_pass(
    seeds: Sequence[tuple[Edge, Any]],
    *,
    starts: Sequence[tuple[Value, Any]] = (),
    targets: Iterable[Edge] | None = None,
    create_graph: bool = False,
    retain_graph: bool = False,
    retain_grads: bool = False,
    callbacks: ByNode[Callback] | None = None,
    beyond: bool = True,
    shows: bool = True,
    level: Callable[[RawDomain], RawDomain] | None = None,
    connects: bool = False,
) -> ByNode[Any]:
    """Carry cotangents from the outputs of a graph back to where it starts; return gradients.

    Cotangents and gradients are raw arrays; with ``create_graph`` they are Variables, and so is
    what rules get. ``seeds`` are the nodes that the pass starts from, with their cotangents;
    ``starts`` are their values, for the hooks of plugins. ``targets`` are the nodes whose gradients
    are asked for, by default all leaves. ``retain_graph`` keeps the values that nodes saved,
    ``retain_grads`` returns the gradient of every visited value. ``callbacks`` are called, each
    with the gradient of its target as soon as that is final, and may replace it. Without
    ``beyond``, the pass is a part of another one: no gradient goes on from one target to another,
    and no hook on a target is called. Without ``shows``, no hook on a value is called.
    ``level``, if cotangents belong to one above, returns what rules compute in of the domain of a
    node; if the pass ``connects``, what was saved is connected to the graph.
    """
    mode, this = current_mode(), Pass()
    this.arrivals = arrivals = Arrivals(not create_graph and level is None)
    for node, g in seeds:
        arrivals.add(node, g)
        arrivals.special |= bool(g.shape) and domain_at(node).is_large(g)
    if mode is not None or create_graph or retain_graph or retain_grads or level is not None:
        this.level, this.connects = level, connects
        this.ask(mode, create_graph, retain_graph, retain_grads)
    this.shows = shows
    if targets is not None:
        this.aim(seeds, list(targets), beyond)
    if callbacks or (this.hooks is not None and this.hooks.has("gradient_ready")):
        this.callbacks = callbacks or this.callbacks
        uses = last_uses([node for node, _ in seeds], this.path)
        this.awaited = {leaf: use for leaf, (use, *_) in uses.items()}
        this.plain = False
    try:
        if this.hooks is None and not create_graph:
            run(this)
            return arrivals.final
        with ExitStack() as around:
            if create_graph:  # whatever the state is outside
                around.enter_context(enable_grad())
            if this.hooks is not None:
                raw = tuple(raw_gradient(output) for output, _ in starts)
                around.enter_context(this.hooks.around_pass(raw, this, [node for node, _ in seeds]))
            run(this)
        return arrivals.final
    finally:
        set_mode(mode)  # which it is, unless an interrupt kept something from restoring it


class Pass:
    """One reverse pass: what is asked of it, and the gradients that are on their way.

    Most often these are the gradients of all leaves, as the class has it: no pass has to set that.
    """

    arrivals: Arrivals  # what has arrived at nodes that are yet to run
    # The nodes whose gradients are asked for, those from which none goes on, and those on the way
    # to them (None for all): ranks.
    targets: Set[int] = frozenset()
    ends: Set[int] = frozenset()
    path: set[int] | None = None
    callbacks: ByNode[Callback] = ByNode()  # of which nobody changes one
    # If someone waits for leaves, the oldest node that uses each: then its gradient is final.
    awaited: dict[int, int] | None = None
    hooks: ActiveHooks | None = None  # the active plugins
    observers: ActiveHooks | None = None  # the same, if they look at rules
    visiting: Callable[[int], None] | None = None  # is told the rank of each node that is visited
    create_graph = retain_graph = retain_grads = connects = False
    level: Callable[[RawDomain], RawDomain] | None = None
    noticing = False  # whether gradients in the middle of the graph are asked for
    # Whether nobody but plugins looks at a gradient before it is whole, and at a leaf.
    plain = shows = True
    to_all = True  # whether the gradients of all leaves are asked for

    def ask(
        self, mode: Mode | None, create_graph: bool, retain_graph: bool, retain_grads: bool
    ) -> None:
        """Say what is asked in a state: see ``run_pass``."""
        self.create_graph, self.retain_graph = create_graph, retain_graph
        self.retain_grads = self.noticing = retain_grads
        self.plain = not (create_graph or retain_grads) and self.level is None
        if mode is None:
            return
        self.retain_graph |= mode.tape is not None  # forward mode outside needs the values
        self.visiting = mode.whole.backend.visiting() if mode.whole else None
        self.hooks = mode.hooks
        if self.hooks is not None and self.hooks.observe_rules:
            self.observers = self.hooks
            self.arrivals.special = True

    def aim(self, seeds: Sequence[tuple[Edge, Any]], targets: Sequence[Edge], beyond: bool) -> None:
        """Ask only for the gradients of some nodes: see ``run_pass``."""
        self.to_all, self.targets = False, set(map(_RANK, targets))
        only_leaves = _LEAVES.issuperset(map(type, targets))
        # Most often there are no other leaves in the process, and all ways end at those.
        if not only_leaves or len(self.targets) < leaves_alive():
            self.path = on_path([node for node, _ in seeds], targets)
            self.noticing = self.retain_grads or not only_leaves
            if self.noticing or self.path is not None:
                self.plain = False
        if not beyond:
            self.ends = self.targets

    def run(self) -> None:
        """Visit every node that a gradient reaches, the newest one first."""
        arrivals, keep = self.arrivals, self.retain_graph
        gradients, queue, masked = arrivals.gradients, arrivals.queue, arrivals.masked
        if Backend.switching or self.visiting or not self.plain:  # then each node is looked at
            arrivals.special = True
        if not queue:
            return
        node: Any = heappop(queue)
        g = gradients.pop(node[RANK])
        try:
            while True:
                # All that used its value is newer, and has run: the node's gradient is whole.
                step = node[OP].step
                if step is None or arrivals.special or (masked and node[RANK] in masked):
                    reached, g = self.look(node, g)
                else:
                    reached, g = step(g, node, gradients, arrivals, keep)
                # Most often the node that is reached is the newest of all.
                if reached is None:
                    if not queue:
                        break
                    node = heappop(queue)
                elif queue and queue[0][RANK] <= reached[RANK]:
                    if reached[RANK] in gradients:  # both inputs are of one value
                        arrivals.add(reached, g, node[OP].domain)
                        node = heappop(queue)
                    else:
                        gradients[reached[RANK]] = g
                        node = heapreplace(queue, reached)
                else:
                    node = reached
                    continue
                g = gradients.pop(node[RANK])
            final = arrivals.final
            for node in arrivals.leaves:
                g = gradients[rank := node[RANK]]
                if node[WATCH] is not None or type(g) in PENDING:
                    self.visit(node, g)
                else:  # most often
                    final[rank] = node, g
        except BaseException as error:
            note(error, node[OP])
            raise

    def look(self, node: Edge, g: Any) -> tuple[Edge | None, Any]:
        """Take a step if the op and its gradient are plain ones; visit the node otherwise.

        Return what a step does: a node that is reached, if there is one, and its gradient.
        """
        op, arrivals, observers, pairs = node[OP], self.arrivals, self.observers, None
        if self.visiting is not None:
            self.visiting(node[RANK])
        if op.step is None or not self.plain or Backend.switching:
            return self.visit(node, g)
        masked = node[RANK] in arrivals.masked
        if observers is not None and not masked:  # a step between the hooks of plugins
            pairs = observers.backward(partial(op.compiled.backward, g, node), node, g)
        elif observers is not None or isinstance(g, Pending) or (masked and op.domain.is_large(g)):
            return self.visit(node, g)
        elif masked:
            guards = op.compiled.guards
            zeros = arrivals.zeros(node, g) if guards else None
            if zeros is not False:
                arrivals.mask(node)
                if guards or op.compiled.works is None:  # what is not finite may come up
                    pairs = of_masked(op, node, g, zeros)
        elif op.compiled.of_uniform is not None and op.domain.is_large(g):
            pairs = self.of_large(node, node, g)
        if pairs is None:
            return op.step(g, node, arrivals.gradients, arrivals, self.retain_graph)  # type: ignore[no-any-return]
        if not self.retain_graph:
            node[OP : op.first] = op.freed or op.when_freed()
        return self.hand_on(pairs, op.domain)

    def visit(self, node: Edge, g: Any) -> tuple[None, None]:
        """Visit a node that is not a plain op, or in a pass of which more is asked."""
        if Backend.switching:
            with on_device(node, g):
                pairs = self.pairs(node, g)
        else:
            pairs = self.pairs(node, g)
        self.hand_on(pairs, node[OP].domain)
        gradients, queue, last = self.arrivals.gradients, self.arrivals.queue, self.awaited or {}
        for edge in edges_of(node) if last else ():  # leaves arrive whose last use has run
            if edge is not None and last.get(edge[RANK]) == node[RANK] and edge[RANK] in gradients:
                queue.remove(edge)
                heapify(queue)
                self.meet(edge, gradients.pop(edge[RANK]))
        return None, None

    def hand_on(self, pairs: Pairs, domain: RawDomain) -> tuple[None, None]:
        """Let gradients arrive at all nodes that are reached: none is left to be handed on."""
        arrivals, reading = self.arrivals, self.plain and self.observers is None
        for edge, part in pairs:
            if part is None:
                continue
            if reading and edge[OP].reads:
                arrivals.read(edge, part)
            elif Backend.switching:
                with on_device(edge, part):
                    arrivals.add(edge, part, domain)
            else:
                arrivals.add(edge, part, domain)
        return None, None

    def pairs(self, node: Edge, g: Any) -> Pairs:
        """Return the gradients that go on from a node, none if it ends there."""
        op = node[OP]
        g = g.gathered() if isinstance(g, Pending) else g
        if self.noticing or node[WATCH] is not None or not isinstance(op, Call):
            g = self.meet(node, g)
        taken = node if self.path is None else within(self.path, node)
        if g is None or taken is None:
            return ()
        if isinstance(node, Output):
            if node[RANK] in self.arrivals.masked:
                self.arrivals.mask(node)
            return [(maker_of(node), Parts({node.number: (node, g)}))]
        pairs = self.differentiate(node, taken, g)
        if not self.retain_graph:
            forget(node)
        return pairs

    def meet(self, node: Edge, g: Any) -> Any:
        """Show a gradient to those who asked; return it, or None if it ends here or at a leaf."""
        if type(g) is Parts and node[RANK] not in self.ends:  # each is asked for where it came from
            return g
        if self.to_all and not isinstance(node[OP], Call):
            node[OP].ended(())
        ends, leaf = node[RANK] in self.ends, isinstance(node, Leaf)
        watch = node[WATCH] if self.shows and not ends else None
        if watch is not None:
            for hook in tuple(watch.hooks.values()):
                g = replaced(hook, g, self.home(domain_at(node)), self.create_graph)
        if (callback := self.callbacks.of(node)) is not None:
            g = callback(g)
        asked = leaf or self.retain_grads or node[RANK] in self.targets
        if asked or (watch is not None and watch.retained):
            self.arrivals.final.put(node, g)
        if isinstance(node, Leaf) and not ends and self.hooks is not None:
            variable = node.variable()
            if variable is not None:
                self.hooks.run("gradient_ready", variable, raw_gradient(g))
        return None if ends or leaf else g

    def differentiate(self, node: Node, taken: Node, g: Any) -> Pairs:
        """Run a node's rule in any other than the plain case; return the inputs' gradients.

        ``taken`` is the node with only those of its edges that the pass will take.
        """
        op, arrivals = node[OP], self.arrivals
        compiled, zeros = op.compiled, arrivals.zeros(node, g)
        usual = compiled.of_uniform is not None and zeros is False and self.observers is None
        if usual and op.domain.is_large(g) and (pairs := self.of_large(node, taken, g)) is not None:
            return pairs
        if op.hooks is not None:
            node = [*node[:FIRST], *op.hooks.restore(node[FIRST : op.first]), *node[op.first :]]
            taken = [*node[: op.first], *taken[op.first :]]
        if zeros is not False or leaves_out(node, g):
            arrivals.mask(node)
        if arrivals.in_place and self.observers is None:
            if compiled.add is not None:  # no full-size array for a part of one
                edge = node[op.first]
                arrivals.own(edge, compiled.add(g, node, arrivals.buffer(edge, op.domain)))
                return ()
            if compiled.overwrite is not None:
                owned = node[RANK] in arrivals.owned and node[RANK] not in arrivals.final
                return arrivals.overwrite(op, node, taken, g, owned)
        if isinstance(g, Parts):
            g = completed(node, g, self.home(op.domain), self.create_graph)
        if zeros and arrivals.in_place and self.observers is None:
            return of_masked(op, taken, g, zeros)
        rules = compiled.backward if zeros is False else compiled.guarded
        compute = self.by_rules(rules, node, taken, g)
        if compiled.accumulate and not (self.create_graph or self.level or self.observers):
            compute = partial(arrivals.accumulate, op, g, taken)
        if self.observers is not None:
            compute = partial(self.observers.backward, compute, node, g)
        if zeros is False:
            return compute()
        with op.domain.backend.quiet():
            return compute()

    def by_rules(self, rules: Any, node: Node, taken: Node, g: Any) -> Callable[[], Pairs]:
        """Return what calls the rules of a node's op, with arrays as they are in this pass."""
        op = node[OP]
        if not self.create_graph and self.level is None:
            return partial(rules, g, taken)
        saved, home = node[FIRST : op.first], self.home(op.domain)
        if self.level is None or self.connects:
            saved = op.domain.connected(node, saved)
        if home is not op.domain and op.compiled.by_rules:  # rules see arrays of one level
            saved = home.raised_for(node, saved, self.create_graph)
        known = [*node[:FIRST], *saved, *taken[op.first :]]
        if home is not op.domain and not op.compiled.by_rules:
            xp = op.domain.namespace if self.connects else None
            return partial(home.backend.of_function, rules, g, known, xp)
        return partial(rules, g, known, home.namespace if self.create_graph else home.raw)

    def home(self, domain: RawDomain) -> Any:
        """Return the domain in which rules of a domain compute: that of the level that pulls."""
        return domain if self.level is None else self.level(domain)

    def of_large(self, node: Node, taken: Node, g: Any) -> Pairs | None:
        """Return the gradients that a large cotangent gives block by block, or as one number."""
        compiled = node[OP].compiled
        if self.plain and compiled.works and in_blocks(self.arrivals, node, g, self.retain_graph):
            return ()
        return compiled.of_uniform(g, taken)  # type: ignore[no-any-return]


def replaced(hook: Callable[[Any], Any], g: Any, domain: Any, create_graph: bool) -> Any:
    """Return what a hook makes of a gradient: the gradient itself, or another one like it."""
    grad = g if create_graph else domain.Variable._make(g, None)
    with enable_grad() if create_graph else no_grad():
        new = hook(grad)
    if new is None:
        return g
    new = domain.as_gradient(new)
    if new.shape != grad.shape or new.dtype != grad.dtype:
        raise GradientError(
            f"a hook returned a gradient of shape {new.shape} and dtype {new.dtype}, in place "
            f"of one of shape {grad.shape} and dtype {grad.dtype}; return one like it, or None"
        )
    return new if create_graph else new._raw


run: Callable[[Pass], None]
run = later("agnograd._engine.reference", "run") if REFERENCE else Pass.run
