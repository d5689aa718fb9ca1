"""Derivatives of solutions, whatever found them."""

import functools
import math
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import (
    ArgumentError,
    LostGradientError,
    MixedBackendsError,
    RuleError,
    SolverError,
    SolverWarning,
    UnsupportedArrayError,
)
from agnograd.extend import hookimpl
from agnograd.testing import record_events
from arrays import host, leaf, values

METHODS = ("dense", "gmres")


def made(xp, numbers, dtype="float64"):
    """Return a raw array."""
    return leaf(xp, numbers, dtype).data


def newton(residual):
    """Return a solver on the host, by Newton's method with differences, for real arrays."""

    def solver(a, b):
        like, a, b = b, host(a), host(b)
        x = np.ones_like(b)
        for _ in range(60):
            at = residual(x, a, b)
            eye = 1e-6 * np.eye(x.size)
            steps = [(residual(x + e, a, b) - residual(x - e, a, b)) / 2e-6 for e in eye]
            x = x - np.linalg.solve(np.stack(steps, axis=1), at)
        return ag.asarray(x, backend=like, dtype=like.dtype).data

    return solver


def cubic(x, a, b):
    """Return a residual whose Jacobian is not symmetric."""
    return x**3 + a @ x - b


A = [[1.0, 0.5], [-0.25, 2.0]]
B = [1.0, -0.5]


@pytest.mark.parametrize("solve", METHODS)
def test_every_derivative_of_a_root(xp, solve):
    root = ag.implicit(newton(cubic), cubic, solve=solve)
    a, b = made(xp, A), made(xp, B)
    np.testing.assert_allclose(cubic(host(root(a, b)), host(a), host(b)), 0.0, atol=1e-14)
    ag.check_grad(root, a, b)  # to second order, in both modes
    expected = np.linalg.inv(np.diag(3.0 * host(root(a, b)) ** 2) + host(a))
    for mode in ("forward", "reverse"):
        found = ag.jacobian(root, argnums=1, mode=mode)(a, b)
        np.testing.assert_allclose(host(found), expected, rtol=1e-11, atol=1e-14)


def test_derivatives_of_third_order():
    @ag.implicit(residual=lambda x, a: x * x - a)
    def root(a):
        return math.sqrt(a)

    third = ag.grad(ag.grad(ag.grad(root)))(4.0)
    assert float(third) == pytest.approx(3 / 8 * 4.0**-2.5, rel=1e-14)
    by_products = ag.implicit(math.sqrt, lambda x, a: x * x - a, solve="gmres")
    third = ag.grad(ag.grad(ag.grad(by_products)))(4.0)
    assert float(third) == pytest.approx(3 / 8 * 4.0**-2.5, rel=1e-11)
    pushed = ag.jvp(lambda a: ag.jvp(ag.grad(root), a, 1.0)[1], 4.0, 1.0)[1]
    assert float(pushed) == pytest.approx(3 / 8 * 4.0**-2.5, rel=1e-14)


def test_the_solver_gets_raw_arrays_and_is_called_once(backend, xp, library):
    kind, called = type(library.asarray([1.0, 2.0])), []

    @ag.implicit(residual=lambda x, a: x * x - a)
    def root(a):
        called.append(a)
        assert isinstance(a, kind)
        return library.sqrt(a)

    a = made(xp, [1.0, 4.0])
    assert isinstance(root(a), kind)
    assert len(called) == 1
    tracked = ag.Variable(a)
    xp.sum(root(tracked)).backward()
    assert len(called) == 2
    np.testing.assert_allclose(values(tracked.grad), [0.5, 0.25])


def test_nothing_around_a_solver_reaches_it():
    """What a solver computes by transformations is raw, also inside of others."""
    kinds = set()

    @ag.implicit(residual=lambda x, a: x**3 + x - a)
    def root(a):
        x = a
        for _ in range(50):
            slope = ag.grad(lambda x: x**3 + x - a)(x)
            kinds.add(type(slope))
            x = x - (x**3 + x - a) / slope
        return x

    ag.check_grad(root, np.asarray(0.7))
    with ag.no_grad():
        root(np.asarray(0.7))
    assert kinds <= {np.ndarray, np.float64}


