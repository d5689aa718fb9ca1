"""Random numbers of keys: their bits, their distributions, and their derivatives."""

import json
import math
import threading

import numpy as np
import pytest
import scipy.special
import scipy.stats

import agnograd as ag
from agnograd_random._exact import Arithmetic
from agnograd_random.kernels.numpy import InBlocks
from agnograd_random.threefry import threefry
from arrays import host
from random_numbers import DTYPES, FILE, draws, summary

GOLDEN = json.loads(FILE.read_text())
COUNT = 20_000
np_ = ag.namespace("numpy")
KEY = np_.random.key(1).data


def made(xp, values, dtype="float64"):
    """Return a raw array of a backend."""
    return xp.asarray(np.asarray(values), dtype=getattr(xp, dtype)).data


# -- bits -----------------------------------------------------------------------------------------

# From kat_vectors of Random123, whose functions are those of the paper: counter, key, result.
KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_random_words_are_those_of_threefry(xp, counter, key, expected):
    raw = xp.empty(0)._domain.raw
    words = [made(xp, [np.uint32(each).astype(np.int32)], "int32") for each in (*counter, *key)]
    found = threefry(words[2:], *words[:2], raw)
    assert [int(host(each)[0]) % 2**32 for each in found] == list(expected)


@pytest.mark.parametrize("backend", ["numpy", "strict", "torch", "jax", "dask"], indirect=True)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_backend_draws_the_same_bits(xp, dtype):
    found = {name: summary(host(each)) for name, each in draws(xp, dtype).items()}
    assert found == GOLDEN[dtype]


@pytest.mark.parametrize("dtype", [pytest.param("float32", marks=pytest.mark.slow), "float64"])
def test_a_program_of_xla_draws_the_same_bits(dtype):
    jax = pytest.importorskip("jax", reason="compares with XLA: pip install jax")
    xp = ag.namespace("jax")
    with jax.enable_x64(True):
        alpha = made(xp, np.geomspace(1e-3, 1e5, 5001), dtype)
        low = made(xp, np.linspace(-30.0, 40.0, 5001), dtype)

        def drawn(random, key, alpha, low):
            normal = random.normal(key, None, low, alpha)
            gumbel = random.gumbel(key, (5001,), dtype=low.dtype)
            return normal, gumbel, random.loggamma(key, alpha), random.beta(key, None, alpha, 2.0)

        def truncated(random, key, alpha, low):
            bounded = random.truncated_normal(key, None, low, low + 1.0)
            # XLA knows what is broadcast, and would divide by it in another way.
            single = random.truncated_normal(key, (700,), alpha[2000:2001], math.inf, 0.1, 0.3)
            parts = random.dirichlet(key, alpha[:1000], (4,))
            return bounded, single, parts, random.gamma(key, (3, 700), 0.3), random.split(key, 3)

        key = xp.random.key(5).data
        for function in (drawn, truncated):
            program = jax.jit(lambda *args, f=function: [x.data for x in f(xp.random, *args)])
            found = program(key, alpha, low)
            expected = function(np_.random, 5, *(np.asarray(each) for each in (alpha, low)))
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(np.asarray(one), other.data)


