"""Functions with a derivative of their own."""

import gc
import weakref
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import (
    FreedGraphError,
    GradientError,
    MixedBackendsError,
    NoGradientError,
    RuleError,
    UnsupportedArrayError,
)
from agnograd.extend import hookimpl
from agnograd.testing import record_events
from arrays import Square, host, leaf, values
from threads import in_threads


class Exp(ag.Function):
    def forward(self, xp, x):
        out = xp.exp(x)
        self.save(out)
        return out

    def backward(self, xp, g):
        return g * self.saved[0]


class SinCos(ag.Function):
    """Two results, both saved."""

    def forward(self, xp, x):
        sin, cos = xp.sin(x), xp.cos(x)
        self.save(sin, cos)
        return sin, cos

    def backward(self, xp, g_sin, g_cos):
        sin, cos = self.saved
        return g_sin * cos - g_cos * sin


class Scaled(ag.Function):
    """x * y ** power, where y may be left out."""

    def forward(self, xp, x, y=None, power=1, *, shift=0.0):
        self.power = power
        self.save(x, y)
        return (x if y is None else x * y**power) + shift

    def backward(self, xp, g):
        x, y = self.saved
        if y is None:
            return g
        return g * y**self.power, g * x * self.power * y ** (self.power - 1)


def test_first_and_second_derivatives(xp):
    x = leaf(xp, [0.5, -1.0, 2.0])
    for function in (Square(), Exp()):
        ag.check_grad(function, x.data)
    ag.check_grad(lambda x: SinCos()(x)[0] * 2 + SinCos()(x)[1], x.data)
    ag.check_grad(lambda x: SinCos()(x)[1], x.data)
    ag.check_grad(lambda x, y: Scaled()(x, y, 3, shift=1.0), x.data, x.data)
    ag.check_grad(lambda x: Scaled()(x), x.data)
    ag.check_grad(lambda x: Scaled()(x, x), x.data)


def test_the_third_derivative(xp):
    f = lambda x: Square()(Exp()(x))  # noqa: E731 - exp(2 x)
    third = ag.grad(ag.grad(ag.grad(f)))
    assert float(third(xp.asarray(0.5).data)) == pytest.approx(8 * np.exp(1.0))


def test_results_are_as_those_of_any_op(xp):
    x = leaf(xp, [1.0, 2.0])
    y = Square()(x)
    assert y.requires_grad
    assert not y.is_leaf
    assert not Square()(x.detach()).requires_grad
    assert isinstance(Square()(x.data), ag.Variable)
    with ag.no_grad():
        assert not Square()(x).requires_grad
    xp.sum(Square()(x)).backward()
    np.testing.assert_array_equal(values(x.grad), [2.0, 4.0])


def test_results_without_a_gradient(xp):
    class Signs(ag.Function):
        def forward(self, xp, x):
            return x > 0, x * 2

        def backward(self, xp, g_positive, g):
            return 2 * g

    x = leaf(xp, [1.0, -1.0])
    positive, double = Signs()(x)
    assert not positive.requires_grad
    xp.sum(double).backward()
    np.testing.assert_array_equal(values(x.grad), 2.0)


def test_one_instance_serves_many_calls(xp):
    square = Square()
    x, y = leaf(xp, 3.0), leaf(xp, 4.0)
    (square(x) + square(y)).backward()
    assert (x.grad.item(), y.grad.item()) == (6.0, 8.0)
    assert square.saved == ()


def test_saved_values_are_freed_and_hold_no_cycle(xp):
    out = Square()(xp.exp(leaf(xp, 1.0)))
    node = weakref.ref(out)
    out.backward()
    with pytest.raises(FreedGraphError, match="'Square' saved"):
        out.backward()
    gc.disable()
    try:
        del out
        assert node() is None
    finally:
        gc.enable()


