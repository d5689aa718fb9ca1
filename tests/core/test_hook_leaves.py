"""Hooks that know the leaves of a pass beforehand, and hooks that replace their gradients."""

import pytest

import agnograd as ag
from agnograd._hooks import active
from agnograd.errors import GradientError
from agnograd.extend import hookimpl


class Leaves:
    """Note which leaves a pass is to reach, and which it reached."""

    def __init__(self):
        self.expected, self.reached = [], []

    @hookimpl
    def backward_start(self, leaves):
        self.expected.append(leaves)

    @hookimpl
    def gradient_ready(self, variable):
        self.reached.append(variable)


class Replacing:
    """Replace gradients by a function of leaves and gradients."""

    def __init__(self, replaced):
        self.replaced, self.calls = replaced, 0

    @hookimpl
    def replace_gradients(self, variables, grads):
        self.calls += 1
        return self.replaced(variables, grads)


def doubled(variables, grads):
    return [(x, g + g) for x, g in zip(variables, grads, strict=True)]


def leaf(xp, value=3.0):
    return ag.Variable(xp.asarray(value).data)


def same(found, expected):
    return [id(each) for each in found] == [id(each) for each in expected]


def test_a_pass_knows_its_leaves_in_the_order_in_which_they_end(xp):
    a, b, c, unused = (leaf(xp) for _ in range(4))
    y = xp.sin(a * b)
    z = y * c + b
    assert unused.requires_grad
    with ag.hooks(Leaves()) as (seen,):
        z.backward(retain_graph=True)
        z.backward(inputs=[b], retain_graph=True)
        c.backward()
    first, second, third = seen.expected
    assert same(first, [c, a, b])
    assert same(second, [b])
    assert same(third, [c])
    assert same(seen.reached, [*first, *second, *third])


def test_leaves_are_looked_for_only_if_a_plugin_asks(xp, monkeypatch):
    calls = []
    monkeypatch.setattr(active, "leaves_of", lambda *_: calls.append(1) or ())

    class Started:
        @hookimpl
        def backward_start(self, outputs):
            pass

    x = leaf(xp)
    with ag.hooks(Started()):
        xp.sin(x).backward()
    assert calls == []
    with ag.hooks(Leaves()):
        xp.sin(x).backward()
    assert calls == [1]


def test_replaced_gradients_are_added_and_returned(xp):
    x = leaf(xp)
    with ag.hooks(Replacing(doubled)) as (plugin,):
        (x * x).backward()
        (x * x).backward()
        assert ag.grad(lambda x: x * x)(x.data) == 12.0
    assert x.grad.data == 24.0
    assert plugin.calls == 3
    (x * x).backward()
    assert x.grad.data == 30.0


def test_a_hook_may_keep_gradients_and_add_those_of_other_leaves(xp):
    x, y, other = leaf(xp), leaf(xp), leaf(xp)
    mine = xp.asarray(7.0).data
    with ag.hooks(Replacing(lambda *_: None)):
        (x * y).backward()
    with ag.hooks(Replacing(lambda *_: [(other, mine)])):
        (x * y).backward()
    assert (x.grad.data, y.grad.data, other.grad.data) == (6.0, 6.0, 7.0)


def test_a_gradient_may_be_left_out(xp):
    x, y = leaf(xp), leaf(xp)
    with ag.hooks(Replacing(lambda xs, gs: [(xs[0], None)])):
        (x * y).backward()
    assert sorted([x.grad is None, y.grad is None]) == [False, True]


def test_what_fails_leaves_every_gradient_as_it_was(xp):
    x, y = leaf(xp), leaf(xp)
    (x * y).backward()

    def planted(*_):
        raise ValueError("planted")

    def wrong(variables, grads):
        return [(variables[0], grads[0]), (variables[1], xp.zeros((2,)).data)]

    for replaced, error, match in (
        (planted, ValueError, "planted"),
        (wrong, GradientError, r"pair 1 has .* of shape .*2.* for a leaf of shape"),
        (lambda xs, gs: [(x * 2.0, gs[0])], GradientError, "pair 0 has a Variable that is not a"),
        (lambda xs, gs: [(xs[0], 1.0j)], GradientError, "pair 0 has a complex"),
    ):
        with pytest.raises(error, match=match), ag.hooks(Replacing(replaced)):
            (x * y).backward()
        assert (x.grad.data, y.grad.data) == (3.0, 3.0)


def test_gradients_of_recorded_passes_are_not_replaced(xp):
    x = leaf(xp)
    with pytest.raises(GradientError, match="create_graph=True"), ag.hooks(Replacing(doubled)):
        (x * x).backward(create_graph=True)
    assert x.grad is None
    three = xp.asarray([1.0, 2.0, 3.0]).data
    with pytest.raises(GradientError, match="inside vmap"), ag.hooks(Replacing(doubled)):
        ag.vmap(ag.grad(lambda x: x * x))(three)


def test_a_pass_inside_another_one_is_replaced_once(xp):
    x = leaf(xp)
    with ag.hooks(Replacing(doubled)) as (plugin,):
        ag.checkpoint(lambda x: xp.sin(x) * x)(x).backward()
    expected = 2 * (xp.cos(x) * x + xp.sin(x))
    assert x.grad.item() == pytest.approx(expected.item())
    assert plugin.calls == 1
