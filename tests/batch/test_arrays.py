"""Arrays of many members: what a function does to one, and what it cannot do."""

import copy
import pickle
import threading
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import (
    BatchingError,
    BatchingWarning,
    MixedBackendsError,
    MixedBackendsWarning,
)
from arrays import host, leaf


def close(found, expected):
    found, expected = host(found), host(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.fixture
def x(xp):
    """Return four members of length three, both signs among them."""
    return xp.asarray(np.sin(np.arange(1.0, 13.0)).reshape(4, 3).tolist(), dtype=xp.float64).data


def single(xp, f, x):
    """Return a function's results for one member after the other."""
    return xp.stack([xp.asarray(f(xp.asarray(x)[k, ...])) for k in range(x.shape[0])])


def both(xp, f, x):
    """Compare a function's values and gradients with those of one member after the other."""
    close(ag.vmap(f)(x), single(xp, f, x))

    def gradient(x):
        return ag.grad(lambda x: xp.sum(xp.sin(f(x))))(x)

    close(ag.vmap(gradient)(x), single(xp, gradient, x))
    at_once = ag.grad(lambda x: xp.sum(xp.sin(ag.vmap(f)(x))))(x)
    close(at_once, single(xp, gradient, x))


# -- operators and methods -------------------------------------------------------------------------

OPERATORS = {
    "arithmetic": lambda xp, x: 2.0 * x + x / (3.0 + x) - (1.0 - x) * -x,
    "powers": lambda xp, x: x**2 + 2.0**x,
    "matrices": lambda xp, x: x[:, None] @ x[None, :] + xp.matmul(x, x),
    "comparisons": lambda xp, x: xp.where((x > 0.1) & ~(x > 0.5), x * x, -x),
    "remainders": lambda xp, x: x % 0.3 + x // 0.3,
    "transposes": lambda xp, x: (x[:, None] * xp.ones((3, 2))).T @ x,
    "iteration": lambda xp, x: sum(each * each for each in x),
    "unpacking": lambda xp, x: (lambda a, b, c: a * b + c)(*x),
    "length": lambda xp, x: x * len(x),
    "no axes": lambda xp, x: x[0] * xp.sum(x),
    "no elements": lambda xp, x: xp.concat([x[:0], x]),
    "what is the same": lambda xp, x: x + xp.arange(3.0) + xp.ones(3) @ xp.ones(3),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_of_one_member(xp, x, name):
    both(xp, lambda x: OPERATORS[name](xp, x), x)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (4, 3), (2, 1, 3)])
def test_what_is_the_same_for_all_is_broadcast_against_each_member(xp, x, shape):
    # Four members beside an array of four rows: these are no members.
    values = np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)
    given = xp.asarray(values.tolist(), dtype=xp.float64)
    both(xp, lambda x: x * given, x)
    both(xp, lambda x: x * given.data, x)
    both(xp, lambda x: xp.subtract(given.data, x), x)
    both(xp, lambda x: xp.sum(x) * given + x, x)
    assert ag.vmap(lambda x: x * given.data)(x[:0, ...]).shape == (0, *(values * np.ones(3)).shape)


# -- views and writes ------------------------------------------------------------------------------


def element(xp, x):
    y = x * 1.0
    y[0] = y[1] * y[2]
    return y


def into_what_is_the_same(xp, x):
    out = xp.zeros((2, 3))
    out[1, :] = x * x
    return out


def through_a_view(xp, x):
    out = xp.zeros((2, 3))
    row = out[1, ...]
    row[:2] = x[1:]
    row *= 2.0
    return out * x


def in_place(xp, x):
    y = x * 1.0
    y += x
    y *= 0.5 * x
    y[::-1] -= x
    return y


def after_it_was_read(xp, x):
    y = x * 1.0
    z = y * y
    y[...] = 5.0
    return z + y


def at_a_mask(xp, x):
    y = x * 1.0
    y[y > 0.2] = 0.3
    return y * x


def at_a_mask_by_operator(xp, x):
    y = x * 1.0
    y[xp.asarray([True, False, True])] *= 2.0
    return y * x


def to_an_argument(xp, x):
    x[0] = 1.0
    return x * x


def of_views(xp, x):
    y = xp.reshape(x * 1.0, (3, 1))
    y[1:, 0] = x[:2] ** 2
    return xp.permute_dims(y, (1, 0)) * x


WRITES = [
    *(element, into_what_is_the_same, through_a_view, in_place, after_it_was_read, at_a_mask),
    *(at_a_mask_by_operator, to_an_argument, of_views),
]


