"""The source of an op's backward functions, written from its signature and its rules.

``backward`` returns gradients, for whoever looks at them. A step is one of a reverse pass where
nobody does: it hands them on itself and frees the node, which spares what a small op has to wait
for most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from agnograd._codegen.forward import filled, indented
from agnograd._graph.nodes import FIRST, OP, RANK
from agnograd._ops.op import Itself, Op, Rule
from agnograd._ops.saved import saved_values

# By input, where the backend has a function of its own in place of the rule: the lines that call
# it, given those of the rule, for what the function leaves to that.
Pullbacks = Mapping[str, Callable[[list[str]], list[str]]]

# How a backward function multiplies: cotangents of 0 with derivatives that are not finite give 0
# where it is guarded; a cotangent of real ones has no product where the derivative is an array.
Manner = Literal["plain", "guarded", "ones"]


_BACKWARD = """
def {name}_backward(g, node, xp):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    {unpacking}
    # The rules give the gradients; _fit sums and casts those that do not have their input's shape
    # and dtype.
    {gradients}
    {returning}
"""

_STEP = """
def {name}_step(g, node, gradients, arrivals, keep):
    # A node has its rank, whom to tell of its gradient, the op, what the rules name, and an edge
    # for each input: the node that made it, or None.
    {unpacking}
    # A gradient is handed on as soon as it is known. Where another one has arrived, they are
    # added. A node that is reached for the first time gets its turn: the first of them is
    # returned, and the others are queued. Leaves, and elements that were read, need no turn.
    {gradients}
    # What the node saved is freed.
    {freeing}
    {returning}
