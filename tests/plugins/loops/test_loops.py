"""Loops and branches: those of Python give the same, alone, transformed and in programs."""

import itertools
import re

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError
from arrays import host, leaf

RNG = np.random.default_rng(60)
W = 0.4 * RNG.normal(size=(3, 3))
H = RNG.normal(size=3)
US = RNG.normal(size=(4, 3))


def arrays(xp, *values):
    """Return raw arrays of integers, or else of double precision."""
    kinds = [None if isinstance(each, int) else xp.float64 for each in values]
    return [xp.asarray(each, dtype=kind).data for each, kind in zip(values, kinds, strict=True)]


def element(xp, rows, i):
    """Return a row by an array: not every library indexes with those."""
    return xp.take(rows, xp.reshape(i, (1,)), axis=0)[0, ...]


def near(found, expected):
    pairs = zip(*(flat(each) for each in (found, expected)), strict=True)
    for one, other in pairs:
        one, other = host(one), host(other)
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def flat(tree):
    if isinstance(tree, tuple | list):
        return [leaf for each in tree for leaf in flat(each)]
    if isinstance(tree, dict):
        return flat(list(tree.values()))
    return [tree]


# -- what they compute, and the same by Python's loops --------------------------------------------


def recurrent(xp, scan, **options):
    def f(w, h, us):
        def step(carry, u):
            h, count = carry
            h = xp.tanh(w @ h + u)
            return (h, count + 1), {"sum": xp.sum(h), "square": h * h}

        (h, count), ys = scan(step, (h, 0), us, **options)
        scale = xp.astype(count, h.dtype)
        return xp.sum(h * h) * scale + xp.sum(ys["sum"]) * ys["square"][1, 2]

    return f


def python_scan(step, carry, xs, reverse=False, checkpoint=None):
    h, count = carry
    carry, ys, numbers = (h, xs.__array_namespace__().asarray(count)), [], range(xs.shape[0])
    for number in reversed(numbers) if reverse else numbers:
        carry, y = step(carry, xs[number, ...])
        ys.append(y)
    if reverse:
        ys.reverse()
    return carry, {name: xs.__array_namespace__().stack([y[name] for y in ys]) for name in ys[0]}


def newton(xp, loop):
    def f(w, h, us):
        def far(pair):
            return xp.sum(xp.abs(pair[0] * pair[0] - a)) > 1e-9

        def step(pair):
            x, count = pair
            return 0.5 * (x + a / x), count + 1

        a = xp.exp(h) + xp.sum(us * us) * w[0, 0] ** 2
        x, count = loop(far, step, (xp.ones_like(h), 0))
        return xp.sum(x * xp.sin(h)) + xp.astype(count, x.dtype)

    return f


def python_while(condition, step, carry, checkpoint=None):
    x, count = carry
    carry = (x, x.__array_namespace__().asarray(count))
    while condition(carry):
        carry = step(carry)
    return carry


def branched(xp, cond):
    def f(w, h, us):
        def yes(h, us):
            return xp.sum(xp.sin(w @ h)), us[0, ...]

        def no(h, us):
            return xp.sum(h * h), us[1, ...] * w[0, 0]

        total, row = cond(xp.sum(h) > sum_of, yes, no, h, us)
        return total * xp.sum(row * row)

    sum_of = 0.1
    return f


def python_cond(predicate, yes, no, *operands):
    return (yes if predicate else no)(*operands)


def counted(xp, loop):
    def f(w, h, us):
        def step(i, h):
            return xp.sin(w @ h) + element(xp, us, i)

        return xp.sum(loop(3, step, h) ** 2)

    return f


def python_fori(n, step, carry):
    for i in range(n):
        carry = step(carry.__array_namespace__().asarray(i), carry)
    return carry


