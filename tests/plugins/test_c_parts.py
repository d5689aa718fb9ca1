"""Small products that C adds to what is there, and products of arrays put together."""

from itertools import pairwise

import numpy as np
import pytest

import agnograd as ag
import agnograd_c
from agnograd_c._choose import groups, products
from agnograd_c._rewrite import parts
from agnograd_c._rewrite.passes import rewritten
from agnograd_compile._passes.passes import run as improved
from agnograd_compile.lowering import straight
from in_c import needs_compiler
from memory import peak_of
from traced import traced

needs_compiler()

xp = ag.namespace("numpy")
rng = np.random.default_rng(0)


def normal(*shape, dtype="float64"):
    return rng.standard_normal(shape).astype(dtype)


def check(f, *arrays):
    """Compare a function's program in C with its steps one by one; return the steps in C."""
    program = improved(traced("numpy", f, *arrays))
    run = agnograd_c.lowering.lower(program)
    before = [array.copy() for array in arrays]
    for _ in range(2):
        for one, other in zip(run([*arrays]), straight(program)([*arrays]), strict=True):
            scale = np.max(np.abs(other), initial=1.0)
            np.testing.assert_allclose(
                one, other, rtol=0, atol=scale * 50 * np.finfo(other.dtype).eps
            )
    for array, same in zip(arrays, before, strict=True):
        assert array.tobytes() == same.tobytes()
    return rewritten(program)


def sums_of(program):
    return products.added_to(program, frozenset())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(16, 32, 64), (1, 64, 33), (3, 200, 7), (9, 17, 16), (64, 16, 5), (2, 256, 1), (8, 8, 8)],
)
def test_products_are_added(dtype, rows, depth, columns):
    a, b = normal(rows, depth, dtype=dtype), normal(depth, columns, dtype=dtype)
    c, d = normal(rows, depth, dtype=dtype), normal(depth, columns, dtype=dtype)
    assert sums_of(check(lambda a, b, c, d: a @ b + c @ d, a, b, c, d))
    assert sums_of(check(lambda a, b, c, d: xp.tanh(a @ b) * 3.0 + c @ d, a, b, c, d))


def test_factors_of_any_layout_are_added():
    a, b = np.asfortranarray(normal(20, 40)), normal(60, 80)[::2, ::2].T[:40]
    c, d = normal(40, 20).T, normal(30, 40).T
    assert sums_of(check(lambda a, b, c, d: a @ b + c @ d, a, b, c, d))


def test_what_else_is_read_is_not_written_over():
    a, b = normal(20, 20), normal(20, 20)

    def read_later(a, b):
        first = xp.sin(a @ b)
        second = first + b @ a
        return first * second

    def read_in_a_guard(a, b):
        total = a @ b + b @ a
        return total * 2.0 if xp.sum(total) > -1e9 else total

    for f in (
        read_later,
        read_in_a_guard,
        lambda a, b: a + a @ b,
        lambda a, b: a @ b + a @ b,
        lambda a, b: (lambda p: p + xp.matrix_transpose(p) @ p)(a @ b),
        lambda a, b: (lambda p: (p + b @ a, p[0]))(a @ b),
    ):
        check(f, a, b)


def test_a_chain_of_sums_stays_in_the_memory_of_its_result():
    factors = [normal(64, 64) for _ in range(8)]

    def function(*factors):
        total = factors[0] @ factors[1]
        for one, other in pairwise(factors[1:]):
            total = total + one @ other
        return total

    program = improved(traced("numpy", function, *factors))
    assert len(sums_of(program)) == 6
    assert agnograd_c.lowering.describe(program)["buffers"] == []
    run = agnograd_c.lowering.lower(program)
    run(factors)
    assert peak_of(run, factors) < 1.1 * 64 * 64 * 8


def gathered(axis, parts, transpose):
    """Return a product of factors that are put together."""

    def function(a, b):
        left = xp.concat([xp.sin(a) * k for k in range(1, parts + 1)], axis=axis)
        right = xp.concat([xp.cos(b) + k for k in range(1, parts + 1)], axis=0)
        return (xp.matrix_transpose(left) if transpose else left) @ right

    return function


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize(("axis", "transpose"), [(0, True), (-2, True), (1, False), (-1, False)])
def test_factors_are_not_put_together(parts, axis, transpose):
    a, b = normal(*((16, 24) if transpose else (24, 16))), normal(16, 32)
    program = check(gathered(axis, parts, transpose), a, b)
    ops = [step.op for step in program.steps]
    assert "concat" not in ops
    assert ops.count("matmul") == parts == len(sums_of(program)) + 1


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: xp.concat([a, a], axis=0) @ xp.concat([b[:8], b[8:]], axis=0),
        lambda a, b: xp.concat([a, a], axis=1) @ xp.concat([b[:10], b, b[10:]], axis=0),
        lambda a, b: xp.concat([a[:, :4], a[:, 4:]], axis=1) @ xp.concat([b[:4], b[4:]], axis=0),
        lambda a, b: xp.concat([a, xp.astype(a, xp.float32)], axis=1) @ xp.concat([b, b], axis=0),
        lambda a, b: xp.concat([a, a], axis=None)[:16] @ b,
    ],
    ids=["another axis", "other parts", "short parts", "other dtypes", "flat"],
)
def test_other_products_are_as_they_were(f):
    program = improved(traced("numpy", f, normal(16, 16), normal(16, 16)))
    assert parts.in_parts(program) is program


def test_what_a_guard_looks_at_is_computed_as_numpy_does():
    def function(a, b):
        y = xp.concat([a, a * 2.0], axis=1) @ xp.concat([b, b * 0.3], axis=0)
        return y * 2.0 if xp.sum(y) > -1e9 else y

    program = improved(traced("numpy", function, normal(16, 16), normal(16, 16)))
    assert parts.in_parts(program) is program


def test_parts_of_constants():
    """A pass gathers the data of a recurrent network's steps, which are constants."""
    xs, w, u = normal(12, 16, 8), normal(8, 32) / 4, normal(32, 32) / 6

    def loss(w, u):
        h = xp.zeros((16, 32))
        for x in xs:
            h = xp.tanh(x @ w + h @ u)
        return xp.sum(h * h)

    program = check(ag.value_and_grad(loss, (0, 1)), w, u)
    assert "concat" not in [step.op for step in program.steps]


def test_parts_are_computed_once_their_factors_are_there():
    """So that none of them is kept for the last one."""
    a, b = normal(16, 64), normal(64, 64) / 8

    def function(a, b):
        states = [a]
        for _ in range(10):
            states.append(xp.tanh(states[-1] @ b))
        return xp.matrix_transpose(xp.concat(states[:-1], axis=0)) @ xp.concat(states[1:], axis=0)

    program = improved(traced("numpy", function, a, b))
    check(function, a, b)
    assert sum(agnograd_c.lowering.describe(program)["buffers"]) <= 3 * a.nbytes


def test_groups_have_the_product_and_the_sum(monkeypatch):
    monkeypatch.setattr(groups, "NANOSECONDS", 0)
    a, b = normal(16, 64), normal(64, 64) / 8
    program = improved(traced("numpy", lambda a, b: xp.sin(a @ b) + a @ b @ b, a, b))
    products = [group for group in groups.groups_of(program) if group.is_product]
    steps = [[program.steps[number].op for number in group.steps] for group in products]
    assert sorted(steps) == [["matmul"], ["matmul", "add"]]
