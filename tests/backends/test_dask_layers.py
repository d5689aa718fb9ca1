"""The graphs of Dask: how many tasks a pass makes, of which kinds, and what is kept for it."""

from collections import Counter

import numpy as np
import pytest

import agnograd as ag

da = pytest.importorskip("dask.array", reason="Dask: pip install 'agnograd[dask]'")
dask = pytest.importorskip("dask", reason="Dask: pip install 'agnograd[dask]'")

CHUNKS = 100


@pytest.fixture
def xp():
    return ag.namespace("dask")


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, shape)


def network(weights, features, targets):
    xp = ag.namespace("dask")
    hidden = xp.tanh(features @ weights[0])
    return xp.mean((hidden @ weights[1] - targets) ** 2)


def given():
    features = da.random.default_rng(0).standard_normal((CHUNKS * 5, 4), chunks=(5, 4))
    targets = da.random.default_rng(1).standard_normal(CHUNKS * 5, chunks=5)
    return [da.from_array(drawn(4, 3)), da.from_array(drawn(3))], features, targets


def layers(*arrays):
    return {name: layer for x in arrays for name, layer in x.dask.layers.items()}


def tasks(*arrays):
    return {key for x in arrays for key in dict(x.dask)}


def test_a_pass_makes_at_most_three_times_the_tasks_of_a_value():
    weights, features, targets = given()
    value, gradients = ag.value_and_grad(network)(weights, features, targets)
    forward, both = len(tasks(value)), len(tasks(value, *gradients))
    assert forward <= 8.2 * CHUNKS  # two sources, six ops, and a tree
    assert both <= 15.5 * CHUNKS  # seven more layers, and two trees
    assert both <= 3 * forward
    optimised = len(tasks(*dask.optimize(value, *gradients)))
    assert optimised <= 7.5 * CHUNKS
    assert optimised <= 3 * len(tasks(*dask.optimize(value)))


def test_all_layers_but_sources_and_trees_are_blockwise():
    from dask.blockwise import Blockwise

    weights, features, targets = given()
    value, gradients = ag.value_and_grad(network)(weights, features, targets)
    found = layers(value, *gradients)
    sources = layers(features, targets, *weights)
    others = Counter(
        name.rpartition("-")[0]
        for name, layer in found.items()
        if name not in sources and not isinstance(layer, Blockwise)
    )
    assert others == {"combined": 3}  # of the loss, and of the two gradients
    assert len(found) - len(sources) <= 19
    assert not any(layer.is_materialized() for name, layer in found.items() if name not in sources)


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, x: xp.sum(xp.exp(x - xp.max(x, axis=1, keepdims=True))),
        lambda xp, x: xp.sum(xp.clip(x, -0.5, 0.5) * xp.expand_dims(xp.mean(x, axis=1), axis=1)),
        lambda xp, x: xp.sum(xp.where(x > 0, x, 0.1 * x) / xp.sum(x * x, axis=1)[:, None]),
        lambda xp, x: xp.sum(xp.squeeze(xp.log1p(x * x)[:, None, :], axis=1).T @ x),
        lambda xp, x: xp.sum(xp.astype(x, xp.float32) + xp.ones_like(x)),
    ],
)
def test_usual_ops_and_their_rules_make_only_blockwise_layers_and_trees(xp, function):
    from dask.blockwise import Blockwise

    x = drawn(12, 4)
    chunked = da.from_array(x, chunks=(3, 4))
    gradient = ag.grad(lambda x: function(xp, x))(chunked)
    made = layers(gradient).keys() - layers(chunked).keys()
    assert {type(layer).__name__ for name, layer in layers(gradient).items() if name in made} <= {
        Blockwise.__name__,
        "_Tree",
    }
    plain = ag.namespace("numpy")
    expected = ag.grad(lambda x: function(plain, x))(x)
    np.testing.assert_allclose(gradient.compute(), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), (1, -1), ()])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("chunks", [(1, 2, 3), (20, 3, 1), (7, (1, 2), 3)])
