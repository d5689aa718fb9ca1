"""Forward mode is the transpose of reverse mode, on every sample of every rule."""

import importlib

import numpy as np
import pytest

import agnograd as ag
from agnograd._registry import op_sets
from agnograd.testing._case import Case

SAMPLES = [
    sample
    for _, op_set in op_sets()
    if op_set.samples is not None
    for sample in importlib.import_module(op_set.samples).samples
    if sample.order
]


def drawn(like, rng):
    values = rng.uniform(-1, 1, like.shape)
    if np.iscomplexobj(like):
        values = values + 1j * rng.uniform(-1, 1, like.shape)
    return np.asarray(values, dtype=like.dtype)


def inner(one, other):
    """Return the real inner product of two lists of arrays."""
    pairs = zip(one, other, strict=True)
    return float(sum(np.sum(np.real(np.conj(a) * b)) for a, b in pairs))


def arrays_in(value):
    if isinstance(value, list | tuple):
        return [array for each in value for array in arrays_in(each)]
    return [value]


def floating(outputs):
    return [each for each in arrays_in(outputs) if np.dtype(each.dtype).kind in "fc"]


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_a_push_is_the_transpose_of_a_pass(sample):
    case, rng = Case(sample, "numpy"), np.random.default_rng(1)
    inputs = case.inputs
    f = lambda *args: floating(case(*args))  # noqa: E731
    given = [[drawn(each, rng) for each in arrays_in(x)] for x in inputs]
    tangents = [
        each if isinstance(x, list | tuple) else each[0]
        for x, each in zip(inputs, given, strict=True)
    ]
    inputs = [list(x) if isinstance(x, tuple) else x for x in inputs]
    value, tangent = ag.jvp(f, tuple(inputs), tuple(tangents))
    cotangents = [drawn(np.asarray(each), rng) for each in value]
    pulled = ag.vjp(f, *inputs)[1](cotangents)
    forward = inner(cotangents, [np.asarray(each) for each in tangent])
    reverse = inner([np.asarray(g) for g in arrays_in(list(pulled))], arrays_in(given))
    tolerance = 1e-4 if "float32" in repr(sample) or "complex64" in repr(sample) else 1e-10
    assert forward == pytest.approx(reverse, rel=tolerance, abs=tolerance)
    for out, along in zip(value, tangent, strict=True):
        assert (out.shape, out.dtype) == (along.shape, along.dtype)