@pytest.mark.parametrize("bits", [32, 64])
def test_the_plain_program_has_the_bits_of_the_one_in_blocks(bits):
    dtype = f"float{bits}"
    rng = np.random.default_rng(0)
    plain, blocks = Arithmetic(np, bits), InBlocks(np, bits)
    x = np.exp(rng.uniform(-85.0, 88.0, 5000)).astype(dtype)
    x = np.concatenate([x, 2.0 ** np.arange(-120, 120), [1.0]]).astype(dtype)
    for one, other in zip(plain.parts(x), blocks.parts(x), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(plain.log(x), blocks.log(x))
    p = np.exp(rng.uniform(-44.0 if bits == 64 else -22.0, math.log(0.5), 5000)).astype(dtype)
    np.testing.assert_array_equal(plain.tail_quantile(p), blocks.tail_quantile(p))


@pytest.mark.parametrize("bits", [32, 64])
def test_functions_are_right_to_a_few_bits(bits):
    exact, eps = InBlocks(np, bits), np.finfo(f"float{bits}").eps
    rng = np.random.default_rng(1)

    def check(found, expected, tolerance):
        np.testing.assert_allclose(found.astype("float64"), expected, rtol=tolerance * eps)

    x = np.exp(rng.uniform(-60.0, 60.0, 9000)).astype(f"float{bits}")
    check(exact.log(x), np.log(x.astype("float64")), 1)
    x = rng.uniform(-60.0, 60.0, 9000).astype(f"float{bits}")
    check(exact.exp(x), np.exp(x.astype("float64")), 1)
    check(exact.expit(x), scipy.special.expit(x.astype("float64")), 2)
    x = rng.uniform(0.0, 8.5, 9000).astype(f"float{bits}")
    check(exact.tail(x), scipy.special.ndtr(-x.astype("float64")), 100)
    p = np.exp(rng.uniform(math.log(1e-9), math.log(0.45), 9000)).astype(f"float{bits}")
    check(exact.tail_quantile(p), -scipy.special.ndtri(p.astype("float64")), 8)
    special = exact.log(np.asarray([0.0, np.inf, -1.0, np.nan], exact.dtype))
    np.testing.assert_array_equal(special, [-np.inf, np.inf, np.nan, np.nan])
    special = exact.exp(np.asarray([-np.inf, np.inf, np.nan, -1e4, 1e4], exact.dtype))
    np.testing.assert_array_equal(special, [0.0, np.inf, np.nan, 0.0, np.inf])


def test_bits_are_uniform_and_streams_are_independent():
    keys = np_.random.split(KEY, 3)
    parts = [np_.random.bits(each, COUNT).data for each in (KEY, *keys, np_.random.fold_in(KEY, 0))]
    for words in parts:
        counts = np.bincount(words >> 24, minlength=256)
        assert scipy.stats.chisquare(counts).pvalue > 1e-4
        ones = np.unpackbits(words.view(np.uint8))
        assert abs(np.mean(ones) - 0.5) < 5 * 0.5 / math.sqrt(ones.size)
    for i, one in enumerate(parts):
        for other in parts[:i]:
            # Of so many pairs, 0.09 are expected to be equal.
            assert len(np.intersect1d(one, other)) < 4
            assert abs(np.corrcoef(one, other)[0, 1]) < 5 / math.sqrt(COUNT)


# -- keys and shapes ------------------------------------------------------------------------------


def test_keys_are_functions_of_all_bits_of_a_seed():
    seeds = [0, 1, 2**32, 2**64 - 1, 2**64, 2**64 + 1, 2**128, 2**192, -1, -2, -(2**64), 3 * 2**64]
    keys = {tuple(map(int, np_.random.key(seed).data)) for seed in seeds}
    assert len(keys) == len(seeds)
    assert np_.random.key(2**33 + 5).data.tolist() == [2, 5]
    with pytest.raises(TypeError, match="a seed is an integer"):
        np_.random.key(0.5)


def test_first_numbers_do_not_depend_on_how_many_there_are(xp):
    key = xp.random.key(3)
    for name in ("uniform", "normal", "gamma", "truncated_normal"):
        draw = getattr(xp.random, name)
        many, few = host(draw(key, (4, 5))), host(draw(key, (7,)))
        np.testing.assert_array_equal(many.reshape(-1)[:7], few)
    np.testing.assert_array_equal(host(xp.random.split(key, 5))[:2], host(xp.random.split(key)))


def test_a_large_draw_is_that_of_its_blocks():
    one = np_.random.standard_gumbel(KEY, (50_000,), dtype=np_.float64).data
    stack = np_.random.standard_gumbel(np.stack([KEY, KEY]), (50_000,), dtype=np_.float64).data
    np.testing.assert_array_equal(stack, np.stack([one, one]))


def test_a_stack_of_keys_gives_a_stack_of_draws(xp):
    keys = xp.random.split(xp.random.key(3), (2, 2))
    alpha = xp.asarray(np.full((2, 2, 3), 0.7), dtype=xp.float64)
    many = xp.random.standard_normal(keys, (3,)), xp.random.standard_gamma(keys, alpha)
    for i in range(2):
        for j in range(2):
            key = keys[i, j, :]
            one = xp.random.standard_normal(key, 3), xp.random.standard_gamma(key, alpha[i, j, :])
            for each, whole in zip(one, many, strict=True):
                np.testing.assert_array_equal(host(each), host(whole)[i, j])


def test_the_dtype_follows_the_parameters(xp):
    single = made(xp, [1.0, 2.0], "float32")
    double = made(xp, [1.0, 2.0], "float64")
    assert xp.random.normal(1, None, single).dtype == xp.float32
    assert xp.random.normal(1, None, single, double).dtype == xp.float64
    assert xp.random.normal(1, None, double, dtype=xp.float32).dtype == xp.float32
    assert xp.random.normal(1).shape == ()
    assert xp.random.beta(1, (0, 2), double).shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda xp: xp.random.normal(1, (2,), dtype=xp.int64), ValueError, "float32 or float64"),
        (lambda xp: xp.random.normal(1, (2,), xp.ones(3)), ValueError, r"\(3,\) do not broadcast"),
        (lambda xp: xp.random.normal(1, None, xp.ones(3), xp.ones(2)), ValueError, "broadcast"),
        (lambda xp: xp.random.normal(0.5), ValueError, "a key is an integer"),
        (lambda xp: xp.random.normal(xp.ones(2)), ValueError, "a key is an integer"),
        (lambda xp: xp.random.normal(2**64), ValueError, "a key has 64 bits"),
        (lambda xp: xp.random.fold_in(1, -1), ValueError, "from 0 to"),
        (lambda xp: xp.random.fold_in(1, xp.ones(2)), ValueError, "array of integers"),
        (lambda xp: xp.random.categorical(1, xp.ones((2, 3)), (3,)), ValueError, "does not end"),
        (lambda xp: xp.random.normal(1, None, xp.ones(2) + 0j), ValueError, "are real numbers"),
        (lambda xp: xp.random.normal(1, None, 1j), ValueError, "are real numbers"),
        (lambda xp: xp.random.normal(1, (2, -1)), ValueError, "no negative lengths"),
        (lambda xp: xp.random.permutation(1, xp.asarray(3)), ValueError, "without axes"),
        (lambda xp: xp.random.multivariate_normal(1, xp.ones(2), xp.eye(3)), ValueError, "cov"),
        (lambda xp: ag.namespace("strict").random.bits(KEY), TypeError, "another library's"),
        (lambda xp: xp.random.bits(1, (2**31 + 1,)), ValueError, "split the key"),
        (lambda xp: xp.random.normal(1, 1.5), TypeError, "a shape is a tuple of integers, or one"),
        (lambda xp: xp.random.loggamma(1, 2.0), TypeError, "a parameter is an array"),
        (lambda xp: xp.random.normal(1, None, [1.0]), TypeError, "an array, not a list"),
        (lambda xp: xp.random.dirichlet(1, [1.0]), TypeError, "an array, not a list"),
        (lambda xp: xp.random.dirichlet(1, xp.asarray(1.0)), ValueError, "0 axes must have 1"),
        (lambda xp: xp.random.multivariate_normal(1, [0.0], xp.eye(1)), TypeError, "not a list"),
        (lambda xp: xp.random.permutation(1, -1), ValueError, "not a number of elements"),
        (lambda xp: xp.random.permutation(1, 2.5), ValueError, "not a number of elements"),
        (lambda xp: xp.random.uniform(1, dtpye=None), TypeError, r"uniform\(\) got .*'dtpye'"),
    ],
)
def test_errors_say_what_is_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call(np_)


