"""Writes: what is watched stays watched, what is cut off refuses, and an interrupt splits none."""

import operator
import sys

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import GradientError
from arrays import leaf, values

# -- gradients that are retained ------------------------------------------------------------------


def doubled(y):
    y *= 2.0


# By what an array, or a view of it, is written to: the value after it is what is looked at.
WRITES = {
    "itself": doubled,
    "a view": lambda y: doubled(y[:2]),
    "an element": lambda y: y.__setitem__(0, 2.0 * y[0]),
    "the whole": lambda y: y.__setitem__(..., 2.0 * y),
    "twice": lambda y: (doubled(y), doubled(y[::-1])),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
@pytest.mark.parametrize("part", [slice(None), slice(0, 2)], ids=["array", "view"])
def test_a_retained_gradient_is_that_of_the_value_after_writes(xp, write, part):
    y = leaf(xp, [1.0, 2.0, 3.0]) * 1.0
    part = y if part == slice(None) else y[part]
    part.retain_grad()
    before = xp.sum(5.0 * part)  # of another value by then
    write(y)
    (before + xp.sum(part * part)).backward()
    np.testing.assert_array_equal(values(part.grad), 2.0 * values(part))


def test_a_gradient_that_was_retained_stays_when_the_array_is_written_to(xp):
    x = leaf(xp, [1.0, 2.0])
    y = x * 1.0
    y.retain_grad()
    xp.sum(3.0 * y).backward(retain_graph=True)
    y[0] = 7.0
    np.testing.assert_array_equal(values(y.grad), [3.0, 3.0])
    xp.sum(2.0 * y).backward()
    np.testing.assert_array_equal(values(y.grad), [5.0, 5.0])
    z = x * 1.0
    z.backward(xp.ones_like(z), retain_grads=True)
    z += 1.0
    np.testing.assert_array_equal(values(z.grad), 1.0)


def test_a_view_that_is_not_used_after_a_write_keeps_the_gradient_of_before(xp):
    y = leaf(xp, [1.0, 2.0]) * 1.0
    view = y[:1]
    view.retain_grad()
    before = xp.sum(5.0 * view)
    y[0] = 7.0
    (before + xp.sum(y)).backward()
    assert view.grad[0].item() == 5.0


def test_a_hook_stays_with_the_value_that_it_was_registered_for(xp):
    y = leaf(xp, [1.0, 2.0]) * 1.0
    heard = []
    y.register_hook(heard.append)
    y *= 3.0
    xp.sum(y).backward()
    assert [values(g).tolist() for g in heard] == [[3.0, 3.0]]


# -- masks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_number_written_at_a_mask_is_differentiated_twice(xp, shape):
    def written(x):
        y = x * 1.0
        y[x > 2.5] = xp.reshape(3.0 * x[0, 0], shape)
        return y

    x = xp.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=xp.float64).data
    slopes = [
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0],
        [3.0, 0.0, 0.0, 0.0],
        [3.0, 0.0, 0.0, 0.0],
    ]
    for mode in ("forward", "reverse"):
        found = ag.jacobian(written, mode=mode)(x)
        np.testing.assert_array_equal(np.asarray(found).reshape(4, 4), slopes)
    found = ag.hessian(lambda x: xp.sum(written(x) ** 2))(x)
    np.testing.assert_array_equal(np.asarray(found).reshape(4, 4), np.diag([38.0, 2.0, 0.0, 0.0]))


# -- views that are cut from the graph ------------------------------------------------------------

CUT = {
    "element": lambda view, v: view.__setitem__(0, v),
    "in place": lambda view, v: view.__imul__(v),
    "view of the view": lambda view, v: view[:1].__setitem__(..., v),
    "function": lambda view, v: np.multiply(view, v, out=view),
}


@pytest.mark.parametrize("write", CUT.values(), ids=CUT.keys())
@pytest.mark.parametrize("tracked", ["base", "value", "both"])
def test_a_view_that_was_taken_under_no_grad_refuses_recorded_writes(xp, write, tracked):
    x = leaf(xp, [1.0, 2.0, 3.0])
    y = xp.ones_like(x.detach()) if tracked == "value" else x * 1.0
    expected = values(y)
    with ag.no_grad():
        view = y[:2]
    with pytest.raises(GradientError, match=r"no_grad.*y\[key\] = value"):
        write(view, 5.0 if tracked == "base" else x[1])
    np.testing.assert_array_equal(values(y), expected)
    with ag.no_grad():
        write(view, 5.0)
    y[2] = 7.0
    assert not view.requires_grad
    np.testing.assert_array_equal(values(view), values(y)[:2])
    if tracked != "value":
        xp.sum(y).backward()
        np.testing.assert_array_equal(values(x.grad), [1.0, 1.0, 0.0])


def test_a_view_that_was_taken_under_no_grad_of_a_constant_takes_constants(xp):
    y = xp.zeros(2, dtype=xp.float64)
    with ag.no_grad():
        view = y[:1]
    view[0] = 3.0
    np.testing.assert_array_equal(values(y), [3.0, 0.0])


