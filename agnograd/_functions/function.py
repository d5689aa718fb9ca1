"""Functions with a derivative of their own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from agnograd._arrays.conversions import unwrap
from agnograd._arrays.domains import domain_named, domain_of
from agnograd._arrays.interpreted import Interpreted, _replaced
from agnograd._arrays.levels import beside, derived, highest, is_tracked, root_of
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
from agnograd._hooks.state import current_mode, is_grad_enabled
from agnograd._ops.rule_helpers import is_python_scalar
from agnograd._plugins.backends import is_array
from agnograd._util.deferred import later
from agnograd.errors import NoGradientError, RuleError, UnsupportedArrayError

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain


class Function:
    """A function with its own derivative: subclass it, and call an instance.

    ``forward(self, xp, *args, **options)`` gets the raw namespace and raw arrays, and returns an
    array or a tuple of arrays. It passes the arrays that ``backward`` needs to ``self.save(...)``;
    ``self.saved`` then has them. You may keep anything else as an attribute, but a second
    derivative through an array that is kept this way, be it in an object or a function or in the
    class, raises an error. So does one through an array that ``forward`` puts into a variable of
    the module or of an enclosing function, if ``backward`` names that variable. No method may write
    to the arrays that it gets. Where the backend can tell, such a write raises an error, too.

    ``backward(self, xp, *grads)`` gets the cotangent of each output (zeros for an output that
    nothing depends on). For each array argument it returns None, or the gradient with the
    argument's shape, dtype and device. In a first-order pass it gets raw arrays. Under
    ``create_graph`` it gets Variables and the differentiable namespace, and the inputs and outputs
    that were saved are connected to the graph.

    ``accumulate(self, xp, g, into)`` is optional, and saves full-size arrays in first-order passes.
    It adds the gradients to ``into``, a list with the sum so far for each array argument (an array
    that may be changed, or None), and returns the sums. ``g`` is the cotangent, or a list of them.

    If the results are on a different backend than the arguments, set the attribute ``backend`` to
    its name. ``backward`` then gets the namespace and cotangents of that backend, and returns
    gradients on the backend of the arguments.

    Arguments that are not arrays are passed on unchanged and have no gradient; neither do arrays in
    keyword arguments. You can call one instance many times: each call has its own copy.

    Raises
    ------
    RuleError
        If ``forward`` does not return arrays, or ``backward`` does not return gradients that fit,
        or either of them writes to an array that it got.
    GradientError
        In a pass under ``create_graph``, if ``backward`` reads an array with a gradient that
        ``forward`` kept as an attribute or in a variable of the module.

    Examples
    --------
    >>> import agnograd as ag
    >>> class Square(ag.Function):
    ...     def forward(self, xp, x):
    ...         self.save(x)
    ...         return x * x
    ...
    ...     def backward(self, xp, g):
    ...         (x,) = self.saved
    ...         return 2 * x * g
    >>> float(ag.grad(Square())(3.0))
    6.0
    """

    accumulate: Callable[..., Any] | None = None
    backend: str | None = None
    _saved: tuple[Any, ...] = ()
    # Whether no attribute holds an array that backward would wrongly take for a constant.
    _knows_attributes = False
    # Whether no method writes to what it is given, so that nothing has to be looked at for it.
    _is_pure = False
    # Whether backward also takes cotangents of a level above what forward got.
    _lifts = False
    # Whether forward, on arrays of a level, is recorded below with the derivative that it has.
    _records_below = False
    # As backward, where zeros in cotangents may mean that nothing is asked. An unused output has
    # None for its cotangent then, also in backward.
    _guarded: Callable[..., Any] | None = None
    # Whether it leaves elements of its arguments out, whose gradients are then zeros.
    _masks = False
    # As a method: the tangents of the results, of those of the array arguments. None is zeros.
    _push: Callable[..., Any] | None = None
    # Whether hooks see it as one op; what else they see it as, its forward tells them.
    _is_one = True
    _title: str | None = None

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

    def save(self, *values: Any) -> None:
        """Keep values for ``backward``, until a pass frees them."""
        self._saved = values

    @property
    def saved(self) -> tuple[Any, ...]:
        """The values that ``save`` was given."""
        return self._saved

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the function; what it returns is recorded as one op."""
        return applied(copy.copy(self), args, options)


