"""The plugin ``graph``: what its drawings show."""

import re
import shutil
import threading
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import agnograd as ag
import agnograd_graph
from agnograd.extend import hookimpl
from agnograd_graph import Graph

no_dot = pytest.mark.skipif(
    shutil.which("dot") is None, reason="Graphviz is not installed: apt install graphviz"
)


def leaf(xp):
    return ag.Variable(xp.asarray([3.0, 4.0], dtype=xp.float64).data)


def program(xp, x):
    return xp.sum(x * xp.exp(x * 0.0))


def boxes(drawing):
    return {box.name: box for box in drawing.boxes}


def test_ops_shapes_saved_bytes_and_norms(xp):
    x = leaf(xp)
    with ag.hooks("graph") as (graph,):
        y = program(xp, x)
        y.backward(retain_graph=True)
    drawing = graph.draw(y)
    assert [box.name for box in drawing.boxes] == ["leaf", "multiply", "exp", "multiply", "sum"]
    found = boxes(drawing)
    assert {box.value for box in drawing.boxes} == {"(2,) float64", "() float64"}
    assert found["exp"].norm == pytest.approx(5.0)  # the gradient is x
    assert found["leaf"].norm == pytest.approx(2**0.5)
    assert found["sum"].norm == pytest.approx(1.0)
    (saved,) = found["exp"].saved
    assert (saved.name, saved.shape) == ("out", (2,))
    assert [(edge.source, edge.target) for edge in drawing.edges] == [
        (0, 1),
        (1, 2),
        (0, 3),
        (2, 3),
        (3, 4),
    ]


def test_what_is_known_without_the_plugin(xp):
    x = leaf(xp)
    y = program(xp, x)
    drawing = agnograd_graph.draw(y)
    found = boxes(drawing)
    assert found["leaf"].value == "(2,) float64"
    assert found["exp"].value == ""
    assert found["exp"].norm is None
    y.backward()
    assert agnograd_graph.draw(y).boxes[2].saved is None
    assert "saved: freed" in agnograd_graph.draw(y).dot()


def test_bytes_are_shown_where_the_library_knows_them():
    xp = ag.namespace("numpy")
    assert "saved: out 16 bytes" in agnograd_graph.draw(xp.exp(leaf(xp))).dot()


def test_the_last_pass_counts(xp):
    x = leaf(xp)
    with ag.hooks("graph") as (graph,):
        y = xp.exp(x * 0.0)
        y.backward(xp.asarray([3.0, 4.0], dtype=xp.float64), retain_graph=True)
        y.backward(xp.asarray([6.0, 8.0], dtype=xp.float64))
    assert boxes(graph.draw(y))["exp"].norm == pytest.approx(10.0)


def test_several_results_and_several_outputs(xp):
    x = ag.Variable(xp.asarray([[3.0, 4.0], [0.0, 0.0]], dtype=xp.float64).data)
    with ag.hooks("graph") as (graph,):
        first, second = xp.unstack(x)
        a, b = xp.sum(first), xp.sum(second)
        ag.autodiff.backward([a, b])
    drawing = graph.draw(a, b)
    assert [box.name for box in drawing.boxes] == ["leaf", "unstack", "sum", "sum"]
    assert drawing.boxes[1].value == "(2,) float64, (2,) float64"
    assert drawing.boxes[1].norm == pytest.approx(2.0)
    assert [(edge.source, edge.target) for edge in drawing.edges] == [(0, 1), (1, 2), (1, 3)]


def test_functions_and_checkpoints(xp):
    class Double(ag.Function):
        def forward(self, xp, x):
            return x * 2.0

        def backward(self, xp, g):
            return g * 2.0

    x = leaf(xp)
    with ag.hooks("graph") as (graph,):
        y = Double()(x)
        z = xp.sum(ag.checkpoint(xp.exp)(y * 0.0))
        z.backward()
    found = boxes(graph.draw(z))
    assert (found["Double"].value, found["Double"].norm) == ("(2,) float64", 0.0)
    assert found["exp"].norm == pytest.approx(2**0.5)


def test_values_without_a_graph(xp):
    x = ag.Variable(xp.asarray(1.0).data, requires_grad=False)
    assert agnograd_graph.draw(x).boxes == ()
    assert agnograd_graph.draw(x, leaf(xp)).boxes[0].name == "leaf"


def test_norms_of_narrow_gradients_do_not_overflow():
    xp = ag.namespace("numpy")
    x = ag.Variable(np.ones(4, dtype=np.float16))
    with ag.hooks("graph") as (graph,):
        y = xp.exp(x)
        y.backward(np.full(4, 1000.0, np.float16))
    assert boxes(graph.draw(y))["exp"].norm == 2000.0


def test_a_leaf_that_is_gone_is_drawn_without_its_shape(xp):
    (box, _) = agnograd_graph.draw(xp.exp(leaf(xp))).boxes
    assert (box.name, box.value) == ("leaf", "")


def test_sources_are_complete_and_quoted(xp):
    class Odd(ag.Function):
        def forward(self, xp, x):
            return x * 1.0

        def backward(self, xp, g):
            return g

    Odd.__name__ = 'a "name"'
    x = leaf(xp)
    drawing = agnograd_graph.draw(Odd()(x))
    assert 'label="a \\"name\\""' in drawing.dot()
    assert 'n1["a #quot;name#quot;"]' in drawing.mermaid()
    assert drawing.mermaid().splitlines() == [
        "flowchart TD",
        '  n0(["leaf<br/>(2,) float64"])',
        '  n1["a #quot;name#quot;"]',
        "  n0 --> n1",
    ]
    assert drawing.dot().splitlines()[-2:] == ["  n0 -> n1", "}"]


