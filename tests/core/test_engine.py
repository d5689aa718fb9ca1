"""The reverse pass: order, accumulation, freeing, failure."""

import gc
import threading
import weakref
from contextlib import nullcontext

import numpy as np
import pytest

import agnograd as ag
from agnograd._codegen.deferring import compile_op
from agnograd.errors import FreedGraphError, GradientError, MissingRuleError, NoGradientError
from agnograd.extend import OpSet, hookimpl

xp = ag.namespace("numpy")


def test_a_chain_of_a_million_ops_differentiates_and_is_freed():
    x = y = ag.Variable(1.0)
    for _ in range(1_000_000):
        y = y + 1e-6
    y.backward()
    assert x.grad.item() == 1.0
    del y
    y = x
    for _ in range(1_000_000):
        y = y * 1.0
    del y


def test_a_long_chain_differentiates_twice():
    x = y = ag.Variable(0.5)
    for _ in range(10_000):
        y = y * 1.0001
    (g,) = ag.autodiff.grad(y * y, [x], create_graph=True)
    (h,) = ag.autodiff.grad(g, [x])
    assert h.item() == pytest.approx(2 * 1.0001**20_000)


def test_saved_values_are_freed_while_the_pass_runs():
    freed = []

    class Watcher:
        @hookimpl
        def backward_preprocess(self, op):
            freed.append([ref() is None for ref in references])

    x = ag.Variable(np.ones(1000))
    references = []
    y = x
    for _ in range(3):
        y = xp.exp(y * 0.5)
        references.append(weakref.ref(y.data))
    total = xp.sum(y)
    del y
    with ag.hooks(Watcher()):
        total.backward()
    gc.collect()
    assert freed[0] == [False, False, False]
    assert freed[-1] == [True, True, True]


def test_a_graph_makes_no_garbage_cycles():
    gc.collect()
    gc.disable()
    try:
        x = ag.Variable(np.ones(3))
        y = xp.sum(xp.sin(x[1:] * 2.0) + xp.stack(xp.unstack(x))[:2])
        y.backward()
        node = weakref.ref(x._leaf)
        del x, y
        assert node() is None
    finally:
        gc.enable()


def test_values_with_many_consumers_add_up():
    x = ag.Variable(np.arange(3.0))
    total = xp.sum(x)
    for k in range(5):
        total = total + xp.sum(x * float(k))
    total.backward()
    np.testing.assert_array_equal(x.grad.data, [11.0, 11.0, 11.0])


def test_gradients_that_users_get_share_no_memory():
    x, y = ag.Variable(np.ones(3)), ag.Variable(np.ones(3))
    seed = np.ones(3)
    (x + y).backward(seed)
    assert not np.shares_memory(x.grad.data, y.grad.data)
    assert not np.shares_memory(x.grad.data, seed)
    x.grad.data[0] = 5.0
    assert y.grad.data[0] == 1.0
    gx, gy = ag.grad(lambda x, y: xp.sum(x + y), argnums=(0, 1))(np.ones(3), np.ones(3))
    gx += 1
    np.testing.assert_array_equal(gy, 1.0)


def test_engine_never_adds_into_what_it_does_not_own():
    seed = np.ones(2)
    x = ag.Variable(np.ones(2))
    y = x + 0.0
    (y + y + y).backward(seed)
    np.testing.assert_array_equal(seed, 1.0)
    np.testing.assert_array_equal(x.grad.data, 3.0)


def test_grad_accumulates_over_passes():
    x = ag.Variable(2.0)
    (x * x).backward()
    (x * 3.0).backward()
    assert x.grad.item() == 7.0
    x.grad = None
    assert x.grad is None


def test_a_second_pass_over_a_freed_graph_names_the_op_and_the_remedy():
    x = ag.Variable(2.0)
    y = xp.exp(x)
    y.backward()
    with pytest.raises(FreedGraphError, match=r"'exp'.*retain_graph=True"):
        y.backward()
    assert x.grad.item() == pytest.approx(np.exp(2.0))