def test_any_integer_is_a_key(xp):
    bounds = xp.asarray([0.5, 1.5]).data
    for draw in (
        lambda key: xp.random.normal(key, (3,)),
        lambda key: ag.vmap(lambda low: xp.random.truncated_normal(key, None, low))(bounds),
    ):
        for seed in (np.int64(5), np.uint32(5)):
            assert np.array_equal(host(draw(seed)), host(draw(5)))


def test_a_deviation_of_0_leaves_the_mean(xp):
    found = xp.random.truncated_normal(1, (2,), -1.0, 1.0, 0.25, 0.0)
    assert host(found).tolist() == [0.25] * 2


def test_threads_draw_the_same_numbers():
    expected = np_.random.gamma(KEY, (30_000,), 0.3).data
    found = {}

    def draw(name):
        found[name] = np_.random.gamma(KEY, (30_000,), 0.3).data

    threads = [threading.Thread(target=draw, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[name], expected) for name in range(4))


# -- distributions --------------------------------------------------------------------------------

stats = scipy.stats
CASES = [
    ("uniform", (), stats.uniform()),
    ("uniform", (-2.0, 3.0), stats.uniform(-2.0, 5.0)),
    ("normal", (), stats.norm()),
    ("normal", (3.0, 0.5), stats.norm(3.0, 0.5)),
    ("gumbel", (), stats.gumbel_r()),
    ("gumbel", (1.0, 2.0), stats.gumbel_r(1.0, 2.0)),
    ("exponential", (), stats.expon()),
    ("exponential", (3.0,), stats.expon(scale=3.0)),
    *(("gamma", (a, 2.0), stats.gamma(a, scale=2.0)) for a in (0.1, 0.5, 1.0, 1.5, 20.0, 1e4)),
    *(
        ("beta", (a, b), stats.beta(a, b))
        for a, b in ((0.5, 0.5), (1.0, 3.0), (7.0, 2.0), (0.2, 30.0))
    ),
    *(
        ("truncated_normal", bounds, stats.truncnorm(*bounds))
        for bounds in (
            *((-1.0, 2.0), (0.5, math.inf), (-math.inf, -2.0), (-math.inf, math.inf)),
            *((6.0, 7.0), (20.0, 21.0), (-9.0, -8.9), (0.1, 0.1001)),
        )
    ),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "parameters", "expected"), CASES)