@pytest.mark.accelerated
def test_gradients_are_accumulated_into_what_is_there(xp):
    seen = []

    class Part(ag.Function):
        """x[0], whose gradient is added to one element."""

        def forward(self, xp, x):
            self.shape = x.shape
            return xp.asarray(x[0], copy=True)

        def backward(self, xp, g):
            out = xp.zeros(self.shape, dtype=g.dtype)
            return xp.__setitem__(out, 0, g)

        def accumulate(self, xp, g, into):
            seen.append(into[0] is None)
            if into[0] is None:
                return [self.backward(xp, g)]
            return [xp.__setitem__(into[0], 0, into[0][0] + g)]

    x = leaf(xp, [1.0, 2.0])
    part = Part()
    (part(x) * 2.0 + part(x) * 3.0 + xp.sum(x)).backward()
    np.testing.assert_array_equal(values(x.grad), [6.0, 1.0])
    assert len(seen) == 2
    ag.check_grad(lambda x: part(x) * part(x) * xp.sum(x), x.data)


def test_accumulation_for_one_argument_that_is_given_twice(xp):
    class Sum(ag.Function):
        def forward(self, xp, x, y):
            return x + y

        def backward(self, xp, g):
            return g, g

        def accumulate(self, xp, g, into):
            return [g if each is None else each + g for each in into]

    x, y = leaf(xp, 1.0), leaf(xp, 1.0)
    Sum()(x, x).backward()
    assert x.grad.item() == 2.0
    (Sum()(x, y) * Sum()(y, x)).backward()
    assert (x.grad.item(), y.grad.item()) == (6.0, 4.0)


def wrong(result, saved=False):
    class Wrong(ag.Function):
        def forward(self, xp, x, y):
            if saved:
                self.save(x * y)
            return x * y

        def backward(self, xp, g):
            return result(xp, g)

    return Wrong()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda xp, g: g, "returned 1 gradients for 2 array arguments"),
        (lambda xp, g: (g, g, g), "returned 3 gradients"),
        (lambda xp, g: (g[:1], g), r"gradient 0 has shape \(1,\), but its argument has \(2,\)"),
        (lambda xp, g: (g, xp.astype(g, xp.float32)), "gradient 1 has dtype .*float32"),
        (lambda xp, g: (1.0, g), "gradient 0 is float, not an array"),
    ],
)
def test_what_backward_returns_is_checked(xp, result, message):
    x, y = leaf(xp, [1.0, 2.0]), leaf(xp, [1.0, 2.0])
    xp.sum(x * y).backward()
    with pytest.raises(RuleError, match=rf"Wrong\.backward.*{message}"):
        xp.sum(wrong(result)(x, y)).backward()
    np.testing.assert_array_equal(values(x.grad), [1.0, 2.0])


def test_none_is_no_gradient(xp):
    x, y = leaf(xp, [1.0, 2.0]), leaf(xp, [1.0, 2.0])
    xp.sum(wrong(lambda xp, g: (None, g))(x, y)).backward()
    assert x.grad is None
    np.testing.assert_array_equal(values(y.grad), 1.0)


class Root(ag.Function):
    """The square root, whose derivative is infinite at 0."""

    def forward(self, xp, x):
        self.save(x)
        return xp.sqrt(x)

    def backward(self, xp, g):
        return g / (2.0 * xp.sqrt(self.saved[0]))


class GuardedRoot(Root):
    def guarded_backward(self, xp, g):
        return xp.where(g == 0.0, g, self.backward(xp, xp.where(g == 0.0, 1.0, g)))


class First(ag.Function):
    """The first element, with or without a word about the others."""

    def __init__(self, masks):
        self.masks = masks

    def forward(self, xp, x):
        self.save(xp.zeros_like(x), masks=self.masks)
        return x[:1]

    def backward(self, xp, g):
        return xp.concat([g, self.saved[0][1:]])


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value)")
def test_a_zero_that_means_that_nothing_is_asked(xp):
    x = leaf(xp, [4.0, 0.0]).data

    def gradient(f):
        return host(ag.grad(lambda x: xp.sum(f(x)))(x)).tolist()

    def positive(y):
        return xp.where(y > 0.0, y, 1.0)

    assert gradient(lambda x: positive(GuardedRoot()(x))) == [0.25, 0.0]
    assert np.isnan(gradient(lambda x: positive(Root()(x)))[1])
    assert gradient(lambda x: First(masks=True)(xp.sqrt(x))) == [0.25, 0.0]
    assert np.isnan(gradient(lambda x: First(masks=False)(xp.sqrt(x)))[1])


