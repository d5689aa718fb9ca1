"""What clients need of arrays as values: points 15 to 18 of docs/protocol.md, in order."""

import copy
import functools
import numbers
import operator

import array_api_compat
import numpy as np
import pytest

import agnograd as ag
from agnograd.extend import hookimpl
from arrays import leaf, outcome, values

A = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# Ways to take a view, of Variables as of the library's own arrays.
VIEWS = {
    "row": lambda m, x: x[0, ...],
    "slices": lambda m, x: x[:, 1:],
    "negative steps": lambda m, x: x[::-1, ::-1],
    "element": lambda m, x: x[1:, 2],
    "new axis": lambda m, x: x[None, ..., 0],
    "view of a view": lambda m, x: x[1, ...][1:],
    "permute_dims": lambda m, x: m.permute_dims(x, (1, 0)),
    "reshape": lambda m, x: m.reshape(x, (3, 2)),
    "reshaped part": lambda m, x: m.reshape(x, (-1,), copy=False)[2:5],
    "T": lambda m, x: x.T,
    "mT": lambda m, x: x.mT,
    "matrix_transpose": lambda m, x: m.matrix_transpose(x)[1:, :],
    "linalg.matrix_transpose": lambda m, x: m.linalg.matrix_transpose(x),
    "flip": lambda m, x: m.flip(x, axis=1)[:, :2],
    "moveaxis": lambda m, x: m.moveaxis(x, 0, 1)[0, ...],
    "expand_dims": lambda m, x: m.expand_dims(x, axis=1)[0, ...],
    "squeeze": lambda m, x: m.squeeze(x[:1, ...], axis=0),
    "asarray": lambda m, x: m.asarray(x, copy=False)[:, 0],
    "astype": lambda m, x: m.astype(x, x.dtype, copy=False),
    "unstack": lambda m, x: m.unstack(x)[1],
    "to_device": lambda m, x: array_api_compat.to_device(x, x.device),
}
each_view = pytest.mark.parametrize("take", VIEWS.values(), ids=VIEWS)


def seen(library, take):
    """Return a mask of what the library's own view shows of its base."""
    marks = library.zeros(A.shape, dtype=library.float64)
    take(library, marks)[...] = 1.0
    marked = np.asarray(marks) == 1.0
    assert marked.any()
    return marked


@each_view
def test_15_a_write_through_a_view_reaches_the_base(xp, library, take):
    x, v, mask = leaf(xp, A.tolist()), leaf(xp, 7.0), seen(library, take)
    y = x * 1.0
    view = take(xp, y)
    view[...] = v
    np.testing.assert_array_equal(values(y), np.where(mask, 7.0, A))
    np.testing.assert_array_equal(values(view), 7.0)
    xp.sum(y * y).backward()
    np.testing.assert_array_equal(values(x.grad), np.where(mask, 0.0, 2 * A))
    assert v.grad.item() == 14.0 * mask.sum()


@each_view
def test_15_adding_to_a_view_reaches_the_base_once(xp, library, take):
    x, v, mask = leaf(xp, A.tolist()), leaf(xp, 7.0), seen(library, take)
    y = x * 1.0
    view = take(xp, y)
    view += v
    expected = A + 7.0 * mask
    np.testing.assert_array_equal(values(y), expected)
    xp.sum(y * y).backward()
    np.testing.assert_array_equal(values(x.grad), 2 * expected)
    assert v.grad.item() == 2 * expected[mask].sum()


@each_view
def test_15_a_write_to_the_base_shows_in_its_views(xp, library, take):
    x, mask = leaf(xp, A.tolist()), seen(library, take)
    y = x * 1.0
    view = take(xp, y)
    y *= 3.0
    np.testing.assert_array_equal(np.sort(values(view), axis=None), np.sort(3.0 * A[mask]))
    xp.sum(view).backward()
    np.testing.assert_array_equal(values(x.grad), 3.0 * mask)


@pytest.mark.parametrize("part", ["real", "imag"])
def test_15_a_write_to_a_part_of_complex_numbers_reaches_them(xp, library, part):
    raw = library.asarray([1 + 2j, 3 + 4j])
    getattr(library, part)(raw)[...] = 9.0
    x = xp.asarray([1 + 2j, 3 + 4j])
    getattr(xp, part)(x)[...] = 9.0
    np.testing.assert_array_equal(values(x), np.asarray(raw))


