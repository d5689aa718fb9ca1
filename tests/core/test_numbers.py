"""Two numbers, as elements of NumPy's float64 arrays are: as arrays, with less to ask."""

import numpy as np
import pytest

import agnograd as ag
from agnograd import autodiff
from agnograd._ops.op import Op
from agnograd._plugins.op_sets import registered
from agnograd.errors import FreedGraphError
from agnograd.extend import hookimpl

xp = ag.namespace("numpy")

OPS: dict[str, Op] = {
    name: op
    for name, (op, _) in registered().items()
    if len(op.arrays) == 2 and op.rules and op.broadcasts and "." not in name
}
PAIRS = {
    "elements": (np.float64(0.7), np.float64(1.9)),
    "the smaller one last": (np.float64(1.9), np.float64(0.7)),
    "an infinite one": (np.float64(0.7), np.float64(np.inf)),
    "no number": (np.float64(np.nan), np.float64(0.7)),
}


def gradients(name, pair, tracked=(True, True)):
    """Return a value, and its derivatives by those that are tracked."""
    leaves = [
        ag.Variable(value) if is_tracked else value
        for value, is_tracked in zip(pair, tracked, strict=True)
    ]
    out = getattr(xp, name)(*leaves)
    out.backward(np.ones_like(out.data))
    return [out.data, *(leaf.grad.data for leaf in leaves if isinstance(leaf, ag.Variable))]


def test_the_ops_of_two_numbers():
    assert {"add", "atan2", "divide", "hypot", "maximum", "multiply", "pow", "subtract"} <= set(OPS)


@pytest.mark.parametrize("tracked", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("name", OPS)
def test_derivatives_are_those_of_arrays(name, pair, tracked):
    arrays = [np.asarray([value]) for value in pair]
    with np.errstate(all="ignore"):
        expected = gradients(name, arrays, tracked)
        for value, array in zip(gradients(name, pair, tracked), expected, strict=True):
            assert value.shape == ()
            assert value.dtype == array.dtype
            np.testing.assert_array_equal(value, array[0])


@pytest.mark.parametrize("name", sorted(set(OPS) - {"floor_divide", "remainder"}))
def test_second_derivatives_and_forward_mode(name):
    ag.check_grad(getattr(xp, name), *PAIRS["elements"], order=2)


def test_a_number_and_something_else_takes_the_usual_form():
    others = (np.float32(3.0), np.complex128(3.0 + 1j), np.asarray([3.0, 4.0]), 3.0, 3)
    for other in others:
        x = ag.Variable(np.asarray([1.0, 2.0]))
        xp.sum(xp.real(x[0] * other)).backward()
        np.testing.assert_array_equal(x.grad.data, [np.sum(np.real(other)), 0.0])
        assert x.grad.dtype == "float64"


def test_single_precision_and_complex_numbers_take_the_usual_form():
    for dtype in ("float32", "complex64", "complex128"):
        x = ag.Variable(np.asarray([1.0, 2.0], dtype=dtype))
        factor = x.data[1] + (1j if xp.isdtype(x.dtype, "complex floating") else 0)
        xp.real(x[0] * factor).backward()
        np.testing.assert_array_equal(x.grad.data, [np.conj(factor), 0.0])
        assert x.grad.dtype == dtype


def test_what_they_saved_is_gone_after_a_pass_unless_it_is_kept():
    x = ag.Variable(np.asarray([3.0, 5.0]))
    y = x[0] * x[1]
    y.backward(retain_graph=True)
    y.backward()
    np.testing.assert_array_equal(x.grad.data, [10.0, 6.0])
    with pytest.raises(FreedGraphError, match=r"'multiply'.*retain_graph=True"):
        y.backward()
    np.testing.assert_array_equal(x.grad.data, [10.0, 6.0])


class Watching:
    """A plugin that keeps what it is shown of each op's backward pass."""

    def __init__(self):
        self.seen = []

    @hookimpl
    def backward_postprocess(self, op, grad_inputs):
        self.seen.append((op.name, list(grad_inputs)))


def test_plugins_see_and_hooks_change_their_gradients():
    x = ag.Variable(np.asarray([3.0, 5.0]))
    one, other = x[0], x[1]
    one.register_hook(lambda g: 2.0 * g)
    watching = Watching()
    with ag.hooks(watching):
        (one * other).backward()
    assert watching.seen[0] == ("multiply", [5.0, 3.0])
    np.testing.assert_array_equal(x.grad.data, [10.0, 3.0])


def test_graphs_of_their_gradients():
    x = ag.Variable(np.asarray([3.0, 5.0]))
    (g,) = autodiff.grad(x[0] * x[0] * x[1], [x], create_graph=True)
    np.testing.assert_array_equal(g.data, [30.0, 9.0])
    (h,) = autodiff.grad(g[0] + g[1], [x])
    np.testing.assert_array_equal(h.data, [10.0 + 6.0, 6.0])


def test_before_a_mask_the_masked_one_has_no_gradient():
    x = ag.Variable(np.asarray([0.0, 0.0]))
    with np.errstate(all="ignore"):
        out = xp.where(x[0] > 0, x[0] / x[1], 1.0)
        out.backward()
    np.testing.assert_array_equal(x.grad.data, [0.0, 0.0])


def test_elements_of_a_leaf_that_something_else_reads_too():
    def f(x, y):
        total = xp.sum(x * x) + y[0] * x[2]
        for i in range(3):
            total = total + x[i] * y[i] + x[i : i + 1][0]
        return total + xp.sum(xp.take(x, np.asarray([0, 2]))) * y[1]

    x, y = np.asarray([1.0, -2.0, 0.5]), np.asarray([0.3, 4.0, -1.0])
    one, other = ag.Variable(x), ag.Variable(y)
    f(one, other).backward()
    taken = y[1] * np.asarray([1, 0, 1]) + y[0] * np.asarray([0, 0, 1])
    np.testing.assert_allclose(one.grad.data, 2 * x + y + 1 + taken, rtol=1e-14)
    np.testing.assert_allclose(
        other.grad.data, x + np.asarray([x[2], x[0] + x[2], 0.0]), rtol=1e-14
    )
    ag.check_grad(f, x, y)


def test_a_leaf_of_which_only_elements_are_read_is_given_its_gradient_last():
    x = ag.Variable(np.asarray([1.0, 2.0]))
    order = []
    x.register_hook(lambda g: order.append("leaf"))
    y = x[0] * 1.0
    y.register_hook(lambda g: order.append("value"))
    (x[1] * (y * y)).backward()
    assert order == ["value", "leaf"]
    np.testing.assert_array_equal(x.grad.data, [4.0, 1.0])


def test_an_element_of_a_leaf_knows_what_its_rule_needs():
    x = ag.Variable(np.asarray([1.0, 2.0]))
    element = x[1]
    assert element.node.saved == {"key": 1, "x_shape": (2,), "x_dtype": x.dtype}
    (element * x[0]).backward()
    assert element.node.op.name == "__getitem__"
    assert element.node.inputs == (x.node,)
