"""Points without a derivative: the table of conventions row by row, and what it cannot say."""

import math

import numpy as np
import pytest

import agnograd as ag
from agnograd.testing import CONVENTIONS
from arrays import host


def made(xp, value):
    """Return a number, or a nested list of numbers, as a raw array."""
    is_complex = np.iscomplexobj(np.asarray(value))
    return xp.asarray(value, dtype=xp.complex128 if is_complex else xp.float64).data


def quiet_sum(xp, f):
    """Return the sum of what f gives, whose forward pass may divide by zero; gradients may not."""

    def total(*args):
        with xp.empty(0)._domain.backend.quiet():
            out = f(*args)
        return xp.sum(xp.real(out) if xp.isdtype(out.dtype, "complex floating") else out)

    return total


def gradients(xp, f, *values):
    """Return the gradients of the sum of f as lists."""
    arrays = [made(xp, value) for value in values]
    found = ag.grad(quiet_sum(xp, f), argnums=tuple(range(len(arrays))))(*arrays)
    found = [host(g).tolist() for g in found]
    return found[0] if len(found) == 1 else found


@pytest.mark.parametrize("row", CONVENTIONS, ids=lambda row: f"{row.program} at {row.at}")
def test_the_table_of_conventions(xp, row):
    f = quiet_sum(xp, row.function(xp))
    arrays = [made(xp, value) for value in row.at.values()]
    found = ag.grad(f, argnums=tuple(range(len(arrays))))(*arrays)
    expected = row.gradient if isinstance(row.gradient, dict) else {"": row.gradient}
    for gradient, value in zip(found, expected.values(), strict=True):
        np.testing.assert_allclose(host(gradient), value, rtol=1e-14, atol=1e-14)
    if row.second is not None:
        second = ag.grad(lambda x: xp.sum(ag.grad(f)(x)))(*arrays)
        np.testing.assert_allclose(host(second), row.second, rtol=1e-14, atol=1e-14)


ORDERS = [(one, other) for one in ("forward", "reverse") for other in ("forward", "reverse")]
TWICE = [row for row in CONVENTIONS if row.second is not None]


@pytest.mark.parametrize("row", TWICE, ids=lambda row: f"{row.program} at {row.at}")
def test_second_derivatives_of_the_table_in_any_order(xp, row):
    f = quiet_sum(xp, row.function(xp))
    (x,) = (made(xp, value) for value in row.at.values())

    def total(blocks):
        return np.sum(host(blocks), axis=tuple(range(x.ndim)))

    for one, other in ORDERS:
        found = ag.jacobian(ag.jacobian(f, mode=other), mode=one)(x)
        np.testing.assert_allclose(total(found), row.second, rtol=1e-14, atol=1e-14)
    found = ag.jacobian(ag.grad(f), mode="forward")(x)
    np.testing.assert_allclose(total(found), row.second, rtol=1e-14, atol=1e-14)
    _, along = ag.jvp(ag.grad(f), x, xp.ones_like(x).data)
    np.testing.assert_allclose(host(along), row.second, rtol=1e-14, atol=1e-14)


# -- branches that are not taken -------------------------------------------------------------------


def test_a_cotangent_that_happens_to_be_zero_keeps_its_own_derivative(xp):
    def squared_error(x):  # zero at x = 2, where its second derivative is not
        return xp.where(x > 0, xp.sin(x) - math.sin(2.0), 0.0) ** 2

    hessian = ag.hessian(lambda x: xp.sum(squared_error(x)))(made(xp, [2.0]))
    assert float(hessian[0, 0]) == pytest.approx(2 * math.cos(2.0) ** 2)


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_an_infinite_derivative_that_is_asked_for_is_infinite(xp):
    root = lambda x: xp.where(x >= 0, xp.sqrt(x), 0.0)  # noqa: E731
    assert gradients(xp, root, [0.0, 4.0]) == [math.inf, 0.25]


def test_a_branch_is_left_out_to_any_order(xp):
    def derivative(f):
        return lambda x: xp.sum(ag.grad(f)(x))

    f = quiet_sum(xp, lambda x: xp.where(x > 0, xp.exp(0.5 * xp.log(x)), 0.0))
    for value in (0.25, -0.03125, 3 / 256):
        f = derivative(f)
        np.testing.assert_allclose(host(f(made(xp, [0.0, 4.0]))), value)


