"""The ops of neural networks: what samples and finite differences cannot say of them."""

import functools
import importlib
import sys

import numpy as np
import opt_einsum
import pytest

import agnograd as ag
from agnograd.errors import PluginError
from agnograd.testing import Convention, record_events
from agnograd_nn import convolution as standard
from agnograd_nn.kernels import columns
from agnograd_nn.windows import Window
from arrays import host


def made(xp, values, dtype="float64"):
    """Return a raw array of a backend."""
    return xp.asarray(np.asarray(values), dtype=getattr(xp, dtype)).data


def drawn(xp, *shape, dtype="float64"):
    return made(xp, np.random.default_rng(0).standard_normal(shape), dtype)


# -- conventions ----------------------------------------------------------------------------------

CONVENTIONS = [
    Convention("0 at 0", "xp.nn.relu(x)", {"x": [-1.0, 0.0, 2.0]}, [0.0, 0.0, 1.0]),
    Convention(
        "the first of several",
        "xp.nn.max_pool1d(x[None, None, ...], 2)",
        {"x": [1.0, 1.0, 0.0, 0.0]},
        [1.0, 0.0, 1.0, 0.0],
    ),
    Convention(
        "the first of several, row by row",
        "xp.nn.max_pool2d(x[None, None, ...], 2)",
        {"x": [[0.0, 3.0], [3.0, 3.0]]},
        [[0.0, 1.0], [0.0, 0.0]],
    ),
    Convention(
        "NaN is the largest",
        "xp.nn.max_pool1d(xp.where(x > 2, xp.nan, x)[None, None, ...] + x, 2)",
        {"x": [1.0, 2.0, 3.0, 1.0]},
        [0.0, 2.0, 1.0, 0.0],
    ),
    Convention(
        "what may attend to nothing has no gradient",
        "xp.nn.scaled_dot_product_attention(x, x, x, xp.asarray([[True, False], [False, False]]))",
        {"x": [[1.0, 2.0], [3.0, 4.0]]},
        [[1.0, 1.0], [0.0, 0.0]],
    ),
]


@pytest.mark.parametrize("row", CONVENTIONS, ids=lambda row: row.program)
def test_conventions(xp, row):
    f = row.function(xp)
    arrays = [made(xp, value) for value in row.at.values()]
    (gradient,) = ag.grad(lambda *args: xp.sum(f(*args)), argnums=(0,))(*arrays)
    np.testing.assert_allclose(host(gradient), row.gradient, rtol=1e-14, atol=1e-14)


def test_a_padded_row_of_an_embedding_has_no_gradient(xp):
    table, indices = ag.Variable(drawn(xp, 4, 2)), made(xp, [[1, 3], [1, 0]], "int64")
    xp.sum(xp.nn.embedding(indices, table, padding_idx=1)).backward()
    assert host(table.grad).tolist() == [[1, 1], [0, 0], [0, 0], [1, 1]]
    table.grad = None
    xp.sum(xp.nn.embedding(indices, table, padding_idx=-1) + xp.sum(table)).backward()
    assert host(table.grad).tolist() == [[9, 9], [10, 10], [8, 8], [8, 8]]


def test_an_embedding_that_is_read_again_and_again_adds_up(xp):
    table = ag.Variable(drawn(xp, 4, 2))
    total = xp.sum(xp.nn.embedding(made(xp, [0, 2], "int64"), table))
    for i in (1, 3, 3):
        total = total + xp.sum(xp.nn.embedding(made(xp, [i, 0], "int64"), table))
    total.backward()
    assert host(table.grad).tolist() == [[4, 4], [1, 1], [1, 1], [2, 2]]


def test_a_query_that_may_attend_to_nothing_gets_zeros(xp):
    q, mask = drawn(xp, 2, 3), made(xp, [[True, True], [False, False]], "bool")
    for each in (mask, made(xp, [[0.0, 0.0], [-np.inf, -np.inf]])):
        out = host(xp.nn.scaled_dot_product_attention(q, q, q, each))
        assert np.isfinite(out).all()
        assert out[1].tolist() == [0.0, 0.0, 0.0]


# -- losses ---------------------------------------------------------------------------------------


