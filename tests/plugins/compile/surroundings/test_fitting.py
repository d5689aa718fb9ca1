"""Calls that are of the kind of an earlier one: never one that has another key."""

import gc
import math

import numpy as np
import pytest

import agnograd as ag
from agnograd._util.trees import flatten
from agnograd_compile._surroundings.elements import WatchedArrays
from agnograd_compile._surroundings.fitting import Looking
from agnograd_compile._surroundings.inventory import Facts, Name, Reader, Structure
from agnograd_compile._surroundings.keys import key_of

x = np.arange(6.0).reshape(2, 3)
tracked = ag.Variable(x)
VALUES = {
    "array": x,
    "other elements": x + 1.0,
    "other shape": x[:1],
    "other strides": x[:, ::-1],
    "columns": np.asfortranarray(x),
    "other dtype": x.astype("f4"),
    "big-endian": x.astype(">f8"),
    "subclass": x.view(np.ma.MaskedArray),
    "another subclass": x.view(np.recarray),
    "NumPy's number": np.float64(1.0),
    "array without axes": np.asarray(1.0),
    "tracked": tracked,
    "untracked": ag.Variable(x, requires_grad=False),
    "view": ag.Variable(np.stack([x, x]))[0],
    "int": 1,
    "bool": True,
    "float": 1.0,
    "zero": 0.0,
    "minus zero": -0.0,
    "NaN": math.nan,
    "text": "x",
    "nothing": None,
    "tuple": (1, 2.0),
}


FACTS = Facts(Structure(), (), (), ())
BOX = []  # what stands for all that a function finds outside


def reader(count, facts=FACTS, merged=""):
    """Return what reads so many arrays in the box."""
    variables = tuple(f"v{place}" for place in range(count))
    lines = tuple(f"{name} = k0[{place}]" for place, name in enumerate(variables))
    return Reader(lambda: None, lines, {"k0": BOX}, facts, "", "", variables, merged)


def fitting(leaves, outside, watched=None, names=()):
    """Return a function of leaves, and arrays outside, that says whether they are like these."""
    watched, facts = watched or WatchedArrays(), Facts(Structure(), (), (), names)
    elements = watched.key(outside, names) if watched else ()
    places = range(len(leaves) + len(outside))
    looking = Looking(facts, leaves, None, outside, watched, elements, places, raw=False)
    look = looking.look(reader(len(outside), facts))

    def fits(leaves, outside):
        BOX[:] = outside
        found = look(tuple(leaves), {})
        assert found is None or [*map(id, found)] == [*map(id, (*leaves, *outside))]
        return found is not None

    return fits


@pytest.mark.parametrize("name", VALUES)
def test_what_fits_has_the_key(name):
    fits = fitting([VALUES[name]], [])
    assert fits([VALUES[name]], [])
    for other in VALUES.values():
        assert not fits([other], []) or key_of([other], None) == key_of([VALUES[name]], None)


def of_torch():
    torch = pytest.importorskip("torch", reason="pip install 'agnograd[torch]'")
    y = torch.arange(6.0).reshape(2, 3)
    return {
        "tensor": y,
        "other elements": y + 1.0,
        "other shape": y[:1],
        "other strides": y.T.contiguous().T,
        "other dtype": y.double(),
        "needs a gradient": y.clone().requires_grad_(),
        "parameter": torch.nn.Parameter(y),
        "without elements": torch.empty(0, 3),
        "elsewhere": torch.empty(2, 3, device="meta"),
    }


def of_jax():
    jax = pytest.importorskip("jax", reason="pip install 'agnograd[jax]'")
    y = jax.numpy.arange(6.0, dtype="float32").reshape(2, 3)
    return {
        "array": y,
        "other elements": y + 1.0,
        "result": jax.jit(lambda y: y + 1.0)(y),
        "other shape": y[:1],
        "other dtype": y.astype("int32"),
        "weak type": jax.numpy.asarray(1.0),
        "strong type": jax.numpy.asarray(1.0, dtype=jax.numpy.asarray(1.0).dtype),
        "placed": jax.device_put(y, jax.devices()[0]),
        "sharded": jax.device_put(y, jax.NamedSharding(jax.make_mesh((1,), "x"), jax.P("x"))),
    }


