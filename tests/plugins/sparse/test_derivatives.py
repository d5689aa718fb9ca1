"""Sparse Jacobians and Hessians: values, forms of results, and what is prepared."""

import sys

import numpy as np
import pytest
import scipy.sparse

import agnograd as ag
from agnograd.errors import ArgumentError, GradientError, NoGradientError, SparsityError
from arrays import host

XP = ag.namespace("numpy")
X = np.random.default_rng(3).random(9)


def arrow(x):
    xp = x.__array_namespace__()
    return xp.concat([xp.reshape(xp.sum(x**2), (1,)), x[1:] * x[0]])


FUNCTIONS = {
    "band": lambda x: x[1:] * x[:-1] ** 2,
    "arrow": arrow,
    "triangle": lambda x: XP.cumulative_sum(x**2),
    "matrix": lambda x: XP.reshape(x, (3, 3)) @ XP.reshape(x, (3, 3)),
    "grid": lambda x: XP.exp(XP.reshape(x, (3, 3)))[1:] - XP.reshape(x, (3, 3))[:-1],
    "some constant": lambda x: XP.concat([x[:2] * x[1:3], XP.ones(2)]),
}
SCALARS = {
    "band": lambda x: XP.sum(x[1:] * x[:-1] ** 2),
    "rosenbrock": lambda x: XP.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    "arrow": lambda x: XP.sum(XP.sin(x[1:]) * x[0]),
    "grid": lambda x: XP.sum(XP.exp(XP.reshape(x, (3, 3))[1:] * XP.reshape(x, (3, 3))[:-1])),
    "dense": lambda x: XP.sum(x) ** 3,
    "linear": lambda x: XP.sum(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("direction", ["auto", "forward", "reverse", "both"])
def test_jacobians_are_the_dense_ones(name, direction):
    f = FUNCTIONS[name]
    expected = np.reshape(ag.jacobian(f)(X), (-1, 9))
    for chunk_size in (None, 1, 2):
        sparse = ag.sparse_jacobian(f, direction=direction, chunk_size=chunk_size)
        found = sparse(X)
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-12)
        assert found.nnz == ag.sparsity(f, X).count


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
@pytest.mark.parametrize("chunk_size", [None, 1])
def test_prepared_ones_compile(direction, chunk_size):
    sparse = ag.sparse_jacobian(arrow, direction=direction, chunk_size=chunk_size)
    prepared = ag.prepare(sparse, X)
    compiled = ag.compile(prepared)
    for x in (X, 2.0 * X):
        values, expected = compiled(x).values, prepared(x).data
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("method", ["star", "acyclic"])
def test_hessians_are_the_dense_ones(name, method):
    f = SCALARS[name]
    found = ag.sparse_hessian(f, method=method)(X)
    np.testing.assert_allclose(found.toarray(), ag.hessian(f)(X), rtol=1e-9, atol=1e-9)
    assert found.nnz == ag.sparsity(f, X, order=2).count


def test_pytrees_are_one_row_of_elements():
    def f(p, q):
        return {"a": p["x"] * q, "b": (XP.sum(p["y"]) * q[0], p["x"] ** 2)}

    p, q = {"x": np.asarray([1.0, 2.0]), "y": np.asarray([[3.0], [4.0]])}, np.asarray([5.0, 6.0])
    found = ag.sparse_jacobian(f, (1, 0))(p, q).toarray()
    expected = [
        [1.0, 0.0, 5.0, 0.0, 0.0, 0.0],
        [0.0, 2.0, 0.0, 6.0, 0.0, 0.0],
        [7.0, 0.0, 0.0, 0.0, 5.0, 5.0],
        [0.0, 0.0, 2.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 4.0, 0.0, 0.0],
    ]
    np.testing.assert_array_equal(found, expected)
    forward = ag.sparse_jacobian(f, (1, 0), direction="forward")(p, q).toarray()
    np.testing.assert_array_equal(forward, expected)


def test_results_of_integers_have_empty_rows():
    f = lambda x: (XP.astype(x, XP.int64), x**2)  # noqa: E731
    found = ag.sparse_jacobian(f)(X[:2]).toarray()
    np.testing.assert_allclose(found, np.vstack([np.zeros((2, 2)), np.diag(2 * X[:2])]))


def assert_dense(found, f, x):
    """Compare a sparse Jacobian with the dense one."""
    expected = np.reshape(ag.jacobian(f)(x), found.shape)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-12)


# -- the forms of results -------------------------------------------------------------------------


