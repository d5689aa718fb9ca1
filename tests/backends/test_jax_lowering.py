"""Programs under ``jax.jit``: of JAX's arrays, and of NumPy's."""

from dataclasses import replace

import numpy as np
import pytest

import agnograd as ag
from agnograd_compile._programs.program import Missed
from agnograd_compile._programs.straight import straight
from tests.helpers.lowered import both, few_samples, lowered, program_of
from threads import in_threads
from traced import traced
from under_jit import arrays_of, close, mlp

jax = pytest.importorskip("jax", reason="JAX: pip install 'agnograd[jax]'")
Compiled = pytest.importorskip("agnograd_jax.lowering").Compiled
jnp = jax.numpy
xp, np_xp = ag.namespace("jax"), ag.namespace("numpy")


@pytest.mark.parametrize("sample", few_samples())
def test_ops_compute_what_they_do_step_by_step(sample):
    with jax.enable_x64(True):
        program, arrays, others = program_of(sample, "jax")
        run, plain = lowered("jax.jax", program), straight(program)
        for given in (arrays, others):
            assert close(run(given), plain(given))


@pytest.mark.parametrize("x64", [False, True])
def test_values_and_gradients(x64):
    with jax.enable_x64(x64):
        arrays = arrays_of(jnp.asarray)
        program = traced("jax", ag.value_and_grad(mlp(xp), argnums=(1, 2, 3)), *arrays)
        assert close(*both("jax.jax", program, arrays))
        expected = jax.value_and_grad(mlp(jnp), argnums=(1, 2, 3))(*arrays)
        assert close(lowered("jax.jax", program)(arrays), [expected[0], *expected[1]])


def branching(xp):
    def f(x):
        return xp.exp(x) * 2.0 if bool(xp.sum(x) > 2.0) else x * float(xp.max(x))

    return f


@pytest.mark.parametrize("name", ["jax.jax", "numpy.jax"])
def test_a_guard_that_finds_another_value_is_missed(name):
    library = name.partition(".")[0]
    make, ns = (jnp.asarray, xp) if library == "jax" else (np.asarray, np_xp)
    ones, others = make([1.0, 1.0, 1.0]), make([-1.0, -2.0, -1.0])
    program = traced(library, branching(ns), ones)
    run = lowered(name, program)
    assert close(run([ones]), straight(program)([ones]))
    with pytest.raises(Missed) as raised:
        run([others])
    assert raised.value.args == (0, False)
    program = traced(library, branching(ns), others)
    run = lowered(name, program)
    with pytest.raises(Missed) as raised:
        run([others * 0.5])
    assert raised.value.args == (1, (-0.5).hex())


def test_large_constants_are_arguments():
    from agnograd_jax.lowering import JitWriter

    small, large = jnp.ones(3), jnp.arange(3000.0).reshape(1000, 3)
    program = traced(
        "jax", lambda x: xp.sum(xp.asarray(large) * x + xp.asarray(small)), jnp.ones(3)
    )
    writer = JitWriter(program)
    assert [program.constants[ref] is large for ref in writer.large] == [True]
    assert close(*both("jax.jax", program, [jnp.full(3, 2.0)]))


@pytest.mark.parametrize(
    ("element", "other", "dtype"),
    [
        *[(0.0, -0.0, "float32"), (-0.0, 0.0, "float32"), (np.nan, 1.0, "float32")],
        *[(2.5, 3.0, "bfloat16"), (3, 4, "int8"), (True, False, "bool"), (1j, 1.0, "complex64")],
    ],
)
def test_a_large_constant_of_one_number_is_made_in_the_function(element, other, dtype):
    from agnograd_jax.lowering import JitWriter

    def chosen(large):
        def f(x):
            return xp.where(x > 0.0, xp.asarray(large), xp.asarray(large)[::-1])

        return traced("jax", f, jnp.ones(3))

    large = jnp.full((1000, 3), element, dtype)
    program = chosen(large)
    writer = JitWriter(program)
    assert not writer.large
    assert "_full" in writer.source()
    found, expected = both("jax.jax", program, [jnp.ones(3)])
    assert found[0].dtype == expected[0].dtype == large.dtype
    assert np.asarray(found[0]).tobytes() == np.asarray(expected[0]).tobytes()
    assert JitWriter(chosen(large.at[999, 2].set(other))).large