def applied(function: Function, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Run a function's forward, and record the call if an argument is tracked."""
    name = function._title or type(function).__name__
    first = first_array(args)
    if first is None:
        raise UnsupportedArrayError(
            f"{name} was called without any array: pass at least one by position"
        )
    domain = highest(domain_of(first), args) if derived else domain_of(first)
    call = Call(name, "function", domain)
    found = [unwrap(call, f"argument {i}", x) if is_array(x) else None for i, x in enumerate(args)]
    known: dict[int, Any] = {}
    for i, pair in enumerate(found):
        # An array that two arguments share is copied: a saved one is known by its identity.
        if pair is not None and known.setdefault(id(pair[0]), pair)[1] is not pair[1]:
            found[i] = domain.copy(pair[0]), pair[1]
    there = domain
    if function.backend is not None:
        there = call.domain = beside(domain, root_of(domain_named(function.backend)))
    raw = [x if pair is None else pair[0] for x, pair in zip(args, found, strict=True)]
    inputs = [pair[0] for pair in found if pair is not None]
    edges = tuple(pair[1] for pair in found if pair is not None)
    options = {key: _constant(name, key, value) for key, value in options.items()}
    knows = function._knows_attributes
    held = {} if knows else held_by(function)
    state = current_mode()
    beneath = domain.level and is_grad_enabled() and any(map(is_tracked, inputs))
    if beneath and not function._records_below:
        for key, value in options.items():
            _refuse_tracked(name, key, value)
        called = later("agnograd._functions.beneath", "called_beneath")
        forward = partial(called, function, domain, raw, options)
    else:
        forward, beneath = partial(function.forward, domain.raw, *raw, **options), False
    pure = function._is_pure
    compute = forward if pure else partial(without_writes, forward, f"{name}.forward", args=raw)
    if state is None or not state.looks:
        out = compute()
    elif not function._is_one:
        out, kept_by = compute(), state.of(domain.level).kept
        edges = edges if kept_by is None else kept_by(*edges)
    else:
        call, out, edges = state.compute(call, compute, (), tuple(inputs), options, edges)
    out = _checked(out, function, there, inputs)
    outputs = out if isinstance(out, tuple | list) else (out,)
    if not any(edges) or not (state is None or state.recording):
        return there.wrap(out)
    kept = () if knows else attributes_since(held, function, inputs)
    node = _recorded(function, call, domain, inputs, edges, out, kept)
    if kept and beneath:  # a graph below would lack what these were computed from
        node[call.first - 1] = None
    if state is not None and state.watches:
        node = state.recorded(node, out)
    if outputs is out:
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


def _checked(out: Any, function: Function, domain: Domain, inputs: Sequence[Any]) -> Any:
    """Return what ``forward`` returned; raise if that is not an array, or several."""
    check_results(out if isinstance(out, tuple | list) else (out,), function, domain)
    if not domain.level:
        return out
    return by_backward(domain.backend, function.backward, inputs, out)


def check_results(results: Sequence[Any], function: Function, domain: Domain) -> None:
    """Raise if what ``forward`` returned is not of a domain's raw arrays."""
    for each in results:
        if not isinstance(each, domain.array_types):
            raise RuleError(
                f"{function._title or type(function).__name__}.forward returned "
                f"{type(each).__name__}; it must return an array of backend "
                f"{domain.backend.name!r}, or a tuple of such arrays"
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

    return _replaced(known, out)


def _recorded(
    function: Function,
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
    if function._guarded is not None:
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
        function: Function,
        domain: Domain,
        inputs: Sequence[Any],
        several: bool,
        kept: tuple[str, ...],
    ) -> None:
        self.function, self.domain, self.several, self.kept = function, domain, several, kept
        self.facts = [(x.shape, x.dtype, domain.device(x)) for x in inputs]

    def guarded(self, g: Any, node: Node, xp: Any = None) -> Pairs:
        """Return the gradients where zeros in cotangents may mean that nothing is asked."""
        return self.backward(g, node, xp, "_guarded")

    def backward(self, g: Any, node: Node, xp: Any = None, method: str = "backward") -> Pairs:
        """Return the gradients of the array arguments, as a method of the function has them."""
        grads = g if self.several else (g,)
        function = self._running(node)
        backward = getattr(function, method)
        if xp is None:
            compute = partial(backward, node[OP].domain.raw, *grads)
            what = f"{type(self.function).__name__}.backward"
            pure = function._is_pure
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

    def push(self, node: Node, tangents: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return the raw tangents of the results, if the function says how to compute them."""
        function = self._running(node)
        return None if function._push is None else function._push(*tangents)

    def _running(self, node: Node) -> Function:
        function = copy.copy(self.function)
        saved = node[FIRST : node[OP].first]
        if self.kept and saved.pop() is None:
            refuse_attributes(function, self.kept)
        function._saved = tuple(saved)
        return function

    def checked(self, method: str, found: Any) -> tuple[Any, ...]:
        """Return the gradients that a method returned; raise if they do not fit the arguments."""
        gradients = tuple(found) if isinstance(found, tuple | list) else (found,)
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
