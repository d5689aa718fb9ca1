"""Values that programs in C compute again: the bits, the memory that they save, and when."""

import numpy as np
import pytest

import agnograd as ag
import agnograd_c
from agnograd.errors import CompileError
from agnograd_c._choose import products
from agnograd_c._rewrite import parts, recompute
from agnograd_c._rewrite.passes import PASSES
from agnograd_c._run import compiler
from agnograd_compile._passes.passes import run as improved
from agnograd_compile.lowering import lowering_for
from drawn import XP, search
from in_c import needs_compiler
from memory import peak_of
from traced import traced

needs_compiler()

rng = np.random.default_rng(0)


@pytest.fixture
def again(monkeypatch, small_groups):
    """Let what can be computed again be worth it, groups of one step, and the smallest products.

    The count is a list: of programs, and of those in which something is computed again.
    """
    for name, value in {
        "VALUE_BYTES": 1,
        "SAVED_BYTES": 1,
        "SAVED_SHARE": 0.0,
        "VALUE_PART": 2**40,
    }.items():
        monkeypatch.setattr(recompute, name, value)
    monkeypatch.setattr(products, "FEWEST_PAIRS", 1)
    monkeypatch.setattr(parts, "PART_AXIS", 1)
    count = [0, 0]

    def counted(program):
        found = recompute.recomputed(program)
        count[0] += 1
        count[1] += found is not program
        return found

    monkeypatch.setitem(PASSES, "recomputed", counted)
    return count


def network(w, x, layers):
    """Return a number that depends on the states of all layers."""
    for _ in range(layers):
        x = XP.tanh(x @ w)
    return XP.sum(x * x)


def recurrent(w, u, xs, h):
    for x in xs:
        h = XP.tanh(x @ w + h @ u)
    return XP.sum(h * h)


def softmax(q, k, v):
    scores = q @ XP.matrix_transpose(k)
    e = XP.exp(scores - XP.max(scores, axis=-1, keepdims=True))
    return XP.sum((e / XP.sum(e, axis=-1, keepdims=True) @ v) ** 2)


def normal(*shape):
    return rng.standard_normal(shape)


CASES = {
    "network": (lambda w, x: network(w, x, 8), (normal(64, 64) / 8, normal(600, 64))),
    "recurrent": (
        recurrent,
        (normal(16, 64) / 8, normal(64, 64) / 8, normal(30, 32, 16), normal(32, 64)),
    ),
    "softmax": (softmax, (normal(200, 16), normal(200, 16), normal(200, 16))),
}


def lowered(program):
    """Return a program's function in C, and the bytes of its buffers."""
    sizes = agnograd_c.lowering.describe(program)["buffers"]
    return agnograd_c.lowering.lower(program), sum(sizes)


@pytest.mark.parametrize("name", CASES)
def test_the_same_bits_in_less_memory(name, monkeypatch):
    f, arrays = CASES[name]
    function = ag.grad(f, tuple(range(len(arrays))))
    program = improved(traced("numpy", function, *arrays))
    run, buffers = lowered(program)
    monkeypatch.setitem(PASSES, "recomputed", lambda program: program)
    kept, more = lowered(program)
    for one, other in zip(run([*arrays]), kept([*arrays]), strict=True):
        assert one.tobytes() == other.tobytes()
    assert buffers + peak_of(run, [*arrays]) < 0.85 * (more + peak_of(kept, [*arrays]))


def test_attention_keeps_three_arrays_of_scores():
    """By hand it is as many: the weights, their gradient, and the product of the two."""
    f, arrays = CASES["softmax"]
    program = improved(traced("numpy", ag.grad(f, (0, 1, 2)), *arrays))
    _, buffers = lowered(program)
    assert buffers < 3.2 * 8 * 200 * 200


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, 0.0])
def test_special_values(value):
    f, (q, k, v) = CASES["softmax"]
    function = ag.grad(f, (0, 1, 2))
    q = q.copy()
    q[3, 3] = value
    with np.errstate(all="ignore"):
        expected, found = function(q, k, v), ag.compile(function, lowering="c")(q, k, v)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_what_is_first_read_late_is_computed_late():
    w, x = normal(300, 300) / 17, normal(64, 300)

    def function(w, x):
        early = XP.cos(x) * 2.0
        for _ in range(6):
            x = XP.tanh(x @ w)
        return early * x

    run = ag.compile(function, lowering="c")
    np.testing.assert_allclose(run(w, x), function(w, x), rtol=1e-12, atol=1e-14)
    assert "@after" not in str(run.explain(w, x))