INDICES = {
    "integer": lambda xp: 1,
    "negative integer": lambda xp: -2,
    "slice": lambda xp: slice(1, 2),
    "mask": lambda xp: xp.asarray([False, True, False]),
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_15_adding_at_an_index_counts_once(xp, index):
    x, v = leaf(xp, [1.0, 2.0, 3.0]), leaf(xp, 10.0)
    y = x * 1.0
    y[index(xp)] += v
    y[index(xp)] *= 2.0
    np.testing.assert_array_equal(values(y), [1.0, 24.0, 3.0])
    xp.sum(y).backward()
    np.testing.assert_array_equal(values(x.grad), [1.0, 2.0, 1.0])
    assert v.grad.item() == 2.0


def test_15_nodes_are_those_of_the_time_of_the_call(xp):
    x = leaf(xp, [1.0, 2.0])
    y = x * 3.0
    view = y[:1]
    square, early = y * y, view * 2.0
    y[...] = 100.0
    view += 1.0
    (xp.sum(square) + xp.sum(early)).backward()
    np.testing.assert_array_equal(values(x.grad), [2 * 3.0 * 3.0 + 6.0, 2 * 6.0 * 3.0])


@pytest.mark.parametrize("name", ["iadd", "imul", "ifloordiv", "imod", "ipow", "isub", "itruediv"])
@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "float32", "float64", "complex64"])
def test_15_in_place_operators_do_as_the_librarys(xp, library, name, dtype):
    function = getattr(operator, name)
    for operand in (True, 2, 300, 2.5, 1j, "float32", "int64"):
        x = xp.asarray([3, 4], dtype=getattr(xp, dtype))
        raw, other, raw_other = library.asarray(x.data, copy=True), operand, operand
        if isinstance(operand, str):
            other = xp.asarray([1, 2], dtype=getattr(xp, operand))
            raw_other = other.data
        assert outcome(function, x, other) == outcome(function, raw, raw_other)


@pytest.mark.parametrize("operand", [2.0, np.float64(2.0), [2.0, 2.0]], ids=repr)
def test_15_in_place_operators_keep_the_object(xp, operand):
    x = y = xp.asarray([1.0, 2.0])
    y += xp.asarray(operand) if isinstance(operand, list) else operand
    assert y is x
    np.testing.assert_array_equal(values(x), [3.0, 4.0])