class Pair(NamedTuple):
    u: object
    v: object


@pytest.mark.parametrize("solve", METHODS)
def test_pytrees_of_unknowns_and_parameters(xp, solve):
    def residual(x, theta, scale):
        u, v = x["pair"]
        w = x["rest"][0]
        return {
            "pair": Pair(u * u - theta["a"] * v, xp.sum(u, keepdims=True) - scale * w),
            "rest": [v - theta["b"][0] * w**3],
        }

    @ag.implicit(residual=residual, solve=solve)
    def solver(theta, scale):
        # With w of each: v = b w^3, u = sqrt(a b w^3), and sum(u) = scale w fixes w.
        a, b = host(theta["a"]), host(theta["b"][0])
        w = (scale / np.sum(np.sqrt(a * b))) ** 2
        found = np.sqrt(a * b * w**3), b * w**3, w
        u, v, w = (made(xp, each) for each in found)
        return {"pair": Pair(u, v), "rest": [xp.reshape(w, (1,)).data]}

    a, b = made(xp, [0.5, 1.5]), made(xp, [2.0])

    def program(a, b):
        found = solver({"a": a, "b": [b]}, 1.5)
        assert isinstance(found["pair"], Pair)
        return found["pair"].u, found["pair"].v, found["rest"][0]

    ag.check_grad(program, a, b)
    raw = solver({"a": a, "b": [b]}, 1.5)
    assert not isinstance(raw["pair"].u, ag.Variable)


@pytest.mark.parametrize("solve", METHODS)
def test_complex_unknowns_and_parameters(xp, solve):
    holomorphic = ag.implicit(
        lambda z: made(xp, np.sqrt(host(z)), "complex128"),
        lambda x, z: x * x - z,
        solve=solve,
    )
    z = made(xp, [1.0 + 2.0j, -0.5 + 0.25j], "complex128")
    ag.check_grad(holomorphic, z)

    def mixed(x, z):  # linear over the real numbers only
        return x + 0.5 * xp.conj(x) - z

    solver = ag.implicit(
        lambda z: made(xp, host(z).real / 1.5 + 2j * host(z).imag, "complex128"), mixed, solve=solve
    )
    ag.check_grad(solver, z)


def test_single_precision_stays_single(xp):
    for solve in METHODS:
        root = ag.implicit(newton(cubic), cubic, solve=solve)
        a, b = made(xp, A, "float32"), made(xp, B, "float32")
        gradient = ag.grad(lambda b, a=a, root=root: xp.sum(root(a, b)))(b)
        assert gradient.dtype == xp.float32
        expected = ag.grad(lambda b: xp.sum(ag.implicit(newton(cubic), cubic)(made(xp, A), b)))(
            made(xp, B)
        )
        np.testing.assert_allclose(host(gradient), host(expected), rtol=1e-4)


def test_fixed_points(xp):
    def image(x, a):
        return a / (2.0 + x)

    @ag.implicit(fixed_point=image)
    def iterated(a):
        x = a
        for _ in range(80):
            x = a / (2.0 + x)
        return x

    ag.check_grad(iterated, made(xp, [0.5, 1.5]))


@pytest.mark.parametrize("solve", ["dense", "cg", "gmres"])
def test_minima(xp, solve):
    def objective(x, a, weights):
        return xp.sum(weights * (x - a) ** 2) + 0.5 * xp.sum(x) ** 2

    @ag.implicit(objective=objective, solve=solve)
    def minimum(a, weights):
        a, weights = host(a), host(weights)
        matrix = 2.0 * np.diag(weights) + np.ones((2, 2))
        return made(xp, np.linalg.solve(matrix, 2.0 * weights * a))

    ag.check_grad(minimum, made(xp, [1.0, -0.5]), made(xp, [0.5, 2.0]))


