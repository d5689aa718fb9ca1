"""The source of an op's backward functions, written from its signature and its rules.

``backward`` returns gradients, for whoever looks at them. A step is one of a reverse pass where
nobody does: it hands them on itself and frees the node, which spares what a small op has to wait
for most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FunctionType
from typing import Any, Literal

from agnograd._codegen.forward import filled, indented
from agnograd._codegen.inline import lambda_body, written_out
from agnograd._graph.nodes import FIRST, RANK
from agnograd._ops.op import Itself, Op, Rule
from agnograd._ops.saved import multiplies, saved_values

# By input, where the backend has a function of its own in place of the rule: its arguments.
Own = Mapping[str, str]
# The lines that call it, given those of the rule, for what the function leaves to that.
Pullbacks = Mapping[str, Callable[[list[str]], list[str]]]

# How a backward function multiplies: cotangents of 0 with derivatives that are not finite give 0
# where it is guarded; a cotangent of real ones has no product where the derivative is an array.
Manner = Literal["plain", "guarded", "ones"]

_BACKWARD = """
def {name}_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    {unpacked} = node
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    {gradients}
    return {pairs}
"""

_STEP = """
def {name}_step(g, node, gradients, arrivals, keep):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    {unpacked} = node
    # A gradient is handed on as soon as it is known. Where another one has arrived, they are
    # added. A node that is reached for the first time gets its turn: the first of them is
    # returned with its gradient, and the others are queued. Leaves, and elements that were read,
    # need no turn.
    {gradients}
    for _edge, _grad in zip(_edges, _grads):  ? sequence
        if _grad is not None:
            arrivals.add(_edge, _grad, _domain)
    # What the node saved is freed.
    if not keep:
        node[{OP}] = _freed  ? numbers
        node[{OP}] = _freed if _op is _call else _op.when_freed()[0]  ? not numbers
        {emptied} = None  ? emptied
    {arrival}
    return {returned}
"""

_ARRIVAL = """
if {there}:
    arrivals.add({edge}, {grad}, _domain)
elif {edge}[{OP}].turn:
    return {edge}, {grad}  ? only
    _first, _part = {edge}, {grad}  ? first
    if _first is None:  ? later
        _first, _part = {edge}, {grad}
    elif {edge}[{RANK}] < _first[{RANK}]:  # of two, the newer one comes first  ? later
        gradients[_first[{RANK}]] = _part  ? later
        _push(arrivals.queue, _first)  ? later
        _first, _part = {edge}, {grad}  ? later
    else:  ? later
        gradients[{rank}] = {grad}
        _push(arrivals.queue, {edge})
elif {edge}[{OP}] is _UNWATCHED:
    gradients[{rank}] = {grad}
    arrivals.leaves.append({edge})
"""

# As Arrivals.read, without a call.
_READ = """
if _place := {edge}[{OP}].reads:
    _elements, _array = arrivals.newest, {edge}[_place]
    if _elements.array is not _array:  # they are of one array most often
        _elements = arrivals.elements.get(_array[{RANK}]) or arrivals.begin_elements({edge})
        arrivals.newest = _elements
    _elements.keys.append({edge}[{FIRST}])
    _elements.cotangents.append({grad})
"""

# What is left to compute waits for calls that share an input, if it can. No name may refer to what
# is there: Arrivals.add counts the references.
_JOINING = """
_there = (_rank := {edge}[{RANK}]) in gradients
if not _there or not (
    {take} if _type(gradients[_rank]) is _Products else {join}
):
    {lines}
