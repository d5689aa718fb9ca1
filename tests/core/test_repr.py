"""What a Variable looks like, as text and in a notebook."""

import re

import numpy as np
import pytest

import agnograd as ag
from agnograd.extend import OpSet, hookimpl
from arrays import leaf


def number(xp, x):
    return ag.Variable(xp.asarray(x, dtype=xp.float64).data)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: x, "Variable(array([1., 2.]), dtype=float64, requires_grad=True)"),
        (lambda x: x.detach(), "Variable(array([1., 2.]), dtype=float64)"),
        (lambda x: x * 2.0, "Variable(array([2., 4.]), dtype=float64, op=multiply)"),
        (lambda x: x[0], "Variable(array(1.), dtype=float64, op=__getitem__)"),
        (lambda x: x > 1.5, "Variable(array([False,  True]), dtype=bool)"),
        (
            lambda x: ag.wrap(np.negative, vjp=lambda g, out, x: -g)(x),
            "Variable(array([-1., -2.]), dtype=float64, op=negative)",
        ),
        (
            lambda x: ag.namespace().linalg.eigh(x[None, :] * x[:, None])[1],
            "Variable(array([[-0.89442719,  0.4472136 ],\n"
            "                [ 0.4472136 ,  0.89442719]]), dtype=float64, op=linalg.eigh[1])",
        ),
        (
            lambda x: ag.namespace().broadcast_to(x, (1000, 2)),
            "Variable(array([[1., 2.],\n"
            "                [1., 2.],\n"
            "                [1., 2.],\n"
            "                ...,\n"
            "                [1., 2.],\n"
            "                [1., 2.],\n"
            "                [1., 2.]], shape=(1000, 2)), dtype=float64, op=broadcast_to)",
        ),
    ],
)
def test_the_values_and_where_they_come_from(make, text, monkeypatch):
    monkeypatch.delenv("AGNOGRAD_BACKEND", raising=False)
    assert repr(make(ag.Variable(np.asarray([1.0, 2.0])))) == text


def test_long_lines_are_broken_between_facts():
    text = repr(ag.Variable(np.arange(20) / 7) * 2.0)
    assert text.splitlines()[-1] == "         dtype=float64, op=multiply)"
    assert max(map(len, text.splitlines())) <= 80


def test_another_backend_than_the_default_is_named(monkeypatch):
    x = ag.Variable(np.ones(2))
    assert "backend=" not in repr(x)
    monkeypatch.setenv("AGNOGRAD_BACKEND", "strict")
    assert "backend=numpy" in repr(x)


def test_every_backend_tells_the_op_and_the_kind_of_leaf(xp):
    x = leaf(xp, [1.0, 2.0])
    assert repr(x).endswith("requires_grad=True)")
    assert repr(x * 2.0).endswith("op=multiply)")
    assert "requires_grad" not in repr(xp.asarray(1))
    assert "float64" in repr(number(xp, 1.0))


def test_a_freed_graph_and_a_function_have_their_names(xp):
    class Square(ag.Function):
        def forward(self, xp, x):
            self.save(x)
            return x * x

        def backward(self, xp, g):
            return 2.0 * self.saved[0] * g

    x = leaf(xp, [1.0, 2.0])
    y = Square()(x) * 1.0
    xp.sum(y).backward()
    assert repr(y).endswith("op=multiply)")
    assert repr(Square()(x)).endswith("op=Square)")


class Broken:
    """What no library would make."""

    shape = ()

    def __repr__(self):
        raise ValueError("<broken>")


def test_it_never_raises(xp):
    x = number(xp, 1.0).detach()
    x._raw = Broken()
    assert "ValueError: <broken>" in repr(x)
    assert "ValueError: &lt;broken&gt;" in x._repr_html_()


def test_no_hook_hears_of_it_and_nothing_lazy_is_computed(xp):
    class Heard:
        def __init__(self):
            self.ops = []

        @hookimpl
        def forward_preprocess(self, op):
            self.ops.append(op.name)

    with ag.hooks(Heard()) as (heard,):
        x = leaf(xp, [1.0, 2.0]) * 2.0
        repr(x), x._repr_html_()
    assert heard.ops == ["multiply"]


def test_a_lazy_array_stays_lazy():
    da = pytest.importorskip("dask.array", reason="pip install 'agnograd[dask]'")
    from dask.callbacks import Callback

    computed = []
    x = ag.Variable(da.ones(3)) * 2.0
    with Callback(start=computed.append):
        assert repr(x).endswith("op=multiply)")
        assert "dask.array" in x._repr_html_()
    assert computed == []


