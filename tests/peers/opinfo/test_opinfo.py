"""Values, and first and second derivatives, of PyTorch's own samples of its ops.

``differences.txt`` lists where the two libraries differ, and which of them is right.
"""

import importlib
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import agnograd as ag
from agnograd.testing.gaps import read_gaps
from derivatives import assert_agree, derivatives

torch = pytest.importorskip("torch", reason="whose samples these are: pip install torch")
pytest.importorskip("expecttest", reason="which PyTorch's samples need: pip install expecttest")

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
with warnings.catch_warnings(action="ignore"):  # PyTorch's own, of how it makes samples
    arguments = importlib.import_module("arguments")
    INFOS = arguments.infos()
counterparts = importlib.import_module("counterparts").COUNTERPARTS
Pair = importlib.import_module("products").Pair
sys.path.remove(str(HERE))

DIFFERENCES = read_gaps(HERE / "differences.txt", lambda line: True)


def cases():
    """Yield each sample of each op that has a counterpart, on both backends."""
    for name in sorted(counterparts):
        for dtype in (torch.float64, torch.complex128):
            if dtype not in INFOS[name].dtypes:
                continue
            for number, sample in enumerate(arguments.samples_of(INFOS[name], dtype)):
                for backend in ("numpy", "torch"):
                    own = f"{name}-{str(dtype).removeprefix('torch.')}-{number}-{backend}"
                    marks = [
                        pytest.mark.xfail(raises=gap.error, reason=gap.reason, strict=True)
                        for gap in DIFFERENCES
                        if gap.is_of(own)
                    ]
                    yield pytest.param(name, sample, backend, id=own, marks=marks)


with warnings.catch_warnings(action="ignore"):
    CASES = list(cases())


def on_host(value):
    if isinstance(value, ag.Variable):
        value = value.data
    if isinstance(value, torch.Tensor):
        return value.numpy(force=True)
    return np.asarray(value)


def results(value):
    """Return the arrays in a result, in order: those that may have a gradient, if any may."""
    if isinstance(value, list | tuple):
        found = [each for part in value for each in results(part)]
    else:
        found = [value] if isinstance(value, torch.Tensor | ag.Variable) else []
    inexact = [each for each in found if on_host(each).dtype.kind in "fc"]
    return inexact or found


@pytest.mark.filterwarnings("ignore")  # PyTorch's, of its own samples
@pytest.mark.parametrize(("name", "sample", "backend"), CASES)
def test_samples_agree_with_pytorch(name, sample, backend):
    info, ours = INFOS[name], counterparts[name]
    theirs = ours.theirs if isinstance(ours, Pair) else info.op
    ours = ours.ours if isinstance(ours, Pair) else ours
    given, mine = arguments.for_torch(sample), arguments.for_agnograd(sample, backend)
    expected = results(theirs(*given.args, **given.kwargs))
    found = results(ours(ag.namespace(backend), *mine.args, **mine.kwargs))
    for one, other in zip(found, expected, strict=True):
        assert tuple(one.shape) == tuple(other.shape)
        np.testing.assert_allclose(on_host(one), on_host(other), rtol=1e-7, atol=1e-9)
    expected = [each for each in expected if each.requires_grad]
    found = [each for each in found if each.requires_grad]
    assert len(found) == len(expected)
    if not found:
        return
    order = 2 if info.supports_gradgrad else 1
    assert_agree(
        derivatives(
            found,
            mine.leaves,
            order,
            ag.autodiff.grad,
            torch.tensor if backend == "torch" else np.asarray,
            on_host,
        ),
        derivatives(expected, given.leaves, order, torch.autograd.grad, torch.tensor, on_host),
        1e-6,
    )


def test_every_listed_difference_is_one():
    ids = {case.id for case in CASES}
    for gap in DIFFERENCES:
        assert any(gap.is_of(each) for each in ids), f"no sample has this name: {gap.pattern}"


def test_there_are_as_many_samples_as_before():
    assert len(counterparts) >= 460
    assert len(CASES) >= 2 * 7000
