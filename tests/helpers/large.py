"""Arrays that are so large that element-wise rules are applied to them block by block."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._codegen import functions
from agnograd._ops.saved import works
from agnograd._plugins.op_sets import registered
from agnograd.testing._samples import all_samples
from agnograd_conformance._trial import Trial
from agnograd_numpy import LARGE_ARRAY

__all__ = [
    "ELEMENTWISE",
    "OF_NUMBERS",
    "SHAPE",
    "carried_as_numbers",
    "case_of",
    "drawn",
    "gradients",
    "has_large_arrays",
    "in_blocks_of_one",
    "op_by_op",
]

SHAPE = (500, 1000)

# A switch says how many elements are many.
has_large_arrays = pytest.mark.skipif(
    LARGE_ARRAY > 500 * 1000, reason="of arrays that AGNOGRAD_SWITCHES makes no large ones"
)

# The differentiable samples of each element-wise op.
ELEMENTWISE = {
    name: [sample for _, _, sample in all_samples() if sample.op == name and sample.order]
    for name, (op, _) in registered().items()
    if works(op) is not None and not op.composed
}

# Element-wise ops with samples that have a rule which names no array, or only one of the two.
OF_NUMBERS = [
    name
    for name, (op, _) in registered().items()
    if ELEMENTWISE.get(name)
    and any(len({*rule.names} & {"out", *op.arrays}) < len(op.arrays) for rule in op.rules.values())
]


def drawn(seed, dtype="float64", order="C"):
    """Return an array of the shape, of numbers between 0.5 and 1.5."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.5, 1.5, SHAPE)
    if dtype.startswith("complex"):
        values = values + 1j * rng.uniform(0.5, 1.5, SHAPE)
    return np.asarray(values, dtype=dtype, order=order)


def case_of(sample, domain):
    """Return the call of a sample, with arrays of one shape: others are not run in blocks.

    Nor are ops of more than two arrays where some are numbers.
    """
    case = Trial(sample, "float64", domain.backend.name).case()
    shape = np.broadcast_shapes(*(tuple(x.shape) for x in case.arrays))
    xp = domain.library
    case.args = tuple(
        xp.asarray(xp.broadcast_to(x, shape), copy=True) if type(x) in domain.viewable_types else x
        for x in case.args
    )
    return case


def gradients(case, summed=False, numbers=False):
    """Return the gradients of a case after two products, so that ops are in a row.

    Of a sum the cotangent is one number for all elements, which are ones; else there is another
    product behind the case. With ``numbers`` the products are with numbers alone.
    """
    leaves = [ag.Variable(x) for x in case.inputs]
    xp = leaves[0]._domain.library
    factors = [1.0 if numbers else xp.ones_like(leaf.data) for leaf in leaves]
    out = case.result(*(x * 1.0 * c for x, c in zip(leaves, factors, strict=True)))
    g = xp.ones_like(out.data)
    if summed:
        g = xp.broadcast_to(xp.ones((), dtype=out.dtype), out.shape)
    else:
        out = out * 2.0
    return [g.data for g in ag.autodiff.grad(out, leaves, g)]


def op_by_op(domain, function, *args):
    """Return what a function returns where no array is large.

    Before that it is called as it is: what is compiled keeps what a large array is.
    """
    function(*args)
    domain.large, large = None, domain.large
    try:
        return function(*args)
    finally:
        domain.large = large


def in_blocks_of_one(domain, monkeypatch):
    """Let every array be large, and blocks of one element."""
    monkeypatch.setattr(domain, "large", 1)
    monkeypatch.setattr(type(domain.backend), "block", 1)


def carried_as_numbers(monkeypatch):
    """Return a list that gets the names of the ops whose gradients are one number."""
    found, spread = [], functions._spread

    def record(op, *given):
        found.append(op.name)
        return spread(op, *given)

    monkeypatch.setattr(functions, "_spread", record)
    return found
