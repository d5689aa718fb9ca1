"""Derivatives of extremes, and products of transposed factors, as C computes them."""

import numpy as np
import pytest

import agnograd as ag
import agnograd_c
from agnograd_c._rewrite import extremes
from agnograd_c._rewrite.passes import PASSES
from agnograd_c._rewrite.turned import turned
from agnograd_compile._passes.passes import run as improved
from in_c import needs_compiler
from memory import peak_of
from traced import traced

XP = ag.namespace("numpy")

needs_compiler()


pytestmark = pytest.mark.usefixtures("c_folder")


@pytest.fixture
def by_ties(monkeypatch):
    """Return a list of whether each program has derivatives that are written otherwise."""
    found = []

    def noted(program):
        made = extremes.by_ties(program)
        found.append(made is not program)
        return made

    monkeypatch.setitem(PASSES, "extremes", noted)
    return found


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape)


def ops_of(program):
    return [step.op for step in program.steps]


class TestExtremes:
    @pytest.mark.usefixtures("small_groups")
    @pytest.mark.parametrize("op", ["max", "min"])
    @pytest.mark.parametrize(
        "options",
        [
            *({}, {"axis": 1, "keepdims": True}, {"axis": -1}, {"axis": (0, 1), "keepdims": True}),
            *({"axis": 0, "keepdims": True}, {"axis": (1, 0)}, {"keepdims": True}),
        ],
    )
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_they_are_the_rule_s(self, op, options, dtype):
        def f(x):
            largest = getattr(XP, op)(x * x, **options)
            return XP.sum(XP.exp(-0.1 * largest) * XP.sum(x, **options))

        function, x = ag.grad(f), normal(40, 30).astype(dtype)
        tied = np.round(x)  # with many ties
        compiled = ag.compile(function, lowering="c")
        tolerance = 1e-11 if dtype == "float64" else 1e-3
        for given in (x, tied, np.zeros_like(x), -x):
            found, expected = compiled(given), function(given)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)

    @pytest.mark.usefixtures("small_groups")
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -0.0])
    def test_special_values(self, value):
        def f(x):
            return XP.sum(XP.max(x, axis=1, keepdims=True) * XP.sin(x))

        x = normal(20, 30)
        x[3, [4, 9]] = value
        with np.errstate(all="ignore"):
            found, expected = ag.compile(ag.grad(f), lowering="c")(x), ag.grad(f)(x)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)

    def test_softmax_makes_no_array_for_them(self, by_ties):
        def loss(w, x):
            z = x @ w
            z = z - XP.max(z, axis=1, keepdims=True)
            return XP.mean(XP.log(XP.sum(XP.exp(z), axis=1)))

        w, x = normal(30, 20), normal(400, 30)
        run = ag.compile(ag.grad(loss), lowering="c")
        np.testing.assert_allclose(run(w, x), ag.grad(loss)(w, x), rtol=1e-11, atol=1e-13)
        run(w, x)
        assert peak_of(run, w, x) < w.nbytes + 4096  # where an array has 64 kB
        assert by_ties == [True]

    @pytest.mark.parametrize("axis", [0, (0, 2)])
    def test_axes_that_numpy_adds_up_are_left(self, axis, by_ties):
        def f(x):
            return XP.sum(XP.max(x, axis=axis, keepdims=True) ** 2)

        x = normal(30, 40, 50)
        found = ag.compile(ag.grad(f), lowering="c")(x)
        np.testing.assert_allclose(found, ag.grad(f)(x), rtol=1e-12)
        assert by_ties == [False]


class TestTurned:
    def covariance(self, x, y):
        return XP.sum(XP.exp(0.01 * (x @ XP.matrix_transpose(x) + y)))

    def test_the_gradient_of_a_covariance_is_one_sum_of_products(self):
        x, y = normal(50, 40), normal(50, 50)
        program = improved(traced("numpy", ag.grad(self.covariance), x, y))
        made = turned(program)
        assert made is not program
        assert len(made.steps) == len(program.steps) + 1  # two factors for one product
        buffers = sum(agnograd_c.lowering.describe(program)["buffers"])
        run = agnograd_c.lowering.lower(program)
        run([x, y])
        assert buffers + peak_of(run, [x, y]) < y.nbytes + x.nbytes + 2**12
        expected = ag.grad(self.covariance)(x, y)
        np.testing.assert_allclose(run([x, y])[0], expected, rtol=1e-11, atol=1e-11)

    @pytest.mark.parametrize("rows", [1, 2, 300])
    def test_other_sizes_are_left(self, rows):
        x, y = normal(rows, 40), normal(rows, rows)
        program = improved(traced("numpy", ag.grad(self.covariance), x, y))
        if rows != 2:
            assert turned(program) is program
        found = ag.compile(ag.grad(self.covariance), lowering="c")(x, y)
        np.testing.assert_allclose(found, ag.grad(self.covariance)(x, y), rtol=1e-10, atol=1e-10)

    def test_what_something_else_reads_stays(self):
        def f(x, y):
            product = x @ y
            turned = XP.matrix_transpose(product)
            return XP.exp(y @ x) + turned, XP.sin(x) + XP.matrix_transpose(x @ x), product, turned

        x, y = normal(30, 30), normal(30, 30)
        program = improved(traced("numpy", f, x, y))
        assert ops_of(turned(program)).count("matmul") == 3
        found = agnograd_c.lowering.lower(program)([x, y])
        for one, other in zip(found, f(XP.asarray(x), XP.asarray(y)), strict=True):
            np.testing.assert_allclose(one, np.asarray(other), rtol=1e-11, atol=1e-11)
