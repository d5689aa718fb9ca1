"""The interpretation: what is counted, and that results stay what they are."""

import math

import pytest
from stranger_ops.counting import Counting, count

import agnograd as ag
from agnograd.errors import InterpretationError
from agnograd.extend import Run

ROWS, COLUMNS = 3, 4


@pytest.fixture(params=["numpy", "strict", "rows"])
def xp(request):
    return ag.namespace(request.param)


def array(xp, *shape):
    values = [math.sin(1.0 + k) for k in range(math.prod(shape))]
    return xp.reshape(xp.asarray(values, dtype=xp.float64), shape)


def numbers(x):
    flat = ag.namespace(x).reshape(x, (-1,))
    return [flat[k].item() for k in range(flat.shape[0])]


def test_flops_and_bytes_of_each_op(xp):
    x, w = array(xp, ROWS, COLUMNS), array(xp, COLUMNS)

    def f(x):
        return xp.sum(xp.exp(xp.matmul(x, w)) + 1.0)

    value, counts = count(f)(x)
    assert value.item() == f(x).item()
    assert counts.flops == {"matmul": 2 * ROWS * COLUMNS, "exp": ROWS, "add": ROWS, "sum": ROWS}
    assert counts.bytes["matmul"] == 8 * (ROWS * COLUMNS + COLUMNS + ROWS)
    assert counts.bytes["sum"] == 8 * (ROWS + 1)
    assert not counts.unknown


def test_a_gradient_inside_is_counted_and_one_outside_is_right(xp):
    x, w = array(xp, ROWS, COLUMNS), array(xp, COLUMNS, 2)

    def f(x, w):
        return xp.sum(xp.tanh(x @ w) ** 2)

    expected = ag.grad(f, argnums=(0, 1))(x, w)
    gradients, counts = count(ag.grad(f, argnums=(0, 1)))(x, w)
    assert counts.flops["matmul"] == 3 * 2 * ROWS * COLUMNS * 2  # two more for its derivatives
    for found in (gradients, ag.grad(lambda *a: count(f)(*a)[0], argnums=(0, 1))(x, w)):
        for mine, theirs in zip(found, expected, strict=True):
            assert numbers(mine) == pytest.approx(numbers(theirs))


def test_second_derivatives_in_every_order(xp):
    x = array(xp, 3)

    def f(x):
        return xp.sum(x**3 * xp.sin(x[::-1]))

    expected = numbers(ag.hessian(f)(x))
    assert numbers(count(ag.hessian(f))(x)[0]) == pytest.approx(expected)
    assert numbers(ag.hessian(lambda x: count(f)(x)[0])(x)) == pytest.approx(expected)
    mixed = ag.jacobian(lambda x: count(ag.grad(f))(x)[0])(x)
    assert numbers(mixed) == pytest.approx(expected)


def test_writes_and_views(xp):
    x = array(xp, 4)

    def f(x):
        y = xp.zeros((2, 2), dtype=xp.float64)
        y[0, :] = x[:2]
        row = y[1, :]
        row[...] = x[2:] * 2.0
        row *= y[0, :]
        return xp.sum(y**2)

    value, counts = count(f)(x)
    assert value.item() == pytest.approx(f(x).item())
    assert counts.flops["__setitem__"] == 0 < counts.bytes["__setitem__"]
    expected = numbers(ag.grad(f)(x))
    assert numbers(count(ag.grad(f))(x)[0]) == pytest.approx(expected)
    assert numbers(ag.grad(lambda x: count(f)(x)[0])(x)) == pytest.approx(expected)


def test_vmap_inside_counts_all_members_and_outside_one(xp):
    x, w = array(xp, ROWS, COLUMNS), array(xp, COLUMNS)
    gradient = ag.grad(lambda x: xp.sum(xp.tanh(x * w)))
    expected = [each for k in range(ROWS) for each in numbers(gradient(x[k, :]))]
    found, inside = count(ag.vmap(gradient))(x)
    assert numbers(found) == pytest.approx(expected)
    seen = []

    def one(x):
        value, counts = count(gradient)(x)
        seen.append(counts)
        return value

    assert numbers(ag.vmap(one)(x)) == pytest.approx(expected)
    assert inside.flops["tanh"] == ROWS * COLUMNS
    assert seen[0].flops["tanh"] == COLUMNS


def test_what_a_function_closes_over_keeps_its_gradient(xp):
    x, w = array(xp, COLUMNS), ag.Variable(array(xp, COLUMNS), requires_grad=True)
    value, counts = count(lambda x: xp.sum(x * xp.exp(w)))(x)
    assert "exp" not in counts.flops  # it depends on no argument
    value.backward()
    assert numbers(w.grad) == pytest.approx(numbers(x * xp.exp(w.detach())))


def test_programs_are_counted_as_their_ops_and_others_are_named(xp):
    x = array(xp, 3, 3)
    _, counts = count(lambda x: xp.logsumexp(x))(x)
    assert "logsumexp" not in counts.flops
    assert counts.flops["exp"] == counts.flops["sum"] == 9
    assert not counts.unknown
    _, counts = count(lambda x: xp.linalg.det(x))(x)
    assert counts.unknown == {"linalg.det"}


def test_an_array_that_is_kept_is_an_error_that_names_the_function(xp):
    kept = []
    x = array(xp, 3)

    def leaky(x):
        kept.append(x)
        return x

    assert numbers(count(leaky)(x)[0]) == numbers(x)
    with pytest.raises(InterpretationError, match=r"leaky \(.*\) is used after .* Return it"):
        kept[0] * 2.0
    with pytest.raises(InterpretationError):
        count(lambda y: y * kept[0])(x)
    with pytest.raises(InterpretationError):
        float(kept[0][0])


def test_a_failure_leaves_the_interpretation(xp):
    x = array(xp, 3)
    with pytest.raises(ZeroDivisionError):
        count(lambda x: 1 / 0)(x)
    assert Counting.interpret(lambda x: x, x, run=Run()) is not x
    assert ag.namespace(x * 2.0) is xp
