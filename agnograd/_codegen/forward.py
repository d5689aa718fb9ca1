"""The source of an op's function, written from its signature and from what its nodes save."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from inspect import Parameter
from typing import Any, Literal, NamedTuple

from agnograd._codegen.inline import written_out
from agnograd._graph.nodes import FIRST, OP, RANK
from agnograd._ops.op import Form, Op
from agnograd._ops.saved import saved_values

# The operands that may be no arrays, which then get their chance to answer.
OPERANDS: dict[Form, tuple[str, ...]] = {
    "function": (),
    "operator": ("x2",),
    "reflected": ("x1",),
    "ufunc": ("x1", "x2"),
}

_OPERATORS = ("operator", "reflected")  # of two numbers they give one

# Options that mean in every op what they mean in the standard. They are neither positions nor
# numbers that a result could depend on smoothly, so no Variable is looked for in them.
STRUCTURE = frozenset({"copy", "device", "dtype", "keepdims"})

# These texts are filled by ``filled``, which says what stands in them.
_FORWARD = """
def {name}{signature}:
    # Writes to a view of this array reach it.  ? view
    _base = {base}  ? view
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    {unwrapping}
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    _usual = (_state := _mode()) is None or _state.usual
    # An operator of two numbers gives one, and needs no more than its node.  ? numbers
    if {numbers} and _usual:  ? numbers
        {computed}
        _result = _next(_blank)
        _result._raw = _out
        _result._node = None if {constant} else {of_numbers}
        return _result
    _op = _call  ? recorded
    if _usual or not _state.looks:
        {computed}
        {reading}
    elif _state.whole and (_at := _taken_over(_domain, {quoted})) is not None:
        {taken_over}
    else:
        {seen} = _state.compute(
            _call, {kernel}, {positional}, {inputs}, {options}, {nodes}
        )
    # The result becomes a Variable. If an input has a node, it gets one, too: a list of its rank,
    # of whom to tell of its gradient, the op, what the rules name, and the inputs' nodes.
    _result = _next(_blank)  ? one
    _result._raw = _out  ? one
    if not ({constant}) and (_usual or _state.recording):  ? recorded
        {node}
        if not _usual and _state.watches:
            {place} = _state.recorded({place}, _out, _declared, {inputs}, {options})
        _result = _wrap_outputs(_out, _node)  ? not one
    else:  ? recorded
        {untracked}
    {untracked}  ? not recorded
    return {returned}
"""

# One element is not a view. If a leaf is read, it keeps its shape and dtype itself.
_READING = """
if _{name}_node is not None and _usual:
    if _type(_out) is _Number or _type(_out) in _scalars:
        _result = _next(_blank)
        _result._raw = _out
        if _type(_{name}_node) is _Leaf:
            if _{name}_node.facts is None:
                _{name}_node.facts = {name}.shape, {name}.dtype
            _result._node = [_next(_ranks), None, _reading_leaf, key, _{name}_node]
            return _result
        _result._node = {node}
        return _result
"""

# Whether gradients have to be summed over broadcast axes, or cast. With a real scalar, the result
# is as the other one.
_MATCHING = """
if _{one}_kind is _{other}_kind:
    if _{one}_kind is _Number and _usual and _type(_out) is _Number:  ? functions
        _result._node = {of_numbers}
        return _result
    if {alike}:
        _match = None
        if _large is not None and _count(_out) >= _large:  ? product
            _op, {one}, {other} = _lean(
                _op, {one}, {other}, _{one}_node, _{other}_node
            )
    else:
        _match = {mismatch}
elif _{other}_kind in _SCALARS or _{one}_kind in _SCALARS:
    if (_{one}_kind is _Number or _{other}_kind is _Number) and _type(_out) is _Number:  ? numbers
        if _usual:
            _result._node = {of_numbers}
            return _result
    _match = None
else:
    _match = {mismatch}