@pytest.mark.parametrize("write", WRITES)
def test_views_and_writes_are_of_one_member(xp, x, write):
    before = np.array(host(x))
    both(xp, lambda x: write(xp, x), x)
    np.testing.assert_array_equal(host(x), before)


def test_a_write_to_what_is_closed_over_is_of_all_members(xp, x):
    outside = xp.zeros((2, 3), dtype=x.dtype)

    def f(x):
        own = outside * 1.0
        own[0, :] = x
        return own

    close(ag.vmap(f)(x)[:, 0, :], x)
    np.testing.assert_array_equal(host(outside), 0.0)


@pytest.mark.parametrize("tracked", [False, True])
def test_a_write_to_an_argument_that_is_the_same_for_all_stays_within(xp, x, tracked):
    w = leaf(xp, [1.0, 2.0, 3.0])
    given = w if tracked else w.data

    def f(x, w):
        w[0] = x[1]
        w *= 2.0
        return w * x

    found = ag.vmap(f, in_axes=(0, None))(x, given)
    expected = 2.0 * host(x) * np.stack([[each[1], 2.0, 3.0] for each in host(x)])
    close(found, expected)
    np.testing.assert_array_equal(host(w), [1.0, 2.0, 3.0])
    if tracked:
        xp.sum(found).backward()
        close(w.grad, 2.0 * host(x).sum(axis=0) * np.asarray([0.0, 1.0, 1.0]))


# -- indices that differ between members -----------------------------------------------------------


def at_indices(xp, x, f):
    """Compare a function of a member and of its index with that of one after the other."""
    index = xp.asarray([2, 0, 1, 2]).data
    pairs = [(xp.asarray(x)[k, ...], int(host(index)[k])) for k in range(4)]
    close(ag.vmap(f)(x, index), xp.stack([f(*pair) for pair in pairs]))
    gradient = ag.grad(lambda x, i: xp.sum(xp.sin(f(x, i))))
    close(ag.vmap(gradient)(x, index), xp.stack([gradient(*pair) for pair in pairs]))


def test_members_read_at_their_own_indices(xp, x):
    at_indices(xp, x, lambda x, i: x * x[i] + x[::-1][i])


def test_members_write_at_their_own_indices(xp, x):
    def f(x, i):
        y = x * 1.0
        y[i] = 7.0 * x[i]
        return y * x[0]

    at_indices(xp, x, f)


def test_what_is_sorted_picked_and_counted_is_so_in_each_member(xp, x):
    for f in (
        lambda x: xp.sort(x),
        lambda x: x[xp.argmax(x)],
        lambda x: xp.take(x, xp.argsort(x)),
        lambda x: xp.cumulative_sum(x)[xp.argmin(x)],
    ):
        both(xp, f, x)


# -- what a function cannot do ---------------------------------------------------------------------

