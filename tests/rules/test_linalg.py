"""Matrices that have no derivative, batches with one of them, triangles, and shapes."""

import numpy as np
import pytest

import agnograd as ag


def made(xp, values):
    """Return a raw array of a backend, of the dtype of NumPy's."""
    values = np.asarray(values)
    return xp.asarray(values, dtype=getattr(xp, values.dtype.name)).data


def host(value):
    return np.asarray(value.detach() if isinstance(value, ag.Variable) else value)


def gradient(xp, f, *values):
    with xp.empty(0)._domain.backend.quiet():
        return host(ag.grad(f)(*(made(xp, each) for each in values)))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# -- defective matrices ----------------------------------------------------------------------------


def weighed(xp, values):
    """Return a sum that counts the values differently."""
    count = values.shape[-1]
    weights = xp.astype(xp.arange(1, count + 1), values.dtype)
    return xp.sum(xp.real(values * values * weights))


def similar(rng, blocks):
    """Return a matrix with these Jordan blocks, of pairs (value, size), in another basis."""
    size = sum(count for _, count in blocks)
    matrix, start = np.zeros((size, size)), 0
    for value, count in blocks:
        part = slice(start, start + count)
        matrix[part, part] = value * np.eye(count) + np.eye(count, k=1)
        start += count
    one, other = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    basis = one @ np.diag(rng.uniform(0.5, 2.0, size)) @ other
    return basis @ matrix @ np.linalg.inv(basis)


BLOCKS = [
    [(2.0, 2)],
    [(2.0, 2), (5.0, 1)],
    [(0.0, 2)],
    [(1.0, 3)],
    [(1.0, 2), (3.0, 2)],
    [(1.0, 5)],
]


@pytest.mark.parametrize("blocks", BLOCKS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eigenvalues_of_a_defective_matrix_have_no_gradient(xp, rng, blocks, dtype):
    defective = np.stack([similar(rng, blocks) for _ in range(10)])
    size = defective.shape[-1]
    batch = np.concatenate([defective, np.diag(np.arange(1.0, size + 1))[None]]).astype(dtype)
    for function in (xp.linalg.eigvals, lambda x: xp.linalg.eig(x)[0]):
        found = gradient(xp, lambda x: weighed(xp, function(x) + 0.1), batch)  # noqa: B023
        assert np.isnan(found[:-1]).all(axis=(-2, -1)).all()
        assert np.isfinite(found[-1]).all()


@pytest.mark.parametrize("size", [2, 5, 30])
def test_jordan_blocks_have_no_gradient_whatever_their_size(xp, size):
    batch = np.stack([np.eye(size) + np.eye(size, k=1), np.diag(np.arange(1.0, size + 1))])
    found = gradient(xp, lambda x: xp.sum(xp.real(xp.linalg.eigvals(x))), batch)
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], np.eye(size), atol=1e-12)


def test_nothing_is_asked_of_a_defective_matrix(xp):
    batch = np.asarray([[[2.0, 1.0], [0.0, 2.0]], [[2.0, 0.0], [0.0, 1.0]]])
    found = gradient(xp, lambda x: xp.sum(xp.real(xp.linalg.eigvals(x)[1, ...])), batch)
    assert found.tolist() == [np.zeros((2, 2)).tolist(), np.eye(2).tolist()]


@pytest.mark.parametrize("off", [1e-4, 1e-8, 1e-12])
def test_nearly_defective_matrices_have_a_large_gradient(xp, off):
    def function(x):  # the eigenvalues are 2 +- sqrt(off)
        return xp.sum(xp.abs(xp.real(xp.linalg.eigvals(x)) - 2.0))

    found = gradient(xp, function, [[2.0, 1.0], [off, 2.0]])
    np.testing.assert_allclose(found[1, 0], off**-0.5, rtol=1e-3)
    np.testing.assert_allclose(found[0, 1], off**0.5, rtol=1e-3)


def test_matrices_of_uneven_rows_are_not_defective(xp):
    found = gradient(xp, lambda x: weighed(xp, xp.linalg.eigvals(x)), [[1.0, 1e8], [0.0, 2.0]])
    assert np.isfinite(found).all()
    repeated = np.diag([2.0, 2.0, 1.0])
    found = gradient(xp, lambda x: xp.sum(xp.real(xp.linalg.eigvals(x)) ** 2), repeated)
    np.testing.assert_allclose(found, 2 * repeated)


