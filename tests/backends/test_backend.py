"""What a backend gives, against the defaults that are written in the standard alone."""

import operator
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import agnograd as ag
from agnograd._arrays.domain import Domain
from agnograd._ops.rule_helpers import _devices
from agnograd._plugins import backends
from agnograd._plugins.backends import backend_named
from agnograd.errors import MixedBackendsError
from agnograd.extend import Backend, Capabilities, device_of
from agnograd.rules import manipulation
from arrays import host
from tests.helpers.arrays import values

KEYS = {
    "integer": (1, 2),
    "slice": (slice(1, None), Ellipsis),
    "negative step": (Ellipsis, slice(None, None, -2)),
    "new axis": (None, Ellipsis, 1),
}


@pytest.fixture
def backend(backend):
    return backend_named(backend)


def filled(xp, shape):
    size = int(np.prod(shape))
    return xp.reshape(xp.asarray([float(i) for i in range(size)], dtype=xp.float64), shape)


def added(into, key, values):
    expected = np.array(host(into))
    np.add.at(expected, key, host(values))
    return expected


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_scatter_add_at_basic_keys(backend, key):
    xp = backend.namespace()
    into, values = filled(xp, (3, 4)), filled(xp, np.empty((3, 4))[key].shape)
    expected = added(into, key, values)
    np.testing.assert_array_equal(host(backend.scatter_add(into, key, values)), expected)


def test_scatter_add_at_masks_and_repeated_integers(backend):
    xp = backend.namespace()
    into = filled(xp, (3, 4))
    mask = into > 5.0
    expected = added(into, host(mask), np.ones(6))
    values = xp.ones(6, dtype=xp.float64)
    np.testing.assert_array_equal(host(backend.scatter_add(into, mask, values)), expected)
    into = filled(xp, (3, 4))
    rows, columns = xp.asarray([0, 2, 0, -3]), xp.asarray([1, -1, 1, 1])
    values = xp.asarray([1.0, 2.0, 4.0, 8.0], dtype=xp.float64)
    expected = added(into, (host(rows), host(columns)), values)
    result = backend.scatter_add(into, (rows, columns), values)
    np.testing.assert_array_equal(host(result), expected)
    assert expected[0, 1] == 1.0 + 1.0 + 4.0 + 8.0


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scatter_add_along_an_axis(backend, axis):
    xp = backend.namespace()
    into = filled(xp, (3, 3, 2))
    indices = xp.asarray([1, 1, -1, 0]) if axis != -1 else xp.asarray([1, 1, 0, -2])
    shape = list(into.shape)
    shape[axis] = 4
    values = filled(xp, tuple(shape))
    expected = np.array(host(into))
    np.add.at(
        np.moveaxis(expected, axis, 0),
        host(indices),
        np.moveaxis(host(values), axis, 0),
    )
    result = backend.scatter_add_axis(into, indices, values, axis)
    np.testing.assert_array_equal(host(result), expected)


def by_selection(backend):
    """Return a backend as a stranger's is who has immutable arrays, on a library's."""

    class Immutable(Backend):
        name = "immutable"
        modules = ()
        capabilities = Capabilities(immutable=True, boolean_indexing=False)

        def namespace(self):
            return backend.namespace()

    return Immutable()


SELECTED = {
    **KEYS,
    "all": Ellipsis,
    "the last row": -1,
    "no key": (),
    "nothing": (slice(2, 2), Ellipsis),
    "backwards": (slice(2, 0, -1), slice(None, None, 3)),
}