def test_an_index_that_is_no_class_is_not_a_number(xp):
    scores, target = drawn(xp, 3, 4), made(xp, [1, 4, -100], "int64")
    losses = host(xp.nn.cross_entropy(scores, target, reduction="none"))
    assert np.isnan(losses).tolist() == [False, True, False]
    assert losses[2] == 0.0
    gradient = ag.grad(lambda x: xp.nn.cross_entropy(x, target, reduction="sum"))(scores)
    assert np.isnan(host(gradient)).any(axis=1).tolist() == [False, True, False]


def test_large_scores_overflow_nowhere(xp):
    scores, target = made(xp, [[1e4, 0.0], [0.0, 1e4]]), made(xp, [0, 0], "int64")
    value, gradient = ag.value_and_grad(lambda x: xp.nn.cross_entropy(x, target))(scores)
    assert float(value) == 5e3
    np.testing.assert_array_equal(host(gradient), [[0.0, 0.0], [-0.5, 0.5]])


def test_a_class_that_cannot_be_is_no_loss_where_it_is_not_the_target(xp):
    scores, both = made(xp, [[-np.inf, 1.0, 1.0]] * 2), made(xp, [[0.0, 0.5, 0.5]] * 2)
    weight = made(xp, [3.0, 1.0, 1.0])
    for target, expected in (
        (made(xp, [1, 2], "int64"), [[0.0, -0.25, 0.25], [0.0, 0.25, -0.25]]),
        (both, np.zeros((2, 3))),
    ):
        value, (gradient, by_weight) = ag.value_and_grad(
            lambda x, w, t=target: xp.nn.cross_entropy(x, t, w), argnums=(0, 1)
        )(scores, weight)
        assert float(value) == pytest.approx(np.log(2))
        np.testing.assert_allclose(host(gradient), expected, atol=1e-15)
        assert host(by_weight)[0] == 0.0
    impossible = xp.nn.cross_entropy(scores, made(xp, [0, 1], "int64"), reduction="none")
    assert host(impossible).tolist() == [np.inf, pytest.approx(np.log(2))]


@pytest.mark.parametrize("ignored", [[-np.inf] * 3, [np.inf, np.nan, 0.0]])
def test_scores_that_are_ignored_may_be_anything(xp, ignored):
    scores, target = made(xp, [ignored, [1.0, 2.0, 3.0]]), made(xp, [-100, 1], "int64")

    def loss(x):
        return xp.nn.cross_entropy(x, target)

    expected = ag.grad(lambda x: xp.nn.cross_entropy(x, target[1:]))(scores[1:, :])
    np.testing.assert_allclose(host(ag.grad(loss)(scores)), [[0.0] * 3, host(expected)[0]])
    tangent = ag.jvp(loss, (scores,), (made(xp, [[1.0] * 3, [1.0, 0.0, 0.0]]),))[1]
    assert float(tangent) == pytest.approx(float(expected[0, 0]))


# -- dropout --------------------------------------------------------------------------------------


def test_a_key_has_one_mask_on_every_backend(xp):
    x = xp.ones((5, 7), dtype=xp.float32)
    expected = ag.namespace("numpy").nn.dropout(np.ones((5, 7), "float32"), 2**32 * 3 + 4, 0.3)
    for key in (2**32 * 3 + 4, (3, 4), [3, 4], made(xp, [3, 4], "int64"), xp.asarray([3, 4])):
        np.testing.assert_array_equal(host(xp.nn.dropout(x, key, 0.3)), host(expected))
    assert not np.array_equal(host(xp.nn.dropout(x, (4, 3), 0.3)), host(expected))
    large = (2**32 - 1, 2**31)
    found = host(xp.nn.dropout(x, made(xp, large, "int64"), 0.3))
    np.testing.assert_array_equal(found, host(xp.nn.dropout(x, large, 0.3)))
    np.testing.assert_array_equal(found, host(xp.nn.dropout(x, np.uint64(2**64 - 2**31), 0.3)))


def test_the_share_of_zeros_is_p_and_the_mean_stays(xp):
    out = host(xp.nn.dropout(xp.ones((200, 200), dtype=xp.float64), 5, p=0.2))
    assert abs(np.mean(out == 0.0) - 0.2) < 0.01  # five standard deviations
    assert set(np.unique(out)) == {0.0, 1.25}


