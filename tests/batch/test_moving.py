"""Arrays of members that are converted and moved: single members are the measure."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import LostGradientError
from agnograd.extend import Interpretation, Run
from arrays import Square, host, leaf


class Unchanged(Interpretation):
    """Compute what is computed anyway."""


@pytest.fixture
def x(xp):
    return leaf(xp, np.sin(np.arange(1.0, 13.0)).reshape(4, 3).tolist()).data


@pytest.fixture
def other(backend):
    """Return the name of another backend."""
    return "strict" if backend == "numpy" else "numpy"


def conversions(xp, backend, other, w):
    """Return programs of one member that convert it, and what they close over."""

    def there_and_back(x):
        y = ag.asarray(x * x, backend=other)
        assert y._domain.backend.name.count(other) == 1
        return ag.asarray(y.__array_namespace__().exp(y), backend=x) * x

    def made(x):
        copy = xp.asarray(x, copy=True)
        copy[0] = xp.sum(x)
        return copy * x

    return {
        "by name": lambda x: ag.asarray(x, backend=backend) * x,
        "as it is": lambda x: ag.asarray(x) * x,
        "like one": lambda x: ag.asarray(x, backend=x) * x,
        "by dtype": lambda x: ag.asarray(ag.asarray(x, dtype="complex128") * x).real,
        "to its device": lambda x: ag.asarray(x, backend=backend, device=x.device) * x,
        "a constant by name": lambda x: ag.asarray(w, backend=backend) * x * x,
        "a constant as it is": lambda x: ag.asarray(w) * x * x,
        "a constant like one": lambda x: ag.asarray(w, backend=x) * x * x,
        "a list": lambda x: ag.asarray([x[0], 2.0, x[1] * xp.asarray(w)[0]], backend=backend) * x,
        "a list in the namespace": lambda x: xp.asarray([[x[0], 2.0, w[1]], [w[0], 1, x[1]]]) * x,
        "numbers": lambda x: (
            ag.asarray([1.0, 2.0, 3.0], backend=x) * x * ag.asarray(2.0, backend=x)
        ),
        "the namespace of one": lambda x: ag.namespace(x).zeros(3, dtype=x.dtype) + x * x,
        "elsewhere and back": there_and_back,
        "a constant from elsewhere": lambda x: (
            ag.asarray(ag.asarray(w, backend=other), backend=x) * (x * x)
        ),
        "a copy": made,
    }


NAMES = list(conversions(None, "", "", None))
ORDERS = {
    "vmap": lambda f, xp: ag.vmap(f),
    "vmap of grad": lambda f, xp: ag.vmap(ag.grad(lambda x: xp.sum(xp.sin(f(x))))),
    "grad of vmap": lambda f, xp: ag.grad(lambda x: xp.sum(xp.sin(ag.vmap(f)(x)))),
    "vmap of jvp": lambda f, xp: ag.vmap(lambda x: ag.jvp(f, x, x)[1]),
    "jvp of vmap": lambda f, xp: lambda x: ag.jvp(ag.vmap(f), x, x)[1],
    "vmap of jacobian": lambda f, xp: ag.vmap(ag.jacobian(f)),
    "vmap of vmap": lambda f, xp: lambda x: ag.vmap(ag.vmap(f))(xp.stack([x, x]).data)[1, ...],
    "vmap around an interpretation": lambda f, xp: ag.vmap(
        lambda x: Unchanged.interpret(f, x, run=Run())
    ),
    "an interpretation": lambda f, xp: lambda x: Unchanged.interpret(ag.vmap(f), x, run=Run()),
}
SINGLE = {
    "vmap of grad": lambda f, xp: ag.grad(lambda x: xp.sum(xp.sin(f(x)))),
    "grad of vmap": lambda f, xp: ag.grad(lambda x: xp.sum(xp.sin(f(x)))),
    "vmap of jvp": lambda f, xp: lambda x: ag.jvp(f, x, x)[1],
    "jvp of vmap": lambda f, xp: lambda x: ag.jvp(f, x, x)[1],
    "vmap of jacobian": lambda f, xp: ag.jacobian(f),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", NAMES)
def test_conversions_are_those_of_single_members(xp, backend, other, x, name, order):
    f = conversions(xp, backend, other, leaf(xp, [0.5, -2.0, 1.5]).data)[name]
    alone = SINGLE.get(order, lambda f, xp: f)(f, xp)
    expected = np.stack([host(alone(xp.asarray(x)[k, ...])) for k in range(4)])
    found = ORDERS[order](f, xp)(x)
    assert type(found) is type(x)
    np.testing.assert_allclose(host(found), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", [name for name in NAMES if "constant" in name])
def test_constants_keep_their_gradients(xp, backend, other, x, name):
    w = leaf(xp, [0.5, -2.0, 1.5])
    f = conversions(xp, backend, other, w)[name]
    xp.sum(ag.vmap(f)(x)).backward()
    np.testing.assert_allclose(host(w.grad), np.sum(host(x) ** 2, axis=0), rtol=1e-12)


def test_results_may_be_of_another_library(xp, backend, other, x):
    there = ag.asarray(x, backend=other)

    def f(x):
        y = ag.asarray(x, backend=other)
        return y.__array_namespace__().sum(y), x * 2.0, there[0, :]

    total, twice, row = ag.vmap(f, out_axes=(0, -1, None))(x)
    assert type(total) is type(row) is type(there.data)
    assert type(twice) is type(x)
    np.testing.assert_allclose(host(total), host(x).sum(axis=1))
    np.testing.assert_allclose(host(twice), 2.0 * host(x).T)
    np.testing.assert_allclose(host(row), host(x)[0])
    named, _, _ = Unchanged.interpret(ag.vmap(f), x, run=Run())
    assert type(named) is type(there.data)

    tracked = ag.Variable(x)
    total = ag.vmap(f)(tracked)[0]
    total.__array_namespace__().sum(total**2).backward()
    np.testing.assert_allclose(host(tracked.grad), 2.0 * host(x).sum(axis=1)[:, None] + 0 * host(x))


def test_a_move_of_members_is_one_op(xp, other, x):
    sizes = []

    class Look:
        @ag.extend.hookimpl
        def forward_postprocess(self, op, outputs):
            sizes.append((op.name, outputs[0].shape))

    with ag.hooks(Look()):
        ag.vmap(lambda x: ag.asarray(x, backend=other))(x)
    assert ("Move", (4, 3)) in sizes


def test_hooks_see_all_members_and_how_many_in_every_order(xp, x):
    seen = []

    class Look:
        @ag.extend.hookimpl
        def forward_postprocess(self, op, inputs, outputs):
            seen.extend((op.name, op.batch_size, each.shape) for each in (*inputs, *outputs))

        @ag.extend.hookimpl
        def backward_start(self, outputs):
            seen.extend(("start", None, each.shape) for each in outputs)

        @ag.extend.hookimpl
        def backward_preprocess(self, op, inputs):
            seen.append((op.name, op.batch_size, inputs[0].shape))

    def f(x):
        return xp.vecdot(ag.checkpoint(xp.sin)(x), Square()(x))

    with ag.hooks(Look()):
        ag.vmap(ag.grad(f))(x)
    assert {(each[1], each[2][0]) for each in seen if each[0] != "start"} == {(4, 4)}
    assert ("start", None, (4,)) in seen
    seen.clear()
    with ag.hooks(Look()):
        ag.grad(lambda x: xp.prod(ag.vmap(f)(x)))(x)
    assert {each[:2] for each in seen if each[0] in ("sin", "vecdot")} == {
        ("sin", 4),
        ("vecdot", 4),
    }
    assert {each[1] for each in seen if each[0] == "prod"} == {None}


def test_functions_with_results_elsewhere(xp, other, x):
    class Elsewhere(ag.Function):
        backend = other

        def forward(self, xp, x):
            self.save(x)
            return ag.asarray(x * x, backend=other).data

        def backward(self, xp, g):
            (x,) = self.saved
            g = ag.asarray(g, backend=x)
            return 2 * x * (g if isinstance(x, ag.Variable) else g.data)

    def f(x):
        return xp.sum(ag.asarray(Elsewhere()(x), backend=x) * x)

    np.testing.assert_allclose(host(ag.vmap(ag.grad(f))(x)), 3.0 * host(x) ** 2)
    np.testing.assert_allclose(
        host(ag.grad(lambda x: xp.sum(ag.vmap(f)(x)))(x)), 3.0 * host(x) ** 2
    )


def test_a_variable_made_inside_is_a_leaf_there(xp, x):
    ones = xp.ones(3, dtype=xp.float64).data

    def f(x):
        w = ag.Variable(ones)
        xp.sum(w * w * x).backward()
        return w.grad

    found = ag.vmap(f)(x)
    assert type(found) is type(x)
    np.testing.assert_allclose(host(found), 2.0 * host(x))
    both = ag.vmap(lambda x: ag.Variable([xp.asarray(ones)[0], x[1]]))(x)
    np.testing.assert_allclose(host(both), np.stack([np.ones(4), host(x)[:, 1]], axis=1))


def test_functions_of_raw_arrays_take_lists_and_lose_no_gradient(xp, x):
    w = leaf(xp, [1.0, 2.0, 3.0])

    def f(x):
        raw = x.data.__array_namespace__()
        with pytest.raises(LostGradientError, match="would lose the gradient"):
            raw.asarray(ag.Variable(x.detach()))
        return raw.asarray([x.data[0], 2.0, w[2]]) * raw.asarray(w, copy=True)

    found = ag.vmap(f)(x)
    xp.sum(found).backward()
    np.testing.assert_allclose(host(w.grad), [host(x)[:, 0].sum(), 8.0, 24.0])


def test_dlpack_gives_the_same_array(xp, x):
    np.testing.assert_allclose(host(ag.vmap(lambda x: xp.from_dlpack(x) * 2.0)(x)), 2.0 * host(x))
    with pytest.raises(LostGradientError):
        ag.vmap(ag.grad(lambda x: xp.sum(xp.from_dlpack(x))))(x)


# -- several passes at once of what moves ---------------------------------------------------------


def moving(xp, other):
    """Return functions of an array that move what they compute, and what each of them is."""

    def there(x):
        y = ag.asarray(x * x, backend=other)
        return y.__array_namespace__().exp(y)

    def there_and_back(x):
        return ag.asarray(there(x[1:]), backend=x) * x[:-1]

    def here(x):
        return xp.exp(x[1:] * x[1:]) * x[:-1]

    return {
        "there": (there, lambda x: xp.exp(x * x)),
        "there and back": (there_and_back, here),
        "both": (lambda x: (there(x), x * x), lambda x: (xp.exp(x * x), x * x)),
    }


@pytest.mark.parametrize("name", ["there", "there and back", "both"])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobians_of_moves_take_several_passes_at_once(name, mode, xp, other, x):
    f, expected = moving(xp, other)[name]
    wanted = ag.jacobian(expected)(x[0, ...])
    for chunk in (1, 2, 3):
        found = ag.jacobian(f, mode=mode, chunk_size=chunk)(x[0, ...])
        for one, like in zip(leaves(found), leaves(wanted), strict=True):
            np.testing.assert_allclose(host(one), host(like), rtol=1e-9)


@pytest.mark.parametrize("name", ["there", "there and back", "both"])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_sparse_jacobians_of_moves_are_where_their_results_are(name, direction, xp, other, x):
    f, expected = moving(xp, other)[name]
    y = ag.Variable(x[0, ...])
    wanted = ag.sparse_jacobian(expected)(y)
    found = ag.sparse_jacobian(f, direction=direction, chunk_size=2)(y)
    np.testing.assert_array_equal(host(found.columns), host(wanted.columns))
    np.testing.assert_allclose(host(found.values), host(wanted.values), rtol=1e-9)
    assert found.values._domain is leaves(f(y))[0]._domain


def test_second_derivatives_of_moves_take_several_passes_at_once(xp, other, x):
    f, expected = moving(xp, other)["there and back"]

    def second(f):
        return ag.jacobian(ag.jacobian(f, chunk_size=2), chunk_size=3)(x[0, ...])

    np.testing.assert_allclose(host(second(f)), host(second(expected)), rtol=1e-9)
    of_members = ag.vmap(lambda y: ag.jacobian(f, chunk_size=2)(y))(x)
    wanted = ag.vmap(lambda y: ag.jacobian(expected, chunk_size=2)(y))(x)
    np.testing.assert_allclose(host(of_members), host(wanted), rtol=1e-9)


def leaves(found):
    return found if isinstance(found, tuple) else (found,)
