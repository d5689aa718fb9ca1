"""NumPy's arrays and scalars at levels, wherever one can stand: single members are the measure."""

from fractions import Fraction

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import MixedBackendsError

C, MASK, ROWS = np.arange(1.0, 5.0), np.asarray([True, False, True]), np.asarray([2, 0])
MEMBERS = np.sin(np.arange(1.0, 25.0)).reshape(2, 3, 4) + 1.5


def written(xp, x, key, value=0.5):
    y = xp.asarray(x, copy=True)
    y[key] = value
    return y


def added_to(xp, x, key):
    y = x * 1.0
    y[key] += 1.5
    return y


# By where the constant stands.
OPERANDS = {
    "operator": lambda xp, x: x * C - C / x,
    "operator with a scalar": lambda xp, x: np.int64(2) * x ** np.float64(2.0) * np.longdouble(2),
    "operator with a fraction": lambda xp, x: x * Fraction(1, 2),
    "function": lambda xp, x: xp.maximum(xp.atan2(C, x), x),
    "list that comes first": lambda xp, x: xp.multiply([1.0, 2.0, 3.0, 4.0], x),
    "list alone": lambda xp, x: xp.exp([1.0, 2.0, 3.0, 4.0]) * x,
    "where": lambda xp, x: xp.where(C > 2.0, x, C),
    "clip": lambda xp, x: xp.clip(x, np.float64(1.0), C),
    "asarray": lambda xp, x: xp.asarray(C) * x + xp.asarray(C, dtype=x.dtype, copy=True),
    "in place": lambda xp, x: added_to(xp, x, ...).__iadd__(C[::-1]),
    "sequence": lambda xp, x: xp.concat([x, np.ones((1, 4))]),
    "sequence of lists": lambda xp, x: xp.concat([[[1.0, 2.0, 3.0, 4.0]], x]),
    "value": lambda xp, x: written(xp, x, 0, C) * x,
    "option": lambda xp, x: xp.roll(x, np.int64(1), axis=np.int64(0)) ** 2,
}
KEYS = {
    "indices": lambda xp, x: x[ROWS] * x[ROWS, ...],
    "indices of rows": lambda xp, x: x[0, :][ROWS],
    "indices of an axis": lambda xp, x: x[:, np.asarray([[0, 1], [2, 0]])],
    "indices for all axes": lambda xp, x: x[ROWS, ROWS] ** 2,
    "indices beside one's own": lambda xp, x: x[ROWS, xp.argsort(x[0, :])[:2]],
    "list beside one's own": lambda xp, x: x[[2, 0], xp.argsort(x[0, :])[:2]],
    "mask": lambda xp, x: x[MASK] * x[MASK, :],
    "mask of all axes": lambda xp, x: x[C * np.ones((3, 1)) > 2.0] ** 2,
    "mask beside one's own": lambda xp, x: x[MASK, xp.argmax(x[0, :])],
    "scalars": lambda xp, x: x[np.int64(1), np.int64(0) : np.int64(2)],
    "true": lambda xp, x: x[np.True_] ** 2,
    "true and other parts": lambda xp, x: x[0, np.True_] * x[np.True_, 1, :],
    "false": lambda xp, x: xp.concat([x[np.False_, 0], x]),
    "written": lambda xp, x: written(xp, x, ROWS) * x,
    "written through a mask": lambda xp, x: written(xp, x, (slice(None), C > 2.0), x[0, 0]),
    "written at true": lambda xp, x: written(xp, x, (0, np.True_), x[1, 0]),
    "added to": lambda xp, x: added_to(xp, x, (ROWS, ROWS)) * added_to(xp, x, MASK),
    "take": lambda xp, x: xp.take(x, ROWS, axis=0) ** 2,
}
TRANSFORMED = {
    "vmap": lambda f: ag.vmap(f),
    "of vmap": lambda f: lambda x: ag.vmap(ag.vmap(f))(x[None, ...])[0],
    "compiled vmap": lambda f: ag.compile(ag.vmap(f)),
    "vmap of compiled": lambda f: ag.vmap(ag.compile(f)),
}


def namespace(backend):
    library = "array_api_strict" if backend == "strict" else backend
    pytest.importorskip(library, reason=f"pip install 'agnograd[{backend}]'")
    return ag.namespace(backend)


