"""Derivatives of every sample and of random programs, for a process that runs one way or the other.

``python tests/helpers/both_ways.py FILE [PROGRAMS]`` writes them, by name, to a file.
"""

import pickle
import sys
import warnings

import numpy as np

import agnograd as ag
from agnograd._hooks.state import REFERENCE
from agnograd.errors import AgnogradError
from agnograd.testing._samples import all_samples
from agnograd_conformance._case import Case
from derivatives import differentiable, leaves_in, ours, tracked, weights
from differences import Derivatives, directions
from drawn import search


def first(sample):
    """Return the gradients of one pass on raw arrays, with a value that hooks watch."""
    case = Case(sample, "numpy")
    leaves = tracked(case.inputs, ag.Variable)
    outputs = differentiable(case(*leaves))
    given = [np.asarray(weights(tuple(v.shape), v.dtype, 1)) for v in outputs]
    found = ag.autodiff.grad(outputs, leaves_in(leaves), given, allow_unused=True)
    return [None if v is None else np.asarray(v.data) for v in found]


def outcome(compute, *args):
    """Return a result, or the name of the error that came up instead."""
    try:
        return compute(*args)
    except (AgnogradError, ArithmeticError, TypeError, ValueError) as error:
        return type(error).__name__


def of_samples():
    for module, place, sample in all_samples():
        if sample.backends is None or "numpy" in sample.backends:
            name = f"{module}[{place}] {sample!r}"
            yield name, [outcome(first, sample), outcome(ours, sample)]


def of_programs(count):
    found = []

    def differentiated(program):
        of, inputs = Derivatives(program), program.inputs
        along = directions(inputs)
        computed = [of.gradient(inputs), of.product(inputs, along), *of.forward(inputs, along)]
        found.append((program.source, computed))

    assert search(count, differentiated) == count
    return found


if __name__ == "__main__":
    path, count = sys.argv[1], int(sys.argv[2])
    warnings.simplefilter("error")
    with np.errstate(all="ignore"):
        written = {
            "reference": REFERENCE,
            "samples": dict(of_samples()),
            "programs": of_programs(count),
        }
    with open(path, "wb") as file:
        pickle.dump(written, file)
