"""First and second derivatives of every sample, as PyTorch's own engine computes them."""

import copy
import importlib

import numpy as np
import pytest

import agnograd as ag
from agnograd._plugins.op_sets import op_sets
from agnograd.extend import Sample, array
from agnograd_conformance._case import Case
from derivatives import assert_agree, derivatives, leaves_in, ours, tracked

torch = pytest.importorskip("torch", reason="the oracle: pip install torch")
by_torch = importlib.import_module("by_torch")

# PyTorch has no derivative of most of SciPy's functions. Collectives of one rank change nothing;
# those of several ranks have tests of their own.
ELSEWHERE = (
    *("special.", "signal.", "ndimage.", "spatial.", "interpolate.", "integrate.", "optimize."),
    *("stats.", "dist.", "random."),
)
PACK = "agnograd_scipy."  # tests/plugins compares what PyTorch has of its linear algebra
NUMPYS = "numpy_names"
SAMPLES = [
    sample
    for _, op_set in op_sets()
    if op_set.samples is not None
    and not op_set.samples.startswith(PACK)
    and op_set.chapter != NUMPYS  # tests/core takes differences of these programs
    for sample in importlib.import_module(op_set.samples).samples
    if not sample.op.startswith(ELSEWHERE)
]

# Points at which derivatives need a convention, or care, and both libraries have the same ones.
EDGES = [
    Sample("max", array(values=[1.0, 1.0, 0.0])),
    Sample("min", array(values=[[1.0, 1.0], [0.5, 2.0]])),
    Sample("maximum", array(values=[1.0, 2.0]), array(values=[1.0, 1.0]), order=1),
    Sample("minimum", array(values=[1.0, 2.0]), array(values=[1.0, 1.0]), order=1),
    Sample("abs", array(values=[0.0, -1.0])),
    Sample("clip", array(values=[-1.0, 0.0, 1.0]), -1.0, 1.0),
    Sample("prod", array(values=[0.0, 2.0, 3.0])),
    Sample("prod", array(values=[[0.0, 0.0, 3.0], [0.0, 2.0, 3.0]]), axis=1),
    Sample("cumulative_prod", array(values=[0.0, 2.0, 3.0])),
    Sample("cumulative_prod", array(values=[2.0, 0.0, 3.0, 0.0])),
    Sample("linalg.det", array(values=[[1.0, 2.0], [2.0, 4.0]])),
    Sample("linalg.eigvalsh", array(values=np.eye(3).tolist()), order=1),
    Sample("linalg.svdvals", array(values=np.eye(3).tolist()), order=1),
    Sample("linalg.vector_norm", array(values=[0.0, 0.0])),
    Sample("std", array(values=[2.0, 2.0]), order=1),
    Sample("pow", array(values=[0.0, 0.0, 2.0]), 2),
    Sample("take", array(3), array(values=[2, 0, 2], dtype="int64"), axis=0),
    Sample("__getitem__", array(3, 2), array(values=[True, False, True], dtype="bool")),
    Sample("where", array(values=[True, False], dtype="bool"), array(2, 2), array(2)),
]


# Ops that the standard lacks and rules need; PyTorch has nothing to compare them with.
OURS_ALONE = {
    *("linalg.adjugate", "linalg.with_eigenvalues", "linalg.with_singular_values"),
    *("linalg.eigh_upper", "linalg.solve_adjoint", "linalg.solve_triangle"),
    *("partial_products", "pow_slope", "scatter_add", "scatter_add_axis", "to_device"),
    *("fft.dct", "fft.dst", "fft.idct", "fft.idst", "fft.fht", "fft.ifht"),
    *("fft.dctn", "fft.dstn", "fft.idctn", "fft.idstn"),
    *("nn.convolution", "nn.convolution_input", "nn.convolution_weight"),  # nn.conv2d's rules
    *("nn.max_pooling", "nn.max_unpooling", "nn.max_picking"),
    *("nn.sum_pooling", "nn.sum_unpooling", "nn.dropout"),
}


def compared(sample):
    """Return the sample as far as PyTorch has an answer: perhaps to the first order alone.

    The second derivative of PyTorch divides by what rounding alone tells from 0, another one on
    each processor, where eigenvalues or singular values are equal, and where a complex matrix
    is singular. Differences check those.
    """
    equal = sample.op in ("linalg.eigvalsh", "linalg.svdvals") and "0.707" in repr(sample)
    if sample.order == 2 and (equal or repr(sample) == SINGULAR):
        sample = copy.copy(sample)
        sample.order = 1
    return sample


SINGULAR = "linalg.det(complex128[[1.0, 1j], [1j, -1.0]])"

# PyTorch has no grid of arrays of two dtypes.
REFUSED = {"meshgrid(float32[2], [2])"}


def is_refused(sample):
    """Return whether PyTorch has no such call: it takes no axis twice, and -1 is another length."""
    return repr(sample) in REFUSED or (sample.op.startswith("fft.") and bool(sample.backends))


def theirs(sample):
    """Return the first and second derivatives that PyTorch gives."""
    library, function = by_torch.library, by_torch.function_of(sample.op)
    case = Case(sample, "numpy")
    case.args, case.kwargs = sample.make(library)
    leaves = tracked(case.inputs, lambda x: x.detach().clone().requires_grad_())
    args, kwargs = case.filled(*leaves)
    if sample.before is not None:
        args[0] = sample.before(args[0], library)
    out = function(*args, **kwargs)
    out = out if sample.after is None else sample.after(out, library)
    outputs = [v for v in leaves_in(out) if v.requires_grad]
    return derivatives(
        outputs, leaves_in(leaves), sample.order, torch.autograd.grad, torch.tensor, on_host
    )


def on_host(value):
    if isinstance(
        value, torch.Tensor
    ):  # which may be a conjugate, or a zero, that is not computed yet
        return value.resolve_conj().numpy(force=True)
    return np.asarray(value)


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's: of casts, and of what is a beta
@pytest.mark.parametrize(
    "sample",
    [
        compared(each)
        for each in [*SAMPLES, *EDGES]
        if each.order and each.op not in OURS_ALONE and not is_refused(each)
    ],
    ids=repr,
)
def test_derivatives_agree_with_pytorch(sample):
    single = "32" in repr(sample) or "64" in repr(sample).replace("float64", "")
    tolerance = 1e-3 if single else 1e-6
    assert_agree(ours(sample), theirs(sample), tolerance)


def test_every_rule_is_compared():
    ruled = {name for name, info in ag.ops().items() if info.status == "rule"}
    ruled = {name for name in ruled if not name.startswith(ELSEWHERE)}
    apart = ("scipy.linalg", NUMPYS)
    ruled -= {name for name, info in ag.ops().items() if info.chapter in apart}
    assert {sample.op for sample in SAMPLES if sample.order} == ruled
    assert ruled > OURS_ALONE
