"""The linear systems of implicit derivatives: conjugate gradients, GMRES, and other functions."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays.domains import domain_of
from agnograd.errors import SolverError
from agnograd_implicit._krylov import Measures, cg, gmres
from agnograd_implicit._linear import System
from arrays import host, leaf


def made(xp, numbers, dtype="float64"):
    return leaf(xp, numbers, dtype).data


def solved(method, matrix, b, precondition=None, rtol=None, maxiter=None):
    """Return a method's solution of a system of raw arrays."""
    return method(lambda v: matrix @ v, b, precondition, Measures(domain_of(b), b, rtol, maxiter))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", [cg, gmres])
def test_solutions_are_those_of_the_matrix(xp, rng, method, dtype):
    a, b = rng.standard_normal((20, 20)), rng.standard_normal(20)
    a = a @ a.T + np.eye(20) if method is cg else a + 5.0 * np.eye(20)
    found = solved(method, made(xp, a, dtype), made(xp, b, dtype))
    tolerance = 1e-9 if dtype == "float64" else 1e-2
    np.testing.assert_allclose(host(found), np.linalg.solve(a, b), rtol=tolerance, atol=tolerance)
    if method is cg:  # a maximum's
        found = solved(method, made(xp, -a, dtype), made(xp, b, dtype))
        np.testing.assert_allclose(
            host(found), -np.linalg.solve(a, b), rtol=tolerance, atol=tolerance
        )


def test_gmres_where_residuals_stagnate(xp):
    """A rotation, and the cyclic shift, for which no residual gets smaller before the last step."""
    rotation = made(xp, [[0.0, 1.0], [-1.0, 0.0]])
    found = solved(gmres, rotation, made(xp, [1.0, 2.0]))
    np.testing.assert_allclose(host(found), [-2.0, 1.0], atol=1e-14)
    shift, b = np.roll(np.eye(12), 1, axis=0), np.eye(12)[0]
    found = solved(gmres, made(xp, shift), made(xp, b))
    np.testing.assert_allclose(host(found), shift.T @ b, atol=1e-14)


def test_gmres_restarts(rng):
    a = np.diag(np.linspace(1.0, 30.0, 150)) + 0.1 * rng.standard_normal((150, 150))
    b = rng.standard_normal(150)
    np.testing.assert_allclose(solved(gmres, a, b), np.linalg.solve(a, b), rtol=1e-9, atol=1e-11)


def test_gmres_of_a_badly_conditioned_matrix_ends_where_rounding_does(rng):
    q, _ = np.linalg.qr(rng.standard_normal((30, 30)))
    r, _ = np.linalg.qr(rng.standard_normal((30, 30)))
    # From a condition of 10**9 on, rounding may leave more than the most that is accepted.
    a, b = q * np.logspace(0, -8, 30) @ r, rng.standard_normal(30)
    found = solved(gmres, a, b)
    assert np.linalg.norm(a @ found - b) < 1e-13 * np.linalg.norm(found)
    np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=1e-5)


def test_gmres_agrees_with_scipys_iterates(rng):
    """As many steps as SciPy's take it as far: both find the least residual."""
    linalg = pytest.importorskip(
        "scipy.sparse.linalg", reason="SciPy: pip install 'agnograd[scipy]'"
    )
    a, b = rng.standard_normal((40, 40)) + 6.0 * np.eye(40), rng.standard_normal(40)
    for steps in (3, 10, 20):
        theirs, _ = linalg.gmres(a, b, rtol=1e-30, restart=steps, maxiter=1)
        least = np.linalg.norm(a @ theirs - b) / np.linalg.norm(b)
        solved(gmres, a, b, rtol=least * 1.0001, maxiter=steps)
        with pytest.raises(SolverError, match=f"after {steps} steps"):
            solved(gmres, a, b, rtol=least * 0.99, maxiter=steps)


@pytest.mark.parametrize("method", [cg, gmres])
def test_a_preconditioner_takes_fewer_products(rng, method):
    scales = np.logspace(0, 3, 60)
    a = np.diag(scales) + 0.01 * np.ones((60, 60))
    calls = []

    def product(v):
        calls.append(1)
        return a @ v

    counts = []
    for precondition in (None, lambda v: v / scales):
        calls.clear()
        b = np.ones(60)
        found = method(product, b, precondition, Measures(domain_of(b), b, None, None))
        np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=1e-7)
        counts.append(len(calls))
    assert counts[1] <= counts[0] / 4


@pytest.mark.parametrize("method", [cg, gmres])
def test_what_is_not_solved_is_an_error(rng, method):
    singular, b = np.diag([1.0, 2.0, 0.0]), np.ones(3)
    with pytest.raises(SolverError, match="singular or badly conditioned"):
        solved(method, singular, b)
    with pytest.raises(SolverError, match="after 2 steps"):
        solved(method, np.diag(np.arange(1.0, 9.0)), np.ones(8), maxiter=2)
    with pytest.raises(SolverError):
        solved(method, np.full((3, 3), np.nan), b)
    assert solved(method, singular, np.zeros(3)).tolist() == [0.0] * 3
    assert solved(method, singular, np.asarray([1.0, 2.0, 0.0])).tolist() == [1.0, 1.0, 0.0]


