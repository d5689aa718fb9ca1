"""The error where NumPy asks a tracked array for its memory: who asked, and what to do."""

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import LostGradientError

scipy_linalg = pytest.importorskip("scipy.linalg", reason="install 'agnograd[special]'")
scipy_special = pytest.importorskip("scipy.special", reason="install 'agnograd[special]'")
scipy_stats = pytest.importorskip("scipy.stats", reason="install 'agnograd[special]'")


@pytest.fixture
def v():
    return ag.Variable(np.asarray([1.0, 2.0]))


def said(call):
    with pytest.raises(LostGradientError) as caught:
        call()
    text = str(caught.value)
    assert text.startswith("__array__ of an array that requires a gradient would lose the gradient")
    assert "x.detach()" in text
    return text


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda v: np.mean([v, v]), "mean"),
        (lambda v: np.linalg.norm([v, v]), "linalg.norm"),
        (lambda v: np.exp([v, v]), "exp"),
        (lambda v: np.cumsum([[v[0]], [v[1]]], axis=0), "cumsum"),
        (lambda v: np.concatenate([[v[0]], [v[1]]]), "concatenate"),
        (lambda v: np.pad(np.asarray([1.0]), 1, constant_values=v[0]), "pad"),
        (lambda v: np.trace([[v[0], v[1]], [0.0, v[1]]]), "trace"),
    ],
)
def test_a_function_of_a_list_says_that_it_takes_an_array_of_it(v, call, name):
    text = said(lambda: call(v))
    assert f"numpy.{name} asked for NumPy's memory of it (test_leaving.py:" in text
    assert f"the main arguments of np.{name}, and never inside lists" in text
    assert "xp.asarray(list)" in text


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda v: np.array([v, v]), "np.array(x, like=x)"),
        (lambda v: np.asarray(v), "np.asarray(x, like=x)"),
        (lambda v: np.full((2,), v[0]), "np.full(shape, x, like=x)"),
        (lambda v: np.full((2, 2), v), "np.full(shape, x, like=x)"),
    ],
)
def test_a_function_that_makes_an_array_says_how_it_makes_a_variable(v, call, instead):
    assert instead in said(lambda: call(v))


def test_what_it_says_to_do_has_gradients(v):
    a, b = v[0], v[1]
    xp = a.__array_namespace__()
    for made in (
        np.full((2,), a, like=a),
        np.array([a, b], like=a),
        np.asarray([[a], [b]], like=a),
        np.mean(xp.asarray([a, b])),
        np.trace(xp.asarray([[a, b], [0.0, b]])),
        np.pad(xp.asarray([1.0]), 1, constant_values=a),
    ):
        assert made.requires_grad


def test_scipys_function_names_the_one_of_the_namespace(v):
    log_sum = scipy_special.logsumexp
    text = said(lambda: log_sum(v))
    assert "scipy.special.logsumexp asked" in text
    assert "xp.special.logsumexp, of xp = x.__array_namespace__(), is the same" in text
    assert "SCIPY_ARRAY_API=1" in text
    matrix = ag.Variable(np.eye(2))
    solve = scipy_linalg.solve_triangular
    text = said(lambda: solve(matrix, v))
    assert "scipy.linalg.solve_triangular asked" in text
    assert "xp.linalg.solve_triangular" in text


def test_a_distribution_is_named(v):
    assert "scipy.stats.norm.pdf asked" in said(lambda: scipy_stats.norm.pdf(v))
    assert "scipy.stats.norm.logpdf asked" in said(lambda: scipy_stats.norm(0, 1).logpdf(v))


def test_pandas_and_scikit_learn_are_named(v):
    pandas = pytest.importorskip("pandas", reason="pip install pandas")
    assert "pandas.Series asked" in said(lambda: pandas.Series(v))
    assert "pandas.DataFrame asked" in said(lambda: pandas.DataFrame({"a": v}))
    pairwise = pytest.importorskip("sklearn.metrics.pairwise", reason="pip install scikit-learn")
    matrix = ag.Variable(np.eye(2))
    text = said(lambda: pairwise.rbf_kernel(matrix))
    assert "sklearn.metrics.pairwise.rbf_kernel asked" in text
    assert "array_api_dispatch=True" in text


def test_a_write_to_a_raw_array_says_to_make_it_a_variable(v):
    raw = np.zeros(2)

    def write():
        raw[:] = v

    assert "xp.asarray(raw)" in said(write)


def test_a_call_without_source_is_an_error_too(v):
    scope = {"np": np, "v": v}
    assert "x.detach()" in said(lambda: exec("[np.asarray(each) for each in [v]]", scope))