@pytest.mark.parametrize("key", SELECTED.values(), ids=SELECTED.keys())
def test_immutable_arrays_are_added_and_written_to_by_selection(backend, key):
    xp, by_default = backend.namespace(), by_selection(backend)
    x = filled(xp, (3, 4))
    values = filled(xp, np.empty((3, 4))[key].shape) + 0.5
    expected = added(x, key, values)
    np.testing.assert_array_equal(host(by_default.scatter_add(x, key, values)), expected)
    written = np.array(host(x))
    written[key] = host(values)
    if key is None or (isinstance(key, tuple) and None in key):  # not in writes
        return
    for write in (by_default.set, by_default.put):
        np.testing.assert_array_equal(host(write(x, key, values)), written)
    written[key] = 7.0
    for value in (7.0, 7, xp.asarray(7.0, dtype=xp.float64), xp.ones((1, 1), dtype=xp.int64) * 7):
        np.testing.assert_array_equal(host(by_default.set(x, key, value)), written)
    np.testing.assert_array_equal(host(x), np.arange(12.0).reshape(3, 4))


def test_put_is_the_backends_own_set_where_arrays_are_immutable(monkeypatch):
    by_default = by_selection(backend_named("numpy"))
    monkeypatch.setattr(type(by_default), "set", lambda self, x, key, value: (key, value))
    assert by_default.put(np.ones(3), 1, 9.0) == (1, 9.0)


def listed(xp, numbers):
    """Return NumPy's array as one of a library that takes none of NumPy's."""
    if not numbers.size:
        return xp.zeros(numbers.shape, dtype=xp.float64)
    return xp.asarray(numbers.tolist(), dtype=xp.float64)