def check(xp, f, transformed):
    """Compare values and gradients of all members with those of each."""
    dtype = xp.float32 if xp.__name__.endswith(".jax") else xp.float64
    given = xp.asarray(MEMBERS.tolist(), dtype=dtype).data
    members = [given[place, ...] for place in range(2)]

    def value(x):
        return f(xp, x)

    def slope(x):
        return ag.grad(lambda x: xp.sum(value(x) ** 2))(x)

    for function in (value, slope):
        rows = [function(xp.asarray(member)) for member in members]
        expected = np.stack([np.asarray(row.data) for row in rows])
        found = transformed(function)(given)
        assert found.dtype == rows[0].dtype
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)


@pytest.mark.parametrize("way", TRANSFORMED)
@pytest.mark.parametrize("position", [*OPERANDS, *KEYS])
def test_a_constant_is_what_it_is_for_one_member(position, way):
    check(namespace("torch"), (OPERANDS | KEYS)[position], TRANSFORMED[way])


@pytest.mark.parametrize("position", ["asarray", "indices of rows", "mask"])
def test_a_constant_on_jax(position):
    check(namespace("jax"), (OPERANDS | KEYS)[position], TRANSFORMED["compiled vmap"])


@pytest.mark.parametrize(
    "position", ["operator", "asarray", "indices of an axis", "indices for all axes", "mask"]
)
def test_a_constant_on_dask(position):
    check(namespace("dask"), (OPERANDS | KEYS)[position], TRANSFORMED["vmap"])


@pytest.mark.parametrize("position", [p for p in KEYS if "own" in p or "true" in p])
def test_a_key_on_numpy(position):
    check(namespace("numpy"), KEYS[position], TRANSFORMED["vmap"])


def test_numbers_of_numpy_in_keys_on_strict():
    check(namespace("strict"), lambda xp, x: x[np.int64(1), np.int64(0) : np.int64(2)], ag.vmap)


def test_arguments_that_are_the_same_for_all_members_may_come_first():
    xp = namespace("torch")
    x = xp.asarray(MEMBERS.tolist(), dtype=xp.float64).data
    found = ag.vmap(lambda c, x: x * c, in_axes=(None, 0))(C, x)
    np.testing.assert_allclose(np.asarray(found), MEMBERS * C)


def test_a_decimal_is_refused():
    decimal = pytest.importorskip("decimal").Decimal("0.5")
    for backend in ("numpy", "torch"):
        x = namespace(backend).ones(2).data
        with pytest.raises(TypeError, match=r"decimal\.Decimal"):
            ag.vmap(lambda x: x * decimal)(x)


def test_a_mask_that_does_not_fit_its_axis_is_refused():
    with pytest.raises(IndexError, match=r"mask of shape \(3,\).*\(4,\)"):
        ag.vmap(lambda x: x[0, MASK])(MEMBERS)


def test_another_librarys_variable_is_refused_at_each_level():
    x = namespace("torch").ones((2, 3)).data
    other = ag.Variable(np.ones(3))
    for transformed in (ag.vmap, lambda f: ag.vmap(ag.compile(f))):
        with pytest.raises(MixedBackendsError):
            transformed(lambda x: x * other)(x)


# -- solvers of SciPy, whose starts are NumPy's ----------------------------------------------------

SOLVERS = {
    "root": lambda xp, a: xp.optimize.root(
        lambda x, a: x**3 + a * x - C[:2], np.asarray([0.5, 0.5]), (a,)
    ),
    "minimize": lambda xp, a: xp.optimize.minimize(
        lambda x, a: xp.sum((x - a) ** 4 + (x - C[:2]) ** 2), np.asarray([0.5, 0.5]), (a,)
    ),
    "least_squares": lambda xp, a: xp.optimize.least_squares(
        lambda x, a: x * a - C[:2], [0.5, 0.5], (a,)
    ),
    "fixed_point": lambda xp, a: xp.optimize.fixed_point(
        lambda x, a: xp.cos(x * a) * np.float64(0.3), np.asarray([0.5, 0.5]), (a,)
    ),
}


@pytest.mark.filterwarnings("ignore:AGNOGRAD. .* cannot be batched")
@pytest.mark.parametrize("solver", SOLVERS)
def test_compiled_gradients_of_solutions_for_many_members(solver):
    pytest.importorskip("scipy", reason="SciPy: pip install 'agnograd[scipy]'")
    xp = namespace("torch")
    given = xp.asarray([[0.5, 1.0], [1.5, 2.0], [3.0, 1.0]], dtype=xp.float64).data
    gradient = ag.grad(lambda a: xp.sum(SOLVERS[solver](xp, a) ** 2))
    expected = np.stack([np.asarray(gradient(row)) for row in given])
    compiled = ag.compile(ag.vmap(gradient))
    for _ in range(2):
        np.testing.assert_allclose(np.asarray(compiled(given)), expected, rtol=1e-5)
