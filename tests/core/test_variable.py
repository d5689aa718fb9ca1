"""The differentiable array."""

import copy
import gc
import operator
import pickle
import warnings

import array_api_compat
import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import (
    GradientError,
    LostGradientError,
    MixedBackendsError,
    NoGradientError,
    UnsupportedArrayError,
)
from arrays import host, leaf, values


def test_construction(xp):
    raw = xp.asarray([1.0, 2.0]).data
    x = ag.Variable(raw)
    assert x.data is raw
    assert x.requires_grad
    assert x.is_leaf
    assert isinstance(x, ag.Variable)
    assert not ag.Variable(raw, requires_grad=False).requires_grad
    assert not ag.Variable(xp.asarray([1, 2]).data).requires_grad
    with pytest.raises(UnsupportedArrayError, match=r"int64.*astype"):
        ag.Variable(xp.asarray([1, 2]).data, requires_grad=True)
    with pytest.raises(UnsupportedArrayError, match=r"builtins\.object.*numpy, strict, torch"):
        ag.Variable(object())
    with pytest.raises(LostGradientError, match=r"x\.detach\(\)"):
        ag.Variable(x)
    assert ag.Variable(x.detach()).is_leaf


def test_nested_lists_and_scalars_are_arrays_of_the_default_backend(monkeypatch):
    x = ag.Variable([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert isinstance(x.data, np.ndarray)
    assert x.shape == (2, 2)
    monkeypatch.setenv("AGNOGRAD_BACKEND", "strict")
    assert ag.Variable(1.0).__array_namespace__() is ag.namespace("strict")


def test_facts(xp):
    x = leaf(xp, [[1.0, 2.0, 3.0]])
    raw = x.data
    assert (x.shape, x.ndim, x.size) == ((1, 3), 2, 3)
    assert x.dtype == xp.float64
    assert x.device == raw.device
    assert x.T.shape == x.mT.shape == (3, 1)
    assert len(x) == 1
    assert x.to_device(x.device).requires_grad
    with pytest.raises(ValueError, match="two axes"):
        _ = leaf(xp, 1.0).T


def test_requires_grad_is_settable_on_leaves(xp):
    x = leaf(xp, 2.0)
    x.requires_grad = False
    assert not (x * 1.0).requires_grad
    x.requires_grad = True
    (x * 3.0).backward()
    assert x.grad.item() == 3.0
    x.requires_grad = 1
    assert x.grad.item() == 3.0
    y = x * 1.0
    with pytest.raises(NoGradientError, match="only on leaves"):
        y.requires_grad = False


def test_grad_must_fit(xp):
    x = leaf(xp, [1.0, 2.0])
    x.grad = xp.ones((2,), dtype=xp.float64)
    assert x.grad.shape == (2,)
    with pytest.raises(GradientError, match=r"shape \(3,\)"):
        x.grad = xp.ones((3,), dtype=xp.float64)
    with pytest.raises(NoGradientError):
        x.detach().grad = xp.ones((2,), dtype=xp.float64)


def test_the_gradient_of_a_view_can_be_set(xp):
    view = (leaf(xp, [1.0, 2.0, 3.0]) * 2.0)[1:]
    view.grad = xp.ones(2, dtype=xp.float64).data
    assert np.asarray(view.grad + view.grad[:]).tolist() == [2.0, 2.0]
    with ag.no_grad():
        view.grad[:] *= 3.0
    assert np.asarray(view.grad).tolist() == [3.0, 3.0]


def test_data_can_be_replaced_by_what_fits(xp):
    x = leaf(xp, [1.0, 2.0])
    x.data = xp.asarray([3.0, 4.0], dtype=xp.float64).data
    assert x.is_leaf
    assert x[0].item() == 3.0
    with pytest.raises(GradientError, match="shape"):
        x.data = xp.asarray([3.0], dtype=xp.float64).data


def test_detach_shares_the_value_alone(xp):
    x = leaf(xp, [1.0, 2.0])
    y = x.detach()
    assert y.data is x.data
    assert not y.requires_grad
    y[0] = 5.0
    assert x[0].item() == 1.0


def test_a_scalar_keeps_no_gradient_and_says_so_once_a_place(xp):
    x = leaf(xp, 1.5)
    with pytest.warns(ag.LostGradientWarning, match="item"):
        assert float(x) == 1.5
    with pytest.warns(ag.LostGradientWarning, match="complex"):
        assert complex(x) == 1.5
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            float(x)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert (x.item(), bool(x), int(x)) == (1.5, True, 1)
    assert float(x.detach()) == 1.5


def test_python_scalars_are_builtins(xp):
    assert type(xp.asarray(1.0).item()) is float
    assert type(xp.asarray(1).item()) is int
    assert type(xp.asarray(True).item()) is bool
    assert type(xp.asarray([[1j]], dtype=xp.complex128).item()) is complex
    assert [10, 20, 30][xp.asarray(1)] == 20
    with pytest.raises(TypeError, match=r"integer|index"):
        operator.index(xp.asarray(1.0))
    assert type(float(xp.asarray(1.0))) is float
    with pytest.raises(ValueError, match="one element"):
        xp.asarray([1.0, 2.0]).item()


def test_other_protocols_refuse_tracked_arrays(xp):
    x = leaf(xp, [1.0, 2.0])
    with pytest.raises(LostGradientError, match=r"x\.detach\(\)"):
        np.asarray(x)
    with pytest.raises(LostGradientError, match=r"x\.detach\(\)"):
        np.from_dlpack(x)
    np.testing.assert_array_equal(np.asarray(x.detach()), [1.0, 2.0])
    if x.detach().__dlpack_device__()[0] == 1:  # the host's memory
        np.testing.assert_array_equal(np.from_dlpack(x.detach()), [1.0, 2.0])
    assert np.asarray(xp.asarray([1, 2])).dtype == np.int64


def test_numpy_leaves_operators_to_variables():
    x = ag.Variable(np.ones(3))
    for result in (
        np.ones(3) * x,
        np.float64(2.0) * x,
        x * np.float64(2.0),
        2.0 * x,
        [1, 2, 3] * x,
    ):
        assert isinstance(result, ag.Variable)
        assert result.requires_grad
        assert result.shape == (3,)


def test_numpy_scalars_are_operands_everywhere(xp):
    x = ag.Variable(xp.asarray([1.0, 2.0], dtype=xp.float64).data)
    y = x * np.float64(2.0) + xp.finfo(x.dtype).eps
    assert isinstance(y, ag.Variable)
    assert y.dtype == xp.float64


def test_python_scalars_keep_a_narrow_dtype(xp):
    x = ag.Variable(xp.asarray([1.0, 2.0], dtype=xp.float32).data)
    y = (2.0 * x + 1) ** 2 / 3.0
    assert y.dtype == xp.float32
    xp.sum(y).backward()
    assert x.grad.dtype == xp.float32


def test_operators_leave_foreign_operands_to_their_type(xp):
    class Foreign:
        def __radd__(self, other):
            return "mine"

    assert leaf(xp, 1.0) + Foreign() == "mine"
    with pytest.raises(TypeError):
        leaf(xp, 1.0) + "text"


def test_mixed_backends_are_an_error_that_names_op_and_argument():
    x = ag.Variable(np.ones(2))
    y = ag.namespace("strict").ones(2)
    for mix in (lambda: x + y, lambda: ag.namespace("numpy").add(x, y)):
        with pytest.raises(MixedBackendsError, match=r"add: argument 'x2'.*strict.*'numpy'"):
            mix()
    with pytest.raises(MixedBackendsError, match=r"concat: argument 'arrays\[1\]'"):
        ag.namespace("numpy").concat([x, y])
    with pytest.raises(MixedBackendsError, match=r"strict"):
        ag.namespace("numpy").sin(y.data)
    with pytest.raises(MixedBackendsError, match="asarray"):
        ag.namespace("numpy").asarray(y)


def test_iteration_and_length(xp):
    x = leaf(xp, [[1.0, 2.0], [3.0, 4.0]])
    first, second = (row[0] for row in _rows(x))
    (first * second).backward()
    assert x.grad[0, 0].item() == 3.0
    with pytest.raises(TypeError, match="0-d"):
        iter(leaf(xp, 1.0))
    with pytest.raises(TypeError, match="0-d"):
        len(leaf(xp, 1.0))


def _rows(x):
    return [x[i, :] for i in range(x.shape[0])]


def test_copies_keep_the_graph(xp):
    x = leaf(xp, [1.0, 2.0])
    for duplicate in (copy.copy(x), copy.deepcopy({"y": x * 1.0})["y"]):
        xp.sum(duplicate * 2.0).backward()
    np.testing.assert_array_equal(np.asarray(x.grad), 4.0)


def test_leaves_can_be_pickled(xp):
    x = pickle.loads(pickle.dumps(leaf(xp, [1.0, 2.0])))
    assert x.requires_grad
    assert type(x) is type(leaf(xp, 1.0))
    with pytest.raises(TypeError, match="detach"):
        pickle.dumps(x * 2.0)


def test_variables_are_unhashable_and_compare_element_wise(xp):
    x = leaf(xp, [1.0, 2.0])
    assert (x == 1.0).dtype == xp.bool
    assert not (x != x)[0].item()
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_the_array_protocol(xp):
    x = leaf(xp, 1.0)
    assert array_api_compat.array_namespace(x) is xp
    assert x.__array_namespace__(api_version=xp.__array_api_version__) is xp
    with pytest.raises(ValueError, match="1999"):
        x.__array_namespace__(api_version="1999.12")
    assert array_api_compat.is_array_api_obj(x)
    assert not array_api_compat.is_numpy_array(x)


def test_hooks_on_values_do_not_keep_them_alive(xp):
    x = leaf(xp, [1.0])
    y = x * 2.0
    y.register_hook(lambda g: None)
    count = len([o for o in gc.get_objects() if issubclass(type(o), ag.Variable)])
    del y
    assert len([o for o in gc.get_objects() if issubclass(type(o), ag.Variable)]) == count - 1


@pytest.mark.parametrize("shape", [(0,), (2, 0, 3)])
def test_empty_arrays(xp, shape):
    x = ag.Variable(xp.ones(shape, dtype=xp.float64).data)
    xp.sum(xp.exp(x) * x).backward()
    assert x.grad.shape == shape


def test_no_pickle_loses_a_gradient_in_a_function_that_is_transformed(xp):
    def f(x):
        with pytest.raises(
            TypeError, match=r"in a function that is transformed, cannot be pickled"
        ):
            pickle.dumps(x)
        kept = pickle.loads(pickle.dumps(x.detach()))
        return xp.sum(copy.deepcopy(x) * kept)

    x = leaf(xp, [1.0, 2.0]).data
    np.testing.assert_array_equal(host(ag.grad(f)(x)), [1.0, 2.0])


def test_a_pickled_leaf_keeps_its_gradient(xp):
    x = leaf(xp, [1.0, 2.0])
    copied = pickle.loads(pickle.dumps(x))
    assert copied.grad is None
    xp.sum(x * x).backward(create_graph=True)
    copied = pickle.loads(pickle.dumps(x))
    np.testing.assert_array_equal(values(copied.grad), [2.0, 4.0])
    assert not copied.grad.requires_grad
    xp.sum(copied * copied).backward()
    np.testing.assert_array_equal(values(copied.grad), [4.0, 8.0])


def test_a_conversion_to_integers_says_that_it_ended_the_gradient(xp):
    x = leaf(xp, [1.5, 2.5])
    for made in (xp.sum(xp.astype(x, xp.int64)), xp.any(x > 2.0), x.astype(int).sum()):
        with pytest.raises(NoGradientError, match=r"astype.*ends gradients"):
            made.backward()
