"""Counts what fires while programs are compiled: rewrites, kinds of groups, sides of switches.

The modules that compile are marked as they are imported, in a process that asks for it: they have
no counters of their own.
"""

import ast
import importlib.machinery
import importlib.util
import re
import sys
from collections import defaultdict
from pathlib import Path

import rewrites

_NUMERIC = re.compile(r"_?[A-Z][A-Z_]+")
# What fired since the set was last cleared, by the names of rows.
FIRED = set()
# The names of all rows of the modules that were imported, in their order.
ROWS = {}
IDENTITIES = "agnograd_compile._passes.identities"
_NAMED = (ast.FunctionDef, ast.ClassDef)
_TARGETS = re.compile(r"^\((.*?)\) = ")  # which only some versions of Python write
_last = [""]  # the text of the last return statement of a rule of identities


class UnmarkedError(Exception):
    """A row of the table names a statement that its module does not have."""


def mark():
    """Mark the modules of the table from now on; none of them may have been imported."""
    assert sys.modules.keys().isdisjoint(rewrites.MODULES), "these modules were imported before"
    sys.meta_path.insert(0, _Finder())


class _Finder:
    def find_spec(self, name, path=None, target=None):
        if name not in rewrites.MODULES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        spec.loader = _Loader(name, spec.loader.path)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        tree = ast.parse(Path(self.path).read_bytes())
        rows = _Rows(name)
        rows.mark(tree, "")
        if rows.left:
            raise UnmarkedError(
                f"{name} lacks statements of tests/helpers/rewrites.py: {rows.left}"
            )
        tree = _Switches(name, _numbers_of(name, tree)).visit(tree)
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module):
        vars(module).update(__fired__=FIRED.add, __gave__=_gave, __said__=_said, __took__=_took)
        super().exec_module(module)
        if module.__name__ == IDENTITIES:
            _count_identities(module)


def _gave(row, value):
    """Note a return statement, unless it says that nothing was rewritten."""
    if value is not None and value is not False:
        FIRED.add(row)
    return value


def _said(text, value):
    """Keep the text of what a rule of identities returns."""
    if value is not None:
        _last[0] = text
    return value


def _took(row, side):
    """Note the side of a switch."""
    FIRED.add(f"{row} is {bool(side)}")
    return side


class _Rows:
    """Puts calls that note rows before the statements of a module's table, and around returns."""

    def __init__(self, module):
        self.title = _title(module)
        self.left = [*rewrites.MODULES[module]]
        self.marks_returns = module == IDENTITIES

    def mark(self, node, function):
        """Mark the statements in a function, or class, or what else has blocks."""
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, [new for old in block for new in self._marked(old, function)])
        for handler in getattr(node, "handlers", ()):
            self.mark(handler, function)

    def _marked(self, statement, function):
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Return) and isinstance(value, ast.IfExp):  # two statements
            sides = [ast.Return(value.body)], [ast.Return(value.orelse)]
            statement = ast.copy_location(ast.If(value.test, *sides), statement)
        row = self._row(statement, function)
        self.mark(statement, statement.name if isinstance(statement, _NAMED) else function)
        constant = isinstance(value, ast.Constant) and value.value in (None, False)
        if isinstance(statement, ast.Return) and (row or self.marks_returns) and not constant:
            function = "__gave__" if row else "__said__"
            statement.value = _call(function, ast.Constant(row or ast.unparse(value)), value)
            return [statement]
        if row is None:
            return [statement]
        noted = ast.copy_location(ast.Expr(_call("__fired__", ast.Constant(row))), statement)
        if not isinstance(statement, ast.If):
            return [noted, statement]
        statement.body.insert(0, noted)
        return [statement]

    def _row(self, statement, function):
        """Return the row that names a statement: of several, the first one that is left."""
        text = _TARGETS.sub(r"\1 = ", ast.unparse(statement))
        for each in self.left:
            name, of, start = each
            if of == function and text.startswith(start):
                self.left.remove(each)
                return self._noted(name)
        return None

    def _noted(self, name):
        if name == "-":
            return None
        row = f"{self.title}: {name}"
        ROWS[row] = None
        return row


class _Switches(ast.NodeTransformer):
    """Puts calls that note sides around comparisons with numbers that have names."""

    def __init__(self, module, numbers):
        self.title, self.numbers, self.function = _title(module), numbers, None

    def visit_FunctionDef(self, node):
        outer, self.function = self.function, node.name
        self.generic_visit(node)
        self.function = outer
        return node

    def visit_Compare(self, node):
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        row = f"switch {self.title}.{self.function}: {ast.unparse(node)}"
        self.generic_visit(node)
        if self.function is None or names.isdisjoint(self.numbers):
            return node
        ROWS.update({f"{row} is {side}": None for side in (True, False)})
        return ast.copy_location(_call("__took__", ast.Constant(row), node), node)


def _call(function, *args):
    return ast.Call(ast.Name(function, ast.Load()), [*args], [])


def _title(module):
    package, _, name = module.rpartition(".")
    plugin = package.partition(".")[0].removeprefix("agnograd_").removeprefix("compile")
    return f"{plugin} {name.lstrip('_')}".strip()


def _numbers_of(module, tree):
    """Return the names in a module that stand for numbers at which something changes."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name | ast.Tuple):
            target, value = node.targets[0], node.value
            names = [each.id for each in getattr(target, "elts", [target])]
            values = getattr(value, "elts", []) if isinstance(target, ast.Tuple) else [value]
            found.update(n for n, v in zip(names, values, strict=False) if _is_number(v))
        elif isinstance(node, ast.ImportFrom) and node.module in rewrites.MODULES:
            path = importlib.util.find_spec(node.module).origin
            own = _numbers_of(node.module, ast.parse(Path(path).read_bytes()))
            found.update(each.name for each in node.names if each.name in own)
    return {name for name in found if _NUMERIC.fullmatch(name)}


def _is_number(value):
    """Return whether an expression is of numbers alone, or declares a switch."""
    if isinstance(value, ast.Call):
        return "switch" in ast.unparse(value.func)
    parts = list(ast.walk(value))
    known = (ast.Constant, ast.BinOp, ast.operator)
    numbers = [part.value for part in parts if isinstance(part, ast.Constant)]
    return all(isinstance(part, known) for part in parts) and isinstance(numbers[0], int | float)


def _count_identities(module):
    """Count each rule of identities by the op, and by what it returns."""
    returns = defaultdict(list)
    for node in ast.parse(Path(module.__file__).read_bytes()).body:
        for each in ast.walk(node) if isinstance(node, ast.FunctionDef) else ():
            if isinstance(each, ast.Return):
                value = each.value
                values = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
                returns[node.name] += [text for v in values if (text := ast.unparse(v)) != "None"]
    for op, rule in module.RULES.items():
        for text in returns[rule.__name__]:
            ROWS[f"identities: {op}: {text}"] = None
        module.RULES[op] = _counted(op, rule)


def _counted(op, rule):
    def counted(seen, step):
        found = rule(seen, step)
        text = _last[0]
        accepted = found is not None and (
            type(found) is type(step) or seen.alike(found, step.outs[0])
        )
        if accepted:
            FIRED.add(f"identities: {op}: {text}")
        return found

    return counted