def test_numbers_are_of_their_distribution(name, parameters, expected, dtype):
    dtype = getattr(np_, dtype)
    x = getattr(np_.random, name)(KEY, (COUNT,), *parameters, dtype=dtype).data.astype("float64")
    assert stats.kstest(x, expected.cdf).pvalue > 1e-3
    mean, deviation = expected.mean(), expected.std()
    assert abs(x.mean() - mean) < 5 * deviation / math.sqrt(COUNT) + 1e-6 * abs(mean)


@pytest.mark.parametrize(("dtype", "low"), [("float32", 9.5), ("float32", 1e3), ("float64", 50.0)])
def test_the_farthest_tails_are_right(dtype, low):
    options = {"dtype": getattr(np_, dtype)}
    x = np_.random.truncated_normal(KEY, (COUNT,), low, **options).data.astype("float64")
    # The logarithm of the survival function is that of an exponential number.
    fall = scipy.special.log_ndtr(-low) - scipy.special.log_ndtr(-x)
    if low < 100.0:  # where a difference of float32 is less than what numbers vary
        assert stats.kstest(fall, stats.expon.cdf).pvalue > 1e-3
    assert abs(fall.mean() - 1.0) < 0.05
    between = np_.random.truncated_normal(KEY, (COUNT,), low, low * 1.001, **options).data
    assert between.min() >= np.asarray(low, dtype)
    assert between.max() <= np.asarray(low * 1.001, dtype)
    assert np.unique(between).size > 10


def test_moments_to_the_fourth_are_those_of_normal_numbers():
    z = np_.random.normal(KEY, (200_000,), dtype=np_.float64).data
    for power, expected, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(np.mean(z**power) - expected) < 5 * math.sqrt(spread / z.size)


