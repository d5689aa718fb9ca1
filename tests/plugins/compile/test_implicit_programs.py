"""Solvers in programs: each is one step, and derivatives are steps of the equation."""

import numpy as np
import pytest

import agnograd as ag
from arrays import host, leaf

B = [1.0, -0.5]
A = [[1.0, 0.5], [-0.25, 2.0]]


def residual(x, a, b):
    return x**3 + a @ x - b


def solver(a, b):
    print("solved")  # which programs may do: a list of calls would be refused
    like, a, b = b, host(a), host(b)
    x = b * 0.0
    for _ in range(60):
        x = x - np.linalg.solve(np.diag(3.0 * x**2) + a, x**3 + a @ x - b)
    return ag.asarray(x, backend=like).data


@pytest.mark.parametrize("solve", ["dense", "gmres"])
def test_programs_compute_what_the_function_does(xp, solve):
    root = ag.implicit(solver, residual, solve=solve)
    a, b = leaf(xp, A).data, leaf(xp, B).data

    def loss(a, b):
        return xp.sum(root(a, b) ** 2)

    for f in (root, ag.grad(loss, argnums=(0, 1)), ag.hessian(loss, argnums=1)):
        fast = ag.compile(f)
        for scale in (1.0, 2.0, 0.5):  # the first call traces
            given = a, scale * b
            found, expected = fast(*given), f(*given)
            for one, other in zip(
                found if isinstance(found, tuple) else (found,),
                expected if isinstance(expected, tuple) else (expected,),
                strict=True,
            ):
                np.testing.assert_allclose(host(one), host(other), rtol=1e-9, atol=1e-12)


def test_the_solver_is_a_step_that_runs_in_each_call(capsys):
    root = ag.implicit(solver, residual)
    fast = ag.compile(ag.grad(lambda b: root(np.asarray(A), b)[0]))
    fast(np.asarray(B))
    capsys.readouterr()
    for _ in range(3):
        fast(np.asarray(B))
    assert capsys.readouterr().out.count("solved") == 3


def test_the_jacobian_is_part_of_the_program(capsys):
    """Python runs the equation only to look at its shape: its derivatives are steps."""

    def watched(x, a, b):
        print("traced")
        return residual(x, a, b)

    root = ag.implicit(solver, watched)
    fast = ag.compile(ag.grad(lambda b: root(np.asarray(A), b)[0]))
    fast(np.asarray(B))
    capsys.readouterr()
    fast(2.0 * np.asarray(B))
    assert capsys.readouterr().out.count("traced") <= 1


def test_what_an_equation_finds_outside_is_read_in_each_call():
    xp, w = ag.namespace("numpy"), np.asarray(2.0)
    root = ag.implicit(lambda a: np.sqrt(w * a), lambda x, a: x * x - w * a)
    fast = ag.compile(ag.grad(lambda a: xp.sum(root(a))))
    np.testing.assert_allclose(fast(np.ones(1)), [0.5 * 2.0**0.5])
    w[...] = 8.0
    np.testing.assert_allclose(fast(np.ones(1)), [0.5 * 8.0**0.5])


def test_a_compiled_equation_and_a_compiled_solver():
    root = ag.implicit(ag.compile(lambda a: np.sqrt(a)), ag.compile(lambda x, a: x * x - a))
    ag.check_grad(root, np.asarray([1.0, 4.0]))


def test_a_program_with_gradients_outside():
    root = ag.implicit(solver, residual)
    fast = ag.compile(lambda a, b: root(a, b))
    ag.check_grad(fast, np.asarray(A), np.asarray(B))
