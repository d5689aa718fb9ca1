"""The backend as its users get it: by its name, and as ONNX models."""

import re
from pathlib import Path

import agnograd as ag
import ndonnx as ndx
import numpy as np
import onnxruntime
import pytest
from agnograd.testing import plugin_contract

W = np.asarray([0.3, -0.2, 0.1])
X = np.asarray([[0.5, 1.0, -1.0], [2.0, 0.1, 0.3]])


def loss(w, x):
    xp = w.__array_namespace__()
    return xp.sum(xp.tanh(x @ w) ** 2) + xp.max(w[1:]) + xp.sum(xp.exp(w) * x[0, ::-1])


def exported(f, *arrays):
    """Return what a function gives when it runs as an ONNX model in onnxruntime."""
    inputs = {f"x{i}": ndx.argument(shape=x.shape, dtype=ndx.float64) for i, x in enumerate(arrays)}
    model = ndx.build(inputs, {"out": f(*inputs.values())})
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (out,) = session.run(["out"], dict(zip(inputs, arrays, strict=True)))
    return out


DERIVATIVES = {
    "gradient": ag.grad(loss),
    "gradient of the second argument": ag.grad(loss, argnums=1),
    "hessian": ag.hessian(loss),
    "product with the hessian": lambda w, x: ag.hvp(lambda w: loss(w, x), w, w),
    "derivative along a line": lambda w, x: ag.jvp(lambda w: loss(w, x), (w,), (w,))[1],
}


@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES.keys())
def test_a_derivative_is_an_onnx_model(derivative):
    found = exported(derivative, W, X)
    np.testing.assert_allclose(found, derivative(W, X), rtol=1e-12, atol=1e-12)


def test_no_value_is_computed_while_a_gradient_is_built():
    w, x = (ndx.argument(shape=each.shape, dtype=ndx.float64) for each in (W, X))
    with pytest.raises(ValueError, match="no propagated value"):
        ag.grad(loss)(w, x).unwrap_numpy()


def test_what_is_read_and_written_is_recorded():
    def f(w):
        xp = ag.namespace("ndonnx")
        y = w * 2.0
        y[0] = w[1] ** 3
        places = xp.asarray([0, 2, 2])
        return xp.sum(y[:2] * w[:2]) + xp.sum(xp.take(w, places) ** 2) + w[places][0]

    def expected(w):
        xp = ag.namespace("numpy")
        y = w * 2.0
        y[0] = w[1] ** 3
        return xp.sum(y[:2] * w[:2]) + w[0] ** 2 + 2 * w[2] ** 2 + w[0]

    np.testing.assert_allclose(exported(ag.grad(f), W), ag.grad(expected)(W), rtol=1e-12)


def test_constants_have_values():
    xp = ag.namespace("ndonnx")
    x = ag.Variable(xp.asarray([1.0, 2.0, 4.0]))
    xp.sum(x[x > 1.5] ** 2).backward()
    np.testing.assert_array_equal(x.grad.data.unwrap_numpy(), [0.0, 4.0, 8.0])
    assert ag.asarray(x.detach(), backend="numpy").data.tolist() == [1.0, 2.0, 4.0]


def test_the_readmes_example_runs():
    text = Path(__file__).parents[1].joinpath("README.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(block, {})


def test_plugins_work_on_it():
    assert plugin_contract("timer", backends=["ndonnx"]) == ["ndonnx"]