"""


def backward_source(op: Op, manner: Manner, own: Own, _: list[str]) -> str:
    """Write ``(g, node, xp) -> pairs``: each edge of the node and its gradient, or None.

    On a first-order pass ``g`` and the saved values are raw arrays, and ``xp`` the raw namespace;
    under ``create_graph`` they are Variables and the differentiable namespace.
    """
    # Backends know only raw arrays; under ``create_graph`` there are others.
    pullbacks = {name: partial(_called, name, given) for name, given in own.items()}
    edges = "".join(f"(_{name}_edge, _{name}_grad), " for name in op.differentiable)
    pairs = "tuple(zip(_edges, _grads))" if op.sequence else f"({edges})"
    gradients = _gradients(op, manner, pullbacks)
    return "\n".join([*filled(_BACKWARD, **_names(op), gradients=gradients, pairs=pairs), ""])


def step_source(
    op: Op, own: Own, functions: Mapping[str, Callable[..., Any]], looks: bool, names: list[str]
) -> str:
    """Write ``(g, node, gradients, arrivals, keep) -> (edge, gradient)``, of raw arrays only.

    The gradients go to where the edges' gradients arrive, but that of the first edge that is
    reached: it is returned with the edge, which the queue lacks, too. What the node saved is freed
    unless ``keep``. The backend's own ``functions`` are written out; what they find in their
    modules is added to ``names``. ``looks`` says whether a gradient may be large where the
    cotangent is not.
    """
    pullbacks = {
        name: partial(_written, name, given, functions[name], names) for name, given in own.items()
    }
    several = len(op.differentiable) > 1
    arrival = [] if several or op.sequence else _arrival(op, op.differentiable[0], looks)
    handed_on = _handed_on(op, pullbacks, looks)
    # As agnograd._graph.nodes.forget, for a known op. Numbers, shapes, dtypes and the like stay:
    # nobody reads them, and they are not arrays.
    small = {"match"} | {f"{name}_{what}" for name in op.arrays for what in ("shape", "dtype")}
    saved = [] if op.of_numbers else [saved.name for saved in saved_values(op)]
    places = [f"node[{place}]" for place, name in enumerate(saved, FIRST) if name not in small]
    lines = filled(
        _STEP,
        **_names(op),
        gradients=handed_on if several else _gradients(op, "plain", pullbacks),
        sequence=op.sequence,
        numbers=op.of_numbers,
        emptied=" = ".join(places),
        arrival=arrival,
        returned="_first, _part" if several else "None, None",
    )
    return "\n".join([*lines, ""])


def _called(name: str, given: str, otherwise: list[str]) -> list[str]:
    """Call a backend's function for the gradient with respect to an input."""
    result = f"_{name}_grad"
    return [
        f"{result} = _pullback_{name}({given}) if xp is _raw else NotImplemented",
        f"if {result} is NotImplemented:",
        *indented(otherwise),
    ]


def _written(
    name: str, given: str, function: Callable[..., Any], names: list[str], otherwise: list[str]
) -> list[str]:
    """Write it out, or call it, only for raw arrays."""
    return written_out(function, given, f"_{name}_grad", f"_pullback_{name}", names, otherwise)


def _names(op: Op) -> dict[str, Any]:
    saved = [saved.name for saved in saved_values(op)]
    edges = ["*_edges"] if op.sequence else [f"_{name}_edge" for name in op.differentiable]
    unpacked = ", ".join(["_", "_", "_op", *saved, *edges])
    return {"name": op.name.rpartition(".")[2].strip("_"), "unpacked": unpacked}


def _handed_on(op: Op, pullbacks: Pullbacks, looks: bool) -> Iterator[str]:
    """Compute the gradients of several inputs, and hand each on at once."""
    yield from _conjugated(op, "plain", pullbacks)
    yield "_first = _part = None"
    if op.product and not pullbacks:  # whose results may be shared
        # The two gradients of x * x are the same, and are added up here.
        one, other = op.differentiable
        yield f"if _{one}_edge is _{other}_edge and {one} is {other}:"
        yield from indented(_gradient(op, one, "plain", {}))
        yield f"    _{one}_grad += _{one}_grad"  # a new array, which nothing else refers to
        yield from indented(_arrival(op, one, looks=False))
        yield f"    _{one}_edge = _{other}_edge = None"
    for number, name in enumerate(op.differentiable):
        edge = f"_{name}_edge"
        lines = [*_gradient(op, name, "plain", pullbacks), *_arrival(op, name, looks)]
        if name in op.stacks:
            shared = f"_{name}_shared, {op.differentiable[1 - number]}, g"
            take = f"gradients[_rank].take({shared})"
            join = f"arrivals.join({edge}, node, {shared})"
            lines = filled(_JOINING, edge=edge, take=take, join=join, lines=lines)
        yield f"if {edge} is not None:"
        yield from indented(lines)


