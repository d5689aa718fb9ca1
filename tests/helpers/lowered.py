"""Programs of every sample with its gradient, run by a lowering and by the library's own ops."""

import warnings

import pytest

import agnograd as ag
from agnograd._util.trees import flatten
from agnograd.errors import CompileError
from agnograd.testing._samples import all_samples
from agnograd_compile._lowerings import lowering_for
from agnograd_compile._programs.program import Missed
from agnograd_compile._programs.straight import straight
from agnograd_conformance._case import Case, arrays_in
from traced import traced


def lowered(name, program):
    """Return a program as the lowering of a full name runs it."""
    return lowering_for(*name.split(".")).lower(program)


def samples():
    """Return every sample, as a parameter of a test."""
    return [pytest.param(sample, id=f"{sample.op}-{index}") for _, index, sample in all_samples()]


NAMES = "add astype broadcast_to concat cumulative_sum divide einsum exp linalg.solve linalg.svd"
NAMES += " matmul mean min permute_dims pow reshape roll sort std sum take tanh where"
FEW = NAMES.split()


def few_samples():
    """Return one sample of some ops of each kind, for what takes long to compile."""
    found = {sample.op: sample for _, _, sample in all_samples() if sample.op in FEW}
    return [pytest.param(sample, id=op) for op, sample in found.items()]


def program_of(sample, backend):
    """Return the program of a sample's loss and gradient, and arrays that it runs on.

    There are two lists: the arrays of the trace, and others. The test is skipped if a backend
    cannot compute the sample, or a program cannot.
    """
    try:
        case, other = Case(sample, backend), Case(sample, backend, seed=7)
    except Exception as error:
        pytest.skip(f"no arrays: {error}")
    if not case.places:
        pytest.skip("nothing is differentiated")
    xp = case.domain.namespace

    def loss(*inputs):
        found = [each for each in arrays_in(case(*inputs)) if hasattr(each, "dtype")]
        return sum(
            xp.sum(xp.real(each * xp.conj(each)) if is_complex(xp, each) else each * each)
            for each in found
            if xp.isdtype(each.dtype, ("real floating", "complex floating"))
        )

    function = ag.value_and_grad(loss, argnums=tuple(range(len(case.places))))
    try:
        program = traced(backend, function, *case.inputs)
    except CompileError as error:
        pytest.skip(f"no program: {error}")
    except Exception as error:
        pytest.skip(f"not on {backend}: {error}")
    return program, flatten(tuple(case.inputs))[0], flatten(tuple(other.inputs))[0]


def is_complex(xp, x):
    """Return whether an array is complex."""
    return xp.isdtype(x.dtype, "complex floating")


def outcome(run, arrays):
    """Return what a run gives: its results, what a guard saw, or the kind of its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(list(arrays))
    except Missed as missed:
        return missed.args
    except Exception as error:
        return type(error)


def both(name, program, arrays):
    """Return the outcomes of a lowering, and of the ops one after the other."""
    return outcome(lowered(name, program), arrays), outcome(straight(program), arrays)