def heat(u):
    """Return the squares of temperatures on a ring."""
    for _ in range(20):
        u = u + 0.1 * (XP.roll(u, 1) - 2.0 * u + XP.roll(u, -1))
    return XP.sum(u * u)


def test_what_is_quick_to_make_of_a_kept_value_is_not_kept(monkeypatch):
    """A gradient, its tenth, and that rolled to both sides: minus its fifth is made of those."""
    u = normal(1500)
    program = improved(traced("numpy", ag.grad(heat), u))
    run, buffers = lowered(program)
    assert buffers <= 4 * u.nbytes
    monkeypatch.setitem(PASSES, "recomputed", lambda program: program)
    kept, more = lowered(program)
    assert more >= 5 * u.nbytes
    assert run([u])[0].tobytes() == kept([u])[0].tobytes()


def test_views_of_what_is_computed_again():
    w, x = normal(128, 128) / 11, normal(4, 32, 128)

    def function(w, x):
        total = 0.0
        for _ in range(6):
            x = XP.tanh(x @ w)
            total = total + XP.sum(
                XP.permute_dims(XP.reshape(x, (4, 32, 2, 64)), (0, 2, 1, 3))[:, 0] ** 2
            )
        return total

    gradient = ag.grad(function, (0, 1))
    for one, other in zip(ag.compile(gradient, lowering="c")(w, x), gradient(w, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_small_programs_keep_what_they_have():
    f, w, x = (lambda w, x: network(w, x, 3)), normal(16, 16), normal(8, 16)
    program = improved(traced("numpy", ag.grad(f, (0, 1)), w, x))
    assert recompute.recomputed(program) is program


def test_long_chains_are_not_computed_again():
    """They would take longer than what they save."""
    w, x = normal(300, 300) / 17, normal(300, 300)

    def function(w, x):
        y = x @ w
        for _ in range(9):
            y = XP.sin(y) + 0.5
        return XP.sum(y @ XP.matrix_transpose(y) @ w * y)

    program = improved(traced("numpy", function, w, x))
    assert recompute.recomputed(program) is program


def test_without_a_compiler_nothing_is_computed_again(monkeypatch):
    def none():
        raise compiler.NoCompiler("none")

    f, arrays = CASES["softmax"]
    program = improved(traced("numpy", ag.grad(f, (0, 1, 2)), *arrays))
    expected = lowering_for("numpy", "numpy").lower(program)([*arrays])
    monkeypatch.setattr("agnograd_c._run.lowering.compiler", none)
    monkeypatch.setattr("agnograd_c._run.compiler.compiler", none)
    for one, other in zip(agnograd_c.lowering.lower(program)([*arrays]), expected, strict=True):
        assert one.tobytes() == other.tobytes()
    plain = lowering_for("numpy", "numpy").describe(program)
    assert agnograd_c.lowering.describe(program)["source"] == plain["source"]


@pytest.mark.slow
def test_random_programs(again, request):
    count = max(1, request.config.getoption("--programs") // 5)

    def holds(program):
        function = program.function()
        places = tuple(range(len(program.inputs)))
        both = ag.value_and_grad(lambda *inputs: function(XP, *inputs), places)
        value, gradients = both(*program.inputs)
        try:
            found, ours = ag.compile(both, lowering="c")(*program.inputs)
        except CompileError:
            return
        tolerance = 1e-10 if program.narrow is None else 1e-3
        for mine, theirs in zip((found, *ours), (value, *gradients), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)

    assert search(count, holds) == count
    assert again[1] > 0.3 * again[0]