def test_no_training_and_certain_probabilities(xp):
    x = drawn(xp, 3, 2)
    np.testing.assert_array_equal(host(xp.nn.dropout(x, 1, training=False)), host(x))
    np.testing.assert_array_equal(host(xp.nn.dropout(x, 1, 0.0)), host(x))
    assert not host(xp.nn.dropout(x, 1, 1.0)).any()
    infinite = made(xp, [np.inf] * 20)
    assert set(host(xp.nn.dropout(infinite, 3))) == {0.0, np.inf}


# -- what graphs keep -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda xp, x: xp.nn.conv2d(x, x[:, :, :2, :2]), {"x", "weight"}),
        (lambda xp, x: xp.nn.relu(x), {"out"}),
        (lambda xp, x: xp.nn.max_pool2d(x, 2), {"x", "out"}),
        (lambda xp, x: xp.nn.avg_pool2d(x, 2), set()),
        (lambda xp, x: xp.nn.dropout(x, 1), set()),
        (lambda xp, x: xp.nn.softmax(x), {"out"}),
        (lambda xp, x: xp.nn.layer_norm(x, 4), {"x"}),
        (lambda xp, x: xp.nn.scaled_dot_product_attention(x, x, x), {"q", "k", "v"}),
    ],
)
def test_nodes_keep_no_more_than_arguments_and_results(function, names):
    xp = ag.namespace("numpy")
    x = ag.Variable(drawn(xp, 2, 2, 4, 4))
    log = record_events([], lambda: function(xp, x))
    saved = {each.value for each in log if each.hook == "save_value" and each.op != "__getitem__"}
    assert saved == names


# -- convolution ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 400, 2**30])
@pytest.mark.parametrize("kernel", [(3, 2), (1, 1)])
def test_columns_of_a_few_samples_at_a_time(monkeypatch, size, kernel):
    monkeypatch.setitem(columns._BYTES, "numpy", size)
    domain = ag.namespace("numpy").empty(0)._domain
    raw, backend = domain.raw, domain.backend
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((5, 4, 6, 5)), rng.standard_normal((6, 2, *kernel))
    padding = ((0, 0), (0, 0)) if kernel == (1, 1) else ((1, 0), (0, 2))
    options = {"window": Window(kernel, (1, 1), padding, (1, 1)), "groups": 2}
    out = standard.convolution(raw, x, weight, **options)
    np.testing.assert_allclose(raw.nn.convolution(x, weight, **options), out, rtol=1e-12)
    for given, like, name in (
        ((out, weight), x, "convolution_input"),
        ((x, out), weight, "convolution_weight"),
    ):
        first = (raw, backend) if name == "convolution_input" else (raw,)
        expected = getattr(standard, name)(*first, *given, shape=like.shape, **options)
        found = getattr(raw.nn, name)(*given, shape=like.shape, **options)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_third_derivative_of_a_convolution(xp):
    x, w = drawn(xp, 1, 1, 4), drawn(xp, 1, 1, 2)
    cube = lambda w: xp.sum(xp.nn.conv1d(x, w) ** 3)  # noqa: E731
    second = lambda w: xp.sum(ag.hvp(cube, (w,), (w,))[0])  # noqa: E731
    ag.check_grad(second, w, order=1)


# -- batch normalisation --------------------------------------------------------------------------


def test_running_statistics_are_results_and_arguments_stay(xp):
    x, mean, var = drawn(xp, 6, 3), made(xp, [0.0] * 3), made(xp, [1.0] * 3)
    _, new_mean, new_var = xp.nn.batch_norm(x, mean, var, training=True, momentum=0.25)
    np.testing.assert_allclose(host(new_mean), 0.25 * host(x).mean(axis=0))
    np.testing.assert_allclose(host(new_var), 0.75 + 0.25 * host(x).var(axis=0, ddof=1))
    assert host(mean).tolist() == [0.0] * 3
    out, same_mean, same_var = xp.nn.batch_norm(x, new_mean, new_var)
    np.testing.assert_array_equal(host(same_mean), host(new_mean))
    np.testing.assert_array_equal(host(same_var), host(new_var))
    scale = np.sqrt(host(new_var) + 1e-5)
    np.testing.assert_allclose(host(out), (host(x) - host(new_mean)) / scale)


