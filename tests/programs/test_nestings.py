"""Random nestings of transformations, against nested dual numbers; see ``--programs=N``.

A failure is reported as a script that runs by itself. ``tests/helpers/search_nestings.py`` checks
many of them in several processes.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import agnograd as ag
import duals
import nestings
import twin
from nestings import Nesting
from own_derivatives import FUNCTIONS

POINTS = np.asarray([0.3, 0.7, -0.45])


def test_random_nestings_are_those_of_nested_dual_numbers(backend, request):
    count = max(1, request.config.getoption("--programs") // 2)
    results = Counter()
    for seed in range(count):
        nesting, choices = nestings.drawn(seed, backend)
        try:
            failure = nestings.check(nesting)
        except twin.InconclusiveError:
            results["inconclusive"] += 1
            continue
        if failure is not None:
            results["refused"] += 1
            small = None if failure.refused else nestings.smaller(choices, backend, failure.kind)
            assert small is None, f"{failure.text} in this program:\n\n{small.script()}"
    assert results["inconclusive"] <= 3 + 0.1 * count
    assert results["refused"] <= 3 + 0.03 * count


# -- what was wrong -------------------------------------------------------------------------------

FIXED = {
    "a recorded pass through a checkpoint of a pullback of what is compiled": """
def program(x):
    def g(u):
        s = ag.compile(lambda w: xp.sum(xp.sin(w) * w), lowering="plain")(u)
        t1, t2 = ag.vjp(lambda w: w * s, x)
        return ag.checkpoint(lambda w: t2(w)[0])(x)
    t3, t4 = ag.vjp(g, x)
    return ag.vjp(lambda w: t4(w)[0], x)[0]
""",
    "a pullback of a function of one's own in a Laplacian": """
def program(x):
    def f1(u):
        def g4(v):
            def g8(w):
                t10, t11 = ag.vjp(lambda z: Reversed()(z), u)
                return (ag.vmap(lambda g: t11(g)[0])(xp.stack([w])))[-1, :]
            return ag.vmap(lambda w: g8(u * u) * w)(xp.stack([u * v]))[-1, :]
        return xp.sum(ag.laplacian(g4)(u) + ag.taylor(g4, u, u, 2)[1])
    return ag.grad(f1)(x[:3])
""",
    "a series of a function of one's own whose values are tracked outside": """
def program(x):
    def f1(u):
        value, series = ag.jet(lambda w: Rounded()(w), (u,), ([x, x],))
        return xp.sum(value + series[1])
    return ag.grad(f1)(x)
""",
    "a series of members of a function of one's own that saves its result": """
def program(x):
    def g(u):
        return ag.vmap(lambda w: Pushed()(w))(xp.stack([u, x]))[0, :]
    return ag.taylor(g, x, x, 2)[2] + ag.taylor(g, x, x, 1)[1]
""",
    "a series of a root of what has a gradient outside": """
def program(x):
    def g(u):
        series = ag.jet(lambda w: root(ag.grad(lambda v: xp.mean(v**2))(w)), (x,), ([u, u],))[1]
        return xp.sum(series[1] / xp.cos(u))
    return ag.grad(g)(x)
""",
    "a Laplacian of solutions in vmap": """
def program(x):
    def g1(u):
        return ag.vmap(lambda w: xp.sum(root(w * x[:3])))(u)
    return ag.laplacian(g1)(x[:3])
""",
    "a gradient of a Jacobian whose passes run at once": """
def program(x):
    def g(u):
        return u * xp.var(u)
    return ag.grad(lambda u: xp.sum(ag.jacobian(g)(u) ** 2))(x)
""",
    "a gradient of a Jacobian of one pass for each element": """
def program(x):
    def g(u):
        return u * xp.var(u)
    return ag.grad(lambda u: xp.sum(ag.jacobian(g, chunk_size=1)(u) ** 2))(x)
""",
    "a compiled Jacobian": """
def program(x):
    return ag.compile(ag.jacobian(xp.nn.softmax), lowering="plain")(x)
""",
    "Jacobians of members": """
def program(x):
    return ag.vmap(ag.jacobian(xp.nn.softmax))(xp.stack([x, x]))
""",
    "members of a pullback, in a gradient": """
def program(x):
    def g(u):
        value, pull = ag.vjp(xp.var, u)
        return xp.sum(ag.vmap(lambda s: pull(s * value)[0])(xp.stack([u[0], u[1]])) ** 2)
    return ag.grad(g)(x)
