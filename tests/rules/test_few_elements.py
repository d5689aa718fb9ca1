"""Axes of arrays without axes, and arrays without elements."""

import numpy as np
import pytest

import agnograd as ag
from arrays import leaf, values

AXES = (None, -1, 0)
# What NumPy, PyTorch, or both take of an array of no axes with axis=0 or -1.
OF_NUMBERS = {
    "cumulative_prod": lambda xp, x, axis: xp.cumulative_prod(x, axis=axis),
    "cumulative_sum": lambda xp, x, axis: xp.cumulative_sum(x, axis=axis),
    "logsumexp": lambda xp, x, axis: xp.special.logsumexp(x, axis=axis),
    "max": lambda xp, x, axis: xp.max(x, axis=axis),
    "mean": lambda xp, x, axis: xp.mean(x, axis=axis),
    "min": lambda xp, x, axis: xp.min(x, axis=axis, keepdims=True),
    "prod": lambda xp, x, axis: xp.prod(x, axis=axis),
    "repeat": lambda xp, x, axis: xp.repeat(x, 3, axis=axis),
    "repeat by counts": lambda xp, x, axis: np.repeat(x, [3], axis=axis),
    "softmax": lambda xp, x, axis: xp.nn.softmax(x, axis=-1 if axis is None else axis),
    "sort": lambda xp, x, axis: xp.sort(x, axis=axis),
    "std": lambda xp, x, axis: xp.std(x, axis=axis),
    "sum": lambda xp, x, axis: xp.sum(x, axis=axis),
    "take": lambda xp, x, axis: xp.take(x, xp.asarray([0, 0]), axis=axis),
    "var": lambda xp, x, axis: xp.var(x, axis=axis),
    "vector_norm": lambda xp, x, axis: xp.linalg.vector_norm(x, axis=axis),
}
NUMPYS = {
    *(f"{name} {axis}" for name in ("max", "min", "prod", "sum", "repeat") for axis in AXES),
    *("repeat by counts None", "repeat by counts -1", "repeat by counts 0", "softmax None"),
}


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize("backend", ["numpy", "torch"], indirect=True)
def test_an_array_of_no_axes_is_reduced_along_one_where_the_library_does_it(
    xp, backend, name, axis
):
    function = OF_NUMBERS[name]
    x = leaf(xp, 1.5)
    try:
        found = function(xp, x, axis)
    except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
        assert backend != "numpy" or f"{name} {axis}" not in NUMPYS
        return
    ag.check_grad(lambda x: function(xp, x, axis), x.data)
    xp.sum(found).backward()
    assert x.grad.shape == ()


OF_NOTHING = {
    "batch_norm": lambda xp, x: xp.nn.batch_norm(x, training=True)[0],
    "layer_norm": lambda xp, x: xp.nn.layer_norm(x, x.shape[-1:]),
    "log_softmax": lambda xp, x: xp.nn.log_softmax(x, axis=-1),
    "logsumexp": lambda xp, x: xp.special.logsumexp(x, axis=-1),
    "softmax": lambda xp, x: xp.nn.softmax(x),
    "softmax of the first axis": lambda xp, x: xp.nn.softmax(x, axis=0),
    "special.log_softmax": lambda xp, x: xp.special.log_softmax(x, axis=0),
    "special.softmax": lambda xp, x: xp.special.softmax(x),
    "std": lambda xp, x: xp.std(x, axis=0),
    "take": lambda xp, x: xp.take(x, xp.asarray([0])[:0], axis=0),
    "unstack": lambda xp, x: [*list(xp.unstack(x)), x],
}


@pytest.mark.filterwarnings("ignore:.*(Degrees of freedom|degrees of freedom|invalid value)")
@pytest.mark.parametrize("shape", [(0, 3), (0, 2, 5)])
@pytest.mark.parametrize("name", OF_NOTHING)
@pytest.mark.parametrize("backend", ["numpy", "strict", "torch"], indirect=True)
def test_arrays_without_elements_have_gradients_without_elements(xp, name, shape):
    x = ag.Variable(xp.zeros(shape, dtype=xp.float64).data)
    found = OF_NOTHING[name](xp, x)
    total = sum(xp.sum(each * each) for each in (found if isinstance(found, list) else [found]))
    (first,) = ag.autodiff.grad([total], [x], create_graph=True)
    assert first.shape == shape
    _, tangent = ag.jvp(lambda x: OF_NOTHING[name](xp, x), (x.data,), (x.data,))
    assert tangent is not None


def test_statistics_learn_nothing_from_no_values(xp):
    mean, var = leaf(xp, [1.0, 2.0]), leaf(xp, [3.0, 4.0])
    x, weight = xp.zeros((0, 2), dtype=xp.float64), leaf(xp, [1.0, 1.0])
    out, *kept = xp.nn.batch_norm(x, mean, var, weight, training=True)
    (xp.sum(out) + xp.sum(kept[0] * kept[1])).backward()
    assert [values(each).tolist() for each in kept] == [[1.0, 2.0], [3.0, 4.0]]
    assert values(mean.grad).tolist() == [3.0, 4.0]
    assert values(weight.grad).tolist() == [0.0, 0.0]
    assert np.isnan(values(xp.nn.batch_norm(x, training=True)[1])).all()


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("pack", ["nn", "special"])
def test_an_axis_that_is_not_there_is_an_error_also_without_elements(xp, pack, name):
    function = getattr(getattr(xp, pack), name)
    for x in (xp.zeros((0,)), xp.zeros((2,))):
        with pytest.raises((IndexError, ValueError)):
            function(x, axis=1)
    with pytest.raises(IndexError):
        xp.special.logsumexp(xp.zeros((2,)), axis=1)


def test_numpys_own_axes():
    xp = ag.namespace("numpy")
    matrix = np.asarray([[3.0, 1.0], [2.0, 4.0]])
    for function in (
        lambda x: xp.sort(x, axis=None),
        lambda x: xp.take(x, xp.asarray([3, 0, 3])),
        lambda x: np.outer(x, x),
        lambda x: xp.permute_dims(x[0], 0),
        lambda x: np.transpose(x[1], 0),
    ):
        ag.check_grad(function, matrix)
    with pytest.raises(ValueError, match="negative"):
        xp.broadcast_to(xp.ones(()), (-1,))
    with pytest.raises(ValueError, match="axes"):
        np.transpose(ag.Variable(matrix), 0)


@pytest.mark.parametrize("counts", [(), [], [1, 2], np.asarray([], dtype=int), -1])
def test_counts_that_do_not_fit_are_an_error(xp, counts):
    with pytest.raises(ValueError):  # noqa: PT011 - the message is each library's
        np.repeat(leaf(xp, [1.0, 2.0, 3.0]), counts)


def test_a_count_is_broadcast(xp):
    x = leaf(xp, [1.0, 2.0])
    for counts in (2, [2], np.asarray(2), np.asarray([2]), np.int64(2), [2, 2]):
        assert values(np.repeat(x, counts)).tolist() == [1.0, 1.0, 2.0, 2.0]
    assert np.repeat(xp.zeros((0,)), ()).shape == (0,)
