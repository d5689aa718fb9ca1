"""Short functions are written into the ops that call them, and do there what a call does."""

import inspect
import linecache
import sys
import traceback
from functools import wraps
from types import SimpleNamespace

import numpy as np
import pytest

import agnograd as ag
from agnograd._codegen.inline import lambda_body, written_out
from agnograd._codegen.texts import found_by
from agnograd._graph.nodes import OP
from agnograd.extend import inline
from usual import usual


@pytest.fixture(autouse=True)
def _usual():
    with pytest.MonkeyPatch.context() as patch:
        usual(patch, "agnograd._codegen.inline")
        yield


FACTOR = 3


@inline
def scaled(x, /, *, factor=2, shift=None):
    """Return what depends on options."""
    product = x * factor
    if shift is None:
        return product
    product += shift
    return product


@inline
def known(x, y):
    if type(x) is not int or y is None:
        return NotImplemented
    if x > FACTOR:
        y = y if y else 0
    return x + y


@inline
def nested(x, y):
    """Return one of several values."""
    if x > 0:
        if y > 0:
            return "both"
        return "x"
    if y > 0:
        return "y"
    total = min(x, y)
    return f"none: {total}" if total else str(total)


@inline
def in_parts(x, y):
    a, b = (x, y) if x > y else (y, x)
    c = -a + b[0] if isinstance(b, list) else -a + b * FACTOR
    return [c, {"c": c}][0] if c is None else c


@inline
def chosen(x, y):
    if x and not y:
        return np.add(x, FACTOR, dtype=np.float64)
    return abs(x) // (y or 1)


def unmarked(x, y):
    return x + y


def positive(x, y):
    return x + y if x > 0 else NotImplemented


others = SimpleNamespace(positive=positive)


@inline
def partial_answer(x, y):
    if y is None:
        return NotImplemented
    if y == 0:
        return positive(x, y)
    if type(y) is str:
        return x.__add__(y)
    if y == 1:
        return others.positive(x, y)
    if y == 2:
        return x.real.conjugate()
    return x + y


@inline
def looping(x, y):
    for _ in range(y):
        x = x + 1
    return x


@inline
def assigning(x, y):
    x = x + y
    return x  # noqa: RET504


@inline
def many(x, *more):
    return x, more


@inline
def mutable(x, y, seen=[]):  # noqa: B006
    return x + y + len(seen)


@inline  # noqa: RET503
def endless(x, y):
    if x > y:
        return x


def enclosing(value):
    @inline
    def enclosed(x, y):
        return x + y + value

    return enclosed


@inline
@wraps(looping)
def wrapper(x, other):
    return unmarked(x, other) + 1


short = inline(lambda x, y: x - y)


def run(function, arguments, **values):
    """Return the lines that a call becomes, and what they give."""
    scope, names = {"_kernel": function}, []
    lines = written_out(function, arguments, "_out", "_kernel", names)
    scope |= found_by(names, scope)
    source = "\n".join(f"    {line}" for line in lines)
    exec(f"def call({', '.join(values)}):\n{source}\n    return _out", scope)
    return lines, scope["call"](**values)


@pytest.mark.parametrize(
    ("function", "arguments", "values"),
    [
        (scaled, "a", {"a": 5}),
        (scaled, "a, factor=b", {"a": 5, "b": 7}),
        (scaled, "a, shift=b, factor=3", {"a": 5, "b": 7}),
        (wrapper, "a, b", {"a": 2, "b": 0}),
        (chosen, "a, b", {"a": 2, "b": 0}),
        (chosen, "a, b", {"a": -7, "b": 2}),
        (chosen, "a, y=b", {"a": -7, "b": 2}),
        *((nested, "a, b", {"a": a, "b": b}) for a in (1, 0, -2) for b in (1, 0)),
    ],
)
def test_what_is_written_out_does_what_a_call_does(function, arguments, values):
    expected = eval(f"function({arguments})", {"function": function}, values)
    lines, result = run(function, arguments, **values)
    assert result == expected
    # f-strings are none of what is written out.
    assert any("_kernel(" in line for line in lines) == (function is nested)


def test_names_of_the_function_are_its_own():
    lines, result = run(chosen, "np, y", np=4, y=0)
    assert result == 7.0
    assert not any(line.lstrip().startswith(("np =", "y =")) for line in lines)
    # The arguments have the names of what the function finds in its module.
    lines, result = run(scaled, "product, factor=FACTOR", product=2, FACTOR=5)
    assert result == 10
    assert "_kernel__product = product * FACTOR" in lines


@pytest.mark.parametrize(
    "function",
    [
        unmarked,
        looping,
        assigning,
        known,
        in_parts,
        many,
        mutable,
        endless,
        enclosing(4),
        short,
        max,
        np.add,
    ],
)
def test_what_cannot_be_written_out_is_called(function):
    lines, result = run(function, "x, y", x=3, y=2)
    assert result == function(3, 2)
    assert lines == ["_out = _kernel(x, y)"]