def test_vectors_have_their_means_and_covariances():
    mean, cov = np.asarray([1.0, -1.0]), np.asarray([[2.0, 0.9], [0.9, 1.0]])
    x = np_.random.multivariate_normal(KEY, mean, cov, COUNT).data
    np.testing.assert_allclose(x.mean(axis=0), mean, atol=5 * math.sqrt(2.0 / COUNT))
    np.testing.assert_allclose(np.cov(x.T), cov, atol=5 * math.sqrt(8.0 / COUNT))
    many = np_.random.multivariate_normal(KEY, np.zeros(65), np.eye(65) * 4.0, 300).data
    assert abs(many.std() - 2.0) < 5 * 2.0 / math.sqrt(2 * many.size)
    alpha = np.asarray([0.3, 1.0, 2.0])
    x = np_.random.dirichlet(KEY, alpha, COUNT).data
    np.testing.assert_allclose(x.sum(axis=-1), 1.0, rtol=1e-15 * 4)
    for i in range(3):
        marginal = stats.beta(alpha[i], alpha.sum() - alpha[i])
        assert stats.kstest(x[:, i], marginal.cdf).pvalue > 1e-3
    tiny = np_.random.dirichlet(KEY, np.full(3, 1e-5), 100).data
    np.testing.assert_allclose(tiny.sum(axis=-1), 1.0)
    assert np.isfinite(np_.random.beta(KEY, (100,), 1e-3, 1e-3).data).all()


def test_categories_and_orders_are_equally_likely():
    p = np.asarray([0.1, 0.2, 0.0, 0.7])
    with np.errstate(divide="ignore"):
        logits = np.log(p)
    found = np.bincount(np_.random.categorical(KEY, logits, COUNT).data, minlength=4)
    assert found[2] == 0
    assert stats.chisquare(found[p > 0], COUNT * p[p > 0]).pvalue > 1e-3
    keys = np_.random.split(KEY, 6000)
    orders = np_.random.order(keys, 3).data
    counts = np.unique(orders @ [9, 3, 1], return_counts=True)[1]
    assert counts.size == 6
    assert stats.chisquare(counts).pvalue > 1e-3
    rows = np.arange(20).reshape(5, 4)
    mixed = np_.random.permutation(KEY, rows, axis=1).data
    np.testing.assert_array_equal(np.sort(mixed, axis=1), rows)


def test_values_at_the_edges_of_parameters(xp):
    key = xp.random.key(1)
    alpha = made(xp, [-1.0, 0.0, np.nan, np.inf, 1e300, 1e-300])
    found = host(xp.random.gamma(key, None, alpha))
    np.testing.assert_allclose(found, [np.nan, 0.0, np.nan, np.inf, 1e300, 0.0])
    logs = host(xp.random.loggamma(key, alpha))
    assert logs[1] == -np.inf
    assert -np.inf < logs[5] < -1e297
    lower = made(xp, [0.0, 2.0, np.nan, 1e200, -np.inf, 5.0])
    upper = made(xp, [0.0, 1.0, 1.0, np.inf, -1e200, 5.0])
    found = host(xp.random.truncated_normal(key, None, lower, upper))
    np.testing.assert_array_equal(found, [0.0, np.nan, np.nan, 1e200, -1e200, 5.0])
    bounds = made(xp, [-np.inf, -50.0, 0.0, 40.0])
    draw = lambda low: xp.sum(xp.random.truncated_normal(key, None, low))  # noqa: E731
    assert np.isfinite(host(ag.hessian(draw)(bounds))).all()
    assert host(xp.random.categorical(key, made(xp, [3, 1], "int64"))).shape == ()


# -- derivatives ----------------------------------------------------------------------------------


def differences(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)


@pytest.mark.parametrize("name", ["standard_gamma", "loggamma"])
def test_gamma_numbers_move_as_quantiles_do(xp, name):
    alpha = np.geomspace(0.05, 300.0, 40)
    key = xp.random.key(8)
    draw = getattr(xp.random, name)
    x = made(xp, alpha)
    z = host(draw(key, x))
    z, log = (np.exp(z), True) if name == "loggamma" else (z, False)
    below = scipy.special.gammainc(alpha, z)
    step = 1e-5 * alpha
    ends = [scipy.special.gammaincinv(alpha + sign * step, below) for sign in (1.0, -1.0)]
    expected = (ends[0] - ends[1]) / (2 * step) / (z if log else 1.0)
    found = host(ag.grad(lambda x: xp.sum(draw(key, x)))(x))
    near = below < 0.999  # where differences of quantiles have digits
    assert near.sum() > 30
    np.testing.assert_allclose(found[near], expected[near], rtol=1e-5)
    forward = host(ag.jvp(lambda x: draw(key, x), (x,), (made(xp, np.ones(40)),))[1])
    np.testing.assert_allclose(forward, found, rtol=1e-12)