def _arrival(op: Op, name: str, looks: bool) -> Iterator[str]:
    """Hand the gradient with respect to one input on."""
    edge, grad = f"_{name}_edge", f"_{name}_grad"
    texts = [_ARRIVAL, _READ]
    if op.of_numbers:  # most often elements that were read, which arrays hardly ever are
        texts.reverse()
    # Numbers mostly have gradients that wait, and small arrays have none.
    rank, there = f"{edge}[{RANK}]", f"gradients and {edge}[{RANK}] in gradients"
    if op.of_numbers or name in op.stacks:
        rank, there = "_rank", f"(_rank := {rank}) in gradients" if op.of_numbers else "_there"
    only, first = len(op.differentiable) == 1, name == op.differentiable[0]
    turn = {"only": only, "first": first and not only, "later": not first}
    lines, other = [
        filled(each, edge=edge, grad=grad, rank=rank, there=there, **turn) for each in texts
    ]
    lines += [f"el{other[0]}", *other[1:]]
    if looks:
        large = f"_type({grad}) in _viewable and _count({grad}) >= _large"
        lines = [f"if {large}:", "    arrivals.special = True", *lines]
    if op.rules[name].kind != "elementwise":  # which may say that there is none
        lines = [f"if {grad} is not None:", *indented(lines)]
    yield from lines


def _gradients(op: Op, manner: Manner, pullbacks: Pullbacks) -> Iterator[str]:
    """Compute the gradients with respect to all inputs that have an edge."""
    if op.sequence:
        ((name, rule),) = op.rules.items()
        yield f"_grads = _fit_each({_value(rule, name)}, _edges, {name}_shape, {name}_dtype, xp)"
        return
    yield from _conjugated(op, manner, pullbacks)
    for name in op.differentiable:
        lines = _gradient(op, name, manner, pullbacks)
        if len(op.differentiable) == 1:
            yield from lines
        else:
            yield f"if _{name}_edge is None:"
            yield f"    _{name}_grad = None"
            yield "else:"
            yield from indented(lines)


def _conjugated(op: Op, manner: Manner, pullbacks: Pullbacks) -> Iterator[str]:
    """Find out whether derivatives are conjugated, where rules apply: those of numbers are real."""
    asked = multiplies(op) and not pullbacks.keys() >= set(op.differentiable)
    if asked and not op.of_numbers and manner != "ones":
        # To ask whether it is the most usual dtype takes a fraction of looking one up.
        yield "_conjugated = g.dtype is not _float64 and g.dtype in _complex"


def _value(rule: Rule, name: str) -> str:
    """Write what a rule gives: the expression of a short one, or a call."""
    if isinstance(rule.function, Itself):
        return rule.names[0]
    written = lambda_body(rule.function) if isinstance(rule.function, FunctionType) else None
    return written or f"_rule_{name}({', '.join(rule.names)})"


def _gradient(op: Op, name: str, manner: Manner, pullbacks: Pullbacks) -> Iterator[str]:
    """Compute the gradient with respect to one input: by the backend's own function, if it can."""
    by_rule = _by_rule(op, name, manner)
    own = pullbacks.get(name)
    yield from by_rule if own is None else own([*_conjugated(op, manner, {}), *by_rule])
    if op.broadcasts:
        result, number = f"_{name}_grad", op.differentiable.index(name)
        yield "if match is not None:"
        yield f"    {result} = _fit({result}, *match[{number}], xp)"


def _by_rule(op: Op, name: str, manner: Manner) -> Iterator[str]:
    """Compute the gradient with respect to one input by its rule."""
    rule, result = op.rules[name], f"_{name}_grad"
    value = _value(rule, name)
    if rule.kind != "elementwise":
        # Asked here, since almost all fit: a call costs several times as much.
        fits = f"{result}.shape == {name}_shape and {result}.dtype is {name}_dtype"
        yield f"{result} = {value}"
        yield f"if {result} is None or not ({fits}):"
        yield f"    {result} = _fit({result}, {name}_shape, {name}_dtype, xp)"
    elif not rule.multiplies:
        yield f"{result} = " + {1: "g", -1: "-g", 0: "xp.zeros_like(g)"}[rule.function]  # type: ignore[index]
    elif manner == "ones":
        yield f"{result} = {value}"
        fits = f"_type({result}) is _type(g) and {result}.dtype is g.dtype"
        yield f"if not ({fits} and {result}.shape == g.shape):"
        yield f"    {result} = g * {result}"
    else:
        # In one expression: NumPy multiplies into a large array that nothing else refers to.
        product = f"{result} = " + ("_guarded(g, {}, xp)" if manner == "guarded" else "g * {}")
        if op.of_numbers:
            yield product.format(value)
        else:
            yield "if _conjugated:"
            yield f"    {product.format(f'_conjugate({value}, xp)')}"
            yield "else:"
            yield f"    {product.format(value)}"
