"""What is special to PyTorch: its own autograd, devices, promotion, negative steps."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._plugins.backends import backend_named
from agnograd.errors import LostGradientError
from tests.helpers.large import (
    ELEMENTWISE,
    OF_NUMBERS,
    case_of,
    gradients,
    in_blocks_of_one,
    op_by_op,
)

torch = pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")


@pytest.fixture
def xp():
    return ag.namespace("torch")


def double(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_gradients_are_plain_tensors_on_the_same_device(xp):
    x = double(0.5, 1.0)
    gradient = ag.grad(lambda x: xp.sum(xp.sin(x) ** 2))(x)
    torch.testing.assert_close(gradient, torch.sin(2 * x))
    assert not gradient.requires_grad
    assert gradient.device == x.device


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_the_derivative_of_tanh_is_pytorchs_in_every_order(xp, dtype):
    x = torch.linspace(-1.0, 1.0, 6, dtype=getattr(torch, dtype)).reshape(2, 3)
    ours, theirs, g = ag.Variable(x), x.clone().requires_grad_(), torch.full_like(x, 2.0)
    xp.tanh(ours).backward(g)
    (first,) = torch.autograd.grad(theirs.tanh(), theirs, g, create_graph=True)
    torch.testing.assert_close(ours.grad.data, first.detach())
    (second,) = torch.autograd.grad(first, theirs, g)
    y = ag.Variable(x)
    (once,) = ag.autodiff.grad(xp.tanh(y), y, g, create_graph=True)
    (twice,) = ag.autodiff.grad(once, y, g)
    torch.testing.assert_close(twice.data, second)


@pytest.mark.parametrize("summed", [False, True], ids=["multiplied", "summed"])
@pytest.mark.parametrize("name", [name for name, samples in ELEMENTWISE.items() if samples])
def test_every_element_wise_op_in_blocks(xp, name, summed, monkeypatch):
    domain = xp.asarray(0.0)._domain
    cases = [case_of(sample, domain) for sample in ELEMENTWISE[name]]
    expected = [op_by_op(domain, gradients, case, summed) for case in cases]
    in_blocks_of_one(domain, monkeypatch)
    for case, each in zip(cases, expected, strict=True):
        for found, g in zip(gradients(case, summed), each, strict=True):
            torch.testing.assert_close(found, g, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_every_op_with_a_rule_that_names_no_array_computes_with_numbers(xp, name, monkeypatch):
    domain = xp.asarray(0.0)._domain
    cases = [case_of(sample, domain) for sample in ELEMENTWISE[name]]
    expected = [op_by_op(domain, gradients, case, True, True) for case in cases]
    monkeypatch.setattr(domain, "large", 1)
    for case, each in zip(cases, expected, strict=True):
        for found, g in zip(gradients(case, True, True), each, strict=True):
            torch.testing.assert_close(found, g, rtol=1e-12, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("size", [100, 3 * 10**5])
def test_a_large_cotangent_goes_in_blocks_and_the_array_is_kept_alone(xp, size, threads):
    before, raw = torch.get_num_threads(), torch.linspace(-2, 2, size, dtype=torch.float64)
    torch.set_num_threads(threads)
    try:
        x = ag.Variable(raw)
        product = -x * x
        kept = {id(each) for each in product.node._edge[3:5] if type(each) is torch.Tensor}
        with torch.profiler.profile(record_shapes=True) as profile:
            xp.sum(xp.exp(product) * 0.5 + xp.sin(x)).backward()
    finally:
        torch.set_num_threads(before)
    expected = torch.cos(raw) - raw * torch.exp(-raw * raw)
    torch.testing.assert_close(x.grad.data, expected, rtol=1e-12, atol=1e-14)
    cosines = sorted(
        each.input_shapes[0][0] for each in profile.events() if each.key == "aten::cos"
    )
    block = 2**14 if threads == 1 else 2**16
    assert len(kept) == (2 if size == 100 else 1)
    assert cosines[-1] == min(size, block)
    assert sum(cosines) == size


def test_a_fan_out_by_numbers_computes_with_numbers(xp):
    x = ag.Variable(torch.linspace(-2, 2, 3 * 10**5, dtype=torch.float32))
    loss = sum(xp.sum(x * (i + 0.5) - x) + xp.sum(x / 4.0) for i in range(20))
    with torch.profiler.profile(record_shapes=True) as profile:
        loss.backward()
    shapes = [
        each.input_shapes
        for each in profile.events()
        if each.key in ("aten::mul", "aten::neg", "aten::add", "aten::add_")
    ]
    assert len(shapes) >= 80
    assert all(shape == [] for each in shapes for shape in each)
    torch.testing.assert_close(x.grad.data, torch.full_like(x.data, 185.0))


def test_tensors_that_are_not_contiguous_go_op_by_op(xp):
    raw = torch.linspace(-2, 2, 4 * 10**5, dtype=torch.float64).reshape(400, 1000)
    for view in (raw.T, raw[:, ::2], raw[:1].expand(400, 1000)):
        x = ag.Variable(view)
        xp.sum(xp.exp(xp.sin(x) * 2.0)).backward()
        expected = torch.exp(torch.sin(view) * 2.0) * 2.0 * torch.cos(view)
        torch.testing.assert_close(x.grad.data, expected, rtol=1e-12, atol=1e-12)


def test_a_tensor_that_pytorch_tracks_is_refused(xp):
    tracked = double(1.0, 2.0).requires_grad_()
    with pytest.raises(LostGradientError, match="detach"):
        ag.Variable(tracked)
    with pytest.raises(LostGradientError, match="detach"):
        ag.grad(lambda x: xp.sum(x * x))(tracked)
    with pytest.raises(LostGradientError, match="detach"):
        ag.grad(lambda x: xp.sum(x * tracked))(double(1.0, 2.0))
    product = ag.Variable(double(3.0, 4.0)) * tracked
    with pytest.raises(LostGradientError, match="detach"):
        _ = product.data
    parameter = torch.nn.Parameter(double(1.0))
    assert ag.grad(lambda x: xp.sum(x * x))(parameter.detach()).tolist() == [2.0]


@pytest.mark.parametrize(
    "product",
    [
        pytest.param(lambda xp, x, p: x * p, id="x * p"),
        pytest.param(lambda xp, x, p: p * x, id="p * x"),
        pytest.param(lambda xp, x, p: xp.multiply(x, p), id="multiply"),
        pytest.param(lambda xp, x, p: x @ p, id="x @ p"),
    ],
)
def test_a_parameter_is_a_constant_if_pytorch_does_not_track_it(xp, product):
    x, values = double(1.0, 2.0), double(3.0, 5.0)
    frozen = torch.nn.Parameter(values, requires_grad=False)
    found = ag.grad(lambda x: xp.sum(product(xp, x, frozen)))(x)
    assert type(found) is torch.Tensor
    assert found.tolist() == [3.0, 5.0]
    parameter = torch.nn.Parameter(values)
    with pytest.raises(LostGradientError, match=r"pass x.detach\(\)"):
        ag.grad(lambda x: xp.sum(product(xp, x, parameter)))(x)
    assert parameter.grad is None


def test_a_0d_tensor_takes_part_in_promotion(xp):
    narrow, wide = torch.ones(2, dtype=torch.float32), torch.tensor(2.0, dtype=torch.float64)
    v = ag.Variable(narrow)
    assert (v * wide).dtype == torch.float64
    assert (wide * v).dtype == torch.float64
    assert (v > wide).data.tolist() == [False, False]
    first, second = ag.grad(lambda x, y: xp.sum(x * y), argnums=(0, 1))(narrow, wide)
    assert (first.dtype, second.dtype) == (torch.float32, torch.float64)


@pytest.mark.parametrize(
    "key",
    [
        slice(None, None, -1),
        (slice(None, None, -2), 0),
        (Ellipsis, slice(2, 0, -1)),
        (None, slice(None, None, -1), None, slice(-1, None, -1)),
        (slice(0, 5, -1), Ellipsis),
    ],
    ids=repr,
)
def test_negative_steps_are_read_and_written_as_in_numpy(xp, key):
    values = np.arange(12.0).reshape(3, 4)
    expected = values[key]
    x = ag.Variable(torch.tensor(values))
    assert x[key].data.tolist() == expected.tolist()
    written, changed = x * 1.0, np.array(values)
    without_new_axes = tuple(k for k in np.index_exp[key] if k is not None)
    changed[without_new_axes] = -changed[without_new_axes]
    written[without_new_axes] = -x[without_new_axes]
    assert written.data.tolist() == changed.tolist()
    view = written[without_new_axes]
    view[...] = 0.0
    changed[without_new_axes] = 0.0
    assert written.data.tolist() == changed.tolist()
    ag.check_grad(lambda x: x[key] ** 2, x.data)


def test_writes_through_views_with_negative_steps_have_gradients(xp):
    def f(x):
        y = x * 1.0
        turned = y[::-1]
        turned[0] = 2.0 * x[1]
        return xp.sum(y * y)

    assert ag.grad(f)(double(1.0, 2.0, 3.0)).tolist() == [2.0, 20.0, 0.0]


def test_integer_arrays_beside_slices_are_added_up():
    backend = backend_named("torch")
    into, rows = torch.zeros(3, 2, dtype=torch.float64), torch.tensor([0, 2, 0])
    result = backend.scatter_add(into, (rows, slice(None)), torch.ones(3, 2, dtype=torch.float64))
    assert result.tolist() == [[2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]


def test_what_leaves_for_the_host():
    backend = backend_named("torch")
    z = torch.tensor([1 + 2j]).conj()
    assert np.asarray(ag.Variable(z, requires_grad=False)).tolist() == [1 - 2j]
    assert backend.to_host(double(1.5), dtype=np.float32).dtype == np.float32
    x = double(1.0)
    assert np.shares_memory(backend.to_host(x, copy=False), x.numpy())
    assert not np.shares_memory(backend.to_host(x, copy=True), x.numpy())


def test_gradients_on_the_host_agree_with_pytorchs():
    xp = ag.namespace("torch")
    weights, x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)), torch.ones(2, 4)

    def loss(xp, w):
        return xp.sum(xp.tanh(x @ w) ** 2)

    own = weights.clone().requires_grad_()
    loss(torch, own).backward()
    torch.testing.assert_close(ag.grad(lambda w: loss(xp, w))(weights), own.grad)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_devices_events_and_memory(xp):
    backend = backend_named("torch")
    x = torch.linspace(0.0, 1.0, 1 << 20, device="cuda")
    start = backend.mark()
    gradient = ag.grad(lambda x: xp.sum(xp.take(xp.sin(x), xp.asarray([0, 0, 5], device="cuda"))))(
        x
    )
    stop = backend.mark()
    assert gradient.device == x.device
    assert float(gradient[0]) == pytest.approx(2.0)
    assert 0 < backend.elapsed(start, stop) < 60
    backend.synchronize(gradient)
    backend.synchronize()
    assert backend.memory()["allocated"] >= x.nbytes
    with pytest.raises(ValueError, match="copy"):
        backend.to_host(x, copy=False)
    assert ag.Variable(x, requires_grad=False).device == x.device


def test_sparse_tensors_are_recorded(xp):
    sparse = torch.eye(400, dtype=torch.float64).to_sparse()
    product = -ag.Variable(sparse) * ag.Variable(sparse)
    torch.testing.assert_close(product.data.to_dense(), -torch.eye(400, dtype=torch.float64))
    x = ag.Variable(sparse)
    xp.sum(xp.matmul(x, ag.Variable(torch.ones(400, 2, dtype=torch.float64)))).backward()
    assert x.grad.shape == (400, 400)
    assert not x.grad.data.is_sparse


@pytest.mark.parametrize(
    "call", [lambda x: ~x, ag.compile(lambda x: ~x)], ids=["as it is", "compiled"]
)
def test_an_inverted_number_is_pytorchs_own_error(call):
    for x in (torch.ones(2), torch.tensor(1.0), ag.asarray(torch.ones(2))):
        with pytest.raises(TypeError, match="only implemented on integer and Boolean"):
            call(x)
    assert call(torch.tensor([1, -3])).tolist() == [-2, 2]
    assert call(torch.tensor([True, False])).tolist() == [False, True]
