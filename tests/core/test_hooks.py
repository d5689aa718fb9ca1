"""Hooks: when they run and with what, in which order, and for whom."""

import asyncio
import itertools
import os
import subprocess
import sys
import threading

import pluggy
import pytest

import agnograd as ag
from agnograd.errors import PluginError, UnknownPluginError
from agnograd.extend import hookimpl
from agnograd.hookspecs import HookSpecs

HOOKS = [name for name in vars(HookSpecs) if not name.startswith("_")]


def variable(xp, value=3.0):
    return ag.Variable(xp.asarray(value).data)


def plugin(name, function, **options):
    """Return a plugin that implements one hook with a function of ``self`` and arguments."""
    return type("Plugin", (), {name: hookimpl(function, **options)})()


def failing(name, error=ValueError, **options):
    def fail(self):
        raise error("planted")

    return plugin(name, fail, **options)


class Log:
    """Note every event."""

    def __init__(self):
        self.events = []

    def note(self, event, op):
        self.events.append(f"{event} {op.name}")

    @hookimpl
    def forward_preprocess(self, op, inputs):
        self.note("forward_preprocess", op)

    @hookimpl
    def forward_postprocess(self, op, inputs, outputs, error):
        self.note("forward_postprocess", op)

    @hookimpl
    def backward_preprocess(self, op, inputs, grad_outputs):
        self.note("backward_preprocess", op)

    @hookimpl
    def backward_postprocess(self, op, inputs, grad_outputs, grad_inputs, error):
        self.note("backward_postprocess", op)

    @hookimpl
    def backward_start(self, outputs):
        self.events.append("backward_start")

    @hookimpl
    def backward_finish(self, outputs, error):
        self.events.append("backward_finish")

    @hookimpl
    def gradient_ready(self, variable, grad):
        self.events.append("gradient_ready")

    @hookimpl
    def save_value(self, op, name, value):
        self.events.append(f"save_value {op.name}.{name}")
        return [value]

    @hookimpl
    def restore_value(self, packed):
        self.events.append("restore_value")
        return packed[0]


# -- when, and with what -------------------------------------------------------------------------


def test_the_order_of_events_for_one_op_and_one_pass(xp):
    x = variable(xp)
    with ag.hooks(Log()) as (log,):
        y = xp.exp(xp.sin(x))
        forward, log.events = log.events, []
        y.backward()
    assert forward == [
        "forward_preprocess sin",
        "forward_postprocess sin",
        "save_value sin.x",
        "forward_preprocess exp",
        "forward_postprocess exp",
        "save_value exp.out",
    ]
    assert [e for e in log.events if e != "restore_value"] == [
        "backward_start",
        "backward_preprocess exp",
        "backward_postprocess exp",
        "backward_preprocess sin",
        "backward_postprocess sin",
        "gradient_ready",
        "backward_finish",
    ]
    first = log.events.index("restore_value")
    assert log.events[first - 1] == "backward_start"
    assert log.events[first + 1] == "backward_preprocess exp"


def test_a_gradient_is_ready_before_the_rest_of_the_pass_runs(xp):
    events = []

    class Ready:
        @hookimpl
        def gradient_ready(self, variable, grad):
            events.append((id(variable), float(grad), variable.grad))

        @hookimpl
        def backward_preprocess(self, op):
            events.append(op.name)

    x = variable(xp, 0.0)
    y = xp.sin(x)
    late = variable(xp)
    z = y + late * 4.0
    with ag.hooks(Ready()):
        z.backward()
    assert events == ["add", "multiply", (id(late), 4.0, None), "sin", (id(x), 1.0, None)]