"""


def forward_source(
    op: Op, form: Form, compute: Callable[..., Any], numbers: bool, names: list[str]
) -> str:
    """Write the function that users call.

    ``compute`` gives ``_out`` of the raw arrays; what it finds in its module where it is written
    out is added to ``names``. ``numbers`` says whether there is a form for numbers.
    """
    one, given, recorded = op.outputs == "one", arguments(op), bool(op.differentiable)
    options = "{" + ", ".join(f"{name!r}: {name}" for name in op.options) + "}"
    inputs = _tuple(f"*{name}" if name == op.sequence else name for name in op.arrays)
    # What takes only the inputs needs no function that binds options.
    plain = given == inputs.strip("(), ")
    nodes = "_edges" if op.sequence else _tuple(f"_{name}_node" for name in op.differentiable)
    untracked = " and ".join(f"_{name}_node is None" for name in op.differentiable)
    constant = "not any(_edges)" if op.sequence else untracked
    kinds = [f"_{name}_kind is _Number" for name in op.arrays]
    if op.may_cast:  # a result that is cast to integers has no gradient
        constant += " or _out.dtype not in _inexact"
    place, returned = "_result._node" if one else "_node", "_result"
    if op.view is not None:
        # One element of an array is a view only where the library does not make a scalar of it.
        only = " if _type(_out) in _viewable else _result" if "key" in op.options else ""
        returned = f"_view(_result, _base, {options}){only}"
    lines = filled(
        _FORWARD,
        name=op.name.rpartition(".")[2],
        signature="(x2, x1, /)" if form == "reflected" else op.text[op.text.index("(") :],
        view=op.view,
        base=op.sequence or "x",
        unwrapping=_unwrapping(op, form),
        numbers=numbers and form in _OPERATORS and asks_kinds(op) and " and ".join(kinds),
        of_numbers=_of_numbers(op),
        recorded=recorded,
        computed=written_out(compute, given, "_out", "_kernel", names),
        quoted=repr(op.name),
        taken_over=_taken_over(op),
        seen=f"_op, _out, {nodes}" if recorded else "_, _out, _",
        kernel="_kernel" if plain else f"_partial(_kernel, {given})",
        positional=inputs if plain else "()",
        inputs=inputs,
        options=options,
        nodes=nodes,
        one=one,
        constant=constant,
        reading=filled(_READING, name=op.arrays[0], node=_node(op, "_reading")) if op.reads else (),
        node=_new_node(op, place, numbers and form) if recorded else (),
        place=place,
        untracked=["_result._node = None" if one else "_result = _wrap(_out)"],
        returned=returned,
    )
    return "\n".join([*lines, ""])


def _unwrapping(op: Op, form: Form) -> Iterator[str]:
    """Replace each Variable by its raw array, and remember the node that made it.

    Operands of an operator that are not arrays leave the answer to their own types.
    """
    # What Python calls an operator of is a Variable of this backend, whatever the other one is.
    own = {"operator": op.arrays[:1], "reflected": ("x2",)}.get(form, ())
    # Two arrays that are promoted together; indices beside an array are not.
    together = len(op.arrays) == 2 and len(op.differentiable) != 1
    kinds = asks_kinds(op)
    if not op.arrays:
        yield from _made_above(op)
    for name in op.arrays:
        tracked = name in op.differentiable
        if name == op.sequence:
            yield f"{name}, _edges = _unwrap_each(_call, {name!r}, {name})"
            yield "if _edges is None:  # an array is of a level above"
            yield f"    return _above(_domain, {op.name!r}, {name})({arguments(op)})"
        elif name in own:
            yield from _raw_of(name, tracked, kinds)
        else:
            kind = f"_{name}_kind" if kinds else f"_type({name})"
            asked = f"({kind} := _type({name}))" if kinds else kind
            yield f"if {asked} is _Variable:"
            yield from indented(_raw_of(name, tracked, kinds))
            if tracked:
                yield f"elif {kind} in _plain:"
                yield f"    _{name}_node = None"
            yield "else:" if tracked else f"elif {kind} not in _plain:"
            yield from indented(_refused(name, form, kind))
            yield from indented(_left_above(op, name))
            node = f"_{name}_node" if tracked else "_"
            given = ", ".join([name, *(each for each in op.arrays if together and each != name)])
            yield f"    {name}, {node} = _unwrap(_call, {name!r}, {given})"
            yield from [f"    _{name}_kind = _type({name})"] * kinds
    if form in ("reflected", "ufunc"):
        # complex takes NumPy's float64 for a float, and answers as Python
        yield f"if {'_x1_kind' if kinds else '_type(x1)'} is complex:"
        yield "    x2 = _array(x2)"
        yield from ["    _x2_kind = _type(x2)"] * kinds
    for name in op.options:
        if name == "key":
            yield "if _type(key) is not int:"
            yield "    key = _raw_key(key)"
            yield from indented(_left_above(op, name))
        elif name not in STRUCTURE:
            yield f"if _type({name}) not in _OPTIONS:"
            yield f"    {name} = _option(_call, {name!r}, {name})"


def asks_kinds(op: Op) -> bool:
    """Return whether nodes depend on the types of two operands, which are asked only once."""
    return op.broadcasts and len(op.arrays) == len(op.differentiable) == 2


def _raw_of(name: str, tracked: bool, kinds: bool) -> Iterator[str]:
    """Take a Variable's raw array, and its node."""
    yield from [f"_{name}_node = {name}._node"] * tracked
    yield f"{name} = {name}._raw"
    yield from [f"_{name}_kind = _type({name})"] * kinds