""",
    "members of a pullback, along a tangent": """
def program(x):
    def g(u):
        value, pull = ag.vjp(xp.nn.softmax, u)
        return ag.vmap(lambda s: pull(s * value)[0])(xp.stack([u, 2.0 * u]))
    return ag.jvp(g, x, x)[1]
""",
    "what is cut for each member": """
def program(x):
    return ag.grad(lambda u: xp.sum(ag.vmap(lambda m: ag.stop_gradient(m) * m)(u)))(x)
""",
    "what is detached for each member": """
def program(x):
    return ag.grad(lambda u: xp.sum(ag.vmap(lambda m: m.detach() * m)(u)))(x)
""",
    "a rounding of members": """
def program(x):
    def g(u):
        return xp.sum(ag.vmap(lambda v: xp.sum(Rounded()(v)))(xp.stack([u, u])))
    return ag.grad(g)(x)
""",
    "a reversal in a Jacobian": """
def program(x):
    return ag.jacobian(lambda u: ag.vmap(lambda v: Reversed()(v) * v)(xp.stack([u, u])))(x)
""",
    "a reversal of members, in a checkpoint, along a tangent": """
def program(x):
    g = ag.checkpoint(lambda u: ag.vmap(lambda v: Reversed()(v) * v)(xp.stack([u, u])))
    return ag.jvp(g, x, x)[1]
""",
    "a reversal of members, compiled": """
def program(x):
    g = ag.grad(lambda u: xp.sum(ag.vmap(lambda v: Reversed()(v) * v)(xp.stack([u, u]))))
    return ag.compile(g, lowering="plain")(x)
""",
    "what is outside of a program, beside its members": """
def program(x):
    c = ag.stop_gradient(xp.cos(x))
    def f(v):
        return xp.linalg.outer(c, v) @ v + xp.nn.softmax(c) * v
    return ag.compile(ag.vmap(f), lowering="plain")(xp.stack([x, 2.0 * x]))
""",
    "a checkpoint of what is outside of a program": """
def program(x):
    def g(u):
        return ag.compile(ag.checkpoint(lambda v: xp.sin(v * u) * x), lowering="plain")(x)
    return ag.jvp(lambda u: ag.vjp(g, u)[1](x)[0], x, x)[1]
""",
    "a checkpoint of members, of what has a tangent outside": """
def program(x):
    def g(u):
        return ag.vmap(lambda w: xp.sum(ag.checkpoint(lambda v: xp.sin(u) + v)(x) + w))(u)
    return ag.jvp(g, x, x)[1]
""",
    "members of a pullback of a wrapped function": """
def program(x):
    pull = ag.vjp(wrapped, xp.cos(ag.stop_gradient(x)))[1]
    return ag.vmap(lambda w: pull(w)[0])(xp.stack([x, 2.0 * x]))
""",
    "columns of a checkpoint of a pullback of a root": """
def program(x):
    def g(u):
        pull = ag.vjp(root, u)[1]
        return ag.checkpoint(lambda w: pull(w)[0])(x)
    return ag.jacobian(g)(x) @ x
""",
    "a pattern of a function of what is in another pattern": """
def program(x):
    n = x.shape[0]
    def g(u):
        h = ag.checkpoint(lambda v: Product()(xp.nn.softmax(v), u))
        return u * xp.sum(dense(ag.sparse_jacobian(h)(xp.asarray(u)), xp, n) ** 2)
    return dense(ag.sparse_jacobian(ag.checkpoint(g))(xp.asarray(x)), xp, n) @ x
""",
    "a root of what is outside of a program": """
def program(x):
    def g(u):
        return ag.compile(lambda v: root(u) * v + Steep()(u), lowering="plain")(x)
    return ag.grad(lambda u: xp.sum(g(u) ** 2))(x)
""",
}
BESIDE = """
def program(x, y):
    return ag.grad(lambda u: xp.sum(u * y))(x)
