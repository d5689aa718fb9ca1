"""What a Variable looks like: as text, and as a table of a notebook."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from agnograd._arrays.levels import root_of
from agnograd._graph.nodes import Output
from agnograd._plugins.backends import default_name

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


def as_text(variable: Any) -> str:
    """Return the values as the library writes them, and what that does not say.

    Nothing lazy is computed, and nothing is raised.
    """
    values, known = _said(_values, variable), _known(variable)
    device, backend, graph = known["device"], known["backend"], known["graph"]
    facts = {
        f"dtype={known['dtype']}": "dtype" not in values,
        f"shape={known['shape']}": "..." in values and "shape" not in values,
        # Of JAX's tracers it is None.
        f"device={device}": "device" not in values
        and device != "None"
        and "cpu" not in device.lower(),
        f"backend={backend}": backend != default_name() and backend not in values,
        "requires_grad=True": graph == "leaf",
        f"op={graph.removeprefix('op ')}": graph.startswith("op "),
    }
    # The library aligned its lines with the first one, which now stands further to the right.
    text = "Variable(" + values.replace("\n", "\n" + _INDENT)
    length = len(text) - (text.rfind("\n") + 1)
    for fact in (fact for fact, is_news in facts.items() if is_news):
        if length + len(fact) + 3 > _WIDTH:
            text, length = f"{text},\n{_INDENT}{fact}", len(_INDENT) + len(fact)
        else:
            text, length = f"{text}, {fact}", length + len(fact) + 2
    return text + ")"


def as_html(variable: Any) -> str:
    """Return a table of HTML that needs nothing around it, with every text in it escaped."""
    known = _known(variable) | {"gradient": _said(_gradient, variable)}
    rows = "\n".join(_ROW.format(name=name, value=escape(fact)) for name, fact in known.items())
    return _TABLE.format(values=escape(_said(_values, variable)), rows=rows)


def _known(variable: Any) -> dict[str, str]:
    domain = variable._domain
    return {
        "shape": _said(lambda x: tuple(x.shape), variable),
        "dtype": _said(lambda x: x.dtype, variable),
        "device": _said(lambda x: x.device, variable),
        # Nobody is to see that a function is traced.
        "backend": (root_of(domain) if domain.backend.whole else domain).backend.name,
        "graph": _said(_place, variable),
    }


def _said(fact: Callable[[Any], Any], variable: Any) -> str:
    """Return a fact as text, or why there is none."""
    try:
        return str(fact(variable))
    except Exception as error:
        try:
            return f"<no repr: {type(error).__name__}: {error}>"
        except Exception:
            return f"<no repr: {type(error).__name__}>"


def _values(variable: Any) -> str:
    return repr(variable._domain.backend.array(variable._raw))


def _place(variable: Any) -> str:
    """Return where in a graph a value stands; ``op sum`` if the op ``sum`` made it."""
    node = variable.node
    if node is None:
        return "not tracked"
    if node.op is None:
        return "leaf"
    several = isinstance(variable._node, Output) and len(variable._node.siblings) > 1
    return f"op {node.op.name}[{node.index}]" if several else f"op {node.op.name}"


def _gradient(variable: Any) -> str:
    if variable.grad is not None:
        return f"present, {variable.grad.dtype}"
    return "none yet" if variable.requires_grad else "not required"
