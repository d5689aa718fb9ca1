"""First and second derivatives of samples, to be compared with another engine's or library's."""

import math
import random

import numpy as np

import agnograd as ag
from agnograd_conformance._case import Case


def leaves_in(value):
    """Return the arrays in an argument or a result, in order."""
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in leaves_in(each)]
    return [value]


def tracked(value, make):
    """Return an argument with each array in it made a leaf."""
    if isinstance(value, list | tuple):
        return [tracked(each, make) for each in value]
    return make(value)


def differentiable(outputs):
    """Return the results that have a gradient."""
    found = [v for v in leaves_in(outputs) if isinstance(v, ag.Variable)]
    return [v for v in found if v.requires_grad]


def weights(shape, dtype, seed):
    """Return a fixed cotangent."""
    rng = random.Random(seed)
    drawn = [complex(rng.uniform(0.5, 1.5), rng.uniform(-1, 1)) for _ in range(math.prod(shape))]
    drawn = np.reshape(np.asarray(drawn), shape)
    return (drawn if "complex" in str(dtype) else drawn.real).astype(str(dtype).rpartition(".")[2])


def ours(sample, backend="numpy"):
    """Return the first and second derivatives that agnograd gives, as NumPy arrays."""
    case = Case(sample, backend)
    leaves = tracked(case.inputs, ag.Variable)
    outputs = differentiable(case(*leaves))
    make = case.domain.library.asarray
    return derivatives(outputs, leaves_in(leaves), sample.order, ag.autodiff.grad, make, np.asarray)


def derivatives(outputs, leaves, order, grad, make, on_host):
    """Return the derivatives of each order, up to the one after which there are none."""
    found = []
    for level in range(1, order + 1):
        given = [make(weights(tuple(v.shape), v.dtype, level)) for v in outputs]
        first = grad(outputs, leaves, given, create_graph=True, allow_unused=True)
        found.append([None if v is None else on_host(v.detach()) for v in first])
        outputs = [v for v in first if v is not None and v.requires_grad]
        if not outputs:
            break
    return found


def assert_agree(mine, expected, tolerance):
    """Compare derivatives of all orders; None is zero."""
    for level in range(max(len(mine), len(expected))):
        for place in range(len(mine[0])):
            one = mine[level][place] if level < len(mine) else None
            other = expected[level][place] if level < len(expected) else None
            if one is None and other is None:
                continue
            like = one if one is not None else other
            one = np.zeros_like(like) if one is None else one
            other = np.zeros_like(like) if other is None else other
            # Where the other one gives no number, finite differences have checked ours.
            one = np.where(np.isnan(other), other, one)
            np.testing.assert_allclose(
                one, other, rtol=tolerance, atol=tolerance, err_msg=f"order {level + 1}"
            )