# -- as implicit uses them -------------------------------------------------------------------------


def residual(x, a, b):
    return a @ x + 0.1 * x**3 - b


def system(rng, n=3):
    return rng.standard_normal((n, n)) + 4.0 * np.eye(n), rng.standard_normal(n)


def solver(a, b):
    x = b * 0.0
    for _ in range(60):
        x = x - np.linalg.solve(a + np.diag(0.3 * x**2), a @ x + 0.1 * x**3 - b)
    return x


def test_a_function_of_scipys_solves_by_products(rng):
    linalg = pytest.importorskip(
        "scipy.sparse.linalg", reason="SciPy: pip install 'agnograd[scipy]'"
    )
    shapes = []

    def lgmres(a, b):
        shapes.append((a.shape, b.shape, str(a.dtype)))
        found, failed = linalg.lgmres(a, b, rtol=1e-13, atol=0.0)
        assert not failed
        return found

    def lsqr(a, b):  # which takes products with the transpose, too
        return linalg.lsqr(a, b, atol=1e-14, btol=1e-14)[0]

    a, b = system(rng)
    for solve in (lgmres, lsqr):
        ag.check_grad(ag.implicit(solver, residual, solve=solve), a, b)
    assert set(shapes) == {((3, 3), (3,), "float64")}


@pytest.mark.accelerated
def test_how_many_systems_a_derivative_takes(rng, monkeypatch):
    solved, dense = [], System.dense
    monkeypatch.setattr(System, "dense", lambda *given: solved.append(1) or dense(*given))
    xp = ag.namespace("numpy")
    a, b = system(rng)
    root = ag.implicit(solver, residual)

    def loss(b):
        return xp.sum(root(a, xp.sin(b)) ** 2)

    for derivative, expected in (
        (lambda: ag.grad(loss)(b), 1),
        (lambda: ag.jvp(loss, b, b), 1),
        (lambda: ag.jvp(lambda a, b: root(a, b), (a, b), (a, b)), 1),
        (lambda: ag.hvp(loss, b, b), 3),
        (lambda: ag.linearize(loss, b)[1](b), 2),
    ):
        solved.clear()
        derivative()
        assert len(solved) == expected


def test_products_of_the_operator_are_those_of_the_jacobian(rng):
    a, b = system(rng)
    x = solver(a, b)
    expected = a + np.diag(0.3 * x**2)
    seen = []

    def solve(operator, b):
        seen.append([[m(e) for e in np.eye(3)] for m in (operator.matvec, operator.rmatvec)])
        return np.linalg.solve(np.stack(seen[-1][0], axis=1), b)

    root = ag.implicit(solver, residual, solve=solve)
    ag.jacobian(lambda b: root(a, b), mode="reverse")(b)
    ag.jvp(lambda b: root(a, b), b, b)
    for columns, rows in seen:
        np.testing.assert_allclose(np.stack(columns), np.stack(rows).T, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(seen[0][0], expected, rtol=1e-12, atol=1e-14)  # transposed


def test_a_preconditioner_of_derivatives_is_transposed_where_the_system_is(rng):
    """It is not symmetric: its inverse in the place of the transpose would need more products."""
    a, b = system(rng, 30)
    a = a * np.logspace(0, 3, 30)  # columns differ: the transpose has other scales
    inverse = np.linalg.inv(a)
    counts = []

    def counted(x, a, b):
        counts.append(1)
        return residual(x, a, b)

    options = {"preconditioner": lambda v, x, a, b: inverse @ v, "maxiter": 12}
    root = ag.implicit(solver, counted, solve="gmres", **options)
    dense = ag.implicit(solver, residual)
    for mode in ("forward", "reverse"):
        found = ag.jacobian(root, argnums=1, mode=mode)(a, b)
        np.testing.assert_allclose(
            found, ag.jacobian(dense, argnums=1)(a, b), rtol=1e-8, atol=1e-12
        )
    plain = ag.implicit(solver, residual, solve="gmres", maxiter=12)
    with pytest.raises(SolverError, match="give a preconditioner"):
        ag.jacobian(plain, argnums=1)(a, b)


def test_nothing_is_as_large_as_the_jacobian(rng):
    """A system of 200,000 unknowns: only products are taken."""
    xp = ag.namespace("numpy")
    n = 200_000

    def poisson(u, f, c):
        inner = 2.0 * u - xp.concat([u[1:], u[:1] * 0.0]) - xp.concat([u[:1] * 0.0, u[:-1]])
        return inner + c * u - f

    def cosines(f, c):
        from scipy.fft import dst, idst

        k = np.arange(1, n + 1)
        return idst(dst(f, 1) / (2.0 - 2.0 * np.cos(np.pi * k / (n + 1)) + c), 1)

    pytest.importorskip("scipy", reason="SciPy: pip install 'agnograd[scipy]'")
    solution = ag.implicit(cosines, poisson, solve="cg")
    f, c = rng.standard_normal(n), np.asarray(0.5)
    by_f, by_c = ag.grad(lambda f, c: xp.sum(solution(f, c) ** 2), argnums=(0, 1))(f, c)
    u = cosines(f, c)
    w = cosines(2.0 * u, c)
    np.testing.assert_allclose(by_f, w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(by_c, -w @ u, rtol=1e-9)
