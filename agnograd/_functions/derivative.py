"""Calls that are recorded with a derivative of their own: their nodes, and their gradients."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from agnograd._arrays.conversions import unwrap
from agnograd._arrays.domain import Domain
from agnograd._arrays.domains import domain_named, domain_of
from agnograd._arrays.levels import beside, derived, highest, is_tracked, root_of, whole_over
from agnograd._arrays.variable import Variable
from agnograd._functions.purity import (
    attributes_since,
    held_by,
    refuse_attributes,
    without_writes,
)
from agnograd._functions.runs import first_array
from agnograd._graph.calls import Call, Pairs, Plan, Source
from agnograd._graph.nodes import FIRST, OP, Edge, Node, edges_of, next_rank
from agnograd._hooks.entering import entered
from agnograd._hooks.state import current_mode, is_grad_enabled
from agnograd._levels.interpreted import Interpreted, map_parts
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backends import is_array
from agnograd.errors import NoGradientError, RuleError, UnsupportedArrayError

NO_ARRAY: Any = object()  # in place of the node of what is not an array


class CustomDerivative:
    """What a call with its own derivative consists of: see ``agnograd.Function``."""

    accumulate: Callable[..., Any] | None = None
    backend: str | None = None
    _saved: tuple[Any, ...] = ()
    # As a method: the tangents of the results, of those of the array arguments. None is zeros.
    jvp: Callable[..., Any] | None = None
    guarded_backward: Callable[..., Any] | None = None
    # What ``__init_subclass__`` sets, and ``save``.
    _constant_attributes = _pure = _lifts = _records_below = _transparent = False
    _masks = False

    def __init_subclass__(
        cls,
        constant_attributes: bool | None = None,
        pure: bool | None = None,
        lifts: bool | None = None,
        records_below: bool | None = None,
        transparent: bool | None = None,
    ) -> None:
        """Keep what holds for a class and its subclasses: see ``agnograd.Function``."""
        super().__init_subclass__()
        given = {"constant_attributes": constant_attributes, "pure": pure, "lifts": lifts}
        given |= {"records_below": records_below, "transparent": transparent}
        for name, value in given.items():
            if value is not None:
                setattr(cls, f"_{name}", value)

    def forward(self, xp: Any, *args: Any, **options: Any) -> Any:
        """Compute the function on raw arrays."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method forward(self, xp, ...): define it"
        )

    def backward(self, xp: Any, *grads: Any) -> Any:
        """Compute the gradients of the array arguments."""
        raise NotImplementedError(
            f"{type(self).__name__} has no method backward(self, xp, g): define it, or call the "
            "function under ag.no_grad() or with x.detach()"
        )

    def save(self, *values: Any, masks: bool = False) -> None:
        """Keep values for ``backward``, until a pass frees them.

        ``masks`` says that the call leaves elements of its arguments out, as ``where`` does: where
        a derivative of these is not finite, their gradient is 0 all the same.
        """
        self._saved, self._masks = values, masks

    @property
    def saved(self) -> tuple[Any, ...]:
        """The values that ``save`` was given."""
        return self._saved

    @property
    def _title(self) -> str:
        return type(self).__name__


# Calls the forward of a function at a level, where an argument is tracked below it.
Beneath = Callable[[CustomDerivative, Domain, Sequence[Any], Mapping[str, Any]], Any]


