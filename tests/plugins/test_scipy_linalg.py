"""SciPy's functions of matrices: their values, and what samples cannot say of their derivatives."""

import numpy as np
import pytest
import scipy.linalg

import agnograd as ag
from arrays import host

SHAPES = {"a": (2, 3, 3), "p": (2, 3, 3), "z": (2, 3, 3), "r": (2, 2, 2), "m": (2, 3, 2)}
SHAPES |= {"b": (3,), "t": (2, 5, 3), "w": (2, 3, 5), "c": (2, 4), "s": (2, 3, 3), "one": (3, 3)}


def matrices():
    """Return arrays by name: p is positive definite, z complex, s contracts."""
    rng = np.random.default_rng(0)
    made = {name: rng.standard_normal(shape) for name, shape in SHAPES.items()}
    made["a"] = made["a"] + 3 * np.eye(3)
    made["r"] = made["r"] + 4 * np.eye(2)
    made["s"] = 0.2 * made["s"]
    made["p"] = made["p"] @ made["p"].mT + np.eye(3)
    made["z"] = made["a"] + 1j * made["z"]
    return made


MATRICES = matrices()

# Functions, names of matrices, and options; each matrix of a batch has SciPy's value.
CALLS = [
    *(("solve_triangular", "am", {"lower": lower}) for lower in (False, True)),
    *(("solve_triangular", "ab", {"trans": trans}) for trans in (1, "T", "N")),
    ("solve_triangular", "zm", {"trans": "C", "unit_diagonal": True}),
    *(("expm", name, {}) for name in "az"),
    *(("logm", name, {}) for name in "pz"),
    *(("sqrtm", name, {}) for name in "pz"),
    ("expm_frechet", "as", {}),
    ("expm_frechet", "zs", {"compute_expm": False}),
    ("solve_sylvester", "arm", {}),
    ("solve_continuous_lyapunov", "as", {}),
    ("solve_continuous_lyapunov", "za", {}),
    *(("solve_discrete_lyapunov", "sa", {"method": method}) for method in ("direct", "bilinear")),
    *(("lu", name, {}) for name in "atwz"),
    ("lu", "a", {"permute_l": True}),
    ("lu", "t", {"p_indices": True}),
    *(("lu_factor", name, {}) for name in "atwz"),
    *(("lstsq", names, {}) for names in ("tc", "wm")),
    ("pinvh", "p", {}),
    ("pinvh", "z", {"lower": False}),
    ("toeplitz", "c", {}),
    ("toeplitz", "cb", {}),
    ("circulant", "c", {}),
    ("hankel", "bb", {}),
    ("block_diag", "am", {}),
]


def made(xp, values):
    """Return a raw array of a backend, of the dtype of NumPy's."""
    values = np.asarray(values)
    return xp.asarray(values, dtype=getattr(xp, values.dtype.name)).data


def by_scipy(name, *args, **options):
    """Call SciPy's function with each matrix of a batch."""
    found = []
    for place in range(2):
        given = [x[place] if x.ndim > 1 else x for x in args]
        out = getattr(scipy.linalg, name)(*given, **options)
        found.append(out if isinstance(out, tuple) else (out,))
    if all(x.ndim == 1 for x in args):
        return found[0]
    return [np.stack(parts) for parts in zip(*found, strict=True)]


@pytest.mark.parametrize(("name", "names", "options"), CALLS, ids=repr)
def test_values_are_scipys(xp, name, names, options):
    args = [MATRICES[each] for each in names]
    if name == "lstsq" and names == "tc":
        args[1] = np.linspace(0.0, 1.0, 20).reshape(2, 5, 2)
    found = getattr(xp.linalg, name)(*(made(xp, each) for each in args), **options)
    found = found if isinstance(found, tuple) else (found,)
    for one, other in zip(found, by_scipy(name, *args, **options), strict=True):
        np.testing.assert_allclose(host(one), other, rtol=1e-9, atol=1e-11)


def test_factors_solve_as_scipys_do(xp):
    p, m, z, b = (made(xp, MATRICES[name]) for name in "pmzb")
    expected = np.linalg.solve(MATRICES["p"], MATRICES["m"])
    for lower in (False, True):
        solved = xp.linalg.cho_solve(xp.linalg.cho_factor(p, lower=lower), m)
        np.testing.assert_allclose(host(solved), expected, rtol=1e-10)
    factor = scipy.linalg.lu_factor(MATRICES["one"])
    given = made(xp, factor[0]), made(xp, factor[1].astype(np.int64))
    for trans in (0, 1, 2):
        expected = scipy.linalg.lu_solve(factor, MATRICES["b"], trans)
        np.testing.assert_allclose(host(xp.linalg.lu_solve(given, b, trans)), expected, rtol=1e-9)
        turned = [MATRICES["z"], MATRICES["z"].mT, np.conj(MATRICES["z"].mT)][trans]
        solved = xp.linalg.lu_solve(xp.linalg.lu_factor(z), m, trans)
        np.testing.assert_allclose(host(solved), np.linalg.solve(turned, MATRICES["m"]), rtol=1e-9)