DTYPES = ["bool", "int8", "uint64", "float32", "float64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 2), (1,) * 6], ids=str)
def test_16_repr_never_raises(xp, dtype, shape):
    x = xp.ones(shape, dtype=getattr(xp, dtype))
    assert repr(x).startswith("Variable(")
    if dtype.startswith(("float", "complex")):
        assert "requires_grad=True" in repr(ag.Variable(x.data))
        assert "op=multiply" in repr(ag.Variable(x.data) * 2.0)


def test_16_repr_never_raises_in_odd_states(xp):
    x = leaf(xp, A.tolist())
    y = x * 1.0
    view, total = y[0, ...], xp.sum(y * y)
    y[...] = 2.0
    assert "2." in repr(view)
    total.backward()
    shown = []
    ag.grad(lambda x: (shown.append(repr(x)), xp.sum(x))[1])(x.data)
    assert all(repr(each) for each in (x, y, total, x.grad, xp.asarray([xp.nan, xp.inf])))
    assert "requires_grad=True" in shown[0]


class Counter:
    """Count the calls of ops."""

    calls = 0

    @hookimpl
    def forward_preprocess(self):
        self.calls += 1


def test_16_numbers_are_formatted_as_pythons_are(xp):
    x = leaf(xp, 2.0) * 1.25
    assert f"{x:.3f}, {x!s}" == f"2.500, {x}"
    assert f"{leaf(xp, [1, 2]) * 1.0}" == str(leaf(xp, [1, 2]) * 1.0)
    with pytest.raises(TypeError, match=r"shape \(2,\).*item\(\)"):
        f"{leaf(xp, [1.0, 2.0]):.3f}"


def test_16_repr_is_cheap(xp):
    x = leaf(xp, 1.0) * xp.ones((1000, 100), dtype=xp.float64)
    with ag.hooks(Counter()) as (counter,):
        assert len(repr(x)) < 2000
    assert counter.calls == 0


@pytest.mark.parametrize("name", ["eq", "ne"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_16_equality_is_element_wise(xp, library, name, dtype):
    function = getattr(operator, name)
    raw = library.asarray([1, 0], dtype=getattr(library, dtype))
    x = xp.asarray(raw)
    for other in (x, raw, True, 1, 1.0):
        raw_other = raw if other is x else other
        assert outcome(function, x, other) == outcome(function, raw, raw_other)
    for scalar in (True, 1, 1.0):
        assert outcome(function, scalar, x) == outcome(function, scalar, raw)
    assert (x == x).dtype == xp.bool


def test_16_equality_of_tracked_arrays_is_an_untracked_array(xp):
    x = leaf(xp, [1.0, 2.0])
    for found, expected in ((x == x[::-1], [False, False]), (x != 2.0, [True, False])):
        assert isinstance(found, ag.Variable)
        assert not found.requires_grad
        assert values(found).tolist() == expected


def test_16_devices_compare_equal(xp):
    x, y = leaf(xp, [1.0]), xp.asarray(1)
    assert x.device == y.device == (x * 2.0).device == x.data.device
    assert x.device == xp.__array_namespace_info__().default_device()
    assert array_api_compat.device(x) == x.device
    assert xp.ones(2, device=x.device).device == x.device


def test_16_to_device_keeps_the_graph(xp):
    info = xp.__array_namespace_info__()
    x = leaf(xp, [1.0, 2.0], "float32")
    for device in info.devices():
        moved = array_api_compat.to_device(x, device)
        assert moved.device == device
        x.grad = None
        xp.sum(moved * 3.0).backward()
        assert x.grad.device == x.device
        np.testing.assert_array_equal(values(x.grad), 3.0)


@pytest.mark.parametrize("place", ["leaf", "value", "view", "untracked"])
def test_16_a_deep_copy_keeps_the_graph(xp, place):
    x = leaf(xp, [1.0, 2.0])
    given = {"leaf": x, "value": x * 1.0, "view": (x * 1.0)[:], "untracked": x.detach()}[place]
    copied = copy.deepcopy({"parameters": [given]})["parameters"][0]
    assert copied is not given
    assert copied.requires_grad is given.requires_grad
    if copied.requires_grad:
        xp.sum(copied * 3.0).backward()
        # A leaf is copied as a leaf, with a gradient of its own.
        np.testing.assert_array_equal(values((copied if place == "leaf" else x).grad), 3.0)
    copied[0] = 9.0
    np.testing.assert_array_equal(values(given), [1.0, 2.0])


def test_16_scikit_learn_clones_parameters(xp):
    base = pytest.importorskip("sklearn.base")

    class Model(base.BaseEstimator):
        def __init__(self, weight=None):
            self.weight = weight

    x = leaf(xp, [1.0, 2.0])
    xp.sum(base.clone(Model(x * 3.0)).weight).backward()
    np.testing.assert_array_equal(values(x.grad), 3.0)


def test_17_there_are_few_classes(xp):
    x = leaf(xp, A.tolist())
    results = [x, x.detach(), x * 2.0, xp.sum(x), x > 1, xp.argmax(x), x[0, ...], x[0, 0], x.T]
    results += [xp.ones((), dtype=getattr(xp, dtype)) for dtype in DTYPES]
    results += [*xp.linalg.qr(x), xp.fft.rfft(x), xp.empty((0, 3)), copy.deepcopy(x)]
    xp.sum(x).backward()
    assert len({type(each) for each in [*results, x.grad]}) <= 2
    assert all(isinstance(each, ag.Variable) for each in results)


def test_17_a_class_is_a_key(xp):
    @functools.singledispatch
    def kind(value):
        return "other"

    kind.register(ag.Variable, lambda value: "variable")
    assert kind(leaf(xp, 1.0)) == kind(xp.ones((2, 3))[0, ...]) == "variable"
    assert {type(leaf(xp, 1.0)): 1}[type(xp.asarray(True))] == 1


def test_17_no_class_is_a_subclass_of_another_librarys_or_pythons(xp):
    foreign = (np.ndarray, np.generic, int, float, complex, numbers.Number)
    for x in (leaf(xp, 1.0), leaf(xp, [1.0])[:], xp.asarray(1), xp.asarray(True)):
        assert not isinstance(x, foreign)
        assert not isinstance(x, type(x.data))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "complex64"])
def test_18_full_takes_0d_arrays(xp, dtype):
    fill = xp.asarray(1, dtype=getattr(xp, dtype))
    for given in (fill, fill.data):
        found = xp.full((2, 3), given)
        assert isinstance(found, ag.Variable)
        assert (found.shape, found.dtype) == ((2, 3), fill.dtype)
        assert values(found).tolist() == [[1, 1, 1]] * 2
        assert xp.full((), given, dtype=xp.complex128).dtype == xp.complex128


def test_18_full_has_a_gradient(xp):
    x = leaf(xp, 2.0)
    full = xp.full((2, 3), x * x)
    np.testing.assert_array_equal(values(full), 4.0)
    xp.sum(full * full).backward()
    assert x.grad.item() == 6 * 2 * 4.0 * 4.0
    ag.check_grad(lambda x: xp.full(4, x, dtype=xp.float64), x.data)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_18_diff_takes_n_by_position(xp, n):
    x = leaf(xp, (A**3).tolist() * 2)
    np.testing.assert_array_equal(values(xp.diff(x, n, axis=0)), np.diff(values(x), n, axis=0))
    assert xp.diff(xp.asarray([1, 4, 9]), n=n).shape == xp.diff(xp.asarray([1, 4, 9]), n).shape
    ag.check_grad(lambda x: xp.diff(x, n, axis=0), x.data)
