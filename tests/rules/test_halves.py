"""Gradients of many halves: their number is none of half precision, whose largest is 65,504."""

import numpy as np
import pytest

import agnograd as ag

COUNT = 70_000
SCALE = 1000.0  # of cotangents, so that shares are no tiny halves

EQUAL, DRAWN = np.ones(COUNT), np.random.default_rng(0).normal(size=COUNT)


def zeros(xp, count):
    return xp.zeros(count, dtype=xp.int64)


def weights(xp, like):
    values = np.random.default_rng(1).normal(size=COUNT)
    return xp.astype(xp.asarray(values, dtype=xp.float64), like.dtype)


# Programs of an array of COUNT elements, which are all equal or drawn.
PROGRAMS = {
    "max": (lambda xp, x: xp.max(x), EQUAL),
    "min": (lambda xp, x: xp.min(x, axis=0), EQUAL),
    "mean": (lambda xp, x: xp.mean(x), DRAWN),
    "mean of rows": (lambda xp, x: xp.mean(xp.reshape(x, (1, -1)), axis=1)[0], DRAWN),
    "var": (lambda xp, x: xp.var(x), DRAWN),
    "std": (lambda xp, x: xp.std(x, correction=1.0), DRAWN),
    "unique_values": (lambda xp, x: xp.unique_values(x)[0], EQUAL),
    "norm, inf": (lambda xp, x: xp.linalg.vector_norm(x, ord=np.inf), EQUAL),
    "norm, -inf": (lambda xp, x: xp.linalg.vector_norm(x, ord=-np.inf), EQUAL),
    "matrix norm": (lambda xp, x: xp.linalg.matrix_norm(xp.reshape(x, (1, -1)), ord=1), EQUAL),
    "logsumexp": (lambda xp, x: xp.special.logsumexp(x), EQUAL),
    "softmax": (lambda xp, x: xp.sum(weights(xp, x) * xp.special.softmax(x)), EQUAL),
    "log_softmax": (lambda xp, x: xp.sum(xp.special.log_softmax(x)) / SCALE, DRAWN),
    "nn.softmax": (lambda xp, x: xp.sum(weights(xp, x) * xp.nn.softmax(x)), EQUAL),
    "nn.log_softmax": (lambda xp, x: xp.sum(xp.nn.log_softmax(x)) / SCALE, DRAWN),
    "layer_norm": (
        lambda xp, x: xp.sum(weights(xp, x) * xp.nn.layer_norm(x, (COUNT,))) / SCALE,
        DRAWN,
    ),
    "avg_pool2d": (
        lambda xp, x: xp.sum(xp.nn.avg_pool2d(xp.reshape(x, (1, 1, 700, 100)), (700, 100))),
        DRAWN,
    ),
    "cross_entropy": (
        lambda xp, x: xp.nn.cross_entropy(xp.stack([x, -x], axis=1), zeros(xp, COUNT)),
        DRAWN,
    ),
    "cross_entropy, shares": (
        lambda xp, x: xp.nn.cross_entropy(
            xp.stack([x, -x], axis=1), xp.full((COUNT, 2), 0.5, dtype=x.dtype)
        ),
        DRAWN,
    ),
    "np.max": (lambda xp, x: np.max(x), EQUAL),
    "np.mean": (lambda xp, x: np.mean(x), DRAWN),
    "np.mean, where": (lambda xp, x: np.mean(x, where=x < 9), DRAWN),
    "np.average": (lambda xp, x: np.average(x), DRAWN),
    "np.nanmean": (lambda xp, x: np.nanmean(x), DRAWN),
    "np.nanvar": (lambda xp, x: np.nanvar(x), DRAWN),
    "np.nanmax": (lambda xp, x: np.nanmax(x), EQUAL),
    "np.median": (lambda xp, x: np.median(x), DRAWN),
}