# -- einsum ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij , jk -> k i", [(2, 3), (3, 4)]),
        ("ba,cb", [(2, 3), (4, 2)]),
        ("ij,ij->ij", [(2, 3), (1, 3)]),
        ("i...,i...->...i", [(2, 3, 1), (2, 1, 4)]),
        ("ab,bc,cd,de->ae", [(2, 3), (3, 2), (2, 5), (5, 2)]),
        ("i,ij,ijk,k", [(2,), (2, 3), (2, 3, 4), (4,)]),
        ("ijk,ilm,njm,nlk,abc->", [(2, 3, 2), (2, 2, 3), (2, 3, 3), (2, 2, 2), (2, 1, 2)]),
        ("...->...", [(2, 3)]),
        ("ii...->i...", [(3, 3, 2)]),
    ],
)
def test_einsum_gives_what_numpys_does(xp, subscripts, shapes):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    given = [made(xp, each) for each in arrays]
    found = host(xp.einsum(subscripts, *given))
    np.testing.assert_allclose(found, np.einsum(subscripts, *arrays), rtol=1e-12, atol=1e-12)
    ag.check_grad(lambda *args: xp.einsum(subscripts, *args), *given, order=1)


def test_einsum_looks_for_an_order_once_for_arrays_of_the_same_shapes(monkeypatch):
    searched = []
    found = opt_einsum.contract_path
    monkeypatch.setattr(
        opt_einsum, "contract_path", lambda *args, **kw: searched.append(1) or found(*args, **kw)
    )
    gradient = ag.grad(lambda x, y: xp.sum(xp.einsum("pq,qr,rp->p", x, y, y)), (0, 1))
    xp = ag.namespace("numpy")
    x, y = np.ones((7, 7)), np.full((7, 7), 2.0)
    gradient(x, y)
    times = len(searched)
    assert times > 0
    for _ in range(3):
        gradient(x, y)
    assert len(searched) == times
    gradient(np.ones((5, 5)), np.ones((5, 5)))
    assert len(searched) == 2 * times


def test_einsum_copies_what_it_does_not_change():
    xp, x = ag.namespace("numpy"), np.ones((2, 2))
    out = xp.einsum("ij->ij", x)
    out[...] = 0.0
    assert x.all()


# -- what is wrong is said ------------------------------------------------------------------------

X, W = (1, 2, 5, 5), (4, 2, 3, 3)


@pytest.mark.parametrize(
    ("call", "shapes", "message"),
    [
        (lambda nn, x, w: nn.conv2d(x, w), (X, (4, 3, 3, 3)), "weights of shape .* in 1 groups"),
        (lambda nn, x, w: nn.conv2d(x, w, groups=3), (X, W), "in 3 groups do not belong"),
        (lambda nn, x, w: nn.conv2d(x, w), ((2, 5, 5), W), "conv2d takes an array and weights"),
        (lambda nn, x, w: nn.conv1d(x, w), (X, W), "conv1d takes .* with 3 axes"),
        (lambda nn, x, w: nn.conv2d(x, w, w), (X, W), "a bias with one"),
        (lambda nn, x, w: nn.conv2d(x, w, dilation=3), (X, W), "no window of kernel size"),
        (lambda nn, x, w: nn.conv2d(x, w, stride=0), (X, W), "must be positive"),
        (lambda nn, x, w: nn.conv2d(x, w, stride=(1, 2, 3)), (X, W), "stride must be an integer"),
        (lambda nn, x, w: nn.conv2d(x, w, padding=-1), (X, W), "padding must not be negative"),
        (lambda nn, x, w: nn.conv2d(x, w, padding="full"), (X, W), "'same', 'valid' or integers"),
        (lambda nn, x, w: nn.conv2d(x, w, padding="same", stride=2), (X, W), "needs stride 1"),
        (lambda nn, x, w: nn.conv_transpose2d(x, w), (X, W), r"channels, outputs / groups"),
        (
            lambda nn, x, w: nn.conv_transpose2d(x, w, output_padding=1),
            (X, (2, 1, 3, 3)),
            "less than the stride",
        ),
        (
            lambda nn, x, w: nn.conv_transpose2d(x, w, padding=9),
            (X, (2, 1, 3, 3)),
            "leaves nothing",
        ),
        (lambda nn, x: nn.max_pool2d(x, 2, padding=2), (X,), "at most half of the kernel size"),
        (lambda nn, x: nn.max_pool1d(x, 2), (X,), "max_pool1d takes an array with a batch"),
        (lambda nn, x: nn.avg_pool2d(x, 9), (X,), "no window of kernel size"),
        (
            lambda nn, x: nn.layer_norm(x, (4, 5)),
            (X,),
            r"does not end in normalized_shape \(4, 5\)",
        ),
        (lambda nn, x: nn.batch_norm(x), (X,), "needs running_mean and running_var"),
        (lambda nn, x: nn.batch_norm(x[..., 0, 0], training=True), (X,), "more than one value"),
        (lambda nn, x, m: nn.batch_norm(x, m), (X, (2,)), "given together, or neither"),
        (lambda nn, x: nn.dropout(x, 1, 1.5), (X,), "p is a probability"),
        (lambda nn, x: nn.dropout(x, -1), (X,), "a key has 64 bits"),
        (lambda nn, x: nn.dropout(x, 0.5), (X,), "a key is an integer"),
        (lambda nn, x: nn.dropout(x, (0.5, 1)), (X,), "in two words of 32 bits"),
        (lambda nn, x: nn.gelu(x, approximate="erf"), (X,), "must be 'none' or 'tanh'"),
        (lambda nn, x, t: nn.cross_entropy(x, t), (X, (2,)), "does not belong to scores of shape"),
        (lambda nn, x: nn.cross_entropy(x, x, reduction="max"), (X,), "one of mean, sum, none"),
        (lambda nn, x: nn.cross_entropy(x, x, label_smoothing=2), (X,), "between 0 and 1"),
    ],
)
def test_wrong_calls_are_errors_that_say_what_is_wrong(xp, call, shapes, message):
    variables = [ag.Variable(drawn(xp, *shape)) for shape in shapes]
    with pytest.raises(ValueError, match=message):
        call(xp.nn, *variables)
    assert all(each.grad is None for each in variables)