MASKS = {
    "some": np.arange(12).reshape(3, 4) % 5 == 0,
    "none": np.zeros((3, 4), dtype=bool),
    "rows": np.asarray([True, False, True]),
    "one row": np.asarray([False, True, False]),
    "no row": np.zeros(3, dtype=bool),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
def test_masks_select_where_nothing_is_read_by_them(backend, mask):
    xp, by_default = backend.namespace(), by_selection(backend)
    x, key = filled(xp, (3, 4)), xp.asarray(mask.tolist())
    numbers = np.arange(host(x)[mask].size, dtype=float).reshape(host(x)[mask].shape)
    numbers.reshape(-1)[:1] = np.inf  # which stays where it is
    values = listed(xp, numbers)
    found = by_default.scatter_add(x, key, values)
    np.testing.assert_array_equal(host(found), added(x, mask, numbers))
    written = np.array(host(x))
    written[mask] = numbers
    np.testing.assert_array_equal(host(by_default.set(x, key, values)), written)
    written[mask] = 7.0
    np.testing.assert_array_equal(host(by_default.set(x, key, 7.0)), written)


@pytest.mark.parametrize("backend", ["numpy", "strict", "jax", "torch"], indirect=True)
def test_where_a_write_repeats_the_last_one_stands(backend):
    xp, by_default = backend.namespace(), by_selection(backend)
    x, values = filled(xp, (3, 2)), xp.asarray([5.0, 6.0, 7.0], dtype=xp.float64)
    rows, columns = xp.asarray([2, 0, -1]), xp.asarray([1, 0, 1])
    found = by_default.set(x, (rows, columns), values)
    np.testing.assert_array_equal(host(found), [[6.0, 1.0], [2.0, 3.0], [4.0, 7.0]])
    found = by_default.scatter_add(x, (rows, columns), values)
    np.testing.assert_array_equal(host(found), [[6.0, 1.0], [2.0, 3.0], [4.0, 17.0]])
    nothing = xp.zeros(0, dtype=xp.int64)
    found = by_default.set(x, (nothing, nothing), xp.zeros(0, dtype=xp.float64))
    np.testing.assert_array_equal(host(found), host(x))


def test_a_selection_refuses_what_the_library_would(backend):
    xp, by_default = backend.namespace(), by_selection(backend)
    x = filled(xp, (3, 2))
    for change in (by_default.scatter_add, by_default.set):
        with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 of length 3"):
            change(x, (3, 0), xp.asarray(1.0, dtype=xp.float64))
        with pytest.raises(IndexError, match="a key of 3 parts is too long for an array of 2"):
            change(x, (0, 0, 0), xp.asarray(1.0, dtype=xp.float64))
    with pytest.raises(TypeError, match="complex128 does not fit into an array of dtype"):
        by_default.set(x, 0, xp.asarray(1j, dtype=xp.complex128))


@pytest.mark.parametrize("backend", ["numpy", "strict", "torch"], indirect=True)
def test_a_selection_reads_at_integers_as_the_backend_does(backend):
    by_default, keys = by_selection(backend), []

    def read(x, key):
        keys.append(key)
        return x[key]

    by_default.operator = lambda function: read if function is operator.getitem else function
    xp = backend.namespace()
    indices, values = xp.asarray([2, 0, 2]), xp.asarray([1.0, 2.0, 4.0], dtype=xp.float64)
    found = by_default.scatter_add(filled(xp, (3,)), indices, values)
    assert host(found).tolist() == [2.0, 1.0, 7.0]
    assert host(by_default.set(filled(xp, (3,)), indices, values)).tolist() == [2.0, 1.0, 4.0]
    assert [len(key) for key in keys] == [1, 1]


def test_an_array_stays_on_its_device_where_the_library_cannot_move_it():
    class Fixed:
        device = "here"

        def to_device(self, device, /, *, stream=None):
            raise ValueError("there is one device")

    move, x = manipulation.ops.ops["to_device"].forward, Fixed()
    assert move(x, "here", stream=None) is x
    with pytest.raises(ValueError, match="there is one device"):
        move(x, "there", stream=None)


def test_a_backend_tells_the_device_of_arrays_that_do_not(backend):
    class Array:
        pass

    class Elsewhere(type(backend)):
        name = "elsewhere"

        def array_types(self):
            return (Array,)

        def device(self, array):
            return "elsewhere"

    before = dict(_devices)
    domain = Domain(Elsewhere())
    try:
        assert domain.device(Array()) == device_of(Array()) == "elsewhere"
    finally:
        _devices.clear()
        _devices.update(before)  # scalars are those of the backend that was there before
    x = filled(backend.namespace(), (2,))
    assert device_of(x) == backend.device(x) == ag.Variable(x).device


def test_the_default_scatter_works_in_blocks(monkeypatch):
    monkeypatch.setattr("agnograd._plugins.selection.SELECTED_ELEMENTS", 8)
    backend = backend_named("strict")
    xp = backend.namespace()
    indices = xp.asarray([9, 0, 9, 3])
    values = xp.asarray([1.0, 2.0, 3.0, 4.0], dtype=xp.float64)
    result = backend.scatter_add(xp.zeros(10, dtype=xp.float64), (indices,), values)
    np.testing.assert_array_equal(host(result), [2, 0, 0, 4, 0, 0, 0, 0, 0, 4])
    empty = backend.scatter_add_axis(
        xp.zeros((0, 2), dtype=xp.float64),
        xp.zeros(0, dtype=xp.int64),
        xp.zeros((0, 2), dtype=xp.float64),
        0,
    )
    assert empty.shape == (0, 2)


def test_infinities_stay_where_they_are_and_narrow_indices_count_from_the_end(backend):
    xp = backend.namespace()
    values = xp.asarray([float("inf"), 1.0], dtype=xp.float64)
    for key in ((xp.asarray([0, 1]),), xp.asarray([True, True, False])):
        result = backend.scatter_add(xp.zeros(3, dtype=xp.float64), key, values)
        np.testing.assert_array_equal(host(result), [np.inf, 1.0, 0.0])
    indices = xp.asarray([0, -1], dtype=xp.int8)
    result = backend.scatter_add_axis(xp.zeros(300, dtype=xp.float64), indices, values, 0)
    assert float(result[299]) == 1.0
    assert float(xp.sum(result[1:299])) == 0.0


def test_set_copies(backend):
    xp = backend.namespace()
    x = filled(xp, (3,))
    y = backend.set(x, 1, 9.0)
    assert float(x[1]) == 1.0
    assert float(y[1]) == 9.0


def test_what_users_are_given_they_own(backend):
    xp = backend.namespace()
    x = filled(xp, (4,))
    for shared in (x[1:], xp.broadcast_to(x, (2, 4)), xp.permute_dims(x, (0,))):
        own = backend.own(shared)
        try:
            own[...] = -1.0
        except TypeError:  # arrays that nobody can write to
            continue
        assert own is not shared
    np.testing.assert_array_equal(host(x), [0.0, 1.0, 2.0, 3.0])


def test_numpy_keeps_what_is_owned_already_and_makes_arrays_of_scalars():
    backend = backend_named("numpy")
    x = np.ones(3)
    assert backend.own(x) is x
    assert isinstance(backend.own(np.float64(1.0)), np.ndarray)
    assert isinstance(backend.array(np.float32(1.0)), np.ndarray)
    assert np.float32 in backend.scalar_types()
    assert np.str_ not in backend.scalar_types()


def test_numpys_flat_positions_are_those_of_the_axis():
    backend = backend_named("numpy")
    values = np.arange(24.0).reshape(2, 4, 3)
    for order in ("C", "F"):
        into, expected = np.zeros((2, 2, 3), order=order), np.zeros((2, 2, 3))
        np.add.at(expected, (slice(None), [1, -1, 0, -2]), values)
        found = backend.scatter_add_axis(into, np.asarray([1, -1, 0, -2]), values, 1)
        np.testing.assert_array_equal(found, expected)
        with pytest.raises(IndexError):  # not the next row
            backend.scatter_add_axis(into, np.asarray([0, 2, 0, 0]), values, 1)
    empty = backend.scatter_add_axis(np.zeros((0, 2)), np.zeros(0, int), np.zeros((0, 2)), 0)
    assert empty.shape == (0, 2)


def test_time_and_memory_have_defaults(backend):
    start = backend.mark()
    backend.synchronize()
    assert backend.elapsed(start, backend.mark()) >= 0
    assert all(size >= 0 for size in backend.memory().values())
    if (
        type(backend).memory is Backend.memory
    ):  # where it is not, a device may still have no figures
        assert backend.memory() == {}


def test_a_backend_must_give_a_namespace_and_types():
    class Empty(Backend):
        name = "empty"

    for method in (Empty().namespace, Empty().array_types):
        with pytest.raises(NotImplementedError, match="Empty must override"):
            method()


def test_data_are_arrays_even_where_the_library_gives_scalars():
    xp = ag.namespace("numpy")
    x = xp.sum(xp.ones(3))
    assert isinstance(x.data, np.ndarray)
    assert isinstance(ag.grad(lambda x: x * x)(np.float64(3.0)), np.ndarray)
    assert isinstance(ag.value_and_grad(lambda x: xp.sum(x * x))(np.ones(3))[0], np.ndarray)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "irfftn"])