def _refused(name: str, form: Form, kind: str) -> Iterator[str]:
    """Leave the answer of an operator to an operand of a type, ``kind``, that is not an array's."""
    if name not in OPERANDS[form]:
        return
    if form == "ufunc":  # which takes lists for arrays
        yield f"if {kind} is list or {kind} is tuple:"
        yield f"    {name} = _as_operand(_domain, {name})"
    yield f"if not _is_operand(_call, {name}):"
    yield "    return NotImplemented"


def _made_above(op: Op) -> Iterator[str]:
    """Leave the call to the level that is entered: what is made there belongs to it."""
    yield "if (_state := _mode()) is not None and _state.level is not None:"
    yield f"    if (_at := _entered_above(_domain, {op.name!r})) is not None:"
    yield f"        return _at({arguments(op)})"


def _left_above(op: Op, name: str) -> Iterator[str]:
    """Leave the call to the level above that an argument belongs to, as it was called."""
    yield f"if _derived and (_at := _above(_domain, {op.name!r}, {name})) is not None:"
    before = op.arrays[: op.arrays.index(name)] if name in op.arrays else op.arrays
    yield from indented(_taken_over(op, before))


def _taken_over(op: Op, unwrapped: tuple[str, ...] | None = None) -> Iterator[str]:
    """Leave the call to a level above; inputs that were unwrapped become Variables again."""
    for each in op.arrays if unwrapped is None else unwrapped:
        if each == op.sequence:
            yield f"{each} = [_Variable._make(*_each) for _each in zip({each}, _edges)]"
        elif each in op.differentiable:
            yield f"if _{each}_node is not None:"
            yield f"    {each} = _Variable._make({each}, _{each}_node)"
    yield f"return _at({arguments(op)})"


def arguments(op: Op) -> str:
    """Write the arguments of a kernel's call."""
    parts, optional = [], []
    for name, parameter in op.signature.parameters.items():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            parts.append(f"*{name}")
        elif parameter.kind is not Parameter.KEYWORD_ONLY:
            parts.append(name)
        elif name in op.arrays and parameter.default is None:
            optional.append(f"{name}={name}")
        else:
            parts.append(f"{name}={name}")
    if optional:  # the standard's None is not always the libraries'
        parts.append(f"**_given({', '.join(optional)})")
    return ", ".join(parts)