def test_hooks_get_raw_arrays_and_the_op(xp, backend):
    seen = {}

    class See:
        @hookimpl
        def forward_postprocess(self, op, inputs, outputs, error):
            seen.setdefault("forward", (op, inputs, outputs, error, op.location))

        @hookimpl
        def backward_postprocess(self, op, inputs, grad_outputs, grad_inputs, error):
            seen["backward"] = (op, inputs, grad_outputs, grad_inputs, error)

    x = variable(xp, [[1.0, 2.0], [3.0, 4.0]])
    with ag.hooks(See()):
        y = xp.prod(x, axis=1)
        y.backward(xp.ones((2,)))
    op, inputs, outputs, error, location = seen["forward"]
    assert (op.name, op.chapter, error) == ("prod", "statistical", None)
    assert dict(op.parameters) == {"axis": 1, "dtype": None, "keepdims": False}
    assert inputs[0] is x.data
    assert outputs[0] is y.data
    assert location.startswith(f"{__file__}:")
    assert location.endswith(" in test_hooks_get_raw_arrays_and_the_op")
    again, inputs, (g,), (grad,), error = seen["backward"]
    assert again is op
    assert again.location == location
    assert inputs[0] is x.data
    assert [type(g), type(grad)] == [type(x.data)] * 2
    assert bool(xp.all(xp.asarray(grad) == xp.asarray([[2.0, 1.0], [4.0, 3.0]])))
    assert error is None


@pytest.mark.parametrize("by", ["ag.grad", "autodiff.grad"])
def test_functions_that_return_gradients_run_a_pass_too(xp, by):
    with ag.hooks(Log()) as (log,):
        if by == "ag.grad":
            ag.grad(lambda x: x * x)(xp.asarray(3.0).data)
        else:
            x = variable(xp)
            ag.autodiff.grad(x * x, [x])
    assert log.events.count("backward_start") == 1
    assert log.events[-1] == "backward_finish"


def test_a_location_that_no_hook_read_in_time_is_unknown(xp):
    ops = []
    with ag.hooks(plugin("forward_postprocess", lambda self, op: ops.append(op))):
        xp.sin(variable(xp))
    assert ops[0].location is None


def test_an_implementation_names_only_what_it_wants(xp):
    seen = []

    class Some:
        @hookimpl
        def forward_preprocess(self):
            seen.append("nothing")

        @hookimpl
        def forward_postprocess(self, outputs, op):
            seen.append((op.name, len(outputs)))

        @hookimpl
        def backward_finish(self, error):
            seen.append(error)

    with ag.hooks(Some()):
        xp.sin(variable(xp)).backward()
    assert seen == ["nothing", ("sin", 1), None]


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_failed_op_and_a_failed_rule_reach_the_hooks_that_run_after(xp, create_graph):
    errors = []

    class Errors:
        @hookimpl
        def forward_postprocess(self, op, outputs, error):
            if error is not None:
                errors.append((op.name, outputs, error))

        @hookimpl
        def backward_postprocess(self, op, grad_inputs, error):
            if error is not None:
                errors.append((op.name, grad_inputs, error))

        @hookimpl
        def backward_finish(self, error):
            errors.append(("pass", (), error))

    two = xp.zeros((2, 3))
    with ag.hooks(Errors()), pytest.raises(Exception, match=r"(?i)shape|dimension|match") as caught:
        xp.matmul(two, two)
    assert errors == [("matmul", (), caught.value)]
    errors.clear()
    y = xp.exp(xp.sin(variable(xp)))
    bad = failing("backward_preprocess")
    with ag.hooks(Errors(), bad), pytest.raises(ValueError, match="planted") as caught:
        y.backward(create_graph=create_graph)
    assert errors == [("exp", (), caught.value), ("pass", (), caught.value)]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_every_plugin_hears_that_a_pass_has_finished(xp, place):
    class Heard:
        @hookimpl
        def backward_finish(self, error):
            heard.append(error)

    heard, plugins = [], [Heard(), Heard()]
    plugins.insert(place, failing("backward_finish"))
    x = variable(xp)
    with ag.hooks(*plugins), pytest.raises(ValueError, match="planted") as caught:
        xp.sin(x).backward()
    assert heard == [None, None]
    assert x.grad is None
    assert any("raised by hook 'backward_finish'" in note for note in caught.value.__notes__)


def test_a_kind_is_all_calls_of_an_op(xp, backend):
    class Kinds:
        def __init__(self):
            self.seen = []

        @hookimpl
        def forward_preprocess(self, kind):
            self.seen.append(kind)

        @hookimpl
        def backward_postprocess(self, kind):
            self.seen.append(kind)

    x = variable(xp)
    with ag.hooks(Kinds()) as (kinds,):
        (xp.sin(x) + xp.sin(2.0 * x)).backward()
    sines = [kind for kind in kinds.seen if kind.name == "sin"]
    assert len(sines) == 4
    assert len(set(map(id, sines))) == 1
    assert sines[0].chapter == "elementwise"
    assert sines[0].backend.name == backend
    # Where someone asks for the op, each call has one of its own; the kind is still there.
    log = Log()
    with ag.hooks(kinds, log):
        xp.sin(x).backward()
    assert [kind.name for kind in kinds.seen[-2:]] == ["sin", "sin"]


