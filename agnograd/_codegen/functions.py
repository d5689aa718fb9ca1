"""The functions that users call and the engine runs: one pair for each op and backend.

An op's function does no look-up by name, no re-packing of arguments and no inspection: its source
is written here, from the op's signature and from what its rules name, when it is called first, and
compiled once for all ops and backends that share it. ``inspect.getsource(xp.multiply)`` shows the
result then.

This module is imported when an op is first called, and what writes the source where it was not
written when agnograd was built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from heapq import heappush
from math import prod
from types import FunctionType
from typing import Any
from weakref import ref

from agnograd._codegen.products import guarded, guarded_stack, lean, takes_stacks
from agnograd._codegen.texts import function_for
from agnograd._engine.pending import Products, Shared
from agnograd._graph.calls import Call, Pairs, Plan
from agnograd._graph.nodes import FIRST, OP, UNWATCHED, Leaf, Node, ranks
from agnograd._hooks.state import current_mode
from agnograd._ops.fitting import SCALAR_TYPES, fit, fit_each, mismatch
from agnograd._ops.op import Form, Itself, Op
from agnograd._ops.rule_helpers import conjugate, device_of
from agnograd._ops.saved import multiplies, saved_values, values_named, works
from agnograd._plugins.backend import RawDomain
from agnograd._util.deferred import function_from
from agnograd._util.signatures import parameters_of
from agnograd.errors import MissingRuleError, PluginError

_SCALARS = frozenset({bool, int, float})
# What options most often are: that they are not Variables need not be asked.
_OPTIONS = frozenset({bool, int, float, str, tuple, type(None)})


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


_SHARED = {
    "_Leaf": Leaf,
    "_UNWATCHED": UNWATCHED,
    "_OPTIONS": _OPTIONS,
    "_SCALARS": _SCALARS,
    "_device": device_of,
    "_conjugate": conjugate,
    "_fit": fit,
    "_given": _given,
    "_fit_each": fit_each,
    "_lean": lean,
    "_mismatch": mismatch,
    "_mode": current_mode,
    "_next": next,
    "_partial": partial,
    "_push": heappush,
    "_ranks": ranks,
    "_reference": ref,
    "_scalars": SCALAR_TYPES,
    "_type": type,
}


def generated(op: Op, domain: RawDomain, kernel: Callable[..., Any], form: Form) -> FunctionType:
    """Return the op's function, as ``agnograd._codegen.deferring.compile_op`` does."""
    scope = _scope(op, domain, kernel)
    numbers = domain.number_type is not None and len(op.arrays) == 2 and op.broadcasts
    if numbers:
        scope["_of_numbers"] = _call(op._replace(of_numbers=True), domain, dict(scope))
    call = _call(op, domain, scope)
    if op.reads:
        scope["_reading"] = call.variant("reading", reads=call.first, turn=False)
        scope["_reading_leaf"] = call.reading_leaf()
    return function_for("forward_source", scope, op, form, kernel, numbers)


def _scope(op: Op, domain: RawDomain, kernel: Any) -> dict[str, Any]:
    """Return all that the functions of an op may name."""
    scope = (
        _SHARED
        | dict(domain.scope)
        | {
            "__name__": f"agnograd.ops.{op.chapter}",
            "_Number": domain.number_type,
            "_Variable": domain.Variable,
            "_array": domain.backend.array,
            "_blank": domain.blank,
            "_complex": domain.complex_dtypes,
            "_count": domain.count,
            "_declared": op,
            "_domain": domain,
            "_float64": domain.dtype_or_none("float64"),
            "_guarded": partial(guarded, domain),
            "_inexact": domain.inexact_dtypes,
            "_kernel": kernel,
            "_large": domain.large,
            "_plain": domain.plain_types,
            "_raw": domain.raw,
            "_viewable": domain.viewable_types,
            "_view": partial(domain.view if op.outputs == "one" else domain.views, op),
            "_wrap": domain.wrap,
            "_wrap_outputs": domain.wrap_outputs,
        }
    )
    return scope | {f"_rule_{name}": rule.function for name, rule in op.rules.items()}


