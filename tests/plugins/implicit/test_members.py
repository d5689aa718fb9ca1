"""Solutions of many members: solved one by one, and their derivatives computed at once."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import BatchingWarning, LostGradientError
from agnograd_implicit._linear import System
from arrays import host, leaf

pytestmark = pytest.mark.filterwarnings("ignore::agnograd.errors.BatchingWarning")
A = [[1.0, 0.5], [-0.25, 2.0]]
B = [[1.0, -0.5], [0.25, 0.5]]


def residual(x, a, b):
    return x**3 + a @ x - b


def solver(a, b):
    like, a, b = b, host(a), host(b)
    x = b * 0.0
    for _ in range(60):
        x = x - np.linalg.solve(np.diag(3.0 * x**2) + a, x**3 + a @ x - b)
    return ag.asarray(x, backend=like).data


def made(xp, numbers):
    return leaf(xp, numbers).data


def stacked(f, *lists):
    return np.stack([host(f(*each)) for each in zip(*lists, strict=True)])


@pytest.mark.parametrize("solve", ["dense", "gmres"])
def test_members_are_those_of_single_calls(xp, solve):
    root = ag.implicit(solver, residual, solve=solve)
    a, b = made(xp, A), made(xp, B)
    rows = [b[0, ...], b[1, ...]]

    def loss(b):
        return xp.sum(root(a, b) ** 2)

    for transformed in (
        lambda b: root(a, b),
        ag.grad(loss),
        ag.hessian(loss),
        ag.jacobian(lambda b: root(a, b), mode="forward"),
        ag.jacobian(lambda b: root(a, b), mode="reverse"),
        lambda b: ag.jvp(loss, b, b)[1],
    ):
        found = ag.vmap(transformed)(b)
        np.testing.assert_allclose(host(found), stacked(transformed, rows), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("solve", ["dense", "gmres"])
def test_derivatives_of_members(xp, solve):
    """The gradient is taken outside, by what is the same for all members, too."""
    root = ag.implicit(solver, residual, solve=solve)

    def loss(a, b):
        return xp.sum(ag.vmap(root, in_axes=(None, 0))(a, b) ** 2)

    a, b = made(xp, A), made(xp, B)
    ag.check_grad(loss, a, b)


def test_members_in_members():
    root = ag.implicit(solver, residual)
    a, b = np.stack([np.asarray(A), 2.0 * np.asarray(A)]), np.asarray(B)
    pairs = ag.vmap(lambda a: ag.vmap(lambda b: root(a, b))(b))(a)
    expected = [[solver(one, other) for other in b] for one in a]
    np.testing.assert_allclose(pairs, expected, rtol=1e-12)


def test_a_start_of_each_member():
    @ag.implicit(residual=lambda x, a: x * x - a)
    def root(a, *, x0):
        return np.sqrt(a) * np.sign(x0)

    a, x0 = np.asarray([1.0, 4.0]), np.asarray([1.0, -1.0])
    slopes = ag.vmap(lambda a, x0: ag.grad(lambda a: root(a, x0=x0))(a))(a, x0)
    np.testing.assert_allclose(slopes, [0.5, -0.25])


def test_dense_systems_of_all_members_are_solved_at_once():
    calls = []

    def counted(x, a, b):
        calls.append(1)
        return residual(x, a, b)

    xp = ag.namespace("numpy")
    root = ag.implicit(solver, counted)
    counts = []
    for members in (2, 20):
        b = np.linspace(-1.0, 1.0, 2 * members).reshape(members, 2)
        calls.clear()
        ag.vmap(ag.grad(lambda b: xp.sum(root(np.asarray(A), b))))(b)
        counts.append(len(calls) - members)  # less one for each, which looks at its shape
    assert counts[0] == counts[1]


@pytest.mark.parametrize("solve", ["dense", "gmres"])
def test_many_cotangents_of_one_solution(xp, solve):
    """The pullback of a solution outside is batched, and so is what depends on what is tracked."""
    root = ag.implicit(solver, residual, solve=solve)
    a, b = made(xp, A), made(xp, B)[0, ...]
    _, pull = ag.vjp(lambda b: root(a, b), b)
    eye = made(xp, np.eye(2))
    found = ag.vmap(lambda g: pull(g)[0])(eye)
    np.testing.assert_allclose(
        host(found), stacked(lambda g: pull(g)[0], [eye[0, ...], eye[1, ...]]), rtol=1e-10
    )
    _, push = ag.linearize(lambda b: root(a, b), b)
    np.testing.assert_allclose(host(ag.vmap(push)(eye)), host(found).T, rtol=1e-10)

    def of_jacobian(a, mode):
        rows = ag.jacobian(lambda b: root(a, b), mode=mode, chunk_size=2)(b)
        return xp.sum(rows**2)

    for mode in ("forward", "reverse"):
        ag.check_grad(lambda a, mode=mode: of_jacobian(a, mode), a, order=1)


def test_one_factorisation_serves_all_cotangents(monkeypatch):
    solved, dense = [], System.dense
    monkeypatch.setattr(System, "dense", lambda *given: solved.append(1) or dense(*given))
    root = ag.implicit(lambda b: np.sqrt(b), lambda x, b: x * x - b)
    b = np.linspace(1.0, 2.0, 20)
    found = ag.jacobian(root, chunk_size=20)(b)
    np.testing.assert_allclose(found, np.diag(0.5 / np.sqrt(b)), rtol=1e-14)
    assert len(solved) == 1


def test_a_warning_names_the_solver():
    @ag.implicit(residual=lambda x, a: x * x - a)
    def root_of_member(a):
        return np.sqrt(a)

    with pytest.warns(BatchingWarning, match="root_of_member cannot be batched"):
        ag.vmap(root_of_member)(np.ones(3))


def test_an_array_of_a_member_is_an_argument():
    """What a solver or an equation finds outside would be of many members."""
    xp = ag.namespace("numpy")

    def by_equation(c):
        return ag.implicit(lambda a: a, lambda x, a: x - a + 0.0 * c)(np.ones(1))

    def by_both(c):
        return ag.implicit(lambda a: a, lambda x, a: x - a + 0.0 * c)(xp.ones(1) + c)

    def by_solver(c):
        return ag.implicit(lambda a: c * a, lambda x, a: x - a)(np.ones(1))

    for f in (by_equation, by_both, by_solver):
        with pytest.raises(LostGradientError, match="pass it as an argument"):
            ag.vmap(f)(np.ones(3))