class Marks:
    """Note when ops and rules ran."""

    def __init__(self):
        self.seen = []

    @hookimpl
    def forward_postprocess(self, op, start, stop):
        self.seen.append((op.name, start, stop))

    @hookimpl
    def backward_postprocess(self, op, start, stop):
        self.seen.append((f"{op.name} rule", start, stop))


def test_marks_in_time_are_those_of_the_op_alone(xp, monkeypatch):
    x = variable(xp)
    ticks = itertools.count()
    monkeypatch.setattr(x._domain, "mark", ticks.__next__)
    with ag.hooks(plugin("forward_preprocess", lambda self: next(ticks)), Marks()) as (_, marks):
        xp.sin(x).backward()
    assert marks.seen == [("sin", 1, 2), ("sin rule", 3, 4)]
    with ag.hooks(Log()):
        xp.sin(x).backward()
    assert next(ticks) == 5  # nobody asked


def test_marks_of_ops_that_fail_and_of_ops_that_never_ran(xp):
    marks = Marks()
    refused = pytest.raises(Exception, match=r"(?i)shape|broadcast|dimension|mismatch|size")
    zeros = xp.zeros((2, 3)).data
    with refused, ag.hooks(marks):
        xp.matmul(zeros, zeros)
    ((name, start, stop),) = marks.seen
    assert name == "matmul"
    assert start is not None
    assert stop is not None
    marks = Marks()
    with pytest.raises(ValueError, match="planted"), ag.hooks(marks, failing("forward_preprocess")):
        xp.sin(variable(xp))
    assert marks.seen == [("sin", None, None)]


def test_what_hooks_compute_is_neither_recorded_nor_observed(xp):
    seen = []

    class Computing:
        @hookimpl
        def forward_postprocess(self, op):
            seen.append((op.name, (xp.exp(x) * x).requires_grad, ag.is_grad_enabled()))

        @hookimpl
        def backward_preprocess(self, op):
            seen.append((op.name, xp.exp(x).requires_grad, ag.is_grad_enabled()))

    x = variable(xp)
    with ag.hooks(Computing()):
        xp.sin(x).backward(create_graph=True)
        assert ag.is_grad_enabled()
    assert seen[:2] == [("sin", False, False)] * 2
    assert {name for name, _, _ in seen[2:]} <= {"cos", "multiply"}


# -- scopes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("hook", [h for h in HOOKS if h != "restore_value"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_errors_name_plugin_hook_and_op_and_leave_no_trace(xp, hook, error):
    x = variable(xp)
    log = Log()
    with pytest.raises(error, match="planted") as caught, ag.hooks(failing(hook, error)):
        xp.sin(x).backward()
    notes = "\n".join(caught.value.__notes__)
    assert f"raised by hook {hook!r} of plugin '{__name__}.Plugin'" in notes
    of_passes = ("backward_start", "backward_finish", "gradient_ready", "replace_gradients")
    assert "'sin'" in notes or hook in of_passes
    assert x.grad is None
    assert ag.is_grad_enabled()
    with ag.hooks(log):
        xp.sin(x).backward()
    assert log.events[-1] == "backward_finish"
    assert x.grad is not None


def test_scopes_nest_and_are_restored(xp):
    logs = [Log(), Log()]
    x = variable(xp)
    with ag.hooks(logs[0]):
        with (
            pytest.raises(ValueError, match="planted"),
            ag.hooks(logs[1], failing("backward_start")),
        ):
            xp.sin(x).backward()
        xp.cos(x)
    xp.exp(x)
    names = [[e for e in log.events if e.startswith("forward_pre")] for log in logs]
    assert names == [
        ["forward_preprocess sin", "forward_preprocess cos"],
        ["forward_preprocess sin"],
    ]


def test_one_plugin_twice_runs_once(xp):
    log = Log()
    with ag.hooks(log, log), ag.hooks(log):
        xp.sin(variable(xp))
    assert log.events.count("forward_preprocess sin") == 1


