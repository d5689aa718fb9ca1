"""How gradients that arrive at one value are added up."""

import tracemalloc
from math import prod

import numpy as np
import pytest

import agnograd as ag

xp = ag.namespace("numpy")

SHAPE = (500, 1000)  # so large that products are added block by block
COUNT = prod(SHAPE)


def drawn(seed, dtype="float64", order="C"):
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.5, 1.5, SHAPE)
    if dtype.startswith("complex"):
        values = values + 1j * rng.uniform(0.5, 1.5, SHAPE)
    return np.asarray(values, dtype=dtype, order=order)


def counted_products(monkeypatch):
    """Count products that are added without an array of their own."""
    backend = xp.asarray(0.0)._domain.backend
    real, made = backend.add_product, []

    def counted(total, g, partial):
        made.append(total.shape)
        return real(total, g, partial)

    monkeypatch.setattr(backend, "add_product", counted)
    return made


def over(x, many):
    return sum(xp.sum((x * c) * x) for c in many)


PROGRAMS = {
    "constants": lambda x, many: sum(xp.sum(x * c) for c in many),
    "scalars": lambda x, many: sum(xp.sum(0.5 * x * c) + xp.sum(x * 0.25) for c in many),
    "functions": lambda x, many: sum(xp.sum(xp.exp(x * 0.1) / c + xp.sin(x)) for c in many),
    "transposed": lambda x, many: over(x.T, [c.T for c in many]),
    "both inputs": lambda x, many: sum(xp.sum(x * x * c) for c in many),
    "rows": lambda x, many: sum(xp.sum(x * c[0, :]) for c in many),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_products_are_added_to_large_gradients_block_by_block(program, order, dtype, monkeypatch):
    x, many = drawn(0, dtype, order), [drawn(i, dtype) for i in range(1, 5)]

    def f(x, many):
        total = program(x, many)
        return xp.real(total) + 0.5 * xp.imag(total) if dtype == "complex128" else total

    made = counted_products(monkeypatch)
    whole = ag.grad(f)(x, many)
    assert len(made) >= 2
    assert set(made) <= {SHAPE, SHAPE[::-1]}
    assert whole.dtype == x.dtype
    made.clear()
    parts = [
        ag.grad(f)(x[:, columns], [c[:, columns] for c in many])
        for columns in (slice(0, 100), slice(100, 200), slice(200, None))
    ]
    # 50,000 elements are added in the usual way; the last part is large again.
    np.testing.assert_allclose(whole, np.concat(parts, axis=1), rtol=1e-5)


def test_a_loop_of_products_needs_one_array_for_their_gradient():
    x, many = ag.Variable(drawn(0)), [drawn(i) for i in range(1, 3)] * 10
    loss = sum(xp.sum(x * c) for c in many)
    tracemalloc.start()
    try:
        loss.backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(x.grad.data, 10 * (many[0] + many[1]), rtol=1e-12)
    assert peak < 2.2 * x.data.nbytes  # the sum, and one product before it was known to be one


def test_nobody_elses_array_is_changed():
    x, kept, held = ag.Variable(drawn(0)), [], drawn(7)

    class Gives(ag.Function):
        """A function whose gradient is an array that it keeps."""

        def forward(self, xp, x):
            return xp.sum(x)

        def backward(self, xp, g):
            kept.append(held)
            return held

    y = Gives()(x) + xp.sum(x * held) + Gives()(x) + xp.sum(xp.sin(x))
    before = held.copy()
    y.backward()
    np.testing.assert_array_equal(held, before)
    np.testing.assert_allclose(x.grad.data, 3 * held + np.cos(x.data), rtol=1e-12)


def test_gradients_that_are_retained_or_seen_stay_as_they_were():
    x = ag.Variable(drawn(0))
    y = x * 1.0
    seen = []
    y.register_hook(seen.append)
    y.retain_grad()
    total = xp.sum(y * 3.0) + xp.sum(y * 4.0) + xp.sum(y * drawn(1)) + xp.sum(x * drawn(2))
    (total + xp.sum(x * drawn(3))).backward()
    expected = 7.0 + drawn(1)
    np.testing.assert_allclose(y.grad.data, expected, rtol=1e-12)
    np.testing.assert_allclose(seen[0].data, expected, rtol=1e-12)
    np.testing.assert_allclose(x.grad.data, expected + drawn(2) + drawn(3), rtol=1e-12)


def test_two_values_that_share_a_gradient():
    x, y = ag.Variable(drawn(0)), ag.Variable(drawn(1))
    total = xp.sum((x + y) * drawn(2)) + xp.sum(x * drawn(3)) + xp.sum(x * drawn(4))
    (total + xp.sum(y * drawn(5))).backward()
    np.testing.assert_allclose(x.grad.data, drawn(2) + drawn(3) + drawn(4), rtol=1e-12)
    np.testing.assert_allclose(y.grad.data, drawn(2) + drawn(5), rtol=1e-12)