"""


def backward_source(op: Op, manner: Manner, pullbacks: Pullbacks) -> str:
    """Write ``(g, node, xp) -> pairs``: each edge of the node and its gradient, or None.

    On a first-order pass ``g`` and the saved values are raw arrays, and ``xp`` the raw namespace;
    under ``create_graph`` they are Variables and the differentiable namespace.
    """
    if op.sequence:
        gradients, pairs = _fitted(op), "tuple(zip(_edges, _grads))"
    else:
        edges = "".join(f"(_{name}_edge, _{name}_grad), " for name in op.differentiable)
        gradients, pairs = _gradients(op, manner, pullbacks), f"({edges})"
    name, unpacking = _name(op), [_unpacking(op)]
    returning = [f"return {pairs}"]
    return filled(
        _BACKWARD, name=name, unpacking=unpacking, gradients=gradients, returning=returning
    )


def step_source(op: Op, pullbacks: Pullbacks, looks: bool) -> str:
    """Write ``(g, node, gradients, arrivals, keep) -> edge or None``.

    The gradients go to where the edges' gradients arrive, only of raw arrays. The first edge that
    is reached is returned: the queue still lacks it. What the node saved is freed unless ``keep``.
    ``looks`` says whether a gradient may be large where the cotangent is not.
    """
    if op.sequence:
        gradients, returning = _handed_on_each(op), ["return None"]
    elif len(op.differentiable) == 1:
        (name,) = op.differentiable
        gradients = _gradients(op, "plain", pullbacks)
        returning = [*_arrival(op, name, looks), "return None"]
    else:
        gradients, returning = _handed_on(op, pullbacks, looks), ["return _first"]
    return filled(
        _STEP,
        name=_name(op),
        unpacking=[_unpacking(op)],
        gradients=gradients,
        freeing=_freeing(op),
        returning=returning,
    )


def _name(op: Op) -> str:
    return op.name.rpartition(".")[2].strip("_")


def _handed_on_each(op: Op) -> Iterator[str]:
    """Compute and hand on the gradients of an op that takes its arrays as a sequence."""
    yield from _fitted(op)
    yield "for _edge, _grad in zip(_edges, _grads):"
    yield "    if _grad is not None:"
    yield "        arrivals.add(_edge, _grad, _domain)"


def _handed_on(op: Op, pullbacks: Pullbacks, looks: bool) -> Iterator[str]:
    """Compute the gradients of several inputs, and hand each on at once."""
    if not pullbacks.keys() >= set(op.differentiable):
        yield from _conjugated(op, "plain")
    yield "_first = None"
    if op.product and not pullbacks:  # whose results may be shared
        yield from _square(op)
    for name in op.differentiable:
        gradient = _gradient(op, name, "plain", pullbacks)
        lines = [*gradient, *_arrival(op, name, looks)]
        if name in op.stacks:
            lines = [*_joining(op, name), *indented(lines)]
        yield f"if _{name}_edge is not None:"
        yield from indented(lines)


def _square(op: Op) -> Iterator[str]:
    """Add the two gradients of ``x * x`` up here: they are the same."""
    one, other = op.differentiable
    yield f"if _{one}_edge is _{other}_edge and {one} is {other}:"
    yield from indented(_gradient(op, one, "plain", {}))
    yield f"    _{one}_grad += _{one}_grad"  # a new array, which nothing else refers to
    yield from indented(_arrival(op, one, looks=False))
    yield f"    _{one}_edge = _{other}_edge = None"


def _freeing(op: Op) -> Iterator[str]:
    """Free what the node saved: as ``agnograd._graph.nodes.forget``, for a known op.

    Numbers, shapes, dtypes and the like stay: nobody reads them, and they are not arrays.
    """
    yield "if not keep:"
    if op.of_numbers:
        yield f"    node[{OP}] = _freed"
        return
    yield f"    node[{OP}] = _freed if _op is _call else _op.when_freed()[0]"
    saved = [saved.name for saved in saved_values(op)]
    small = {"match"} | {f"{name}_{what}" for name in op.arrays for what in ("shape", "dtype")}
    if places := [place for place, name in enumerate(saved, FIRST) if name not in small]:
        yield f"    {' = '.join(f'node[{place}]' for place in places)} = None"


def _arrival(op: Op, name: str, looks: bool) -> Iterator[str]:
    """Hand the gradient with respect to one input on."""
    edge, grad = f"_{name}_edge", f"_{name}_grad"
    there = "_there" if name in op.stacks else f"(_rank := {edge}[{RANK}]) in gradients"
    read = [
        # As Arrivals.read, without a call.
        f"if {edge}[{OP}].reads:",
        "    try:",
        f"        _elements = arrivals.elements[{edge}[-1][{RANK}]]",
        "    except KeyError:",
        f"        _elements = arrivals.begin_elements({edge})",
        f"    _elements.keys.append({edge}[{FIRST}])",
        f"    _elements.cotangents.append({grad})",
    ]
    lines = [
        f"if {there}:",
        f"    arrivals.add({edge}, {grad}, _domain)",
        f"elif {edge}[{OP}].turn:",
        f"    gradients[_rank] = {grad}",
        *indented(_turn(op, name, edge)),
        f"elif {edge}[{OP}] is _UNWATCHED:",
        f"    gradients[_rank] = {grad}",
        f"    arrivals.leaves.append({edge})",
    ]
    # Numbers are most often elements that were read; arrays hardly ever are.
    one, other = (read, lines) if op.of_numbers else (lines, read)
    lines = [*one, f"el{other[0]}", *other[1:]]
    if looks:
        large = f"_type({grad}) in _viewable and _count({grad}) >= _large"
        lines = [f"if {large}:", "    arrivals.special = True", *lines]
    if op.rules[name].kind != "elementwise":  # which may say that there is none
        lines = [f"if {grad} is not None:", *indented(lines)]
    yield from lines


def _turn(op: Op, name: str, edge: str) -> Iterator[str]:
    """Return the first edge that is reached, and queue another one."""
    if len(op.differentiable) == 1:
        yield f"return {edge}"
    elif name == op.differentiable[0]:
        yield f"_first = {edge}"
    else:
        yield "if _first is None:"
        yield f"    _first = {edge}"
        yield "else:"
        yield f"    _push(arrivals.queue, {edge})"


def _joining(op: Op, name: str) -> Iterator[str]:
    """Let what is left to compute wait for calls that share an input, if it can."""
    other = op.differentiable[1 - op.differentiable.index(name)]
    take = f"gradients[_rank].take(_{name}_shared, {other}, g)"
    join = f"arrivals.join(_{name}_edge, node, _{name}_shared, {other}, g)"
    yield f"_there = (_rank := _{name}_edge[{RANK}]) in gradients"
    # No name may refer to what is there: Arrivals.add counts the references.
    yield "if not _there or not ("
    yield f"    {take} if _type(gradients[_rank]) is _Products else {join}"
    yield "):"


def _unpacking(op: Op) -> str:
    saved = [saved.name for saved in saved_values(op)]
    edges = ["*_edges"] if op.sequence else [f"_{name}_edge" for name in op.differentiable]
    return f"{', '.join(['_', '_', '_op', *saved, *edges])} = node"


def _fitted(op: Op) -> Iterator[str]:
    """Compute the gradients of an op that takes its arrays as a sequence."""
    ((name, rule),) = op.rules.items()
    yield f"_grads = _fit_each({_value(rule, name)}, _edges, {name}_shape, {name}_dtype, xp)"


def _gradients(op: Op, manner: Manner, pullbacks: Pullbacks) -> Iterator[str]:
    """Compute the gradients with respect to all inputs that have an edge."""
    if not pullbacks.keys() >= set(op.differentiable):
        yield from _conjugated(op, manner)
    for name in op.differentiable:
        lines = _gradient(op, name, manner, pullbacks)
        if len(op.differentiable) == 1:
            yield from lines
        else:
            yield f"if _{name}_edge is None:"
            yield f"    _{name}_grad = None"
            yield "else:"
            yield from indented(lines)


def multiplies(op: Op) -> bool:
    """Return whether a cotangent is multiplied with a derivative."""
    return any(_multiplies(rule) for rule in op.rules.values())


def conjugates(op: Op) -> bool:
    """Return whether that derivative may be complex."""
    return multiplies(op) and not op.of_numbers


def _conjugated(op: Op, manner: Manner) -> Iterator[str]:
    """Find out whether derivatives are conjugated."""
    if conjugates(op) and manner != "ones":
        # To ask whether it is the most usual dtype takes a fraction of looking one up.
        yield "_conjugated = g.dtype is not _float64 and g.dtype in _complex"


def works(op: Op) -> tuple[bool, ...] | None:
    """Return whether the rule of each input computes anything; None for ops of other kinds.

    Only ops count whose rules can be applied to a part of the elements as to all of them.
    """
    rules = op.rules.values()
    facts = {name.rpartition("_")[2] for rule in rules for name in rule.names}
    special = op.accumulate or op.overwrite or op.masks or op.sequence or op.outputs != "one"
    if not rules or special or facts & {"shape", "device"}:
        return None
    if any(rule.kind != "elementwise" for rule in rules):
        return None
    return tuple(op.rules[name].function != 1 for name in op.differentiable)


def _multiplies(rule: Rule) -> bool:
    return rule.kind == "elementwise" and callable(rule.function)


def _value(rule: Rule, name: str) -> str:
    """Return the expression of a rule's result for one input."""
    if isinstance(rule.function, Itself):
        return rule.names[0]
    return f"_rule_{name}({', '.join(rule.names)})"