KINDS = {
    "scan": (recurrent, ag.scan, python_scan, {}),
    "scan reversed": (recurrent, ag.scan, python_scan, {"reverse": True}),
    "scan, checkpoints": (recurrent, ag.scan, python_scan, {"checkpoint": "log"}),
    "scan, a checkpoint": (recurrent, ag.scan, python_scan, {"checkpoint": 1, "reverse": True}),
    "while": (newton, ag.while_loop, python_while, {}),
    "cond": (branched, ag.cond, python_cond, {}),
    "fori": (counted, ag.fori_loop, python_fori, {}),
}
PLACES = (0, 1, 2)
MANY = (None, 0, 0)
WAYS = {
    "value": lambda xp, f: lambda *values: f(*map(ag.asarray, values)),
    "gradient": lambda xp, f: ag.value_and_grad(f, PLACES),
    "forward mode": lambda xp, f: lambda w, h, us: ag.jvp(f, (w, h, us), (w, h * h, us))[1],
    "Hessian": lambda xp, f: ag.hessian(f, 1),
    "product": lambda xp, f: (
        lambda w, h, us: ag.hvp(lambda h: f(ag.asarray(w), h, ag.asarray(us)), h, w[0, ...])
    ),
    "jvp of grad": lambda xp, f: (
        lambda w, h, us: ag.jvp(ag.grad(f, PLACES), (w, h, us), (w, h * h, us))[1]
    ),
    "Jacobian of grad": lambda xp, f: (
        lambda w, h, us: ag.jacobian(ag.grad(f, 1), 1, mode="reverse")(w, h, us)
    ),
    "grad of a norm": lambda xp, f: (
        lambda w, h, us: ag.grad(lambda h: xp.sum(ag.grad(f)(w, h, us) ** 2))(h)
    ),
    "vmap": lambda xp, f: (
        lambda w, h, us: ag.vmap(f, MANY)(w, xp.stack([h, -h]), xp.stack([us, us * us]))
    ),
    "vmap of grad": lambda xp, f: (
        lambda w, h, us: ag.vmap(ag.grad(f, PLACES), MANY)(
            w, xp.stack([h, -h]), xp.stack([us, us * us])
        )
    ),
    "grad of vmap": lambda xp, f: ag.grad(
        lambda w, h, us: xp.sum(ag.vmap(f, MANY)(w, xp.stack([h, -h]), xp.stack([us, us * us]))),
        PLACES,
    ),
    "checkpoint": lambda xp, f: ag.grad(ag.checkpoint(f), PLACES),
}


def by_members(way):
    return way.startswith(("vmap", "grad of vmap"))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("kind", "way"), list(itertools.product(KINDS, WAYS)))
def test_it_is_the_loop_that_it_says(kind, way, compiled, xp):
    write, ours, pythons, options = KINDS[kind]
    of = lambda loop: write(xp, lambda *args: loop(*args, **options))  # noqa: E731
    known = of(pythons)
    if by_members(way) and kind in ("while", "cond"):  # members differ: Python has no such loop

        def looped(transform):
            return lambda *args: ag.vmap(transform(known))(*args)

        def known(w, h, us):
            return of(pythons)(w, h, us)

    values = arrays(xp, W, H, US)
    found = WAYS[way](xp, of(ours))
    found = ag.compile(found) if compiled else found
    if by_members(way) and kind in ("while", "cond"):
        for each in range(2 if compiled else 1):
            members(xp, way, known, found, values, each)
        return
    expected = WAYS[way](xp, known)(*values)
    near(found(*values), expected)
    if compiled:  # again, and for others
        near(found(*values), expected)
        others = arrays(xp, 0.5 * W, -H, 2.0 * US)
        near(found(*others), WAYS[way](xp, known)(*others))


def members(xp, way, known, found, values, turn):
    """Compare with what single members give."""
    w, h, us = arrays(xp, W * (1.0 + turn), H, US)
    rows = [(w, h, us), (w, -h, us * us)]
    if way == "vmap":
        ns = xp.stack([known(*row) for row in rows])
        near(found(w, h, us), ns.data)
        return
    grads = [ag.grad(known, PLACES)(*row) for row in rows]
    if way == "vmap of grad":
        near(found(w, h, us), [xp.stack(list(each)).data for each in zip(*grads, strict=True)])
        return
    one, other = grads
    expected = (one[0] + other[0], one[1] - other[1], one[2] + 2.0 * us * other[2])
    near(found(w, h, us), expected)


# -- one program -----------------------------------------------------------------------------------


def test_the_function_is_traced_once(xp):
    def f(h, us):
        return ag.scan(lambda h, u: (xp.sin(h) * u, None), h, us)[0]

    compiled = ag.compile(ag.grad(f))
    printed = str(compiled.explain(*arrays(xp, 0.5, np.ones(50))))
    steps, *_ = re.findall(r"(\d+) steps", printed)
    assert int(steps) < 10
    assert len(re.findall("@call", printed)) == 2  # there and back


def test_one_program_for_any_count(xp):  # otherwise there would be too many, and a warning
    def f(x):
        return ag.while_loop(lambda x: x < 1000.0, lambda x: x * x, x)

    compiled = ag.compile(ag.grad(f))
    for x in (1.1, 2.0, 3.0, 30.0, 999.0, 5000.0, 1.001, 1.01, 1.2, 1.0001, 1.00001, 1.000001):
        (x,) = arrays(xp, x)
        near(compiled(x), ag.grad(f)(x))