ODD = {
    "tag": "<script>alert(1)</script>",
    "entity": "&lt; #lt; &quot;",
    "backslash": "a\\",
    "escape": "\\N \\l",
    "ends": 'a"]; b --> c; n1["',
    "lines": "a\nb\r\tc\u2028d\0",
    "markdown": "`**a**`",
    "directive": '%%{init: {"theme": "dark"}}%%',
    "bidirectional": "a\u202eb",
    "accents": "é 梯度",
}


def drawn(name):
    return agnograd_graph.Drawing((agnograd_graph.Box(0, "op", name, "(2,) f", (), None),), ())


@pytest.mark.parametrize("what", ODD)
def test_names_are_text_in_every_language(what):
    drawing = drawn(ODD[what])
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in ODD[what])
    # https://graphviz.org/doc/info/lang.html and /docs/attr-types/escString
    first, _, node, last = drawing.dot().splitlines()
    assert (first, last) == ("digraph {", "}")
    (label,) = re.fullmatch(r'  n0 \[label="((?:[^"\\]|\\.)*)"\]', node).groups()
    name = label.removesuffix(r"\n(2,) f")
    assert re.sub(r"\\(.)", r"\1", name).replace("&amp;", "&") == shown
    # https://mermaid.js.org/syntax/flowchart.html#entity-codes-to-escape-characters
    _, node = drawing.mermaid().splitlines()
    (label,) = re.fullmatch(r'  n0\["([^"]*)"\]', node).groups()
    name = label.removesuffix("<br/>(2,) f")
    assert not set(name) & set("<>&`\\%{}")
    name = name.replace("#quot;", '"')
    assert re.sub(r"#(\d+);", lambda found: chr(int(found[1])), name) == shown


@no_dot
@pytest.mark.parametrize("what", ODD)
def test_names_are_text_in_pictures(what):
    picture = ET.fromstring(drawn(ODD[what]).svg())
    texts = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in ODD[what])
    assert texts[0].replace("\u00a0", " ") == shown


@no_dot
def test_pictures(xp, tmp_path):
    drawing = agnograd_graph.draw(program(xp, leaf(xp)))
    svg = "{http://www.w3.org/2000/svg}"
    picture = ET.fromstring(drawing.svg())
    groups = [group.get("class") for group in picture.iter(f"{svg}g")]
    assert (groups.count("node"), groups.count("edge")) == (5, 5)
    assert drawing._repr_mimebundle_()["image/svg+xml"] == drawing._repr_svg_() == drawing.svg()
    drawing.save(tmp_path / "graph.svg")
    ET.parse(tmp_path / "graph.svg")
    drawing.save(tmp_path / "graph.png")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="dot cannot draw this"):
        drawing.save(tmp_path / "graph.nonsense")


def test_without_graphviz_there_is_text(xp, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    drawing = agnograd_graph.draw(program(xp, leaf(xp)))
    bundle = drawing._repr_mimebundle_()
    assert drawing._repr_svg_() is None
    assert bundle["text/vnd.mermaid"] == bundle["text/plain"] == drawing.mermaid()
    assert bundle["text/markdown"].startswith("```mermaid\nflowchart TD\n")
    with pytest.raises(FileNotFoundError, match=r"install Graphviz .*, or use mermaid"):
        drawing.svg()
    drawing.save(tmp_path / "graph.dot")
    assert (tmp_path / "graph.dot").read_text() == drawing.dot()
    drawing.save(tmp_path / "graph.mmd")
    assert (tmp_path / "graph.mmd").read_text() == drawing.mermaid()


def test_a_pass_that_fails_half_way_is_drawn_as_far_as_it_came(xp):
    class Fail:
        @hookimpl
        def backward_preprocess(self, op):
            if op.name == "exp":
                raise ArithmeticError

    with ag.hooks("graph", Fail()) as (graph, _):
        y = program(xp, leaf(xp))
        with pytest.raises(ArithmeticError):
            y.backward()
    drawing = graph.draw(y)
    assert drawing.boxes[4].norm == 1.0
    assert drawing.boxes[4].saved is None
    assert drawing.boxes[1].norm is None
    assert drawing.boxes[0].norm is None


def test_nested_scopes_know_what_they_saw(xp):
    with ag.hooks("graph") as (outer,):
        x = leaf(xp)
        y = xp.exp(x)
        with ag.hooks("graph") as (inner,):
            y = xp.sin(y)
    assert [bool(box.value) for box in outer.draw(y).boxes] == [True, True, True]
    assert [bool(box.value) for box in inner.draw(y).boxes] == [True, False, True]
    outer.reset()
    assert [bool(box.value) for box in outer.draw(y).boxes] == [True, False, False]


def test_two_threads_share_one(xp):
    graph, together, drawn = Graph(), threading.Barrier(2, timeout=10), {}

    def work(scale):
        with ag.hooks(graph):
            y = xp.sum(xp.exp(leaf(xp) * 0.0) * scale)
            together.wait()
            y.backward()
            together.wait()
        drawn[scale] = boxes(graph.draw(y))["exp"].norm

    threads = [threading.Thread(target=work, args=(scale,)) for scale in (1.0, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert drawn == {1.0: pytest.approx(2**0.5), 2.0: pytest.approx(8**0.5)}
