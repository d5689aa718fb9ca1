"""An op's functions without generated code: what the written ones have to agree with.

They are slow, and do the same thing for every op: look here to see what a call does. They are used
with ``AGNOGRAD_REFERENCE=1`` in the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import Parameter, getdoc
from typing import TYPE_CHECKING, Any

from agnograd._codegen.forward import OPERANDS, STRUCTURE, Form
from agnograd._codegen.functions import missing
from agnograd._codegen.products import guarded
from agnograd._graph.calls import Call, Pairs, Plan
from agnograd._graph.nodes import FIRST, OP, Edge, Node, next_rank
from agnograd._hooks.state import current_mode
from agnograd._ops.fitting import fit, fit_each, mismatch
from agnograd._ops.op import Op
from agnograd._ops.rule_helpers import conjugate, device_of
from agnograd._ops.saved import Saved, saved_values
from agnograd._util.deferred import now
from agnograd._util.signatures import parameters_of

if TYPE_CHECKING:
    from agnograd._arrays.domain import Domain

Values = Mapping[str, Any]


def plain(op: Op, domain: Domain, kernel: Callable[..., Any], form: Form) -> Callable[..., Any]:
    """Return the op's function on one backend: see ``agnograd._codegen.deferring.compile_op``."""
    call = _call(op, domain)

    def function(*args: Any, **kwargs: Any) -> Any:
        if form == "reflected":
            args = args[::-1]
        bound = op.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return _apply(op, call, now(kernel), form, bound.arguments)

    function.__name__ = op.name.rpartition(".")[2]
    function.__qualname__ = op.name
    function.__module__ = domain.namespace.__package__
    function.__doc__ = op.forward and getdoc(op.forward)
    function.__signature__ = op.signature  # type: ignore[attr-defined]
    return function


# -- forward ---------------------------------------------------------------------------------------


def _apply(
    op: Op, call: Call, kernel: Callable[..., Any], form: Form, given: dict[str, Any]
) -> Any:
    """Compute an op, and record it if an input has a node."""
    domain, base = call.domain, given[op.sequence or "x"] if op.view is not None else None
    values = given
    edges: Sequence[Edge | None] = ()
    for name in op.arrays:
        if name in OPERANDS[form] and not _takes(call, values, name, form):
            return NotImplemented
        edges = (*edges, *_unwrap(op, call, values, name))
    for name in op.options:
        values[name] = _option(call, name, values[name])
    if form in ("reflected", "ufunc") and type(values["x1"]) is complex:
        values["x2"] = domain.backend.array(values["x2"])  # which would answer as Python does
    state, out = current_mode(), None
    made = call
    if state is None or not state.looks:
        out = _computed(op, kernel, values)
    else:
        compute = partial(_computed, op, kernel, values)
        arrays = [values[name] for name in op.arrays if name != op.sequence]
        inputs = (*arrays, *(values[op.sequence] if op.sequence else ()))
        options = {name: values[name] for name in op.options}
        made, out, edges = state.compute(call, compute, (), inputs, options, tuple(edges))
    if state is not None and not state.recording:
        edges = [None for _ in edges]
    if not any(edges) or (op.may_cast and not domain.is_inexact(out.dtype)):
        result = domain.wrap(out)
    else:
        saved = [_saved(op, each, values, out, edges) for each in saved_values(op)]
        node = [next_rank(), None, made, *saved, *edges]
        if state is not None and state.watches:
            state.recorded(node, out)
        one = op.outputs == "one"
        result = domain.Variable._make(out, node) if one else domain.wrap_outputs(out, node)
    return result if op.view is None else _view(op, domain, result, out, base, values)


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


def _takes(call: Call, values: dict[str, Any], name: str, form: Form) -> bool:
    """Return whether an operator takes an operand; a ufunc takes lists for arrays."""
    domain = call.domain
    if form == "ufunc" and type(values[name]) in (list, tuple):
        values[name] = domain.scope["_as_operand"](domain, values[name])
    takes: bool = domain.scope["_is_operand"](call, values[name])
    return takes


def _option(call: Call, name: str, value: Any) -> Any:
    if name == "key":
        return call.domain.scope["_raw_key"](value)
    return value if name in STRUCTURE else call.domain.scope["_option"](call, name, value)


def _computed(op: Op, kernel: Callable[..., Any], values: Values) -> Any:
    args, kwargs = [], {}
    for name, parameter in op.signature.parameters.items():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            args += values[name]
        elif parameter.kind is not Parameter.KEYWORD_ONLY:
            args.append(values[name])
        elif name not in op.arrays or parameter.default is not None or values[name] is not None:
            kwargs[name] = values[name]
    return kernel(*args, **kwargs)


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


def _view(op: Op, domain: Domain, result: Any, out: Any, base: Any, values: Values) -> Any:
    """Return a result as a view of an input, where it is one."""
    options = {name: values[name] for name in op.options}
    if "key" in options and type(out) not in domain.viewable_types:
        return result  # one element, of a library that makes a scalar of it
    return (domain.view if op.outputs == "one" else domain.views)(op, result, base, options)


# -- backward --------------------------------------------------------------------------------------


def _call(op: Op, domain: Domain) -> Call:
    """Return what nodes know of an op."""
    call = Call(op.name, op.chapter, domain)
    compiled = call.compiled
    compiled.optional = op.outputs == "optional"
    if op.status == "missing":
        compiled.backward = compiled.guarded = missing(op, domain)
    elif op.rules:
        saved = saved_values(op)
        masks = partial(_masks, op) if op.masks else None
        call.saves(Plan(tuple(s.name for s in saved), tuple(s.source for s in saved), masks))
        compiled.backward = partial(_gradients, op, False)
        compiled.guarded = partial(_gradients, op, True)
    call.share()
    return call


def _gradients(op: Op, guard: bool, g: Any, node: Node, xp: Any = None) -> Pairs:
    """Return each edge of a node and its gradient, by the rule."""
    call = node[OP]
    xp = call.domain.raw if xp is None else xp
    known = dict(zip(call.plan.names, node[FIRST : call.first], strict=True))
    known |= {"g": g, "xp": xp}
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


def _gradient(op: Op, number: int, guard: bool, known: Values, domain: Domain) -> Any:
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
    call = node[OP]
    known = dict(zip(call.plan.names, node[FIRST : call.first], strict=True))
    return op.masks(*(known[name] for name in parameters_of(op.masks)))
