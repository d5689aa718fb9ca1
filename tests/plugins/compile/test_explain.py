"""What a compiled function says of itself: its steps, their lines and times, and how they run."""

import copy
import inspect
import pickle
import re

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import CompileError
from agnograd_compile._listing import groups_of, line_of, size
from agnograd_compile._lowerings import plain
from agnograd_compile._programs.straight import straight
from agnograd_compile.lowering import Lowering

xp = ag.namespace("numpy")
X, W = np.linspace(-1.0, 1.0, 12).reshape(4, 3), np.ones((3, 2))


def layer(w, x, *, power=2):
    y = xp.tanh(x @ w)
    if xp.sum(y) < 1.0:
        y = y * 2.0
    return xp.mean(y**power)


@ag.compile
def decorated(x):
    return x + 1.0


class Grouped(Lowering):
    """A lowering that says of itself what a test can look for."""

    exact = True

    def lower(self, program):
        return straight(program)

    def describe(self, program):
        return {"groups": [(0, 1), (3, 4)], "buffers": [1000, 500], "source": "nothing"}


@pytest.fixture
def grouped(monkeypatch):
    monkeypatch.setattr("agnograd_compile._compiled.lowering_for", lambda *_: Grouped())


def test_the_report_has_steps_values_lines_and_guards():
    explanation = ag.compile(layer, lowering="plain").explain(W, X)
    report = str(explanation)
    first = inspect.getsourcelines(layer)[1]
    assert "v0 = argument 0: (3, 2) float64" in report
    assert "v2 = matmul(v1, v0)" in report
    assert f"(4, 2) float64  test_explain.py:{first + 1} in layer" in report
    assert re.search(rf"bool\(v5\) is True +test_explain.py:{first + 2} in layer\n", report)
    assert "guards     1" in report
    assert "lowering   numpy.plain\n" in report
    assert explanation.exact
    (part,) = explanation.parts
    assert len(part.steps) == len(part.program.steps) == 8
    assert all(taken > 0.0 for taken in (*part.steps, part.seconds, explanation.first))
    assert repr(explanation) == "<explanation of layer: 8 steps, lowering 'numpy.plain'>"


def of_two_lines(x):
    y = xp.tanh(x)
    return xp.sum(y * xp.exp(x))


def lines_of(part, place):
    """Return, for the ops of a part, the lines after the first one of a function."""
    first = inspect.getsourcelines(of_two_lines)[1]
    found = [(step.op, *re.split(r":(\d+) in ", step.location)[1:]) for step in part.program.steps]
    assert all(name == place for *_, name in found)
    return [(op, int(line) - first) for op, line, _ in found]


@pytest.mark.accelerated
@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_are_of_the_lines_of_the_ops_that_they_are_of(order):
    f = of_two_lines
    for _ in range(order):
        f = (lambda inner: lambda x: xp.sum(ag.grad(inner)(x)))(f) if order == 2 else ag.grad(f)
    (part,) = ag.compile(f).explain(X).parts
    lines = [
        step.location.rpartition(":")[2] for step in part.program.steps if step.op == "@pullback"
    ]
    first = inspect.getsourcelines(of_two_lines)[1]
    assert lines
    assert set(lines) <= {f"{first + 1} in of_two_lines", f"{first + 2} in of_two_lines"}
    assert f"{first + 1} in of_two_lines" in lines  # of tanh


def of_elements(x):
    y = x[0] * x[1]
    return y + xp.sum(x**2)


def test_additions_to_gradients_are_of_the_lines_that_read_the_elements():
    [part] = ag.compile(ag.grad(of_elements)).explain(np.ones(4)).parts
    first = inspect.getsourcelines(of_elements)[1]
    found = [line_of(step) for step in part.program.steps if step.op == "@scatter_add"]
    # Two, or one if switches let the two be added up first.
    assert set(found) == {f"test_explain.py:{first + 1} in of_elements"}


def test_backward_programs_have_the_lines_of_the_forward_ops():
    for part in ag.compile(of_two_lines).explain(ag.Variable(X)).parts:
        lines = lines_of(part, "of_two_lines")
        assert lines
        assert {line for _, line in lines} <= {1, 2}
    assert lines[-1][1] == 1  # the gradient of tanh is added last


def test_an_error_in_a_derivative_names_the_line_of_its_op():
    def f(a):
        b = xp.linalg.inv(a)
        return xp.sum(b)

    compiled = ag.compile(ag.grad(f))
    compiled(np.eye(2))
    line = inspect.getsourcelines(f)[1] + 1
    with pytest.raises(np.linalg.LinAlgError) as caught:
        compiled(np.zeros((2, 2)))
    assert any(f"test_explain.py:{line} in f" in note for note in caught.value.__notes__)


def test_passes_say_what_they_removed():
    explanation = ag.compile(lambda x: xp.sin(x) * xp.sin(x)).explain(X)
    assert "passes     removed steps: common 1" in str(explanation)
    assert len(explanation.parts[0].program.steps) == 2


