"""Looking at graphs."""

import gc
import json
import weakref

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import NoGradientError
from arrays import leaf, values


def test_a_node_has_its_op_inputs_and_saved_values(xp):
    x, y = leaf(xp, [1.0, 2.0]), leaf(xp, [3.0, 4.0])
    node = (x * y).node
    assert (node.op.name, node.op.chapter) == ("multiply", "elementwise")
    assert node.inputs == (x.node, y.node)
    assert set(node.saved) >= {"x1", "x2"}
    np.testing.assert_array_equal(np.asarray(node.saved["x2"]), [3.0, 4.0])
    with pytest.raises(TypeError):
        node.saved["x2"] = None
    assert node.inputs[0].variable is x
    assert x.node.op is None
    assert x.node.inputs == ()
    assert dict(x.node.saved) == {}
    assert "multiply" in repr(node)
    assert len({node, (x * y).node, x.node, y.node}) == 4
    assert node != "multiply"


def test_constants_have_no_node_and_freed_values_are_gone(xp):
    x = leaf(xp, 2.0)
    assert x.detach().node is None
    y = x * x.detach()
    assert y.node.inputs == (x.node, None)
    y.backward()
    assert y.node.saved is None


def test_an_element_of_a_leaf_that_was_read_shows_its_key_until_a_pass():
    x = ag.Variable([1.0, 2.0])
    y = x[1]
    assert y.node.saved["key"] == 1
    y.backward()
    assert y.node.saved is None


def test_one_of_several_results(xp):
    first, second = xp.unstack(leaf(xp, [1.0, 2.0]))
    assert (first.node.index, second.node.index) == (0, 1)
    assert first.node.op is second.node.op
    assert (first * 1.0).node.inputs[0].op.name == "unstack"


def test_a_graph_is_plain_data(xp):
    x, w = leaf(xp, [1.0, 2.0]), leaf(xp, [3.0, 4.0])
    y = xp.sin(x * w)
    graph = ag.autodiff.graph([y, xp.sum(y), x.detach()])
    assert [node.name for node in graph.nodes] == ["leaf", "leaf", "multiply", "sin", "sum"]
    assert [tuple(edge) for edge in graph.edges] == [(0, 2, 0), (1, 2, 1), (2, 3, 0), (3, 4, 0)]
    assert graph.outputs == (3, 4, None)
    assert graph.nodes[0].kind == "leaf"
    assert graph.nodes[0].shape == (2,)
    assert "float64" in graph.nodes[1].dtype
    (saved,) = graph.nodes[3].saved
    assert (saved.name, saved.shape) == ("x", (2,))
    assert json.loads(json.dumps(graph))[2] == [3, 4, None]


def test_a_graph_holds_nothing(xp):
    x = leaf(xp, [1.0, 2.0])
    y = xp.exp(x)
    graph = ag.autodiff.graph(y)
    gone = weakref.ref(x)
    gc.disable()
    try:
        del x, y
        assert gone() is None
    finally:
        gc.enable()
    assert len(graph.nodes) == 2


def test_a_graph_of_a_leaf_that_is_gone(xp):
    y = xp.exp(leaf(xp, [1.0, 2.0]))
    assert ag.autodiff.graph(y).nodes[0].shape is None
    y.backward(xp.ones(2, dtype=xp.float64))
    assert ag.autodiff.graph(y).nodes[1].saved is None


def test_a_deep_graph_needs_no_recursion():
    y = ag.Variable(1.0)
    for _ in range(20_000):
        y = y + 1.0
    assert len(ag.autodiff.graph(y).nodes) == 20_001


def test_hooks_after_accumulation_update_a_leaf(xp):
    x = leaf(xp, [1.0, 2.0])

    def step(variable):
        assert not ag.is_grad_enabled()
        variable -= 0.5 * variable.grad
        variable.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    xp.sum(x * x).backward()
    np.testing.assert_array_equal(values(x), [0.0, 0.0])
    assert x.grad is None
    assert x.is_leaf
    handle.remove()
    handle.remove()
    xp.sum(x * 3.0).backward()
    np.testing.assert_array_equal(values(x.grad), 3.0)


def test_hooks_after_accumulation_come_after_the_whole_pass(xp):
    x, y = leaf(xp, 2.0), leaf(xp, 3.0)
    seen = []
    for each in (x, y):
        each.register_post_accumulate_grad_hook(lambda _: seen.append((x.grad, y.grad)))
    (x * y).backward()
    assert len(seen) == 2
    assert all(grad is not None for pair in seen for grad in pair)
    with pytest.raises(NoGradientError, match="is for leaves"):
        (x * y).register_post_accumulate_grad_hook(print)
    with pytest.raises(NoGradientError, match="requires a gradient"):
        x.detach().register_post_accumulate_grad_hook(print)
