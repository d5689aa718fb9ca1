"""Linear maps of tangents, recorded once and pushed through many times."""

import copy
import pickle
import threading
import warnings
import weakref

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import GradientError, NoGradientError, UnsupportedArrayError
from agnograd.testing import record_events
from arrays import Square, host, leaf
from linear_maps import check_differentiable


def raw(xp, numbers, dtype="float64"):
    return xp.asarray(numbers, dtype=getattr(xp, dtype)).data


def near(found, expected):
    found = found.detach() if isinstance(found, ag.Variable) else found
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


def test_a_function_runs_once_and_is_pushed_through_many_times(xp):
    ran = []

    def f(x):
        ran.append(1)
        return xp.sin(x) * x

    x = raw(xp, [0.5, 1.0])
    value, push = ag.linearize(f, x)
    at = np.asarray(x)
    near(value, np.sin(at) * at)
    for tangent in ([1.0, 2.0], [0.0, 1.0], [1.0, 2.0]):
        found = push(raw(xp, tangent))
        assert type(found) is type(x)
        near(found, (np.cos(at) * at + np.sin(at)) * tangent)
        expected = ag.jvp(f, x, raw(xp, tangent))[1]
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
        ran.pop()
    assert ran == [1]


def test_pytrees_several_results_and_integers(xp):
    def f(p, y):
        return {"product": p["x"] * y, "constant": xp.ones(2), "place": xp.argmax(y)}

    value, push = ag.linearize(f, {"x": raw(xp, 2.0)}, raw(xp, [3.0, 4.0]))
    near(value["product"], [6.0, 8.0])
    tangent = push({"x": raw(xp, 1.0)}, raw(xp, [10.0, 20.0]))
    near(tangent["product"], [23.0, 44.0])
    near(tangent["constant"], [0.0, 0.0])
    assert int(tangent["place"]) == 0
    assert tangent["place"].dtype == value["place"].dtype


def test_complex_arguments_and_results(xp):
    z, t = raw(xp, [1 + 2j, 0.5j], "complex128"), raw(xp, [1j, 2 - 1j], "complex128")
    value, push = ag.linearize(lambda z: (z * z, xp.abs(z)), z)
    at, along = np.asarray(z), np.asarray(t)
    square, size = push(t)
    near(square, 2 * at * along)
    near(size, np.real(np.conj(at) * along) / np.abs(at))
    assert size.dtype == value[1].dtype == xp.float64


def test_numbers_are_pushed():
    value, push = ag.linearize(lambda x, y: x * y, 2.0, 5.0)
    assert float(value) == 10.0
    assert (float(push(1.0, 0.0)), float(push(0.0, 1.0))) == (5.0, 2.0)


def test_a_product_with_a_matrix_is_pushed_by_one_product(xp):
    matrix = xp.asarray([[1.0, 2.0, 0.0], [0.0, 3.0, 4.0]], dtype=xp.float64)
    for f, size in ((lambda x: matrix @ x, 3), (lambda x: x @ matrix, 2)):
        x = raw(xp, np.ones(size))
        value, push = ag.linearize(f, x)
        found = []
        events = record_events([], lambda push=push, x=x, found=found: found.append(push(x)))
        near(found[0], np.asarray(value))
        rules = [event.op for event in events if event.hook == "backward_preprocess"]
        rules = [rule for rule in rules if rule != "mask"]  # of lazy backends
        assert rules == ["matmul"]  # of a matrix and a vector, with no step between


def functions(xp):
    def moved(x):
        there = ag.asarray(x, backend="numpy")
        return ag.asarray(there * there, backend=x)

    return {
        "ops": lambda x: x * x,
        "checkpoint": ag.checkpoint(lambda x: x * x),
        "Function": Square(),
        "wrap": ag.wrap(lambda x: x**2, vjp=lambda g, out, x: 2 * x * g),
        "asarray": moved,
    }


@pytest.mark.parametrize("name", functions(None))
def test_pushes_are_differentiated_by_their_tangents(xp, name):
    _, push = ag.linearize(functions(xp)[name], raw(xp, [1.0, 2.0]))
    one = raw(xp, [1.0, 1.0])
    check_differentiable(xp, push, one, [2.0, 4.0])
    for _ in range(2):  # no pass frees what the next push needs
        near(ag.linearize(push, one)[1](one), [2.0, 4.0])
        untracked = push(ag.Variable(one, requires_grad=False))
        assert isinstance(untracked, ag.Variable)
        assert not untracked.requires_grad


def test_pushes_are_differentiated_by_the_arguments_and_what_the_function_uses(xp):
    w = leaf(xp, [3.0, 4.0])
    x, t = leaf(xp, [1.0, 2.0]), leaf(xp, [1.0, 10.0])
    value, push = ag.linearize(lambda x: x * x * w, x)
    for tangent in (t, t.data):
        for each in (w, x, t):
            each.grad = None
        xp.sum(push(tangent)).backward(retain_graph=True)
        near(x.grad, [6.0, 80.0])
        near(w.grad, [2.0, 40.0])
        if tangent is t:
            near(t.grad, [6.0, 16.0])
        else:
            assert t.grad is None
    assert value.requires_grad
    with ag.no_grad():
        assert not push(t).requires_grad
        _, constant = ag.linearize(lambda x: x * x * w, x)
        assert not constant(t).requires_grad
    assert constant(t).requires_grad  # by the tangent alone
    t.grad = None
    xp.sum(constant(t)).backward()
    near(t.grad, [6.0, 16.0])
    near(x.grad, [6.0, 80.0])


