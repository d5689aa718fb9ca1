"""ag.compile: what is traced once gives the same in each call, whatever a function does."""

import operator
import pickle

import numpy as np
import pytest

import agnograd as ag
from agnograd.errors import ArgumentError, CompileError, CompileWarning, UnknownPluginError
from arrays import host
from calls import profiled
from threads import in_threads


def raw(xp, *shape, start=1.0):
    """Return an array of distinct numbers."""
    numbers = np.sin(np.arange(start, start + np.prod(shape, dtype=int)))
    return xp.asarray(numbers.reshape(shape).tolist(), dtype=xp.float64).data


def close(found, expected):
    found, expected = host(found), host(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def programs(compiled):
    """Return how often a compiled function was traced."""
    return compiled._programs


# -- values and gradients --------------------------------------------------------------------------


def loss(xp, w, x):
    hidden = xp.tanh(x @ w)
    return xp.sum(hidden**2) + hidden[0, 1]


def test_each_call_gives_what_the_function_gives(xp):
    compiled = ag.compile(lambda w, x: loss(xp, w, x))
    for start in (1.0, 2.0, 3.0):
        w, x = raw(xp, 4, 3, start=start), raw(xp, 5, 4, start=-start)
        close(compiled(w, x), loss(xp, xp.asarray(w), xp.asarray(x)))
    assert programs(compiled) == 1


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_gradients_are_compiled_whole(xp, argnums):
    f = ag.value_and_grad(lambda w, x: loss(xp, w, x), argnums)
    compiled = ag.compile(f)
    for start in (1.0, 2.0):
        w, x = raw(xp, 4, 3, start=start), raw(xp, 5, 4, start=-start)
        (value, gradients), (v, g) = compiled(w, x), f(w, x)
        close(value, v)
        pairs = zip(*[a if isinstance(a, tuple) else (a,) for a in (gradients, g)], strict=True)
        for one, other in pairs:
            close(one, other)
    assert programs(compiled) == 1


def test_compiled_functions_are_transformed(xp):
    def f(w, x):
        return loss(xp, w, x)

    compiled = ag.compile(f)
    w, x = raw(xp, 4, 3), raw(xp, 5, 4)
    for _ in range(2):
        for one, other in zip(
            ag.grad(compiled, (0, 1))(w, x), ag.grad(f, (0, 1))(w, x), strict=True
        ):
            close(one, other)
        close(ag.hessian(compiled)(w, x), ag.hessian(f)(w, x))
        for one, other in zip(
            ag.jvp(compiled, (w, x), (w, x)), ag.jvp(f, (w, x), (w, x)), strict=True
        ):
            close(one, other)
        close(ag.hvp(compiled, (w, x), (w, x))[1], ag.hvp(f, (w, x), (w, x))[1])
        rows = [xp.stack([xp.asarray(a), xp.asarray(a) * 2.0]).data for a in (w, x)]
        close(ag.vmap(compiled)(*rows), ag.vmap(f)(*rows))
        close(ag.vmap(ag.grad(compiled))(*rows), ag.vmap(ag.grad(f))(*rows))
        close(ag.grad(ag.checkpoint(compiled))(w, x), ag.grad(f)(w, x))


def test_third_derivatives_of_a_compiled_function(xp):
    def third(f):
        def first(x):
            return xp.sum(ag.grad(f)(x) ** 2)

        return ag.grad(lambda x: xp.sum(ag.grad(first)(x) ** 3))

    def f(x):
        return xp.sum(xp.sin(x) ** 3)

    compiled, x = ag.compile(f), raw(xp, 4)
    for _ in range(2):
        close(third(compiled)(x), third(f)(x))


def test_a_compiled_function_in_a_graph_of_variables(xp):
    compiled = ag.compile(lambda x, y: {"product": x * y, "rank": x.ndim, "sign": xp.sign(y)})
    x, y = ag.Variable(raw(xp, 3)), ag.Variable(raw(xp, 3, start=4.0))
    for _ in range(2):
        x.grad = y.grad = None
        found = compiled(x, y)
        assert found["rank"] == 1
        xp.sum(found["product"] * 2.0 + found["sign"]).backward()
        close(x.grad, 2.0 * y.detach())
        close(y.grad, 2.0 * x.detach())


def test_an_argument_that_the_function_closes_over_as_well(xp):
    w = ag.Variable(raw(xp, 3))

    def f(x):
        return xp.sum(xp.asarray(x) ** 2 * w**3)

    compiled = ag.compile(f)
    for given in (lambda: w, lambda: w.data, lambda: ag.Variable(w.data)):
        for _ in range(2):
            gradients = []
            for each in (compiled, f):
                w.grad, x = None, given()
                each(x).backward()
                gradients.append(w.grad)
                tracked = [w, x] if isinstance(x, ag.Variable) and x is not w else [w]
                first = ag.autodiff.grad(each(x), tracked, create_graph=True)
                total = sum((xp.sum(g**2) for g in first), xp.asarray(0.0))
                gradients += ag.autodiff.grad(total, tracked)
            half = len(gradients) // 2
            for one, other in zip(gradients[:half], gradients[half:], strict=True):
                close(one, other)


def test_transformations_of_raw_arrays_are_connected_to_what_they_close_over(xp):
    w, x = ag.Variable(raw(xp, 3)), raw(xp, 3, start=4.0)

    def f(x):
        return xp.sum(xp.tanh(x * w) ** 2)

    for transform in (ag.grad, ag.hessian, ag.jacobian):
        compiled, gradients = ag.compile(transform(f)), []
        for derivative in (transform(f), compiled, compiled):
            found = derivative(x)
            assert found.requires_grad
            close(found, transform(f)(x))
            w.grad = None
            xp.sum(found).backward()
            gradients.append(w.grad)
        close(gradients[1], gradients[0])
        close(gradients[2], gradients[0])
        assert compiled(ag.Variable(x)).requires_grad
        with ag.no_grad():
            assert not isinstance(compiled(x), ag.Variable)
    assert ag.compile(f)(x).requires_grad


def test_a_graph_is_freed_and_may_be_retained(xp):
    x = ag.Variable(raw(xp, 3))
    y = xp.sum(ag.compile(lambda x: xp.exp(x))(x))
    y.backward(retain_graph=True)
    y.backward()
    close(x.grad, 2.0 * xp.exp(x.detach()))
    with pytest.raises(ag.errors.FreedGraphError):
        y.backward()


def test_what_is_not_differentiated_is_a_constant(xp):
    x, y = ag.Variable(raw(xp, 3)), raw(xp, 3, start=4.0)
    compiled = ag.compile(lambda x, y: xp.sum(x * y))
    compiled(x, y).backward()
    close(x.grad, y)
    with ag.no_grad():
        assert not compiled(x, y).requires_grad


def test_results_are_raw_where_all_arguments_are(xp):
    x = raw(xp, 3)
    compiled = ag.compile(lambda x: (x * 2.0, xp.sum(x), "text", None, 3))
    for _ in range(2):
        doubled, total, text, nothing, number = compiled(x)
        assert type(doubled) is type(x)
        assert not isinstance(total, ag.Variable)
        assert total.shape == ()
        assert (text, nothing, number) == ("text", None, 3)
    assert isinstance(compiled(ag.Variable(x, requires_grad=False))[0], ag.Variable)


def test_results_share_no_memory_with_arguments_or_each_other(xp, backend):
    if backend in ("jax", "dask"):
        pytest.skip("arrays of this library cannot be written to")
    x = raw(xp, 2, 3)
    compiled = ag.compile(lambda x: (x, x, x.T, xp.ones((2,), dtype=xp.float64), x[0, :]))
    for _ in range(2):
        found = compiled(x)
        for each in found:
            each[...] = 7.0
        assert not (host(x) == 7.0).any()
    for one, other in zip(compiled(x), (x, x, host(x).T, np.ones(2), host(x)[0]), strict=True):
        close(one, other)


# -- numbers, structures, kinds of arrays ----------------------------------------------------------


def test_a_number_is_part_of_the_program(xp):
    compiled, x = ag.compile(lambda x, n, flag=False: -x * n if flag else x * n), raw(xp, 3)
    for n in (2, 2.0, 3, 2):
        close(compiled(x, n), host(x) * n)
    close(compiled(x, 2, flag=True), -2 * host(x))
    assert programs(compiled) == 4  # 2 and 2.0 are two


@pytest.mark.parametrize("static", [1, "options", (1,), ("options",), -1])
def test_static_arguments_are_used_as_they_are(xp, static):
    def f(x, options):
        return x * options["scale"] if options["on"] else x

    compiled, x = ag.compile(f, static=static), raw(xp, 3)
    for scale in (2.0, 3.0, 2.0):
        close(compiled(x, {"scale": scale, "on": True}), scale * host(x))
        close(compiled(x, options={"scale": scale, "on": False}), host(x))
    weights = {"scale": xp.asarray(x).data, "on": True}
    close(compiled(x, weights), host(x) ** 2)
    close(ag.compile(ag.grad(lambda x, n: xp.sum(x) * n), static=1)(x, 3), np.full(3, 3.0))


def test_after_eight_static_arguments_the_function_is_called_as_it_is(xp):
    compiled, x = ag.compile(lambda x, n: xp.sum(x) * n, static="n"), raw(xp, 3)
    for n in range(8):
        compiled(x, n)
    with pytest.warns(CompileWarning, match="static arguments differ"):
        found = compiled(x, 8)
    assert not isinstance(found, ag.Variable)
    close(found, 8 * np.sum(host(x)))


def test_static_objects_are_read_again(xp):
    class Model:
        scale = 2.0

        def __init__(self):
            self.shift = 1.0

    model, x = Model(), raw(xp, 3)
    compiled = ag.compile(lambda x, model: x * model.scale + model.shift, static="model")
    close(compiled(x, model), 2.0 * host(x) + 1.0)
    model.shift, Model.scale = 5.0, 3.0
    close(compiled(x, model), 3.0 * host(x) + 5.0)


def test_what_static_cannot_be_is_an_error(xp):
    with pytest.raises(ArgumentError, match="static is"):
        ag.compile(lambda x: x, static=1.5)


def test_another_shape_or_dtype_is_another_program(xp):
    compiled = ag.compile(lambda x: xp.sum(x, axis=0))
    for shape in ((3,), (3, 2), (0, 2), (3,)):
        x = raw(xp, *shape)
        close(compiled(x), np.sum(host(x), axis=0))
    single = xp.astype(raw(xp, 3), xp.float32).data
    assert compiled(single).dtype == single.dtype
    assert programs(compiled) == 4


def test_pytrees(xp):
    def f(tree, *rest, scale):
        return {"total": tree["a"] + tree["b"][0] * scale, "rest": [r * 2.0 for r in rest]}

    compiled, a, b = ag.compile(f), raw(xp, 3), raw(xp, 3, start=5.0)
    for _ in range(2):
        found = compiled({"a": a, "b": [b]}, a, b, scale=3.0)
        close(found["total"], host(a) + 3.0 * host(b))
        close(found["rest"][1], 2.0 * host(b))


def test_arrays_of_two_libraries_are_an_error(xp, backend):
    other = ag.namespace("strict" if backend != "strict" else "numpy")
    with pytest.raises(ag.errors.MixedBackendsError):
        ag.compile(lambda x, y: x)(xp.asarray(raw(xp, 3)), other.asarray(raw(other, 3)))


def test_what_is_not_a_function_or_not_a_lowering_is_an_error(xp):
    with pytest.raises(ArgumentError, match=r"ag\.compile takes a function"):
        ag.compile(3)
    with pytest.raises(UnknownPluginError, match="no lowering is named 'nothing'"):
        ag.compile(lambda x: x, lowering="nothing")(raw(xp, 3))


# -- branches on values ----------------------------------------------------------------------------


def test_each_way_that_a_branch_goes_is_a_program(xp):
    def f(x):
        if xp.sum(x) > 0:
            return x * 2.0 if x[0] > 1 else x * 3.0
        return -x

    compiled = ag.compile(f)
    arrays = [xp.asarray(each).data for each in ([2.0, 1.0], [0.5, 1.0], [-2.0, 1.0])]
    for x in arrays * 3:
        close(compiled(x), f(xp.asarray(x)))
    assert programs(compiled) == 3


def test_loops_on_values(xp):
    def f(x):
        steps = 0
        while float(xp.sum(x)) < 10.0:
            x = x * 2.0
            steps += 1
        return x, steps

    compiled = ag.compile(f)
    for start in (1.0, 4.0, 20.0, 1.0):
        x = xp.asarray([start]).data
        (found, steps), (expected, n) = compiled(x), f(xp.asarray(x))
        close(found, expected)
        assert steps == n


@pytest.mark.parametrize("value", [0.75, 3, 1j])
def test_a_number_of_an_array_is_compared_in_each_run(xp, value):
    compiled = ag.compile(lambda x, n: x * n.item())
    x = xp.asarray([2.0, 3.0]).data
    for n in (value, 2 * value, value, 2 * value):
        close(compiled(x, xp.asarray(n).data), x * n)
    assert programs(compiled) == 2


def test_gradients_follow_the_way_that_is_taken(xp):
    def f(x):
        return xp.sum(x**2) if xp.sum(x) > 0 else xp.sum(x**3)

    compiled = ag.compile(f)
    for sign in (1.0, -1.0, 1.0):
        x = xp.asarray([sign, 2.0 * sign]).data
        close(ag.grad(compiled)(x), ag.grad(f)(x))
        close(ag.compile(ag.grad(f))(x), ag.grad(f)(x))


def double(xp, *values):
    return xp.asarray(values, dtype=xp.float64).data


def test_nan_goes_its_own_way(xp):
    compiled = ag.compile(lambda x: x * 2.0 if float(x[0]) == 1.0 else x * 3.0)
    for value in (1.0, float("nan"), 1.0, float("nan"), -0.0, 0.0):
        x = double(xp, value, 1.0)
        close(compiled(x)[1], np.asarray(2.0 if value == 1.0 else 3.0))
    assert programs(compiled) == 4


def test_after_eight_programs_the_function_is_called_as_it_is(xp):
    def f(x):
        return x * float(x[0])

    compiled = ag.compile(f)
    for value in range(8):
        compiled(double(xp, float(value), 1.0))
    with pytest.warns(CompileWarning, match="was compiled 8 times"):
        found = compiled(double(xp, 8.0, 1.0))
    assert not isinstance(found, ag.Variable)
    close(found, np.asarray([64.0, 8.0]))
    close(compiled(double(xp, 9.0, 1.0)), np.asarray([81.0, 9.0]))  # it warns once
    close(compiled(double(xp, 3.0, 1.0)), np.asarray([9.0, 3.0]))
    assert programs(compiled) == 8
    x = ag.Variable(double(xp, 20.0, 1.0))
    with pytest.warns(ag.LostGradientWarning):
        xp.sum(compiled(x)).backward()
    close(x.grad, np.asarray([20.0, 20.0]))


# -- what a program cannot do ----------------------------------------------------------------------


def _writes(xp):
    outer = xp.asarray([1.0, 2.0])

    def f(x):
        outer[0] = x[0]
        return outer * x

    return f


REFUSED = {
    "nonzero": (lambda xp: lambda x: xp.nonzero(x), "nonzero: the shape"),
    "unique": (lambda xp: lambda x: xp.unique_values(x), "unique_values: the shape"),
    "mask": (lambda xp: lambda x: x[x > 0], "__getitem__: the shape"),
    "numpy": (lambda xp: lambda x: np.asarray(x) * 2.0, "becomes one of another library"),
    "list": (lambda xp: lambda x: x.tolist(), "becomes one of another library"),
    "write": (_writes, "writes to an array that was there before"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_program_cannot_do_is_an_error_that_names_the_line(xp, name):
    make, message = REFUSED[name]
    compiled = ag.compile(make(xp))
    for _ in range(2):
        with pytest.raises(CompileError, match=message) as caught:
            compiled(raw(xp, 2))
        assert "test_compiled.py:" in str(caught.value)


def test_masks_select_by_where_and_by_writes_of_one_value(xp):
    def f(x):
        y = x * 1.0
        y[y < 0] = 0.0
        return xp.where(x > 0, x, 0.0) + y

    compiled = ag.compile(f)
    for start in (1.0, 3.0):
        x = raw(xp, 5, start=start)
        close(compiled(x), 2 * np.maximum(host(x), 0.0))


def test_an_array_that_escapes_cannot_be_used(xp):
    kept = []

    def f(x):
        y = x * 2.0
        f.kept = y
        return y

    with pytest.raises(CompileError):
        ag.compile(f)(raw(xp, 2))
    with pytest.raises(CompileError):
        f.kept + 1.0
    assert not kept


# -- errors and hooks ------------------------------------------------------------------------------


def test_an_error_names_the_line_that_was_traced():
    xp = ag.namespace("numpy")
    compiled = ag.compile(lambda a, b: xp.linalg.solve(a, b))
    close(compiled(np.eye(2), np.ones(2)), np.ones(2))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        compiled(np.zeros((2, 2)), np.ones(2))
    (note,) = caught.value.__notes__
    assert "at op 'linalg.solve', called at" in note
    assert "test_compiled.py:" in note


def test_an_error_of_a_later_call_names_the_line_too():
    xp = ag.namespace("numpy")
    inverse = ag.compile(lambda a: xp.linalg.inv(a))
    for _ in range(3):
        close(inverse(np.eye(2)), np.eye(2))
        with pytest.raises(np.linalg.LinAlgError) as found:
            inverse(np.zeros((2, 2)))
        assert "at op 'linalg.inv', called at " in found.value.__notes__[0]


def test_hooks_see_each_step_with_its_line(xp):
    class Seen:
        def __init__(self):
            self.calls = []

        @ag.extend.hookimpl
        def forward_postprocess(self, op, inputs, outputs, error):
            self.calls.append((op.name, op.location, [host(x).shape for x in outputs], error))

    compiled, x = ag.compile(ag.grad(lambda x: xp.sum(xp.exp(x)))), raw(xp, 3)
    compiled(x)
    for _ in range(2):
        with ag.hooks(Seen()) as (seen,):
            close(compiled(x), np.exp(host(x)))
        assert "exp" in [name for name, *_ in seen.calls]
        assert all("test_compiled.py:" in place for _, place, _, _ in seen.calls)
        assert seen.calls[0][2] == [(3,)]
        assert all(error is None for *_, error in seen.calls)


def test_the_nan_plugin_finds_the_op_in_a_program(xp):
    compiled = ag.compile(lambda x: xp.sum(xp.sqrt(x)))
    compiled(xp.asarray([1.0, 2.0]).data)
    with ag.hooks("nan"), pytest.raises(Exception, match="op 'sqrt'") as caught:
        compiled(xp.asarray([1.0, float("nan")]).data * 1.0)
    assert "test_compiled.py:" in str(caught.value)


def test_a_raising_hook_leaves_the_function_usable(xp):
    class Raises:
        @ag.extend.hookimpl
        def forward_preprocess(self, op):
            raise RuntimeError("no")

    compiled, x = ag.compile(lambda x: x * 2.0), raw(xp, 3)
    for _ in range(2):
        with ag.hooks(Raises()), pytest.raises(RuntimeError, match="no"):
            compiled(x)
        close(compiled(x), 2.0 * host(x))


def test_an_error_while_tracing_leaves_the_function_usable(xp):
    fail = [True]

    def f(x):
        if fail[0]:
            raise KeyError("once")
        return x * 2.0

    compiled, x = ag.compile(f), raw(xp, 3)
    with pytest.raises(KeyError):
        compiled(x)
    fail[0] = False
    close(compiled(x), 2.0 * host(x))
    assert ag.is_grad_enabled()
    close(x * 1.0, host(x))


# -- threads, methods, decorators ------------------------------------------------------------------


def test_threads_replay_one_program(xp):
    compiled = ag.compile(ag.grad(lambda x: xp.sum(xp.tanh(x) ** 2)))
    arrays = [raw(xp, 100, start=float(n)) for n in range(8)]
    expected = [host(ag.grad(lambda x: xp.sum(xp.tanh(x) ** 2))(x)) for x in arrays]
    wrong = []

    def work(case):
        x, value = case
        for _ in range(20):
            if not np.allclose(host(compiled(x)), value, rtol=1e-12):
                wrong.append(x)

    in_threads(work, zip(arrays, expected, strict=True))
    assert not wrong
    assert programs(compiled) == 1


def test_calls_of_several_kinds_take_turns(xp):
    unused, scale = raw(xp, 300), raw(xp, 3)

    def f(x, n=1):
        return (x * scale) * n if unused.ndim > 0 else x

    compiled = ag.compile(f)
    given = [raw(xp, 3), raw(xp, 2, 3), raw(xp, 3, start=2.0)]
    for _ in range(3):
        for x in given:
            close(compiled(x), x * scale)
            close(compiled(x), x * scale)
            close(compiled(x, 2), 2 * x * scale)
            close(compiled(x, n=3), 3 * x * scale)
        with ag.no_grad():
            close(compiled(given[0]), given[0] * scale)
    assert programs(compiled) == 7  # without gradients it is another program
    scale = scale * 2.0
    close(compiled(given[0]), given[0] * scale)
    scale = raw(xp, 1, 3)
    close(compiled(given[0]), given[0] * scale)
    assert programs(compiled) == 8


def test_a_call_of_a_known_kind_makes_no_key(xp, backend):
    unused, one = raw(xp, 300), raw(xp, 3)
    compiled = ag.compile(lambda x, y: [x * one + y[0], unused.ndim])
    for _ in range(2):
        compiled(one, (one,))
    names = []

    def notice(frame, event, _):
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("agnograd_compile."):
            names.append(frame.f_code.co_name)

    profiled(lambda: compiled(one, (one,)), notice)
    assert "run" in names
    assert not {"_by_key", "walk", "read"} & {*names}
    assert len(names) <= (8 if backend == "numpy" else 24)


def test_samples_of_arrays_outside_are_compared_without_calls(xp, backend):
    unused, one = [raw(xp, 300) for _ in range(10)], raw(xp, 3)
    compiled = ag.compile(lambda x: [x * one, *[each.ndim for each in unused]])
    for _ in range(2):
        compiled(one)
    names = []

    def notice(frame, event, _):
        if event == "call" and "agnograd" in frame.f_globals.get("__name__", ""):
            names.append(frame.f_code.co_name)

    profiled(lambda: compiled(one), notice)
    if backend == "numpy":
        assert not {"key", "elements_of", "to_host"} & {*names}
        assert len(names) <= 8
    close(compiled(one)[0], one * one)


def test_methods_are_compiled_for_each_object(xp):
    class Model:
        def __init__(self, w):
            self.w = w

        @ag.compile
        def predict(self, x):
            return x @ self.w

    one, other, x = Model(raw(xp, 3)), Model(raw(xp, 3, start=5.0)), raw(xp, 2, 3)
    for _ in range(2):
        close(one.predict(x), host(x) @ host(one.w))
        close(other.predict(x), host(x) @ host(other.w))
    one.w = other.w
    close(one.predict(x), host(x) @ host(other.w))


def test_a_compiled_function_keeps_its_name(xp):
    @ag.compile
    def f(x):
        """Double."""
        return x * 2.0

    assert f.__name__ == "f"
    assert f.__doc__ == "Double."
    assert f.__wrapped__(3) == 6.0
    assert "f" in repr(f)


def test_compiled_functions_call_each_other(xp):
    inner = ag.compile(lambda x: xp.sin(x) * 2.0)
    outer = ag.compile(lambda x: inner(x) + inner(x * 2.0))
    for start in (1.0, 2.0):
        x = raw(xp, 3, start=start)
        close(outer(x), 2 * np.sin(host(x)) + 2 * np.sin(2 * host(x)))


def layouts():
    full = np.sin(np.arange(1200.0)).reshape(40, 30)
    return {
        "one row": np.broadcast_to(full[0], full.shape),
        "one column": np.broadcast_to(full[:, :1], full.shape),
        "one number": np.broadcast_to(full[0, 0], full.shape),
        "rows": full,
        "columns": np.asfortranarray(full),
        "backwards": full[::-1, ::-1],
        "every second row": np.repeat(full, 2, axis=0)[::2],
    }


@pytest.mark.parametrize("lowering", ["plain", "numpy", "c"])
@pytest.mark.parametrize("first", layouts())
def test_cotangents_of_any_layout_come_after_each_other(first, lowering):
    xp = ag.namespace("numpy")

    def f(x):
        y = xp.matrix_transpose(x)
        for _ in range(4):
            y = xp.sin(y) * 1.1 + y * y * 0.1
        return y

    def gradients(f, g):
        _, pull = ag.vjp(f, x)
        return (
            pull(g)[0],
            ag.grad(lambda x: xp.sum(ag.vjp(f, x)[1](g)[0] ** 2))(x),
            ag.grad(lambda g: xp.sum(ag.vjp(f, x)[1](g)[0] ** 2))(g),
        )

    compiled, x = ag.compile(f, lowering=lowering), np.cos(np.arange(1200.0)).reshape(30, 40)
    for g in (layouts()[first], *layouts().values()):
        for found, expected in zip(gradients(compiled, g), gradients(f, g), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_what_is_outside_is_not_watched_if_that_is_asked_for(xp):
    def scaled(x):
        return x * scale * factor

    scale, factor = xp.asarray(2.0, dtype=xp.float64).data, 3.0
    (x,) = (xp.asarray([1.0, 2.0], dtype=xp.float64).data,)
    compiled = ag.compile(ag.grad(lambda x: xp.sum(scaled(x) * x)), watch=False)
    first = np.asarray(ag.asarray(compiled(x)))
    scale, factor = xp.asarray(5.0, dtype=xp.float64).data, 7.0
    np.testing.assert_array_equal(np.asarray(ag.asarray(compiled(x))), first)
    again = pickle.loads(pickle.dumps(ag.compile(operator.neg, watch=False, programs=1)))
    assert (again._watch, again.programs) == (False, 1)
    w = ag.Variable(x)
    with pytest.raises(CompileError, match="tracked Variable"):
        ag.compile(lambda x: x * w, watch=False)(x)


def test_a_function_may_have_more_programs(xp):
    compiled = ag.compile(lambda x, n: x * n, programs=12)
    x = xp.asarray([1.0, 2.0], dtype=xp.float64).data
    for n in range(12):  # from the ninth on, there would be a warning
        compiled(x, n)
    with pytest.warns(CompileWarning, match="was compiled 12 times"):
        compiled(x, 12)