REFUSED = {
    "if": (lambda xp, x: x if x[0] > 0 else -x, "use xp.where in place of `if`"),
    "bool": (lambda xp, x: bool(xp.all(x > 0)), "no Python branch, loop or number"),
    "float": (lambda xp, x: float(x[0]), "no Python branch, loop or number"),
    "int": (lambda xp, x: int(x[0]), "no Python branch, loop or number"),
    "complex": (lambda xp, x: complex(x[0]), "no Python branch, loop or number"),
    "range": (lambda xp, x: range(xp.astype(x[0], xp.int64)), "no Python branch, loop or number"),
    "item": (lambda xp, x: x[0].item(), "no Python branch, loop or number"),
    "numpy": (lambda xp, x: np.asarray(x.detach()), "no Python branch, loop or number"),
    "mask": (lambda xp, x: x[x > 0], r"use xp\.where\(mask, x, 0\)"),
    "nonzero": (lambda xp, x: xp.nonzero(x), "nonzero"),
    "unique": (lambda xp, x: xp.unique_values(x), "unique_values"),
    "repeat": (
        lambda xp, x: xp.repeat(x, xp.astype(xp.abs(x) * 3, xp.int64)),
        "repeat",
    ),
    "slice": (lambda xp, x: x[: xp.astype(x[0], xp.int64)], "no Python branch, loop or number"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_differs_between_members_decides_no_shape_and_no_branch(xp, x, name):
    f, words = REFUSED[name]
    with pytest.raises(BatchingError, match=words):
        ag.vmap(lambda x: f(xp, x))(x)
    with warnings.catch_warnings(action="ignore"), pytest.raises(BatchingError, match=words):
        ag.vmap(ag.grad(lambda x: xp.sum(x) * (f(xp, x) is None)))(x)


def test_what_is_the_same_for_all_members_may_decide(xp, x):
    w = xp.asarray([1.0, -2.0, 3.0])

    def f(x, w):
        scale = float(w[0]) if w[1] < 0 else 1.0
        return xp.sum(x[xp.asarray([True, False, True])]) * scale * int(w[2])

    found = ag.vmap(f, in_axes=(0, None))(x, w)
    close(found, 3.0 * (host(x)[:, 0] + host(x)[:, 2]))


def test_an_array_that_was_kept_is_refused_afterwards(xp, x):
    kept = []
    ag.vmap(lambda x: kept.append(x * 2.0) or x)(x)
    for use in (
        lambda: kept[0] * 2.0,
        lambda: xp.sum(kept[0]),
        lambda: kept[0] + kept[0],
        lambda: kept[0][0],
        lambda: float(kept[0][0]),
        lambda: ag.vmap(lambda x: x * kept[0])(x),
    ):
        with pytest.raises(BatchingError, match="after its function returned: it was kept"):
            use()
    assert "4 members" in repr(kept[0])


def test_arrays_of_two_runs_do_not_meet(xp, x):
    errors = []

    def other_thread(outside):
        try:
            ag.vmap(lambda y: y * outside)(x)
        except BatchingError as error:
            errors.append(str(error))

    def f(x):
        thread = threading.Thread(target=other_thread, args=(x,))
        thread.start()
        thread.join()
        return x

    ag.vmap(f)(x)
    (error,) = errors
    assert "which does not run around it: one of them was kept somewhere" in error
    assert "test_arrays_of_two_runs_do_not_meet.<locals>.f (" in error  # and where it is


def test_arrays_of_members_are_not_pickled_and_copies_are_themselves(xp, x):
    def f(x):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(x.data)
        assert copy.copy(x.data) is x.data
        return x

    ag.vmap(f)(x)


def test_other_libraries_have_no_members(xp, x):
    backend = xp.empty(0)._domain.backend.name
    other = ag.namespace("strict" if backend == "numpy" else "numpy")
    # What is no operand outside is none here; most libraries take NumPy's arrays for constants.
    meets = {
        "numpy": pytest.raises(MixedBackendsError),
        "strict": pytest.warns(MixedBackendsWarning, match="is taken for a constant"),
    }
    twos = other.ones(3).data + 1.0

    def f(x):
        numbers = other.sin(other.asarray(twos)) + other.zeros(3)  # of one array, as outside
        assert float(other.sum(other.asarray(twos))) == 6.0
        assert isinstance(numbers.data, type(twos))
        taken = 0.0
        with meets.get(backend, nullcontext()):
            taken = x * twos
        with pytest.raises(MixedBackendsError):
            other.sum(x)
        return x * float(numbers[0]) + taken

    close(ag.vmap(f)(x), host(x) * (np.sin(2.0) + 2.0 * (backend != "numpy")))


def test_a_result_of_another_run_is_an_error(xp, x):
    kept = []
    ag.vmap(lambda x: kept.append(x) or x)(x)
    with pytest.raises(BatchingError, match="is used after its function returned"):
        ag.vmap(lambda x: kept[0])(x)


def test_a_constant_leaves_two_levels(xp, x):
    """It is an array from further below than the inner function's arguments."""
    row = xp.asarray(x)[0, :].data
    inner = ag.vmap(lambda x: row, out_axes=None)
    close(ag.vmap(lambda y: inner(x) + 1.0)(x), np.stack([host(x)[0] + 1.0] * len(host(x))))


# -- ops without a rule ----------------------------------------------------------------------------


class Sorted(ag.Function):
    """A function of one's own that no rule is known of."""

    def forward(self, xp, x):
        return xp.flip(x)

    def backward(self, xp, g):
        return xp.flip(g)


def test_a_function_of_ones_own_is_batched_by_what_it_calls(xp, x):
    with warnings.catch_warnings(action="error", category=BatchingWarning):
        both(xp, lambda x: Sorted()(x) * x, x)


def test_gradients_go_to_leaves_that_were_closed_over_and_changed(xp, x):
    w = leaf(xp, [1.0, 2.0, 3.0])
    y = w * 1.0
    y[0] = 5.0
    out = ag.vmap(lambda x: xp.sum(x * y))(x)
    xp.sum(out).backward()
    expected = host(x).sum(axis=0)
    expected[0] = 0.0
    close(w.grad, expected)
