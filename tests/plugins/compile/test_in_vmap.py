"""A compiled function in vmap has a program that computes all members at once."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import BatchingError
from agnograd_compile import _compiled as module
from arrays import host
from calls import profiled

XP = ag.namespace("numpy")
ROWS = np.sin(np.arange(15.0)).reshape(5, 3)


def raw(xp, values):
    return xp.asarray(np.asarray(values).tolist(), dtype=xp.float64).data


def same(found, expected):
    found, expected = host(found), host(expected)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def runs(f, function):
    """Return how often the code of ``f`` runs while a function does, and what that returns."""
    seen = []

    def notice(frame, event, argument):
        seen.append(event == "call" and frame.f_code is f.__code__)

    found = profiled(function, notice)
    return sum(seen), found


def function(xp, w):
    def f(x, scale=1.0):
        return xp.sum(xp.sin(x) * w) * scale, {"rows": x * 2.0, "text": "a", "w": xp.ones(2)}

    return f


def test_members_are_computed_by_one_program(xp):
    f = function(xp, raw(xp, [1.0, 2.0, 3.0]))
    compiled, rows = ag.compile(f), raw(xp, ROWS)

    def parts(f):
        def g(x):
            total, others = f(x, scale=3.0)
            assert others["text"] == "a"
            return total, others["rows"], others["w"]

        return ag.vmap(g)

    for count in (1, 0, 0):
        found = runs(f, lambda: parts(compiled)(rows))
        assert found[0] == count
        for one, other in zip(found[1], parts(f)(rows), strict=True):
            same(one, other)
            assert type(one) is type(other)


@pytest.mark.parametrize("axes", [(0, None), (0, {"a": None, "b": 1}), (None, {"a": None, "b": 1})])
def test_arguments_without_members_and_axes(xp, axes):
    def f(x, y):
        return x * y["b"] - y["a"]

    compiled = ag.compile(f)
    x = raw(xp, ROWS if axes[0] == 0 else ROWS[0])
    y = {"a": raw(xp, ROWS[0]), "b": raw(xp, ROWS.T if axes[1] else ROWS[1])}
    for count in (1, 0):
        ran, found = runs(f, lambda: ag.vmap(compiled, in_axes=axes)(x, y))
        assert ran == count
        same(found, ag.vmap(f, in_axes=axes)(x, y))


def test_vmap_in_vmap(xp):
    f = function(xp, raw(xp, [1.0, 2.0, 3.0]))
    inner = ag.grad(lambda x: f(x)[0])
    compiled, rows = ag.compile(inner), raw(xp, np.stack([ROWS, ROWS + 1.0]))
    for count in (1, 0):
        ran, found = runs(f, lambda: ag.vmap(ag.vmap(compiled))(rows))
        assert ran == count
        same(found, ag.vmap(ag.vmap(inner))(rows))


def test_gradients_around_and_inside(xp):
    w = raw(xp, [1.0, 2.0, 3.0])

    def f(x, w):
        return xp.sum(xp.sin(x) * w)

    def around(f):
        return ag.grad(lambda x, w: xp.sum(ag.vmap(f, in_axes=(0, None))(x, w) ** 2), (0, 1))

    compiled, rows = ag.compile(f), raw(xp, ROWS)
    for count in (1, 0):
        ran, found = runs(f, lambda: around(compiled)(rows, w))
        assert ran == count
        for one, other in zip(found, around(f)(rows, w), strict=True):
            same(one, other)
    for _ in range(2):  # recorded for each member: as it is
        inside = ag.vmap(ag.grad(compiled), in_axes=(0, None))(rows, w)
        same(inside, ag.vmap(ag.grad(f), in_axes=(0, None))(rows, w))
        w_only = ag.vmap(lambda x: ag.grad(lambda w: compiled(x, w))(w))(rows)
        same(w_only, ag.vmap(lambda x: ag.grad(lambda w: f(x, w))(w))(rows))
        pushed = ag.vmap(lambda x: ag.jvp(lambda x: compiled(x, w), x, x)[1])(rows)
        same(pushed, ag.vmap(lambda x: ag.jvp(lambda x: f(x, w), x, x)[1])(rows))


def test_tracked_arrays_outside_keep_their_gradient(xp):
    w = xp.ones(3, dtype=xp.float64)
    w = ag.Variable(w.data)
    compiled = ag.compile(lambda x: xp.sum(x * w))
    for _ in range(2):
        w.grad = None
        xp.sum(ag.vmap(compiled)(raw(xp, ROWS)) ** 2).backward()
        same(w.grad, raw(xp, 2.0 * ROWS.sum(1) @ ROWS))


def test_arrays_outside_are_read_in_each_call():
    w = np.ones(3)

    def f(x):
        return XP.sum(x * w)

    compiled = ag.compile(f)
    for count, number in ((1, 1.0), (0, 2.0)):
        w[0] = number
        ran, found = runs(f, lambda: ag.vmap(compiled)(ROWS))
        assert ran == count
        same(found, ROWS @ w)


def test_a_function_that_finds_members_outside_runs_as_it_is():
    def outer(x):
        return ag.compile(lambda y: y * x)(x + 1.0)

    same(ag.vmap(outer)(ROWS), ROWS * (ROWS + 1.0))


def test_compiled_functions_around_vmap_contain_the_program():
    f = function(XP, np.ones(3))
    both = ag.compile(ag.vmap(ag.compile(lambda x: f(x)[0])))
    for count in (1, 0):
        ran, found = runs(f, lambda: both(ROWS))
        assert ran == count
        same(found, np.sin(ROWS).sum(1))


def test_static_arguments_and_branches():
    powers = ag.compile(lambda x, n: sum(x**k for k in n), static="n")
    same(ag.vmap(lambda x: powers(x, n=[1, 2]))(ROWS), ROWS + ROWS**2)
    branch = ag.compile(lambda x: x if x[0] > 0.0 else -x)
    with pytest.raises(BatchingError, match=r"xp\.where"):
        ag.vmap(branch)(ROWS)


def test_more_combinations_than_programs_run_as_they_are():
    compiled = ag.compile(lambda *arrays: sum(arrays[1:], arrays[0]))
    for n in range(1, module.PROGRAMS + 3):
        for _ in range(2):
            same(ag.vmap(compiled)(*[ROWS] * n), sum([ROWS] * (n - 1), ROWS))


@pytest.mark.parametrize(
    "of_closure",
    [lambda xp, w: xp.sin(w), lambda xp, w: w[0], lambda xp, w: 1.0 * w, lambda xp, w: w @ w],
    ids=["a function", "an element", "an operator", "a product"],
)
def test_what_members_compute_of_a_closure_alone_is_part_of_the_program(of_closure, xp, library):
    x = library.asarray([[0.5, -1.0], [2.0, 0.25], [0.1, 0.2]])

    def loss(w):
        f = ag.compile(lambda x: ag.vmap(lambda m: m * of_closure(xp, w))(x))
        return xp.sum(xp.sin(f(x)))

    def expected(w):
        return xp.sum(xp.sin(xp.stack([row * of_closure(xp, w) for row in xp.asarray(x)])))

    w = ag.Variable(library.asarray([0.3, 0.7]))
    np.testing.assert_allclose(
        np.asarray(ag.grad(loss)(w).data), np.asarray(ag.grad(expected)(w).data)
    )


@pytest.mark.parametrize("grad", [ag.grad, lambda f: f], ids=["differentiated", "called"])
@pytest.mark.parametrize(
    "made",
    [lambda x: ag.linearize(XP.sin, x)[1], lambda x: lambda t: ag.vjp(XP.sin, x)[1](t)[0]],
    ids=["a pushforward", "a pullback"],
)
def test_what_was_made_in_the_inner_of_two_vmaps_runs_as_it_is(made, grad):
    def inner(x, shift):
        return grad(lambda t: XP.sum(shift * ag.compile(made(x))(t)))(x)

    shifts = np.asarray([0.5, 1.5])
    found = ag.vmap(lambda shift: ag.vmap(lambda x: inner(x, shift))(ROWS))(shifts)
    expected = np.stack([np.stack([host(inner(x, shift)) for x in ROWS]) for shift in shifts])
    same(found, expected)


@pytest.mark.parametrize("transform", [ag.vmap, ag.laplacian, lambda f: ag.vmap(ag.grad(f))])
def test_what_is_the_same_for_all_members_decides(transform, xp):
    def f(rows, s):
        of_one = lambda row: xp.sum(row**2) if s > 0 else xp.sum(row**3)  # noqa: E731
        return transform(of_one)(rows)

    compiled = ag.compile(f)
    rows = xp.asarray([[0.5, 1.5], [2.0, -1.0]], dtype=xp.float64).data
    for s in (1.0, -1.0, 2.0, -2.0):
        s = xp.asarray(s, dtype=xp.float64).data
        np.testing.assert_allclose(host(compiled(rows, s)), host(f(rows, s)), rtol=1e-12)