def test_hooks_decorate(xp):
    log = Log()

    @ag.hooks(log)
    def f(x):
        return xp.sin(x)

    f(variable(xp))
    xp.cos(variable(xp))
    assert {event.split()[1].partition(".")[0] for event in log.events} == {"sin"}


def test_classes_and_names_make_an_instance_for_each_scope():
    with ag.hooks(Log, "timer") as (log, timer):
        assert type(log) is Log
        assert type(timer).__name__ == "Timer"
    with ag.hooks("timer") as (other,):
        assert other is not timer


def test_other_threads_see_no_hooks(xp):
    log = Log()
    with ag.hooks(log):
        thread = threading.Thread(target=lambda: xp.sin(variable(xp)).backward())
        thread.start()
        thread.join()
    assert log.events == []


def test_asyncio_tasks_have_hooks_of_their_own(xp):
    async def task(name, here, there):
        log = Log()
        with ag.hooks(log):
            here.set()
            await there.wait()
            getattr(xp, name)(variable(xp))
        await asyncio.sleep(0)
        getattr(xp, name)(variable(xp))
        return log.events.count(f"forward_preprocess {name}"), len(log.events)

    async def main():
        a, b = asyncio.Event(), asyncio.Event()
        results = await asyncio.gather(task("sin", a, b), task("cos", b, a))
        log = Log()
        started = asyncio.Event()
        outside = asyncio.create_task(compute_after(started))
        with ag.hooks(log):
            started.set()
            await outside
        return results, log.events

    async def compute_after(event):
        await event.wait()
        xp.exp(variable(xp))

    results, events = asyncio.run(main())
    assert results == [(1, 3), (1, 3)]
    assert events == []


# -- pluggy's semantics --------------------------------------------------------------------------


def ordered(order, name, **options):
    return plugin("forward_preprocess", lambda self, op: order.append(name), **options)


def wrapping(order, name, **options):
    def wrap(self):
        order.append(f"{name} in")
        result = yield
        order.append(f"{name} out")
        return result

    return plugin("forward_preprocess", wrap, wrapper=True, **options)


def kinds(order):
    return [
        ordered(order, "first", tryfirst=True),
        ordered(order, "last", trylast=True),
        ordered(order, "plain"),
        ordered(order, "another"),
        ordered(order, "another first", tryfirst=True),
    ]


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_order_is_pluggy_s(wrapped):
    order = []
    xp, x = ag.namespace("numpy"), ag.Variable(1.0)
    wrappers = [wrapping(order, "w"), wrapping(order, "v", tryfirst=True)] if wrapped else []
    for plugins in itertools.islice(itertools.permutations(kinds(order) + wrappers), 0, None, 7):
        manager = pluggy.PluginManager("agnograd")
        manager.add_hookspecs(HookSpecs)
        for each in plugins:
            manager.register(each)
        manager.hook.forward_preprocess(op=None, kind=None, inputs=())
        expected = order[:]
        order.clear()
        with ag.hooks(*plugins):
            xp.sin(x)
        assert order == expected
        order.clear()


def test_wrappers_see_results_and_errors(xp):
    seen = []

    class Wrapper:
        @hookimpl(wrapper=True)
        def save_value(self, name):
            packed = yield
            seen.append((name, packed))
            return ("wrapped", packed)

        @hookimpl(wrapper=True)
        def restore_value(self, packed):
            return (yield) if packed[0] == "wrapped" else None

        @hookimpl(wrapper=True)
        def backward_preprocess(self, op):
            try:
                return (yield)
            except ValueError as error:
                seen.append(str(error))
                raise

    class Keep:
        @hookimpl
        def save_value(self, value):
            return value

        @hookimpl
        def restore_value(self, packed):
            return packed[1]

    x = variable(xp)
    with ag.hooks(Keep(), Wrapper()):
        y = xp.sin(x)
        y.backward(retain_graph=True)
        assert seen == [("x", x.data)]
        bad = failing("backward_preprocess")
        with pytest.raises(ValueError, match="planted"), ag.hooks(bad):
            y.backward()
    assert seen[1:] == ["planted"]
    assert x.grad.item() == pytest.approx(xp.cos(x).item())