@pytest.mark.parametrize("solve", METHODS)
def test_optima_under_constraints(xp, solve):
    """The point of a plane that is nearest to another one, and of a sphere."""

    def distance(x, p, n):
        return xp.sum((x - p) ** 2)

    plane = ag.implicit(
        lambda p, n: made(xp, host(p) - (host(n) @ host(p) - 1.0) / (host(n) @ host(n)) * host(n)),
        objective=distance,
        equality=lambda x, p, n: xp.vecdot(n, x) - 1.0,
        solve=solve,
    )
    p, n = made(xp, [1.0, -0.5, 2.0]), made(xp, [1.0, 2.0, -0.5])
    ag.check_grad(plane, p, n)

    def constraints(x, p, radius):
        return {"sphere": [xp.sum(x["at"] ** 2) - radius**2], "height": x["at"][2:] - 0.5}

    def solver(p, radius):
        p, radius = host(p), host(radius)
        flat = p[:2] / np.linalg.norm(p[:2]) * np.sqrt(radius**2 - 0.25)
        return {"at": made(xp, [*flat, 0.5])}

    circle = ag.implicit(
        solver,
        objective=lambda x, p, radius: xp.sum((x["at"] - p) ** 2),
        equality=constraints,
        solve=solve,
    )
    ag.check_grad(lambda p, radius: circle(p, radius)["at"], p, made(xp, 2.0))


def test_what_else_a_solver_takes(xp):
    """Arguments that are not arrays have no gradient, and keyword arguments are the solver's."""

    @ag.implicit(residual=lambda x, a, power, flags: x**power - a)
    def root(a, power, flags, *, x0, steps=60):
        assert not isinstance(x0, ag.Variable)
        x = x0
        for _ in range(steps):
            x = x - (x**power - a) / (power * x ** (power - 1))
        return x

    a, x0 = made(xp, [2.0, 3.0]), made(xp, [1.0, 1.0])
    ag.check_grad(lambda a: root(a, 3, {"name": None}, x0=x0), a)
    assert not isinstance(root(a, 2, None, x0=x0), ag.Variable)
    assert isinstance(root(a, 2, None, x0=ag.Variable(x0, requires_grad=False)), ag.Variable)
    with pytest.raises(LostGradientError, match="root: an array in a keyword argument"):
        root(a, 2, None, x0=ag.Variable(x0))


def test_integers_among_arguments_have_no_gradient(xp):
    @ag.implicit(residual=lambda x, a, n: x - a * xp.astype(n, xp.float64))
    def product(a, n):
        return made(xp, host(a) * host(n))

    n = made(xp, [1, 2], "int64")
    ag.check_grad(lambda a: product(a, n), made(xp, [0.5, 1.5]))


def test_a_start_that_the_solver_returns_is_not_the_parameter(xp):
    """The solution is an array of its own, also where it is that of an argument."""
    root = ag.implicit(lambda a: a, lambda x, a: x * x - a * xp.sum(a))
    a = made(xp, [1.0])
    ag.check_grad(root, a)
    assert root(a) is not a
    buffer = np.zeros(1)

    @ag.implicit(residual=lambda x, a: x - 2.0 * a)
    def reused(a):
        np.multiply(a, 2.0, out=buffer)
        return buffer

    first, second = reused(np.ones(1)), reused(np.full(1, 2.0))
    assert (first.tolist(), second.tolist()) == ([2.0], [4.0])


def test_no_unknowns(xp):
    nothing = ag.implicit(lambda a: made(xp, np.zeros(0)), lambda x, a: x * xp.sum(a))
    gradient = ag.grad(lambda a: xp.sum(nothing(a)))(made(xp, [1.0, 2.0]))
    np.testing.assert_array_equal(host(gradient), [0.0, 0.0])


def test_a_function_solve_may_take_the_matrix_as_a_triple(xp):
    found = []

    def solve(pattern, a, b):
        matrix = a.coordinates(pattern)
        dense = np.zeros(matrix.shape)
        dense[host(matrix.rows), host(matrix.columns)] = host(matrix.values)
        found.append(dense)
        product = host(a.matvec(b))
        np.testing.assert_allclose(dense @ host(b), product, rtol=1e-12)
        return ag.asarray(np.linalg.solve(dense, host(b)), backend=b, dtype=b.dtype).data

    a, b = made(xp, [[1.0, 0.5], [0.0, 2.0]]), made(xp, B)
    for pattern in (None, np.asarray([[True, True], [True, True]])):
        root = ag.implicit(newton(cubic), cubic, solve=functools.partial(solve, pattern))
        ag.check_grad(root, a, b)
    upper = [np.triu(each) for each in found if not np.allclose(each, np.triu(each))]
    assert upper  # the transposed matrix, too


