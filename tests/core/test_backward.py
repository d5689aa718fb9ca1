"""Backward functions: the steps of a pass, and what hooks look at, come from one set of rules."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import FreedGraphError
from agnograd.extend import hookimpl

xp = ag.namespace("numpy")


def in_a_loop(x, function):
    weights = h = x[:, None] * x
    for _ in range(4):
        h = function(h) @ weights
    return xp.sum(h + xp.concat([h, weights])[2:7, :])


# Programs over five numbers, of which steps alone, and steps beside ops that are none, make passes.
MIXED = {
    "squares": lambda x: xp.sum(x * x) + x[0] * x[0] + xp.sum((x * 2.0) * (x * 2.0)),
    "a square that is used again": lambda x: (lambda y: xp.sum(y * y + y))(xp.sin(x)),
    "the square of one element": lambda x: (lambda y: y * y + 3.0 * y)(x[1]),
    "sequences": lambda x: xp.sum(xp.concat([x, x * x, x[:2]]) ** 3),
    "elements beside slices": lambda x: sum(x[i % 5] * xp.sum(x[i % 3 :]) for i in range(20)),
    "elements by tuples": lambda x: sum(x[(i % 5,)] * x[i % 4] for i in range(20)),
    "elements from behind": lambda x: sum(x[-1 - i % 5] ** 2 for i in range(20)),
    "elements of a matrix": lambda x: sum((x[:, None] * x)[i % 5, i % 3] for i in range(20)),
    "an array of no axes": lambda x: (lambda y: sum(y[()] * y[()] for _ in range(20)))(xp.sum(x)),
    "masks": lambda x: xp.sum(xp.where(x > 0.4, x * x, xp.sin(x))) + x[3] * x[3],
    "what masks leave out": lambda x: xp.sum(xp.where(x > 0.4, xp.sqrt(x - 0.1) ** 2, -x)),
    "elements that masks leave out": lambda x: (
        lambda z: xp.where(x[1] > 0.9, z[0] * 2.0, 1.0) + z[1] * z[2]
    )(xp.sqrt(x - 0.1)),
    "masks in a loop": lambda x: in_a_loop(x, lambda h: xp.where(h > 0.2, h, 0.1 * h * h)),
    "several results": lambda x: sum(part * part for part in xp.unstack(x)) * x[0],
}


@pytest.mark.parametrize("program", MIXED.values(), ids=MIXED.keys())
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_steps_give_what_rules_give_that_hooks_look_at(program, dtype):
    class Looks:
        @hookimpl
        def backward_postprocess(self, op, grad_inputs):
            seen.append(op.name)

    if dtype == "complex128" and any(MIXED[name] is program for name in MIXED if "masks" in name):
        pytest.skip("complex numbers have no order")
    values = np.linspace(0.1, 0.9, 5).astype(dtype)
    if dtype == "complex128":
        values *= 1 - 0.5j
    found, seen = [], []
    for plugins in ((), (Looks(),)):
        with ag.hooks(*plugins):
            x = ag.Variable(values)
            out = program(x)
            out.backward(xp.ones_like(out), retain_graph=True)
            out.backward(xp.ones_like(out))
            found.append(x.grad.data)
            with pytest.raises(FreedGraphError):
                out.backward(xp.ones_like(out))
    assert seen
    assert np.isfinite(found[0]).all()
    assert found[0].dtype == values.dtype
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5 if dtype == "float32" else 1e-13)


def test_a_graph_that_hooks_saw_can_be_stepped_through_and_is_freed():
    class Sees:
        @hookimpl
        def forward_postprocess(self, op):
            pass

    x = ag.Variable([1.0, 2.0])
    with ag.hooks(Sees()):
        y = xp.sum(xp.sin(x * x))
    y.backward()
    np.testing.assert_allclose(x.grad.data, 2 * x.data * np.cos(x.data**2))
    with pytest.raises(FreedGraphError, match="sum"):
        y.backward()