@pytest.mark.parametrize("values", [of_torch, of_jax])
def test_what_fits_has_the_key_on_other_libraries(values):
    values = values()
    for name, one in values.items():
        fits = fitting([one], [])
        assert fits([one], [])
        equal = {other for other, each in values.items() if fits([each], [])}
        keys = {
            other for other, each in values.items() if key_of([each], None) == key_of([one], None)
        }
        assert equal <= keys, name
    assert fitting([values["other elements"]], [])([next(iter(values.values()))], [])


def test_another_array_of_the_kind_fits():
    fits = fitting([x, 2, tracked], [x, tracked])
    assert fits([x + 1.0, 2, ag.Variable(x + 1.0)], [x * 2.0, ag.Variable(x)])
    assert not fits([x, 3, tracked], [x, tracked])
    assert not fits([x, 2, tracked], [x[:, :2], tracked])
    assert not fits([x, 2, tracked], [x, ag.Variable(x, requires_grad=False)])


def test_a_dtype_that_is_equal_fits():
    made = np.dtype([("a", "f8")])
    assert fitting([np.zeros(2, made)], [])([np.zeros(2, np.dtype([("a", "f8")]))], [])


def test_nothing_fits_nothing():
    assert fitting([], [])([], [])


def test_arguments_have_the_structure_of_those_before():
    leaves, tree = flatten((([x, x],), {"y": x}))
    looking = Looking(FACTS, leaves, tree, [], WatchedArrays(), (), [0, 2], raw=True)
    look = looking.look(reader(0))
    other = x + 1.0
    assert [*map(id, look(([other, x],), {"y": x}))] == [id(other), id(x)]
    for args, kwargs in (
        (((x, x),), {"y": x}),
        (([x],), {"y": x}),
        (([x, x],), {"z": x}),
        (([x, x], x), {}),
        (([x, x],), {}),
    ):
        assert look(args, kwargs) is None
    positional = Looking(FACTS, [x], None, [], WatchedArrays(), (), [0], raw=True)
    look = positional.look(reader(0))
    assert look((x,), {}) is not None
    assert look((x, x), {}) is look((x,), {"y": x}) is look((), {}) is None


def test_variables_are_returned_raw_where_programs_take_raw_arrays():
    for raw in (True, False):
        looking = Looking(FACTS, [tracked], None, [tracked], WatchedArrays(), (), [0, 1], raw=raw)
        BOX[:] = [tracked]
        found = looking.look(reader(1))((tracked,), {})
        assert all(each is (tracked._raw if raw else tracked) for each in found)


def test_what_outside_is_made_up_otherwise_does_not_fit():
    looking = Looking(FACTS, [x], None, [x], WatchedArrays(), (), [0, 1], raw=True)
    look = looking.look(reader(1))
    BOX[:] = [x]
    assert look((x,), {}) is not None
    BOX.clear()  # reading it raises
    assert look((x,), {}) is None
    other = Facts(Structure([("a", 1)]), (), (), ())
    assert looking.look(reader(1, other)) is None


def test_values_outside_are_those_of_the_key():
    structure = Structure()

    def facts_of(values):
        return Facts(structure, values, ("n",), ())

    seven, eight = facts_of((7,)), facts_of((8,))
    for known in (seven, eight):  # of the call, and of the one that the reader is made after
        for first in (seven, eight):
            box = []
            constants = {"k0": box, "k1": facts_of, "k2": first.values[0]}
            read = Reader(
                lambda: None, ("v1 = k0[0]",), constants, first, "v1 is k2", "k1((v1,))", ()
            )
            looking = Looking(known, [x], None, [], WatchedArrays(), (), [0], raw=True)
            look = looking.look(read)
            for value in (7, 8):
                box[:] = [value]
                assert (look((x,), {}) is not None) == (known.values == (value,))


def test_samples_have_to_be_as_they_were():
    short, long = np.arange(6.0), np.arange(1000.0)
    watched, names = WatchedArrays(), (Name("", "short", ""), Name("", "long", ""))
    watched.add(names, used=False)
    arrays = [short, ag.Variable(long)]
    fits = fitting([], arrays, watched, names)
    assert fits([], arrays)
    assert fits([], [short, ag.Variable(long)])
    assert not fits([], [short.copy(), arrays[1]])
    for array in (short, long):
        before, array[0] = array[0], 7.0
        assert not fits([], arrays)
        array[0] = before
        assert fits([], arrays)


