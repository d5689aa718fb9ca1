"""Functions handed to SciPy's own optimisers with all derivatives."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError
from arrays import host, leaf

optimize = pytest.importorskip("scipy.optimize", reason="SciPy: pip install 'agnograd[scipy]'")
from scipy.sparse import csr_array  # noqa: E402
from scipy.sparse.linalg import LinearOperator  # noqa: E402

import agnograd_scipy  # noqa: E402
from agnograd_scipy import Derivatives  # noqa: E402

START = [0.5, 1.0, 0.7]


def made(xp, numbers, dtype="float64"):
    return leaf(xp, numbers, dtype).data


def rosenbrock(xp):
    return lambda x: xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def circles(xp):
    """Return two results of three unknowns."""
    return lambda x: xp.stack([xp.sum(x**2) - 1.0, x[0] * x[1] ** 2 - x[2]])


@pytest.mark.parametrize("compile", [False, True])
def test_derivatives_are_scipys_formulas(xp, compile):
    f = Derivatives(rosenbrock(xp), made(xp, START), compile=compile)
    x, p = np.asarray(START), np.asarray([1.0, -2.0, 0.5])
    assert f.is_scalar
    assert type(f.value(x)) is float
    np.testing.assert_allclose(f.x0, x)
    assert f.value(x) == pytest.approx(optimize.rosen(x), rel=1e-14)
    np.testing.assert_allclose(f.jac(x), optimize.rosen_der(x), rtol=1e-13)
    np.testing.assert_allclose(f.hess(x), optimize.rosen_hess(x), rtol=1e-13)
    np.testing.assert_allclose(f.hessp(x, p), optimize.rosen_hess_prod(x, p), rtol=1e-13)
    value, gradient = f.value_and_jac(x)
    assert value == f.value(x)
    np.testing.assert_array_equal(gradient, f.jac(x))
    for each in (gradient, f.hess(x), f.hessp(x, p)):
        assert type(each) is np.ndarray
        assert each.dtype == np.float64


def test_several_results_and_their_operators(xp):
    f = Derivatives(circles(xp), made(xp, START))
    x, p, v = np.asarray(START), np.asarray([1.0, -2.0, 0.5]), np.asarray([0.7, -1.5])
    assert not f.is_scalar
    jacobian = np.stack([2.0 * x, [x[1] ** 2, 2.0 * x[0] * x[1], -1.0]])
    hessian = 0.7 * 2.0 * np.eye(3)
    hessian += -1.5 * np.asarray([[0, 2 * x[1], 0], [2 * x[1], 2 * x[0], 0], [0, 0, 0]])
    np.testing.assert_allclose(f.jac(x), jacobian, rtol=1e-14)
    np.testing.assert_allclose(f.value_and_jac(x)[1], jacobian, rtol=1e-14)
    np.testing.assert_allclose(f.hess(x, v), hessian, rtol=1e-13)
    np.testing.assert_allclose(f.hessp(x, p, v), hessian @ p, rtol=1e-13)
    for operator, matrix in ((f.jac_operator(x), jacobian), (f.hess_operator(x, v), hessian)):
        assert isinstance(operator, LinearOperator)
        np.testing.assert_allclose(operator @ np.eye(3), matrix, rtol=1e-13, atol=1e-14)
        rows = np.eye(len(matrix))
        np.testing.assert_allclose(operator.T @ rows, matrix.T, rtol=1e-13, atol=1e-14)
    gradient = Derivatives(rosenbrock(xp), made(xp, START))
    np.testing.assert_allclose(
        gradient.jac_operator(x) @ p, [optimize.rosen_der(x) @ p], rtol=1e-13
    )


def test_products_for_one_place_are_recorded_once():
    calls = []
    xp = ag.namespace("numpy")

    def counted(x):
        calls.append(1)
        return rosenbrock(xp)(x)

    f = Derivatives(counted, np.asarray(START))
    calls.clear()
    for p in np.eye(3):
        f.hessp(np.asarray(START), p)
    assert len(calls) == 1
    f.hessp(np.asarray(START) + 1.0, np.ones(3))
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("BFGS", ["jac"]),
        ("Newton-CG", ["jac", "hessp"]),
        ("trust-ncg", ["jac", "hessp"]),
        ("trust-exact", ["jac", "hess"]),
        ("trust-constr", ["jac", "hess"]),
    ],
)
def test_minimisers_take_them(method, names):
    f = Derivatives(rosenbrock(ag.namespace("numpy")), np.asarray(START))
    options = {name: getattr(f, name) for name in names}
    found = optimize.minimize(f.value, f.x0, method=method, tol=1e-10, **options)
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)
    found = optimize.minimize(f.value_and_jac, f.x0, jac=True, method="L-BFGS-B", tol=1e-14)
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-4)


@pytest.mark.parametrize("products", [False, True])
@pytest.mark.filterwarnings("ignore:delta_grad == 0.0:UserWarning")
def test_constraints(xp, products):
    """The nearest point of a circle, which is a constraint of one number, and of a vector."""
    x0 = made(xp, [0.9, 0.3, 0.2])
    target = np.asarray([1.0, 2.0, 0.5])
    f = Derivatives(lambda x: xp.sum((x - made(xp, target)) ** 2), x0)
    sphere = Derivatives(lambda x: xp.sum(x * x), x0)
    height = Derivatives(lambda x: {"z": x[2:] ** 3, "y": -x[1:2]}, x0)
    found = optimize.minimize(
        f.value,
        f.x0,
        jac=f.jac,
        hess=f.hess_operator if products else f.hess,
        method="trust-constr",
        constraints=[
            sphere.constraint(1.0, 1.0, products=products),
            height.constraint(-np.inf, [0.0, 0.2**3], products=products),
        ],
        options={"gtol": 1e-9, "xtol": 1e-12},
    )
    expected = np.asarray([*(target[:2] / np.linalg.norm(target[:2])) * (1 - 0.04) ** 0.5, 0.2])
    np.testing.assert_allclose(found.x, expected, rtol=1e-4)
    if not products:
        slsqp = {"type": "eq", "fun": lambda x: sphere.value(x) - 1.0, "jac": sphere.jac}
        found = optimize.minimize(
            f.value, f.x0, jac=f.jac, method="SLSQP", constraints=slsqp, tol=1e-12
        )
        np.testing.assert_allclose(found.x, target / np.linalg.norm(target), rtol=1e-6)


def test_least_squares_and_roots_take_them(xp):
    t = made(xp, np.linspace(0.0, 1.0, 9))
    y = made(xp, 2.0 * np.exp(-1.5 * np.linspace(0.0, 1.0, 9)))
    f = Derivatives(
        lambda p: p["a"] * xp.exp(-p["rate"] * t) - y, dict.fromkeys(("a", "rate"), made(xp, [1.0]))
    )
    for jac, solver in ((f.jac, "exact"), (f.jac_operator, "lsmr")):
        found = optimize.least_squares(f.value, f.x0, jac, tr_solver=solver, xtol=1e-14)
        np.testing.assert_allclose(found.x, [2.0, 1.5], rtol=1e-8)
    tree = f.tree(found.x)
    assert type(tree["a"]) is type(t)
    np.testing.assert_allclose(host(tree["rate"]), [1.5], rtol=1e-8)
    g = Derivatives(lambda x: xp.stack([x[0] ** 2 - x[1], x[1] - 2.0]), made(xp, [1.0, 1.0]))
    found = optimize.root(g.value, g.x0, jac=g.jac, tol=1e-13)
    np.testing.assert_allclose(found.x, [2.0**0.5, 2.0], rtol=1e-10)


def test_sparse_matrices_are_the_dense_ones(xp):
    """Chains of three unknowns, of several results and of one."""
    x0 = made(xp, np.linspace(0.5, 1.5, 12))
    x, v = np.linspace(1.0, 2.0, 12), np.linspace(-1.0, 1.0, 10)
    chain = lambda x: x[2:] * x[:-2] + x[1:-1] ** 3  # noqa: E731
    dense, sparse = (Derivatives(chain, x0, sparse=each) for each in (False, True))
    for found, expected in (
        (sparse.jac(x), dense.jac(x)),
        (sparse.hess(x, v), dense.hess(x, v)),
    ):
        assert isinstance(found, csr_array)
        assert found.dtype == np.float64
        assert found.nnz <= 30
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-14)
    np.testing.assert_array_equal(sparse.jac_sparsity.toarray(), dense.jac(x) != 0.0)
    np.testing.assert_array_equal(sparse.value(x), dense.value(x))
    f = Derivatives(rosenbrock(xp), x0, sparse=True, compile=True)
    assert type(f.jac(x)) is np.ndarray
    np.testing.assert_allclose(f.hess(x).toarray(), optimize.rosen_hess(x), rtol=1e-13)


def test_solvers_take_sparse_matrices():
    xp = ag.namespace("numpy")
    f = Derivatives(rosenbrock(xp), np.full(6, 0.8), sparse=True)
    sphere = Derivatives(lambda x: x * x, f.x0, sparse=True)
    found = optimize.minimize(
        f.value,
        f.x0,
        jac=f.jac,
        hess=f.hess,
        method="trust-constr",
        constraints=sphere.constraint(0.0, 2.0),
        options={"gtol": 1e-9, "xtol": 1e-12},
    )
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)
    r = Derivatives(lambda x: xp.concat([x[1:] - x[:-1] ** 2, x - 1.0]), f.x0, sparse=True)
    for options in ({"jac": r.jac}, {"jac_sparsity": r.jac_sparsity}):
        found = optimize.least_squares(r.value, r.x0, **options)
        np.testing.assert_allclose(found.x, 1.0, rtol=1e-6)


def test_pytrees_of_several_dtypes(xp):
    x0 = {"a": made(xp, [[1.0, 2.0]], "float32"), "b": [made(xp, 3.0)]}

    def f(x):
        assert x["a"].dtype == xp.float32
        assert x["b"][0].shape == ()
        return xp.sum(xp.astype(x["a"], xp.float64) ** 2) * x["b"][0]

    found = Derivatives(f, x0)
    np.testing.assert_allclose(found.x0, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found.jac(found.x0), [6.0, 12.0, 5.0], rtol=1e-6)
    assert found.tree(found.x0)["a"].dtype == xp.float32


def test_what_scipy_cannot_take_is_an_error(xp):
    x = made(xp, START)
    for x0, message in (
        (0.5, "x0 has an object of type float"),
        ([0.5, 0.5], "use arrays"),
        (made(xp, [1, 2], "int64"), "x0 has an array of dtype"),
        (made(xp, [1j], "complex128"), "real floating-point"),
        ({}, "no unknowns"),
    ):
        with pytest.raises(ArgumentError, match=message):
            Derivatives(xp.sum, x0)
    with pytest.raises(ArgumentError, match="the function returns an array of dtype"):
        Derivatives(lambda x: x > 0.0, x)
    with pytest.raises(ArgumentError, match="the function returns an object of type str"):
        Derivatives(lambda x: "value", x)
    with pytest.raises(ArgumentError, match="a weight for each"):
        Derivatives(circles(xp), x).hess(np.asarray(START))
    with pytest.raises(AttributeError, match="no attribute 'derivatives_of'"):
        agnograd_scipy.derivatives_of  # noqa: B018