def test_a_pass_may_be_repeated_and_recorded(xp):
    root = ag.implicit(newton(cubic), cubic)
    b = leaf(xp, B)
    out = root(made(xp, A), b)
    pull = ag.vjp(lambda b: root(made(xp, A), b), b)[1]
    once, again = pull(out)[0], pull(out)[0]
    np.testing.assert_array_equal(values(once), values(again))
    (recorded,) = ag.autodiff.grad(xp.sum(out**2), b, create_graph=True)
    xp.sum(recorded).backward()
    expected = ag.hessian(lambda b: xp.sum(root(made(xp, A), b) ** 2))(made(xp, B))
    np.testing.assert_allclose(values(b.grad), host(expected).sum(axis=0), rtol=1e-11)


def test_the_jacobian_is_computed_once_for_a_solution(xp):
    calls = []

    def counted(x, a, b):
        calls.append(1)
        return cubic(x, a, b)

    root = ag.implicit(newton(cubic), counted)
    a = made(xp, A)
    out, pull = ag.vjp(lambda b: root(a, b), made(xp, B))
    calls.clear()
    pull(out)
    first = len(calls)
    calls.clear()
    pull(out)
    assert len(calls) < first


def test_the_jacobian_is_freed_with_the_graph():
    root = ag.implicit(newton(cubic), cubic)
    b = leaf(ag.namespace("numpy"), B)
    out = root(np.asarray(A), b)
    out.sum().backward(retain_graph=True)
    (memory,) = [value for value in out.node.saved.values() if isinstance(value, dict)]
    assert memory["matrix"].shape == (2, 2)
    kept = weakref.ref(memory["matrix"])
    del memory
    out.sum().backward()
    assert kept() is None


@pytest.mark.parametrize("backend", ["jax", "torch"], indirect=True)
def test_libraries_differ_in_what_a_singular_matrix_gives(backend, xp):
    root = ag.implicit(lambda a: a * 0.0, lambda x, a: x * x - a)
    slope = ag.grad(lambda a: xp.sum(root(a)))
    if backend == "torch":
        with pytest.raises(SolverError, match="singular"):
            slope(made(xp, [0.0, 0.0]))
    else:  # JAX raises nothing
        assert not np.isfinite(host(slope(made(xp, [0.0, 0.0])))).any()


@pytest.mark.parametrize("backend", ["jax"], indirect=True)
def test_a_solver_that_jax_traces_is_compiled_by_it(xp):
    jax = pytest.importorskip("jax", reason="JAX: pip install 'agnograd[jax]'")

    @ag.implicit(residual=lambda x, a: x**3 + x - a)
    def root(a):
        return jax.lax.fori_loop(
            0, 40, lambda i, x: x - (x**3 + x - a) / (3.0 * x**2 + 1.0), jax.numpy.ones_like(a)
        )

    a = made(xp, [1.0, 2.0])
    slope = ag.grad(lambda a: xp.sum(root(a) ** 2))
    np.testing.assert_allclose(host(jax.jit(slope)(a)), host(slope(a)), rtol=1e-12)


def test_hooks_see_one_op_with_the_name_of_the_solver():
    @ag.implicit(residual=lambda x, a: x * x - a)
    def root_of(a):
        return np.sqrt(a)

    events = record_events([], lambda: root_of(ag.Variable(np.ones(2))).sum().backward())
    assert sum("root_of" in str(event) for event in events) >= 2
    assert root_of.__name__ == "root_of"


# -- errors ----------------------------------------------------------------------------------------


def test_an_error_of_the_solver_changes_nothing(xp):
    class ConvergenceError(Exception):
        pass

    @ag.implicit(residual=lambda x, a: x - a)
    def failing(a):
        raise ConvergenceError("after 100 steps")

    a = leaf(xp, [1.0])
    xp.sum(a * 2.0).backward()
    with pytest.raises(ConvergenceError, match="after 100 steps"):
        failing(a)
    with pytest.raises(ConvergenceError):
        ag.grad(lambda a: xp.sum(failing(a)))(a)
    assert values(a.grad).tolist() == [2.0]
    assert ag.is_grad_enabled()


