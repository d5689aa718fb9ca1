"""The source of an op's function, written from its signature and from what its nodes save."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from inspect import Parameter
from re import fullmatch
from typing import Literal

from agnograd._graph.nodes import FIRST, OP, RANK
from agnograd._ops.op import Op
from agnograd._ops.saved import saved_values

# How an op is called: as a function of the namespace, or as an operator of arrays, where an
# operand that is not an array gets its chance to answer (Python's NotImplemented), also reflected;
# or as a NumPy ufunc, where either operand may be such a one.
Form = Literal["function", "operator", "reflected", "ufunc"]
OPERANDS: dict[Form, tuple[str, ...]] = {
    "function": (),
    "operator": ("x2",),
    "reflected": ("x1",),
    "ufunc": ("x1", "x2"),
}

# Options that mean in every op what they mean in the standard. They are neither positions nor
# numbers that a result could depend on smoothly, so no Variable is looked for in them.
STRUCTURE = frozenset({"copy", "device", "dtype", "keepdims"})

# A slot is a line with a name in braces. Comments above a slot belong to it.
_FORWARD = """
def {name}{signature}:
    # Writes to a view of this array reach it.
    {base}
    # A Variable gives its raw array, and the node that made it. Anything else is checked.
    {unwrapping}
    # A thread's state is most often None. Where nobody looks at the op, the backend's function is
    # called, or written out, here. For plugins with hooks on ops and for gradient managers,
    # Mode.compute calls it.
    {call}
    _state = _mode()
    if _state is None or not _state.looks:
        {computed}
    else:
        {observed}
    # The result becomes a Variable. If an input has a node, it gets one, too: a list of its rank,
    # of whom to tell of its gradient, the op, what the rules name, and the inputs' nodes.
    {result}
"""

# One element is not a view. If a leaf is read, it keeps its shape and dtype itself.
_READING = """
if _type(_out) is _Number or _type(_out) in _scalars:
    if _state is None:
        if _type(_{name}_node) is _Leaf:
            if _{name}_node.facts is None:
                _{name}_node.facts = {name}.shape, {name}.dtype
            _result._node = [_next(_ranks), None, _reading_leaf, key, _{name}_node]
            return _result
        _result._node = {node}
        return _result
    if _op is _call:
        _op = _reading
"""

# Whether gradients have to be summed over broadcast axes, or cast. With a real scalar, the result
# is as the other one.
_MATCHING = """
_kind = _type({one})
if _kind is _type({other}):
    {of_numbers}
    if {alike}:
        _match = None
        {lean}
    else:
        _match = {mismatch}
elif _type({other}) in _SCALARS or _kind in _SCALARS:
    _match = None
else:
    _match = {mismatch}
"""

# Of two inputs, which values are saved depends on which one is tracked: that is asked once.
_EITHER = """
if _{other}_node is None:
    {place} = {with_one}
elif _{one}_node is None:
    {place} = {with_other}
else:
    {place} = {with_both}