def _gradient(op: Op, name: str, manner: Manner, pullbacks: Pullbacks) -> Iterator[str]:
    """Compute the gradient with respect to one input: by the backend's own function, if it can."""
    result = f"_{name}_grad"
    rule = _by_rule(op, name, manner)
    if name in pullbacks:
        yield from pullbacks[name]([*_conjugated(op, manner), *rule])
    else:
        yield from rule
    if op.broadcasts:
        index = op.differentiable.index(name)
        yield "if match is not None:"
        yield f"    {result} = _fit({result}, *match[{index}], xp)"


def _by_rule(op: Op, name: str, manner: Manner) -> Iterator[str]:
    """Compute the gradient with respect to one input by its rule."""
    rule = op.rules[name]
    result = f"_{name}_grad"
    value = _value(rule, name)
    if rule.kind != "elementwise":
        # Asked here, since almost all fit: a call costs several times as much.
        fits = f"{result}.shape == {name}_shape and {result}.dtype is {name}_dtype"
        yield f"{result} = {value}"
        yield f"if {result} is None or not ({fits}):"
        yield f"    {result} = _fit({result}, {name}_shape, {name}_dtype, xp)"
        return
    if _multiplies(rule) and manner == "ones":
        yield f"{result} = {value}"
        fits = f"_type({result}) is _type(g) and {result}.dtype is g.dtype"
        yield f"if not ({fits} and {result}.shape == g.shape):"
        yield f"    {result} = g * {result}"
    elif _multiplies(rule):
        # In one expression: NumPy multiplies into a large array that nothing else refers to.
        product = "_guarded(g, {}, xp)" if manner == "guarded" else "g * {}"
        plain = f"{result} = {product.format(value)}"
        if not conjugates(op):
            yield plain
            return
        yield "if _conjugated:"
        yield f"    {result} = {product.format(f'_conjugate({value}, xp)')}"
        yield "else:"
        yield f"    {plain}"
    else:
        yield f"{result} = " + {1: "g", -1: "-g", 0: "xp.zeros_like(g)"}[rule.function]  # type: ignore[index]
