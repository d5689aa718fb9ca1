"""An op's functions without generated code: what the written ones have to agree with.

They are slow, and do the same thing for every op: look here to see what a call does. They are used
with ``AGNOGRAD_REFERENCE=1`` in the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import BoundArguments
from types import FunctionType
from typing import Any

from agnograd._codegen.forward import OPERANDS, STRUCTURE
from agnograd._codegen.functions import missing
from agnograd._codegen.products import guarded, guarded_stack, takes_stacks
from agnograd._graph.calls import Call, Pairs, Plan
from agnograd._graph.nodes import FIRST, OP, Edge, Node, next_rank
from agnograd._hooks.state import current_mode
from agnograd._ops.fitting import fit, fit_each, mismatch
from agnograd._ops.op import Form, Op
from agnograd._ops.rule_helpers import conjugate, device_of
from agnograd._ops.saved import Saved, multiplies, saved_values
from agnograd._plugins.backend import RawDomain
from agnograd._util.deferred import now
from agnograd._util.signatures import parameters_of

Values = Mapping[str, Any]


def plain(op: Op, domain: RawDomain, kernel: Callable[..., Any], form: Form) -> FunctionType:
    """Return the op's function on one backend: see ``agnograd._codegen.deferring.compile_op``."""
    call = _call(op, domain)

    def function(*args: Any, **kwargs: Any) -> Any:
        if form == "reflected":
            args = args[::-1]
        at = domain.scope["_above"](domain, op.name, args, *kwargs.values())
        if at is None:
            at = domain.scope["_taken_over" if op.arrays else "_entered_above"](domain, op.name)
        if at is not None:
            return at(*args, **kwargs)
        for name in kwargs.keys() - op.signature.parameters:  # `bind` names one that is missing
            raise TypeError(f"{op.name}() got an unexpected keyword argument {name!r}")
        bound = op.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return _apply(op, call, partial(_computed, op, now(kernel), bound), form, bound.arguments)

    function.__signature__ = op.signature  # type: ignore[attr-defined]
    return function  # type: ignore[return-value]


# -- forward ---------------------------------------------------------------------------------------


def _apply(
    op: Op, call: Call, compute: Callable[[], Any], form: Form, values: dict[str, Any]
) -> Any:
    """Compute an op, on raw arrays in place of the values, and record it if an input has a node."""
    domain, base = call.domain, values[op.sequence or "x"] if op.view is not None else None
    edges: list[Edge | None] = []
    for name in op.arrays:
        if name in OPERANDS[form]:
            if form == "ufunc" and type(values[name]) in (list, tuple):  # which takes these, too
                values[name] = domain.scope["_as_operand"](domain, values[name])
            if not domain.scope["_is_operand"](call, values[name]):
                return NotImplemented
        edges += _unwrap(op, call, values, name)
    for name in op.options:
        if name == "key":
            values[name] = domain.scope["_raw_key"](values[name])
        elif name not in STRUCTURE:
            values[name] = domain.scope["_option"](call, name, values[name])
    if form in ("reflected", "ufunc") and type(values["x1"]) is complex:
        values["x2"] = domain.backend.array(values["x2"])  # which would answer as Python does
    options = {name: values[name] for name in op.options}
    arrays = [values[name] for name in op.arrays if name != op.sequence]
    inputs = (*arrays, *(values[op.sequence] if op.sequence else ()))
    state, made = current_mode(), call
    if state is None or not state.looks:
        out = compute()
    else:
        made, out, nodes = state.compute(call, compute, (), inputs, options, tuple(edges))
        edges = [*nodes]
    if state is not None and not state.recording:
        edges = [None for _ in edges]
    one = op.outputs == "one"
    if not any(edges) or (op.may_cast and not domain.is_inexact(out.dtype)):
        result = domain.Variable._make(out, None) if one else domain.wrap(out)
    else:
        saved = [_saved(op, each, values, out, edges) for each in saved_values(op)]
        node = [next_rank(), None, made, *saved, *edges]
        if state is not None and state.watches:
            node = state.recorded(node, out, op, inputs, options)
        result = domain.Variable._make(out, node) if one else domain.wrap_outputs(out, node)
    if op.view is None or ("key" in op.options and type(out) not in domain.viewable_types):
        return result  # also one element, of a library that makes a scalar of it
    return (domain.view if op.outputs == "one" else domain.views)(op, result, base, options)