"""


def forward_source(op: Op, form: Form, computed: Sequence[str], numbers: bool) -> str:
    """Write the function that users call.

    ``computed`` are the lines that compute ``_out`` from the raw arrays, where no hook looks;
    ``numbers`` says whether there is a form for numbers.
    """
    return filled(
        _FORWARD,
        name=op.name.rpartition(".")[2],
        signature="(x2, x1, /)" if form == "reflected" else op.text[op.text.index("(") :],
        base=[] if op.view is None else [f"_base = {op.sequence or 'x'}"],
        unwrapping=_unwrapping(op, form),
        call=["_op = _call"] if op.differentiable else [],
        computed=computed,
        observed=_observed(op),
        result=_result(op, numbers),
    )


def _observed(op: Op) -> Iterator[str]:
    """Compute between hooks, or for a manager, which leaves out some nodes."""
    given = arguments(op)
    inputs = _tuple(f"*{name}" if name == op.sequence else name for name in op.arrays)
    nodes = "_edges" if op.sequence else _tuple(f"_{name}_node" for name in op.differentiable)
    # What takes only the inputs needs no function that binds options.
    plain = given == inputs.strip("(), ")
    kernel, positional = ("_kernel", inputs) if plain else (f"_partial(_kernel, {given})", "()")
    results = f"_op, _out, {nodes}" if op.differentiable else "_, _out, _"
    yield f"{results} = _state.compute("
    yield f"    _call, {kernel}, {positional}, {inputs}, {_options(op)}, {nodes}"
    yield ")"


def _unwrapping(op: Op, form: Form) -> Iterator[str]:
    """Replace each Variable by its raw array, and remember the node that made it.

    Operands of an operator that are not arrays leave the answer to their own types.
    """
    operands = OPERANDS[form]
    # What Python calls an operator of is a Variable of this backend, whatever the other one is.
    own = {"operator": op.arrays[:1], "reflected": ("x2",)}.get(form, ())
    # Two arrays that are promoted together; indices beside an array are not.
    together = len(op.arrays) == 2 and len(op.differentiable) != 1
    beside = dict(zip(op.arrays, reversed(op.arrays), strict=True)) if together else {}
    for name in op.arrays:
        if name == op.sequence:
            yield f"{name}, _edges = _unwrap_each(_call, {name!r}, {name})"
            continue
        tracked = name in op.differentiable
        taken = [f"_{name}_node = {name}._node"] * tracked + [f"{name} = {name}._raw"]
        if name in own:
            yield from taken
            continue
        yield f"if _type({name}) is _Variable:"
        yield from indented(taken)
        if tracked:
            yield f"elif _type({name}) in _plain:"
            yield f"    _{name}_node = None"
            yield "else:"
        else:
            yield f"elif _type({name}) not in _plain:"
        if name in operands:
            if form == "ufunc":  # which takes lists for arrays
                yield f"    if _type({name}) is list or _type({name}) is tuple:"
                yield f"        {name} = _as_operand(_domain, {name})"
            yield f"    if not _is_operand(_call, {name}):"
            yield "        return NotImplemented"
        node = f"_{name}_node" if tracked else "_"
        other = f", {beside[name]}" if together else ""
        yield f"    {name}, {node} = _unwrap(_call, {name!r}, {name}{other})"
    if form in ("reflected", "ufunc"):
        # complex takes NumPy's float64 for a float, and answers as Python
        yield "if _type(x1) is complex:"
        yield "    x2 = _array(x2)"
    for name in op.options:
        if name == "key":
            yield "if _type(key) is not int:"
            yield "    key = _raw_key(key)"
        elif name not in STRUCTURE:
            yield f"if _type({name}) not in _OPTIONS:"
            yield f"    {name} = _option(_call, {name!r}, {name})"


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


def _result(op: Op, numbers: bool) -> Iterator[str]:
    """Return the output as Variables, with a node if an input has one."""
    one = op.outputs == "one"
    if one:
        yield "_result = _next(_blank)"
        yield "_result._raw = _out"
    unrecorded = "_result._node = None" if one else "_result = _wrap(_out)"
    if not op.differentiable:
        yield from [unrecorded, "return _result"] if one else ["return _wrap(_out)"]
        return
    constant = " and ".join(f"_{name}_node is None" for name in op.differentiable)
    if op.sequence:
        constant = "not any(_edges)"
    if op.may_cast:  # a result that is cast to integers has no gradient
        constant = f"{constant} or _out.dtype not in _inexact"
    yield f"if not ({constant}) and (_state is None or _state.recording):"
    yield from indented(_new_node(op, numbers))
    yield "else:"
    yield f"    {unrecorded}"
    if op.view is None:
        yield "return _result"
        return
    view = f"_view(_result, _base, {_options(op)})"
    # One element of an array is a view only where the library does not make a scalar of it.
    only = " if _type(_out) in _viewable else _result" if "key" in op.options else ""
    yield f"return {view}{only}"


def _new_node(op: Op, numbers: bool) -> Iterator[str]:
    """Make the node of the output, and connect what is returned to it."""
    if op.broadcasts:
        yield from _matching(op, numbers)
    if op.reads:
        reading = filled(_READING, name=op.arrays[0], node=_node(op, "_reading"))
        yield from reading.splitlines()
    place = "_result._node" if op.outputs == "one" else "_node"
    if len(op.differentiable) == 2 and any(saved.users for saved in saved_values(op)):
        one, other = op.differentiable
        nodes = {
            "with_one": _node(op, "_op", (one,)),
            "with_other": _node(op, "_op", (other,)),
            "with_both": _node(op, "_op", (one, other)),
        }
        yield from filled(_EITHER, one=one, other=other, place=place, **nodes).splitlines()
    else:
        yield f"{place} = {_node(op, '_op')}"
    yield "if _state is not None and _state.watches:"
    yield f"    _state.recorded({place}, _out)"
    if op.outputs != "one":
        yield "_result = _wrap_outputs(_out, _node)"


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


def _matching(op: Op, numbers: bool) -> list[str]:
    """Find out whether gradients have to be summed over broadcast axes, or cast."""
    mismatch = f"_mismatch(_out, {', '.join(op.differentiable)})"
    if len(op.arrays) != 2:
        return [f"_match = {mismatch}"]
    one, other = op.arrays
    alike = f"{one}.shape == {other}.shape and {one}.dtype is {other}.dtype"
    of_numbers, lean = [], []
    if numbers:
        of_numbers = [
            "if _kind is _Number is _type(_out) and _state is None:",
            f"    _result._node = {_node(op._replace(of_numbers=True), '_of_numbers')}",
            "    return _result",
        ]
    if op.product:
        alike = f"{one} is {other} or ({alike})"  # often of an array with itself
        lean = [
            "if _large is not None and _count(_out) >= _large:",
            f"    _op, {one}, {other} = _lean(",
            f"        _op, {one}, {other}, _{one}_node, _{other}_node",
            "    )",
        ]
    slots = {"one": one, "other": other, "alike": alike, "mismatch": mismatch}
    return filled(_MATCHING, of_numbers=of_numbers, lean=lean, **slots).splitlines()


def _options(op: Op) -> str:
    return "{" + ", ".join(f"{name!r}: {name}" for name in op.options) + "}"


def filled(template: str, **slots: str | Iterable[str]) -> str:
    """Fill the slots of a skeleton; what is written above an empty one goes with it."""
    slots |= {"RANK": str(RANK), "OP": str(OP), "FIRST": str(FIRST)}
    found: list[str] = []
    for line in template.strip().splitlines():
        slot = fullmatch(r"( *)\{(\w+)\}", line)
        if slot is None:
            found.append(line.format_map(slots))
            continue
        margin, lines = slot[1], [*slots[slot[2]]]
        while not lines and found[-1].startswith(f"{margin}#"):
            found.pop()
        found += [margin + each for each in lines]
    return "\n".join(found) + "\n"


def indented(lines: Iterable[str]) -> Iterator[str]:
    """Indent lines of source by one level."""
    for line in lines:
        yield f"    {line}"


def _tuple(values: Iterable[str]) -> str:
    return "(" + "".join(f"{value}, " for value in values) + ")"