def test_arrays_have_the_names_of_arguments_and_of_variables():
    def f(p, x):
        return p["w"] * x + X

    report = str(ag.compile(f).explain({"w": X, "n": 3}, x=X))
    assert "argument 0['w']: (4, 3) float64" in report
    assert "argument 'x': (4, 3) float64" in report
    assert "the global variable 'X': (4, 3) float64" in report


def test_constants_are_shown():
    def f(x):
        return x * np.arange(3.0)

    assert "constants  c" in str(ag.compile(f).explain(X))


def test_static_arguments_are_part_of_the_program():
    explanation = ag.compile(layer, static="power").explain(W, X, power=3)
    assert "= pow(v6, 3)" in str(explanation)
    assert len(explanation.arrays) == 2


def test_a_tracked_argument_has_a_program_for_values_and_one_for_gradients():
    explanation = ag.compile(layer).explain(ag.Variable(W), X)
    forward, backward = explanation.parts
    assert (forward.program.name, backward.program.name) == ("layer (forward)", "layer (backward)")
    assert len(backward.steps) == len(backward.program.steps) > 0
    assert "tanh.x.pullback(" in str(explanation) or "layer (backward)" in str(explanation)


def test_it_leaves_the_function_and_its_programs_alone():
    compiled = ag.compile(layer)
    for power in range(12):
        compiled.explain(W, X, power=power)
    for power in range(8):
        compiled(W, X, power=power)  # no warning: eight programs


def test_groups_and_buffers_are_those_of_the_lowering(grouped):
    explanation = ag.compile(layer).explain(W, X)
    report = str(explanation)
    assert "groups     2, which run 4 steps together" in report
    assert "buffers    2 of 1.5 kB in all; the results of all steps have " in report
    assert report.count("[0]") == report.count("[1]") == 2
    (part,) = explanation.parts
    assert groups_of(part.program, part.described) == {0: 0, 1: 0, 3: 1, 4: 1}


def test_groups_of_another_program_mark_no_step():
    (part,) = ag.compile(layer).explain(W, X).parts
    other = part.program.with_(steps=part.program.steps[1:])
    assert groups_of(part.program, {"program": other, "groups": [(0, 1)]}) == {}


def test_a_lowering_need_not_say_anything():
    (part,) = ag.compile(layer).explain(W, X).parts
    assert Lowering().describe(part.program) == {}
    assert "def run(arrays):" in plain.describe(part.program)["source"]


def test_a_long_program_is_cut_and_its_ops_are_summed_up():
    def long(x):
        for number in range(100):
            x = x * float(number + 2)
        return xp.sin(x)

    explanation = ag.compile(long).explain(X)
    report = str(explanation)
    assert "... 41 steps more: print(explanation.text(None))" in report
    assert "multiply, 100 steps" in report
    assert "sin, 1 step" in report
    everything = explanation.text(None)
    assert everything.count(" = multiply(") == 100
    assert "more" not in everything


def test_the_picture_has_a_bar_for_each_step_and_a_colour_for_each_group(grouped, tmp_path):
    pytest.importorskip("matplotlib")
    explanation = ag.compile(layer).explain(W, X)
    figure = explanation.plot(tmp_path / "layer.png")
    (axes,) = figure.axes
    bars = axes.patches
    widths = [bar.get_width() for bar in bars]
    assert widths == pytest.approx([1e6 * taken for taken in explanation.parts[0].steps])
    colours = [bar.get_facecolor() for bar in bars]
    assert colours[0] == colours[1] != colours[3] == colours[4] != colours[2] == colours[5]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[0] == "v2 = matmul(v1, v0)  (4, 2) float64"
    assert (tmp_path / "layer.png").stat().st_size > 1000


def test_the_picture_of_a_long_program_has_its_longest_steps():
    pytest.importorskip("matplotlib")

    def long(x):
        for number in range(60):
            x = x * float(number + 2)
        return x

    figure = ag.compile(long).explain(X).plot()
    (axes,) = figure.axes
    assert len(axes.patches) == 40
    assert axes.get_title("left").endswith(": 60 steps, the 40 longest")


def test_inside_of_other_functions_there_is_no_program_to_explain():
    compiled = ag.compile(layer)
    with pytest.raises(CompileError, match="outside of functions that are traced"):
        ag.vmap(lambda x: compiled.explain(W, x))(X[None])


@pytest.mark.parametrize("pair", [(0, "0 bytes"), (1500, "1.5 kB"), (2e6, "2 MB"), (3e10, "30 GB")])
def test_sizes_have_units(pair):
    assert size(pair[0]) == pair[1]


@pytest.mark.parametrize(
    "make", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))]
)
def test_copies_and_pickles_have_the_function_and_the_options(make):
    assert make(decorated) is decorated
    compiled = ag.compile(layer, lowering="plain", static="power")
    made = make(compiled)
    assert made.function is layer
    assert made(W, X, power=3) == compiled(W, X, power=3)
    assert "numpy.plain" in str(made.explain(W, X))


def test_an_explanation_is_neither_copied_nor_pickled():
    explanation = ag.compile(layer, lowering="plain").explain(W, X)
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"keep its text, explanation.text\(None\)"):
            take(explanation)
