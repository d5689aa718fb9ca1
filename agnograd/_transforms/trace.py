"""One run of a function that is being differentiated, and both ways between its ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache, partial
from itertools import islice
from operator import attrgetter
from sys import exc_info
from typing import Any
from weakref import ref

from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_of
from agnograd._arrays.levels import derived, highest
from agnograd._arrays.variable import Variable, owners
from agnograd._arrays.views import View
from agnograd._engine.arrivals import Arrivals
from agnograd._engine.ends import owned, raw_seed, seed_of
from agnograd._engine.run import Pass, run, run_pass
from agnograd._graph.nodes import RANK, UNWATCHED, ByNode, Edge, Leaf, leaves_alive, ranks
from agnograd._graph.paths import older
from agnograd._hooks.entering import (
    INSIDE,
    OUTERMOST,
    apart_from,
    enable_grad,
    entered,
    recording_since,
)
from agnograd._hooks.state import Recorder, current_mode, is_grad_enabled, set_mode
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._transforms.passes import at_level, pass_at, seed_at, zeros_of
from agnograd._util.trees import ONE, flatten, leaves, map_leaves, unflatten
from agnograd.errors import ArgumentIndexError, NoGradientError, UnsupportedArrayError

Function = Callable[..., Any]
ArgNums = int | Sequence[int]

_SAME = nullcontext()
_NODE = attrgetter("_node")


class Trace:
    """One run of a function: its differentiated inputs, its result, and the ways between them.

    In ``forward`` mode, passes inside the function free nothing: pushes go through the same nodes.
    It may also be a function that is given this trace before the run, and returns its recorder.
    Results are Variables if ``tangents``, which are given besides the arguments, have any.
    """

    def __init__(
        self,
        f: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: ArgNums,
        forward: bool | Callable[[Trace], Recorder] = False,
        tangents: Any = (),
    ) -> None:
        mode = current_mode()
        level = None if mode is None else mode.level
        # The positions that are named, those of arguments to differentiate by, and all others.
        self._asked, self._places, others, self._single = _positions(argnums, len(args))
        # Whether results are Variables. Under no_grad they are connected to nothing.
        self.as_variables = mode is not None and mode.inside
        if tangents:
            self.as_variables = self.as_variables or any(map(_has_variables, tangents))
        self.start = next(ranks)
        inputs: list[Variable] = []
        nodes: list[Edge] = []  # as they are before the function runs, which may write to inputs
        self.inputs, self.nodes = inputs, nodes
        self._trees: dict[int, Any] = {}  # the structures of arguments that have one
        lifted = [*args]
        for position in self._places:
            domain = owners.get(type(arg := args[position]))
            if domain is not None:  # most often: an array
                lifted[position] = variable = _differentiated(arg, domain, position, level)
                inputs.append(variable)
                nodes.append(variable._node)  # type: ignore[arg-type]
            else:
                lifted[position] = self._inputs(arg, position, level)
        for position in others:
            lifted[position] = self._lifted(args[position])
        options = kwargs and {name: self._lifted(value) for name, value in kwargs.items()}
        tape = None
        if forward:
            tape = forward(self) if callable(forward) else Recorder()
        self.result = self._run(f, lifted, options, tape)
        # Most often there are no other leaves in the process, which results could depend on.
        self.alone = len(nodes) >= leaves_alive()

    def _inputs(self, arg: Any, position: int, level: Domain | None) -> Any:
        """Return an argument with Variables of its own, to be differentiated by."""
        if arg is None:
            raise UnsupportedArrayError(
                f"argument {position} is None, which has no gradient: pass arrays, or name "
                "other arguments by argnums"
            )
        found, tree = flatten(arg)
        self._trees[position] = tree
        self.as_variables = self.as_variables or any(isinstance(x, Variable) for x in found)
        inputs = [_differentiated(leaf, domain_of(leaf), position, level) for leaf in found]
        self.inputs += inputs
        self.nodes += map(_NODE, inputs)
        return unflatten(tree, inputs)

    def _lifted(self, arg: Any) -> Any:
        """Return another argument with its arrays as Variables, constants if they were none.

        Arrays of another library that the inputs' backend accepts stay as they are.
        """
        beside = self.inputs[0]._domain if self.inputs else None
        if type(arg) in owners:
            return _constant(arg, beside)
        self.as_variables = self.as_variables or _has_variables(arg)
        return map_leaves(partial(_constant, beside=beside), arg)

    def _run(
        self, f: Function, args: Sequence[Any], kwargs: dict[str, Any], tape: Recorder | None
    ) -> Any:
        outer = current_mode()
        try:
            if outer is not None or tape is not None:
                with recording_since(self.start, tape, inside=True):
                    return _refreshed(f(*args, **kwargs))
            try:  # most often: as ``with INSIDE``, without its calls
                set_mode(OUTERMOST)
                result = f(*args, **kwargs)
                if isinstance(result, View) or not isinstance(result, Variable):
                    _refreshed(result)
            except BaseException:
                INSIDE.__exit__(*exc_info())
                raise
            if current_mode() is OUTERMOST:
                set_mode(None)
            else:  # what was entered inside is left, too
                INSIDE.__exit__(None, None, None)
            return result
        finally:
            if current_mode() is not outer:  # an interrupt kept something from restoring it
                set_mode(outer)

    def pull(
        self, outputs: Sequence[Variable], cotangents: Sequence[Any], retain: bool
    ) -> list[Any]:
        """Return the gradient of each input.

        A pullback outlives the run, and may be called with cotangents that are differentiated
        when the arguments were not: what they are, and whether ops are recorded, is asked now.
        """
        for each in cotangents if derived else ():
            level = derived.get(type(each))
            if level is not None and level.level > max(out._domain.level for out in outputs):
                return self._pulled_at(highest(level, cotangents), outputs, cotangents)
        as_variables, mode = self.as_variables, current_mode()
        for each in cotangents:
            if each is not None and not as_variables:
                as_variables = _has_variables(each)
        given, create_graph = list(map(raw_seed, outputs, cotangents)), False
        # Most often ops are recorded outside, and a pass needs no state of its own.
        recording = mode is None or mode.recording
        state: AbstractContextManager[Any] | None = None if recording else enable_grad()
        if as_variables and recording:
            variables = list(map(seed_of, outputs, cotangents))
            create_graph = self._depends_on_outside(outputs)
            if not create_graph and any(g._node is not None for g in variables):
                create_graph, state = True, apart_from(out._node for out in outputs)
            given = variables if create_graph else given
        pairs, seeds = list(zip(outputs, given, strict=True)), []
        for output, g in pairs:
            if output._node is not None:
                seeds.append((output._node, g))
        carry = partial(
            run_pass,
            seeds,
            starts=pairs,
            targets=self.nodes,
            create_graph=create_graph,
            retain_graph=retain or create_graph,
        )
        try:
            if state is None:
                found = carry()
            else:
                with state:
                    found = carry()
        finally:
            set_mode(mode)  # an interrupt may have kept the block from restoring it
        return self._gradients(found, dict(zip(map(id, given), given, strict=True)), as_variables)

    def pull_one(self, number: Variable) -> list[Any]:
        """Return the gradient of a real number by each input, as ``pull`` does."""
        node = number._node
        if self.as_variables or node is None or current_mode() is not None:
            self.connect([number])
            return self.pull([number], [None], retain=False)
        # Most often there is nothing to be asked, and the pass is one of the simplest.
        one, this = number._domain.ones(number._raw), Pass()
        this.arrivals = arrivals = Arrivals(True)
        arrivals.gradients[node[RANK]] = one
        arrivals.queue.append(node)
        this.to_all = False
        if not self.alone:
            this.aim([(node, one)], self.nodes, True)
            if this.path is not None:  # there are ways to other leaves
                self.connect([number])
                if self.as_variables:
                    return self.pull([number], [None], retain=False)
        try:
            run(this)
        finally:
            if current_mode() is not None:  # an interrupt kept something from restoring it
                set_mode(None)
        return self._gradients(arrivals.final, {id(one): one}, False)

    def _gradients(
        self, found: ByNode[Any], given: dict[int, Any], as_variables: bool
    ) -> list[Any]:
        """Return what a pass found for each input; ``given`` is what others hold, by identity."""
        gradients = []
        for number, x in enumerate(self.inputs):  # in half of the time that a strict zip takes
            end, domain = found.get(self.nodes[number][RANK]), x._domain
            g = zeros_of(x) if end is None else end[1]
            if as_variables or domain.lays_out or id(g) in given:
                like = x._raw if domain.lays_out else None
                g = owned(g, domain, given, like) if as_variables else domain.own(g, given, like)
            else:  # as Domain.own, without a call
                given[id(g)] = g
                g = domain.backend.own(g)
            gradients.append(g)
        return gradients

    def _pulled_at(
        self, level: Domain, outputs: Sequence[Variable], cotangents: Sequence[Any]
    ) -> list[Variable]:
        """Return the gradients where cotangents are of a level above the run: Variables of it."""
        given = [seed_at(level, *pair) for pair in zip(outputs, cotangents, strict=True)]
        pairs = [(out._node, g) for out, g in zip(outputs, given, strict=True) if out._node]
        connects = is_grad_enabled() and self._depends_on_outside(outputs)
        found = pass_at(level, pairs, self.nodes, connects)
        return [
            at_level(level, found.of(node), x)
            for x, node in zip(self.inputs, self.nodes, strict=True)
        ]

    def arranged(self, values: Iterable[Any]) -> Any:
        """Return values of all inputs in the structure of each argument that is asked for.

        They are a tuple, unless a single argument is asked for by its number.
        """
        arguments = tuple(values)
        if self._trees or self._places != self._asked:  # seldom
            left, found = iter(arguments), {}
            for position in self._places:
                tree = self._trees.get(position, ONE)
                found[position] = unflatten(tree, islice(left, tree.num_leaves))
            arguments = tuple(map(found.__getitem__, self._asked))
        return arguments[0] if self._single else arguments

    def connect(self, found: Iterable[Any]) -> None:
        """Let results be Variables if one of them depends on what the function closes over.

        The gradient of that would be lost otherwise.
        """
        if not (self.alone or self.as_variables) and is_grad_enabled():
            results = [each for each in found if isinstance(each, Variable)]
            self.as_variables = self._depends_on_outside(results)

    def out(self, value: Any) -> Any:
        """Return results as the caller gave the arguments: raw arrays or Variables."""

        def given_back(leaf: Any) -> Any:
            if not isinstance(leaf, Variable):
                return leaf
            if not self.as_variables:
                return leaf.data
            connects = is_grad_enabled() and self._depends_on_outside([leaf])
            return leaf if connects else leaf._here()

        return map_leaves(given_back, value)

    def _depends_on_outside(self, variables: Iterable[Variable]) -> bool:
        """Whether values depend on anything tracked that was there before this run.

        What depends only on this run's own inputs is cut loose: otherwise every result would
        hold the graph that made it, and so would all that is computed from it.
        """
        return any(older([variable._node for variable in variables], self.start))


@lru_cache
def _positions(argnums: int | tuple[int, ...], count: int) -> tuple[Any, ...]:
    """Return the positions, from 0 on, that argnums name among so many arguments.

    They come as they are named, in order, and after these all others; and whether it is a number.
    """
    found = []
    for each in (argnums,) if isinstance(argnums, int) else argnums:
        if not -count <= each < count:
            raise ArgumentIndexError(
                f"argnums names argument {each}, but {count} positional ones were given; pass "
                "what is differentiated by position"
            )
        found.append(each % count)
    named = {*found}
    others = tuple(sorted({*range(count)} - named))
    return tuple(found), tuple(sorted(named)), others, isinstance(argnums, int)


def _refreshed(result: Any) -> Any:
    """Return what a function returned, whose views take what they show while it is recorded."""
    for leaf in leaves(result):
        if isinstance(leaf, View):
            leaf.refresh()
    return result


def _has_variables(tree: Any) -> bool:
    return tree is not None and any(isinstance(leaf, Variable) for leaf in leaves(tree))


def _differentiated(leaf: Any, domain: Domain, position: int, level: Domain | None) -> Variable:
    """Return a Variable of its own for an input: its gradient is only that of this place.

    ``domain`` is its own, ``level`` the one above in which the function runs, if there is one.
    """
    kind = type(leaf)
    if level is not None and domain.level < level.level:
        # A number of Python becomes an array of its library.
        raw = level.to_raw(leaf) if is_python_scalar(leaf) else level.backend.lift(leaf)
        if raw is not NotImplemented:  # as of another library's array
            domain = level
            leaf = raw if isinstance(raw, Variable) else domain.Variable._make(raw, None)
    if kind in domain.ready_types:  # most often
        data = leaf
    else:
        data = leaf._raw if isinstance(leaf, Variable) else domain.to_raw(leaf)
    if data.dtype not in domain.inexact_dtypes:
        raise UnsupportedArrayError(
            f"argument {position} has dtype {data.dtype}, and no gradient: differentiate with "
            "respect to floating-point or complex arrays in native byte order (see argnums), or "
            "convert it first"
        )
    if data is not leaf and isinstance(leaf, Variable) and leaf._node is not None:
        connected = _connected(leaf)
        if connected is not None:
            return connected
    variable: Variable = next(domain.blank)
    # Some libraries compute with scalars in less time than with arrays of no axes.
    variable._raw = data if data.shape else domain.backend.scalar(data)
    variable._node = node = Leaf((next(ranks), None, UNWATCHED))  # as Leaf.of, without a call
    node.grad = node.accumulated = node.facts = None
    node.domain, node.alive, node.argument = domain, Leaf.EACH, True
    node.variable = ref(variable)
    return variable


def _connected(x: Variable) -> Variable | None:
    """Return a tracked Variable with a node of its own; None if it is a constant now."""
    if not is_grad_enabled():
        return None
    mode = current_mode()
    forward = mode is not None and mode.tape is not None
    with entered(tape=Recorder()) if forward else _SAME:  # passes end at this node
        variable = x._domain.convert(x, x.dtype, copy=False)
    return None if variable._node is None else variable  # a manager may take it for a constant


def _constant(leaf: Any, beside: Domain | None) -> Any:
    """Return an array among the other arguments as a Variable; all else as it is."""
    kind = type(leaf)
    domain = owners.get(kind)
    if domain is None:
        if is_python_scalar(leaf) or isinstance(leaf, Variable | str | list | tuple):
            return leaf
        try:
            domain = domain_of(leaf)
        except UnsupportedArrayError:
            return leaf
    if domain is not beside and beside is not None and beside.backend.accepts(leaf):
        return leaf
    variable = next(domain.blank)
    variable._raw = leaf if kind in domain.ready_types else domain.to_raw(leaf)
    variable._node = None
    return variable


def outputs_of(trace: Trace, what: str) -> tuple[list[Variable], Any]:
    """Return the arrays that a function returned as Variables, and their structure."""
    found, tree = flatten(trace.result)
    trace.connect(found)
    return as_outputs(found, what, trace.inputs), tree


def as_outputs(found: Sequence[Any], what: str, inputs: Sequence[Variable]) -> list[Variable]:
    """Return Variables of their own: who was given the results may write to them.

    Numbers become arrays of the library of the inputs.
    """
    outputs: list[Variable] = []
    for leaf in found:
        number = is_python_scalar(leaf) and bool(inputs)
        domain = inputs[0]._domain if number else domain_of(leaf)
        known = isinstance(leaf, Variable)
        raw, node = (leaf._raw, leaf._node) if known else (domain.to_raw(leaf), None)
        outputs.append(domain.Variable._make(raw, node))
    if not outputs or any(out._domain.is_inexact(out.dtype) for out in outputs):
        return outputs
    dtypes = ", ".join(dict.fromkeys(str(out.dtype) for out in outputs))
    raise NoGradientError(
        f"{what} needs a function that returns floating-point or complex numbers, not {dtypes}: "
        "such a value is constant between its steps, and has no gradient; convert it in the "
        "function with xp.astype if zeros are meant, or return what it was computed from"
    )
