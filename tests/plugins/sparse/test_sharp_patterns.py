"""Patterns of ops that combine elements in known ways: they have no entry that is always zero."""

from functools import partial

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays.domains import domain_named
from agnograd.extend import OpSet
from agnograd_sparse._tracing import Dependences

XP = ag.namespace("numpy")


def drawn(*shape, seed=0):
    return np.random.default_rng(seed).random(shape) + 0.5


def product(subscripts, *shapes):
    """Return a case of an Einstein summation, in the first of some arrays."""
    x, *others = [drawn(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    return (lambda x: XP.einsum(subscripts, x, *others), x)


A, W1, W2, W3 = drawn(3, 3), drawn(4, 1, 2), drawn(2, 3, 2, 2), drawn(1, 1, 2, 1, 2)
CASES = {
    "diagonal and transpose": product("iij->ji", (3, 3, 2)),
    "ellipsis": product("...ij,jk->...ik", (2, 3, 2), (2, 2)),
    "three operands": product("ij,kj,kl->il", (2, 3), (4, 3), (4, 2)),
    "without an arrow": product("ba", (2, 3)),
    "an axis of length one": product("ij,ij->i", (3, 1), (3, 4)),
    "tensordot": (lambda x: XP.tensordot(x, A, axes=([1], [0])), drawn(2, 3, 2)),
    "vecdot": (lambda x: XP.vecdot(x, A), drawn(2, 1, 3)),
    "matrix and vector": (lambda x: x @ A[0], drawn(2, 3)),
    "cross": (lambda x: XP.linalg.cross(x, A), drawn(3, 3)),
    "outer": (lambda x: XP.linalg.outer(x, A[0]), drawn(2)),
    "solve": (lambda b: XP.linalg.solve(A, b), drawn(3, 2)),
    "solve for a vector": (lambda a: XP.linalg.solve(a, A[0]), drawn(2, 3, 3)),
    "pinv": (XP.linalg.pinv, drawn(2, 3, 2)),
    "diagonal": (lambda x: XP.linalg.diagonal(x, offset=1), drawn(2, 3, 3)),
    "trace": (lambda x: XP.linalg.trace(x, offset=-1), drawn(2, 3, 3)),
    "shifted": (lambda x: XP.fft.fftshift(x, axes=1), drawn(2, 3)),
    "transform of two axes": (lambda x: XP.abs(XP.fft.fftn(x, axes=(0, 2))), drawn(2, 3, 2)),
    "conv1d": (lambda x: XP.nn.conv1d(x, W1, stride=2, padding=1, groups=2), drawn(2, 2, 5)),
    "conv2d": (lambda x: XP.nn.conv2d(x, W2, dilation=(1, 2), padding="same"), drawn(1, 3, 4, 4)),
    "conv3d": (lambda x: XP.nn.conv3d(x, W3, stride=(2, 1, 1)), drawn(1, 1, 4, 2, 3)),
    "weights": (lambda w: XP.nn.conv1d(drawn(1, 2, 5), w, groups=2), W1),
    "conv_transpose2d": (lambda x: XP.nn.conv_transpose2d(x, W2, stride=2), drawn(1, 2, 2, 3)),
    "avg_pool2d": (lambda x: XP.nn.avg_pool2d(x, 2, 1, 1), drawn(1, 2, 3, 4)),
    "embedding": (lambda x: XP.nn.embedding(np.asarray([2, 0, 2]), x), drawn(3, 2)),
    "layer_norm": (lambda x: XP.nn.layer_norm(x, (3,)), drawn(2, 3)),
    "two results": (lambda x: XP.stack(XP.special.sici(x)), drawn(3)),
    "convolve": (lambda x: XP.signal.convolve(x, A[0], mode="same"), drawn(6)),
    "convolve by a transform": (
        lambda x: XP.signal.convolve(x, A[:2], mode="full", method="fft"),
        drawn(3, 4),
    ),
    "correlate": (lambda x: XP.signal.correlate(x, A[0], mode="valid"), drawn(6)),
    "lfilter": (lambda x: XP.signal.lfilter([1.0, 0.5], [1.0, 0.2], x), drawn(2, 5)),
    "lfilter without a recursion": (lambda x: XP.signal.lfilter([1.0, 0.5], [2.0], x), drawn(5)),
    "gaussian_filter1d": (
        lambda x: XP.ndimage.gaussian_filter1d(x, 0.7, 0, radius=1, mode="wrap"),
        drawn(5, 2),
    ),
    "uniform_filter": (lambda x: XP.ndimage.uniform_filter(x, (1, 3), "constant"), drawn(2, 5)),
    "solve_banded": (
        lambda b: XP.linalg.solve_banded((1, 1), drawn(3, 3) + 1.0, b),
        drawn(3, 2),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_no_entry_is_always_zero(name):
    f, x = CASES[name]
    size = np.asarray(x).size
    jacobian = np.reshape(np.asarray(ag.jacobian(f)(x)), (-1, size))
    for mode in ("global", "local"):
        found = ag.sparsity(f, x, mode=mode).toarray()
        np.testing.assert_array_equal(found, np.abs(jacobian) > 1e-14)


# -- ops whose programs do not tell ---------------------------------------------------------------


@pytest.fixture
def found_for(monkeypatch):
    return partial(_found_for, monkeypatch)


def _found_for(monkeypatch, forward, mode):
    """Return the pattern of an op with this program, and a derivative by its input."""
    ops = OpSet("mine")
    ops.vjp("mine(x, /)", x=lambda g: g, forward=forward, batch=lambda x: x)
    backend = Dependences.domain(domain_named("numpy")).backend
    monkeypatch.setattr(
        backend.below.raw, "mine", forward, raising=False
    )  # as if it were installed
    compute = backend.rule(ops.ops["mine"])

    def f(x):
        return x._domain.Variable._make(compute(x._raw), None)

    return ag.sparsity(f, np.ones(3), mode=mode).toarray()


@pytest.mark.parametrize("mode", ["global", "local"])
def test_a_program_of_the_standard_tells_the_pattern_of_an_op_with_a_batching_rule(found_for, mode):
    found = found_for(lambda xp, x: xp.flip(x) * 2.0, mode)
    np.testing.assert_array_equal(found, np.eye(3, dtype=bool)[::-1])


@pytest.mark.parametrize("mode", ["global", "local"])
def test_a_derivative_that_its_program_does_not_have_is_one_by_everything(found_for, mode):
    assert found_for(lambda xp, x: xp.round(x), mode).all()


@pytest.mark.parametrize("mode", ["global", "local"])
def test_values_that_another_library_computes_depend_on_everything(found_for, mode):
    assert found_for(lambda x: np.sort(np.asarray(x)), mode).all()
