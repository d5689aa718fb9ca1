"""What is a view, and what a copy: as in NumPy, on every backend."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._ops.rule_helpers import reshaped_strides
from agnograd.errors import UnsupportedFunctionError
from arrays import leaf, values

# Expressions of an array of shape (2, 3, 4): views of it, in NumPy's arrays, or copies.
EXPRESSIONS = """
x[0, ...]
x[0, 1, :]
x[0, 1, 2]
x[0, 1, 2, ...]
x[...]
x[None, ...]
x[0, None, 1, :]
x[::2, ...]
x[:, ::-1, :]
x[np.int64(1), :, :]
x[np.int64(1), np.int64(1), np.int64(1)]
list(x[0, ...])[0]
list(x[0, 0, :])[0]
next(iter(x))
np.reshape(x, (6, 4))
np.swapaxes(x, 0, 1).reshape(-1)
np.swapaxes(x, 0, 1).reshape(3, 2, 4, 1)
np.transpose(x, (1, 0, 2)).reshape(6, 4)
np.transpose(x, (1, 0, 2)).reshape(3, 8)
np.transpose(x, (1, 0, 2)).reshape(3, 2, 2, 2)
x.transpose(2, 0, 1).reshape(4, 6)
x.transpose(2, 0, 1).reshape(8, 3)
np.flip(x).reshape(-1)
np.flip(x, 1).reshape(-1)
np.flip(x, 0).reshape(2, 12)
np.flip(x, (0, 1)).reshape(6, 4)
np.moveaxis(x, 0, -1).reshape(-1)
np.moveaxis(x, 0, -1).reshape(12, 2)
np.rot90(x, 3).reshape(-1)
np.rollaxis(x, 2).reshape(4, 6)
np.matrix_transpose(x).reshape(2, 12)
np.matrix_transpose(np.matrix_transpose(x)).reshape(-1)
np.expand_dims(x, (0, 2)).reshape(-1)
np.squeeze(x[:, :1, :]).reshape(-1)
x[:, :, 1:].reshape(-1)
x[:, 1:, :].reshape(2, 8)
x[:, 1:, :].reshape(-1)
x[0, 1:, :].reshape(-1)
x[..., ::2].reshape(2, 6)
x[..., ::2].reshape(12)
x[0, 0, ::-1].reshape(2, 2)
x[1:, 1:, :].reshape(1, 8)
x[:0, ...].reshape(0, 5)
np.broadcast_to(x, (2, 2, 3, 4))
np.broadcast_to(x, (2, 2, 3, 4)).reshape(-1)
np.broadcast_to(x[:, :1, :], (2, 3, 4)).reshape(2, 12)
np.unstack(x)[1].reshape(-1)
np.unstack(x, axis=1)[1].reshape(-1)
np.unstack(x, axis=2)[1].reshape(-1)
np.unstack(x, axis=2)[1].reshape(2, 3)
np.unstack(x[0, 0, :])[1]
np.ravel(x)
np.ravel(np.swapaxes(x, 0, 1))
np.ravel(x[..., ::2])
np.ravel(x[0, 0, ::2])
np.ravel(np.flip(x))
np.ravel(x[1:, ...])
np.ravel(np.swapaxes(x[:1, ...], 0, 1))
x.ravel()
x.flatten()
x.flat
np.swapaxes(x, 0, 1).flat
np.real(x).reshape(-1)
np.conj(x)
np.positive(x)
+x
np.diagonal(x)
np.diag(x[0, ...], 1)
np.linalg.diagonal(x)
x.diagonal().reshape(4, 2)
np.broadcast_arrays(x, x)[0]
np.broadcast_arrays(x, x[0, ...])[0]
np.split(x, 2)[0]
np.hsplit(x, 3)[1].reshape(-1)
np.vsplit(x, 2)[1].reshape(-1)
np.dsplit(x, 2)[1].reshape(2, 6)
np.atleast_3d(x)
np.concatenate([x])
np.stack([x])
np.copy(x)
x.copy()
np.astype(x, x.dtype)
np.astype(x, x.dtype, copy=False)
np.nan_to_num(x)
np.take(x, [0], axis=0)
np.roll(x, 0)
np.tile(x, 1)
np.repeat(x, 1, axis=0)
np.tril(x)
np.sort(x)
np.clip(x, 0, 100)
np.round(x)
np.pad(x, 0)
np.meshgrid(x[0, 0, :], x[0, :, 0], sparse=True)[0]
"""
EXPRESSIONS = EXPRESSIONS.strip().splitlines()
# The same, of keys that array-api-strict does not take.
WITH_ARRAYS = [
    "x[np.argmax(x[0, 0, :]) - 3, ...]",
    "x[1, :, np.argmin(x[0, 0])]",
    "x[x[:, 0, 0] > 2]",
]


def outcome(x, expression):
    """Return whether what an expression gives sees a write to x, and x a write to it."""
    seen = eval(expression, {"np": np, "x": x})

    def numbers(y):
        return (np.asarray(y.detach()) if isinstance(y, ag.Variable) else np.asarray(y)).tolist()

    before = numbers(seen)
    x[...] = -x
    sees = numbers(seen) != before
    before = numbers(x)
    if not hasattr(seen, "__setitem__"):
        return sees, "not written"  # one of NumPy's scalars
    try:
        seen[...] = 100.0
    except ValueError as error:
        return sees, "read-only" if "read-only" in str(error) else str(error)
    return sees, "written" if numbers(x) != before else "not written"


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_what_is_a_view_in_numpy_is_one(xp, expression):
    raw = np.arange(1.0, 25.0).reshape(2, 3, 4)
    expected = outcome(raw.copy(), expression)
    assert outcome(xp.asarray(raw.tolist(), dtype=xp.float64), expression) == expected
    tracked = leaf(xp, raw.tolist())
    assert outcome(tracked * 1.0, expression) == expected


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax", "dask"], indirect=True)
@pytest.mark.parametrize("expression", WITH_ARRAYS)
def test_an_integer_may_be_an_array(xp, expression):
    if expression == WITH_ARRAYS[-1] and "dask" in xp.__name__:
        pytest.skip("Dask does not know how much a mask selects")
    raw = np.arange(1.0, 25.0).reshape(2, 3, 4)
    tracked = leaf(xp, raw.tolist())
    y = tracked * 1.0
    assert outcome(y, expression) == outcome(raw.copy(), expression)
    z = tracked * 1.0
    eval(expression, {"np": np, "x": z})[...] = 2.0 * z[0, 0, 0]
    xp.sum(z * z).backward()
    assert values(tracked.grad).any()


def _swapped(y):
    first = y[0]
    y[0] = y[1]
    y[1] = first
    return y


def _sorted_by_hand(y):
    for i in range(1, y.shape[0]):
        j = i
        while j and y[j - 1] < y[j]:
            here, before = y[j], y[j - 1]
            y[j] = before
            y[j - 1] = here
            j -= 1
    return y


def _largest_first(y):
    rows = y.reshape(2, 3)
    row = rows[int(np.argmax(rows[:, 0])), ...]
    row *= 10.0
    rows[0, ...] += row
    return y


def _reshaped(y):
    z = np.swapaxes(y.reshape(2, 3), 0, 1).reshape(-1)
    z *= 10.0
    y += z
    return y


def _raveled(y):
    z = y.reshape(2, 3)
    turned, plain = z.T.ravel(), z.ravel()
    turned += 1.0
    plain[1:] *= turned[1:]
    return y


def _flipped(y):
    z = np.flip(y.reshape(3, 2), 0)
    z.reshape(-1)[0] = 50.0
    z.reshape(3, 1, 2)[0, ...] *= z.reshape(-1)[2]
    return y


def _iterated(y):
    for row in y.reshape(2, 3):
        row *= row[0]
        for element in row:
            element += 1.0
    return y


def _unstacked(y):
    first, second, *_ = np.unstack(y)
    second += first
    above, below = np.unstack(y.reshape(2, 3))
    above -= below
    return y


PROGRAMS = (_swapped, _sorted_by_hand, _largest_first, _reshaped, _raveled, _flipped, _iterated)
PROGRAMS = (*PROGRAMS, _unstacked)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_has_the_value_that_it_has_in_numpy(xp, program):
    raw = np.asarray([1.5, -0.5, 2.0, 3.0, 0.25, -2.0])
    x = leaf(xp, raw.tolist())
    y = program(x * 1.0)
    np.testing.assert_allclose(values(y), program(raw.copy()))
    weights = np.arange(1.0, 7.0)
    xp.sum(y * xp.asarray(weights.tolist(), dtype=xp.float64)).backward()
    step = 1e-6
    expected = [
        weights @ (program(raw + step * unit) - program(raw - step * unit)) / (2 * step)
        for unit in np.eye(6)
    ]
    np.testing.assert_allclose(values(x.grad), expected, atol=1e-7)


def test_without_a_copy_reshape_refuses_what_needs_one(xp):
    y = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises((ValueError, AttributeError)):  # the library may say it first
        xp.reshape(y.T, (4,), copy=False)


def test_real_and_imaginary_parts_lie_two_numbers_apart(xp):
    z = xp.asarray([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]], dtype=xp.complex128)
    xp.reshape(xp.real(z), (4,))[0] = 10.0
    xp.reshape(xp.imag(xp.matrix_transpose(z)), (4,))[0] = 20.0
    np.real(z).ravel()[0] = 30.0
    assert values(z)[0, 0] == 10.0 + 2.0j


@pytest.mark.parametrize("backend", ["numpy", "jax"], indirect=True)
def test_the_imaginary_part_of_a_real_array_is_read_only(xp):
    with pytest.raises(ValueError, match="read-only"):
        xp.imag(xp.asarray([1.0]))[:] = 3.0


def test_the_order_of_memory_is_refused_where_it_is_not_that_of_rows(xp):
    y = xp.asarray([[1.0, 2.0], [3.0, 4.0]])
    for order in ("K", "A"):
        np.testing.assert_array_equal(values(np.ravel(y, order)), [1.0, 2.0, 3.0, 4.0])
        with pytest.raises(UnsupportedFunctionError, match="transpose, then reshape"):
            np.ravel(y.T, order)


def test_elements_are_put_wherever_they_lie(xp):
    y = xp.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=xp.float64)
    np.put_along_axis(y.T, xp.asarray([1]), xp.asarray([9.0], dtype=xp.float64), axis=None)
    y.T.flat[2] = 8.0
    np.testing.assert_array_equal(values(y), [[1.0, 8.0], [9.0, 4.0]])


def test_strides_of_reshaped_arrays_are_numpys():
    rng = np.random.default_rng(0)
    shapes = [(24,), (2, 12), (12, 2), (4, 6), (6, 4), (2, 3, 4), (4, 3, 2), (3, 1, 8), (2, 2, 6)]
    views = 0
    for _ in range(3000):
        x = np.arange(96.0).reshape(4, 4, 6)[::-1, 1:3, ::2]
        x = np.arange(24.0).reshape(shapes[rng.integers(len(shapes))]) if rng.random() < 0.5 else x
        x = np.transpose(x, rng.permutation(x.ndim))
        x = np.flip(x, rng.integers(x.ndim)) if rng.random() < 0.3 else x
        shape = shapes[rng.integers(len(shapes))]
        found = reshaped_strides(x.shape, tuple(s // 8 for s in x.strides), shape)
        made = x.reshape(shape)
        assert (found is not None) == np.shares_memory(made, x)
        if found is not None:
            views += 1
            for length, one, other in zip(shape, found, made.strides, strict=True):
                assert length == 1 or 8 * one == other
    assert 500 < views < 2500