@pytest.mark.parametrize(
    ("subscripts", "shapes", "error", "message"),
    [
        ("ij,jk", [(2, 3), (2, 3)], ValueError, "axis 'j' has lengths 3 and 2"),
        ("ijk", [(2, 3)], ValueError, "3 names for an array of shape"),
        ("ij->z", [(2, 3)], ValueError, "z"),
        (5, [(2, 3)], TypeError, "subscripts are a string"),
    ],
)
def test_wrong_subscripts_are_errors(xp, subscripts, shapes, error, message):
    with pytest.raises(error, match=message):
        xp.einsum(subscripts, *(drawn(xp, *shape) for shape in shapes))


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opt_einsum", None)
    with pytest.raises(PluginError, match=r"pip install 'agnograd\[nn\]'"):
        ag.namespace("numpy").einsum("ij->ji", np.ones((2, 31)))  # for which none is planned


# -- under a compiler -----------------------------------------------------------------------------


def test_gradients_are_compiled_by_jax():
    jax = pytest.importorskip("jax", reason="compiled gradients: pip install 'agnograd[jax]'")
    xp = ag.namespace("jax")

    def loss(w, x, key):
        y = xp.nn.max_pool2d(xp.nn.relu(xp.nn.conv2d(x, w, padding=1)), 2)
        y = xp.nn.dropout(xp.reshape(y, (y.shape[0], -1, 4)), key, 0.25)
        return xp.sum(xp.nn.scaled_dot_product_attention(y, y, y, is_causal=True) ** 2)

    x, w = drawn(xp, 2, 1, 4, 4, dtype="float32"), drawn(xp, 3, 1, 3, 3, dtype="float32")
    key = made(xp, [1, 2], "int32")
    gradient = ag.grad(loss)
    np.testing.assert_allclose(
        jax.jit(gradient)(w, x, key), gradient(w, x, key), rtol=1e-4, atol=1e-5
    )


