"""What a compiled function hands on from outside: to transformations, solvers and Functions."""

import numpy as np
import pytest

import agnograd as ag
from own_derivatives import OWN

RAW = np.asarray([0.3, 0.7, -0.2])
OUTSIDE = [np.asarray(each) for each in ([0.5, -0.4, 1.0], [0.1, 0.3, 2.0], [0.9, 0.9, 0.5])]


def own(xp):
    names = {"ag": ag, "xp": xp}
    exec("\n\n".join(OWN.values()), names)
    return names


def f(u, xp):
    return xp.sin(u) * u


# What a compiled function does with an array ``y`` from outside.
DONE = {
    "an op": "f(y)",
    "a Function": "Steep()(y)",
    "a Function that rounds": "Rounded()(y)",
    "a Function of two arrays": "Product()(y, x)",
    "a Function of an array and itself": "Product()(y, y)",
    "a wrapped function": "wrapped(y)",
    "a fixed point": "fixed(y)",
    "a root": "root(y)",
    "a checkpoint": "ag.checkpoint(f)(y)",
    "a checkpoint that returns it": "ag.checkpoint(lambda u: u)(y)",
    "a checkpoint of what uses it": "ag.checkpoint(lambda u: u * f(y))(x)",
    "a checkpoint of a Function of it": "ag.checkpoint(lambda u: u * Steep()(y))(x)",
    "members": "ag.vmap(f)(y)",
    "members of a Function": "ag.vmap(lambda m: Steep()(m))(y)",
    "a gradient": "ag.grad(lambda u: xp.sum(f(u)))(y)",
    "a gradient of a Function": "ag.grad(lambda u: xp.sum(u * Steep()(y)))(x)",
    "a tangent": "ag.jvp(f, y, y)[1]",
    "a pullback": "ag.vjp(f, y)[1](y)[0]",
    "a linear function": "ag.linearize(f, y)[1](y)",
    "a Jacobian": "ag.jacobian(f)(y)[:, 0]",
    "a Jacobian forwards": "ag.jacobian(f, mode='forward')(y)[:, 0]",
    "a Hessian": "ag.hessian(lambda u: xp.sum(f(u)))(y)[0, :]",
    "a constant": "ag.stop_gradient(y) * y",
    "what is detached": "y.detach() * y if isinstance(y, ag.Variable) else y * y",
    "another program": "ag.compile(f, lowering='plain')(y)",
}
AROUND = {
    "as it is": "run(y)",
    "a gradient": "ag.grad(lambda u: xp.sum(run(u)))(y)",
    "a tangent": "ag.jvp(run, y, y)[1]",
    "a Jacobian": "ag.jacobian(run, mode='reverse')(y)",
    "a Hessian": "ag.hessian(lambda u: xp.sum(run(u)))(y)",
    "a checkpoint": "ag.grad(lambda u: xp.sum(ag.checkpoint(run)(u)))(y)",
    "members": "ag.vmap(run)(xp.stack([y, 2.0 * y]))",
    "gradients of members": "ag.vmap(ag.grad(lambda u: xp.sum(run(u))))(xp.stack([y, 2.0 * y]))",
}


def found(backend, library, done, around, compiles):
    """Return what a function of an array and of one from outside gives, for several of these."""
    xp = ag.namespace(backend)
    names = own(xp) | {"f": lambda u: f(u, xp), "y": None}
    function = eval(f"lambda x: ({DONE[done]}) * x + y", names)
    called = ag.compile(function, lowering="plain") if compiles else function

    def given(elements):
        array = library.asarray(elements)  # those of strict do not leave operators to Variables
        return ag.Variable(array, requires_grad=False) if backend == "strict" else array

    def run(y):
        names["y"] = y
        return called(given(RAW))

    results = []
    for each in OUTSIDE:
        result = eval(AROUND[around], {"ag": ag, "xp": xp, "run": run, "y": given(each)})
        results.append(np.asarray(result.data if isinstance(result, ag.Variable) else result))
    return results


@pytest.mark.filterwarnings("ignore::agnograd.errors.BatchingWarning")  # of solvers
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("done", DONE)
def test_what_is_outside_is_an_input_of(done, around, backend, library):
    expected = found(backend, library, done, around, compiles=False)
    results = found(backend, library, done, around, compiles=True)
    np.testing.assert_allclose(results, expected, rtol=1e-9)


@pytest.mark.parametrize("done", ["y * x", *(DONE[each] for each in DONE if "checkpoint" in each)])
def test_variables_from_outside_that_share_an_array_are_told_apart(done, backend, library):
    """One is tracked, the other one is what ``jvp`` and ``grad`` of it make of the same array."""
    xp, x = ag.namespace(backend), ag.Variable(library.asarray(RAW), requires_grad=False)

    def gradient(compiles):
        y = ag.Variable(library.asarray(OUTSIDE[0]), requires_grad=True)
        names = own(xp) | {"f": lambda u: f(u, xp), "y": y}

        def of(u):
            text = f"lambda x: xp.sum(u * u) * xp.sum(x * ({done}))"
            function = eval(text, names | {"u": u})
            called = ag.compile(function, lowering="plain") if compiles else function
            return xp.sum(ag.vjp(called, x)[1](1.0)[0] * u[0])

        xp.sum(ag.jvp(ag.grad(of), y, y)[1]).backward()
        return np.asarray(y.grad.data)

    np.testing.assert_allclose(gradient(True), gradient(False), rtol=1e-9)