class Steps(Square, transparent=True):
    """A square of which hooks see nothing: its forward shows them no op."""


def test_hooks_see_what_a_transparent_function_shows_them(xp):
    x = leaf(xp, [1.0, 2.0])
    for function, names in ((Square(), ["Square"]), (Steps(), [])):
        log = record_events([], partial(function, x))
        assert [each.op for each in log if each.hook == "forward_preprocess"] == names
        gradient = ag.grad(lambda x, function=function: xp.sum(function(x)))(x.data)
        np.testing.assert_array_equal(host(gradient), [2.0, 4.0])


class Gated(ag.Function, constant_attributes=True, pure=True):
    """tanh(x) * y, and its derivative in forward mode."""

    def __init__(self, pushed=None):
        self.pushed, self.pushes = pushed, []

    def forward(self, xp, x, y):
        self.save(x, y)
        return xp.tanh(x) * y

    def backward(self, xp, g):
        x, y = self.saved
        tanh = xp.tanh(x)
        return g * (1.0 - tanh * tanh) * y, g * tanh

    def jvp(self, xp, s, t):
        self.pushes.append((s is None, t is None))
        (x, y), out = self.saved, 0.0
        tanh = xp.tanh(x)
        if self.pushed is not None:
            return self.pushed(xp, x)
        if s is not None:
            out = s * (1.0 - tanh * tanh) * y
        return out if t is None else out + t * tanh


def test_a_derivative_in_forward_mode_of_its_own(xp):
    gated = Gated()
    x, t = leaf(xp, [0.5, -1.0, 2.0]).data, leaf(xp, [1.0, 0.25, -0.5]).data
    members = leaf(xp, [[0.1, 0.2, 0.3], [1.0, 0.5, -1.0]]).data
    one = xp.ones_like(t).data
    forms = {
        "both": lambda f: ag.jvp(lambda x: f(x, x * x), x, t)[1],
        "the first": lambda f: ag.jvp(lambda x: f(x, one), x, t)[1],
        "the second": lambda f: ag.jvp(lambda x: f(one, x), x, t)[1],
        "grad": lambda f: ag.grad(lambda x: xp.sum(ag.jvp(lambda x: f(x, x), x, t)[1] ** 2))(x),
        "of jvp": lambda f: ag.jvp(lambda x: ag.jvp(lambda x: f(x, x), x, t)[1], x, t)[1],
        "vmap": lambda f: ag.vmap(lambda x: ag.jvp(lambda x: f(x, x), x, t)[1])(members),
        "of vmap": lambda f: ag.jvp(ag.vmap(lambda x: f(x, x)), members, members)[1],
        "of many": lambda f: ag.vmap(lambda t: ag.jvp(lambda x: f(x, x), x, t)[1])(members),
        "Jacobian": lambda f: ag.jacobian(lambda x: f(x, x), mode="forward")(x),
        "compiled": lambda f: ag.compile(lambda x: ag.jvp(lambda x: f(x, x), x, t)[1])(x),
    }
    for form in forms.values():
        expected = form(lambda x, y: xp.tanh(x) * y)
        np.testing.assert_allclose(host(form(gated)), host(expected), rtol=1e-12)
    assert gated.pushes[:3] == [(False, False), (False, True), (True, False)]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda xp, x: (x, x), "returned shapes and dtypes"),
        (lambda xp, x: x[:1], r"\(1,\).* those of the results are .*\(2,\)"),
        (lambda xp, x: xp.astype(x, xp.float32), "float32"),
        (lambda xp, x: 1.0, "returned float; it must return an array"),
    ],
)
def test_what_jvp_returns_is_checked(xp, result, message):
    x = leaf(xp, [1.0, 2.0]).data
    with pytest.raises(RuleError, match=rf"Gated\.jvp.*{message}"):
        ag.jvp(lambda x: Gated(result)(x, x), x, x)