@pytest.mark.parametrize("solve", METHODS)
def test_a_singular_system(solve):
    xp = ag.namespace("numpy")
    root = ag.implicit(lambda a: np.zeros(2), lambda x, a: x * x - a, solve=solve)
    a = ag.Variable(np.zeros(2))
    out = root(a)  # there is a solution all the same
    with pytest.raises(SolverError, match="singular"):
        xp.sum(out).backward()
    assert a.grad is None


def test_a_singular_system_of_cg_and_of_constraints():
    xp = ag.namespace("numpy")
    flat = ag.implicit(lambda a: a, objective=lambda x, a: xp.sum((x - a) ** 4), solve="cg")
    with pytest.raises(SolverError, match="not definite"):
        ag.grad(lambda a: xp.sum(flat(a)))(np.ones(2))

    def twice(x, a):
        return xp.stack([xp.sum(x) - xp.sum(a), xp.sum(x) - xp.sum(a)])

    def distance(x, a):
        return xp.sum((x - a) ** 2)

    dependent = ag.implicit(lambda a: a * 1.0, objective=distance, equality=twice)
    with pytest.raises(SolverError, match="linearly dependent"):
        dependent(np.ones(2))
    for found, message in ((1.0, "equality returned float"), (np.ones(1, bool), "returned bool")):
        wrong = ag.implicit(
            lambda a: a * 1.0, objective=distance, equality=lambda x, a, found=found: found
        )
        with pytest.raises(RuleError, match=message):
            wrong(np.ones(2))


def test_a_nan_stays_one():
    xp = ag.namespace("numpy")
    for solve in ("dense", "gmres"):
        root = ag.implicit(newton(cubic), cubic, solve=solve)
        pull = ag.vjp(lambda b, root=root: root(np.asarray(A), b), np.asarray(B))[1]
        assert xp.all(xp.isnan(pull(np.full(2, np.nan))[0]))


@pytest.mark.parametrize(
    ("residual", "message"),
    [
        (lambda x, a: {"x": x - a}, "structure"),
        (lambda x, a: (x - a, x - a), "structure"),
        (lambda x, a: (x - a)[:1], r"shape \(1,\).*one equation for each unknown"),
        (lambda x, a: a.__array_namespace__().sum(x - a), r"shape \(\)"),
        (lambda x, a: a.__array_namespace__().astype(x - a, np.complex128), "complex"),
        (lambda x, a: x < a, "bool, and no derivative"),
        (lambda x, a: "nothing", "an object of type str"),
    ],
    ids=["dict", "pair", "shape", "sum", "complex", "bool", "text"],
)
def test_a_residual_that_does_not_fit(residual, message):
    solver = ag.implicit(lambda a: a * 1.0, residual)
    with pytest.raises(RuleError, match=message):
        solver(np.ones(2))


def test_a_fixed_point_or_a_preconditioner_that_does_not_fit():
    with pytest.raises(RuleError, match="fixed_point returned structure"):
        ag.implicit(lambda a: a, fixed_point=lambda x, a: (x, a))(np.ones(2))
    xp = ag.namespace("numpy")
    short = ag.implicit(
        lambda a: a, lambda x, a: x - a, solve="gmres", preconditioner=lambda v, x, a: v[:1]
    )
    with pytest.raises(RuleError, match="the preconditioner returned"):
        ag.grad(lambda a: xp.sum(short(a)))(np.ones(2))


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (lambda a: "solved", "an object of type str"),
        (lambda a: a > 0.0, "dtype bool"),
        (lambda a: [], "returned no array"),
        (lambda a: None, "returned no array"),
    ],
    ids=["text", "bool", "list", "none"],
)
def test_a_solver_that_returns_what_is_not_a_solution(solver, message):
    with pytest.raises(RuleError, match=message):
        ag.implicit(solver, lambda x, a: x)(np.ones(2))


