"""Cosine, sine and Hankel transforms, and SciPy's functions on Variables."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import scipy.fft

import agnograd as ag
import agnograd_fft
from agnograd.errors import LostGradientError, MissingRuleError
from arrays import host, leaf, values

V = np.asarray([0.9, -0.4, 1.6, 0.2, -1.1])
A = np.asarray([[0.7, -1.3, 2.1, 0.3], [1.9, 0.4, -0.6, -0.8], [0.2, -0.5, 1.2, 1.4]])
C = A + 1j * A[:, ::-1]
SCALES = list(itertools.product((1, 2, 3, 4), (None, "backward", "ortho", "forward")))


@pytest.fixture
def registered():
    """Put SciPy's backends back to what they were in front of a test: ours is used inside it."""
    with scipy.fft.set_backend(agnograd_fft.ScipyFFT):
        yield


@pytest.mark.parametrize("orthogonalize", [None, True, False])
@pytest.mark.parametrize(("type", "norm"), SCALES)
@pytest.mark.parametrize("name", ["dct", "dst", "idct", "idst"])
def test_every_type_and_scale_is_scipys(xp, name, type, norm, orthogonalize):
    options = {"type": type, "norm": norm, "orthogonalize": orthogonalize}
    for raw in (V, V[:4]):
        found = getattr(xp.fft, name)(xp.asarray(raw.tolist(), dtype=xp.float64), **options)
        expected = getattr(scipy.fft, name)(raw, **options)
        np.testing.assert_allclose(values(found), expected, atol=1e-13)


@pytest.mark.parametrize("orthogonalize", [None, True, False])
@pytest.mark.parametrize(("type", "norm"), SCALES)
@pytest.mark.parametrize("kind", ["dct", "dst"])
def test_every_transpose_is_exact(xp, kind, type, norm, orthogonalize):
    options = {"type": type, "norm": norm, "orthogonalize": orthogonalize}

    def f(x):
        return getattr(xp.fft, kind)(x, **options)

    x, g = xp.asarray(V.tolist(), dtype=xp.float64), xp.asarray(V[::-1].tolist(), dtype=xp.float64)
    _, pullback = ag.vjp(f, x.data)
    (back,) = pullback(g.data)
    np.testing.assert_allclose(np.vdot(V[::-1], values(f(x))), np.vdot(host(back), V))
    matrix = host(ag.jacobian(f)(x.data))
    np.testing.assert_allclose(host(back), matrix.T @ V[::-1], atol=1e-13)


@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["dct", "dst"])
def test_transforms_of_few_elements(xp, kind, type):
    for count in (1, 2, 3):
        raw = V[:count]
        x = xp.asarray(raw.tolist(), dtype=xp.float64)
        if (kind, type, count) == ("dct", 1, 1):
            with pytest.raises(ValueError, match="2 elements"):
                ag.namespace("strict").fft.dct(leaf(ag.namespace("strict"), [1.0]), type=1)
            continue
        expected = getattr(scipy.fft, kind)(raw, type=type)
        np.testing.assert_allclose(
            values(getattr(xp.fft, kind)(x, type=type)), expected, atol=1e-14
        )


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64"])
def test_dtypes_are_scipys(xp, dtype):
    raw = (V * 10).astype(dtype)
    x = xp.asarray(raw.tolist(), dtype=getattr(xp, dtype))
    for name in ("dct", "idst"):
        found, expected = getattr(xp.fft, name)(x), getattr(scipy.fft, name)(raw)
        assert values(found).dtype == expected.dtype
        rtol = 1e-5 if dtype in ("float32", "complex64") else 1e-12
        np.testing.assert_allclose(values(found), expected, rtol=rtol)


def test_what_is_no_type_is_refused():
    xp = ag.namespace("strict")
    for misuse in ({"type": 5}, {"norm": "none"}):
        for name in ("dct", "idst", "dctn"):
            with pytest.raises(ValueError, match=r"types 1, 2, 3 and 4|'ortho'"):
                getattr(xp.fft, name)(leaf(xp, V.tolist()), **misuse)
    with pytest.raises(ValueError, match="same length"):
        xp.fft.dctn(leaf(xp, A.tolist()), s=(2, 2), axes=(0,))
    with pytest.raises(ValueError, match="unique"):
        xp.fft.dctn(leaf(xp, A.tolist()), axes=(0, -2))


