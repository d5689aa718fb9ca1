"""Moving arrays between backends, with their gradients: NumPy's and the tested one."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._plugins.backends import backend_named
from agnograd.errors import (
    MixedBackendsError,
    NoGradientError,
    RuleError,
    UnsupportedArrayError,
)
from arrays import leaf, values


@pytest.fixture
def here(backend):
    """Return the name of a backend that is not the tested one."""
    return "strict" if backend == "numpy" else "numpy"


@pytest.fixture
def x(here):
    """Return a leaf on the other backend."""
    return leaf(ag.namespace(here), [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


def name_of(x):
    return x.__array_namespace__().__package__.removeprefix("agnograd.")


def cubed(x, there):
    """Compute on both backends: 3 x sin(x^2), of which the sine is taken elsewhere."""
    y = ag.asarray(x * x, backend=there)
    sine = ag.asarray(y.__array_namespace__().sin(y), backend=x)
    return 3.0 * x * sine


def test_values_dtypes_and_shapes_are_as_they_were(here, backend):
    xp = ag.namespace(here)
    for raw in (
        xp.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=xp.float32),
        xp.asarray([1 + 2j, 3 - 1j], dtype=xp.complex128),
        xp.asarray(2.5, dtype=xp.float64),
        xp.zeros((0, 3), dtype=xp.float64),
        xp.asarray([1, -2, 3], dtype=xp.int64),
        xp.asarray([True, False]),
        xp.asarray([float("nan"), float("inf")], dtype=xp.float64),
    ):
        there = ag.asarray(raw, backend=backend)
        assert name_of(there) == backend
        assert there.shape == raw.shape
        assert there.dtype == backend_named(backend).dtype(str(raw.dtype).rpartition(".")[2])
        back = ag.asarray(there, backend=here)
        assert back.dtype == raw.dtype
        np.testing.assert_array_equal(values(back), values(raw))
        assert not there.requires_grad


def test_strides_of_all_kinds(here, backend):
    xp = ag.namespace(here)
    x = xp.reshape(xp.asarray([float(i) for i in range(12)], dtype=xp.float64), (3, 4))
    for part in (x[::-1, ::-2], x.T, x[:, 1], xp.broadcast_to(x[0, :], (2, 4)), x[1, 2]):
        np.testing.assert_array_equal(values(ag.asarray(part, backend=backend)), values(part))


def test_the_same_backend_gives_the_same_variable(x, here):
    assert ag.asarray(x) is x
    assert ag.asarray(x, backend=here) is x
    assert ag.asarray(x, backend=x) is x
    assert ag.asarray(x, dtype="float32").requires_grad


def test_gradients_move_back(x, here, backend):
    there = ag.asarray(x, backend=backend)
    assert there.requires_grad
    assert not there.is_leaf
    assert there.node.op.backend.name == backend
    there.__array_namespace__().sum(there * there).backward()
    assert name_of(x.grad) == here
    assert x.grad.dtype == x.dtype
    np.testing.assert_allclose(values(x.grad), 2 * values(x))


def test_derivatives_of_every_order(x, backend):
    ag.check_grad(lambda x: cubed(x, backend), x.data)

    def second(x):
        return ag.grad(lambda x: _sum(ag.grad(lambda x: _sum(cubed(x, backend)))(x) ** 2))(x)

    def alone(x):
        xp = x.__array_namespace__()
        return xp.sum(3.0 * x * xp.sin(x * x))

    expected = ag.grad(lambda x: _sum(ag.grad(alone)(x) ** 2))(x.data)
    np.testing.assert_allclose(np.asarray(second(x.data)), np.asarray(expected), rtol=1e-10)


def _sum(x):
    return x.__array_namespace__().sum(x)


def test_complex_gradients(here, backend):
    xp = ag.namespace(here)
    z = xp.asarray([1 + 2j, -0.5 + 1j], dtype=xp.complex128).data

    def f(z):
        there = ag.asarray(z, backend=backend)
        names = there.__array_namespace__()
        return ag.asarray(names.abs(there * there), backend=here)

    ag.check_grad(f, z)


def test_forward_mode_and_jacobians(x, here, backend):
    tangent = ag.namespace(here).ones_like(x)
    value, pushed = ag.jvp(lambda x: cubed(x, backend), x.data, tangent.data)
    raw = values(x)
    np.testing.assert_allclose(np.asarray(value), 3 * raw * np.sin(raw**2))
    slope = 3 * np.sin(raw**2) + 6 * raw**2 * np.cos(raw**2)
    np.testing.assert_allclose(np.asarray(pushed), slope)

    def there(x):
        y = ag.asarray(x * x, backend=backend)
        return y.__array_namespace__().sin(y)

    vector = x.data[0, :]
    for mode in ("forward", "reverse"):
        jacobian = ag.jacobian(there, mode=mode)(vector)
        assert type(jacobian) is type(vector)  # on the argument's backend, as gradients are
        expected = np.diag(2 * raw[0] * np.cos(raw[0] ** 2))
        np.testing.assert_allclose(np.asarray(jacobian), expected, atol=1e-14)
        connected = ag.jacobian(there, mode=mode)(x[0, :])
        assert name_of(connected) == here
        if mode == "reverse":
            assert connected.requires_grad
    tangents = ag.jvp(there, vector, ag.namespace(here).ones_like(vector).data)[1]
    assert name_of(ag.Variable(tangents)) == backend


def test_checkpoints_on_several_backends(x, here, backend):
    there = ag.asarray(leaf(ag.namespace(here), 2.0), backend=backend).detach()
    scale = ag.Variable(there.data)

    @ag.checkpoint
    def block(x, scale):
        y = scale * ag.asarray(x, backend=scale)
        return x * x, y * y, ag.asarray(y, backend=x)

    def loss(x, scale):
        square, far, near = block(x, scale)
        return _sum(square) + ag.asarray(_sum(far), backend=here) + _sum(near)

    for create_graph in (False, True):
        found = ag.autodiff.grad(loss(x, scale), [x, scale], create_graph=create_graph)
        np.testing.assert_allclose(values(found[0]), 2 * values(x) + 8 * values(x) + 2)
        assert name_of(found[1]) == backend
        np.testing.assert_allclose(
            values(found[1]), np.sum(4 * values(x) ** 2) + np.sum(values(x)), rtol=1e-12
        )
    second = ag.autodiff.grad(_sum(found[0]), [x, scale])
    np.testing.assert_allclose(values(second[0]), np.full((2, 3), 10.0))
    np.testing.assert_allclose(values(second[1]), np.sum(8 * values(x)) + 6, rtol=1e-12)
    # Only one of the results is used: the others have no cotangent, on any backend.
    (alone,) = ag.autodiff.grad(_sum(block(x, scale)[2]), [x])
    np.testing.assert_allclose(values(alone), np.full((2, 3), 2.0))


def test_a_jacobian_of_arguments_on_two_backends(here, backend):
    a = leaf(ag.namespace(here), [1.0, 2.0]).data
    b = leaf(ag.namespace(backend), [3.0, 5.0]).data
    for mode in ("forward", "reverse"):
        of_a, of_b = ag.jacobian(
            lambda a, b: a * ag.asarray(b, backend=here), argnums=(0, 1), mode=mode
        )(a, b)
        assert isinstance(of_a, type(a))
        assert isinstance(of_b, type(b))
        np.testing.assert_allclose(np.asarray(of_a), np.diag([3.0, 5.0]))
        np.testing.assert_allclose(np.asarray(ag.Variable(of_b).detach()), np.diag([1.0, 2.0]))


class Elsewhere(ag.Function):
    """A product whose result, but not whose arguments, are on another backend."""

    def __init__(self, backend):
        self.backend = backend

    def forward(self, xp, x, y):
        self.save(x, y, x)
        return ag.asarray(x * y, backend=self.backend).data

    def backward(self, xp, g):
        x, y, _ = self.saved
        g = ag.asarray(g, backend=x)
        if not isinstance(x, ag.Variable):
            g = g.data
        return g * y, g * x

    def accumulate(self, xp, g, into):
        raise AssertionError("buffers of another backend")


def test_a_function_with_results_elsewhere(x, here, backend):
    def f(x, y):
        return ag.asarray(Elsewhere(backend)(x, y), backend=here)

    y = leaf(ag.namespace(here), [[1.0, 2.0, -1.0], [0.5, 3.0, 1.0]])
    ag.check_grad(f, x.data, y.data)
    constant = y.detach()
    ag.check_grad(lambda x: f(x, constant), x.data)
    _, pushed = ag.jvp(lambda x: f(x, constant), x.data, x.data)
    np.testing.assert_allclose(np.asarray(pushed), values(x * y))


def test_a_result_on_the_wrong_backend_is_an_error(x, backend):
    class Wrong(Elsewhere):
        def forward(self, xp, x, y):
            return x * y

    with pytest.raises(RuleError, match=f"array of backend '{backend}'"):
        Wrong(backend)(x, x)


def test_lists_scalars_and_dtypes(x, here, backend):
    xp = ag.namespace(backend)
    assert name_of(ag.asarray(1.5)) == "numpy"
    assert name_of(ag.asarray([1, 2], backend=backend)) == backend
    first, other = leaf(ag.namespace(here), 3.0), leaf(xp, 4.0)
    both = ag.asarray([[first, other], [1.0, first]], backend=backend)
    _sum(both * both).backward()
    assert float(values(first.grad)) == 12.0
    assert float(values(other.grad)) == 8.0
    narrow = ag.asarray(x, backend=backend, dtype="float32")
    assert narrow.dtype == backend_named(backend).dtype("float32")
    assert ag.asarray(narrow, backend=here, dtype="float64").dtype == x.dtype
    with pytest.raises(UnsupportedArrayError, match="no dtype 'float7'"):
        ag.asarray(x, backend=backend, dtype="float7")
    _sum(narrow).backward()
    assert x.grad.dtype == x.dtype
    assert ag.asarray(x, backend=backend, device=narrow.device).device == narrow.device


def test_writes_to_one_do_not_show_in_the_other(here, backend):
    x = ag.namespace(here).zeros(3, dtype=ag.namespace(here).float64)
    y = ag.asarray(x, backend=backend)
    x[0] = 1.0
    y[1] = 2.0
    z = ag.asarray(y, backend=here)
    z[2] = 3.0
    assert values(x).tolist() == [1.0, 0.0, 0.0]
    assert values(y).tolist() == [0.0, 2.0, 0.0]
    assert values(z).tolist() == [0.0, 2.0, 3.0]


def test_mixing_backends_names_the_way(x, backend):
    xp = ag.namespace(backend)
    y = leaf(xp, [1.0])
    move = rf"ag.asarray\(x, backend='{backend}'\)"
    ops = [lambda: xp.add(y, x), lambda: y + x]
    if not backend_named(backend).accepts(x.data):
        ops += [lambda: xp.add(y, x.data), lambda: y + x.data]
    for op in ops:
        with pytest.raises(MixedBackendsError, match=move):
            op()
    for op in (lambda: xp.asarray(x), lambda: ag.autodiff.backward(xp.sum(y), x)):
        with pytest.raises(MixedBackendsError, match=move):
            op()


def test_hooks_see_moves_as_ops(x, here, backend):
    seen = []

    class Look:
        @ag.extend.hookimpl
        def forward_postprocess(self, op, inputs, outputs):
            seen.append((op.name, op.chapter, op.backend.name, len(inputs), len(outputs)))

        @ag.extend.hookimpl
        def backward_postprocess(self, op, grad_outputs, grad_inputs):
            seen.append(tuple(name_of(ag.Variable(g)) for g in (*grad_outputs, *grad_inputs)))

    ones = ag.asarray(np.ones((2, 3)), backend=backend)
    with ag.hooks(Look(), "nan", "timer", "memory", "offload"):
        ag.asarray(x, backend=backend).backward(ones)
    assert seen == [("Move", "function", backend, 1, 1), (backend, here)]


def test_managers_and_no_grad(x, here, backend):
    with ag.no_grad():
        assert not ag.asarray(x, backend=backend).requires_grad
    with ag.GradManager() as manager:
        manager.attach(x)
        assert not ag.asarray(leaf(ag.namespace(here), 1.0), backend=backend).requires_grad
        manager.backward(_sum(ag.asarray(x, backend=backend)))
    np.testing.assert_array_equal(values(x.grad), np.ones((2, 3)))


def test_hooks_on_values_get_gradients_of_their_own_backend(x, here, backend):
    y = ag.asarray(x, backend=backend)
    names = []
    y.register_hook(lambda g: names.append(name_of(g)))
    x.register_hook(lambda g: names.append(name_of(g)))
    y.retain_grad()
    _sum(y).backward()
    assert names == [backend, here]
    assert name_of(y.grad) == backend


def test_what_cannot_move_says_so(x):
    class Stranger:
        def __dlpack__(self):
            raise BufferError

    with pytest.raises(UnsupportedArrayError, match="not an array of an installed backend"):
        ag.asarray(Stranger(), backend="numpy")
    half = np.ones(2, dtype=np.float16)
    with pytest.raises(UnsupportedArrayError, match=r"float16 cannot be moved.*dtype='float32'"):
        ag.asarray(half, backend="strict")
    assert name_of(ag.asarray(half, backend="strict", dtype="float64")) == "strict"
    with pytest.raises(LookupError, match="no backend is named 'nothing'"):
        ag.asarray(x, backend="nothing")


def test_jax_without_64_bits_narrows_nothing(x):
    jax = pytest.importorskip("jax", reason="JAX: pip install 'agnograd[jax]'")
    with jax.enable_x64(False):
        for wide in (x, np.arange(3), np.ones(2, dtype=complex)):
            with pytest.raises(UnsupportedArrayError, match="'jax', which has no such dtype"):
                ag.asarray(wide, backend="jax")
        there = ag.asarray(x, backend="jax", dtype="float32")
        _sum(there * there).backward()
    assert x.grad.dtype == x.dtype
    np.testing.assert_allclose(values(x.grad), 2 * values(x))


def test_dask_arrays(x):
    da = pytest.importorskip("dask.array", reason="Dask: pip install 'agnograd[dask]'")
    lazy = da.ones((4, 2), chunks=2)
    xp = ag.namespace("numpy")
    with pytest.raises(MixedBackendsError, match="dask"):
        xp.add(xp.ones((4, 2)), lazy)
    v = ag.Variable(lazy)
    xp.sum(ag.asarray(v, backend="numpy") ** 2).backward()
    assert v.grad.data.chunks == lazy.chunks
    unknown = v[ag.asarray(lazy > 0, backend="dask")]
    with pytest.raises(NoGradientError, match="compute_chunk_sizes"):
        ag.asarray(unknown, backend="numpy")
    assert ag.asarray(unknown.detach(), backend="numpy").shape == (8,)