def test_retain_graph_allows_a_second_pass():
    x = ag.Variable(2.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 8.0


def test_inputs_restrict_the_pass_to_their_paths():
    ran = []

    class Log:
        @hookimpl
        def backward_preprocess(self, op):
            ran.append(op.name)

    x, w = ag.Variable(2.0), ag.Variable(3.0)
    hidden = xp.exp(w) * x
    y = xp.sin(hidden)
    with ag.hooks(Log()):
        y.backward(inputs=[hidden, x])
    assert ran == ["sin", "multiply"]
    assert hidden.grad.item() == pytest.approx(np.cos(hidden.item()))
    assert x.grad.item() == pytest.approx(np.cos(hidden.item()) * np.exp(3.0))
    assert w.grad is None


def test_retain_grad_keeps_an_intermediate_gradient():
    x = ag.Variable(2.0)
    y = x * 3.0
    y.retain_grad()
    (y * y).backward()
    assert y.grad.item() == 12.0
    z = x * 3.0
    (z * z).backward(retain_grads=True)
    assert z.grad.item() == 12.0


def test_retain_grads_keeps_those_of_several_results():
    xp = ag.namespace("strict")
    x = ag.Variable(xp.asarray([1.0, 2.0]).data)
    first, second = xp.unstack(x * 2.0)
    (first * second + first).backward(retain_grads=True)
    assert [float(each.grad) for each in (first, second)] == [5.0, 2.0]
    np.testing.assert_array_equal(np.asarray(x.grad.data), [10.0, 4.0])


def test_loss_scale_multiplies_the_cotangent():
    x = ag.Variable(2.0)
    (x * x).backward(loss_scale=128.0)
    assert x.grad.item() == 512.0


def test_variable_hooks_see_and_replace_gradients():
    seen = []
    x = ag.Variable(2.0)
    y = x * 3.0
    handle = y.register_hook(lambda g: seen.append(g.item()))
    y.register_hook(lambda g: g * 10.0)
    (y * y).backward()
    assert seen == [12.0]
    assert x.grad.item() == 360.0
    handle.remove()
    handle.remove()
    x.register_hook(lambda g: np.zeros((2,)))
    with pytest.raises(GradientError, match=r"shape \(2,\)"):
        (x * 3.0).backward()


def op_of_a_stranger(register):
    """Return the only function of an op set, on NumPy."""
    op_set = OpSet("strange")
    register(op_set)
    (op,) = op_set.ops.values()
    return compile_op(op, xp.empty(0)._domain, op.forward)


def failing(g, x):
    raise ZeroDivisionError("planted")


def test_a_failing_rule_leaves_every_gradient_as_it_was():
    strange = op_of_a_stranger(lambda ops: ops.vjp("strange(x, /)", x=failing, forward=np.sum))
    x, w = ag.Variable(np.eye(2)), ag.Variable(np.ones((2, 2)))
    xp.sum(x * w).backward()
    before = x.grad.data.copy(), w.grad.data.copy()
    y = xp.sum(xp.exp(w)) + strange(xp.sin(x))
    with pytest.raises(ZeroDivisionError, match="planted") as caught:
        y.backward()
    assert "at op 'strange'" in "".join(caught.value.__notes__)
    np.testing.assert_array_equal(x.grad.data, before[0])
    np.testing.assert_array_equal(w.grad.data, before[1])


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failing_hook_leaves_gradients_and_state_as_they_were(error):
    class Failing:
        def __init__(self, left):
            self.left = left

        @hookimpl
        def backward_postprocess(self, op):
            self.left -= 1
            if self.left == 0:
                raise error("planted")

    x = ag.Variable(np.ones(3))
    xp.sum(x * 2.0).backward()
    for left in (1, 2, 3):
        with pytest.raises(error, match="planted"), ag.hooks(Failing(left)):
            xp.sum(xp.sin(x * 2.0)).backward()
        np.testing.assert_array_equal(x.grad.data, 2.0)
    assert ag.is_grad_enabled()
    xp.sum(x).backward()
    np.testing.assert_array_equal(x.grad.data, 3.0)


def test_a_missing_rule_says_how_to_register_one():
    strange = op_of_a_stranger(lambda ops: ops.missing("strange(x, /)", forward=np.sum))
    x = ag.Variable(np.eye(2))
    y = strange(x)
    assert y.item() == 2.0
    with pytest.raises(MissingRuleError, match=r"ops\.vjp\('strange\(x, /\)', x=") as caught:
        y.backward()
    assert "numpy" in str(caught.value)
    assert "agnograd.ops" in str(caught.value)


def test_backward_needs_a_gradient_and_a_scalar():
    with pytest.raises(NoGradientError, match="requires no gradient"):
        ag.Variable(2.0, requires_grad=False).backward()
    x = ag.Variable(np.ones(3))
    with pytest.raises(NoGradientError, match=r"shape \(3,\).*pass the gradient"):
        (x * 2.0).backward()
    with pytest.raises(NoGradientError, match="complex value"):
        ag.Variable(1j).backward()
    with pytest.raises(GradientError, match=r"shape \(2,\).*shape \(3,\)"):
        (x * 2.0).backward(np.ones(2))
    with pytest.raises(GradientError, match="float32"):
        (x * 2.0).backward(np.ones(3, dtype=np.float32))
    (x[:1] * 2.0).backward()
    np.testing.assert_array_equal(x.grad.data, [2.0, 0.0, 0.0])


def test_unused_inputs_are_an_error_unless_allowed():
    x, unused = ag.Variable(2.0), ag.Variable(3.0)
    with pytest.raises(NoGradientError, match=r"inputs\[1\].*allow_unused"):
        ag.autodiff.grad(x * x, [x, unused])
    g, none = ag.autodiff.grad(x * x, [x, unused], allow_unused=True)
    assert g.item() == 4.0
    assert none is None
    assert x.grad is None


def test_several_outputs_with_cotangents():
    x = ag.Variable(np.ones(2))
    ag.autodiff.backward([x * 2.0, x * 3.0], [np.ones(2), np.full(2, 10.0)])
    np.testing.assert_array_equal(x.grad.data, 32.0)
    with pytest.raises(GradientError, match="1 cotangents were given for 2 outputs"):
        ag.autodiff.backward([x * 2.0, x * 3.0], [np.ones(2)])


def test_create_graph_gives_gradients_that_differentiate():
    x = ag.Variable(np.asarray([1.0, 2.0]))
    xp.sum(x**3).backward(create_graph=True)
    g = x.grad
    assert g.requires_grad
    x.grad = None
    xp.sum(g * g).backward()
    np.testing.assert_allclose(x.grad.data, 36 * x.data**3)


def test_a_gradient_that_differentiates_still_does_after_a_pass_that_is_not_recorded():
    x = ag.Variable(2.0)
    (x**3).backward(create_graph=True)
    (x * x).backward()
    assert x.grad.item() == 16.0
    assert ag.autodiff.grad(x.grad, [x])[0].item() == 12.0


def test_partly_used_outputs_get_zeros():
    x = ag.Variable(np.arange(6.0).reshape(3, 2))
    first, _, third = xp.unstack(x)
    (xp.sum(first) + xp.sum(third * third)).backward()
    np.testing.assert_array_equal(x.grad.data, [[1.0, 1.0], [0.0, 0.0], [8.0, 10.0]])


N = 40

# Loops over parts of an array of N rows, each row once.
LOOPS = {
    "elements": lambda x: sum(x[i, 0] * x[i, 1] for i in range(N)),
    "rows": lambda x: sum(xp.sum(x[i, ...] ** 2) for i in range(N)),
    "slices": lambda x: sum(xp.sum(x[i : i + 1, :] ** 2) for i in range(N)),
    "elements and slices": lambda x: sum(x[i, 0] * xp.sum(x[i : i + 1, :]) for i in range(N)),
    "take": lambda x: sum(xp.sum(xp.take(x, xp.asarray([i]), axis=0) ** 2) for i in range(N)),
    "unstack": lambda x: sum(xp.sum(row**2) for row in xp.unstack(x)),
    "concat": lambda x: xp.sum(xp.concat([x[i : i + 1, :] for i in range(N)]) ** 2),
    "fan-out": lambda x: sum(xp.sum(x * float(i)) for i in range(N)),
    "writes": lambda x: xp.sum(written(x) ** 2),
}


def written(x):
    y = xp.zeros((N, 2))
    for i in range(N):
        y[i, ...] = x[i, ...]
    return y


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS.keys())
@pytest.mark.accelerated
def test_loops_over_parts_make_no_full_size_arrays_over_and_over(loop, monkeypatch):
    raw = np.arange(2.0 * N).reshape(N, 2)
    x = ag.Variable(raw)
    y = loop(x)
    made = []
    domain = x._domain
    for owner, name in ((domain.raw, "zeros"), (domain, "copy"), (domain.backend, "set")):
        real = getattr(owner, name)

        def counted(*args, real=real, **options):
            made.append(args[0])
            return real(*args, **options)

        monkeypatch.setattr(owner, name, counted)
    y.backward()
    monkeypatch.undo()
    assert sum(tuple(getattr(what, "shape", what)) == raw.shape for what in made) <= 2
    ag.check_grad(loop, raw / N, order=1)