HANKEL = [(0.3, 0.5), (0.2, 1.0, 0.1, -0.2), (0.2, 1.0, 0.1, 0.4)]


@pytest.mark.parametrize("arguments", HANKEL)
@pytest.mark.parametrize("name", ["fht", "ifht"])
def test_hankel_transforms_are_scipys(xp, name, arguments):
    for raw in (V, A):
        found = getattr(xp.fft, name)(xp.asarray(raw.tolist(), dtype=xp.float64), *arguments)
        np.testing.assert_allclose(values(found), getattr(scipy.fft, name)(raw, *arguments))


def test_hankel_parameters_have_no_gradient_and_say_so(xp):
    with pytest.raises(MissingRuleError, match="'mu'"):
        xp.fft.fht(leaf(xp, V.tolist()), 0.3, leaf(xp, 0.5))
    with pytest.warns(UserWarning, match="singular transform"):
        xp.fft.fht(leaf(xp, V.tolist()), 0.1, -0.5, 0.0, -0.5)


FUNCTIONS = [
    name
    for name in scipy.fft.__all__
    if type(getattr(scipy.fft, name)) is type(scipy.fft.dct) and not name.endswith("fht")
]
CALLS = [(name, {}) for name in FUNCTIONS]
CALLS += [(name, {"norm": "ortho"}) for name in FUNCTIONS]
CALLS += [(name, {"s": (2, 3), "workers": 1}) for name in FUNCTIONS if name.endswith("n")]
CALLS += [(name, {"n": 3, "axis": 0}) for name in FUNCTIONS if name[-1] not in "n2"]
REAL = {"rfft", "rfft2", "rfftn", "ihfft", "ihfft2", "ihfftn"}


@pytest.mark.parametrize("raw", [A, C], ids=["real", "complex"])
@pytest.mark.parametrize(("name", "options"), CALLS, ids=str)
def test_scipys_functions_take_variables(xp, registered, name, options, raw):
    if raw is C and name in REAL:
        return
    function = getattr(scipy.fft, name)
    x = xp.asarray(raw.tolist(), dtype=getattr(xp, raw.dtype.name))
    found = function(x, **options)
    assert isinstance(found, ag.Variable)
    np.testing.assert_allclose(values(found), function(raw, **options), atol=1e-13)
    ag.check_grad(lambda x: function(x, **options), x.data, order=1)


def test_scipys_positional_arguments(xp, registered):
    x = xp.asarray(A.tolist(), dtype=xp.float64)
    for name, arguments in {
        "dct": (3, 3, 0, "ortho"),
        "dctn": (2, (2, 2), (0, 1), "forward"),
        "fft2": ((2, 2), (1, 0)),
        "rfft": (3, 0, "ortho", False, 1),
        "fht": (0.3, 0.5),
    }.items():
        found = getattr(scipy.fft, name)(x, *arguments)
        expected = getattr(scipy.fft, name)(A, *arguments)
        np.testing.assert_allclose(values(found), expected, atol=1e-13)
    assert isinstance(scipy.fft.dct(x=x), ag.Variable)
    np.testing.assert_allclose(values(scipy.fft.fft(xp.asarray([1, 2, 3]))), np.fft.fft([1, 2, 3]))
    assert type(scipy.fft.dct([1.0, 2.0])) is np.ndarray


def test_registering_once_is_for_the_whole_process():
    code = (
        "import numpy as np, scipy.fft, agnograd as ag, agnograd_fft; "
        "agnograd_fft.register(); agnograd_fft.register(); "
        "v = ag.Variable(np.ones(3)); "
        "print(scipy.fft.dct(v).requires_grad, type(scipy.fft.dct(np.ones(3))).__name__)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "ndarray"]


def test_without_registering_no_gradient_is_lost():
    with pytest.raises(LostGradientError, match=r"detach\(\)"):
        scipy.fft.dct(ag.Variable(V))


def test_a_namespace_imports_no_transform_before_one_is_used():
    code = (
        "import sys, agnograd; xp = agnograd.namespace('numpy'); "
        "print(*[name for name in sys.modules if name.startswith('agnograd_fft')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) <= {"agnograd_fft", "agnograd_fft._set"}