def test_a_large_constant_is_given_where_it_alone_says_on_which_device_to_compute():
    from agnograd_jax.lowering import JitWriter

    large = jnp.ones((1000, 3))
    program = traced("jax", lambda x: xp.asarray(large) * x, jnp.ones(3))
    assert not JitWriter(program).large
    assert len(JitWriter(program.with_(inputs=())).large) == 1


def gathering(xp):
    """Return a function that takes the elements of an array in another order."""

    def f(x, places):
        joined = xp.concat([xp.exp(x), xp.sin(x) * 2.0])
        return xp.take(joined, places, axis=0) * 3.0, places, bool(joined[0] > 1.0)

    return f


@pytest.mark.parametrize("name", ["jax.jax", "numpy.jax"])
def test_what_is_gathered_is_computed_in_a_part_before(name):
    from agnograd_jax._parts import PART_ELEMENTS, parts_of

    library = name.partition(".")[0]
    make, ns = (jnp.asarray, xp) if library == "jax" else (np.asarray, np_xp)
    rng = np.random.default_rng(0)
    for length, expected in ((PART_ELEMENTS // 2, 2), (PART_ELEMENTS // 2 - 1, 1)):
        x = make(rng.random(length).astype(np.float32))
        places = make(rng.permutation(2 * length))
        program = traced(library, gathering(ns), x, places)
        parts = parts_of(program)
        assert len(parts) == expected
        steps = [step.op for step in program.steps if step.op != "@guard"]
        assert [program.steps[n].op for part in parts for n in part] == steps
        assert program.steps[parts[-1][0]].op == ("take" if expected == 2 else "exp")
        assert close(*both(name, program, [x, places]))
        with pytest.raises(Missed):
            lowered(name, program)([x - 1.0, places])


def test_what_is_cheap_or_taken_in_part_is_computed_along_with_the_gather():
    from agnograd_jax._parts import PART_ELEMENTS, parts_of

    x = jnp.ones(PART_ELEMENTS)
    few, all_of_them = jnp.arange(100), jnp.arange(PART_ELEMENTS)[::-1]
    for f, places, expected in (
        (xp.exp, few, 1),
        (xp.exp, all_of_them, 2),
        (lambda x: 2.0 * x + 1.0, all_of_them, 1),
    ):
        for take in (lambda y, i: xp.take(y, i, axis=0), lambda y, i: y[i]):
            program = traced("jax", lambda x, i, f=f, take=take: take(f(x), i), x, places)
            assert len(parts_of(program)) == expected
            assert close(*both("jax.jax", program, [x, places]))


def test_values_that_move_are_not_computed_again_and_again():
    from agnograd_jax._parts import PART_ELEMENTS, parts_of

    def heat(count):
        def f(u):
            for _ in range(count):
                u = u + 0.1 * (xp.roll(u, 1) - 2.0 * u + xp.roll(u, -1))
            return u

        return f

    for size, counts in ((9, {4: 1, 5: 2, 12: 3}), (PART_ELEMENTS, {2: 1, 3: 2})):
        x = jnp.asarray(np.random.default_rng(0).random(size))
        for count, expected in counts.items():
            program = traced("jax", heat(count), x)
            assert len(parts_of(program)) == expected
            assert close(*both("jax.jax", program, [x]))


def test_what_is_written_to_memory_or_joined_is_in_one_part():
    from agnograd_jax._parts import parts_of

    def f(x):
        for _ in range(12):  # products are computed once
            x = xp.roll(x, 1) @ x + xp.roll(x, -1)
        return xp.stack([xp.exp(x[i]) for i in range(9)] * 9)  # an element is of one argument

    program = traced("jax", f, jnp.eye(9))
    assert len(parts_of(program)) == 1


def test_the_text_has_a_function_for_each_part():
    from agnograd_jax._parts import PART_ELEMENTS
    from agnograd_jax.lowering import jit

    x, places = jnp.ones(PART_ELEMENTS), jnp.arange(PART_ELEMENTS)
    program = traced("jax", lambda x, i: xp.take(xp.exp(x), i, axis=0), x, places)
    described = jit.describe(program)
    assert described["groups"] == [[0], [1]]
    assert described["source"].count("def run(") == 2


def test_constants_that_are_returned_are_not_copied():
    large = jnp.ones((1000, 3))
    program = traced("jax", lambda x: (xp.exp(x), xp.asarray(large)), jnp.ones(3))
    assert lowered("jax.jax", program)([jnp.ones(3)])[1] is large


def test_a_step_that_jax_cannot_trace_runs_outside_of_jit():
    x = jnp.asarray([0.25, 0.75, 2.0])
    program = traced("jax", lambda x: xp.exp(x) * 2.0, x)
    looking = replace(
        program.steps[0], op="@call", kwargs={"function": lambda x: jnp.exp(float(x[0]) * x)}
    )
    compiled = Compiled(program.with_(steps=(looking, *program.steps[1:])))
    for _ in range(2):
        assert close(compiled([x]), [jnp.exp(0.25 * x) * 2.0])


def test_programs_run_inside_of_jit_and_jaxs_own_derivatives():
    x = jnp.asarray([0.5, 1.0, 2.0])
    run = lowered("jax.jax", traced("jax", ag.grad(lambda x: xp.sum(xp.sin(x) ** 2.0)), x))
    expected = jnp.sin(2.0 * x)
    assert np.allclose(jax.jit(lambda x: run([x])[0])(x), expected, atol=1e-6)
    assert np.allclose(
        jax.vmap(lambda each: run([each])[0])(jnp.stack([x, x])), expected, atol=1e-6
    )
    second = jax.grad(lambda x: jnp.sum(run([x])[0]))(x)
    assert np.allclose(second, 2.0 * jnp.cos(2.0 * x), atol=1e-6)


@pytest.mark.parametrize("name", ["jax.jax", "numpy.jax"])
def test_threads_run_one_program(name):
    library = name.partition(".")[0]
    make, ns = (jnp.asarray, xp) if library == "jax" else (np.asarray, np_xp)
    function = ag.value_and_grad(mlp(ns), argnums=1)
    given = arrays_of(make, "float32")
    program = traced(library, function, *given)
    run, expected = lowered(name, program), straight(program)(given)
    assert all(close(each, expected) for each in in_threads(run, [given] * 4))


# -- programs of NumPy's arrays ------------------------------------------------------------------


@pytest.mark.parametrize("sample", few_samples())
def test_ops_compute_what_they_do_on_numpy(sample):
    program, arrays, others = program_of(sample, "numpy")
    run, plain = lowered("numpy.jax", program), straight(program)
    for given in (arrays, others):
        found = run(given)
        assert close(found, plain(given))
        assert not any(np.shares_memory(a, b) for a in found for b in given)


def test_results_are_numpys_own():
    x = np.asfortranarray(np.random.default_rng(1).normal(size=(4, 6)))
    before = x.copy()

    def f(x):
        y = np_xp.exp(x)
        return y, y.T, x, np_xp.sum(y), y[0] > 1.0, np_xp.astype(y, np.float32)

    program = traced("numpy", f, x)
    found, expected = both("numpy.jax", program, [x])
    assert close(found, expected)
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other)
        if isinstance(one, np.ndarray):
            assert one.strides == other.strides
            assert one.flags.writeable
            one[...] = 0
    assert np.array_equal(x, before)
    assert not jax.config.jax_enable_x64


def test_integers_beside_floats_promote_as_in_numpy():
    n, x = np.arange(1, 4), np.ones(3, np.float32)
    for f in (
        lambda n, x: (n * x, x / n, n + x, np_xp.maximum(n, x), n < x),
        lambda n, x: (n / n, n**2, np_xp.sum(n), np_xp.mean(n)),
        lambda n, x: (n * 2.5, x * 2, x * np_xp.asarray(2.0), np_xp.where(n > 1, x, 0.0)),
    ):
        program = traced("numpy", f, n, x)
        assert lowered("numpy.jax", program)._fits
        found, expected = both("numpy.jax", program, [n, x])
        assert close(found, expected)


def test_what_jax_has_not_runs_by_numpy():
    x = np.ones(3, np.longdouble)
    program = traced("numpy", lambda x: np_xp.exp(x), x)
    assert both("numpy.jax", program, [x])[0][0].dtype == np.longdouble
    n = np.asarray([7, 2], np.int32)
    program = traced("numpy", lambda x: np_xp.sum(x), n)
    run = lowered("numpy.jax", program)
    for _ in range(2):
        assert close(run([n]), straight(program)([n]))
