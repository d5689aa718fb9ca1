"""Deep copies: leaves have gradients of their own, other values stay connected, views views."""

import copy

import numpy as np
import pytest

import agnograd as ag
from arrays import leaf, values


def test_a_copy_of_a_leaf_is_a_leaf_with_a_gradient_of_its_own(xp):
    x = leaf(xp, [1.0, 2.0])
    xp.sum(x * 2.0).backward()
    copied = copy.deepcopy({"x": x})["x"]
    assert copied.is_leaf
    assert copied.requires_grad
    np.testing.assert_array_equal(values(copied.grad), 2.0)
    xp.sum(copied * 3.0).backward()
    np.testing.assert_array_equal(values(copied.grad), 5.0)
    np.testing.assert_array_equal(values(x.grad), 2.0)
    with ag.no_grad():
        copied -= 1.0
    np.testing.assert_array_equal(values(x), [1.0, 2.0])
    copied.grad = None
    assert x.grad is not None
    assert copy.deepcopy(leaf(xp, 1.0)).grad is None
    assert not copy.deepcopy(x.detach()).requires_grad


def test_a_leaf_that_is_in_a_container_twice_is_copied_once(xp):
    x = leaf(xp, [1.0, 2.0])
    one, other = copy.deepcopy([x, {"again": x}])
    assert one is other["again"]


def test_what_a_gradient_manager_let_go_keeps_its_gradient(xp):
    x = xp.asarray([1.0, 2.0])
    with ag.GradManager() as manager:
        manager.attach(x)
        manager.backward(xp.sum(x * x))
    copied = copy.deepcopy(x)
    assert not copied.requires_grad
    np.testing.assert_array_equal(values(copied.grad), [2.0, 4.0])


def test_other_values_have_gradients_of_their_own_on_the_way(xp):
    x = leaf(xp, [1.0, 2.0])
    y = x * 1.0
    copied = copy.deepcopy(y)
    y.retain_grad()
    copied.retain_grad()
    (xp.sum(y) + xp.sum(2.0 * copied)).backward()
    np.testing.assert_array_equal(values(copied.grad), 2.0)
    np.testing.assert_array_equal(values(y.grad), 3.0)
    np.testing.assert_array_equal(values(x.grad), 3.0)


def _families(y):
    view = y[1:]
    return {
        "base first": [y, view, view[::-1]],
        "base last": [view[::-1], view, y],
        "in containers": {"part": (view,), "whole": {"y": y}, "turned": [view[::-1]]},
    }


@pytest.mark.parametrize("name", ["base first", "base last", "in containers"])
@pytest.mark.parametrize("tracked", [False, True], ids=["constant", "tracked"])
def test_a_base_and_its_views_are_copied_together(xp, name, tracked):
    x = leaf(xp, [1.0, 2.0, 3.0])
    y = x * 1.0 if tracked else x.detach()
    copied = copy.deepcopy(_families(y)[name])
    if name == "in containers":
        base, view, turned = copied["whole"]["y"], copied["part"][0], copied["turned"][0]
    else:
        base, view, turned = copied if name == "base first" else reversed(copied)
    view[0] = 7.0 if not tracked else 7.0 * x[0]
    np.testing.assert_array_equal(values(base), [1.0, 7.0, 3.0])
    np.testing.assert_array_equal(values(turned), [3.0, 7.0])
    np.testing.assert_array_equal(values(y), [1.0, 2.0, 3.0])
    if tracked:
        xp.sum(turned * turned + base[0]).backward()
        np.testing.assert_array_equal(values(x.grad), [2.0 + 2.0 * 49.0, 0.0, 6.0])


def test_a_leaf_is_copied_together_with_its_views(xp):
    x = leaf(xp, [1.0, 2.0])
    view, base = copy.deepcopy((x[1:], x))
    xp.sum(view * view).backward()
    np.testing.assert_array_equal(values(base.grad), [0.0, 4.0])
    assert x.grad is None


def test_copies_of_arguments_are_functions_of_them(xp):
    def f(t):
        copied = copy.deepcopy({"view": t[1:], "t": t})
        copied["t"][1] *= t[0]
        with ag.no_grad():
            alone = copy.deepcopy(t)
        return xp.sum(copied["view"] * copied["t"][1:]) + xp.sum(alone)

    x = xp.asarray([2.0, 3.0], dtype=xp.float64).data
    expected = [37.0, 25.0]  # of (x0 x1)^2 + x0 + x1
    for derivative in (ag.grad(f), *(ag.jacobian(f, mode=m) for m in ("forward", "reverse"))):
        np.testing.assert_array_equal(np.asarray(derivative(x)), expected)
    np.testing.assert_array_equal(np.asarray(ag.hessian(f)(x)), [[18.0, 24.0], [24.0, 8.0]])


def test_a_long_chain_of_views_is_copied(xp):
    view = xp.asarray([1.0, 2.0, 3.0])
    for _ in range(3000):
        view = view[::-1]
    np.testing.assert_array_equal(values(copy.deepcopy(view)), [1.0, 2.0, 3.0])