def test_samples_of_tensors_have_to_be_as_they_were():
    torch = pytest.importorskip("torch", reason="pip install 'agnograd[torch]'")
    short, long = torch.arange(6.0), torch.arange(1000.0)
    other = long + 1.0
    watched, names = WatchedArrays(), (Name("", "short", ""), Name("", "long", ""))
    watched.add(names, used=False)
    fits = fitting([], [short, long], watched, names)
    assert fits([], [short, long])
    assert not fits([], [short.clone(), long])
    for array in (short, long):
        array[0] += 7.0
        assert not fits([], [short, long])
        array[0] -= 7.0
        assert fits([], [short, long])
    long.data = other  # other memory in the same tensor
    assert not fits([], [short, long])


def test_what_nobody_can_write_to_has_to_be_the_same():
    jax = pytest.importorskip("jax", reason="pip install 'agnograd[jax]'")
    y, watched, names = jax.numpy.arange(1000.0), WatchedArrays(), (Name("", "y", ""),)
    watched.add(names, used=False)
    key = watched.key([y], names)
    assert watched.key([y], names) == key
    assert watched.key([y + 0.0], names) != key
    samples = watched.samples(key, names)
    assert samples[0][1:] == (None, None)
    fits = fitting([], [y], watched, names)
    assert fits([], [y])
    assert not fits([], [y + 0.0])


def test_there_are_no_samples_where_all_elements_count():
    masked = np.ma.MaskedArray(x, x > 2.0)
    for array, use in ((x, True), (masked, False)):
        watched, names = WatchedArrays(), (Name("", "x", ""),)
        watched.add(names, use)
        assert watched.samples(watched.key([array], names), names) is None


def test_what_is_watched_later_is_noticed():
    first, second = Name("", "x", ""), Name("", "y", "")
    watched = WatchedArrays()
    watched.add([first], used=False)
    before = watched.names
    watched.add([first], used=False)
    assert watched.names is before
    watched.add([first], used=True)
    assert watched.names is not before
    before = watched.names
    watched.add([first, second], used=False)
    assert watched.names is not before


def test_an_array_that_is_gone_is_not_nothing():
    jnp = pytest.importorskip("jax.numpy", reason="JAX: pip install 'agnograd[jax]'")
    arrays = [jnp.ones(3), jnp.zeros(3)]
    fits = fitting([], arrays)
    assert fits([], arrays)
    assert fits([], [jnp.zeros(3), jnp.ones(3)])
    for other in ([None, arrays[1]], [arrays[0], np.zeros(3)], [arrays[0], jnp.zeros(4)]):
        assert not fits([], other)
    del arrays
    gc.collect()
    assert not fits([], [None, None])
    assert fits([], [jnp.ones(3), jnp.zeros(3)])


@pytest.mark.parametrize("library", ["numpy", "jax"])
def test_arrays_that_were_two_have_to_be_two(library):
    asarray = pytest.importorskip(f"{library}{'.numpy' * (library == 'jax')}").asarray
    arrays = [asarray([1.0, 2.0]), asarray([3.0, 4.0])]
    looking = Looking(FACTS, [], None, arrays, WatchedArrays(), (), [0, 1], raw=False)
    look = looking.look(reader(2, merged="len({id(v0), id(v1)}) != 2"))
    for given, is_like in (
        (arrays, True),
        (arrays[::-1], True),
        ([arrays[0] + 0.0, arrays[1]], True),
        ([arrays[0]] * 2, False),
    ):
        BOX[:] = given
        assert (look((), {}) is not None) is is_like


@pytest.mark.parametrize("kind", [np.ndarray, np.recarray])
def test_an_array_of_a_subclass_needs_no_key_either(kind):
    value = x.view(kind)
    looking = Looking(FACTS, [value], None, [], WatchedArrays(), (), range(1), raw=False)
    assert not any("key_of" in each for each in looking._conditions("{0}", value))