def test_gradients_of_means_are_those_of_expectations():
    a, b = np.asarray(0.7), np.asarray(1.9)

    def mean(a, b):
        return np_.mean(np_.random.beta(KEY, (COUNT,), a, b))

    by_a, by_b = (float(each) for each in ag.grad(mean, argnums=(0, 1))(a, b))
    total = a + b
    assert by_a == pytest.approx(b / total**2, rel=0.02)
    assert by_b == pytest.approx(-a / total**2, rel=0.02)
    alpha = np.asarray([0.3, 1.0, 2.0])
    found = ag.grad(lambda x: np_.mean(np_.random.dirichlet(KEY, x, COUNT)[:, 0]))(alpha)
    total = alpha.sum()
    expected = np.asarray([total - alpha[0], -alpha[0], -alpha[0]]) / total**2
    np.testing.assert_allclose(found, expected, atol=5e-3)


def test_second_derivatives_of_gamma_numbers_are_those_of_quantiles():
    alpha = np.asarray([0.4, 1.3, 6.0])

    def total(x):
        return np_.sum(np_.random.gamma(KEY, None, x))

    z = np_.random.gamma(KEY, None, alpha).data
    below, h = scipy.special.gammainc(alpha, z), 1e-3
    high, low = (scipy.special.gammaincinv(alpha + each, below) for each in (h, -h))
    expected = (high - 2 * z + low) / h**2
    found = np.diagonal(ag.hessian(total)(alpha))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_tiny_gamma_numbers_have_gradients():
    alpha = np.asarray([1e-3, 1e-5, 1e-8])
    key = np_.random.key(4)
    logs = np_.random.loggamma(key, alpha).data
    assert (logs < -69.0).all()
    found = ag.grad(lambda x: np_.sum(np_.random.loggamma(key, x)))(alpha)
    np.testing.assert_allclose(found, -logs / alpha, rtol=1e-2)
    assert (
        np.asarray(ag.grad(lambda x: np_.sum(np_.random.gamma(key, None, x)))(alpha)) == 0
    ).all()


@pytest.mark.slow
def test_other_parameters_are_checked_by_differences(xp):
    key = xp.random.key(2).data
    loc, scale = made(xp, [0.3, -0.5]), made(xp, [0.7, 1.5])
    for name in ("uniform", "normal", "gumbel"):
        ag.check_grad(lambda a, b, name=name: getattr(xp.random, name)(key, None, a, b), loc, scale)
    ag.check_grad(lambda b: xp.random.exponential(key, (3, 2), b), scale)
    for bounds in ((-1.0, 0.4), (1.5, 2.5)):
        args = (made(xp, [bounds[0]] * 2), made(xp, [bounds[1]] * 2), loc, scale)
        ag.check_grad(lambda *args: xp.random.truncated_normal(key, None, *args), *args)


def test_members_have_their_own_keys(xp):
    keys = xp.random.split(xp.random.key(6), 3)
    loc = made(xp, [0.5, 1.0, 2.0])

    def draw(key, a):
        return xp.random.normal(key, (2,), a) + xp.random.gamma(key, (2,), a)

    found = host(ag.vmap(draw)(keys.data, loc))
    single = [host(draw(keys[i, :], loc[i : i + 1])) for i in range(3)]
    np.testing.assert_array_equal(found, np.stack(single))
    shared = host(ag.vmap(lambda a: draw(xp.random.key(6), a))(loc))
    np.testing.assert_array_equal(shared[1], host(draw(xp.random.key(6), loc[1:2])))
    folded = ag.vmap(lambda key, i: xp.random.fold_in(key, i), in_axes=(None, 0))(
        keys[0, :].data, made(xp, [3, 4], "int64")
    )
    np.testing.assert_array_equal(host(folded)[1], host(xp.random.fold_in(keys[0, :], 4)))