def test_views_and_gradient_managers(xp):
    x, w = leaf(xp, [1.0, 2.0]), leaf(xp, 3.0)
    y = x * 1.0
    stale = y[:1]
    y *= 2.0
    with ag.GradManager() as manager:
        manager.attach(w)
        assert stale[0].item() == 2.0  # which leaves it connected
        left_out = y[1:]
        constants = xp.zeros(2, dtype=xp.float64)
        constants[:1][0] = w * 2.0
        manager.backward(xp.sum(constants))
    assert w.grad.item() == 2.0
    with pytest.raises(GradientError, match="GradManager"):
        left_out[0] = 5.0
    xp.sum(stale).backward()
    np.testing.assert_array_equal(values(x.grad), [2.0, 0.0])


def test_a_checkpoint_uses_a_view_that_was_written_to(xp):
    x = leaf(xp, [1.0, 2.0])
    y = x * 1.0
    view = y[:1]
    y *= 2.0
    ag.checkpoint(lambda v: xp.sum(v * view * view))(leaf(xp, [3.0])).backward()
    np.testing.assert_array_equal(values(x.grad), [2.0 * 3.0 * 4.0, 0.0])


# -- arrays of integers ---------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax", "dask"], indirect=True)
@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "bool"])
def test_what_is_written_into_integers_is_cast_and_has_no_gradient(xp, dtype):
    x = leaf(xp, [2.5, 3.5])
    y = xp.zeros(3, dtype=getattr(xp, dtype))
    view = xp.flip(y)
    y[0] = x[0]
    y[1:] = x
    view[0] = x[1]
    assert not y.requires_grad
    assert not view.requires_grad
    np.testing.assert_array_equal(values(y), np.asarray([2, 2, 3]).astype(dtype))
    loss = xp.sum(x * xp.astype(y[:2], xp.float64))
    loss.backward()
    np.testing.assert_array_equal(values(x.grad), values(y)[:2])


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax", "dask"], indirect=True)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_what_is_written_into_another_precision_has_a_gradient_of_its_own(xp, dtype):
    x = leaf(xp, [2.0, 3.0])
    y = xp.zeros(3, dtype=getattr(xp, dtype))
    y[1:] = x
    y[0] = x[1]
    assert y.requires_grad
    xp.sum(xp.real(y * y)).backward()
    assert x.grad.dtype == xp.float64
    np.testing.assert_array_equal(values(x.grad), [4.0, 12.0])


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax"], indirect=True)
@pytest.mark.parametrize("dtype", ["float64", "complex64", "int64", "bool"])
@pytest.mark.parametrize("places", [[True, False, True], [0, 2]], ids=["mask", "indices"])
def test_what_is_written_at_a_mask_or_at_indices_is_cast_as_well(xp, dtype, places):
    x = leaf(xp, [2.0, 3.0], "float32")
    y = xp.zeros(3, dtype=getattr(xp, dtype))
    y[xp.asarray(places)] = x
    assert y.dtype == getattr(xp, dtype)
    np.testing.assert_array_equal(values(y), np.asarray([2.0, 0.0, 3.0]).astype(dtype))
    assert y.requires_grad == (dtype in ("float64", "complex64"))
    if y.requires_grad:
        xp.sum(xp.real(y * y)).backward()
        assert x.grad.dtype == xp.float32
        np.testing.assert_array_equal(values(x.grad), [4.0, 6.0])


# -- interrupts -----------------------------------------------------------------------------------


class Planted(KeyboardInterrupt):
    """A Ctrl-C that a test planted."""


def interrupted(function, at):
    """Run a function that is interrupted before one instruction of the library's; say if it was."""
    left = at

    def trace(frame, event, _):
        nonlocal left
        if not frame.f_globals.get("__name__", "").startswith("agnograd"):
            return None
        if sys.version_info >= (3, 14) and frame.f_code.co_name == "<genexpr>":
            return None  # it traces how they are closed, and ignores what is raised then
        frame.f_trace_opcodes = True  # beside lines: without them Python 3.13 leaves some out
        if event == "opcode":
            left -= 1
            if not left:
                raise Planted
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except Planted:
        return True
    finally:
        sys.settrace(before)
    return False


class Family:
    """An array with an array of its own, a view of it, and what depends on them."""

    def __init__(self, held):
        self.xp = xp = ag.namespace("numpy")
        self.x, self.b = leaf(xp, [1.0, 2.0, 3.0, 4.0]), leaf(xp, [5.0, 6.0])
        self.y = self.x * 1.0
        self.y[3] *= 1.0  # from now on it is written in place, unless something holds it
        self.view = self.y[1:][::-1] if held == "view" else None
        self.held = self.y.data if held == "array" else None

    def state(self):
        """Return the values, and the gradients of them."""
        found = []
        for each in (self.y, self.view):
            if each is not None:
                self.x.grad = self.b.grad = None
                weights = 10.0 ** np.arange(each.shape[0])
                self.xp.sum(each * weights).backward(retain_graph=True)
                grads = [self.x.grad, self.b.grad]
                found += [values(each), *(0.0 if g is None else values(g) for g in grads)]
        return [np.asarray(each).tolist() for each in found]


