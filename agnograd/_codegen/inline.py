"""Short functions, written out where they are called: that spares the call.

Between kernels that take a few microseconds and use all of the nearest cache, a call from Python to
Python takes a tenth as long as they do. The functions of backends for ops and for derivatives are
often no more than a condition and a method: those can be written into the function of the op.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect
import linecache
import operator
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, ModuleType
from typing import Any

from agnograd._util.deferred import compiled_facts, defined_code, is_plain
from agnograd._util.switches import switch

# What may be in a function that is written out: nothing that has names, or a frame, of its own.
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.Return)
_EXPRESSIONS = (
    *(ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.IfExp),
    *(ast.Name, ast.Subscript, ast.Tuple, ast.UnaryOp, ast.keyword),
    *(ast.boolop, ast.cmpop, ast.expr_context, ast.operator, ast.unaryop),
)
NOT_IMPLEMENTED = "NotImplemented"
# So many nodes of a syntax tree, some ten lines, are written out where a function is called.
INLINED_NODES = switch("INLINED_NODES", 120, least=0, most=10000, module=__name__)
_CLOSING = 5  # lines after the last instruction
_CONSTANTS = (bool, int, float, str, type(None))

_OPERATORS: dict[Any, str] = {
    operator.add: "{} + {}",
    operator.getitem: "{}[{}]",
    operator.matmul: "{} @ {}",
    operator.mul: "{} * {}",
    operator.neg: "-{}",
    operator.sub: "{} - {}",
    operator.truediv: "{} / {}",
}


class _NotWritableError(Exception):
    """The function has to be called."""


def written_out(
    function: Callable[..., Any],
    arguments: str,
    result: str,
    prefix: str,
    names: list[str],
    otherwise: Sequence[str] = (),
) -> list[str]:
    """Return statements that do what a call does, or the call itself if that is all that can be.

    The call is ``result = prefix(arguments)``, on names and constants. What the function's own
    variables are called, and what it finds in its module, begins with ``prefix``; the latter are
    added to ``names``. ``otherwise`` gives the result where it returns ``NotImplemented``.
    """
    if function in _OPERATORS:
        return [f"{result} = {_OPERATORS[function].format(*arguments.split(', '))}"]
    call = f"{result} = {prefix}({arguments})"
    try:
        statements = _statements(function)
        called: Any = ast.parse(call).body[0]
        renamed = _Renamed(function, prefix, _bound(function, called.value))
        body = [renamed.visit(each) for each in statements]
        giving = _giving(body, result, ast.parse("\n".join(otherwise)).body, renamed.found)
        lines = [ast.unparse(each) for each in giving]
    except _NotWritableError:
        lines = [call]
        if otherwise:
            lines += [f"if {result} is NotImplemented:", *(f"    {each}" for each in otherwise)]
        return lines
    names += renamed.found
    return [line for each in lines for line in each.splitlines()]


def lambda_body(function: Callable[..., Any]) -> str | None:
    """Return the expression of a lambda that reads nothing but its arguments, if it is known."""
    if function.__name__ != "<lambda>" or not is_plain(function):
        return None
    code = function.__code__
    places = [place for place in code.co_positions() if place[3]]  # of instructions with text
    if not places or None in places[0] or len({line for place in places for line in place[:2]}) > 1:
        return None
    line = linecache.getline(code.co_filename, code.co_firstlineno).encode()
    text = line[min(place[2] or 0 for place in places) : max(place[3] or 0 for place in places)]
    try:
        parameters = ", ".join(code.co_varnames[: code.co_argcount])
        tree: Any = ast.parse(f"lambda {parameters}: ({text.decode()})", mode="eval").body
    except (SyntaxError, ValueError):  # also of what is not Unicode
        return None
    made = compile(ast.Expression(tree), "", "eval", dont_inherit=True).co_consts[0]
    if compiled_facts(made) != compiled_facts(code):  # the file has changed since
        return None
    body = tree.body
    known = isinstance(body, (ast.Attribute, ast.Call, ast.Name, ast.Subscript))
    return ast.unparse(body) if known else f"({ast.unparse(body)})"


def _statements(function: Any) -> list[ast.stmt]:
    """Return the syntax trees of what a short, plain function does, if its source is known."""
    definition = _definition(function) if is_plain(function) else None
    if definition is None or not _is_source(definition, function):
        raise _NotWritableError
    documented = ast.get_docstring(definition, clean=False) is not None
    body = definition.body[documented:]
    nodes = [node for each in body for node in ast.walk(each)]
    known = all(isinstance(node, (*_STATEMENTS, *_EXPRESSIONS)) for node in nodes)
    if len(nodes) > INLINED_NODES or not known:
        raise _NotWritableError
    return body


def _definition(function: FunctionType) -> ast.FunctionDef | None:
    """Return the syntax tree of a function, of whose module only its own lines are parsed.

    ``inspect.getsource`` looks through all modules for each function.
    """
    code = function.__code__
    first, last = code.co_firstlineno - 1, max(line or 0 for *_, line in code.co_lines())
    lines = linecache.getlines(code.co_filename)[first:]
    outside = "if 1:\n" if lines and lines[0][:1].isspace() else ""
    for count in range(last - first, min(last - first + _CLOSING, len(lines)) + 1):
        with contextlib.suppress(SyntaxError):  # brackets may be closed on a later line
            block: Any = ast.parse(outside + "".join(lines[:count])).body[0]
            block = block.body[0] if outside else block
            return block if isinstance(block, ast.FunctionDef) else None
    return None


def _is_source(definition: ast.FunctionDef, function: FunctionType) -> bool:
    """Return whether a function was compiled from this: its file may have changed since."""
    # What is called of a module that a file imports has an instruction of its own.
    names = function.__code__.co_names
    modules = [n for n in names if isinstance(function.__globals__.get(n), ModuleType)]
    imports = ast.parse("".join(f"import {name}\n" for name in modules)).body
    module = ast.Module([*imports, definition], [])
    made = compile(module, "", "exec", dont_inherit=True)
    code = defined_code(made, definition.name)
    return bool(compiled_facts(code) == compiled_facts(function.__code__))


def _bound(function: Callable[..., Any], call: ast.Call) -> dict[str, ast.expr]:
    """Return what each parameter stands for: a name, or a constant."""
    options: dict[Any, ast.expr] = {each.arg: each.value for each in call.keywords}
    try:
        bound = inspect.signature(function, follow_wrapped=False).bind(*call.args, **options)
    except TypeError:  # also of "**options", which has no name
        raise _NotWritableError from None
    bound.apply_defaults()
    found: dict[str, ast.expr] = {}
    for name, value in bound.arguments.items():
        if isinstance(value, _CONSTANTS):
            found[name] = ast.Constant(value)
        elif isinstance(value, ast.Name | ast.Constant):
            found[name] = value
        else:
            raise _NotWritableError
    return found


class _Renamed(ast.NodeTransformer):
    """Gives a function's names a meaning where it is called.

    ``found`` is what it finds in its module, by the new names.
    """

    def __init__(self, function: Any, prefix: str, arguments: Mapping[str, ast.expr]) -> None:
        self.own, self.prefix, self.arguments = function.__code__.co_varnames, prefix, arguments
        self.known = ChainMap(function.__globals__, vars(builtins))
        self.found: dict[str, Any] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a parameter by its argument, and call all else by another name."""
        name, new = node.id, f"{self.prefix}__{node.id}"
        if name == NOT_IMPLEMENTED:
            return node
        if name in self.arguments:
            if not isinstance(node.ctx, ast.Load):  # the argument's own variable would change
                raise _NotWritableError
            return self.arguments[name]
        if name not in self.own:
            if name not in self.known:
                raise _NotWritableError
            self.found[new] = self.known[name]
        return ast.Name(new, node.ctx)


