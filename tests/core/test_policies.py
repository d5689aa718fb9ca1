"""Policies of checkpoints: the same gradients, and what is kept is not computed again."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError, RuleError
from agnograd.extend import hookimpl
from arrays import leaf, values

M = np.asarray([[1.0, -2.0, 0.5], [0.3, 1.0, -1.0], [2.0, 0.1, 0.7]])
POLICIES = {
    "products": "products",
    "a name": ["hidden"],
    "names": ("hidden", "scores", "none"),
    "no name": [],
    "an op": lambda op: op.name == "tanh",
    "a chapter": lambda op: op.chapter == "elementwise",
    "everything": lambda op: True,
}


@pytest.fixture(params=POLICIES)
def policy(request):
    return POLICIES[request.param]


def raw(xp, numbers, dtype="float64"):
    return xp.asarray(numbers, dtype=getattr(xp, dtype)).data


def layers(xp, seen=None):
    """Return a function of two products, which notes the raw arrays of its four results."""

    def f(x, w):
        scores = ag.checkpoint_name(xp.matmul(x, w), "scores")
        hidden = ag.checkpoint_name(xp.tanh(scores), "hidden")
        out = xp.matmul(hidden, w)
        if seen is not None:
            seen.append([scores.data, hidden.data, out.data])
        return xp.exp(out / 10.0)

    return f


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12)


def test_derivatives_of_both_orders_are_the_same(xp, policy):
    x, w = raw(xp, M[:2]), raw(xp, M)
    checkpointed = ag.checkpoint(layers(xp), policy=policy)
    ag.check_grad(checkpointed, x, w)
    pair = [ag.grad(lambda x, w, f=f: xp.sum(f(x, w)), (0, 1)) for f in (checkpointed, layers(xp))]
    for found, expected in zip(*(gradient(x, w) for gradient in pair), strict=True):
        close(found, expected)


@pytest.mark.parametrize(
    ("policy", "again"),
    [
        (None, [True, True, True]),
        ("products", [False, True, False]),
        (["hidden"], [True, False, True]),
        (["scores", "hidden"], [False, False, True]),
        (lambda op: op.name == "tanh", [True, False, True]),
        (lambda op: True, [False, False, False]),
    ],
)
def test_what_is_kept_is_not_computed_again(xp, policy, again):
    seen = []
    x, w = leaf(xp, M[:2]), leaf(xp, M)
    out = ag.checkpoint(layers(xp, seen), policy=policy)(x, w)
    kept = [name for name in out.node.saved if name.startswith("result")]
    assert len(kept) >= again.count(False)
    xp.sum(out).backward()
    first, second = seen
    assert [a is not b for a, b in zip(first, second, strict=True)] == again


def test_products_are_what_ops_declare(xp):
    square, image = raw(xp, M), raw(xp, np.ones((1, 1, 4, 4)))
    kernel = raw(xp, np.ones((1, 1, 2, 2)))
    kept = {
        "matmul": lambda x: xp.matmul(x, square),
        "an operator": lambda x: x @ x,
        "in an extension": lambda x: xp.linalg.tensordot(x, square),
        "vecdot": lambda x: xp.vecdot(x, square),
        "einsum": lambda x: xp.einsum("ij,kj->ik", x, square),
        "linear": lambda x: xp.nn.linear(x, square),
        "convolution": lambda x: xp.nn.conv2d(xp.sum(x) * image, kernel),
    }
    others = {
        "multiply": lambda x: x * square,
        "sum": lambda x: xp.sum(x),
        "outer": lambda x: xp.linalg.outer(x[0, :], x[1, :]),
    }
    for results, functions in ((1, kept), (0, others)):
        for name, f in functions.items():
            node = ag.checkpoint(f, policy="products")(ag.Variable(square)).node
            found = [each for each in node.saved if each.startswith("result")]
            assert len(found) == results, name


def test_functions_of_users_are_called_again_since_they_save(xp):
    calls = []

    class Exponential(ag.Function):
        def forward(self, xp, x):
            calls.append("forward")
            out = ag.Variable(x)  # what a function computes by ops has no place of its own
            out = xp.exp((out * 1.0).data)
            self.save(out)
            return out

        def backward(self, xp, g):
            return g * self.saved[0]

    def f(x):
        return xp.sin(ag.checkpoint_name(Exponential()(xp.cos(x)), "exponential"))

    x = raw(xp, [0.5, 1.0])
    expected = ag.grad(lambda x: xp.sum(xp.sin(xp.exp(xp.cos(x)))))(x)
    for policy in (lambda op: True, ["exponential"]):
        calls.clear()
        close(ag.grad(lambda x, p=policy: xp.sum(ag.checkpoint(f, policy=p)(x)))(x), expected)
        assert len(calls) == 2


def test_writes_views_and_several_results(xp, policy):
    def f(x):
        y = xp.matmul(x, x)
        view = xp.matrix_transpose(y)
        view[0, ...] = ag.checkpoint_name(xp.tanh(view[1, ...]), "hidden")
        first, *_, last = xp.unstack(y)
        y[1, 1] = xp.sum(last)
        y += 1.0
        values, vectors = xp.linalg.qr(y)
        return ag.checkpoint_name(values, "scores") * vectors + first

    ag.check_grad(ag.checkpoint(f, policy=policy), raw(xp, M))


def test_what_is_kept_is_the_same_however_often_it_is_used(xp, policy):
    def f(x):
        y = ag.checkpoint_name(xp.exp(x), "hidden")
        y[0] = 5.0
        return y * y

    x = leaf(xp, [1.0, 2.0])
    out = xp.sum(ag.checkpoint(f, policy=policy)(x))
    for _ in range(3):
        x.grad = None
        out.backward(retain_graph=True)
        np.testing.assert_allclose(values(x.grad), [0.0, 2.0 * np.exp(4.0)])


def test_checkpoints_in_checkpoints(xp, policy):
    inner = ag.checkpoint(layers(xp), policy=["hidden"])
    plain = ag.checkpoint(layers(xp))

    def f(x, w):
        return xp.matmul(plain(inner(x, w), w), ag.checkpoint_name(xp.tanh(w), "hidden"))

    ag.check_grad(ag.checkpoint(f, policy=policy), raw(xp, M[:2]), raw(xp, M))


def test_functions_that_take_derivatives_themselves(xp, policy):
    def cube(x):
        return xp.sum(ag.checkpoint_name(xp.tanh(x), "hidden") * xp.matmul(x, x))

    def recorded(x):
        y = x * 1.0
        return ag.autodiff.grad(ag.checkpoint(cube, policy=policy)(y), y, create_graph=True)[0]

    x = raw(xp, [0.5, 1.0])
    expected = ag.hessian(cube)(x)
    for f in (
        ag.grad(cube),
        ag.grad(ag.checkpoint(cube)),
        lambda x: ag.jvp(ag.grad(cube), x, x)[0],
        recorded,
    ):
        close(ag.jacobian(ag.checkpoint(f, policy=policy))(x), expected)


def test_members_of_vmap_around_and_inside(xp, policy):
    x, w = raw(xp, M), raw(xp, M)
    f = layers(xp)
    expected = ag.vmap(ag.grad(lambda x: xp.sum(f(x, w))))(x)
    around = ag.vmap(ag.grad(lambda x: xp.sum(ag.checkpoint(f, policy=policy)(x, w))))(x)
    np.testing.assert_allclose(np.asarray(around), np.asarray(expected), rtol=1e-9)
    each = ag.checkpoint(lambda x: ag.vmap(lambda row: f(row, w))(x), policy=policy)
    inside = ag.grad(lambda x: xp.sum(each(x)))(x)
    np.testing.assert_allclose(np.asarray(inside), np.asarray(expected), rtol=1e-9)


def test_managers_and_forward_mode(xp, policy):
    f = ag.checkpoint(layers(xp), policy=policy)
    x, w = leaf(xp, M[:2]), ag.Variable(raw(xp, M), requires_grad=False)
    with ag.GradManager() as manager:
        manager.attach(w)
        manager.backward(xp.sum(f(x, w)))
    assert x.grad is None
    close(values(w.grad), ag.grad(lambda w: xp.sum(layers(xp)(x.data, w)))(w.data))
    tangents = [ag.jvp(each, (x.data, w.data), (x.data, w.data))[1] for each in (f, layers(xp))]
    close(*tangents)


def test_plugins_pack_what_is_kept(xp):
    class Packer:
        def __init__(self):
            self.packed = []

        @hookimpl
        def save_value(self, op, name, value):
            if op.chapter != "checkpoint":
                return None
            self.packed.append(name)
            return [value]

        @hookimpl
        def restore_value(self, packed):
            return packed[0] if isinstance(packed, list) else None

    x, w = leaf(xp, M[:2]), leaf(xp, M)
    with ag.hooks(Packer()) as (packer,):
        xp.sum(ag.checkpoint(layers(xp), policy="products")(x, w)).backward()
    assert packer.packed == ["argument 0", "argument 1", "result 0", "result 1"]
    close(values(x.grad), ag.grad(lambda x: xp.sum(layers(xp)(x, raw(xp, M))))(x.data))


def test_a_graph_that_is_freed_keeps_nothing(xp):
    out = ag.checkpoint(layers(xp), policy=lambda op: True)(leaf(xp, M[:2]), leaf(xp, M))
    node = out.node
    assert len(node.saved) == 2 + 5
    xp.sum(out).backward()
    assert node.saved is None


def test_other_ops_in_the_second_run_are_an_error(xp):
    turns = iter([False, True, True, True])

    def f(x):
        y = xp.sin(x) if next(turns) else xp.cos(x)
        return xp.exp(y) if next(turns) else y

    x = leaf(xp, [1.0, 2.0])
    out = xp.sum(ag.checkpoint(f, policy=["none"])(x))
    with pytest.raises(RuleError, match="computed cos as its op number 0 when it ran first, and"):
        ag.autodiff.grad(out, x, retain_graph=True)
    turns = iter([False, False, False, True])
    out = xp.sum(ag.checkpoint(f, policy=["none"])(x))
    with pytest.raises(RuleError, match="computed nothing more as its op number 1"):
        out.backward()
    assert x.grad is None


def test_a_name_outside_of_checkpoints_does_nothing(xp):
    x = leaf(xp, [1.0, 2.0])
    assert ag.checkpoint_name(x, "x") is x
    assert ag.checkpoint_name(3.0, "number") == 3.0
    array = raw(xp, [1.0])
    assert ag.checkpoint_name(array, "raw") is array


def test_arguments_that_are_no_policies_or_names(xp):
    for policy in ("product", 3, {"a": 1}, [1], b"products"):
        with pytest.raises(ArgumentError, match="it must be 'products', a list of names"):
            ag.checkpoint(xp.exp, policy=policy)
    with pytest.raises(ArgumentError, match="it must be a name"):
        ag.checkpoint_name(leaf(xp, 1.0), 3)