def _new_node(op: Op, place: str, numbers: Form | Literal[False]) -> Iterator[str]:
    """Make the node of the output; ``numbers`` is how the op is called that has a form for them."""
    if op.broadcasts:
        yield from _matching(op, numbers)
    if op.reads:
        yield "if _op is _call and (_type(_out) is _Number or _type(_out) in _scalars):"
        yield "    _op = _reading"
    if len(op.differentiable) == 2 and any(saved.users for saved in saved_values(op)):
        # What is saved depends on which of the two is tracked: that is asked once.
        one, other = op.differentiable
        yield f"if _{other}_node is None:"
        yield f"    {place} = {_node(op, '_op', (one,))}"
        yield f"elif _{one}_node is None:"
        yield f"    {place} = {_node(op, '_op', (other,))}"
        yield "else:"
        yield f"    {place} = {_node(op, '_op', (one, other))}"
    else:
        yield f"{place} = {_node(op, '_op')}"


def _of_numbers(op: Op) -> str:
    """Write the node of two numbers."""
    return _node(op._replace(of_numbers=True), "_of_numbers")


def _node(op: Op, call: str, tracked: tuple[str, ...] | None = None) -> str:
    """Write a node; ``tracked`` are the inputs that are, if that is known."""
    inputs = op.differentiable if tracked is None else tracked
    values = []
    for saved in saved_values(op):  # unless no input is tracked that uses it
        used = " or ".join(f"_{user}_node is not None" for user in saved.users)
        if saved.users and tracked is None:
            values.append(f"({saved.expression} if {used} else None)")
        else:
            unused = saved.users and not set(saved.users) & set(inputs)
            values.append("None" if unused else saved.expression)
    edges = [f"_{name}_node" if name in inputs else "None" for name in op.differentiable]
    parts = ["_next(_ranks)", "None", call, *values, *(["*_edges"] if op.sequence else edges)]
    return f"[{', '.join(parts)}]"


def _matching(op: Op, numbers: Form | Literal[False]) -> list[str]:
    """Find out whether gradients have to be summed over broadcast axes, or cast."""
    mismatch = f"_mismatch(_out, {', '.join(op.differentiable)})"
    if not asks_kinds(op):
        return [f"_match = {mismatch}"]
    one, other = op.arrays
    alike = f"{one}.shape == {other}.shape and {one}.dtype is {other}.dtype"
    return filled(
        _MATCHING,
        one=one,
        other=other,
        numbers=numbers,
        functions=numbers and numbers not in _OPERATORS,
        of_numbers=_of_numbers(op),
        product=op.product,  # often of an array with itself
        alike=f"{one} is {other} or ({alike})" if op.product else alike,
        mismatch=mismatch,
    )


def filled(text: str, **slots: Any) -> list[str]:
    """Return the lines of a text, with what stands for the names in braces.

    A line that is only such a name stands for any number of lines. One that ends with ``? name``,
    and all that is indented below it, is there if the slot is true; ``? not name`` if it is false.
    """
    slots |= {"RANK": RANK, "OP": OP, "FIRST": FIRST}
    found: list[str] = []
    left_out = sys.maxsize  # the margin of the line above that is
    for line in _template(text):
        if line.margin > left_out:
            continue
        left_out = sys.maxsize
        if line.condition and bool(slots[line.condition]) is line.negated:
            left_out = line.margin
        elif line.slot:
            found += [" " * line.margin + each for each in slots[line.slot]]
        else:
            found.append(line.text.format_map(slots) if line.is_format else line.text)
    return found


class _Line(NamedTuple):
    """A line of a text that is filled."""

    margin: int
    text: str
    is_format: bool
    condition: str
    negated: bool
    slot: str  # what stands for any number of lines


@cache
def _template(text: str) -> list[_Line]:
    found = []
    for line in text.strip("\n").splitlines():
        margin = len(line) - len(line.lstrip())
        code, _, condition = line.strip().partition("  ? ")
        slot = code[1:-1] if code[:1] == "{" and code[1:-1].isidentifier() else ""
        negated, condition = condition.startswith("not "), condition.removeprefix("not ")
        found.append(_Line(margin, " " * margin + code, "{" in code, condition, negated, slot))
    return found


def indented(lines: Iterable[str]) -> Iterator[str]:
    """Indent lines of source by one level."""
    for line in lines:
        yield f"    {line}"


def _tuple(values: Iterable[str]) -> str:
    return "(" + "".join(f"{value}, " for value in values) + ")"