def test_on_every_backend(xp, backend, library):
    x = xp.asarray(X.tolist(), dtype=xp.float64)
    f = lambda x: x[1:] * xp.exp(x[:-1])  # noqa: E731
    expected = np.reshape(ag.jacobian(lambda x: x[1:] * XP.exp(x[:-1]))(X), (8, 9))
    for direction in ("forward", "reverse"):
        found = ag.sparse_jacobian(f, direction=direction)(x.data)
        np.testing.assert_allclose(as_dense(backend, found), expected, rtol=1e-12)
    of_variable = ag.sparse_jacobian(f)(x)
    assert isinstance(of_variable.values, ag.Variable)
    triple = as_dense("", of_variable._replace(values=of_variable.values.data))
    np.testing.assert_allclose(triple, expected, rtol=1e-12)
    hessian = ag.sparse_hessian(lambda x: xp.sum(f(x)))(x.data)
    expected = ag.hessian(lambda x: XP.sum(x[1:] * XP.exp(x[:-1])))(X)
    np.testing.assert_allclose(as_dense(backend, hessian), expected, rtol=1e-12)


def as_dense(backend, found):
    """Return a sparse matrix, in the form of its backend, as a NumPy array."""
    if backend == "numpy":
        assert type(found) is scipy.sparse.csr_array
        found.check_format()
        return found.toarray()
    if backend == "torch":
        return found.to_dense().numpy()
    if backend == "jax":
        return np.asarray(found.todense())
    if backend == "cupy":
        return found.get().toarray()
    dense = np.zeros(found.shape)
    dense[np.asarray(host(found.rows)), np.asarray(host(found.columns))] = host(found.values)
    return dense


def test_without_scipy_it_is_a_triple(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    found = ag.sparse_jacobian(FUNCTIONS["band"])(X)
    expected = np.reshape(ag.jacobian(FUNCTIONS["band"])(X), (8, 9))
    np.testing.assert_allclose(as_dense("", found), expected)


def test_results_share_no_memory():
    prepared = ag.prepare(ag.sparse_jacobian(FUNCTIONS["band"]), X)
    first, expected = prepared(X), prepared(X).toarray()
    first.data[:] = first.indices[:] = first.indptr[1:] = 0
    np.testing.assert_array_equal(prepared(X).toarray(), expected)


def test_entries_of_variables_are_differentiated():
    def of_entries(x):
        return XP.sum(ag.sparse_jacobian(FUNCTIONS["band"])(x).values ** 2)

    def of_all(x):
        return XP.sum(ag.jacobian(FUNCTIONS["band"])(x) ** 2)

    np.testing.assert_allclose(ag.grad(of_entries)(X), ag.grad(of_all)(X))


def test_what_a_function_closes_over_keeps_its_gradient():
    scale = ag.Variable(X[:8])
    f = lambda x: scale * x[1:] ** 2  # noqa: E731
    found = ag.sparse_jacobian(f)(ag.Variable(X, requires_grad=False))
    XP.sum(found.values).backward()
    np.testing.assert_allclose(scale.grad.data, 2 * X[1:])


# -- prepared -------------------------------------------------------------------------------------


def test_a_prepared_one_runs_the_function_once():
    calls = []

    def f(x):
        calls.append(x)
        return x[1:] * x[:-1]

    prepared = ag.prepare(ag.sparse_jacobian(f), X)
    found = len(calls)
    for factor in (1.0, 2.0):
        expected = np.reshape(ag.jacobian(FUNCTIONS["grid"])(X), (-1, 9))  # another one between
        assert expected.shape == (6, 9)
        before = len(calls)
        value = prepared(factor * X).toarray()
        assert len(calls) == before + 1
        np.testing.assert_allclose(value, np.reshape(ag.jacobian(f)(factor * X), (8, 9)))
    assert found == 1


def test_a_prepared_one_says_what_it_is():
    prepared = ag.prepare(ag.sparse_jacobian(arrow), X)
    assert repr(prepared).endswith("arrow: 9 x 9 elements, 25 entries, 3 passes>")
    assert repr(prepared.colouring) == "<colouring of 2 passes forward and 1 in reverse>"
    assert prepared.pattern == ag.sparsity(arrow, X)


def test_other_shapes_are_refused():
    prepared = ag.prepare(ag.sparse_jacobian(FUNCTIONS["band"]), X)
    with pytest.raises(SparsityError, match="8 results and 9 arguments"):
        prepared(X[:5])


def test_the_same_integers_hold_in_a_program_and_for_members(xp, library):
    def f(x, i):
        return xp.take(x, i) * x

    x = library.asarray(np.arange(1.0, 5.0))
    i = library.asarray(np.asarray([1, 0, 3, 2]))
    derivative = ag.prepare(ag.sparse_jacobian(f), x, i)
    compiled = ag.compile(lambda x, i: xp.asarray(derivative(x, i).values), lowering="plain")
    for k in range(3):
        single = ag.vmap(lambda x: derivative(x, i).values)(xp.stack([x + k, x]).data)
        np.testing.assert_allclose(np.asarray(compiled(x + k, i)), np.asarray(single)[0])
    with pytest.raises(SparsityError, match="prepare it again"):
        compiled(x, library.flip(i))
    np.testing.assert_allclose(np.asarray(compiled(x, i)), np.asarray(single)[1])


def test_other_integers_are_refused():
    prepared = ag.prepare(ag.sparse_jacobian(lambda x, k: x[k] ** 2), X, np.asarray([1, 2]))
    np.testing.assert_allclose(prepared(2.0 * X, np.asarray([1, 2])).data, 4 * X[1:3])
    for other in (np.asarray([2, 1]), np.asarray([1])):
        with pytest.raises(SparsityError, match="prepare it again"):
            prepared(X, other)
    of_flag = ag.prepare(ag.sparse_jacobian(lambda x, flip: x[::-1] if flip else x), X, True)
    with pytest.raises(SparsityError, match="prepare it again"):
        of_flag(X, False)


def test_a_changed_local_pattern_is_refused():
    def f(x):
        return x[1:] * x[:-1] if x[0] > 0.0 else x[1:] * x[0]

    prepared = ag.prepare(ag.sparse_jacobian(f, mode="local"), X)
    assert_dense(prepared(3.0 * X), f, 3.0 * X)
    for _ in range(2):
        with pytest.raises(SparsityError, match="is not the one that was prepared"):
            prepared(-X)
    assert_dense(prepared(X), f, X)


def test_other_choices_of_the_same_pattern_are_not_refused():
    f = lambda x: XP.where(x > 0.5, x**2, x**3)  # noqa: E731
    prepared = ag.prepare(ag.sparse_jacobian(f, mode="local"), X)
    other = X[::-1].copy()
    np.testing.assert_allclose(prepared(other).toarray(), ag.jacobian(f)(other))
    g = lambda x: XP.sum(f(x))  # noqa: E731
    of_hessian = ag.prepare(ag.sparse_hessian(g, mode="local"), X)
    np.testing.assert_allclose(of_hessian(other).toarray(), ag.hessian(g)(other))


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.coo_array, scipy.sparse.csr_matrix])
def test_a_pattern_may_be_given(form):
    dense = ag.sparsity(FUNCTIONS["band"], X).toarray()
    found = ag.sparse_jacobian(FUNCTIONS["band"], pattern=form(dense))(X)
    assert_dense(found, FUNCTIONS["band"], X)
    hessian = ag.sparsity(SCALARS["band"], X, order=2)
    for given in (hessian, form(hessian.toarray())):
        found = ag.sparse_hessian(SCALARS["band"], pattern=given)(X)
        np.testing.assert_allclose(found.toarray(), ag.hessian(SCALARS["band"])(X), atol=1e-12)


