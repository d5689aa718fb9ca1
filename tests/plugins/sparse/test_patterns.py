"""Patterns: those of known problems, of each kind of op, and of values."""

import numpy as np
import optree
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError, NoGradientError, SparsityError
from agnograd.extend import OpSet
from agnograd_sparse._dependence import kind_of, unknown

XP = ag.namespace("numpy")


def dense(f, *args, **options):
    return ag.sparsity(f, *args, **options).toarray()


def banded(rows, columns, *offsets):
    """Return a matrix with ones on some diagonals."""
    return sum(np.eye(rows, columns, k=offset) for offset in offsets).astype(bool)


def five_point(n):
    """Return the pattern of the Laplacian on a square of n x n points."""
    line, one = banded(n, n, -1, 0, 1), np.eye(n, dtype=bool)
    return np.kron(one, line) | np.kron(banded(n, n, -1, 1), one)


def bratu(u, n, xp=XP):
    v = xp.reshape(u, (n, n))
    w = xp.pad(v, 1)
    sides = w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] + w[1:-1, :-2]
    return xp.reshape(sides - 4.0 * v + xp.exp(v), (-1,))


def brusselator(y, n, xp=XP):
    """Return the slope of the Brusselator in one dimension (Hairer and Wanner, II, IV.1)."""
    u, v = y[:n], y[n:]
    wide_u = xp.concat([xp.ones(1), u, xp.ones(1)])
    wide_v = xp.concat([3.0 * xp.ones(1), v, 3.0 * xp.ones(1)])
    spread_u = wide_u[2:] - 2.0 * u + wide_u[:-2]
    spread_v = wide_v[2:] - 2.0 * v + wide_v[:-2]
    return xp.concat([1.0 + u * u * v - 4.0 * u + spread_u, 3.0 * u - u * u * v + spread_v])


# -- known problems -------------------------------------------------------------------------------


def test_bratu_has_five_points(xp, backend):
    found = dense(lambda u: bratu(u, 5, xp), xp.zeros(25))
    np.testing.assert_array_equal(found, five_point(5))


def test_brusselator_has_two_coupled_bands():
    n = 7
    line, one = banded(n, n, -1, 0, 1), np.eye(n, dtype=bool)
    np.testing.assert_array_equal(
        dense(lambda y: brusselator(y, n), np.ones(2 * n)), np.block([[line, one], [one, line]])
    )


def test_brusselator_on_a_torus_couples_two_rings_of_five_points():
    n = 6

    def slope(y):
        u, v = XP.unstack(XP.reshape(y, (2, n, n)))
        ends = [XP.roll(u, k, axis=axis) for k in (1, -1) for axis in (0, 1)]
        other = [XP.roll(v, k, axis=axis) for k in (1, -1) for axis in (0, 1)]
        reaction = u * u * v
        parts = [1.0 + reaction - 4.4 * u, 3.4 * u - reaction]
        spread = [sum(ends) - 4.0 * u, sum(other) - 4.0 * v]
        return XP.concat([XP.reshape(a + b, (-1,)) for a, b in zip(parts, spread, strict=True)])

    ring = banded(n, n, -1, 0, 1) | banded(n, n, n - 1, 1 - n)
    one = np.eye(n * n, dtype=bool)
    around = np.kron(np.eye(n, dtype=bool), ring) | np.kron(ring, np.eye(n, dtype=bool))
    found = dense(slope, np.ones(2 * n * n))
    np.testing.assert_array_equal(found, np.block([[around, one], [one, around]]))


def test_bands_and_arrows():
    x = np.ones(6)
    np.testing.assert_array_equal(dense(lambda x: x[1:] * x[:-1], x), banded(5, 6, 0, 1))
    np.testing.assert_array_equal(dense(lambda x: XP.diff(x, n=2), x), banded(4, 6, 0, 1, 2))
    arrow = np.eye(6, dtype=bool)
    arrow[0, :] = arrow[:, 0] = True
    found = dense(lambda x: XP.concat([XP.sum(x**2)[None], x[1:] * x[0]]), x)
    np.testing.assert_array_equal(found, arrow)
    quartic = lambda x: XP.sum(x[1:] ** 2 * XP.sin(x[0])) + XP.sum(x**4)  # noqa: E731
    np.testing.assert_array_equal(dense(quartic, x, order=2), arrow)
    rosenbrock = lambda x: XP.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)  # noqa: E731
    np.testing.assert_array_equal(dense(rosenbrock, x, order=2), banded(6, 6, -1, 0, 1))