def test_a_count_that_is_an_array(xp):
    def f(x, n):
        return ag.fori_loop(n, lambda i, y: xp.sin(y) * x, x)

    compiled = ag.compile(ag.value_and_grad(f))
    for n in (3, 0, 1, 12):
        x, count = arrays(xp, 0.7, n)
        expected = ag.value_and_grad(lambda x, n=n: f(x, n))(x)
        near(compiled(x, count), expected)
        near(ag.value_and_grad(f)(x, count), expected)


def test_both_branches_are_known(xp):
    def f(x):
        return ag.cond(x > 0.0, lambda x: x**2, lambda x: xp.exp(x), x)

    compiled = ag.compile(ag.value_and_grad(f))
    for x in (2.0, -1.0, 3.0, -2.0):
        (x,) = arrays(xp, x)
        near(compiled(x), ag.value_and_grad(f)(x))


class Cell:
    """What a loop uses in other ways than as arguments."""

    def __init__(self, w, scale):
        self.w, self.scale = w, scale

    def loss(self, x):
        return ag.scan(lambda h, _: (h * self.w * self.scale, h), x, length=3)[0]


def test_what_is_outside_may_be_replaced(xp):
    (w, v, x) = arrays(xp, 2.0, 3.0, 0.5)
    cell = Cell(w, 1.0)
    compiled = ag.compile(ag.value_and_grad(cell.loss))
    for replaced, scale in ((w, 1.0), (v, 1.0), (v, 2.0), (w, 2.0), (w, 1.0)):
        cell.w, cell.scale = replaced, scale
        near(compiled(x), ag.value_and_grad(cell.loss)(x))


def test_what_is_outside_may_be_replaced_before_the_first_iteration(xp):
    (w, v) = arrays(xp, 2.0, 3.0)
    cell = Cell(w, 1.0)

    def f(x):
        return ag.while_loop(lambda x: x < 10.0, lambda x: x * cell.w, x)

    compiled = ag.compile(f)
    near(compiled(*arrays(xp, 11.0)), np.asarray(11.0))
    cell.w = v
    near(compiled(*arrays(xp, 5.0)), np.asarray(15.0))


def test_tracked_variables_outside(xp):
    w = leaf(xp, W)

    def loss(h):
        return xp.sum(ag.scan(lambda h, u: (xp.tanh(w @ h + u), None), h, xp.asarray(US))[0])

    (h,) = arrays(xp, H)
    loss(h).backward()
    expected, w.grad = w.grad, None
    ag.compile(loss)(h).backward()
    near(w.grad, expected)


def test_a_loop_that_looks_at_values_stays_one_of_python(xp):
    def step(x, u):
        return (x * u if x > 1.0 else x + u), None

    def f(x, us):
        return ag.scan(step, x, us)[0]

    compiled = ag.compile(ag.grad(f))
    for x in (0.5, 3.0):
        x, us = arrays(xp, x, [2.0, 0.1, 3.0])
        near(compiled(x, us), ag.grad(f)(x, us))


def test_loops_in_loops(xp):
    def f(x, us):
        def outer(x, u):
            def inner(y):
                return ag.cond(xp.sum(y) > 1.0, lambda y: xp.sin(y) * u, lambda y: y * x, y)

            y = ag.fori_loop(2, lambda i, y: inner(y) + element(xp, us, i), x)
            z = ag.while_loop(lambda z: xp.sum(z * z) < 20.0, lambda z: 1.5 * z + u, y)
            return z / 10.0, xp.sum(z)

        x, ys = ag.scan(outer, x, us)
        return xp.sum(x) + xp.sum(ys)

    h, us = arrays(xp, H, US)
    for way in (lambda f: f, lambda f: ag.value_and_grad(f, (0, 1)), ag.hessian):
        near(ag.compile(way(f))(h, us), way(f)(h, us))


def test_nothing_is_asked_where_a_mask_leaves_out(xp):
    def f(x):
        h, ys = ag.scan(lambda h, u: (xp.sqrt(h) * u, xp.log(h + 1.0)), x, xp.asarray(ones))
        return xp.where(x > 0.0, h + xp.sum(ys), 0.0)

    x, ones = arrays(xp, 0.0, np.ones(3))
    for gradient in (ag.grad(f), ag.compile(ag.grad(f))):
        assert host(gradient(x)) == 0.0


def test_nan_goes_on(xp):
    def f(x):
        return ag.while_loop(lambda x: x < 10.0, lambda x: x * 2.0, x)

    for g in (f, ag.compile(f)):
        assert np.isnan(host(g(*arrays(xp, np.nan))))