def test_inside_of_other_transformations_it_is_as_jvp(xp):
    x, one = raw(xp, 2.0), raw(xp, 1.0)
    cube = lambda x: x * x * x  # noqa: E731
    along = lambda f: lambda x: ag.linearize(f, x)[1](xp.ones_like(x))  # noqa: E731
    assert float(along(along(cube))(x)) == 12.0
    assert float(along(ag.grad(cube))(x)) == 12.0
    assert float(ag.grad(along(cube))(x)) == 12.0
    assert float(ag.grad(along(ag.grad(cube)))(x)) == 6.0
    assert float(ag.jvp(along(cube), x, one)[1]) == 12.0
    assert float(along(ag.checkpoint(cube))(x)) == 12.0
    # An inner function may use an outer argument.
    assert float(ag.grad(lambda x: along(lambda y: x * x * y)(one))(x)) == 4.0
    assert isinstance(ag.jvp(lambda x: x * 1.0, leaf(xp, 2.0), one)[1], ag.Variable)


def test_a_tangent_of_zero_gives_zero_where_the_derivative_is_infinite(xp):
    with xp.empty(0)._domain.backend.quiet():
        _, push = ag.linearize(lambda x: xp.sqrt(x), raw(xp, [0.0, 4.0]))
        found = [host(push(raw(xp, tangent))) for tangent in ([0.0, 1.0], [1.0, 1.0], [0.0, 0.0])]
        masked = lambda x: xp.where(x > 0, xp.sqrt(x), 0.0)  # noqa: E731
        _, of_mask = ag.linearize(masked, raw(xp, [0.0, 4.0]))
        assert host(of_mask(raw(xp, [1.0, 1.0]))).tolist() == [0.0, 0.25]
    assert [each.tolist() for each in found] == [[0.0, 0.25], [np.inf, 0.25], [0.0, 0.0]]


def test_tangents_share_memory_with_nothing_else():
    given = np.ones(2)
    _, push = ag.linearize(lambda x: (x, x), np.zeros(2))
    one, other = push(given)
    one *= 2.0
    assert given.tolist() == other.tolist() == push(given)[0].tolist() == [1.0, 1.0]


def test_what_the_function_computed_is_freed():
    xp, held = ag.namespace("numpy"), []

    def f(x):
        y = x * 2.0
        held.append(weakref.ref(y.data))
        return xp.sin(y)

    _, push = ag.linearize(f, np.ones(3))
    assert held[0]() is None
    near(push(np.ones(3)), [2.0 * np.cos(2.0)] * 3)


def test_pushes_of_several_threads_at_once(xp):
    _, push = ag.linearize(lambda x: xp.sin(x) * x, raw(xp, [0.5, 1.0]))
    tangents = [raw(xp, [float(number), 1.0]) for number in range(4)]
    expected, found = [host(push(each)).tolist() for each in tangents], {}

    def run(number):
        for _ in range(20):
            found[number] = host(push(tangents[number])).tolist()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [found[number] for number in range(4)] == expected


def test_misuse_is_an_error_that_says_so(xp):
    x = raw(xp, [1.0, 2.0])
    _, push = ag.linearize(lambda x: x * x, x)
    for tangents in ((), (x, x), ([x],)):
        with pytest.raises(GradientError, match="do not fit arguments of structure"):
            push(*tangents)
    with pytest.raises(GradientError, match="a tangent of shape"):
        push(raw(xp, 1.0))
    near(push(x), [2.0, 8.0])
    with pytest.raises(UnsupportedArrayError, match="no gradient"):
        ag.linearize(lambda x: x, xp.asarray([1, 2]).data)
    with pytest.raises(NoGradientError, match=r"ag\.linearize needs a function that returns"):
        ag.linearize(lambda x: xp.argmax(x), x)


@pytest.mark.parametrize("shape", [(0,), (0, 3)])
@pytest.mark.parametrize("name", ["mean", "var", "std", "sum"])
def test_a_tangent_of_no_elements_gives_zeros(xp, name, shape):
    def f(x):
        return getattr(xp, name)(x)

    x = xp.zeros(shape, dtype=xp.float64).data
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        for push in (lambda: ag.jvp(f, x, x)[1], lambda: ag.linearize(f, x)[1](x)):
            near(push(), 0.0)
        compiled = ag.compile(lambda x: ag.jvp(f, x, x)[1])
        near(compiled(x), 0.0)
        near(ag.jvp(ag.compile(f), x, x)[1], 0.0)


@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_among_results_become_arrays_of_the_arguments_library(xp, compiled):
    def pushed(x):
        return ag.jvp(lambda x: (x * 2.0, 3.0, 4), x, x)[1]

    def pulled(x):
        return ag.value_and_grad(lambda x: 3.0)(x)

    def linear(x):
        return ag.linearize(lambda x: (3.0, x), x)[1](x)

    x = raw(xp, [1.0, 2.0])
    for f, expected in (
        (pushed, [[2.0, 4.0], 0.0, 0]),
        (pulled, [3.0, [0.0, 0.0]]),
        (linear, [0.0, [1.0, 2.0]]),
    ):
        call = ag.compile(f) if compiled else f
        for _ in range(2):
            for one, other in zip(call(x), expected, strict=True):
                assert type(one) is type(x)
                near(one, other)


def test_what_is_of_one_run_is_copied_like_a_function_and_not_pickled(xp):
    x = leaf(xp, [1.0, 2.0]).data
    for name in ("vjp", "linearize"):
        _, linear = getattr(ag, name)(lambda x: xp.sin(x) * x, x)
        assert copy.copy(linear) is linear
        assert copy.deepcopy([linear])[0] is linear
        with pytest.raises(TypeError, match=r"values of a run, .* cannot be pickled: call"):
            pickle.dumps(linear)