def test_numpy_takes_the_last_axes_where_a_transform_names_none(name):
    x = ag.Variable(filled(np, (2, 3)) + 1j)
    transform = getattr(ag.namespace("numpy").fft, name)
    found = transform(x, s=(4,))
    expected = getattr(np.fft, name)(x.data, s=(4,), axes=(-1,))
    np.testing.assert_array_equal(found.data, expected)
    ag.check_grad(lambda x: transform(x, s=(3, 4)), x.data, order=1)


# -- NumPy's arrays as constants ---------------------------------------------------------------


@pytest.mark.parametrize("backend", ["dask", "jax", "torch"], indirect=True)
def test_numpys_arrays_are_constants_as_for_the_library(backend):
    xp = ag.namespace(backend.name)
    kind = xp.asarray(0.5).dtype  # single precision on JAX
    x, c = xp.asarray([0.5, 1.0, -2.0], dtype=kind).data, np.asarray([1.0, 2.0, 3.0], np.float32)
    views = (c, c[::-1][::-1], np.asarray([3.0, 2.0, 1.0])[::-1], np.broadcast_to(c, (3,)))
    for f in (
        lambda x, c: xp.sum(x * x * c),
        lambda x, c: xp.vecdot(c, x**2),
        lambda x, c: c @ (x * x),
        lambda x, c: np.sum(np.multiply(c, np.square(x))),
        lambda x, c: xp.sum(xp.where(c > 0, c * x * x, 0)),
        lambda x, c: np.concatenate([x * x, c])[:3] @ c,
    ):
        for view in views:
            gradient = ag.grad(lambda x, f=f, c=view: f(x, c))(x)
            assert isinstance(gradient, type(x))
            np.testing.assert_allclose(np.asarray(gradient), 2 * c * np.asarray(x), rtol=1e-6)
    y = ag.Variable(x)
    z = y * 1.0
    z += np.asarray([1.0, 2.0, 3.0])
    xp.sum(z * z).backward()
    assert (z.dtype, y.grad.dtype) == (kind, kind)
    np.testing.assert_allclose(values(y.grad), 2 * values(z))
    assert (ag.Variable(x) + np.arange(3)).dtype == (x + xp.asarray(np.arange(3)).data).dtype


