"""Gradients that are made of many small parts: as part by part, with fewer calls."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._engine import pending
from agnograd.extend import hookimpl
from calls import profiled
from tests.helpers.memory import peak_of
from usual import usual

pytestmark = pytest.mark.accelerated

xp = ag.namespace("numpy")


@pytest.fixture(autouse=True)
def _usual():
    with pytest.MonkeyPatch.context() as patch:
        usual(patch, pending.__name__)
        yield


def drawn(*shape, dtype="float64", seed=0):
    rng = np.random.default_rng([seed, *shape])
    values = rng.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def states(n, *shape, dtype="float64"):
    return [drawn(*shape, dtype=dtype, seed=seed) for seed in range(1, n + 1)]


def gradient(f, w, **options):
    leaf = ag.Variable(w)
    value = xp.real(f(leaf))
    value.backward(**options)
    return leaf.grad.data


def one_by_one(f, w):
    """Return a gradient of which each part is shown to someone, and none waits."""
    return gradient(f, w, retain_grads=True)


def counted(function, counts):
    """Return what a function returns, and how many of the profiler's events count."""
    found = []

    def notice(frame, event, given):
        found.append(counts(frame.f_code.co_name, event, given))

    return profiled(function, notice), sum(found)


def is_product(name, event, given):
    """Whether a rule, or the backend's function, gives something, or is written out in a step."""
    if event == "return":
        return name in ("_matmul_x1", "_matmul_x2") and given is not NotImplemented
    return event == "c_call" and name == "matmul_step" and given.__name__ == "dot"