@pytest.mark.parametrize("backend", ["numpy", "strict", "torch"], indirect=True)
def test_compiled_functions_draw_by_the_key_of_each_call(xp):
    def draw(key, a):
        one, other = (xp.random.split(key)[i, :] for i in range(2))
        return xp.random.normal(one, (4,), a), xp.random.beta(other, (4,), a, 2.0)

    def loss(key, a):
        return sum(xp.sum(each) for each in draw(key, a))

    numbers, program = ag.compile(draw), ag.compile(ag.value_and_grad(loss, argnums=1))
    a = made(xp, 0.8)
    for seed in (1, 2, 3):
        key = xp.random.key(seed).data
        expected = ag.value_and_grad(loss, argnums=1)(key, a)
        for one, other in zip(program(key, a), expected, strict=True):
            np.testing.assert_allclose(host(one), host(other), rtol=1e-14)
        for one, other in zip(numbers(key, a), draw(key, a), strict=True):
            np.testing.assert_array_equal(host(one), host(other))


def test_a_program_of_numpy_that_jax_compiles_draws_the_same_bits():
    pytest.importorskip("jax", reason="compiles NumPy's programs: pip install jax")
    draw = lambda key, a: np_.random.beta(key, (3,), a, 2.0)  # noqa: E731
    a = np.asarray(0.8)
    found = ag.compile(draw, lowering="jax")(KEY, a)
    np.testing.assert_array_equal(host(found), draw(KEY, a).data)


# -- at the ends of domains ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [1e-3, 1e-20, 1e-30, 1e-37])
@pytest.mark.filterwarnings("ignore:overflow")  # of logarithms that are minus infinity
def test_shares_of_tiny_shapes_are_level(xp, shape, dtype):
    """All of it is one of them, and stays so."""
    key, a = xp.random.key(1), made(xp, [shape] * 3, dtype)
    weights = made(xp, [1.0, 2.0, 3.0], dtype)
    found = ag.grad(lambda a: xp.sum(xp.random.dirichlet(key, a) * weights))(a)
    np.testing.assert_allclose(host(found), 0.0, atol=1e-30)
    found = ag.grad(lambda a: xp.sum(xp.random.beta(key, (3,), a, a)))(a)
    np.testing.assert_allclose(host(found), 0.0, atol=1e-30)


def test_a_singular_covariance_has_numbers_along_its_range(xp):
    columns = np.asarray([[1.0, 0.5], [2.0, -1.0], [0.0, 3.0], [1.0, 1.0]])
    for n in (1, 2):
        of = columns[:, :n]
        drawn = xp.random.multivariate_normal(
            xp.random.key(3), made(xp, np.zeros(4)), made(xp, of @ of.T), (50,)
        )
        found = host(drawn)
        assert np.linalg.matrix_rank(found, tol=1e-6) == n
        left = found.T - of @ np.linalg.lstsq(of, found.T, rcond=None)[0]
        np.testing.assert_allclose(left, 0.0, atol=1e-7)
    nothing = xp.random.multivariate_normal(
        xp.random.key(3), made(xp, [1.0, 2.0]), made(xp, np.zeros((2, 2)))
    )
    assert host(nothing).tolist() == [1.0, 2.0]


def test_no_category_is_one_past_the_last(xp):
    logits = made(xp, [[0.0, math.nan], [-math.inf, -math.inf], [math.inf, 0.0], [0.0, -math.inf]])
    found = xp.random.categorical(xp.random.key(1), logits, (20, 4))
    assert (host(found) == [2, 2, 0, 0]).all()


def test_roots_of_tensors_that_numpy_cannot_read():
    torch = pytest.importorskip("torch", reason="pip install 'agnograd[torch]'")
    xp, one = ag.namespace("torch"), torch.eye(2, dtype=torch.float64)
    found = torch.func.vmap(lambda c: xp.random.factor(c).data)(torch.stack([one, 4.0 * one]))
    torch.testing.assert_close(found, torch.stack([one, 2.0 * one]))
    narrow = one.to(torch.bfloat16)
    torch.testing.assert_close(xp.random.factor(narrow).data, narrow)
