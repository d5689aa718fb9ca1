"""A traced gradient takes the backend's own derivatives, as an eager one does."""

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._programs.straight import straight
from traced import traced

xp = ag.namespace("numpy")
rng = np.random.default_rng(0)
X, W = rng.standard_normal((4, 5)), rng.standard_normal((5, 3))
TIES = np.asarray([[1.0, 1.0, 0.0], [2.0, 0.0, 2.0]])

CASES = {
    "tanh": (lambda x: xp.sum(xp.tanh(x) ** 2), X),
    "tanh, float32": (lambda x: xp.sum(xp.tanh(x) ** 2), X.astype("float32")),
    "tanh, complex": (lambda x: xp.sum(xp.abs(xp.tanh(x * 1j))), X),
    "maximum": (lambda x: xp.sum(xp.maximum(x, 0.5 * x[0]) * x), X),
    "max": (lambda x: xp.sum(xp.max(x, axis=1) ** 2), X),
    "max, ties": (lambda x: xp.sum(xp.max(x, axis=1) ** 2), TIES),
    "norm": (lambda x: xp.sum(xp.linalg.vector_norm(x, axis=0) * 2.0), X),
    "products": (lambda x: xp.mean((x @ W) ** 2), X),
    "network": (lambda x: xp.mean(xp.tanh(xp.tanh(x @ W) @ W.T) ** 2), X),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_a_pass_bit_for_bit(name):
    f, x = CASES[name]
    gradient = ag.grad(f)
    run = straight(traced("numpy", gradient, x))
    for factor in (1.0, -2.0, 0.0):
        (found,), wanted = run([x * factor]), gradient(x * factor)
        assert found.tobytes() == wanted.tobytes()
        assert (found.dtype, found.strides) == (wanted.dtype, wanted.strides)


@pytest.mark.accelerated
def test_each_is_a_step_that_says_of_what_it_is():
    program = traced("numpy", ag.grad(CASES["network"][0]), X)
    found = [step.kwargs for step in program.steps if step.op == "@pullback"]
    assert [(each["op"], each["input"]) for each in found] == [("tanh", "x")] * 2
    assert "exp" not in {step.op for step in program.steps}


def test_where_the_backend_knows_none_a_run_takes_the_rule():
    gradient = ag.grad(CASES["tanh"][0])
    run = straight(traced("numpy", gradient, X))
    large = X * 1000.0  # whose cosh would overflow
    (found,) = run([large])
    assert found.tobytes() == gradient(large).tobytes()


def test_what_the_backend_does_not_know_in_the_trace_is_traced_by_the_rule():
    gradient = ag.grad(CASES["tanh"][0])
    program = traced("numpy", gradient, X * 1000.0)
    assert "@pullback" not in {step.op for step in program.steps}
    np.testing.assert_allclose(straight(program)([X])[0], gradient(X), rtol=1e-12)


def test_higher_derivatives_are_those_of_rules():
    hessian = ag.hessian(CASES["tanh"][0])
    x = X[0]
    found = straight(traced("numpy", hessian, x))([x])[0]
    np.testing.assert_allclose(found, hessian(x), rtol=1e-12, atol=1e-14)
