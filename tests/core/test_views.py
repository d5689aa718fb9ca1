"""Writes: they are recorded, reach the base and the other views, and change nothing saved."""

import numpy as np
import pytest

import agnograd as ag
import agnograd.extend
from agnograd.errors import NoGradientError
from arrays import leaf, values
from tests.helpers.memory import peak_of


def test_a_write_is_recorded_for_both_values(xp):
    x, v = leaf(xp, [1.0, 2.0, 3.0]), leaf(xp, 10.0)
    y = x * 1.0
    y[1] = v
    xp.sum(y * y).backward()
    np.testing.assert_array_equal(values(y), [1.0, 10.0, 3.0])
    np.testing.assert_array_equal(values(x.grad), [2.0, 0.0, 6.0])
    assert v.grad.item() == 20.0


def test_a_write_to_a_leaf_leaves_its_gradient_with_it(xp):
    x = leaf(xp, [1.0, 2.0, 3.0])
    x[0] = 5.0
    assert not x.is_leaf
    xp.sum(x * x).backward()
    np.testing.assert_array_equal(values(x.grad), [0.0, 4.0, 6.0])


def test_saved_values_do_not_change(xp):
    x = leaf(xp, [1.0, 2.0, 3.0])
    y = x * 1.0
    z = y * y
    y[...] = 100.0
    xp.sum(z).backward()
    np.testing.assert_array_equal(values(x.grad), [2.0, 4.0, 6.0])


def test_a_raw_array_that_a_user_gave_is_never_written():
    raw = np.ones(3)
    x = ag.Variable(raw, requires_grad=False)
    x[0] = 5.0
    x += 1.0
    np.testing.assert_array_equal(raw, 1.0)
    np.testing.assert_array_equal(x.data, [6.0, 2.0, 2.0])


# Each way to take a view, and NumPy's own.
VIEWS = {
    "slice": (lambda xp, x: x[1:, ...], lambda x: x[1:]),
    "row": (lambda xp, x: x[1, ...], lambda x: x[1]),
    "newaxis": (lambda xp, x: x[None, ...], lambda x: x[None]),
    "permute_dims": (lambda xp, x: xp.permute_dims(x, (1, 0)), np.transpose),
    "matrix_transpose": (lambda xp, x: x.mT, np.transpose),
    "T": (lambda xp, x: x.T, np.transpose),
    "linalg": (lambda xp, x: xp.linalg.matrix_transpose(x), np.transpose),
    "reshape": (lambda xp, x: xp.reshape(x, (-1,)), lambda x: x.reshape(-1)),
    "flip": (lambda xp, x: xp.flip(x, axis=0), lambda x: x[::-1]),
    "moveaxis": (lambda xp, x: xp.moveaxis(x, 0, 1), np.transpose),
    "expand_dims": (lambda xp, x: xp.expand_dims(x, axis=0), lambda x: x[None]),
    "squeeze": (lambda xp, x: xp.squeeze(x[None, ...], axis=0), lambda x: x),
    "twice": (lambda xp, x: xp.reshape(x, (-1,))[2:][::-1], lambda x: x.reshape(-1)[2:][::-1]),
}


@pytest.mark.parametrize(("take", "numpys"), VIEWS.values(), ids=VIEWS.keys())
def test_a_write_through_a_view_reaches_the_base(xp, take, numpys):
    raw = np.arange(1.0, 7.0).reshape(3, 2)
    expected = raw.copy()
    view = numpys(expected)
    view[0] = -1.0
    once = expected.copy()
    view *= 2.0
    weights = np.zeros_like(raw)
    numpys(weights)[...] = 2.0
    numpys(weights)[0] = 0.0
    weights[expected == raw] = 1.0

    x, v = leaf(xp, raw.tolist()), leaf(xp, -1.0)
    y = x * 1.0
    taken = take(xp, y)
    taken[0, ...] = v
    np.testing.assert_array_equal(values(y), once)
    taken *= 2.0
    np.testing.assert_array_equal(values(y), expected)
    np.testing.assert_array_equal(values(taken), view)
    xp.sum(y).backward()
    np.testing.assert_array_equal(values(x.grad), weights)
    assert v.grad.item() == 2.0 * (expected == -2.0).sum()