def test_memory_is_linear_in_the_entries():
    n = 300
    found = ag.sparsity(lambda u: bratu(u, n), np.zeros(n * n))
    assert found.shape == (n * n, n * n)
    assert found.count == 5 * n * n - 4 * n
    assert found.starts.nbytes + found.columns.nbytes == 8 * (found.count + n * n + 1)


# -- kinds of ops ---------------------------------------------------------------------------------

A = np.arange(6.0).reshape(2, 3)
CASES = {
    "unary": (XP.exp, np.ones(3), np.eye(3)),
    "step": (XP.floor, np.ones(3), np.zeros((3, 3))),
    "broadcast": (lambda x: x + XP.asarray(A), np.ones(3), np.tile(np.eye(3), (2, 1))),
    "sum of rows": (lambda x: XP.sum(x, axis=1), A, np.kron(np.eye(2), np.ones((1, 3)))),
    "sum of columns": (
        lambda x: XP.sum(x, axis=0, keepdims=True),
        A,
        np.kron(np.ones((1, 2)), np.eye(3)),
    ),
    "maximum": (lambda x: XP.max(x), A, np.ones((1, 6))),
    "transpose": (lambda x: x.T, A, np.eye(6)[[0, 3, 1, 4, 2, 5]]),
    "reversed": (lambda x: XP.flip(x), np.ones(3), np.eye(3)[::-1]),
    "rolled": (lambda x: XP.roll(x, 1), np.ones(3), np.eye(3)[[2, 0, 1]]),
    "repeated": (lambda x: XP.repeat(x, 2), np.ones(2), np.eye(2)[[0, 0, 1, 1]]),
    "stacked": (
        lambda x: XP.stack([x, XP.ones(2), x], axis=1),
        np.ones(2),
        np.asarray([[1, 0], [0, 0], [1, 0], [0, 1], [0, 0], [0, 1]]),
    ),
    "unstacked": (lambda x: XP.unstack(x)[1], A, np.eye(6)[3:]),
    "indices": (lambda x: x[np.asarray([2, 0, 2])], np.ones(3), np.eye(3)[[2, 0, 2]]),
    "mask": (lambda x: x[np.asarray([True, False, True])], np.ones(3), np.eye(3)[[0, 2]]),
    "taken": (lambda x: XP.take(x, np.asarray([1]), axis=1), A, np.eye(6)[[1, 4]]),
    "lower": (lambda x: XP.tril(x), np.ones((2, 2)), np.diag([1, 0, 1, 1])),
    "chosen": (
        lambda x: XP.where(np.asarray([True, False]), x, x[::-1] * 0.5),
        np.ones(2),
        np.asarray([[1, 0], [1, 0]]),
    ),
    "matrix product": (
        lambda x: XP.asarray(np.ones((2, 2))) @ x,
        A,
        np.kron(np.ones((2, 2)), np.eye(3)),
    ),
    "cumulative": (lambda x: XP.cumulative_sum(x), np.ones(3), np.tri(3)),
    "initial": (
        lambda x: XP.cumulative_prod(x, include_initial=True),
        np.ones(2),
        np.tri(3, 2, k=-1),
    ),
    "stacks of matrices": (
        lambda x: XP.linalg.inv(x),
        np.stack([np.eye(2), np.eye(2)]),
        np.kron(np.eye(2), np.ones((4, 4))),
    ),
    "transform": (
        lambda x: XP.real(XP.fft.fft(x, axis=1)),
        A,
        np.kron(np.eye(2), np.ones((3, 3))),
    ),
    "constant": (lambda x: XP.ones(2), np.ones(3), np.zeros((2, 3))),
    "integers": (lambda x: XP.astype(x, XP.int64), np.ones(2), np.zeros((2, 2))),
}


@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_op_has_its_pattern(name):
    f, x, expected = CASES[name]
    for mode in ("global", "local"):
        np.testing.assert_array_equal(dense(f, x, mode=mode), expected.astype(bool))


