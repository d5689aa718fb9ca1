"""Functions of Variables in PyTorch's graph, and PyTorch's functions and modules as ops here."""

import gc
import warnings
import weakref

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import LostGradientError, PluginError, RuleError
from arrays import leaf, values

torch = pytest.importorskip("torch", reason="PyTorch: pip install 'agnograd[torch]'")
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def tensor(*numbers, dtype=torch.float64):
    return torch.tensor(numbers, dtype=dtype, requires_grad=True)


def smooth(x, y):
    xp = x.__array_namespace__()
    return xp.sin(x) * y**2 + xp.sum(x * y)


# -- functions of Variables, for PyTorch -------------------------------------------------------


@pytest.mark.parametrize("on", [None, "numpy", "strict"])
def test_an_exported_function_has_derivatives_of_both_orders(on):
    f = ag.bridge.torch(smooth, backend=on)
    x, y = tensor(0.3, -0.7, 1.1), tensor(0.5, 1.5, -2.0)
    torch.testing.assert_close(f(x, y), torch.sin(x) * y**2 + torch.sum(x * y))
    assert gradcheck(f, (x, y))
    assert gradgradcheck(f, (x, y))
    assert gradcheck(f, (x, y.detach()))  # only one of them is differentiated
    (third,) = torch.autograd.grad(_derivative(_derivative(f(x, y).sum(), x), x), x)
    expected = _derivative(_derivative((torch.sin(x) * y**2).sum(), x), x)
    torch.testing.assert_close(third, torch.autograd.grad(expected, x)[0])


def _derivative(value, x):
    return torch.autograd.grad(value, x, create_graph=True)[0].sum()


def test_complex_arguments_keep_pytorchs_convention():
    def f(z):
        xp = z.__array_namespace__()
        return xp.exp(z) * z, xp.abs(z)

    exported = ag.bridge.torch(f, backend="numpy")
    z = tensor(0.5 + 0.3j, -0.2 + 1j, dtype=torch.complex128)
    assert gradcheck(exported, (z,))
    assert gradgradcheck(exported, (z,))
    loss = ag.bridge.torch(lambda z: z.__array_namespace__().abs(z) ** 2, backend="numpy")
    loss(z).sum().backward()
    torch.testing.assert_close(z.grad, 2 * z.detach())


def test_pytrees_integers_and_unused_arguments():
    def f(parameters, rows, *, scale):
        w, (b, _) = parameters["w"], parameters["rest"]
        xp = w.__array_namespace__()
        return {"y": xp.take(w, rows, axis=0) * scale + b, "rows": rows + 1, "none": None}

    exported = ag.bridge.torch(f, backend="numpy")
    w, b, unused = tensor([1.0, 2.0], [3.0, 4.0]), tensor(0.5), tensor(7.0)
    out = exported({"w": w, "rest": (b, unused)}, torch.tensor([1, 1]), scale=2.0)
    assert out["none"] is None
    assert out["rows"].tolist() == [2, 2]
    assert not out["rows"].requires_grad
    out["y"].sum().backward()
    assert w.grad.tolist() == [[0.0, 0.0], [4.0, 4.0]]
    assert b.grad.tolist() == [4.0]
    assert unused.grad.tolist() == [0.0]


def test_empty_and_0_d_arguments():
    f = ag.bridge.torch(lambda x: x.__array_namespace__().sum(x * x), backend="numpy")
    x = torch.zeros((0, 3), requires_grad=True)
    f(x).backward()
    assert x.grad.shape == (0, 3)
    y = torch.tensor(3.0, requires_grad=True)
    f(y).backward()
    assert y.grad.item() == 6.0


def test_nothing_is_recorded_where_pytorch_does_not_record():
    seen = []

    def f(x):
        seen.append(x.requires_grad)
        return x * x

    exported = ag.bridge.torch(f)
    with torch.no_grad():
        assert not exported(tensor(1.0)).requires_grad
    assert not exported(tensor(1.0).detach()).requires_grad
    assert seen == [False, False]
    with ag.no_grad():  # it is PyTorch that decides
        assert gradcheck(exported, (tensor(2.0),))
    with ag.GradManager():
        assert gradcheck(exported, (tensor(2.0),))
        assert gradgradcheck(exported, (tensor(2.0),))


def test_what_pytorch_writes_changes_no_gradient():
    exp = ag.bridge.torch(lambda x: x.__array_namespace__().exp(x))
    x = tensor(1.0)
    y = exp(x)
    y.detach().zero_()  # exp's rule needs its own result
    y.backward(torch.ones(1, dtype=torch.float64))
    assert x.grad.item() == pytest.approx(np.e)
    same = ag.bridge.torch(lambda x: x)(x)
    same.detach().zero_()
    assert x.item() == 1.0
    z = x * 1.0
    out = exp(z).sum()
    z.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()