@pytest.mark.parametrize(
    ("program", "third"),
    [
        ("xp.where(x > 0, xp.exp(-1 / x), 0.0)", math.exp(-1.0)),
        ("xp.where(x > 0, x**2.5, 0.0)", 1.875),
        ("xp.where(x > 0, -xp.exp(-1 / x) * x, 0.0)", 2 * math.exp(-1.0)),
        ("xp.where(x > 0, x * x**1.5, 0.0)", 1.875),
        ("xp.where(x > 0, x * x * xp.log(x), 0.0)", 2.0),
        ("xp.where(x > 0, x / xp.sqrt(x) * x, 0.0)", -0.375),
        ("xp.where(x > 0, xp.sin(x) / x, 1.0)", 5 * math.cos(1) - 3 * math.sin(1)),
    ],
)
def test_third_derivatives_leave_it_out_in_any_order(xp, program, third):
    f = quiet_sum(xp, eval(f"lambda x: {program}", {"xp": xp}))
    expected = np.zeros((2, 2, 2))
    expected[1, 1, 1] = third
    for one, other in ORDERS:
        for last in ("forward", "reverse"):
            inner = ag.jacobian(ag.jacobian(f, mode=one), mode=other)
            found = ag.jacobian(inner, mode=last)(made(xp, [0.0, 1.0]))
            np.testing.assert_allclose(host(found), expected, rtol=1e-12, atol=1e-12)


def test_what_is_left_out_stays_out_through_broadcasts_reductions_and_products(xp):
    mask = made(xp, [[1.0], [0.0]]) > 0
    w = made(xp, [[1.0, 2.0], [3.0, 4.0]])

    def f(x):
        rows = xp.log(x) @ w  # the second row is minus infinity
        return xp.where(mask, rows + xp.sum(rows, axis=-1, keepdims=True), 0.0)

    assert gradients(xp, f, [[1.0, 2.0], [0.0, 0.0]]) == [[9.0, 10.5], [0.0, 0.0]]


@pytest.mark.filterwarnings("ignore:invalid value")
def test_sums_of_products_leave_out_what_goes_into_them(xp):
    mask = made(xp, [[1.0], [0.0]]) > 0
    x, w = [[1.0, 2.0], [math.inf, 4.0]], [[1.0], [3.0]]
    after = lambda x, w: xp.where(mask, x @ w, 0.0)  # noqa: E731
    before = lambda x, w: xp.where(mask, x, 0.0) @ w  # noqa: E731
    assert gradients(xp, before, x, w) == [[[1.0, 3.0], [0.0, 0.0]], [[1.0], [2.0]]]
    of_x, of_w = gradients(xp, after, x, w)
    assert of_x == [[1.0, 3.0], [0.0, 0.0]]
    assert math.isnan(of_w[0][0])
    assert of_w[1] == [2.0]


def test_what_is_left_out_stays_out_of_ops_with_several_results(xp):
    def f(x):
        first, second = xp.unstack(xp.stack([xp.log(x), x]))
        return xp.where(x > 0, first * second, 0.0)

    assert gradients(xp, f, [0.0, 1.0]) == [0.0, 1.0]


def test_backward_hooks_and_recorded_passes_leave_it_out_too(xp):
    x = ag.Variable(made(xp, [0.0, 4.0]))
    with ag.hooks("nan"):
        xp.sum(xp.where(x > 0, xp.sqrt(x), 0.0)).backward(create_graph=True)
    np.testing.assert_array_equal(host(x.grad), [0.0, 0.25])


def test_single_precision_stays_single(xp):
    x = xp.asarray([0.0, 4.0], dtype=xp.float32).data
    gradient = ag.grad(lambda x: xp.sum(xp.where(x > 0, xp.sqrt(x), 0.0)))(x)
    assert gradient.dtype == xp.float32
    assert host(gradient).tolist() == [0.0, 0.25]


def test_programs_without_masks_run_no_guarded_rule(monkeypatch, xp):
    guarded = []
    domain = xp.empty(0)._domain
    monkeypatch.setattr(domain.backend, "quiet", lambda: guarded.append(1))
    x = made(xp, [0.5, 1.0])
    ag.grad(lambda x: xp.sum(xp.maximum(xp.sqrt(x)[None, ::-1], 0.0) * x[0]))(x)
    assert guarded == []


@pytest.mark.parametrize("ask", ["create_graph", "a hook", "retained", "a plugin"])
def test_slices_leave_out_whoever_looks(xp, ask):
    x = ag.Variable(made(xp, [1.0, 0.5]))
    y = x * 1.0
    z = xp.sum(xp.acos(y)[1:])
    if ask == "a hook":
        y.register_hook(lambda g: g * 1.0)
    elif ask == "retained":
        y.retain_grad()
    if ask == "a plugin":
        with ag.hooks("timer"):
            z.backward()
    else:
        z.backward(create_graph=ask == "create_graph")
    np.testing.assert_allclose(host(x.grad), [0.0, -1 / math.sqrt(0.75)], rtol=1e-14)