def test_writes_move_elements():
    def f(x):
        y = XP.zeros(3) + 0.0
        y[1:] = x[:2] * 2.0
        y[0] = 5.0
        return y

    np.testing.assert_array_equal(dense(f, np.ones(3)), banded(3, 3, -1))


def test_what_is_not_known_depends_on_everything():
    ops = OpSet("mine")
    ops.vjp("solved(x, /)", x=lambda g: g, batch=lambda x: x)
    assert kind_of(ops.ops["solved"]) is unknown
    f = lambda x: XP.linalg.solve(XP.asarray(np.eye(3)), x)  # noqa: E731
    assert dense(f, np.ones(3)).all()


def test_a_function_may_call_itself_in_its_backward():
    class Turned(ag.Function):
        def forward(self, xp, x):
            return xp.flip(x)

        def backward(self, xp, g):
            return Turned()(g)

    @ag.implicit(residual=lambda x, a: x * x - a)
    def root(a):
        return np.sqrt(a)

    np.testing.assert_array_equal(dense(Turned(), np.ones(3)), np.eye(3, dtype=bool)[::-1])
    assert dense(root, np.ones(3)).all()  # nothing is known of a matrix of a linear system


def test_functions_of_users_have_the_pattern_of_their_backward():
    class Mirrored(ag.Function):
        """Its value depends on the element, its derivative is one by the mirrored element."""

        def forward(self, xp, x):
            return xp.floor(x)

        def backward(self, xp, g):
            return xp.flip(g)

    np.testing.assert_array_equal(dense(Mirrored(), np.ones(3)), np.eye(3, dtype=bool)[::-1])
    of_members = lambda x: ag.vmap(Mirrored())(x)  # noqa: E731
    expected = np.kron(np.eye(2), np.eye(2)[::-1]).astype(bool)
    np.testing.assert_array_equal(dense(of_members, np.ones((2, 2))), expected)


def test_a_backward_that_computes_with_values_of_its_cotangents_may_be_of_all():
    class Outside(ag.Function):
        def forward(self, xp, x):
            return xp.asarray([2.0 * float(x[1]), 3.0 * float(x[0])])

        def backward(self, xp, g):
            return xp.asarray([3.0 * float(g[1]), 2.0 * float(g[0])])

    assert dense(Outside(), np.ones(2), mode="local").all()


def test_moves_to_another_library_keep_the_pattern():
    pytest.importorskip("array_api_strict", reason="pip install 'agnograd[strict]'")

    def f(x):
        there = ag.asarray(x, backend="strict")
        return ag.asarray(there * there[::-1], backend="numpy")

    expected = (np.eye(3) + np.eye(3)[::-1]) > 0
    np.testing.assert_array_equal(dense(f, np.ones(3)), expected)
    of_members = dense(lambda x: ag.vmap(f)(x), np.ones((2, 3)))
    assert (of_members | ~np.kron(np.eye(2, dtype=bool), expected)).all()


# -- arguments and results ------------------------------------------------------------------------


def test_pytrees_are_one_row_of_elements():
    f = lambda p: {"b": p["y"] * 2.0, "a": XP.sum(p["x"])}  # noqa: E731
    found = dense(f, {"x": np.ones(2), "y": np.ones(1)})
    np.testing.assert_array_equal(found, np.asarray([[1, 1, 0], [0, 0, 1]], dtype=bool))
    pair = dense(lambda x, y, z: x * z, np.ones(2), np.ones(1), np.ones(2), argnums=(2, 0))
    np.testing.assert_array_equal(pair, np.hstack([np.eye(2), np.eye(2)]).astype(bool))


def test_containers_may_refuse_what_is_no_array():
    class Box:
        def __init__(self, x):
            if not hasattr(x, "shape"):
                raise TypeError("a box of what has no shape")
            self.x = x

    everywhere = optree.registry.__GLOBAL_NAMESPACE
    optree.register_pytree_node(
        Box, lambda box: ((box.x,), None), lambda _, parts: Box(*parts), namespace=everywhere
    )
    x = np.asarray([1.0, 2.0])
    np.testing.assert_array_equal(dense(lambda box: box.x**2, Box(x)), np.eye(2, dtype=bool))
    found = ag.sparse_jacobian(lambda y, box: y * box.x)(x, Box(x))
    np.testing.assert_array_equal(found.toarray(), np.diag(x))