class Looking:
    @hookimpl
    def forward_postprocess(self, op):
        pass


@pytest.mark.parametrize(
    "state",
    [nullcontext, ag.enable_grad, lambda: ag.hooks(Looking())],
    ids=["usual", "own", "hooks"],
)
def test_elements_that_are_watched_have_gradients_of_their_own(state):
    x = ag.Variable(np.arange(3.0))
    with state():
        first, seen = x[0], []
        product = first * first
        out = product + 3.0 * first + (last := x[2]) * x[1] + xp.sum(x[1:])
    for value in (first, product):  # when others have been computed from them
        value.register_hook(seen.append)
    last.retain_grad()
    out.backward()
    assert [g.item() for g in seen] == [1.0, 3.0]
    assert last.grad.item() == 1.0
    np.testing.assert_array_equal(x.grad.data, [3.0, 3.0, 2.0])


def test_elements_join_what_arrives_in_other_ways():
    x = ag.Variable(np.arange(1.0, 13.0).reshape(3, 4))
    keys = [(0, 0), (1, 2), (1, 2), (-1, 3), (2, -1)] * 3

    def f(x):
        total = xp.sum(x * x)
        for key in keys:
            total = total + x[key] * x[0, 1]
        return total + x[..., 1][2] + x[np.int64(1), 1] + xp.sum(x[1:, ::2] ** 3)

    f(x).backward()
    expected = 2 * x.data
    for key in keys:
        expected[key] += x.data[0, 1]
        expected[0, 1] += x.data[key]
    expected[2, 1] += 1
    expected[1, 1] += 1
    expected[1:, ::2] += 3 * x.data[1:, ::2] ** 2
    np.testing.assert_allclose(x.grad.data, expected, rtol=1e-14)
    ag.check_grad(f, x.data / 4)