def test_repeating_an_element_no_times_leaves_it_out():
    xp = ag.namespace("numpy")
    f = lambda x: xp.repeat(xp.sqrt(x), xp.asarray([0, 2]))  # noqa: E731
    assert gradients(xp, f, [0.0, 4.0]) == [0.0, 0.5]


def test_slices_leave_out_what_large_arrays_begin_with(xp):
    x = made(xp, np.linspace(0.0, 1.0, 2**17 + 1).tolist())
    found = host(ag.grad(lambda x: xp.sum(xp.exp(xp.sqrt(x * 1.0))[1:]))(x))
    assert found[0] == 0.0
    root = np.sqrt(host(x)[1:])
    np.testing.assert_allclose(found[1:], np.exp(root) / (2 * root), rtol=1e-12)


# -- no row of a table -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:divide by", "ignore:invalid")
@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize("correction", [2, 3.0])
def test_deviation_without_degrees_of_freedom(xp, name, correction):
    found = gradients(xp, lambda x: getattr(xp, name)(x, correction=correction), [1.0, 2.0])
    assert [math.isnan(each) for each in found] == [True, True]


def test_powers_of_negative_numbers_are_not_numbers(xp):
    assert gradients(xp, lambda x: 2.0**x, 3.0) == pytest.approx(8 * math.log(2))
    assert math.isnan(gradients(xp, lambda x: (-2.0) ** x, 2.0))


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_division_by_pythons_zero_is_as_by_an_arrays(xp, zero):
    expected = gradients(xp, lambda x: x / xp.asarray(float(zero), dtype=xp.float64), 2.0)
    assert abs(expected) == math.inf
    assert gradients(xp, lambda x: x / zero, 2.0) == expected
    assert gradients(xp, lambda x: xp.divide(x, zero), 2.0) == expected


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_division_by_pythons_complex_zero_is_not_a_number(xp):
    found = gradients(xp, lambda z: z / 0j, 1 + 2j)
    assert math.isnan(found.real)
    assert math.isnan(found.imag)


@pytest.mark.parametrize("point", [(23.0, 0.0), (0.5, 0.0), (2.0, 3.0), (1.0, 0.0)])
def test_the_mixed_derivatives_of_a_power_are_one(xp, point):
    x, y = (made(xp, value) for value in point)
    expected = point[0] ** (point[1] - 1) * (1 + point[1] * math.log(point[0]))
    for first, then in ((0, 1), (1, 0)):
        found = ag.grad(ag.grad(xp.pow, first), then)(x, y)
        assert float(found) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("function", "quotient"),
    [
        pytest.param(lambda xp, x, y: xp.remainder(x, y), np.floor_divide, id="remainder"),
        pytest.param(lambda xp, x, y: x % y, np.floor_divide, id="%"),
        pytest.param(lambda xp, x, y: np.remainder(x, y), np.floor_divide, id="np.remainder"),
        pytest.param(lambda xp, x, y: np.divmod(x, y)[1], np.floor_divide, id="np.divmod"),
        pytest.param(
            lambda xp, x, y: np.fmod(x, y),
            lambda x, y: np.sign(x) * np.sign(y) * np.floor_divide(abs(x), abs(y)),
            id="np.fmod",
        ),
    ],
)
def test_the_derivative_of_a_remainder_belongs_to_its_value(xp, function, quotient):
    x = np.asarray([1.0, -1.0, 1.0, -1.0, 0.3, 7.0, 1e9, -1e-20, -1.0])
    y = np.asarray([0.1, 0.1, -0.1, -0.1, 0.1, 3.0, 0.1, 1.0, np.inf])
    by_x, by_y = gradients(xp, lambda x, y: function(xp, x, y), x.tolist(), y.tolist())
    assert by_x == [1.0] * x.size
    assert by_y == (-quotient(x, y)).tolist()