def test_a_network_trains_as_pytorchs_own(xp):
    torch = pytest.importorskip("torch", reason="the oracle: pip install torch")
    functional = importlib.import_module("torch.nn.functional")
    rng = np.random.default_rng(0)
    shapes = [(4, 2, 3, 3), (4,), (4,), (4,), (3, 16), (3,)]
    values = [rng.standard_normal(shape) * 0.5 for shape in shapes]
    x, labels = rng.standard_normal((5, 2, 8, 8)), rng.integers(0, 3, 5)

    def ours(*p):
        y = xp.nn.conv2d(made(xp, x), p[0], p[1], stride=2, padding=1)
        y = xp.nn.gelu(xp.nn.batch_norm(y, None, None, p[2], p[3], training=True)[0])
        y = xp.reshape(xp.nn.max_pool2d(y, 3, 2, 1), (5, -1))
        return xp.nn.cross_entropy(xp.nn.linear(y, p[4], p[5]), made(xp, labels, "int64"))

    def theirs(*p):
        y = functional.conv2d(torch.asarray(x), p[0], p[1], stride=2, padding=1)
        y = functional.gelu(functional.batch_norm(y, None, None, p[2], p[3], training=True))
        y = functional.max_pool2d(y, 3, 2, 1).reshape(5, -1)
        return functional.cross_entropy(functional.linear(y, p[4], p[5]), torch.asarray(labels))

    value, gradients = ag.value_and_grad(ours, argnums=tuple(range(6)))(
        *(made(xp, each) for each in values)
    )
    leaves = [torch.asarray(each).requires_grad_() for each in values]
    expected = theirs(*leaves)
    assert float(host(value)) == pytest.approx(expected.item(), rel=1e-12)
    for one, other in zip(gradients, torch.autograd.grad(expected, leaves), strict=True):
        np.testing.assert_allclose(host(one), other.numpy(), rtol=1e-9, atol=1e-12)


# -- tails -----------------------------------------------------------------------------------------


def slopes_of_softmax(x, axis):
    """Return the Jacobians of softmax and log-softmax of a vector without a difference to 1."""
    power = np.exp(x - x.max())
    share = power / power.sum()
    rest = power.sum() - power.max() if share.max() < 0.5 else np.sort(power)[:-1].sum()
    others = np.where(share > 0.5, rest / power.sum(), 1.0 - share)
    logs = np.where(np.eye(x.size) == 1, others, -share)
    return share[:, None] * logs, logs


@pytest.mark.parametrize("x", [[0.0, -50.0, -45.0], [0.3, 0.5, 0.1], [-800.0, 0.0, -30.0]])
@pytest.mark.parametrize("pack", ["nn", "special"])
def test_softmax_keeps_the_digits_of_what_is_left_of_one(xp, pack, x):
    x = made(xp, x)
    for name, expected in zip(
        ("softmax", "log_softmax"), slopes_of_softmax(host(x), 0), strict=True
    ):
        f = functools.partial(getattr(getattr(xp, pack), name), axis=0)
        pull = ag.vjp(f, x)[1]
        units = [made(xp, each) for each in np.eye(3)]
        reverse = np.stack([host(pull(each)[0]) for each in units])
        forward = np.stack([host(ag.jvp(f, (x,), (each,))[1]) for each in units], axis=1)
        np.testing.assert_allclose(reverse, expected, rtol=1e-13)
        np.testing.assert_allclose(forward, expected, rtol=1e-13)


def test_the_loss_of_what_is_nearly_certain_has_a_gradient(xp):
    x = made(xp, [0.0, -50.0, -45.0])
    loss = lambda x: xp.nn.cross_entropy(x[None, :], xp.asarray([0]))  # noqa: E731
    slope, logs = slopes_of_softmax(host(x), 0)
    np.testing.assert_allclose(host(ag.grad(loss)(x)), -logs[0], rtol=1e-13)
    np.testing.assert_allclose(host(ag.hessian(loss)(x)), slope, rtol=1e-13)


def test_the_gradient_of_gelu_takes_one_error_function(monkeypatch):
    xp = ag.namespace("numpy")
    special, computed = xp.asarray(0.0)._domain.raw.special, []
    erfc = special.erfc
    monkeypatch.setattr(special, "erfc", lambda x: computed.append(x) or erfc(x))
    x = np.asarray([-np.inf, -50.0, -1e-3, 0.0, 1e-40, 2.0, 50.0, np.inf, np.nan])
    with np.errstate(invalid="ignore"):
        found = ag.grad(lambda x: xp.sum(xp.nn.gelu(x)))(x)
    assert len(computed) == 1
    at_zero = 0.5 - 2e-3 / np.sqrt(2.0 * np.pi)
    expected = [0.0, 0.0, at_zero, 0.5, 0.5, 1.0852318, 1.0, 1.0, np.nan]
    np.testing.assert_allclose(found, expected, rtol=1e-7)