PRODUCTS = {
    "rows": (lambda w: sum(xp.sum(xp.sin(x @ w)) for x in states(20, 5, 3)), (3, 4)),
    "columns": (lambda w: sum(xp.sum(xp.sin(w @ x)) for x in states(20, 4, 5)), (3, 4)),
    "vectors": (lambda w: sum(xp.sum(xp.sin(x @ w)) for x in states(20, 3)), (3, 4)),
    "vectors behind": (lambda w: sum(xp.sum(xp.sin(w @ x)) for x in states(20, 4)), (3, 4)),
}
DTYPES = ("float32", "float64", "complex64", "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("program", PRODUCTS)
def test_products_that_share_an_array(program, dtype):
    f, shape = PRODUCTS[program]
    w = drawn(*shape, dtype=dtype)
    f(w)  # whatever is compiled, is
    found, products = counted(lambda: gradient(f, w), is_product)
    # The states are of double precision: the weights' own is another one for two of the dtypes.
    waits = dtype == "float64"
    assert products == (2 if waits else 20)
    np.testing.assert_allclose(found, one_by_one(f, w), rtol=1e-12)
    assert found.dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_precision_and_complex_ones(dtype):
    w, xs = drawn(3, 4, dtype=dtype), states(9, 5, 3, dtype=dtype)

    def f(w):
        return sum(xp.sum(xp.sin(x @ w)) for x in xs)

    found, products = counted(lambda: gradient(f, w), is_product)
    assert products == 2
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(found, one_by_one(f, w), rtol=tolerance)


def recurrent(w, steps=30):
    h = drawn(6, 4)
    for _ in range(steps):
        h = xp.tanh(h @ w)
    return xp.sum(h * h)


def both_ways(w):
    return sum(
        xp.sum(w @ x) + xp.sum(xp.sin(x.T @ w)) + xp.sum(x.T[0] @ w) for x in states(9, 4, 5)
    )


def squares(w):
    return xp.sum(w @ w) + xp.sum(w @ w @ w) + xp.sum((w @ w) @ (w @ w))


def of_elements(w):
    total = sum(xp.sum(w[i % 4, 0] * w) + xp.sum(x @ w) for i, x in enumerate(states(12, 5, 4)))
    return total + sum(w[i % 4, 1] * w[1, i % 4] + xp.sum(w @ drawn(4)) for i in range(12))


def of_arrays_in_turn(w):
    v, u, total = xp.sin(w), w * w, 0.0
    for i in range(8):
        total = total + w[i % 4, 0] * v[0, i % 4] + v[i % 4, 1] * v[1, i % 4] * u[2, 2]
        if i % 3 == 0:  # what waits is gathered, or replaced, in between
            total = total + xp.sum(v * w) + xp.sum(u)
    return total + xp.sum(v[0, :] * u[:, 1])


def of_a_result(w):
    v = xp.sin(w) * 2.0
    return recurrent(v) + of_elements(v) + xp.sum(v * w)


def in_stacks(w):
    return sum(xp.sum(xp.sin(x @ w)) for x in (*states(4, 2, 3, 4), *states(4, 5, 4)))


def transposed(w):
    return sum(
        xp.sum(xp.sin(x @ w.T)) + xp.sum(x @ xp.matrix_transpose(w)) for x in states(9, 5, 4)
    )


def of_one_of_several(w):
    q, r = xp.linalg.qr(w)
    return sum(xp.sum(xp.sin(x @ q)) + xp.sum(r @ x.T) for x in states(9, 5, 4))


PROGRAMS = (recurrent, both_ways, squares, of_elements, of_arrays_in_turn, of_a_result)
PROGRAMS += (in_stacks, transposed)


@pytest.mark.parametrize("f", [*PROGRAMS, of_one_of_several])
def test_among_other_parts(f):
    w = drawn(4, 4) * 0.5
    expected = one_by_one(f, w)
    np.testing.assert_allclose(gradient(f, w), expected, rtol=1e-10, atol=1e-12)


def test_one_product_alone_is_computed_at_once():
    _, joins = counted(
        lambda: gradient(lambda w: xp.sum(drawn(5, 4) @ w), drawn(4, 4)),
        lambda name, event, _: event == "call" and name == "join",
    )
    assert joins == 0


def test_large_products_do_not_wait(monkeypatch):
    # Of the states, that is: 29 of 30 are derived by, too.
    monkeypatch.setattr(pending, "FACTOR_ELEMENTS", 5 * 4 * 2 - 1)
    _, products = counted(lambda: gradient(recurrent, drawn(4, 4)), is_product)
    assert products == 29 + 30
    monkeypatch.setattr(pending, "FACTOR_ELEMENTS", 6 * 4 * 2)
    _, products = counted(lambda: gradient(recurrent, drawn(4, 4)), is_product)
    assert products == 29 + 2


def test_what_waits_has_a_bound():
    w = ag.Variable(drawn(8, 8))
    h, bound = drawn(16, 8), 8 * pending.WAITING_ELEMENTS
    for _ in range(3000):
        h = xp.tanh(h @ w)
    loss = xp.sum(h)
    peak = peak_of(loss.backward, retain_graph=True)
    # The factors are the graph's own; cotangents are half of what waits, and are copied once.
    assert peak < 3 * bound
    assert 3000 * h.data.nbytes > 10 * bound


def test_a_graph_that_a_plugin_saw_is_freed_or_kept_as_usual():
    class Looks:
        @hookimpl
        def forward_postprocess(self, op, outputs):
            pass

    w = ag.Variable(drawn(4, 4))
    with ag.hooks(Looks()):
        loss = recurrent(w)
    loss.backward(retain_graph=True)
    once = w.grad.data.copy()
    loss.backward()
    np.testing.assert_allclose(w.grad.data, 2 * once, rtol=1e-12)
    np.testing.assert_allclose(once, one_by_one(recurrent, w.data), rtol=1e-12)
    with pytest.raises(ag.errors.FreedGraphError):
        loss.backward()


def test_hooks_on_the_shared_array_see_the_whole_gradient():
    w, seen = ag.Variable(drawn(4, 4)), []
    v = w * 1.0
    v.register_hook(lambda g: seen.append(g.data.copy()))
    recurrent(v).backward()
    np.testing.assert_allclose(seen, [one_by_one(recurrent, w.data)], rtol=1e-12)
    np.testing.assert_array_equal(w.grad.data, seen[0])


def test_an_error_while_products_are_computed_leaves_gradients_alone(monkeypatch):
    w = ag.Variable(drawn(4, 4))
    before = w.grad = ag.Variable(drawn(4, 4), requires_grad=False)
    loss = recurrent(w)

    def fails(*_):
        raise MemoryError("no room for products")

    monkeypatch.setattr(pending.Products, "gathered", fails)
    with pytest.raises(MemoryError, match="no room"):
        loss.backward()
    assert w.grad is before