def test_reductions_of_any_chunks_are_numpys(xp, axis, keepdims, chunks):
    x = drawn(20, 3, 3)
    chunked = da.from_array(x, chunks=chunks)
    for name in ("sum", "mean", "max", "min", "prod"):
        found = getattr(xp, name)(chunked, axis=axis, keepdims=keepdims).data
        expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
        assert found.shape == expected.shape
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-12, atol=1e-12)
    for name in ("all", "any"):
        found = getattr(xp, name)(chunked > 0, axis=axis, keepdims=keepdims).data
        expected = getattr(np, name)(x > 0, axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(found.compute(), expected)


def test_tasks_wait_for_few_large_results(xp):
    small, large = (da.ones((64, size), chunks=(1, size)) for size in (1, 2**18))
    assert len(tasks(xp.sum(small, axis=0).data)) - 2 * 64 == 4 + 1
    assert len(tasks(xp.sum(large, axis=0).data)) - 2 * 64 == 16 + 4 + 1


@pytest.mark.parametrize(
    ("shape1", "shape2"),
    [
        ((6, 4), (4, 2)),
        ((6, 4), (4,)),
        ((4,), (4, 2)),
        ((4,), (4,)),
        ((3, 6, 4), (4, 2)),
        ((3, 6, 4), (3, 4, 2)),
        ((3, 6, 4), (4,)),
        ((4,), (3, 4, 2)),
        ((1, 6, 4), (5, 3, 4, 2)),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_products_of_any_chunks_are_numpys(xp, shape1, shape2, size):
    x1, x2 = drawn(*shape1), drawn(*shape2, seed=1)
    plain = ag.namespace("numpy")
    for chunks in ((size, size), (size, -1), (-1, size)):
        given = [da.from_array(x, chunks=c) for x, c in zip((x1, x2), chunks, strict=True)]
        np.testing.assert_allclose(
            xp.matmul(*given).data.compute(), np.matmul(x1, x2), rtol=1e-12, atol=1e-14
        )
        found = ag.grad(lambda a, b: xp.sum(xp.sin(a @ b)), argnums=(0, 1))(*given)
        expected = ag.grad(lambda a, b: plain.sum(plain.sin(a @ b)), argnums=(0, 1))(x1, x2)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.compute(), other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("axes", [0, 1, 2, ((0,), (1,)), ((1, 0), (0, 1)), ((-1,), (0,))])
def test_contractions_of_any_chunks_are_numpys(xp, axes):
    x1, x2 = drawn(4, 4), drawn(4, 4, seed=1)
    for chunks in ((1, 4), (4, 1), (2, 2), ((1, 3), (3, 1))):
        given = da.from_array(x1, chunks=chunks), da.from_array(x2, chunks=chunks[::-1])
        found = xp.tensordot(*given, axes=axes).data
        expected = np.tensordot(x1, x2, axes)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-12)


def test_products_that_do_not_fit_are_errors(xp):
    for f in (
        lambda: xp.ones((2, 3)) @ xp.ones((2, 3)),
        lambda: xp.tensordot(xp.ones((2, 3)), xp.ones((2, 3)), axes=1),
        lambda: xp.ones((2, 3)) + xp.ones((2, 2)),
        lambda: xp.broadcast_to(xp.ones((2, 3)), (3, 3)),
        lambda: xp.expand_dims(xp.ones((2,)), axis=3),
        lambda: xp.squeeze(xp.ones((2, 1)), axis=0),
        lambda: xp.sum(xp.ones((2,)), axis=1),
        lambda: xp.permute_dims(xp.ones((2, 1)), (0, 0)),
    ):
        with pytest.raises((ValueError, IndexError)):
            np.asarray(f().detach())


def test_axes_that_are_fused_and_broadcast_have_all_their_chunks(xp):
    x, y = da.arange(6, chunks=2) + 1.0, da.arange(4, chunks=2) + 1.0
    for column in (xp.expand_dims(x, axis=1), xp.reshape(x, (6, 1)), ag.Variable(x)[:, None]):
        product = column * y
        np.testing.assert_array_equal(
            np.asarray(product.detach()), np.outer(np.arange(1.0, 7.0), np.arange(1.0, 5.0))
        )
        total = xp.sum(column * 1.0, axis=1)
        assert np.asarray(total.detach()).tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_what_is_broadcast_is_computed_from_its_source(xp):
    x = da.from_array(drawn(CHUNKS, 2), chunks=(1, 2))
    number = xp.sum(x)
    spread = xp.broadcast_to(number, x.shape)
    product = xp.exp(spread) * x
    more = layers(product.data).keys() - layers(number.data).keys()
    assert len(more) == 2  # exp of a number, and the product
    expected = np.exp(np.sum(x.compute())) * x.compute()
    np.testing.assert_allclose(product.data.compute(), expected, rtol=1e-12)
    assert spread.data.compute().shape == x.shape


def test_a_write_to_what_was_broadcast_is_seen(xp):
    spread = xp.broadcast_to(xp.asarray(1.0), (2, 2)).data
    spread[0, 0] = 5.0
    assert (spread + 0.0).compute().tolist() == [[5.0, 1.0], [1.0, 1.0]]


def alive(*arrays):
    """Return how many results there are at a time, in Dask's order, at most."""
    from dask.order import order

    graph = {}
    for x in dask.optimize(*arrays):
        graph |= dict(x.dask)
    places, uses = order(graph), Counter()
    for task in graph.values():
        uses.update(set(task.dependencies))
    there, most = set(), 0
    for key in sorted(graph, key=places.__getitem__):
        there.add(key)
        most = max(most, len(there))
        for each in set(graph[key].dependencies):
            uses[each] -= 1
            if not uses[each]:
                there.discard(each)
    return most


def square(weights, features, targets):
    return ag.namespace("dask").mean((features @ weights - targets) ** 2)


def root(error):
    return ag.value_and_grad(lambda *args: error(*args) ** 0.5)


def data():
    features = da.random.default_rng(0).standard_normal((CHUNKS * 5, 4), chunks=(5, 4))
    # Sources of several kinds: Dask's getitem and rechunk are dicts of tasks, its product is not.
    targets = da.matmul(features, np.ones(4)) + features[:, 0] + features.rechunk((10, 2))[:, 1]
    return da.from_array(drawn(4)), features, targets


def test_a_checkpoint_takes_chunks_again_instead_of_keeping_them():
    value, gradient = root(square)(*data())
    again_value, again = root(ag.checkpoint(square))(*data())
    assert alive(value, gradient) > 2 * CHUNKS
    assert alive(again_value, again) < CHUNKS / 2
    assert again_value.name == value.name
    for one, other in zip(
        dask.compute(value, gradient), dask.compute(again_value, again), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_nothing_of_a_second_run_begins_before_its_cotangent():
    weights, features, targets = data()
    value, _ = root(square)(weights, features, targets)
    _, gradient = root(ag.checkpoint(square))(weights, features, targets)
    graph = {}
    for x in dask.optimize(gradient):
        graph |= dict(x.dask)
    first = tasks(*dask.optimize(value))
    seen, queue = set(), [key for key in graph if key[0] == gradient.name]
    loose = []
    while queue:
        key = queue.pop()
        if key not in seen:
            seen.add(key)
            if not graph[key].dependencies and key not in first and "normal" in str(key):
                loose.append(key)
            queue += graph[key].dependencies
    assert loose == []


def test_names_follow_from_the_program_also_in_a_second_run():
    one, other = (root(ag.checkpoint(square))(*data()) for _ in range(2))
    assert [x.name for x in one] == [x.name for x in other]


def test_higher_derivatives_pass_checkpoints(xp):
    x = da.from_array(drawn(6), chunks=2)
    f = ag.checkpoint(lambda x: xp.sum(xp.sin(x) * x))

    def gradient(f):
        return ag.grad(lambda x: xp.sum(ag.grad(lambda x: f(x) ** 2)(x) ** 2))(x).compute()

    np.testing.assert_allclose(gradient(f), gradient(lambda x: xp.sum(xp.sin(x) * x)), rtol=1e-12)


def test_arrays_of_masked_chunks_stay_dasks(xp):
    x = da.ma.masked_greater(da.from_array(drawn(6), chunks=2), 0.5)
    assert isinstance(xp.asarray(x).data._meta, np.ma.MaskedArray)
    assert isinstance((xp.asarray(x) + 1.0).data._meta, np.ma.MaskedArray)