def test_numpys_clip_by_arrays_is_one_on_the_closed_interval(xp):
    x, low, high = [-2.0, -1.0, 0.0, 1.0, 2.0], [-1.0] * 5, [1.0] * 5
    assert gradients(xp, lambda *args: np.clip(*args), x, low, high) == [
        [0.0, 1.0, 1.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
    # Arrays are broadcast, and an upper bound below the lower one wins.
    assert gradients(xp, lambda *args: np.clip(*args), 1.0, [1.0, 3.0], 2.0) == [
        1.0,
        [0.0, 0.0],
        1.0,
    ]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("clip", [lambda xp, *a: xp.clip(*a), lambda xp, *a: np.clip(*a)])
def test_what_is_clipped_has_no_gradient_from_a_root_at_the_bound(xp, clip):
    x, low, high = [-1.0, 4.0, 9.0], [0.0, 0.0, 0.0], [5.0, 5.0, 5.0]
    root = lambda *args: xp.sqrt(clip(xp, *args))  # noqa: E731
    assert gradients(xp, lambda x: root(x, 0.0, 5.0), x) == [0.0, 0.25, 0.0]
    by_x, by_low, by_high = gradients(xp, root, x, low, high)
    assert by_x == [0.0, 0.25, 0.0]
    assert by_low == [math.inf, 0.0, 0.0]
    assert by_high == [0.0, 0.0, 0.5 / math.sqrt(5.0)]


def test_of_several_writes_by_integer_arrays_the_last_one_stands():
    xp = ag.namespace("numpy")  # integer arrays in writes go beyond the standard

    def write(x, v):
        y = x * 1.0
        y[[0, 0, 1]] = v
        return y * xp.asarray([1.0, 10.0, 100.0])

    assert gradients(xp, write, [1.0] * 3, [2.0] * 3) == [[0.0, 0.0, 100.0], [0.0, 1.0, 10.0]]
    assert gradients(xp, lambda v: write(xp.zeros(3), v), 2.0) == 11.0


# -- what has no derivative is not a number --------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda xp, x: xp.linalg.eigh(x).eigenvectors, id="eigenvectors"),
        pytest.param(lambda xp, x: xp.linalg.svd(x).U, id="singular vectors"),
        pytest.param(lambda xp, x: xp.linalg.eig(x).eigenvectors, id="general eigenvectors"),
    ],
)
def test_vectors_of_repeated_values_have_no_gradient(xp, function):
    found = gradients(xp, lambda x: function(xp, x)[0, 1], [[1.0, 0.0], [0.0, 1.0]])
    assert np.isnan(found).any()


@pytest.mark.parametrize("name", ["svd", "qr"])
def test_vectors_that_complete_a_basis_have_no_gradient(xp, name):
    x = [[1.0], [2.0], [0.5]]
    option = {"full_matrices": True} if name == "svd" else {"mode": "complete"}
    decompose = getattr(xp.linalg, name)
    assert np.isnan(gradients(xp, lambda x: decompose(x, **option)[0][0, 2], x)).all()
    assert np.isfinite(gradients(xp, lambda x: decompose(x, **option)[0][0, 0], x)).all()


@pytest.mark.parametrize("name", ["svd", "eigh"])
def test_what_depends_on_the_phase_of_a_vector_has_no_gradient(xp, name):
    x = [[1.0 + 0j, 1j], [-1j, 3.0 + 0j]]
    place = 0 if name == "svd" else 1
    decompose = getattr(xp.linalg, name)
    assert np.isnan(gradients(xp, lambda x: xp.imag(decompose(x)[place]), x)).any()
    assert np.isfinite(gradients(xp, lambda x: xp.abs(decompose(x)[place]), x)).all()


def test_smooth_functions_of_repeated_values_have_one(xp):
    eye = np.eye(3).tolist()
    np.testing.assert_allclose(
        gradients(xp, lambda x: xp.linalg.eigvalsh(x) ** 2, eye), 2 * np.eye(3)
    )
    np.testing.assert_allclose(
        gradients(xp, lambda x: xp.linalg.svdvals(x) ** 2, eye), 2 * np.eye(3)
    )
    values = lambda x: xp.linalg.eigh(x).eigenvalues ** 2  # noqa: E731
    np.testing.assert_allclose(gradients(xp, values, eye), 2 * np.eye(3))


def test_the_largest_eigenvalue_is_smooth_although_others_repeat(xp):
    x = made(xp, np.diag([1.0, 1.0, 3.0]).tolist())
    symmetric = lambda x: (x + x.mT) / 2  # noqa: E731
    ag.check_grad(lambda x: xp.linalg.eigvalsh(symmetric(x))[-1], x)


def test_a_singular_matrix_has_no_logarithm_of_its_determinant(xp):
    with xp.empty(0)._domain.backend.quiet():
        found = gradients(xp, lambda x: xp.linalg.slogdet(x)[1], [[1.0, 2.0], [2.0, 4.0]])
    assert np.isnan(found).all()
