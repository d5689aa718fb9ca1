"""What is special to Dask: laziness, chunks, unknown sizes."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._plugins.backends import backend_named
from agnograd.errors import MixedBackendsError, UnsupportedArrayError

da = pytest.importorskip("dask.array", reason="Dask: pip install 'agnograd[dask]'")
dask = pytest.importorskip("dask", reason="Dask: pip install 'agnograd[dask]'")


@pytest.fixture
def xp():
    return ag.namespace("dask")


@pytest.fixture
def lazy():
    """Make every computation an error until the test allows it."""

    def refuse(*args, **kwargs):
        raise AssertionError("something was computed")

    with dask.config.set(scheduler=refuse):
        yield


def loss(xp, x, w, rows):
    hidden = xp.tanh(x @ w)
    chosen = xp.take(hidden, rows, axis=0)
    kept = xp.where(chosen > 0, xp.log(chosen), 0.0)
    return xp.sum(kept * xp.sort(chosen, axis=0)) + xp.mean(hidden[1:, ::-1] ** 2)


def given():
    rng = np.random.default_rng(0)
    return rng.uniform(0.1, 1.0, (6, 4)), rng.uniform(-1, 1, (4, 4)), np.array([5, 0, 0, 3])


def chunked():
    x, w, rows = given()
    return da.from_array(x, chunks=(2, 4)), da.from_array(w, chunks=(4, 2)), da.from_array(rows)


@pytest.mark.usefixtures("lazy")
def test_a_pass_computes_nothing(xp):
    x, w, rows = chunked()
    function = lambda x, w: loss(xp, x, w, rows)  # noqa: E731
    value, gradients = ag.value_and_grad(function, argnums=(0, 1))(x, w)
    second = ag.grad(lambda w: xp.sum(ag.grad(lambda w: loss(xp, x, w, rows))(w) ** 2))(w)
    _, tangent = ag.jvp(lambda w: loss(xp, x, w, rows), w, w)
    pushed = ag.linearize(lambda w: loss(xp, x, w, rows), w)[1](w)
    v = ag.Variable(w)
    loss(xp, x, v, rows).backward()
    for each in (value, *gradients, second, tangent, pushed, v.grad.data):
        assert isinstance(each, da.Array)
    with pytest.raises(AssertionError, match="something was computed"):
        value.compute()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of logarithms that are left out
def test_what_is_computed_then_is_numpys(xp):
    x, w, rows = chunked()
    value, gradients = ag.value_and_grad(lambda x, w: loss(xp, x, w, rows), argnums=(0, 1))(x, w)
    value, *gradients = dask.compute(value, *gradients, scheduler="synchronous")
    plain = ag.namespace("numpy")
    x, w, rows = given()
    with np.errstate(all="ignore"):
        expected = ag.value_and_grad(lambda x, w: loss(plain, x, w, rows), argnums=(0, 1))(x, w)
    np.testing.assert_allclose(value, expected[0])
    for found, other in zip(gradients, expected[1], strict=True):
        np.testing.assert_allclose(found, other)


@pytest.mark.usefixtures("lazy")
@pytest.mark.parametrize("chunks", [(3, 2), ((1, 5), (4,)), 6])
def test_gradients_have_their_inputs_chunks(xp, chunks):
    x = da.ones((6, 4), chunks=chunks)
    for f in (xp.sum, lambda x: xp.sum(x[1:] * 2.0), lambda x: xp.sum(xp.sin(x.T) @ x)):
        assert ag.grad(f)(x).chunks == x.chunks
        v = ag.Variable(x)
        f(v).backward(create_graph=True)
        assert v.grad.data.chunks == x.chunks
        (gradient,) = ag.autodiff.grad(f(v), v)
        assert gradient.data.chunks == x.chunks
    assert ag.grad(lambda y: xp.sum(x))(x).chunks == x.chunks


def test_unknown_sizes_are_an_error_that_says_what_to_do(xp):
    x = da.from_array(np.array([1.0, -2.0, 3.0]), chunks=2)
    with pytest.raises(UnsupportedArrayError, match="compute_chunk_sizes"):
        ag.grad(lambda x: xp.sum(x[x > 0]))(x)
    with pytest.raises(UnsupportedArrayError, match=r"xp\.where\(mask, x, 0\.0\)"):
        backend_named("dask").scatter_add(da.zeros(3), x > 0, x[x > 0])
    for f, what in (
        (lambda x: x[x > 0], r"shape \(nan,\).*xp\.where"),
        (lambda x: xp.sum(xp.sqrt(x)[x > 0]), r"unknown sizes.*compute_chunk_sizes"),
    ):
        for derivative in (
            lambda f=f: ag.jvp(f, x, da.ones(3)),
            lambda f=f: ag.jacobian(f, mode="forward")(x),
            lambda f=f: ag.jacobian(f)(x),
        ):
            with pytest.raises(UnsupportedArrayError, match=what):
                derivative()
    assert ag.grad(lambda x: xp.sum(xp.where(x > 0, x, 0.0)))(x).compute().tolist() == [1, 0, 1]


def test_what_a_mask_selects_has_a_gradient_once_its_size_is_known(xp):
    x = da.from_array(np.array([1.0, -2.0, 3.0]), chunks=2)

    def f(x):
        chosen = x[x > 0]
        chosen.data.compute_chunk_sizes()
        return xp.sum(chosen * chosen)

    assert ag.grad(f)(x).compute().tolist() == [2.0, 0.0, 6.0]


@pytest.mark.parametrize("places", [[0], [0, 2], [0, 2, 4]])
@pytest.mark.parametrize("chunks", [2, 5])
def test_indices_that_are_where_chunks_begin_are_read_at(places, chunks):
    import dask.array as da

    xp = ag.namespace("dask")
    x = da.from_array(np.arange(10.0).reshape(5, 2), chunks=chunks)
    index = da.from_array(np.asarray(places), chunks=1)
    expected = np.zeros((5, 2))
    expected[places] = 1.0
    for read in (lambda x: x[index], lambda x: x[index, 1:], lambda x: xp.take(x, index, axis=0)):
        found = read(ag.Variable(x))
        assert found.shape == found.data.compute().shape
    gradient = ag.grad(lambda x: xp.sum(xp.take(x, index, axis=0)))(x)
    assert np.array_equal(gradient.compute(), expected)


def test_repeated_indices_in_many_chunks_add_up():
    backend = backend_named("dask")
    indices = np.random.default_rng(0).integers(-5, 5, 100)
    values = np.random.default_rng(1).uniform(size=(100, 3))
    expected = np.zeros((5, 3))
    np.add.at(expected, indices, values)
    into = da.zeros((5, 3), chunks=2)
    found = backend.scatter_add_axis(
        into, da.from_array(indices, chunks=30), da.from_array(values, chunks=(7, 2)), 0
    )
    assert found.chunks == into.chunks
    np.testing.assert_allclose(found.compute(), expected)


def test_single_matrices_of_several_chunks_go_to_dasks_own_algorithms(xp):
    a = np.random.default_rng(0).uniform(size=(4, 4)) + 4 * np.eye(4)
    whole, spread = da.from_array(a), da.from_array(a, chunks=2)
    for f in (
        lambda x: xp.sum(xp.linalg.inv(x)),
        lambda x: xp.sum(xp.linalg.solve(x, x[:, :1])),
        lambda x: xp.sum(xp.linalg.cholesky(x @ x.T) ** 2),
        lambda x: xp.linalg.det(x),
    ):
        # Some of the gradients are 0 but for rounding.
        expected = ag.grad(f)(whole).compute()
        np.testing.assert_allclose(ag.grad(f)(spread).compute(), expected, atol=1e-14)
    for upper in (False, True):
        found = xp.linalg.cholesky(spread @ spread.T, upper=upper).data.compute()
        np.testing.assert_allclose(found, np.linalg.cholesky(a @ a.T, upper=upper), atol=1e-12)
    tall = da.from_array(np.random.default_rng(1).uniform(size=(8, 2)), chunks=(4, 2))
    triangle = lambda x: xp.sum(xp.abs(xp.linalg.qr(x)[1]))  # noqa: E731
    values = lambda x: xp.sum(xp.linalg.svd(x, full_matrices=False)[1])  # noqa: E731
    for f in (triangle, values):
        found = ag.grad(f)(tall).compute()
        expected = ag.grad(f)(tall.rechunk(-1)).compute()
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-12)


def test_matrices_in_any_chunks_are_solved(xp):
    a, b = np.random.default_rng(0).uniform(0, 1, (4, 4)) + 4 * np.eye(4), np.ones(4)
    for chunks in ((2, 2), (4, 1), (3, 4), (1, 4)):
        found = xp.linalg.solve(da.from_array(a, chunks=chunks), da.from_array(b))
        np.testing.assert_allclose(found.data.compute(), np.linalg.solve(a, b), rtol=1e-12)


def test_stacks_of_matrices_may_have_other_chunks_than_what_they_are_solved_for(xp):
    rng = np.random.default_rng(0)
    a, b = rng.uniform(0, 1, (4, 3, 3)) + 3 * np.eye(3), rng.uniform(size=(4, 3, 2))
    for chunks in (1, (3, 2, 1), (4, 3, 3)):
        found = xp.linalg.solve(da.from_array(a, chunks=chunks), da.from_array(b, chunks=(2, 1, 2)))
        np.testing.assert_allclose(found.data.compute(), np.linalg.solve(a, b), rtol=1e-12)


def test_every_matrix_may_have_its_own_tolerance(xp):
    x = np.stack([np.diag([1.0, 0.1])] * 3)
    rtol = np.array([0.5, 0.01, 0.5])
    chunked, tolerances = da.from_array(x, chunks=(1, 2, 2)), da.from_array(rtol, chunks=2)
    rank = xp.linalg.matrix_rank(chunked, rtol=tolerances)
    assert rank.data.compute().tolist() == [1, 2, 1]
    found = xp.linalg.pinv(chunked, rtol=tolerances).data.compute()
    np.testing.assert_allclose(found, np.linalg.pinv(x, rtol=rtol), atol=1e-15)


@pytest.mark.parametrize(
    "shape", [(4, 3, 2), (4, 1, -1, 2), (2, 2, 2, 3), (8, 3), (3, 8), (3, 2, 4)]
)
def test_arrays_of_many_chunks_take_any_shape(xp, shape):
    x = np.arange(24.0).reshape(4, 2, 3)
    for chunks in ((1, 2, 3), (2, 1, 3), (4, 2, 2)):
        found = xp.reshape(da.from_array(x, chunks=chunks), shape)
        np.testing.assert_array_equal(found.data.compute(), x.reshape(shape))
    chunks = xp.reshape(da.from_array(x, chunks=(1, 2, 3)), (4, 3, 2)).data.chunks
    assert chunks[0] == (1, 1, 1, 1)  # which is the same axis in both


def test_empty_arrays_take_any_shape_without_elements(xp):
    x = da.ones((2, 0, 3))
    for shape in ((0,), (0, 0), (5, 0), (3, -1)):
        found = xp.reshape(x, shape)
        assert found.shape == found.data.compute().shape == np.ones((2, 0, 3)).reshape(shape).shape
    with pytest.raises(ValueError, match="reshape"):
        xp.reshape(x, (2, 3))


@pytest.mark.parametrize(
    "meet",
    [
        lambda x, b: x.data @ b,
        lambda x, b: b * x.data[0],
        lambda x, b: b * x[0],
        lambda x, b: np.dot(x.data, b),
        lambda x, b: np.concatenate([b, x[0]]),
        lambda x, b: ag.namespace("numpy").matmul(x.data, b),
        lambda x, b: ag.namespace("numpy").asarray(x),
        lambda x, b: ag.Variable(b.data).__setitem__(0, x[0, 0]),
    ],
)
def test_a_parameter_is_to_move_to_a_lazy_matrix_and_not_the_matrix_to_it(meet):
    x, b = ag.namespace("dask").ones((4, 3)), ag.Variable(np.ones(3))
    with pytest.raises(MixedBackendsError, match=r"ag\.asarray\(b, backend='dask'\)"):
        meet(x, b)
    moved = ag.asarray(b, backend="dask")
    (x @ moved).sum().backward()
    assert b.grad.tolist() == [4.0, 4.0, 4.0]


def test_other_arrays_move_to_the_lazy_ones():
    x, b = ag.namespace("dask").ones((4, 3)), ag.Variable(np.ones(3))
    with pytest.raises(MixedBackendsError, match=r"ag\.asarray\(x, backend='dask'\)"):
        x @ b


@pytest.mark.parametrize("shape", [(2, 1, 2), (1, 2), (2,), ()])
def test_writes_at_keys_with_new_axes(shape):
    expected, value = np.zeros((2, 2)), np.arange(1.0, 1.0 + np.prod(shape, dtype=int))
    expected[:, None, :] = value.reshape(shape)
    x = ag.Variable(da.zeros((2, 2)))
    v = ag.Variable(da.asarray(value.reshape(shape)))
    y = x * 1.0
    y[:, None, :] = v
    np.testing.assert_array_equal(np.asarray(y.detach()), expected)
    ag.namespace("dask").sum(y).backward()
    np.testing.assert_array_equal(np.asarray(v.grad), np.full(shape, 4.0 / max(value.size, 1)))
    np.testing.assert_array_equal(np.asarray(x.grad), 0.0)


def test_a_write_of_unknown_size_says_what_to_do():
    y = ag.Variable(da.asarray([1.0, -2.0])) * 1.0
    with pytest.raises(UnsupportedArrayError, match=r"xp\.where\(mask, value, x\)"):
        y[y > 0] += 1.0
    np.testing.assert_array_equal(np.asarray(y.detach()), [1.0, -2.0])


@pytest.mark.parametrize("key", [np.asarray([], dtype=np.int64), (slice(0, 0), [0, 1])])
def test_what_is_written_nowhere_has_a_shape_that_fits(key):
    x = da.zeros((3, 4))
    y = ag.Variable(x) * 1.0
    y[key] = 7.0
    with pytest.raises(ValueError, match="shape mismatch"):
        y[key] = da.ones(7)
    np.testing.assert_array_equal(np.asarray(y.detach()), np.zeros((3, 4)))