def test_a_defective_matrix_has_no_tangent(xp):
    x = made(xp, [[[3.0, 1.0], [-1.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]])
    tangent = host(ag.jvp(xp.linalg.eigvals, (x,), (xp.ones_like(x).data,))[1])
    assert np.isnan(tangent[0]).all()
    np.testing.assert_allclose(tangent[1], [1.0, 1.0])


# -- batches ---------------------------------------------------------------------------------------

REGULAR = [[2.0, 1.0], [-0.5, 1.5]]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", ["qr", "det", "slogdet", "svd", "svdvals", "pinv", "eigvals"])
def test_a_singular_matrix_leaves_the_others_their_gradients(xp, name, order):
    def cubes(x):
        out = getattr(xp.linalg, name)(x)
        return sum(xp.sum(xp.abs(each) ** 3) for each in (out if isinstance(out, tuple) else [out]))

    def function(x):
        return cubes(x) if order == 1 else xp.sum(ag.grad(cubes)(x) ** 2)

    batch = np.asarray([REGULAR, [[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 4.0]]])
    found = gradient(xp, function, batch)
    single = gradient(xp, function, batch[:1])
    np.testing.assert_allclose(found[0], single[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", ["tall", "square", "wide"])
def test_dependent_columns_have_no_qr_gradient(xp, rng, shape):
    rows, columns = {"tall": (4, 3), "square": (3, 3), "wide": (2, 4)}[shape]
    regular, other = rng.standard_normal((2, rows, columns))
    other[:, 1] = other[:, 0] * 3.0
    function = lambda x: sum(xp.sum(each**3) for each in xp.linalg.qr(x))  # noqa: E731
    found = gradient(xp, function, np.stack([regular, other]))
    assert np.isnan(found[1]).any()
    np.testing.assert_allclose(found[0], gradient(xp, function, regular[None])[0], rtol=1e-12)
    small = gradient(xp, lambda x: xp.sum(xp.linalg.qr(x)[1]), regular * 1e-12)
    assert np.isfinite(small).all()


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"], indirect=True)
def test_an_adjoint_that_rounding_makes_singular_leaves_the_others_their_gradients(xp, rng):
    products = [
        (rng.integers(1, 9, (3, 2)) / 10) @ (rng.integers(1, 9, (2, 3)) / 10) for _ in range(100)
    ]
    only = []  # matrices of rank 2 that can be solved by, while their adjoints cannot
    for matrix in products:
        signs = [np.linalg.slogdet(each)[0] for each in (matrix, matrix.T)]
        if signs[0] != 0 and signs[1] == 0:
            only.append(matrix)
    batch = np.stack([np.diag([1.0, 2.0, 4.0]), *only[:3]])
    found = gradient(xp, lambda x: xp.sum(xp.linalg.solve(x, xp.ones_like(x))), batch)
    np.testing.assert_allclose(found[0], -3 / np.outer([1.0, 2.0, 4.0], [1.0, 2.0, 4.0]))
    assert not (np.isfinite(found[1:]) & (abs(found[1:]) < 1e10)).all(axis=(-2, -1)).any()


# -- results that are left out ---------------------------------------------------------------------

# Functions, with a matrix at which the absolute values of their results have no derivative.
LEFT_OUT = {
    "eigh": (lambda xp, x: xp.linalg.eigh(x)[1], np.eye(2)),
    "svd": (lambda xp, x: xp.linalg.svd(x)[0], np.eye(2)),
    "qr": (lambda xp, x: xp.linalg.qr(x)[1], np.asarray([[1.0, 2.0], [2.0, 4.0]])),
    "eig": (lambda xp, x: xp.linalg.eig(x)[1], np.asarray([[1.0, 1.0], [0.0, 1.0]])),
    "eigvals": (
        lambda xp, x: xp.linalg.eigvals(x)[..., None],
        np.asarray([[1.0, 1.0], [0.0, 1.0]]),
    ),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_matrix_whose_results_are_left_out_has_a_gradient_of_zero(name):
    xp = ag.namespace("numpy")  # the table of conventions has two of these on every backend
    results, without = LEFT_OUT[name]
    other = np.asarray([[2.0, 0.5], [0.5, 1.0]])

    def used(x):
        return xp.abs(results(xp, x)) ** 3 + 0 * x

    def f(x):  # of the matrix without a derivative, only the matrix itself is used
        regular = xp.any(x != made(xp, without), axis=(-2, -1), keepdims=True)
        return xp.sum(xp.where(regular, used(x), x * x))

    assert np.isnan(gradient(xp, lambda x: xp.sum(used(x)), without)).any()
    expected = np.stack([2 * without, gradient(xp, lambda x: xp.sum(used(x)), other)])
    pair = made(xp, np.stack([without, other]))
    np.testing.assert_array_equal(gradient(xp, f, without), expected[0])
    for way in (ag.grad(f), ag.vmap(ag.grad(f))):
        np.testing.assert_allclose(host(way(pair)), expected, rtol=1e-12, atol=1e-12)


# -- triangles -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_every_library_reads_the_same_triangle(xp, rng, dtype):
    x = rng.standard_normal((2, 4, 4)) + 8 * np.eye(4)
    if dtype == "complex128":
        x = x + 1j * rng.standard_normal((2, 4, 4))
    given = made(xp, x)
    for upper in (False, True):
        expected = np.linalg.cholesky(x, upper=upper)
        np.testing.assert_allclose(
            host(xp.linalg.cholesky(given, upper=upper)), expected, rtol=1e-12, atol=1e-12
        )
        factor = host(np.linalg.cholesky(ag.Variable(given), upper=upper))
        np.testing.assert_allclose(factor, expected, rtol=1e-12, atol=1e-12)
        full = lambda x: x + xp.conj(x.mT)  # noqa: E731
        ag.check_grad(lambda x: np.linalg.cholesky(full(x), upper=upper), given)  # noqa: B023
    for name in ("eigvalsh", "eigh"):
        found = getattr(xp.linalg, name)(given)
        values = host(found if name == "eigvalsh" else found[0])
        np.testing.assert_allclose(values, np.linalg.eigvalsh(x), rtol=1e-12)
        values = getattr(np.linalg, name)(ag.Variable(given), "U")
        values = host(values if name == "eigvalsh" else values[0])
        np.testing.assert_allclose(values, np.linalg.eigvalsh(x, "U"), rtol=1e-12)


# -- shapes ----------------------------------------------------------------------------------------

MISFITS = {
    "tensordot": ((2, 1), (2, 3), {"axes": 1}),
    "linalg.tensordot": ((2, 2), (1, 3), {"axes": 1}),
    "matmul": ((2, 1), (2, 3), {}),
    "vecdot": ((2, 1), (2, 3), {}),
    "linalg.cross": ((3,), (2,), {}),
    "linalg.outer": ((2, 2), (3,), {}),
    "linalg.solve": ((1, 1), (2, 3), {}),
    "linalg.solve_triangle": ((2, 2), (1, 3), {}),
    "linalg.solve_adjoint": ((1, 1), (2, 3), {}),
}


@pytest.mark.parametrize("name", MISFITS)
@pytest.mark.parametrize("tracked", [True, False])
def test_shapes_that_do_not_fit_are_an_error(xp, name, tracked):
    one, other, options = MISFITS[name]
    arrays = [ag.Variable(made(xp, np.ones(shape)), tracked) for shape in (one, other)]
    function = xp
    for part in name.split("."):
        function = getattr(function, part)
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        host(function(*arrays, **options).detach())  # Dask compares lengths when it computes


@pytest.mark.parametrize(
    ("shapes", "axes"),
    [(((2, 1), (2, 3)), 1), (((1, 3), (3, 2)), ((0,), (1,))), (((2, 1, 3), (2, 3, 4)), 2)],
)
def test_axes_of_unequal_lengths_are_not_contracted(xp, shapes, axes):
    arrays = [ag.Variable(made(xp, np.ones(shape))) for shape in shapes]
    for function in (xp.tensordot, np.tensordot):
        with pytest.raises((ValueError, TypeError)):
            host(function(*arrays, axes=axes).detach())


@pytest.mark.parametrize("name", ["dot", "inner", "vdot"])
def test_numpys_products_do_not_broadcast_either(xp, name):
    shapes = {"dot": ((2, 1), (4, 2, 3)), "inner": ((2, 1), (2, 3)), "vdot": ((1,), (3,))}[name]
    arrays = [ag.Variable(made(xp, np.ones(shape))) for shape in shapes]
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        host(getattr(np, name)(*arrays).detach())


@pytest.mark.parametrize("scale", [1e-10, 1e-7, 1e7, 1e10])
def test_eigenvalues_of_matrices_of_any_size_have_gradients(xp, rng, scale):
    """What is defective does not depend on the unit of the elements, nor in single precision."""
    matrix = rng.standard_normal((4, 4)) + np.diag([0.0, 2.0, 4.0, 6.0])

    def gradient(f, by):
        x = xp.asarray(matrix.tolist(), dtype=xp.float32) * xp.asarray(by, dtype=xp.float32)
        return host(ag.grad(lambda x: xp.sum(f(x)))(x.data)).astype(float)

    # Functions that do not depend on the order of eigenvalues, which is any.
    for f in (lambda x: xp.abs(xp.linalg.eigvals(x)), lambda x: xp.abs(xp.linalg.eig(x)[0])):
        np.testing.assert_allclose(gradient(f, scale), gradient(f, 1.0), rtol=1e-3, atol=1e-3)
    vectors = lambda x: xp.abs(xp.linalg.eig(x)[1][0, ...]) ** 4  # noqa: E731
    expected = gradient(vectors, 1.0)
    found = gradient(vectors, scale) * scale
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * np.max(abs(expected)))