def test_variables_keep_their_gradients():
    x = ag.Variable([1.0, 2.0])
    assert ag.sparsity(lambda x: x * x, x).count == 2
    scale = ag.Variable([3.0, 4.0])
    assert ag.sparsity(lambda y: scale * y, np.ones(2)).count == 2
    assert x.grad is None
    assert scale.grad is None


def test_the_pattern_says_what_it_is():
    found = ag.sparsity(lambda x: x[1:] * x[:-1], np.ones(4))
    assert repr(found) == "<sparsity pattern of 3 x 4 elements with 6 entries>"
    assert found.count == 6
    assert found.starts.tolist() == [0, 2, 4, 6]
    np.testing.assert_array_equal(found.T.toarray(), found.toarray().T)
    assert found == found.T.T
    assert found != found.T
    assert found != "a pattern"


# -- global and local -----------------------------------------------------------------------------


def branching(x):
    return x * 2.0 if x[0] > 0 else XP.flip(x)


def test_branches_on_values_are_refused():
    with pytest.raises(SparsityError, match='mode="local"'):
        ag.sparsity(branching, np.ones(2))
    for f in (
        lambda x: x[x > 0],
        lambda x: XP.unique_values(x),
        lambda x: XP.repeat(x, XP.astype(x, XP.int64)),
        lambda x: x[: int(x[0])],
        lambda x: x * XP.nonzero(x)[0],
    ):
        with pytest.raises(SparsityError):
            ag.sparsity(f, np.ones(2))


def test_a_local_pattern_follows_the_branch():
    np.testing.assert_array_equal(dense(branching, np.ones(2), mode="local"), np.eye(2))
    np.testing.assert_array_equal(dense(branching, -np.ones(2), mode="local"), np.eye(2)[::-1])
    picked = lambda x: XP.where(x > 0, x, XP.flip(x))  # noqa: E731
    x = np.asarray([1.0, -1.0])
    np.testing.assert_array_equal(dense(picked, x, mode="local"), [[1, 0], [1, 0]])
    assert dense(picked, x).all()
    sort = lambda x: XP.sort(x)  # noqa: E731
    np.testing.assert_array_equal(dense(sort, x, mode="local"), np.eye(2)[::-1])
    assert dense(sort, x).all()


def test_integers_are_as_they_are_given():
    f = lambda x, k: x[k]  # noqa: E731
    np.testing.assert_array_equal(dense(f, np.ones(3), np.asarray([2, 0])), np.eye(3)[[2, 0]])
    g = lambda x, y: x * 2.0 if y > 0 else x  # noqa: E731
    with pytest.raises(SparsityError):  # other numbers are not
        ag.sparsity(g, np.ones(2), np.asarray(1.0))


def test_unknown_indices_stay_on_their_line():
    f = lambda x: XP.take_along_axis(x, XP.argsort(x, axis=1), axis=1)  # noqa: E731
    np.testing.assert_array_equal(dense(f, A), np.kron(np.eye(2), np.ones((3, 3))))


def test_patterns_compose_with_transformations():
    f = lambda x: ag.vmap(lambda row: XP.cumulative_sum(row))(x)  # noqa: E731
    np.testing.assert_array_equal(dense(f, A), np.kron(np.eye(2), np.tri(3)))
    of_jacobian = dense(lambda x: ag.jvp(lambda y: y**3, x, np.ones(3))[1], np.ones(3))
    np.testing.assert_array_equal(of_jacobian, np.eye(3))
    compiled = ag.compile(lambda x: x * XP.flip(x))
    assert dense(compiled, np.ones(2)).all()


# -- mistakes -------------------------------------------------------------------------------------


def test_mistakes_are_named():
    x = np.ones(2)
    with pytest.raises(ArgumentError, match="mode"):
        ag.sparsity(XP.exp, x, mode="here")
    with pytest.raises(ArgumentError, match="order"):
        ag.sparsity(XP.exp, x, order=3)
    with pytest.raises(ArgumentError, match="argnums names argument 1"):
        ag.sparsity(XP.exp, x, argnums=1)
    with pytest.raises(ArgumentError):
        ag.sparsity(3.0, x)
    with pytest.raises(NoGradientError):
        ag.sparsity(XP.exp, x, order=2)
    with pytest.raises(NoGradientError):
        ag.sparsity(lambda x: None, x)