@pytest.mark.parametrize(
    "op",
    [
        xp.add,
        xp.subtract,
        xp.divide,
        xp.hypot,
        xp.matmul,
        xp.maximum,
        lambda y, z: xp.add(y, z + y),
    ],
)
@pytest.mark.parametrize("start", [np.eye(2) + 0.5, np.float64(1.5)], ids=["arrays", "numbers"])
def test_an_op_whose_inputs_are_one_value(op, start):
    if op is xp.matmul and not start.shape:
        pytest.skip("numbers have no product of matrices")
    ag.check_grad(lambda x: xp.sum(op(y := x * 2.0, y)), start, order=2)
    ag.check_grad(lambda x: xp.sum(op(x, x) * xp.sum(op(y := xp.sin(x), y) + x)), start)


@pytest.mark.parametrize(
    "op",
    [
        lambda y: y * y[0],
        lambda y: y[0] * y,
        lambda y: y - y[0],
        lambda y: y * y[0] + xp.exp(y[1]) * y,
        lambda y: xp.matmul(y, y) + y[0] * y[2],
    ],
)
def test_an_op_of_a_value_and_of_an_element_that_is_read_of_it(op):
    x = ag.Variable(np.asarray([0.5, -0.25, 1.5]))
    xp.sum(op(x * 2.0)).backward()  # which frees what it has visited, and visits it once
    np.testing.assert_allclose(x.grad.data, ag.jacobian(lambda x: xp.sum(op(x * 2.0)))(x.data))
    ag.check_grad(lambda x: xp.sum(op(x * 2.0)), x.data, order=2)


@pytest.mark.parametrize("shared", [False, True])
def test_eight_threads_lose_no_gradient(shared):
    weights = (
        [ag.Variable(np.ones(50))] * 8 if shared else [ag.Variable(np.ones(50)) for _ in range(8)]
    )
    barrier = threading.Barrier(8)

    def work(w):
        barrier.wait()
        for _ in range(100):
            xp.sum(w * w * 0.5).backward()

    threads = [threading.Thread(target=work, args=(w,)) for w in weights]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for w in weights:
        np.testing.assert_array_equal(w.grad.data, 800.0 if shared else 100.0)