def _giving(
    body: Sequence[ast.stmt], result: str, otherwise: Sequence[ast.stmt], found: Mapping[str, Any]
) -> Iterator[ast.stmt]:
    """Yield statements that assign what others return, or find it otherwise."""
    for place, each in enumerate(body):
        if isinstance(each, ast.Return):
            if otherwise and isinstance(each.value, ast.Name) and each.value.id == NOT_IMPLEMENTED:
                yield from otherwise
                return
            target = ast.Name(result, ast.Store())
            yield ast.Assign([target], each.value or ast.Constant(None), lineno=0)
            if otherwise and not _is_value(each.value, found):
                missing = ast.parse(f"{result} is {NOT_IMPLEMENTED}", mode="eval").body
                yield ast.If(missing, list(otherwise), [])
            return
        if isinstance(each, ast.If) and any(isinstance(n, ast.Return) for n in ast.walk(each)):
            rest = [*each.orelse, *body[place + 1 :]]
            ways = [list(_giving(way, result, otherwise, found)) for way in (each.body, rest)]
            yield ast.If(each.test, *ways)
            return
        yield each
    raise _NotWritableError  # it ends without a return


def _is_value(expression: ast.expr | None, found: Mapping[str, Any]) -> bool:
    """Return whether an expression is never ``NotImplemented``: an operator's, or a method's.

    Python's own methods, and functions of what the module has ``found``, may well give it.
    """
    if isinstance(expression, ast.Call):
        method = expression.func
        if not isinstance(method, ast.Attribute) or method.attr.startswith("__"):
            return False
        owner = method.value
        while isinstance(owner, ast.Attribute):
            owner = owner.value
        return isinstance(owner, ast.Name) and owner.id not in found
    return isinstance(expression, ast.BinOp | ast.UnaryOp)