def test_a_large_jacobian_takes_as_many_passes_as_a_small_one():
    n = 40_000
    f = lambda x: x[1:-1] ** 2 - x[:-2] * x[2:]  # noqa: E731
    prepared = ag.prepare(ag.sparse_jacobian(f), np.ones(n))
    assert prepared.colouring.passes == 3
    x = np.random.default_rng(0).random(n)
    band = scipy.sparse.diags_array(
        [-x[2:], 2 * x[1:-1], -x[:-2]], offsets=[0, 1, 2], shape=(n - 2, n)
    )
    assert abs(prepared(x) - band).max() < 1e-12


# -- mistakes -------------------------------------------------------------------------------------


def test_mistakes_are_named():
    f = FUNCTIONS["band"]
    for options in ({"direction": "up"}, {"order": "any"}, {"mode": "here"}, {"chunk_size": 0}):
        with pytest.raises(ArgumentError):
            ag.sparse_jacobian(f, **options)
    with pytest.raises(ArgumentError, match="method"):
        ag.sparse_hessian(f, method="any")
    with pytest.raises(ArgumentError, match="a pattern is a matrix"):
        ag.sparse_jacobian(f, pattern=np.ones(3))
    with pytest.raises(ArgumentError, match=r"ag\.prepare\(ag\.sparse_jacobian"):
        ag.prepare(f, X)
    with pytest.raises(NoGradientError):
        ag.sparse_hessian(f)(X)
    with pytest.raises(NoGradientError, match="real"):
        ag.sparse_jacobian(lambda x: x * 1j)(X)
    with pytest.raises((GradientError, SparsityError)):
        ag.sparse_jacobian(f, pattern=np.eye(3))(X)


@pytest.mark.parametrize("backend", ["numpy", "strict", "torch"])
def test_a_closure_that_is_tracked_stands_beside_a_mask_of_the_unknowns(backend):
    if backend == "torch":
        pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")
    xp = ag.namespace(backend)
    weights = ag.Variable(xp.asarray([1.5, 2.0, 2.5], dtype=xp.float64).data)
    x = ag.Variable(xp.asarray([0.5, 1.0, -2.0], dtype=xp.float64).data, requires_grad=False)

    def f(x):
        return xp.where(x > 0.0, xp.sin(weights) * x, 0.5)

    values, rows, columns, _ = ag.sparse_jacobian(f)(x)
    assert (host(rows).tolist(), host(columns).tolist()) == ([0, 1, 2], [0, 1, 2])
    xp.sum(values).backward()
    np.testing.assert_allclose(host(weights.grad), np.cos([1.5, 2.0, 2.5]) * [1, 1, 0])