def test_a_limit(xp):
    def f(x):
        return ag.while_loop(lambda x: x < 1e9, lambda x: x * 2.0, x, max_steps=3)

    (x,) = arrays(xp, 1.5)
    for g in (f, ag.compile(f)):
        near(g(x), np.asarray(12.0))
        near(ag.grad(g)(x), np.asarray(8.0))


# -- no iterations, and what is given -------------------------------------------------------------


def test_no_iterations(xp):
    def f(h, us):
        return ag.scan(lambda h, u: (h + u, (h, xp.sum(u))), h, us)

    h, us = arrays(xp, H, US[:0])
    for g in (f, ag.compile(f)):
        near(g(h, us), [h, *arrays(xp, np.zeros((0, 3)), np.zeros(0))])
    near(ag.grad(lambda h: xp.sum(f(h, us)[0]))(h), np.ones(3))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("loop", ["scan", "while_loop", "fori_loop"])
def test_dtypes_stay(loop, compiled, xp):
    def f(x):
        step = lambda x: x * 0.5  # noqa: E731
        if loop == "scan":
            return ag.scan(lambda x, _: (step(x), None), x, length=3)[0]
        if loop == "fori_loop":
            return ag.fori_loop(3, lambda i, x: step(x), x)
        return ag.while_loop(lambda x: x > 0.2, step, x)

    x = xp.asarray(1.0, dtype=xp.float32).data
    g = ag.compile(f) if compiled else f
    assert g(x).dtype == x.dtype
    assert ag.grad(g)(x).dtype == x.dtype
    assert not isinstance(g(x), ag.Variable)
    assert isinstance(f(ag.asarray(x)), ag.Variable)


def grown(x, u):
    return {"a": x["a"].__array_namespace__().stack([x["a"], x["a"]])}, None


def narrowed(x, u):
    xp = x["a"].__array_namespace__()
    return {"a": xp.astype(x["a"], xp.float32)}, None


MISTAKES = {
    "shape": (lambda x: ag.scan(grown, {"a": x}, length=2), r"\['a'\]; it must be \(\) and"),
    "dtype": (lambda x: ag.scan(narrowed, {"a": x}, length=2), r"float32 at \['a'\]"),
    "structure": (lambda x: ag.scan(lambda c, _: ((c, c), None), x, length=1), "structure"),
    "pair": (lambda x: ag.scan(lambda c, _: c, x, length=1), "a pair, the next carry and y"),
    "no length": (lambda x: ag.scan(lambda c, _: (c, c), x), "needs xs, or length="),
    "two lengths": (
        lambda x: ag.scan(lambda c, _: (c, c), x, (np.ones(2), np.ones(3))),
        r"2 by xs at \[0\], 3 by xs at \[1\]",
    ),
    "no axis": (lambda x: ag.scan(lambda c, _: (c, c), x, x), "has no axis to go over"),
    "checkpoint": (
        lambda x: ag.scan(lambda c, _: (c, c), x, length=2, checkpoint=0),
        "a number of carries to keep",
    ),
    "condition": (lambda x: ag.while_loop(lambda x: x, lambda x: x, x), "must be a boolean"),
    "while": (
        lambda x: ag.while_loop(lambda x: x < 5.0, lambda x: (x, x), x),
        "carry that step returned has structure",
    ),
    "predicate": (lambda x: ag.cond(x, abs, abs, x), "predicate is .* must be a boolean"),
    "n": (lambda x: ag.fori_loop(2.0, lambda i, x: x, x), "n is 2.0; it must be an int"),
    "a text": (lambda x: ag.scan(lambda c, _: (c, c), (x, "a"), length=2), r"a str at \[1\]"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("compiled", [False, True])
def test_mistakes(mistake, compiled):
    f, message = MISTAKES[mistake]
    f = ag.compile(f) if compiled else f
    with pytest.raises(ArgumentError, match=message):
        f(np.asarray(1.0))


def test_branches_that_differ():
    def f(x):
        return ag.cond(x > 0.0, lambda x: (x, x), lambda x: x, x)

    with pytest.raises(ArgumentError, match="what no returned has structure"):
        ag.compile(f)(np.asarray(1.0))
    with pytest.raises(ArgumentError, match="what no returned has structure"):
        ag.vmap(f)(np.asarray([1.0, -1.0]))


def test_a_raising_step_leaves_gradients_as_they_were(xp):
    w = leaf(xp, 2.0)

    def step(x, fails):
        if len(seen) == 2:
            raise ZeroDivisionError
        seen.append(x)
        return x * w, None

    seen = []
    with pytest.raises(ZeroDivisionError):
        ag.scan(step, *arrays(xp, 1.0, np.ones(3)))[0].backward()
    assert w.grad is None