def applied(
    function: CustomDerivative, args: tuple[Any, ...], options: dict[str, Any], beneath: Beneath
) -> Any:
    """Run a function's forward, and record the call if an argument is tracked."""
    name = function._title
    first = first_array(args)
    if first is None:
        raise UnsupportedArrayError(
            f"{name} was called without any array: pass at least one by position"
        )
    domain = whole_over(highest(domain_of(first), args) if derived else domain_of(first))
    state = current_mode()
    if state is not None and state.level is not None and domain.level < state.level.level:
        with entered(level=domain if domain.level else None):  # where what it makes belongs
            return applied(function, args, options, beneath)
    there = domain
    if function.backend is not None:
        there = beside(domain, root_of(domain_named(function.backend)))
    call = Call(name, "function", domain)
    raw, found = _unwrapped(call, args)
    call.domain = there
    inputs = [x for x, edge in zip(raw, found, strict=True) if edge is not NO_ARRAY]
    edges = tuple([edge for edge in found if edge is not NO_ARRAY])
    options = {key: _constant(name, key, value) for key, value in options.items()}
    below = not function._records_below and domain.level > 0 and is_grad_enabled()
    if below := below and any(map(is_tracked, inputs)):
        for key, value in options.items():
            _refuse_tracked(name, key, value)
        forward = partial(beneath, function, domain, raw, options)
    else:
        forward = partial(function.forward, domain.raw, *raw, **options)
    held = {} if function._constant_attributes else held_by(function)
    if not function._pure:
        forward = partial(without_writes, forward, f"{name}.forward", args=raw)
    if state is None or not state.looks:
        out = forward()
    elif function._transparent:
        out, kept_by = forward(), state.of(domain.level).kept
        edges = edges if kept_by is None else kept_by(*edges)
    else:
        call, out, edges = state.compute(call, forward, (), tuple(inputs), options, edges)
    out = _checked(out, function, there, inputs, below)
    if not any(edges) or not (state is None or state.recording):
        return there.wrap(out)
    kept = () if function._constant_attributes else attributes_since(held, function, inputs)
    node = _recorded(function, call, domain, inputs, edges, out, kept)
    if kept and below:  # a graph below would lack what these were computed from
        node[call.first - 1] = None
    return _results(out, node, there)