@pytest.mark.parametrize("backend", ["dask", "jax", "torch", "strict"], indirect=True)
def test_a_numpy_variable_is_no_constant(backend):
    x = ag.namespace(backend.name).ones(2)
    y = ag.Variable(np.ones(2))
    for mix in (lambda: x * y, lambda: y * x, lambda: np.add(x, y), lambda: y + x.data):
        with pytest.raises(MixedBackendsError, match=r"ag\.asarray\(x, backend="):
            mix()


@pytest.mark.parametrize("backend", ["dask", "torch", "strict"], indirect=True)
@pytest.mark.parametrize(
    "other", [np.ma.masked_array([1.0, 2.0], [True, False]), np.ones((1, 2)).view(np.matrix)]
)
def test_masked_arrays_and_matrices_are_no_constants(backend, other):
    xp = ag.namespace(backend.name)
    x = ag.Variable(xp.ones(2).data)
    for mix in (lambda: xp.multiply(x, other), lambda: x * other, lambda: other * x):
        with pytest.raises(MixedBackendsError, match=r"ag\.asarray"):
            mix()


class Exported:
    """An array whose library has DLPack, as the standard demands, and nothing that NumPy added."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3)])
def test_the_host_gets_an_array_through_dlpack_where_that_is_all_there_is(shape):
    array = filled(np, shape)
    to_host = Backend().to_host
    for given in (array, Exported(array)):
        found = to_host(given)
        assert type(found) is np.ndarray
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, array)
        assert to_host(given, dtype=np.float32).dtype == np.float32
        if array.size:
            assert np.shares_memory(to_host(given, copy=False), array)
            assert not np.shares_memory(to_host(given, copy=True), array)


class Guarded(Exported):
    """An array that refuses to become one of NumPy's by itself, as those on devices do."""

    def __array__(self, dtype=None, copy=None):
        raise TypeError("implicit conversion to NumPy is not allowed")


def test_what_refuses_numpy_comes_through_dlpack_or_says_why_not():
    array = filled(np, (2, 3))
    np.testing.assert_array_equal(Backend().to_host(Guarded(array)), array)
    with pytest.raises(TypeError, match="implicit conversion") as caught:
        Backend().to_host(Guarded(array.astype(object)))
    assert "nor does DLPack give the array: BufferError" in caught.value.__notes__[0]


def test_two_threads_that_load_a_backend_first_get_one(monkeypatch):
    both = threading.Barrier(2)

    def load(entry, load=backends.load):
        both.wait(timeout=30)
        return load(entry)

    monkeypatch.setattr(backends, "load", load)
    monkeypatch.setattr(backends, "_loaded", {})
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(backend_named, ["numpy", "numpy"])
    assert one is other is backend_named("numpy")