@pytest.mark.parametrize("part", ["real", "imag"])
def test_a_write_through_a_part_of_a_complex_array_reaches_the_base(xp, part):
    raw = np.asarray([1.0 + 2.0j, 3.0 - 1.0j, -2.0 + 0.5j])
    expected = raw.copy()
    view = getattr(expected, part)
    view[0] = 5.0
    once = expected.copy()
    view *= 2.0
    weights = np.asarray([1.0 + 10.0j, 2.0 + 20.0j, 3.0 + 30.0j])
    gradient = weights.copy()
    passed = getattr(gradient, part)
    passed *= 2.0
    passed[0] = 0.0

    x, v = leaf(xp, raw.tolist(), "complex128"), leaf(xp, 5.0)
    y = x * 1.0
    taken = getattr(xp, part)(y)
    taken[0, ...] = v
    np.testing.assert_array_equal(values(y), once)
    taken *= 2.0
    np.testing.assert_array_equal(values(y), expected)
    np.testing.assert_array_equal(values(taken), view)
    re, im = (xp.asarray(w.tolist(), dtype=xp.float64) for w in (weights.real, weights.imag))
    xp.sum(re * xp.real(y) + im * xp.imag(y)).backward()
    np.testing.assert_array_equal(values(x.grad), gradient)
    assert v.grad.item() == 2.0 * getattr(weights[0], part)


def test_all_views_of_a_base_see_a_write(xp):
    x = leaf(xp, [[1.0, 2.0], [3.0, 4.0]])
    y = x * 1.0
    row, column, whole = y[0, ...], y[:, 0], xp.reshape(y, (4,))
    whole[0] = 9.0
    assert row[0].item() == column[0].item() == y[0, 0].item() == 9.0
    xp.sum(row * column).backward()
    np.testing.assert_array_equal(values(x.grad), [[0.0, 3.0], [2.0, 0.0]])