def test_a_function_solve_that_returns_something_else():
    xp = ag.namespace("numpy")
    for found, message in ((np.ones(3), r"one of shape \(3,\)"), ("text", "an object of type str")):
        root = ag.implicit(lambda a: a, lambda x, a: x - a, solve=lambda a, b, found=found: found)
        with pytest.raises(RuleError, match=message):
            ag.grad(lambda a, root=root: xp.sum(root(a)))(np.ones(2))


def test_a_gradient_that_would_be_lost_is_an_error(xp):
    c = leaf(xp, [1.0, 2.0])
    root = ag.implicit(lambda a: a * c.data, lambda x, a: x - a * c)
    a = made(xp, [1.0, 1.0])
    with pytest.raises(LostGradientError, match="pass it as an argument"):
        root(a)
    with ag.no_grad():
        np.testing.assert_array_equal(host(root(a)), [1.0, 2.0])
    constant = ag.implicit(lambda a: a * c.data, lambda x, a: x - a * c.detach())
    ag.check_grad(constant, a)


def test_arrays_are_of_one_library_and_there_is_one():
    strict = ag.namespace("strict").asarray([1.0]).data
    added = ag.implicit(lambda a, b: a, lambda x, a, b: x - a)
    with pytest.raises(MixedBackendsError):
        added(np.ones(1), strict)
    with pytest.raises(RuleError, match="must return an array of backend 'numpy'"):
        ag.implicit(lambda a: strict, lambda x, a: x - a)(np.ones(1))
    with pytest.raises(UnsupportedArrayError, match="pass at least one by position"):
        ag.implicit(math.sqrt, lambda x, a: x * x - a)(4.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of residual, fixed_point and objective"),
        ({"residual": len, "fixed_point": len}, "exactly one"),
        ({"residual": 1.0}, "residual must be a function"),
        ({"residual": len, "equality": len}, "equality constrains an objective"),
        ({"objective": len, "equality": len, "solve": "cg"}, "solve='cg' is for definite"),
        ({"residual": len, "solve": "lu"}, "one of dense, cg, gmres"),
        ({"residual": len, "rtol": 1e-3}, "rtol is for solve='cg'"),
        ({"residual": len, "solve": len, "preconditioner": len}, "preconditioner is for"),
        ({"residual": len, "solve": "cg", "rtol": "small"}, "it must be a number"),
        ({"residual": len, "solve": "cg", "maxiter": 0}, "a positive integer"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(ArgumentError, match=message):
        ag.implicit(math.sqrt, **options)
    with pytest.raises(ArgumentError, match="solver must be a function"):
        ag.implicit(1.0, len)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("found", "said"),
    [(1.5, "the residual is 2.5e-01 at the solution"), (math.nan, "not finite"), (1.4141, None)],
)
def test_a_solution_that_solves_nothing_is_warned_of(xp, found, said, dtype):
    @ag.implicit(residual=lambda x, a: x * x - a)
    def root(a):
        return xp.asarray(found, dtype=a.dtype)

    a = made(xp, 2.0, dtype)
    if said is None or xp.__name__.endswith("dask"):  # which looks at no value
        assert float(ag.grad(root)(a)) == pytest.approx(0.5 / found, rel=1e-4, nan_ok=True)
        return
    with pytest.warns(SolverWarning, match=f"root: .*{said}.*of no solution"):
        ag.grad(root)(a)


def test_what_solves_a_badly_scaled_equation_is_not_warned_of(xp):
    root = ag.implicit(lambda a: a, residual=lambda x, a: 1e12 * (x - a) + 1e-3)
    assert float(ag.grad(root)(made(xp, 2.0))) == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_hooks_see_each_op_where_the_user_called_it(xp, method):
    class Places:
        def __init__(self):
            self.found = {}

        @hookimpl
        def forward_preprocess(self, op):
            self.found[op.name] = op.location

        backward_preprocess = forward_preprocess

    root = ag.implicit(lambda a: a / a, residual=lambda x, a: xp.sin(x - 1.0) * a, solve=method)
    places = Places()
    with ag.hooks(places):
        ag.grad(lambda a: xp.sum(root(a)))(made(xp, [1.0, 2.0]))
    assert {"<lambda>", "LinearSolve", "sin"} <= places.found.keys()
    assert all(Path(__file__).name in place for place in places.found.values()), places.found
