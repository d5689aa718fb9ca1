"""Random programs, compared with what PyTorch's own engine makes of them."""

import importlib
import re
import warnings

import numpy as np
import pytest

from differences import Derivatives, close, directions, flat
from drawn import RAW, programs, search

torch = pytest.importorskip("torch", reason="whose engine it is: pip install torch")
library = importlib.import_module("array_api_compat.torch")
TOLERANCE = 1e-8
# Of these PyTorch has no derivative; it says so of none of them.
WITHOUT_DERIVATIVE = {"arange", "full", "full_like", "linspace", "nextafter"}
# A write at three integers, two of which may name one place: PyTorch's gradient counts both.
TWICE = re.compile(r"\[xp\.asarray\(\[[^\[\],]*,[^\[\],]*,[^\[\],]*\]\)\] = ")


class PyTorch:
    """A program's value and derivatives, as PyTorch gives them."""

    def __init__(self, program):
        self.function = program.function()
        self.leaves = [torch.tensor(x, requires_grad=True) for x in program.inputs]
        # PyTorch does not write to leaves.
        self.out = self.function(library, *(leaf * 1.0 for leaf in self.leaves))
        self.value = self.out.detach().numpy()

    def gradient(self):
        self.first = torch.autograd.grad(
            self.out, self.leaves, create_graph=True, materialize_grads=True
        )
        return flat(x.detach() for x in self.first)

    def product(self, along):
        total = sum(torch.sum(g * torch.tensor(u)) for g, u in zip(self.first, along, strict=True))
        if not total.requires_grad:
            return np.zeros(sum(leaf.numel() for leaf in self.leaves))
        return flat(torch.autograd.grad(total, self.leaves, materialize_grads=True))


@pytest.fixture(autouse=True)
def double():
    """Let PyTorch make arrays of double precision of lists, as NumPy does."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def compared(program):
    """Compare a program's value and derivatives; return whether PyTorch computes it."""
    along = directions(program.inputs)
    if program.ops & WITHOUT_DERIVATIVE or TWICE.search(program.source):
        return False
    try:
        with warnings.catch_warnings(action="ignore"):
            theirs = PyTorch(program)
            gradient, product = theirs.gradient(), theirs.product(along)
    except (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError):
        # No such function, slices with negative steps, a write to what PyTorch has saved.
        return False
    ours = Derivatives(program)
    far = TOLERANCE if program.narrow is None else program.narrow
    if not close(ours.value(program.inputs), theirs.value, far):
        # What is a view differs a little from library to library: then NumPy's value is ours. And
        # rounded steps and comparisons may take different sides.
        if program.as_in_numpy and program.narrow is None:
            own = ours.function(RAW, *(np.array(x) for x in program.inputs))
            assert close(ours.value(program.inputs), own, 1e-12), f"{theirs.value} in PyTorch"
        return False
    for order, (one, other) in enumerate(
        [
            (ours.gradient(program.inputs), gradient),
            (ours.product(program.inputs, along), product),
        ],
        1,
    ):
        if np.all(np.isfinite(other)):
            assert close(one, other, far), f"order {order}: {one}, in PyTorch {other}"
    return True


def test_derivatives_are_pytorchs(request):
    count = max(1, request.config.getoption("--programs"))
    shared = []
    assert search(count, lambda program: shared.append(compared(program)), programs()) == count
    assert sum(shared) >= 0.4 * count, f"PyTorch computes {sum(shared)} of {count} programs"