"""


@pytest.mark.parametrize("size", [3, 17])
@pytest.mark.parametrize("source", FIXED.values(), ids=FIXED)
def test_levels_meet_in(source, size, backend):
    for mode in ("raw", "backward"):
        inputs = [np.linspace(0.3, 1.2, size)]
        failure = nestings.check(Nesting(source, inputs, mode, 2, backend))
        assert failure is None, failure.text


def test_a_gradient_of_raw_arrays_keeps_the_graph_of_a_closure(backend):
    inputs = [np.linspace(0.3, 1.2, 3), np.linspace(1.0, 2.0, 3)]
    failure = nestings.check(Nesting(BESIDE, inputs, "beside a tracked one", 1, backend))
    assert failure is None, failure.text


# -- the twin -------------------------------------------------------------------------------------


def along(source, x, step):
    """Return the sum of what a program's twin computes, some steps further."""
    nesting = Nesting(source, [x + step * np.cos(np.arange(x.size))], "raw", 2)
    return float(np.sum(np.sin(nesting.expected())))


def test_derivatives_of_the_twin_are_those_by_differences():
    checked, step = 0, 1e-3
    for seed in range(900):
        nesting, _ = nestings.drawn(seed)
        known = nesting.transformations & {*FUNCTIONS, "stop_gradient", "detach"}
        if known or nesting.mode != "backward" or nesting.inputs[0].size > 3:
            continue
        (x,) = nesting.inputs
        try:
            found = nesting.expected() @ np.cos(np.arange(x.size))
            at = {k: along(nesting.source, x, k * step) for k in (-4, -2, -1, 1, 2, 4)}
        except (twin.InconclusiveError, duals.TooLargeError):
            continue
        coarse = (at[-4] - 8 * at[-2] + 8 * at[2] - at[4]) / (24 * step)
        fine = (at[-2] - 8 * at[-1] + 8 * at[1] - at[2]) / (12 * step)
        if abs(coarse - fine) < 1e-8 * (1 + abs(fine)):  # no kink is as near as that
            assert abs(found - fine) < 1e-7 * (1 + abs(fine)), nesting.script()
            checked += 1
    assert checked >= 20


OF_ONES_OWN = {
    "Rounded": (lambda x, y: 1.0 + 0 * x, lambda x, y: 0 * x),
    "Reversed": (lambda x, y: -0.5 + 0 * x, lambda x, y: 0 * x),
    "Steep": (lambda x, y: x + 2.0, lambda x, y: 1.0 + 0 * x),
    "OfOutput": (lambda x, y: np.exp(y), lambda x, y: np.exp(2.0 * y)),
    "Pushed": (lambda x, y: y - x, lambda x, y: y - x - 1.0),
    "wrapped": (lambda x, y: x + y, lambda x, y: 1.0 + x + y),
    "root": (lambda x, y: 1 / (3 * y**2 + 1), lambda x, y: -6 * y / (3 * y**2 + 1) ** 3),
}


@pytest.mark.parametrize("name", OF_ONES_OWN)
def test_the_twin_knows_derivatives_of_ones_own(name):
    function = FUNCTIONS[name]
    first, second = OF_ONES_OWN[name]
    value = function(POINTS).of
    gradient = twin.grad(lambda x: twin.XP.sum(function(x)))
    with duals.limited():
        np.testing.assert_allclose(gradient(POINTS).of, first(POINTS, value))
        curvature = twin.grad(lambda x: twin.XP.sum(gradient(x)))(POINTS)
    np.testing.assert_allclose(curvature.of, second(POINTS, value))


# -- the machinery --------------------------------------------------------------------------------


def test_nestings_have_all_transformations():
    used = Counter()
    for seed in range(300):
        used.update(nestings.drawn(seed)[0].transformations)
    assert {*vars(twin.AG), *FUNCTIONS, "detach"} <= set(used)


def test_a_planted_defect_is_found_and_shrunk_to_a_script(monkeypatch):
    monkeypatch.setattr(ag, "stop_gradient", lambda x: x)
    for seed in range(1000):
        nesting, choices = nestings.drawn(seed)
        if nesting.depth > 1:  # so that it takes less time
            continue
        try:
            failure = nestings.check(nesting)
        except twin.InconclusiveError:
            continue
        if failure is not None and failure.kind == "value":
            break
    small = nestings.smaller(choices, "numpy", "value")
    assert "stop_gradient" in small.source
    assert small.source.count("\n") <= 8
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        exec(compile(small.script(), "script", "exec"), {})
    monkeypatch.undo()
    exec(compile(small.script(), "script", "exec"), {})


def test_many_nestings_are_checked_in_processes():
    file = Path(__file__).parents[1] / "helpers" / "search_nestings.py"
    command = [sys.executable, str(file), "--nestings", "8", "--processes", "2"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 8 nestings" in done.stdout