def _call(op: Op, domain: RawDomain, scope: dict[str, Any]) -> Call:
    """Return what nodes know of an op, whose functions are compiled in this scope."""
    call = scope["_call"] = Call(op.name, op.chapter, domain)
    compiled = call.compiled
    compiled.by_rules, compiled.optional = True, op.outputs == "optional"
    compiled.negates = op.negation
    compiled.works = works(op)
    compiled.guards = multiplies(op)
    compiled.of_uniform = of_uniform(op)
    if op.status == "missing":
        compiled.backward = compiled.guarded = missing(op, domain)
    elif op.rules:
        saved = saved_values(op)
        names = tuple(each.name for each in saved)
        masks = _masks(op, names) if op.masks else None
        call.saves(Plan(names, tuple(each.source for each in saved), masks))
        _compile_when_called(call, op, scope)
        if op.accumulate is not None:
            compiled.add = _bound(op.accumulate, domain, names)
        if op.overwrite is not None:
            compiled.overwrite = _bound(op.overwrite, domain, names)
    call.share()
    scope["_freed"] = call.when_freed()[0]
    return call


def _compile_when_called(call: Call, op: Op, scope: dict[str, Any]) -> None:
    """Give a call its backward functions, each of which is compiled when it is called first."""

    def put(attribute: str, make: Callable[[], FunctionType]) -> None:
        holder = call if attribute == "step" else call.compiled

        made: list[Callable[..., Any]] = []  # it may still be called where it was found before

        def when_called(*arguments: Any) -> Any:
            if not made:
                function = make()
                function.__defaults__ = (call.domain.raw,)
                made.append(function)
                setattr(holder, attribute, function)
            return made[0](*arguments)

        setattr(holder, attribute, when_called)

    def backward(manner: str, own: Mapping[str, str]) -> FunctionType:
        return function_for("backward_source", scope, op, manner, own)

    own = _pullbacks(op, call, scope)
    put("backward", lambda: backward("plain", own))
    put("guarded", lambda: backward("guarded" if multiplies(op) else "plain", {}))
    if takes_stacks(op):
        call.compiled.guarded = guarded_stack(lambda *given: call.compiled.backward(*given))
    if call.compiled.works is not None:
        put("of_ones", lambda: backward("ones", own))
    if op.outputs == "one" and not (op.accumulate or op.overwrite or op.masks):
        put("step", lambda: _step(op, own, call, scope))


def _step(op: Op, own: Mapping[str, str], call: Call, scope: dict[str, Any]) -> FunctionType:
    scope["xp"] = call.domain.raw
    scope |= {f"_{name}_shared": _shared(op, name, call.plan.names) for name in op.stacks}
    # A small cotangent may become a large gradient. That of a product of small matrices may, too,
    # but they are too fast to look at what they give.
    kinds = {rule.kind for rule in op.rules.values()}
    looks = call.domain.large is not None and bool(kinds & {"linear", "vjp"})
    scope["_Products"] = Products
    functions = {name: scope[f"_pullback_{name}"] for name in own}
    return function_for("step_source", scope, op, own, functions, looks)


def _shared(op: Op, name: str, saved_names: tuple[str, ...]) -> Shared:
    """Return what says how calls that share an input are computed together."""
    number = op.differentiable.index(name)
    place = FIRST + saved_names.index(op.differentiable[1 - number])
    return Shared(op.name, number, place, op.stacks[name])


def _pullbacks(op: Op, call: Call, scope: dict[str, Any]) -> dict[str, str]:
    """Put a backend's own functions for rules into the scope; return their arguments by input."""
    backend = call.domain.backend
    functions, found = backend.pullbacks().get(op.name, {}), {}
    if not isinstance(functions, Mapping):
        raise PluginError(
            f"backend {backend.name!r} gives {functions!r} as pullbacks of {op.name}; give a "
            "function for each input that has one, by the input's name"
        )
    inputs = [name for name in op.rules if name != op.sequence]
    for name, function in functions.items():
        given = f"backend {backend.name!r} gives a pullback of {op.name} for {name!r}"
        if name not in inputs:
            single = ", ".join(map(repr, inputs)) or "none"
            raise PluginError(f"{given}; single arrays with a rule are {single}")
        parameters = parameters_of(function)
        found[name] = ", ".join(parameters)
        known = ("g", *values_named(op, name))
        if not set(parameters) <= set(known):
            raise PluginError(
                f"{given} with the parameters {found[name]}; they have to be some of: "
                f"{', '.join(known)}"
            )
        scope[f"_pullback_{name}"] = function
    return found