def test_what_holds_for_a_class_holds_for_its_subclasses_and_has_a_name():
    class Later(Gated, pure=False):
        pass

    assert Later._constant_attributes
    assert Gated._pure
    assert not Later._pure
    assert not ag.Function._constant_attributes
    with pytest.raises(TypeError, match="unexpected keyword argument 'purely'"):
        type("Wrong", (ag.Function,), {}, purely=True)


def test_a_saved_array_of_unknown_origin_has_no_second_derivative(xp):
    x, y = leaf(xp, [1.0, 2.0]), leaf(xp, [1.0, 2.0])
    function = wrong(lambda xp, g: (g, g), saved=True)
    xp.sum(function(x, y)).backward()
    with pytest.raises(GradientError, match="neither an argument nor a result"):
        xp.sum(function(x, y)).backward(create_graph=True)


def test_misuse_is_an_error_that_says_so(xp, backend):
    x = leaf(xp, [1.0, 2.0])

    class Number(ag.Function):
        def forward(self, xp, x):
            return "a string"

    with pytest.raises(RuleError, match=r"Number\.forward returned str"):
        Number()(x)
    with pytest.raises(NotImplementedError, match="has no method forward"):
        ag.Function()(x)
    with pytest.raises(UnsupportedArrayError, match="without any array"):
        Square()(3.0)
    with pytest.raises(NoGradientError, match="'shift' requires a gradient"):
        Scaled()(x, shift=x)
    other = ag.namespace("strict" if backend == "numpy" else "numpy")
    with pytest.raises(MixedBackendsError, match="Scaled: argument 'argument 1'"):
        Scaled()(x, leaf(other, [1.0, 2.0]))


def test_hooks_see_functions_as_ops(xp):
    class Names:
        def __init__(self):
            self.seen = []

        @hookimpl
        def forward_postprocess(self, op, outputs):
            self.seen.append((op.name, op.chapter, len(outputs)))

        @hookimpl
        def backward_postprocess(self, op, grad_inputs):
            self.seen.append((op.name, len(grad_inputs)))

    with ag.hooks(Names()) as (names,):
        xp.sum(Square()(leaf(xp, [1.0, 2.0]))).backward()
    assert names.seen[0] == ("Square", "function", 1)
    assert names.seen[-1] == ("Square", 1)


def test_threads_do_not_share_a_call(xp):
    square = Square()
    failures = []

    def work(number):
        for _ in range(100):
            x = leaf(xp, float(number))
            square(x).backward()
            if x.grad.item() != 2.0 * number:
                failures.append(number)

    in_threads(work, range(4))
    assert failures == []


# -- what methods leave alone ----------------------------------------------------------------------


class Keeping(ag.Function):
    """x ** 3, with what it needs in an attribute."""

    value = None

    def __init__(self):
        self.list = []
        self.constant = np.asarray(3.0)

    def forward(self, xp, x):
        self.keep(x)
        return x * x * x

    def keep(self, x):
        self.value = x

    def backward(self, xp, g):
        return g * 3 * self.value * self.value


class KeepingAList(Keeping):
    def keep(self, x):
        self.list[:] = [(x,)]

    def backward(self, xp, g):
        ((x,),) = self.list
        return g * 3 * x * x


class KeepingInASlot(Keeping):
    __slots__ = ("slot",)

    def keep(self, x):
        self.slot = {"square": x * x}

    def backward(self, xp, g):
        return g * 3 * self.slot["square"]


class KeepingInAnObject(Keeping):
    def keep(self, x):
        self.context = SimpleNamespace(part=SimpleNamespace(x=x))

    def backward(self, xp, g):
        return g * 3 * self.context.part.x * self.context.part.x


class KeepingInAFunction(Keeping):
    def keep(self, x):
        self.pull = partial(lambda y, g: g * 3 * x * y, x)

    def backward(self, xp, g):
        return self.pull(g)


class KeepingInTheClass(Keeping):
    known = {}  # noqa: RUF012 - which is what is wrong with it

    def keep(self, x):
        self.known.clear()
        self.known["square"] = x * x

    def backward(self, xp, g):
        return g * 3 * self.known["square"]


