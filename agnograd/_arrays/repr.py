"""What a Variable looks like: as text, and as a table of a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from agnograd._graph.nodes import Output
from agnograd._plugins.backends import default_name

if TYPE_CHECKING:
    from agnograd._arrays.variable import Variable

_WIDTH = 80
_INDENT = " " * len("Variable(")

# Colours are the notebook's own: a page may be dark. Its style for tables is undone.
_CELL = "text-align: left; padding: 0.1em 1em 0.1em 0; border: 0; background: transparent;"
_TABLE = """\
<div class="agnograd-variable" style="color: inherit; display: inline-block; padding: 0.4em 0.8em; \
border: 1px solid; border-color: color-mix(in srgb, currentColor 30%, transparent); \
border-radius: 4px;">
<div><b>Variable</b></div>
<pre style="color: inherit; background: transparent; margin: 0.4em 0; padding: 0; border: 0; \
max-height: 20em; overflow: auto;">{values}</pre>
<table style="color: inherit; font-size: inherit; border-collapse: collapse; margin: 0;"><tbody>
{rows}
</tbody></table>
</div>"""
_ROW = (
    f'<tr style="background: transparent;"><th scope="row" style="{_CELL} font-weight: normal; '
    f'opacity: 0.7;">{{name}}</th><td style="{_CELL}">{{value}}</td></tr>'
)


def as_text(variable: Variable) -> str:
    """Return the values as the library writes them, and what that does not say.

    Nothing lazy is computed, and nothing is raised.
    """
    values = _values(variable)
    # The library aligned its lines with the first one, which now stands further to the right.
    text = "Variable(" + values.replace("\n", "\n" + _INDENT)
    length = len(text) - (text.rfind("\n") + 1)
    for fact in _facts(variable, values):
        if length + len(fact) + 3 > _WIDTH:
            text, length = f"{text},\n{_INDENT}{fact}", len(_INDENT) + len(fact)
        else:
            text, length = f"{text}, {fact}", length + len(fact) + 2
    return text + ")"


def as_html(variable: Variable) -> str:
    """Return a table of HTML that needs nothing around it, with every text in it escaped."""
    facts = {
        "shape": _said(lambda: tuple(variable.shape)),
        "dtype": _said(lambda: variable.dtype),
        "device": _said(lambda: variable.device),
        "backend": variable._domain.backend.name,
        "graph": _said(lambda: _place(variable)),
        "gradient": _said(lambda: _gradient(variable)),
    }
    rows = "\n".join(_ROW.format(name=name, value=escape(value)) for name, value in facts.items())
    return _TABLE.format(values=escape(_values(variable)), rows=rows)


def _values(variable: Variable) -> str:
    try:
        return repr(variable._domain.backend.array(variable._raw))
    except Exception as error:
        return _trouble(error)


def _trouble(error: Exception) -> str:
    try:
        return f"<no repr: {type(error).__name__}: {error}>"
    except Exception:
        return f"<no repr: {type(error).__name__}>"


def _said(fact: Callable[[], Any]) -> str:
    try:
        return str(fact())
    except Exception as error:
        return _trouble(error)


def _facts(variable: Variable, values: str) -> Iterator[str]:
    """Yield what a reader of the values would not know yet."""
    if "dtype" not in values:
        yield f"dtype={_said(lambda: variable.dtype)}"
    if "..." in values and "shape" not in values:
        yield f"shape={_said(lambda: tuple(variable.shape))}"
    if "device" not in values:
        device = _said(lambda: variable.device)
        if device != "None" and "cpu" not in device.lower():  # of JAX's tracers it is None
            yield f"device={device}"
    backend = variable._domain.backend.name
    if backend != default_name() and backend not in values:
        yield f"backend={backend}"
    place = _said(lambda: _place(variable))
    if place == "leaf":
        yield "requires_grad=True"
    elif place.startswith("op "):
        yield f"op={place.removeprefix('op ')}"


def _place(variable: Variable) -> str:
    """Return where in a graph a value stands; ``op sum`` if the op ``sum`` made it."""
    node = variable.node
    if node is None:
        return "not tracked"
    if node.op is None:
        return "leaf"
    several = isinstance(variable._node, Output) and len(variable._node.siblings) > 1
    return f"op {node.op.name}[{node.index}]" if several else f"op {node.op.name}"


def _gradient(variable: Variable) -> str:
    if variable.grad is not None:
        return f"present, {variable.grad.dtype}"
    return "none yet" if variable.requires_grad else "not required"