@pytest.mark.filterwarnings("ignore:overflow encountered")  # NumPy's own deviation of halves
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_halves_have_gradients(xp, library, name):
    half = getattr(library, "float16", None)
    if half is None:
        pytest.skip("the library has no halves")
    function, values = PROGRAMS[name]
    found = []
    x = xp.astype(xp.asarray(values, dtype=xp.float64), half)
    for dtype in (half, xp.float64):
        with xp.empty(0)._domain.backend.quiet():
            gradient = ag.grad(lambda x: SCALE * function(xp, x))(xp.astype(x, dtype).data)
        assert gradient.dtype == dtype
        found.append(np.asarray(gradient, dtype=np.float64))
    largest = np.abs(found[1]).max()
    np.testing.assert_allclose(found[0] / largest, found[1] / largest, atol=4e-3)


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("values", [EQUAL, DRAWN], ids=["equal", "drawn"])
@pytest.mark.parametrize(
    "name", ["special.softmax", "special.log_softmax", "softmax", "log_softmax"]
)
def test_many_halves_have_values(xp, library, name, values):
    half = getattr(library, "float16", None)
    if half is None:
        pytest.skip("the library has no halves")
    pack, _, name = name.rpartition(".")
    function = getattr(getattr(xp, pack or "nn"), name)
    x = xp.astype(xp.asarray(values, dtype=xp.float64), half)
    found, expected = (function(xp.astype(x, dtype)) for dtype in (half, xp.float64))
    assert found.dtype == half
    found, expected = (np.asarray(each.data, dtype=np.float64) for each in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-7)


def of_range(xp, count, half):
    return xp.astype(xp.arange(count), half)


# Programs of a few halves, the squares or sums of which are no halves.
LARGE = np.asarray([[300.0, -500.0, 40.0, 700.0], [1000.0, 900.0, -2000.0, 3.0]])
REPEATED = 3000
FEW = {
    "layer_norm": (lambda xp, x: xp.nn.layer_norm(x, (4,)) ** 3, LARGE),
    "batch_norm": (lambda xp, x: xp.nn.batch_norm(x.mT, training=True)[0] ** 3, LARGE),
    "batch_norm by running": (
        lambda xp, x: xp.nn.batch_norm(x.mT, x[:, 0], xp.abs(x[:, 1]))[0] ** 3 / 100,
        LARGE,
    ),
    "take": (lambda xp, x: xp.take(x, zeros(xp, REPEATED)), np.ones(3)),
    "rows": (lambda xp, x: xp.take(x, zeros(xp, REPEATED), axis=0), np.ones((2, 2))),
    "key": (lambda xp, x: x[zeros(xp, REPEATED)], np.ones(3)),
    "embedding": (lambda xp, x: xp.nn.embedding(zeros(xp, REPEATED), x), np.ones((2, 2))),
    "take_along_axis": (lambda xp, x: xp.take_along_axis(x, zeros(xp, REPEATED)), np.ones(3)),
    "cumulative_sum": (lambda xp, x: xp.cumulative_sum(x) / 8, np.ones(REPEATED)),
    "two reads": (
        lambda xp, x: xp.take(x, zeros(xp, REPEATED)) + x[zeros(xp, REPEATED)],
        np.ones(3),
    ),
}


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_what_is_squared_or_added_up_is_no_half(xp, library, kind, name):
    half = getattr(library, kind, None)
    if half is None:
        pytest.skip("the library has no such halves")
    function, values = FEW[name]
    found = []
    x = xp.astype(xp.asarray(values, dtype=xp.float64), half)
    for dtype in (half, xp.float64):
        given = xp.astype(x, dtype).data
        gradient = ag.grad(lambda x: xp.sum(function(xp, x)))(given)
        assert gradient.dtype == dtype
        found.append(np.asarray(xp.astype(xp.asarray(gradient), xp.float64).data))
    most = np.max(np.abs(found[1]))
    bound = {"float16": 0.005, "bfloat16": 0.04}[kind]
    np.testing.assert_allclose(found[0], found[1], rtol=bound, atol=bound * most)


@pytest.mark.parametrize(
    "product",
    [
        lambda xp, x: xp.prod(x, dtype=xp.float32),
        lambda xp, x: xp.cumulative_prod(x, dtype=xp.float32)[3],
    ],
)
def test_a_product_in_a_wider_dtype_has_the_gradient_of_that_dtype(product):
    xp = ag.namespace("numpy")
    x = np.asarray([1e3, 1e3, 1e-3, 1e-3], dtype=np.float16)
    gradient = ag.grad(lambda x: product(xp, x))(x)
    assert gradient.dtype == x.dtype
    assert np.allclose(gradient, [1e-3, 1e-3, 1e3, 1e3], rtol=2e-3)