def test_errors_under_wrappers_name_the_plugin():
    xp, order = ag.namespace("numpy"), []
    bad = failing("forward_preprocess")
    with pytest.raises(ValueError, match="planted") as caught, ag.hooks(wrapping(order, "w"), bad):
        xp.sin(ag.Variable(1.0))
    assert any("of plugin" in note for note in caught.value.__notes__)


def test_a_misspelt_hook_is_an_error_with_a_suggestion():
    for name, meant in (("forward_preproces", "forward_preprocess"), ("saved_value", "save_value")):
        bad = plugin(name, lambda self: None)
        with pytest.raises(PluginError, match=f"{name!r}: did you mean {meant!r}"):
            ag.hooks(bad).__enter__()
    with pytest.raises(PluginError, match="there are forward_preprocess"):
        ag.hooks(plugin("zzz", lambda self: None)).__enter__()
    assert ag.is_grad_enabled()


def test_a_misspelt_argument_is_an_error():
    bad = plugin("forward_preprocess", lambda self, imputs: None)
    with pytest.raises(PluginError, match="'imputs'"):
        ag.hooks(bad).__enter__()


def test_a_misspelt_argument_is_an_error_with_a_suggestion():
    bad = plugin("forward_preprocess", lambda self, imputs: None)
    with pytest.raises(PluginError, match="did you mean 'inputs'"):
        ag.hooks(bad).__enter__()


# -- saved values --------------------------------------------------------------------------------


class Pack:
    """Keep values in a table of its own, under keys that no other plugin knows."""

    def __init__(self):
        self.values = {}

    @hookimpl
    def save_value(self, op, name, value):
        key = (id(self), len(self.values))
        self.values[key] = value
        return key

    @hookimpl
    def restore_value(self, packed):
        return self.values.get(packed)


def cube(xp, x):
    return xp.sum(x * xp.exp(x) * x)


@pytest.mark.parametrize("inside", [True, False])
def test_packed_values_are_restored(xp, inside):
    x, like = variable(xp, [1.0, 2.0]), variable(xp, [1.0, 2.0])
    cube(xp, like).backward()
    pack = Pack()
    with ag.hooks(pack):
        y = cube(xp, x)
        if inside:
            y.backward()
    if not inside:
        y.backward()
    assert len(pack.values) == 5
    assert bool(xp.all(x.grad == like.grad))


def test_a_packed_value_is_restored_once(xp):
    x = variable(xp)
    with ag.hooks(Log()) as (log,):
        xp.sin(x).backward()
    assert log.events.count("restore_value") == 1


def test_packed_values_are_restored_for_second_order(xp):
    def second(x):
        (g,) = ag.autodiff.grad(cube(xp, x), [x], create_graph=True)
        (h,) = ag.autodiff.grad(xp.sum(g * g), [x])
        return h

    expected = second(variable(xp, [1.0, 2.0]))
    with ag.hooks(Pack()):
        assert bool(xp.all(second(variable(xp, [1.0, 2.0])) == expected))


def test_packed_values_of_indexing_are_restored(xp):
    x = variable(xp, [1.0, 2.0, 3.0])
    with ag.hooks(Pack()):
        y = xp.sum(xp.take(x, xp.asarray([1, 2, 1]), axis=0) * x[:])
    y.backward()
    assert bool(xp.all(x.grad == xp.asarray([2.0, 1.0 + 3.0 + 3.0, 2.0 + 2.0])))


def test_the_first_plugin_that_packs_wins(xp):
    outer, inner = Pack(), Pack()
    x = variable(xp)
    with ag.hooks(outer), ag.hooks(inner):
        (x * x).backward()
    assert (len(outer.values), len(inner.values)) == (0, 2)
    assert x.grad.item() == 6.0


def test_a_hook_that_packs_nothing_changes_nothing(xp):
    x = variable(xp)
    with ag.hooks(plugin("save_value", lambda self: None)):
        (x * x).backward()
    assert x.grad.item() == 6.0


def test_what_one_node_packed_is_no_business_of_others(xp):
    class Halving:
        @hookimpl
        def save_value(self, value):
            return value / 2

        @hookimpl
        def restore_value(self, packed):
            restored.append(packed)
            return 2 * packed

    restored = []
    x, other = variable(xp), variable(xp)
    before = other * other
    with ag.hooks(Halving()):
        packed = x * x
    after = other * other
    (before + after).backward()
    assert (other.grad.item(), restored) == (12.0, [])
    packed.backward()
    assert (x.grad.item(), len(restored)) == (6.0, 2)
    assert (other * other).node.op.hooks is None