def _unwrap(op: Op, call: Call, values: dict[str, Any], name: str) -> Sequence[Edge | None]:
    """Replace an input by its raw array; return the node that made it, of each of a sequence."""
    names = call.domain.scope
    if name == op.sequence:
        values[name], nodes = names["_unwrap_each"](call, name, values[name])
        return nodes if name in op.differentiable else ()
    together = len(op.arrays) == 2 and len(op.differentiable) != 1
    beside = [values[other] for other in op.arrays if other != name] if together else []
    values[name], node = names["_unwrap"](call, name, values[name], *beside)
    return [node] if name in op.differentiable else []


def _computed(op: Op, kernel: Callable[..., Any], bound: BoundArguments) -> Any:
    given = bound.kwargs.items()  # without arrays that are None: it is not always the libraries'
    return kernel(*bound.args, **{k: x for k, x in given if x is not None or k not in op.arrays})


def _saved(op: Op, saved: Saved, values: Values, out: Any, edges: Sequence[Edge | None]) -> Any:
    """Return what a node saves under a name, or None if no tracked input's rule needs it."""
    tracked = dict(zip(op.differentiable, edges, strict=False))
    if saved.users and not any(tracked[user] is not None for user in saved.users):
        return None
    if saved.name == "match":
        return mismatch(out, *(values[name] for name in op.differentiable))
    if saved.name == "_origin":  # of a negation: a reference that only saves memory
        return None
    known = {**values, "out": out}
    if saved.name in known:
        return known[saved.name]
    array, _, fact = saved.name.rpartition("_")
    if array == op.sequence:
        return [_fact(each, fact) for each in known[array]]
    return None if known[array] is None else _fact(known[array], fact)


def _fact(x: Any, name: str) -> Any:
    return device_of(x) if name == "device" else getattr(x, name)


# -- backward --------------------------------------------------------------------------------------


def _call(op: Op, domain: RawDomain) -> Call:
    """Return what nodes know of an op."""
    call = Call(op.name, op.chapter, domain)
    compiled = call.compiled
    compiled.by_rules, compiled.optional = True, op.outputs == "optional"
    if op.status == "missing":
        compiled.backward = compiled.guarded = missing(op, domain)
    elif op.rules:
        saved = saved_values(op)
        masks = partial(_masks, op) if op.masks else None
        call.saves(Plan(tuple(s.name for s in saved), tuple(s.source for s in saved), masks))
        compiled.backward = partial(_gradients, op, False)
        compiled.guarded, compiled.guards = partial(_gradients, op, True), multiplies(op)
        if takes_stacks(op):
            compiled.guarded = guarded_stack(compiled.backward)
    call.share()
    return call


def _gradients(op: Op, guard: bool, g: Any, node: Node, xp: Any = None) -> Pairs:
    """Return each edge of a node and its gradient, by the rule."""
    call = node[OP]
    xp = call.domain.raw if xp is None else xp
    known = {**_saved_in(node), "g": g, "xp": xp}
    edges = node[call.first :]
    if op.sequence:
        ((name, rule),) = op.rules.items()
        each = rule.function(*(known[part] for part in rule.names))  # type: ignore[operator]
        shapes, dtypes = known[f"{name}_shape"], known[f"{name}_dtype"]
        return tuple(zip(edges, fit_each(each, edges, shapes, dtypes, xp), strict=True))
    return [
        (edge, None if edge is None else _gradient(op, number, guard, known, call.domain))
        for number, edge in enumerate(edges)
    ]


def _gradient(op: Op, number: int, guard: bool, known: Values, domain: RawDomain) -> Any:
    """Return the gradient with respect to one input."""
    name, g, xp = op.differentiable[number], known["g"], known["xp"]
    rule = op.rules[name]
    computed = rule.function
    if callable(computed):
        computed = computed(*(known[part] for part in rule.names))
    if rule.kind != "elementwise":
        return fit(computed, known[f"{name}_shape"], known[f"{name}_dtype"], xp)
    if callable(rule.function):
        if domain.is_complex(g.dtype):
            computed = conjugate(computed, xp)
        result = guarded(domain, g, computed, xp) if guard else g * computed
    else:
        result = {1: lambda: g, -1: lambda: -g, 0: lambda: xp.zeros_like(g)}[computed]()
    match = known["match"] if op.broadcasts else None
    if match is None:
        return result
    shape, dtype = match[number]
    return fit(result, shape, dtype, xp)


def _masks(op: Op, node: Node) -> bool:
    if not callable(op.masks):
        return True
    known = _saved_in(node)
    return op.masks(*(known[name] for name in parameters_of(op.masks)))


def _saved_in(node: Node) -> dict[str, Any]:
    call = node[OP]
    return dict(zip(call.plan.names, node[FIRST : call.first], strict=True))