KEEPING = {
    Keeping: "value",
    KeepingAList: "list",
    KeepingInASlot: "slot",
    KeepingInAnObject: "context",
    KeepingInAFunction: "pull",
    KeepingInTheClass: "known",
}


@pytest.mark.parametrize("kind", KEEPING)
def test_arrays_in_attributes_have_no_second_derivative(xp, kind):
    x = leaf(xp, [1.0, 2.0]).data
    first = ag.grad(lambda x: xp.sum(kind()(x)))
    np.testing.assert_array_equal(np.asarray(first(x)), [3.0, 12.0])
    _, tangent = ag.jvp(kind(), x, x)
    np.testing.assert_array_equal(np.asarray(tangent), [3.0, 24.0])
    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(
            np.asarray(ag.jacobian(kind(), mode=mode)(x)), [[3.0, 0.0], [0.0, 12.0]]
        )
    name = KEEPING[kind]
    v = ag.Variable(x)
    for again in (
        lambda: ag.grad(lambda x: xp.sum(first(x)))(x),
        lambda: ag.jvp(first, x, x),
        lambda: ag.jvp(lambda x: ag.jvp(kind(), x, xp.ones_like(x))[1], x, x),
        lambda: xp.sum(kind()(v)).backward(create_graph=True),
        lambda: ag.check_grad(kind(), x),
    ):
        with pytest.raises(GradientError, match=rf"{kind.__name__}.backward reads self.{name}"):
            again()


CACHE = {}


class KeepingInAGlobal(Keeping):
    def keep(self, x):
        CACHE["square"] = x * x

    def backward(self, xp, g):
        return g * 3 * CACHE["square"]


def keeping_in_a_closure():
    last = None

    class KeepingInAClosure(Keeping):
        def keep(self, x):
            nonlocal last
            last = x

        def backward(self, xp, g):
            return g * 3 * last * last

    return KeepingInAClosure


@pytest.mark.parametrize(("kind", "name"), [(KeepingInAGlobal, "CACHE"), (None, "last")])
def test_arrays_in_variables_that_backward_names_have_no_second_derivative(xp, kind, name):
    kind, x = kind or keeping_in_a_closure(), leaf(xp, [1.0, 2.0]).data
    first = ag.grad(lambda x: xp.sum(kind()(x)))
    np.testing.assert_array_equal(np.asarray(first(x)), [3.0, 12.0])
    _, tangent = ag.jvp(kind(), x, x)
    np.testing.assert_array_equal(np.asarray(tangent), [3.0, 24.0])
    for again in (
        lambda: ag.grad(lambda x: xp.sum(first(x)))(x),
        lambda: ag.jvp(first, x, x),
        lambda: xp.sum(kind()(ag.Variable(x))).backward(create_graph=True),
    ):
        with pytest.raises(GradientError, match=rf"reads the variable '{name}', in which forward"):
            again()


def test_variables_that_hold_the_same_arrays_before_are_constants():
    xp, weights = ag.namespace("numpy"), np.asarray([3.0, 4.0])

    class Weighted(ag.Function):
        def forward(self, xp, x):
            self.save(x)
            return weights * x * x

        def backward(self, xp, g):
            (x,) = self.saved
            return 2 * weights * x * g

    hessian = ag.hessian(lambda x: xp.sum(Weighted()(x)))(leaf(xp, [1.0, 2.0]).data)
    np.testing.assert_array_equal(np.asarray(hessian), [[6.0, 0.0], [0.0, 8.0]])


def test_attributes_that_are_not_read_or_no_result_of_forward_do_no_harm(xp):
    class Square(ag.Function):
        weights = None

        def __init__(self, two):
            self.two = two

        def forward(self, xp, x):
            self.save(x)
            self.kept, self.places = x, xp.asarray([0, 1])
            return x * x

        def backward(self, xp, g):
            assert self.places.shape == (2,)
            return g * self.two * self.saved[0]

    ag.check_grad(Square(xp.asarray([2.0, 2.0], dtype=xp.float64).data), leaf(xp, [1.0, 2.0]).data)