def _unwrapped(call: Call, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the arguments with raw arrays, and the node that made each array."""
    raw, edges = [], []
    known: dict[int, Any] = {}
    for place, x in enumerate(args):
        array, edge = unwrap(call, f"argument {place}", x) if is_array(x) else (x, NO_ARRAY)
        # An array that two arguments share is copied: a saved one is known by its identity.
        if edge is not NO_ARRAY and known.setdefault(id(array), edge) is not edge:
            array = array.another() if call.domain.level else call.domain.copy(array)
        raw.append(array)
        edges.append(edge)
    return raw, edges


def _results(out: Any, node: Node, there: Domain) -> Any:
    """Return the results of a call that was recorded as Variables."""
    state = current_mode()
    if state is not None and state.watches:
        node = state.recorded(node, out)
    if isinstance(out, tuple | list):
        return there.wrap_outputs(out, node)
    return there.Variable._make(out, node if there.is_inexact(out.dtype) else None)


def _constant(name: str, key: str, value: Any) -> Any:
    if not isinstance(value, Variable):
        return value
    if value.requires_grad:
        _refuse_tracked(name, key, value)
    return value.data


def _refuse_tracked(name: str, key: str, value: Any) -> None:
    if is_tracked(value):
        raise NoGradientError(
            f"{name}: keyword argument {key!r} requires a gradient, but only positional arguments "
            "have one; pass it by position, or pass x.detach()"
        )


def _checked(
    out: Any, function: CustomDerivative, domain: Domain, inputs: Sequence[Any], below: bool
) -> Any:
    """Return what ``forward`` returned; raise if that is not an array, or several.

    If the call was made ``below``, too, the levels there have seen it.
    """
    results = _every(out)
    check_results(results, function, domain)
    if not domain.level:
        return out
    if (below or function._records_below) and not hasattr(domain.backend, "by_backward"):
        return out
    found = by_backward(domain.backend, function.backward, inputs, out)
    if found is not out:  # what it has saved of its results is known by identity
        pairs = zip(results, found if isinstance(out, tuple | list) else (found,), strict=True)
        known = {id(before): after for before, after in pairs}
        function._saved = tuple([known.get(id(each), each) for each in function.saved])
    return found


def _every(found: Any) -> tuple[Any, ...]:
    """Return what a method returned as a tuple, also if it is one array."""
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def check_results(
    results: Sequence[Any], function: CustomDerivative, domain: Domain, method: str = "forward"
) -> None:
    """Raise if what a method returned is not of a domain's raw arrays."""
    for each in results:
        if not isinstance(each, domain.array_types):
            raise RuleError(
                f"{function._title}.{method} returned {type(each).__name__}; it must return an "
                f"array of backend {domain.backend.name!r}, or a tuple of such arrays"
            )


def by_backward(
    backend: Any, backward: Callable[..., Any] | None, inputs: Sequence[Any], out: Any
) -> Any:
    """Return what a user's function gave for inputs: only its ``backward`` has the derivative.

    An interpretation may need that, and then has a method ``by_backward``. Others leave it to what
    is below, which cannot call a function of this level.
    """
    own = getattr(backend, "by_backward", None)
    if own is not None:
        return own(backward, inputs, out)
    if backend.below.level == 0:
        return out
    # The results may be of a different library.
    payloads = [x.payload if isinstance(x, Interpreted) else x for x in inputs]
    given = [x._raw if isinstance(x, Variable) else x for x in payloads]

    def known(value: Any) -> Any:
        if type(value) is not backend.array_class:
            return value
        payload = value.payload
        raw = payload._raw if isinstance(payload, Variable) else payload
        found = by_backward(backend.below.backend, None, given, raw)
        if raw is not payload:
            found = payload._domain.Variable._make(found, payload._node)
        return backend.array_class(found, value.run)

    return map_parts(known, out)


def _recorded(
    function: CustomDerivative,
    call: Call,
    domain: Domain,
    inputs: Sequence[Any],
    edges: tuple[Edge | None, ...],
    out: Any,
    kept: tuple[str, ...],
) -> Node:
    """Return the node of a call: its saved values, and how its gradients are computed.

    ``kept`` are the names of attributes in which ``forward`` has put arrays.
    """
    saved, function._saved = function.saved, ()  # the node keeps them, and frees them
    rule = FunctionRule(function, domain, inputs, isinstance(out, tuple | list), kept)
    names = [f"saved[{index}]" for index in range(len(saved))]
    sources = [_source(value, inputs, out, call.domain) for value in saved]
    if kept:  # only what is saved knows whether it is needed as a Variable
        saved, names, sources = (*saved, kept), [*names, "attributes"], [*sources, "attributes"]
    masks = (lambda _: True) if function._masks else None
    call.saves(Plan(tuple(names), tuple(sources), masks))
    call.compiled.backward = call.compiled.guarded = rule.backward
    if function.guarded_backward is not None:
        call.compiled.guarded, call.compiled.optional = rule.guarded, True
    call.compiled.by_rules = function._lifts
    if function.accumulate is not None and call.domain is domain:
        call.compiled.accumulate = rule.accumulate
    return [next_rank(), None, call, *saved, *edges]


def _source(value: Any, inputs: Sequence[Any], out: Any, domain: Domain) -> Source:
    """Return what a saved value is connected to, when it is needed as a Variable."""
    home = None if is_python_scalar(value) else domain.home_of(value)
    if home is None:
        return None
    for index, x in enumerate(inputs):
        if value is x:
            return index
    if value is out:
        return "out"
    if isinstance(out, tuple | list):
        for index, each in enumerate(out):
            if value is each:
                return "out", index, tuple((each.shape, each.dtype) for each in out)
    return "unknown" if home.is_inexact(value.dtype) else "constant"


class FunctionRule:
    """How the gradients of one call are computed, and what they must look like."""

    def __init__(
        self,
        function: CustomDerivative,
        domain: Domain,
        inputs: Sequence[Any],
        several: bool,
        kept: tuple[str, ...],
    ) -> None:
        self.function, self.domain, self.several, self.kept = function, domain, several, kept
        self.facts = [(x.shape, x.dtype, domain.device(x)) for x in inputs]

    def guarded(self, g: Any, node: Node, xp: Any = None) -> Pairs:
        """Return the gradients where zeros in cotangents may mean that nothing is asked."""
        return self.backward(g, node, xp, "guarded_backward")

    def backward(self, g: Any, node: Node, xp: Any = None, method: str = "backward") -> Pairs:
        """Return the gradients of the array arguments, as a method of the function has them."""
        grads = g if self.several else (g,)
        function = self._running(node)
        backward = getattr(function, method)
        if xp is None:
            compute = partial(backward, node[OP].domain.raw, *grads)
            what = f"{type(self.function).__name__}.backward"
            pure = function._pure
            checked = partial(without_writes, compute, what, grads=grads, saved=function.saved)
            found = compute() if pure else checked()
        else:
            found = backward(xp, *grads)
        above = xp is not None and xp is not node[OP].domain.namespace
        if not above:  # else gradients are of a level above, which the graph knows nothing of
            found = self.checked("backward", found)
        if xp is not None and not above:
            found = tuple(self.domain.wrap(each) for each in found)
        return [
            (edge, None if edge is None else each)
            for edge, each in zip(edges_of(node), found, strict=True)
        ]

    def accumulate(self, into: list[Any], g: Any, node: Node) -> tuple[Any, ...]:
        """Return the sums of gradients."""
        function = self._running(node)
        assert function.accumulate is not None
        sums = function.accumulate(self.domain.raw, g, into)
        return self.checked("accumulate", into if sums is None else sums)

    def push(self, node: Node, out: Any, tangents: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return the raw tangents of the results, if the function says how to compute them."""
        function, domain = self._running(node), node[OP].domain
        if function.jvp is None:
            return None
        found = _every(function.jvp(domain.raw, *tangents))
        check_results(found, function, domain, "jvp")
        asked, given = ([(x.shape, x.dtype) for x in each] for each in (_every(out), found))
        if asked != given:
            raise RuleError(
                f"{type(self.function).__name__}.jvp returned shapes and dtypes {given}; those of "
                f"the results are {asked}"
            )
        return found

    def _running(self, node: Node) -> CustomDerivative:
        function = copy.copy(self.function)
        saved = node[FIRST : node[OP].first]
        if self.kept and saved.pop() is None:
            refuse_attributes(function, self.kept)
        function._saved = tuple(saved)
        return function

    def checked(self, method: str, found: Any) -> tuple[Any, ...]:
        """Return the gradients that a method returned; raise if they do not fit the arguments."""
        gradients = _every(found)
        where = f"{type(self.function).__name__}.{method}"
        if len(gradients) != len(self.facts):
            raise RuleError(
                f"{where} returned {len(gradients)} gradients for {len(self.facts)} array "
                "arguments; return one for each, in their order, or None"
            )
        for place, (gradient, fact) in enumerate(zip(gradients, self.facts, strict=True)):
            if gradient is not None:
                self._check(gradient, fact, f"{where}: gradient {place}")
        return gradients

    def _check(self, gradient: Any, fact: tuple[Any, ...], where: str) -> None:
        raw: Any = gradient._raw if isinstance(gradient, self.domain.Variable) else gradient
        if not isinstance(raw, self.domain.array_types):
            raise RuleError(
                f"{where} is {type(gradient).__name__}, not an array of backend "
                f"{self.domain.backend.name!r}; return an array for each array argument, or None"
            )
        array: Any = raw
        found = array.shape, array.dtype, self.domain.device(array)
        for what, one, wanted in zip(("shape", "dtype", "device"), found, fact, strict=True):
            if one != wanted:
                raise RuleError(f"{where} has {what} {one}, but its argument has {wanted}")