def test_adding_in_place_at_an_index_counts_once(xp):
    x, v = leaf(xp, [1.0, 2.0, 3.0]), leaf(xp, [10.0, 20.0])
    y = x * 1.0
    y[:2] += v
    y[2] += v[0]
    np.testing.assert_array_equal(values(y), [11.0, 22.0, 13.0])
    xp.sum(y * xp.asarray([1.0, 2.0, 3.0], dtype=xp.float64)).backward()
    np.testing.assert_array_equal(values(x.grad), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(values(v.grad), [4.0, 2.0])


def test_adding_in_place_at_a_mask(xp):
    x = leaf(xp, [1.0, -2.0, 3.0])
    y = x * 1.0
    y[x > 0] += 1.0
    y[x < 0] = 0.0
    np.testing.assert_array_equal(values(y), [2.0, 0.0, 4.0])
    xp.sum(y * y).backward()
    np.testing.assert_array_equal(values(x.grad), [4.0, 0.0, 8.0])


def test_in_place_operators_keep_the_object_and_the_dtype(xp):
    x = y = leaf(xp, [1.0, 2.0]) * 1.0
    for apply in ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__"):
        y = getattr(y, apply)(2.0)
    assert x is y
    integers = xp.asarray([1, 2])
    with pytest.raises(TypeError):
        integers /= 2
    np.testing.assert_array_equal(values(integers), [1, 2])
    with pytest.raises(ValueError, match=r"broadcast|shape"):
        x += xp.ones((3, 2), dtype=xp.float64)
    assert x.shape == (2,)


def test_in_place_casts_as_the_library_does():
    xp = ag.namespace("numpy")
    x = xp.asarray([1.0, 2.0], dtype=xp.float32)
    x += xp.asarray([1.0, 1.0], dtype=xp.float64)
    assert x.dtype == np.float32
    x = ag.namespace("strict").ones(2, dtype=ag.namespace("strict").float32)
    with pytest.raises(TypeError):
        x += ag.namespace("strict").ones(2, dtype=ag.namespace("strict").float64)


def test_a_step_under_no_grad_changes_a_leaf_in_place(xp):
    x = leaf(xp, [1.0, 2.0])
    xp.sum(x * x).backward()
    with ag.no_grad():
        x -= 0.5 * x.grad
        x[0] += 7.0
    assert x.is_leaf
    np.testing.assert_array_equal(values(x), [7.0, 0.0])
    x.grad = None
    xp.sum(x * x).backward()
    np.testing.assert_array_equal(values(x.grad), [14.0, 0.0])


def test_a_view_that_is_looked_at_under_no_grad_stays_connected(xp):
    x, v = leaf(xp, [1.0, 2.0]), leaf(xp, 3.0)
    y = x * 1.0
    view = y[:1]
    y[0] = v
    with ag.no_grad():
        assert view.item() == 3.0
    xp.sum(view).backward()
    assert v.grad.item() == 1.0


def test_a_failing_write_changes_nothing(xp):
    x = leaf(xp, [1.0, 2.0])
    y = x * 1.0
    view = y[:1]
    with pytest.raises((ValueError, IndexError)):
        view[:] = xp.ones((5,), dtype=xp.float64)
    with pytest.raises(IndexError):
        y[7] = 1.0
    np.testing.assert_array_equal(values(y), [1.0, 2.0])
    np.testing.assert_array_equal(values(view), [1.0])


def test_a_chain_of_views_may_be_long(xp):
    y = view = xp.zeros((2,), dtype=xp.float64)
    for _ in range(3000):
        view = view[::-1]
    y[0] = 1.0
    np.testing.assert_array_equal(values(view), [1.0, 0.0])
    view[0] = 5.0
    np.testing.assert_array_equal(values(y), [5.0, 0.0])


def test_writes_differentiate_twice(xp):
    def f(x):
        y = x * x
        view = y[1:]
        view *= x[0]
        y[0] += view[0]
        return xp.sum(y * y)

    ag.check_grad(f, xp.asarray([0.5, -1.5, 2.0], dtype=xp.float64).data)


def test_copies_are_not_views(xp):
    x = xp.zeros((2, 2), dtype=xp.float64)
    xp.reshape(x, (4,), copy=True)[0] = 1.0
    (x + 0.0)[0, 0] = 1.0
    x[x == 0] += 0.0
    xp.asarray(x, copy=True)[0, 0] = 1.0
    np.testing.assert_array_equal(values(x), 0.0)
    xp.asarray(x, copy=False)[0, 0] = 1.0
    assert x[0, 0].item() == 1.0


def test_a_view_cannot_become_a_leaf(xp):
    view = xp.zeros((2,), dtype=xp.float64)[:1]
    with pytest.raises(NoGradientError, match=r"ag\.Variable\(x\.data\)"):
        view.requires_grad = True
    assert ag.Variable(view.data).is_leaf


def test_what_was_broadcast_follows_its_base_and_refuses_writes(xp):
    x = leaf(xp, [1.0, 2.0])
    y = x * 1.0
    wide = xp.broadcast_to(y, (3, 2))
    with pytest.raises(ValueError, match=r"read-only.*xp\.asarray\(x, copy=True\)"):
        wide[0, 0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        wide += 1.0
    np.testing.assert_array_equal(values(y), [1.0, 2.0])
    y[0] = 7.0
    assert wide[2, 0].item() == 7.0
    copy = xp.asarray(wide, copy=True)
    copy[0, 0] = 0.0
    xp.sum(copy * copy).backward()
    np.testing.assert_array_equal(values(x.grad), [0.0, 12.0])


# -- writes in place -------------------------------------------------------------------------------


def stepped(n):
    """Fill an array step by step, as a time-stepping scheme does."""
    numpy = ag.namespace("numpy")
    x = ag.Variable(np.asarray([0.5, 0.25]))
    y = numpy.zeros((n, 2))
    y[0, ...] = x
    buffers = set()
    for t in range(n - 1):
        y[t + 1, ...] = numpy.sin(y[t, ...]) * 1.1
        buffers.add(id(y._raw))
    return x, y, buffers


def test_filling_an_array_step_by_step_copies_nothing():
    x, y, buffers = stepped(50)
    assert len(buffers) == 1
    expected, state = np.zeros((50, 2)), np.asarray([0.5, 0.25])
    derivative, total = np.ones(2), np.zeros(2)
    for t in range(50):
        expected[t], total = state, total + derivative
        derivative = derivative * np.cos(state) * 1.1
        state = np.sin(state) * 1.1
    np.testing.assert_array_equal(y.data, expected)
    ag.namespace("numpy").sum(y).backward()
    np.testing.assert_allclose(x.grad.data, total, rtol=1e-12)


def test_adding_in_place_step_by_step_copies_nothing():
    numpy = ag.namespace("numpy")
    y = numpy.zeros((20, 3))
    y[0, ...] = ag.Variable(np.ones(3))
    buffers = set()
    for t in range(19):
        y[t + 1, ...] += y[t, ...] * 2.0
        buffers.add(id(y._raw))
    assert len(buffers) == 1
    np.testing.assert_array_equal(y.data[-1], np.full(3, 2.0**19))


@pytest.mark.parametrize(
    "hold",
    [
        lambda xp, y: y.data,
        lambda xp, y: y.detach(),
        lambda xp, y: y * y,
        lambda xp, y: xp.sin(y[1:]),
        lambda xp, y: y[1:],
        lambda xp, y: xp.reshape(y, (2, 2)),
        lambda xp, y: memoryview(y.data),
        lambda xp, y: np.asarray(y.data)[::2],
        lambda xp, y: [y.data],
    ],
    ids=["data", "detached", "saved", "part", "view", "reshaped", "buffer", "raw view", "list"],
)
def test_a_write_copies_what_anything_else_holds(hold):
    numpy = ag.namespace("numpy")
    x = ag.Variable(np.arange(1.0, 5.0))
    y = x * 1.0
    y[0] = 1.0  # from now on y has an array of its own
    held = hold(numpy, y)
    address = id(y._raw)
    y[...] = 100.0
    assert id(y._raw) != address
    np.testing.assert_array_equal(y.data, 100.0)
    del held
    address = id(y._raw)
    y[...] = 10.0
    assert id(y._raw) == address


def test_a_write_that_a_hook_may_undo_is_a_copy():
    class Fails:
        @ag.extend.hookimpl
        def forward_postprocess(self, op):
            if op.name == "__setitem__":
                raise RuntimeError("no")

    y = ag.Variable(np.arange(3.0)) * 1.0
    y[0] = 5.0
    with ag.hooks(Fails()), pytest.raises(RuntimeError, match="no"):
        y[1] = 7.0
    np.testing.assert_array_equal(y.data, [5.0, 1.0, 2.0])


def test_a_failing_write_in_place_changes_nothing():
    y = ag.Variable(np.arange(3.0)) * 1.0
    y[0] = 5.0
    for key, value in ((3, 1.0), (slice(0, 2), np.ones(3)), (0, "one")):
        with pytest.raises((IndexError, ValueError)):
            y[key] = value
    np.testing.assert_array_equal(y.data, [5.0, 1.0, 2.0])
    ag.namespace("numpy").sum(y).backward()


@pytest.mark.accelerated
def test_many_writes_to_a_large_array_take_the_memory_of_a_few():
    numpy = ag.namespace("numpy")
    x = ag.Variable(np.ones(100))

    def write():
        y = numpy.zeros(100_000)
        for i in range(100):
            y[i * 1000] = x[i] * 2.0
        numpy.sum(y).backward()

    assert peak_of(write) < 3 * 100_000 * 8
    np.testing.assert_array_equal(x.grad.data, 2.0)
