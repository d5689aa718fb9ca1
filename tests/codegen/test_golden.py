"""The functions that agnograd writes for ten ops on NumPy, compared with files that one can read.

``pytest tests/codegen --update-golden`` writes the files.
"""

import difflib
import operator
from operator import attrgetter
from pathlib import Path

import pytest

from agnograd._arrays.domains import domain_named
from agnograd._codegen import functions
from agnograd._codegen.texts import WRITERS
from agnograd._plugins.op_sets import registered_in
from agnograd._util.deferred import later

GOLDEN = Path(__file__).parent / "golden"

# How each op is called, with the operator of Python's that computes it where it is one.
FUNCTION = {"function": None}
OPS = {
    "add": {**FUNCTION, **dict.fromkeys(("operator", "reflected", "ufunc"), operator.add)},
    "multiply": {**FUNCTION, "operator": operator.mul},
    "tanh": FUNCTION,
    "sum": FUNCTION,
    "matmul": {**FUNCTION, "operator": operator.matmul},
    "where": FUNCTION,
    "__getitem__": {"operator": operator.getitem},
    "concat": FUNCTION,
    "unstack": FUNCTION,
    "max": FUNCTION,
}
BACKWARD = ("backward", "guarded", "of_ones", "step")


def written(name, monkeypatch):
    """Return all functions of an op, as text, by what they are for."""
    op, domain = registered_in("")[name][0], domain_named("numpy")
    found, scopes = [], []

    def record(writer, scope, *facts):
        found.append(later(WRITERS[writer], writer)(*facts, []))
        scopes.append(scope)
        return lambda *_: None

    monkeypatch.setattr(functions, "function_for", record)
    sources = {}
    for form, of_python in OPS[name].items():
        kernel = domain.backend.operator(of_python) if of_python else attrgetter(name)(domain.raw)
        functions.generated(op, domain, kernel, form)
        sources[f"forward, as {form}"] = found[-1]
    calls = {"": scopes[-1]["_call"], " of numbers": scopes[-1].get("_of_numbers")}
    for kind, call in calls.items():
        for attribute in BACKWARD if call is not None else ():
            function = getattr(call if attribute == "step" else call.compiled, attribute, None)
            if function is not None and function.__module__ == functions.__name__:
                function()  # now it is written
                sources[attribute + kind] = found[-1]
    return sources


def page(sources):
    """Return texts below what they are for; several purposes may share one text."""
    purposes = {}
    for what, source in sources.items():
        purposes.setdefault(source, []).append(what)
    return "\n\n".join(f"# {'; '.join(each)}\n\n{text}" for text, each in purposes.items())


@pytest.mark.parametrize("name", OPS)
def test_what_is_written_for_an_op_is_as_it_was(name, monkeypatch, pytestconfig):
    text = page(written(name, monkeypatch))
    path = GOLDEN / f"{name}.py"
    if pytestconfig.getoption("update_golden"):
        path.write_text(text)
    known = path.read_text() if path.exists() else ""
    difference = difflib.unified_diff(known.splitlines(), text.splitlines(), str(path), "now", "")
    if lines := [line.rstrip() for line in difference]:
        hint = "If this is what you want, run `pytest tests/codegen --update-golden`."
        pytest.fail("\n".join([f"The functions of {name} changed.", *lines, hint]), pytrace=False)