@pytest.mark.parametrize("on", [None, "numpy", "strict"])
def test_an_exported_function_may_write_to_its_argument(on):
    def written(x):
        x[0] = x[1] * 2.0
        x *= x
        return x

    f = ag.bridge.torch(written, backend=on)
    x = tensor(0.2, 0.55, 0.9)
    (f(x) * x).sum().backward()
    assert x.tolist() == [0.2, 0.55, 0.9]
    # 4 x1^2 x0 + x1^3 + x2^3
    torch.testing.assert_close(x.grad, tensor(1.21, 1.7875, 2.43).detach())
    assert gradcheck(f, (x,))
    assert gradgradcheck(f, (x,))


def test_a_graph_is_used_twice_and_goes_with_pytorchs():
    holder = []

    def f(x):
        y = x * x
        holder.append(weakref.ref(y))
        return y * x

    x = tensor(2.0)
    out = ag.bridge.torch(f)(x)
    out.backward(retain_graph=True)
    out.backward()
    assert x.grad.item() == 24.0
    with pytest.raises(RuntimeError, match="second time"):
        out.backward()
    gc.collect()
    assert holder[0]() is None


def test_errors_leave_gradients_as_they_were():
    class Broken(ag.Function):
        def forward(self, xp, x):
            return x * 1.0

        def backward(self, xp, g):
            raise ZeroDivisionError("broken")

    x = tensor(1.0)
    out = ag.bridge.torch(Broken())(x)
    with pytest.raises(ZeroDivisionError, match="broken"):
        (out + x).sum().backward()
    weight = ag.Variable(torch.ones(1, dtype=torch.float64))
    uses = ag.bridge.torch(lambda x: x * weight)
    with pytest.raises(LostGradientError, match="none of its arguments"):
        uses(x)
    assert ag.bridge.torch(lambda x: x * weight.detach())(x).requires_grad
    with pytest.raises(LookupError, match="nothing"):
        ag.bridge.torch(lambda x: x, backend="nothing")


# -- PyTorch's functions, here -------------------------------------------------------------------


def test_an_adopted_function_has_derivatives_of_both_orders(xp):
    f = ag.bridge.from_torch(lambda x, y: torch.sin(x) * y**2 + torch.sum(x * y))
    x, y = (leaf(xp, numbers).data for numbers in ([0.3, -0.7, 1.1], [0.5, 1.5, -2.0]))
    out = f(ag.Variable(x), y)
    assert out.__array_namespace__() is xp
    np.testing.assert_allclose(values(out), values(smooth(ag.Variable(x), ag.Variable(y))))
    ag.check_grad(f, x, y)
    ag.check_grad(lambda x: f(x, y), x)
    third = ag.grad(
        lambda x: xp.sum(ag.grad(lambda x: xp.sum(ag.grad(lambda x: xp.sum(f(x, y)))(x)))(x))
    )
    expected = -np.cos(np.asarray(x)) * np.asarray(y) ** 2
    np.testing.assert_allclose(np.asarray(third(x)), expected, rtol=1e-12)


def test_forward_mode_jacobians_and_checkpoints(xp):
    f = ag.bridge.from_torch(lambda x: torch.tanh(x) * x)
    x = leaf(xp, [0.5, -1.0]).data
    slope = ag.grad(lambda x: xp.sum(xp.tanh(x) * x))(x)
    np.testing.assert_allclose(np.asarray(ag.jvp(f, x, xp.ones_like(x).data)[1]), slope)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(np.asarray(ag.jacobian(f, mode=mode)(x)), np.diag(slope))
    np.testing.assert_allclose(np.asarray(ag.grad(lambda x: xp.sum(ag.checkpoint(f)(x)))(x)), slope)


def test_complex_pytrees_integers_and_results_that_depend_on_nothing():
    @ag.bridge.from_torch
    def f(tree, rows, flag):
        assert flag is True
        assert isinstance(tree["z"], torch.Tensor)
        z = tree["z"]
        return [z.abs() ** 2 + tree["x"][0][rows], (rows + 1, torch.ones(2))]

    x = leaf(ag.namespace("numpy"), [1.0, 2.0])
    z = leaf(ag.namespace("numpy"), [1 + 2j, 3 - 1j], dtype="complex128")
    out, (rows, ones) = f({"z": z, "x": (x,)}, np.asarray([1, 1]), True)
    assert rows.data.tolist() == [2, 2]
    assert not ones.data.any() or ones.data.tolist() == [1.0, 1.0]
    ag.autodiff.backward(out.__array_namespace__().sum(out))
    np.testing.assert_allclose(values(z.grad), 2 * values(z))
    assert x.grad.data.tolist() == [0.0, 2.0]


def test_a_modules_parameters_get_their_gradients():
    module = torch.nn.Linear(3, 2, dtype=torch.float64)
    model = ag.bridge.from_torch(module)
    xp = ag.namespace("numpy")
    x = leaf(xp, [[1.0, 2.0, 3.0]])
    expected = torch.autograd.grad(
        (module(torch.from_numpy(x.data)) ** 2).sum(), list(module.parameters())
    )
    value, _ = ag.value_and_grad(lambda x: xp.sum(model(x) ** 2))(x.data)
    assert value.item() > 0
    assert module.weight.grad is None  # that returned gradients, and changed nothing
    for times in (1, 2):
        xp.sum(model(x) ** 2).backward()
        torch.testing.assert_close(module.weight.grad, times * expected[0])
        torch.testing.assert_close(module.bias.grad, times * expected[1])
    module.weight.requires_grad_(False)
    xp.sum(ag.checkpoint(model)(x) ** 2).backward()
    torch.testing.assert_close(module.weight.grad, 2 * expected[0])
    torch.testing.assert_close(module.bias.grad, 3 * expected[1])
    with ag.no_grad():
        assert not model(x).requires_grad