@pytest.mark.parametrize(
    ("function", "x", "y", "expected"),
    [
        (partial_answer, 3, None, "otherwise"),
        (partial_answer, 3, 0, 3),
        (partial_answer, -3, 0, "otherwise"),  # another function says so
        (partial_answer, 3, "4", "otherwise"),  # a method of Python's own does
        (partial_answer, -3, 1, "otherwise"),  # a function of a module does
        (partial_answer, 3, 2, 3),
        (partial_answer, 3, 4, 7),
        (positive, 3, 4, 7),  # it is called
        (positive, -3, 4, "otherwise"),
    ],
)
def test_what_is_not_implemented_is_found_otherwise(function, x, y, expected):
    scope, names = {"_kernel": function}, []
    lines = written_out(function, "x, y", "_out", "_kernel", names, ["_out = 'otherwise'"])
    scope |= found_by(names, scope)
    source = "\n".join(f"    {line}" for line in lines)
    exec(f"def call(x, y):\n{source}\n    return _out", scope)
    assert scope["call"](x, y) == expected
    # Nothing is asked of what is a value, or is said to be none.
    assert source.count("is NotImplemented") == (3 if function is partial_answer else 1)


def test_arguments_that_do_not_fit_are_left_to_the_call():
    lines, _ = run(scaled, "x, **more", x=1, more={"factor": 3})
    assert lines == ["_out = _kernel(x, **more)"]
    with pytest.raises(TypeError, match="unexpected keyword"):
        run(scaled, "x, other=x", x=1)


def test_source_that_has_changed_or_is_missing_is_not_used(tmp_path):
    path = tmp_path / "kernels_of_a_test.py"
    path.write_text("def kernel(x, y):\n    return x + y\n")
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    kernel = inline(scope["kernel"])
    assert run(kernel, "x, y", x=3, y=2) == (["_out = x + y"], 5)
    path.write_text("def kernel(x, y):\n    return x - y\n")
    linecache.checkcache(str(path))
    assert run(kernel, "x, y", x=3, y=2) == (["_out = _kernel(x, y)"], 5)
    path.unlink()
    linecache.checkcache(str(path))
    assert run(kernel, "x, y", x=3, y=2) == (["_out = _kernel(x, y)"], 5)


@pytest.mark.accelerated
@pytest.mark.usual_switches
def test_operators_are_written_as_such():
    xp = ag.namespace("numpy")
    x = ag.Variable([1.0, 2.0])
    assert (x + x).data.tolist() == [2.0, 4.0]
    assert "_out = x1 + x2" in inspect.getsource(type(x).__add__)
    assert xp.matmul(x, x).item() == 5.0
    assert "x1.dot(x2)" in inspect.getsource(xp.matmul)


def test_an_error_in_what_is_written_out_says_where():
    x, y = ag.Variable(np.ones((2, 3))), ag.Variable(np.ones((2, 3)))
    with pytest.raises(ValueError, match="not aligned") as caught:
        x @ y
    assert "x1.dot(x2)" in "".join(traceback.format_exception(caught.value))


LAMBDAS = """
several = lambda x, xp: xp.cos(x), lambda x: -x, lambda out, x2: (out + 1) * x2, lambda π, x: π.π(x)
of_module = lambda x: x * several
of_python = lambda x: abs(x)
with_option = lambda x, y=2: x * y
with_loop = lambda x: [each for each in x]
on_lines = lambda x, xp: xp.cos(
    x + 1
)
def enclosing(y):
    return lambda x: x + y
"""


def test_a_lambda_that_reads_nothing_but_its_arguments_is_an_expression(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(LAMBDAS, encoding="utf-8")
    scope = {}
    exec(compile(LAMBDAS, file, "exec"), scope)
    written = [lambda_body(each) for each in scope["several"]]
    assert written == ["xp.cos(x)", "(-x)", "((out + 1) * x2)", "π.π(x)"]
    for name in ("of_module", "of_python", "with_option", "on_lines", "enclosing"):
        assert lambda_body(scope[name]) is None, name
    assert lambda_body(scope["enclosing"](1)) is lambda_body(scaled) is None
    if sys.version_info < (3, 12):  # which have no function for it
        assert lambda_body(scope["with_loop"]) is None
    file.write_text(LAMBDAS.replace("cos", "sin"))  # since it was imported
    linecache.checkcache(str(file))
    assert lambda_body(scope["several"][0]) is None
    file.unlink()
    linecache.checkcache(str(file))
    assert lambda_body(scope["several"][1]) is None


@pytest.mark.accelerated
def test_short_rules_are_written_into_steps():
    xp = ag.namespace("numpy")
    y = xp.sin(ag.Variable([1.0, 2.0]))
    y.backward(xp.ones_like(y), retain_graph=True)
    assert "g * xp.cos(x)" in inspect.getsource(y._node[OP].step)
