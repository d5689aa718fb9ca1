"""A fault at each op of a real program in turn: gradients and state stay as they were."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.extend import hookimpl
from arrays import Square, leaf, values

FAULTS = [ValueError, KeyboardInterrupt, MemoryError]


def program(xp, w, b, x):
    """Return a loss that uses views, writes, branches, a function of its own, and a checkpoint."""
    h = xp.tanh(x @ w + b)
    h = ag.checkpoint(lambda h: xp.sin(h) * b)(h)
    y = h * 1.0
    y[0, :] = xp.where(h[1, :] > 0, xp.sqrt(xp.abs(h[1, :])), 0.0)
    first, second = xp.unstack(Square()(y))
    return xp.sum(xp.linalg.solve(w @ w.mT + xp.eye(2), xp.stack([first, second]))) + xp.max(y)


class Failing:
    """Raises at the chosen call of a hook."""

    def __init__(self, at, fault):
        self.left = at
        self.fault = fault

    def _count(self):
        self.left -= 1
        if self.left == 0:
            raise self.fault("planted")


class FailingBefore(Failing):
    @hookimpl
    def backward_preprocess(self, op):
        self._count()


class FailingAfter(Failing):
    @hookimpl
    def backward_postprocess(self, op, error):
        if error is None:
            self._count()


class FailingForward(Failing):
    @hookimpl
    def forward_postprocess(self, op, error):
        if error is None:
            self._count()


class FailingReady(Failing):
    @hookimpl
    def gradient_ready(self, variable):
        self._count()


class Harness:
    def __init__(self, xp):
        rng = np.random.default_rng(1)
        self.xp = xp
        self.w = leaf(xp, rng.uniform(0.5, 1.5, (2, 2)).tolist())
        self.b = leaf(xp, [0.3, -0.2])
        self.x = xp.asarray(rng.uniform(-1, 1, (2, 2)).tolist(), dtype=xp.float64)
        self.step()
        self.expected = self.gradients()

    def step(self):
        program(self.xp, self.w, self.b, self.x).backward()

    def gradients(self):
        return [values(self.w.grad), values(self.b.grad)]

    def check(self):
        """Check that nothing has changed, and that everything still works."""
        for one, other in zip(self.gradients(), self.expected, strict=True):
            np.testing.assert_array_equal(one, other)
        assert ag.is_grad_enabled()
        self.w.grad = self.b.grad = None
        self.step()
        for one, other in zip(self.gradients(), self.expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("plugin", [FailingBefore, FailingAfter, FailingForward, FailingReady])
def test_a_fault_at_each_op_in_turn(xp, plugin, fault):
    harness = Harness(xp)
    at = 0
    while True:
        at += 1
        try:
            with ag.hooks(plugin(at, fault)):
                harness.step()
        except fault:
            harness.check()
        else:
            break
    assert at > (2 if plugin is FailingReady else 15)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_hook_on_each_value(xp, fault):
    harness = Harness(xp)

    def planted(grad):
        raise fault("planted")

    for variable in (harness.w, harness.b):
        handle = variable.register_hook(planted)
        with pytest.raises(fault, match="planted"):
            harness.step()
        handle.remove()
        harness.check()


def test_a_fault_in_a_function_of_ones_own(xp, monkeypatch):
    harness = Harness(xp)

    def backward(self, xp, g):
        raise ZeroDivisionError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(Square, "backward", backward)
        with pytest.raises(ZeroDivisionError, match="planted") as failure:
            harness.step()
    assert "at op 'Square'" in "".join(failure.value.__notes__)
    harness.check()