def test_training_a_module_with_pytorchs_optimizer():
    module = torch.nn.Linear(1, 1, dtype=torch.float64)
    model, xp = ag.bridge.from_torch(module), ag.namespace("numpy")
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    x = xp.asarray([[-1.0], [0.0], [1.0]])
    for _ in range(200):
        optimizer.zero_grad()
        xp.mean((model(x) - (3.0 * x + 1.0)) ** 2).backward()
        optimizer.step()
    assert module.weight.item() == pytest.approx(3.0)
    assert module.bias.item() == pytest.approx(1.0)


def test_a_failing_pass_changes_no_parameter():
    module = torch.nn.Linear(1, 1, dtype=torch.float64)

    class Broken(ag.Function):
        def forward(self, xp, x):
            return x * 1.0

        def backward(self, xp, g):
            raise ZeroDivisionError("broken")

    x = leaf(ag.namespace("numpy"), [[1.0]])
    out = ag.bridge.from_torch(module)(Broken()(x))
    with pytest.raises(ZeroDivisionError):
        out.backward()
    assert module.weight.grad is None
    assert x.grad is None


def test_a_module_that_changed_is_made_an_op_again():
    module = torch.nn.Linear(1, 1)
    module.bias.requires_grad_(False)
    model = ag.bridge.from_torch(module)
    x = leaf(ag.namespace("numpy"), [[1.0]], dtype="float32")
    model(x).backward()
    module.bias.requires_grad_(True)
    with pytest.raises(RuleError, match="make it one again"):
        model(x)
    module.bias.requires_grad_(False)
    module.to(torch.float64)
    with pytest.raises(RuleError, match="make it one again"):
        model(x)


def test_dropout_is_the_same_forward_and_backward():
    torch.manual_seed(0)
    module = torch.nn.Dropout(0.5)
    x = leaf(ag.namespace("numpy"), np.ones(64))
    out = ag.bridge.from_torch(module)(x)
    (first,) = ag.autodiff.grad(out, x, values(out), create_graph=True)
    np.testing.assert_array_equal(values(first), values(out) ** 2)


def test_tensors_whose_gradient_would_be_lost():
    hidden = tensor(2.0)
    x = leaf(ag.namespace("numpy"), [1.0])
    for f in (lambda x: x * hidden, lambda x: x * (hidden * 2.0), lambda x: hidden):
        with pytest.raises(LostGradientError, match="is none of its arguments"):
            ag.bridge.from_torch(f)(x)
    with torch.no_grad():
        assert ag.bridge.from_torch(lambda x: x * hidden.detach())(x).requires_grad
    with pytest.raises(LostGradientError, match="detach"):
        ag.bridge.from_torch(lambda x: x)(hidden)


@pytest.mark.parametrize("bridge", [ag.bridge.torch, ag.bridge.from_torch])
def test_results_that_are_no_arrays(bridge):
    with pytest.raises(RuleError, match="returned str; it must return"):
        bridge(lambda x: "no array")(tensor(1.0).detach())
    with pytest.raises(ZeroDivisionError):
        bridge(lambda x: 1 / 0)(tensor(1.0).detach())


def test_hooks_know_the_function_by_name():
    def softsign(x):
        return torch.nn.functional.softsign(x)

    class Names(list):
        @ag.extend.hookimpl
        def forward_preprocess(self, op):
            self.append((op.name, op.backend.name))

    x = leaf(ag.namespace("numpy"), [1.0])
    with ag.hooks(Names()) as (names,):
        ag.bridge.from_torch(softsign)(x)
    assert names == [("Move", "torch"), ("softsign", "torch"), ("Move", "numpy")]


def test_there_and_back_again():
    f = ag.bridge.torch(ag.bridge.from_torch(torch.sin), backend="numpy")
    assert gradgradcheck(f, (tensor(0.5, 1.0),))
    g = ag.bridge.from_torch(ag.bridge.torch(lambda x: x**3, backend="strict"))
    ag.check_grad(g, np.asarray([0.5, 1.0]))


def test_backends_without_derivatives_have_no_bridge():
    with pytest.raises(PluginError, match="'numpy' has no bridge"):
        ag.bridge.export(lambda x: x, "numpy")
    with pytest.raises(PluginError, match="'strict' has no bridge"):
        ag.bridge.adopt(lambda x: x, "strict")


def test_negative_strides_do_not_end_the_process():
    xp = ag.namespace("torch")
    x = np.arange(4.0)[::-1]
    strict = ag.namespace("strict").asarray([1.0, 2.0, 3.0])[::-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert xp.from_dlpack(x).data.tolist() == [3.0, 2.0, 1.0, 0.0]
        assert xp.from_dlpack(strict.data).data.tolist() == [3.0, 2.0, 1.0]