def _bound(
    function: Callable[..., Any], domain: RawDomain, saved_names: tuple[str, ...]
) -> Callable[..., Any]:
    """Return ``(g, node, into=None) -> array`` from an op's function that changes arrays."""
    given = {name: f"node[{place}]" for place, name in enumerate(saved_names, FIRST)}
    arguments = ", ".join(given.get(name, name) for name in parameters_of(function))
    scope = {"function": function, "backend": domain.backend, "xp": domain.raw}
    source = f"def accumulate(g, node, into=None):\n    return function({arguments})"
    return function_from(source, scope)


def _masks(op: Op, saved_names: tuple[str, ...]) -> Callable[[Node], bool]:
    """Return whether a call masks, from its node's saved values."""
    if not callable(op.masks):
        return lambda _: True
    places = [saved_names.index(name) + FIRST for name in parameters_of(op.masks)]
    arguments = ", ".join(f"node[{place}]" for place in places)
    source = f"def masks(node):\n    return function({arguments})"
    return function_from(source, {"function": op.masks})


def missing(op: Op, domain: RawDomain) -> Callable[..., Any]:
    def backward(*_: Any) -> Any:
        array = op.differentiable[0] if op.differentiable else "x"
        raise MissingRuleError(
            f"{op.name} ({op.chapter}) has no derivative rule, on any backend "
            f"(here: {domain.backend.name}). To register one, put into a module of yours\n"
            "    from agnograd.extend import OpSet\n"
            f"    ops = OpSet({op.chapter!r})\n"
            f"    ops.vjp({op.text!r}, {array}=lambda g, {array}, out, xp: ...)\n"
            "and name its `ops` as an entry point in the group agnograd.ops; or use "
            f"ag.stop_gradient on the input of {op.name}, if no gradient shall flow through it."
        )

    return backward


# -- cotangents that are one number for all elements -----------------------------------------------

# A sum spreads its cotangent over all elements of its input, in an array that has the memory of
# one: the backend tells it by its layout (``Backend.uniform``), and views of it stay so. What comes
# of it through ops whose rules use no array is one number as well, and needs no array either.


def of_uniform(op: Op) -> Callable[[Any, Node], Pairs | None] | None:
    """Return ``(g, node) -> pairs``, or None if an op gives no such gradients."""
    if works(op) is not None:  # its rules are right for any part of the elements
        return _by_rules
    (rule,) = op.rules.values() if len(op.arrays) == len(op.rules) == 1 else (None,)
    passes = rule is not None and rule.function == Itself("g") and not op.masks
    return _passed_on if passes and op.outputs == "one" and not op.sequence else None


def _by_rules(g: Any, node: Node) -> Pairs | None:
    """Apply element-wise rules, unless they use an array."""
    op = node[OP]
    number, saved = op.domain.backend.uniform(g), node[FIRST : op.first]
    arrays = any(getattr(value, "shape", None) for value in saved)
    if number is None or arrays or op.hooks is not None:
        return None
    match, last = None, op.first - 1
    if op.plan.names[-1:] == ("match",):
        match, node = node[last], [*node[:last], None, *node[op.first :]]
    pairs = op.compiled.backward(number, node)
    return _spread(op, pairs, match or [(g.shape, None)] * len(pairs), g)


def _passed_on(g: Any, node: Node) -> Pairs | None:
    """Pass the cotangent on, in the shape and dtype that nodes save last."""
    op = node[OP]
    number = op.domain.backend.uniform(g)
    if number is None:
        return None
    return _spread(op, [(node[op.first], number)], [node[op.first - 2 : op.first]], g)


def _spread(op: Call, pairs: Pairs, facts: Any, g: Any) -> Pairs:
    """Return gradients in the inputs' shapes and dtypes, as if of all elements of the cotangent."""
    xp, found = op.domain.raw, []
    for (edge, part), (shape, dtype) in zip(pairs, facts, strict=True):
        if part is not None:
            count = prod(g.shape) // prod(shape)
            if count > 1:  # of elements that were made of one
                part = xp.sum(xp.broadcast_to(part, (count,)))
            part = fit(part, (), part.dtype if dtype is None else dtype, xp)
            part = xp.broadcast_to(part, shape) if shape else part
        found.append((edge, part))
    return found