def test_bands_and_blocks_are_scipys(xp):
    bands = np.asarray([[0.0, 1.0, 2.0], [4.0, 5.0, 6.0], [1.0, 2.0, 0.0]])
    found = xp.linalg.solve_banded((1, 1), made(xp, bands), made(xp, MATRICES["b"]))
    expected = scipy.linalg.solve_banded((1, 1), bands, MATRICES["b"])
    np.testing.assert_allclose(host(found), expected, rtol=1e-12)
    blocks = [MATRICES["one"], MATRICES["b"], np.asarray(2.0)]
    found = xp.linalg.block_diag(*(made(xp, each) for each in blocks))
    assert host(found).tolist() == scipy.linalg.block_diag(*blocks).tolist()


@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm"])
def test_functions_of_defective_matrices_have_derivatives(xp, name):
    jordan = 1.5 * np.eye(3) + np.eye(3, k=1)
    basis = MATRICES["one"]
    for matrix in (jordan, basis @ jordan @ np.linalg.inv(basis), np.eye(3)):
        ag.check_grad(getattr(xp.linalg, name), made(xp, matrix))


@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm"])
def test_the_size_of_a_cotangent_says_nothing(xp, name):
    x, g = made(xp, MATRICES["p"]), MATRICES["a"]
    _, pull = ag.vjp(getattr(xp.linalg, name), x)
    expected = host(pull(made(xp, g))[0])
    for size in (1e8, 1e-8, 0.0):
        found = host(pull(made(xp, g * size))[0])
        np.testing.assert_allclose(found, expected * size, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_the_size_of_a_matrix_says_nothing_of_its_logarithms_derivatives(xp, scale):
    matrix, direction = MATRICES["p"], MATRICES["a"]
    weights = made(xp, direction * np.asarray([1.0, 2.0, 3.0]))

    def derivatives(scale):
        x, along = made(xp, matrix * scale), made(xp, direction * scale)
        gradient = ag.grad(lambda x: xp.sum(xp.linalg.logm(x) * weights))
        pulled = ag.grad(lambda x: xp.sum(gradient(x) * along))(x)
        pushed = ag.jvp(gradient, (x,), (along,))[1]
        tangent = ag.jvp(xp.linalg.logm, (x,), (along,))[1]
        return [host(each) * scale for each in (gradient(x), pulled, pushed)] + [host(tangent)]

    for found, expected in zip(derivatives(scale), derivatives(1.0), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("shape", [(0, 2, 2), (0, 2, 3), (0, 3, 2), (2, 0, 3), (0, 0)])
def test_factors_of_nothing_have_gradients_of_nothing(xp, shape):
    x = made(xp, np.zeros(shape))
    gradient = ag.grad(lambda x: sum(xp.sum(each) for each in xp.linalg.lu(x)[1:]))(x)
    assert gradient.shape == shape


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")  # SciPy's, of the value
@pytest.mark.parametrize(
    ("name", "lost"), [("logm", 0.0), ("sqrtm", 0.0), ("lu", 0.0), ("sqrtm", -1.0), ("logm", -1.0)]
)
def test_one_matrix_without_a_derivative_leaves_the_others_theirs(xp, name, lost):
    def function(x):
        out = getattr(xp.linalg, name)(x)
        return sum(xp.sum(each**2) for each in (out[1:] if name == "lu" else [out]))

    batch = np.stack([MATRICES["p"][0], lost * np.eye(3)])
    with xp.empty(0)._domain.backend.quiet():
        found = host(ag.grad(function)(made(xp, batch)))
        single = host(ag.grad(function)(made(xp, batch[:1])))
    assert np.isnan(found[1]).any()
    np.testing.assert_allclose(found[0], single[0], rtol=1e-12)


def test_logarithms_leave_numpys_random_numbers_alone(xp):
    before = np.random.get_state()[2]
    xp.linalg.logm(made(xp, MATRICES["z"]))
    assert np.random.get_state()[2] == before


def test_a_sylvester_equation_without_a_unique_solution_has_none(xp):
    one = made(xp, np.eye(2))
    assert np.isnan(host(xp.linalg.solve_sylvester(one, -one, one))).all()


def test_the_triangle_that_is_not_read_has_no_gradient(xp):
    a, b = made(xp, MATRICES["one"]), made(xp, MATRICES["b"])
    found = host(ag.grad(lambda a: xp.sum(xp.linalg.solve_triangular(a, b)))(a))
    assert (np.tril(found, -1) == 0).all()
    assert found[0, 0] != 0
    unit = lambda a: xp.sum(xp.linalg.solve_triangular(a, b, unit_diagonal=True))  # noqa: E731
    assert (np.diag(host(ag.grad(unit)(a))) == 0).all()


def test_what_does_not_fit_is_an_error_that_says_so(xp):
    a, b, m = (made(xp, MATRICES[name]) for name in "abm")
    with pytest.raises(ValueError, match="square matrices"):
        xp.linalg.cho_factor(m)
    with pytest.raises(ValueError, match="the right hand side has shape"):
        xp.linalg.solve_triangular(a, made(xp, np.ones(4)))
    with pytest.raises(ValueError, match="trans must be"):
        xp.linalg.solve_triangular(a, b, trans="X")
    with pytest.raises(ValueError, match="sides of"):
        xp.linalg.solve_sylvester(a, a, m)
    with pytest.raises(ValueError, match="method must be"):
        xp.linalg.solve_discrete_lyapunov(a, a, method="other")


def test_options_of_scipys_that_mean_nothing_here_are_taken(xp):
    a, b = made(xp, MATRICES["p"][0]), made(xp, MATRICES["b"])
    options = {"overwrite_b": True, "check_finite": False}
    expected = np.linalg.solve(MATRICES["p"][0], MATRICES["b"])
    factor = xp.linalg.cho_factor(a, lower=True, overwrite_a=True, check_finite=False)
    np.testing.assert_allclose(host(xp.linalg.cho_solve(factor, b, **options)), expected)
    half = xp.linalg.solve_triangular(factor[0], b, lower=True, **options)
    whole = xp.linalg.solve_triangular(factor[0], half, "T", True, check_finite=False)
    np.testing.assert_allclose(host(whole), expected)
    factor = xp.linalg.lu_factor(a, check_finite=False)
    np.testing.assert_allclose(host(xp.linalg.lu_solve(factor, b, **options)), expected)


def test_matrices_of_integers_have_functions_over_numpy():
    xp = ag.namespace("numpy")
    matrix = np.asarray([[2, 1], [0, 3]])
    for name in ("expm", "logm", "sqrtm"):
        found = np.asarray(getattr(xp.linalg, name)(matrix))
        np.testing.assert_allclose(found, getattr(scipy.linalg, name)(matrix), rtol=1e-12)


def test_pytorch_has_the_same_gradients():
    torch = pytest.importorskip("torch", reason="the oracle: pip install torch")
    xp = ag.namespace("numpy")
    rng = np.random.default_rng(1)
    for name in "az":
        x, weights = MATRICES[name], rng.standard_normal((2, 3, 3))
        theirs = torch.tensor(x, requires_grad=True)
        torch.sum((torch.matrix_exp(theirs) * torch.tensor(weights)).real).backward()
        own = ag.grad(lambda x: xp.sum(xp.real(xp.linalg.expm(x) * weights)))(x)  # noqa: B023
        np.testing.assert_allclose(own, theirs.grad.numpy(), rtol=1e-10)
    for name in "atw":
        x = MATRICES[name]
        theirs = torch.tensor(x, requires_grad=True)
        _, lower, upper = torch.linalg.lu(theirs)
        (torch.sum(lower**3) + torch.sum(upper**3)).backward()
        own = ag.grad(lambda x: sum(xp.sum(each**3) for each in xp.linalg.lu(x)[1:]))(x)
        np.testing.assert_allclose(own, theirs.grad.numpy(), rtol=1e-9, atol=1e-11)


def test_programs_of_jax_call_scipy_back():
    jax = pytest.importorskip("jax", reason="traces programs: pip install 'agnograd[jax]'")
    xp = ag.namespace("jax")
    with jax.enable_x64(True):
        x = jax.numpy.asarray(MATRICES["p"])
        for name in ("expm", "logm", "sqrtm", "lu"):

            def function(x, name=name):
                out = getattr(xp.linalg, name)(x)
                return sum(xp.sum(each**2) for each in (out if name == "lu" else [out]))

            eager, traced = ag.grad(function)(x), jax.jit(ag.grad(function))(x)
            np.testing.assert_allclose(np.asarray(traced), np.asarray(eager), rtol=1e-10)