def writing(where):
    class Writing(ag.Function):
        def forward(self, xp, x, y):
            self.save(x, y)
            if where == "forward":
                x[0] = 5.0
            return x * y

        def backward(self, xp, g):
            x, y = self.saved
            if where in ("g", "saved"):
                (g if where == "g" else y)[0] = 5.0
            return y * g, x * g

    return Writing()


@pytest.mark.parametrize("where", ["forward", "g", "saved"])
def test_no_method_writes_to_what_it_is_given(xp, where):
    x, y = leaf(xp, [1.0, 2.0]), leaf(xp, [3.0, 4.0])
    message = {"forward": r"args\[0\]", "g": r"grads\[0\]", "saved": r"saved\[1\]"}[where]
    with pytest.raises(RuleError, match=rf"Writing\.\w+ wrote to {message}.*copy=True"):
        xp.sum(xp.asarray([1.0, 1.0]) * writing(where)(x, y)).backward()
    assert x.grad is None


def test_writes_to_large_arrays_are_noticed_and_views_are_fine():
    xp = ag.namespace("numpy")

    class Twice(ag.Function):
        def forward(self, xp, x):
            x *= 2
            return x

    for x in (np.ones((3, 5, 2**16)), np.ones((2**19, 3))[:, ::-1], np.ones((4, 4)).T):
        with pytest.raises(RuleError, match=r"Twice\.forward wrote"):
            Twice()(x)

    class Rows(ag.Function):
        def forward(self, xp, x):
            self.shape = x.shape
            return x[0], x.T

        def backward(self, xp, g, h):
            out = xp.zeros(self.shape)
            out[0] = g
            return out + h.T

    ag.check_grad(lambda x: xp.sum(Rows()(x)[0] ** 2) + xp.sum(Rows()(x)[1] ** 3), np.ones((2, 2)))


def test_a_wrapped_function_does_not_write_to_its_arguments(xp):
    def f(x):
        x[0] = 0.0
        return x * 2.0

    wrapped = ag.wrap(f, vjp=lambda g, out, x: 2.0 * g)
    with pytest.raises(RuleError, match=r"f\.forward wrote to args\[0\]"):
        wrapped(leaf(xp, [1.0, 2.0]))


class Shared(ag.Function):
    """Two arguments, of which one may be cut off from the graph, and share its array."""

    def forward(self, xp, a, b):
        self.save(a, b)
        return a * b * b

    def backward(self, xp, g):
        a, b = self.saved
        return g * b * b, 2 * g * a * b


@pytest.mark.parametrize("around", ["nothing", "compile", "vmap", "compiled vmap", "grad of vmap"])
@pytest.mark.parametrize("cut", [(True, False), (False, True), (False, False)])
def test_arguments_that_share_an_array_are_told_apart(cut, around, xp):
    cuts = [ag.stop_gradient if each else (lambda x: x) for each in cut]

    def along(product):
        """Return a derivative of the gradient along the argument."""
        f = lambda x: xp.sum(product(*(each(x) for each in cuts)))  # noqa: E731
        return lambda x: xp.sum(ag.grad(f)(x) * x)

    rows = xp.asarray([[-0.5, 1.5, 2.0]], dtype=xp.float64).data
    expected = ag.grad(along(lambda a, b: a * b * b))(rows[0, ...])
    of_one, of_rows = along(Shared()), lambda rows: xp.sum(ag.vmap(along(Shared()))(rows))
    found = {
        "nothing": lambda rows: ag.grad(of_one)(rows[0, ...]),
        "compile": lambda rows: ag.compile(ag.grad(of_one))(rows[0, ...]),
        "vmap": lambda rows: ag.vmap(ag.grad(of_one))(rows)[0, ...],
        "compiled vmap": lambda rows: ag.compile(ag.vmap(ag.grad(of_one)))(rows)[0, ...],
        "grad of vmap": lambda rows: ag.grad(of_rows)(rows)[0, ...],
    }[around]
    np.testing.assert_allclose(host(found(rows)), host(expected), rtol=1e-12)