def test_a_view_shows_what_its_base_was_given(xp):
    x = leaf(xp, [1.0, 2.0, 3.0]) * 1.0
    view = x[1:]
    x[1] = 7.0
    assert "7." in repr(view)


# -- in a notebook ---------------------------------------------------------------------------------


def table(x):
    row = r'<th scope="row"[^>]*>([^<]*)</th><td[^>]*>([^<]*)</td>'
    return dict(re.findall(row, x._repr_html_()))


def test_the_table_has_the_facts():
    x = ag.Variable(np.asarray([1.0, 2.0]))
    facts = {"shape": "(2,)", "dtype": "float64", "device": "cpu", "backend": "numpy"}
    leaf_facts = {"graph": "leaf", "gradient": "none yet"}
    assert table(x) == facts | leaf_facts
    y = x * x
    assert table(y) == facts | {"graph": "op multiply", "gradient": "none yet"}
    ag.namespace("numpy").sum(y).backward()
    assert table(x)["gradient"] == "present, float64"
    untracked = {"graph": "not tracked", "gradient": "not required"}
    assert table(x.detach()) == facts | untracked
    assert "array([1., 4.])" in y._repr_html_()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_it_in_the_colours_of_its_page(browser, scheme):
    x = ag.Variable(np.ones((200, 2))) * 2.0
    tab = browser.new_page(color_scheme=scheme)
    style = ":root { color-scheme: light dark; } tr:nth-child(odd) { background: red; }"
    tab.set_content(f"<style>{style}</style><body>{x._repr_html_()}</body>")
    shown = tab.locator(".agnograd-variable")
    assert "array([[2., 2.]," in shown.locator("pre").inner_text()
    assert shown.locator("th").all_inner_texts() == [
        *("shape", "dtype", "device", "backend", "graph", "gradient")
    ]
    colour = "element => getComputedStyle(element).color"
    of_page = tab.locator("body").evaluate(colour)
    assert of_page == ("rgb(255, 255, 255)" if scheme == "dark" else "rgb(0, 0, 0)")
    for part in ("pre", "th >> nth=0", "td >> nth=0"):
        assert shown.locator(part).evaluate(colour) == of_page
    background = "element => getComputedStyle(element).backgroundColor"
    for part in ("tr >> nth=0", "td >> nth=0", "pre"):
        assert shown.locator(part).evaluate(background) == "rgba(0, 0, 0, 0)"
    box = shown.bounding_box()
    assert box["height"] < 600  # a long array scrolls
    tab.close()


# -- the other public objects ----------------------------------------------------------------------


def test_states_show_how_they_are_made():
    assert repr(ag.no_grad()) == "ag.no_grad()"
    assert repr(ag.enable_grad()) == "ag.enable_grad()"
    assert repr(ag.set_grad_enabled(1)) == "ag.set_grad_enabled(True)"
    assert re.fullmatch(r"ag\.hooks\(<agnograd_timer\.Timer .*>\)", repr(ag.hooks("timer")))


def test_handles_and_managers_tell_their_state(xp):
    x = leaf(xp, [1.0, 2.0])
    for register in (x.register_hook, x.register_post_accumulate_grad_hook):
        handle = register(lambda grad: None)
        assert repr(handle) == "<hook on a gradient, active>"
        handle.remove()
        assert repr(handle) == "<hook on a gradient, removed>"
    manager = ag.GradManager()
    manager.attach([x, leaf(xp, 1.0)])
    assert repr(manager) == "<GradManager, not active, of 2 Variables>"
    with manager:
        manager.attach(leaf(xp, 2.0))
        assert repr(manager) == "<GradManager, active, of 3 Variables>"


def test_nodes_namespaces_backends_and_ops_have_names(xp, backend):
    x = leaf(xp, [[1.0, 0.0], [0.0, 2.0]])
    assert repr(x.node) == "<leaf>"
    assert repr((x * x).node) == "<node of multiply>"
    assert repr((x * x).node.op) == f"<op multiply on {backend}>"
    assert repr(xp.linalg.eigh(x)[1].node) == "<node of linalg.eigh, result 1>"
    assert repr(xp.linalg) == f"<namespace 'agnograd.{backend}.linalg'>"
    assert repr((x * x).node.op.backend).startswith(f"<backend {backend!r}: ")
    ops = OpSet("own")
    ops.vjp("double(x, /)", x=lambda g: 2.0 * g)
    assert repr(ops) == "<op set 'own'>"
    assert repr(ops.ops["double"]) == "<op double(x, /): rule>"