INTERRUPTED = {
    "element": (lambda f: f.y.__setitem__(0, f.b[0] * 3.0), None),
    "slice": (lambda f: f.y.__setitem__(slice(0, 2), f.b * 3.0), None),
    "copied": (lambda f: f.y.__setitem__(slice(0, 2), f.b * 3.0), "array"),
    "mask": (lambda f: f.y.__setitem__(np.asarray([True, False, True, False]), f.b), None),
    "in place": (lambda f: f.y.__iadd__(f.b[0]), "view"),
    "out": (lambda f: np.multiply(f.y, f.b[1], out=f.y), "view"),
    "element of a view": (lambda f: f.view.__setitem__(0, f.b[0] * 3.0), "view"),
    "view in place": (lambda f: f.view.__imul__(f.b[0]), "view"),
}


@pytest.mark.parametrize(("write", "held"), INTERRUPTED.values(), ids=INTERRUPTED.keys())
def test_an_interrupt_comes_before_a_write_or_after_it(write, held):
    before = Family(held).state()
    written = Family(held)
    write(written)
    after, seen = written.state(), []
    assert before != after
    while True:
        family = Family(held)
        if not interrupted(lambda family=family: write(family), len(seen) + 1):
            break
        seen.append(family.state())
    assert len(seen) > 100
    assert all(each in (before, after) for each in seen)


# -- in-place operators: an array keeps its shape and dtype ----------------------------------------

# The operator, the dtype and shape of the array, and those of what is beside it.
IN_PLACE = [
    (operator.isub, "float64", (3,), "float64", (2, 3)),
    (operator.iadd, "float64", (), "float64", (3,)),
    (operator.imul, "float64", (1,), "float64", (3,)),
    (operator.iadd, "float64", (3,), "float64", (1, 3)),
    (operator.iadd, "float64", (2, 3), "float64", (3,)),
    (operator.imatmul, "float64", (2, 2), "float64", (2, 2)),
    (operator.imatmul, "float64", (2,), "float64", (2, 2)),
    (operator.imatmul, "float64", (2, 2), "float64", (2, 3)),
    (operator.iadd, "float32", (3,), "float64", (3,)),
    (operator.isub, "float64", (3,), "complex128", (3,)),
    (operator.itruediv, "int64", (3,), "int64", (3,)),
    (operator.iadd, "int8", (3,), "int64", (3,)),
    (operator.iadd, "float64", (0, 3), "float32", (3,)),
]


def alone(f, a, b):
    return f(a, b)


def of_members(f, a, b):
    pairs = [a.__array_namespace__().stack([each, each]) for each in (a, b)]
    return ag.vmap(f)(*pairs)[1, ...]


def of_members_with_one_array(f, a, b):
    return ag.vmap(f, in_axes=(None, 0))(a, b[None, ...])[0, ...]


def of_what_is_outside(f, a, b):
    return ag.vmap(lambda b: f(a, b))(b[None, ...])[0, ...]


def compiled(f, a, b):
    return ag.compile(f)(a, b)


WAYS = (alone, of_members, of_members_with_one_array, of_what_is_outside, compiled)


WAYS_OF_LIBRARIES = [
    (library, way)
    for library in ("dask", "numpy", "torch")
    for way in WAYS
    if (library, way) != ("dask", compiled)  # which are not compiled
]


@pytest.mark.parametrize(("backend", "way"), WAYS_OF_LIBRARIES, indirect=["backend"])
def test_an_in_place_operator_does_what_numpys_does(xp, way):
    for operate, dtype, shape, other, beside in IN_PLACE:
        a, b = np.full(shape, 3, dtype=dtype), np.full(beside, 2, dtype=other)

        def whole(a, b, operate=operate):
            a = xp.asarray(a, copy=True)
            return operate(a, b)

        def part(a, b, operate=operate):
            a = xp.asarray(a, copy=True)
            a[...] = operate(a[...], b)
            return a

        try:
            expected = operate(a.copy(), b)
        except (TypeError, ValueError):
            expected = None
        for f in (whole, part):
            case = (operate.__name__, dtype, shape, other, beside, f.__name__)
            given = [xp.asarray(each) for each in (a, b)]
            if expected is None:
                with pytest.raises((TypeError, ValueError, RuntimeError)):
                    way(f, *given)
                continue
            found = values(way(f, *given))
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype), case
            np.testing.assert_array_equal(found, expected, err_msg=str(case))


@pytest.mark.parametrize("backend", ["dask"], indirect=True)
def test_an_array_of_unknown_size_is_written_to(xp):
    x = xp.asarray(np.asarray([1.0, -2.0, 3.0]))
    positive = x[x > 0]
    positive += 1.0
    np.testing.assert_array_equal(values(positive), [2.0, 4.0])
    counts = xp.asarray(np.asarray([1, -2, 3]))
    counts = counts[counts > 0]
    with pytest.raises(TypeError, match="cannot cast what it gives from float64 to int64"):
        counts += 0.5