def test_what_nothing_restores_is_an_error(xp):
    x = variable(xp)
    with ag.hooks(plugin("save_value", lambda self: "packed")):
        y = x * x
    with pytest.raises(PluginError, match="no restore_value hook"):
        y.backward()
    assert x.grad is None


# -- installed plugins ---------------------------------------------------------------------------


def python(code, **environment):
    """Run code in a fresh interpreter, where warnings are errors, and return what it prints."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("AGNOGRAD")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_environment_activates_plugins_in_every_thread():
    code = """
import threading, agnograd as ag
from agnograd._hooks.state import current_mode
found = []
def work():
    (timer,) = [p for p in current_mode().hooks.plugins.values() if type(p).__name__ == "Timer"]
    ag.Variable(3.0) * 2.0
    found.append(timer)
work()
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert found[0] is found[1]
print(len(current_mode().hooks.plugins), found[0].to_dict()["forward"]["multiply"]["calls"])
"""
    assert python(code, AGNOGRAD_PLUGINS="timer") == "1 2"
    assert python(code, AGNOGRAD_PLUGINS=" timer, nan,") == "2 2"


def test_an_unknown_name_in_the_environment_warns():
    code = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import agnograd as ag
(ag.Variable(3.0) * 2.0).backward()
print([w.category.__name__ for w in caught], caught[0].message)
"""
    printed = python(code, AGNOGRAD_PLUGINS="nope")
    assert printed.startswith("['PluginWarning'] ")
    assert "AGNOGRAD: a plugin that AGNOGRAD_PLUGINS names is left out: no plugin is" in printed


def test_an_unknown_plugin_lists_the_installed_ones():
    with pytest.raises(UnknownPluginError, match=r"'nope'; installed: .*nan.*timer"):
        ag.hooks("nope")


def test_listing_plugins_loads_none():
    code = """
import sys, agnograd as ag
found = ag.plugins()
print(sorted(m for m in sys.modules if m.startswith("agnograd_")))
print(found["nan"].target, found["nan"].distribution.split()[0], found["timer"].importable)
"""
    assert python(code).splitlines() == ["[]", "agnograd_nan:NaN agnograd True"]


class Scoped:
    """A plugin without hooks: a context manager."""

    def __init__(self):
        self.events = []

    def __enter__(self):
        self.events.append("enter")
        return self

    def __exit__(self, kind, error, traceback):
        self.events.append(kind and kind.__name__)


def test_a_plugin_that_is_a_context_manager_is_entered_and_left():
    numpy = ag.namespace("numpy")
    first, second = Scoped(), Scoped()
    with ag.hooks(first, second) as (found, _), ag.hooks(first):
        assert found is first
        numpy.sin(ag.Variable(1.0)).backward()
    assert first.events == ["enter", "enter", None, None]
    assert second.events == ["enter", None]
    with pytest.raises(KeyError), ag.hooks(first):
        raise KeyError
    assert first.events[-2:] == ["enter", "KeyError"]


def test_a_plugin_that_fails_to_enter_leaves_no_state_behind():
    numpy = ag.namespace("numpy")

    class Fails(Scoped):
        def __enter__(self):
            raise OSError("no")

    first, counter = Scoped(), Counter()
    with pytest.raises(OSError, match="no"), ag.hooks(counter, first, Fails()):
        raise AssertionError("it was entered")
    assert first.events == ["enter", "OSError"]
    numpy.sin(ag.Variable(1.0))
    assert counter.calls == 0


class Counter:
    def __init__(self):
        self.calls = 0

    @hookimpl
    def forward_preprocess(self):
        self.calls += 1


def test_plugins_that_look_at_no_op_leave_the_ops_alone():
    numpy = ag.namespace("numpy")

    class Passes:
        @hookimpl
        def backward_finish(self):
            pass

    x = ag.Variable(1.0)
    with ag.hooks(Passes()):
        y, z = numpy.sin(x), numpy.sin(x)
    assert y.node.op is z.node.op  # an observed call has an op of its own
