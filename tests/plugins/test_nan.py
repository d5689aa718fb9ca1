"""The plugin ``nan``: it names the op, the line and the values, and what it costs is little."""

import inspect
import pickle
import threading
import warnings

import pytest

import agnograd as ag
from agnograd.extend import hookimpl
from agnograd_nan import NaN, NaNError, NaNWarning

# NumPy warns of the values that are planted here.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def planted(function):
    """Return where a function has the comment that marks its bad op."""
    lines, start = inspect.getsourcelines(function)
    (offset,) = [i for i, line in enumerate(lines) if "# planted" in line]
    return f"{function.__code__.co_filename}:{start + offset} in {function.__name__}"


def warm_up(xp, x):
    for _ in range(5):
        x = xp.sin(x) * 2.0 + 0.5
    return x * x + 1.0


def bad_forward(xp, x):
    y = warm_up(xp, x)
    y = xp.reshape(xp.stack([y, -y], axis=1), (3, 2))
    y = xp.sqrt(y)  # planted
    return xp.sum(xp.cos(xp.exp(y)))


def bad_backward(xp, x):
    y = warm_up(xp, x)
    y = xp.sqrt(y * 0.0)  # planted
    return xp.sum(xp.exp(y) * 3.0)


def fifty_forward(xp, x, planted):
    """Run 50 ops; the one before number ``planted`` gives what its square root is NaN of."""
    for number in range(50):
        if number == planted:
            x = xp.sqrt(x)  # planted
        elif number == planted - 1:
            x = x - 100.0
        else:
            x = xp.sin(x) if number % 2 else xp.exp(x)
    return x


def fifty_backward(xp, x, planted):
    """Run 50 ops; the derivative of number ``planted`` is infinite, its value is not."""
    for number in range(50):
        if number == planted:
            x = xp.sqrt(x)  # planted
        elif number == planted - 1:
            x = x * 0.0
        else:
            x = xp.exp(x) if number % 2 else xp.tanh(x)
    return x


def variable(xp):
    return ag.Variable(xp.asarray([0.5, 1.0, 2.0], dtype=xp.float32).data)


def ours(caught):
    return [each for each in caught if each.category is NaNWarning]


def warm_up_sum(xp, x):
    return xp.sum(warm_up(xp, x))


class Names:
    def __init__(self):
        self.names = []

    @hookimpl
    def forward_preprocess(self, op):
        self.names.append(op.name)


@pytest.mark.parametrize("number", [1, 2, 25, 48, 49])
def test_the_one_of_fifty_ops_is_named_forward(xp, number):
    with pytest.raises(NaNError) as caught, ag.hooks(Names(), "nan") as (log, _):
        fifty_forward(xp, variable(xp), number)
    error = caught.value
    assert len(log.names) == number + 1
    assert (error.op, error.direction, error.index) == ("sqrt", "forward", 0)
    assert (error.kind, error.count, error.first) == ("NaN", 3, (0,))
    assert (error.sources, error.location) == ((), planted(fifty_forward))


@pytest.mark.parametrize("number", [1, 2, 25, 48, 49])
def test_the_one_of_fifty_ops_is_named_backward(xp, number):
    with ag.hooks(Names(), "nan") as (log, _):
        y = fifty_backward(xp, variable(xp), number)
        assert len(log.names) == 50
        with pytest.raises(NaNError) as caught:
            y.backward(xp.ones((3,), dtype=xp.float32))
    error = caught.value
    assert (error.op, error.direction, error.index) == ("sqrt", "backward", 0)
    assert (error.kind, error.count, error.first) == ("infinity", 3, (0,))
    assert (error.sources, error.location) == ((), planted(fifty_backward))


def test_the_op_that_made_a_nan_is_named_forward(xp):
    with pytest.raises(NaNError) as caught, ag.hooks(Names(), "nan") as (log, _):
        bad_forward(xp, variable(xp))
    error = caught.value
    assert len(log.names) >= 20
    assert (error.op, error.chapter, error.direction) == ("sqrt", "elementwise", "forward")
    assert (error.index, error.kind, error.shape) == (0, "NaN", (3, 2))
    assert (error.count, error.first, error.sources) == (3, (0, 1), ())
    assert error.dtype == xp.float32
    assert error.location == planted(bad_forward)
    message = str(error)
    assert "outputs[0] of op 'sqrt' (elementwise), shape (3, 2), dtype" in message
    assert "3 of 6 elements, the first at index (0, 1)" in message
    assert f"called at {planted(bad_forward)}" in message
    assert "Its inputs had none" in message
    assert any("plugin 'agnograd_nan.NaN'" in note for note in error.__notes__)


def test_the_op_whose_derivative_is_infinite_is_named_backward(xp):
    x = variable(xp)
    with pytest.raises(NaNError) as caught, ag.hooks(Names(), "nan") as (log, _):
        bad_backward(xp, x).backward()
    error = caught.value
    assert len(log.names) >= 20
    assert (error.op, error.chapter, error.direction) == ("sqrt", "elementwise", "backward")
    assert (error.index, error.kind, error.shape) == (0, "infinity", (3,))
    assert (error.count, error.first, error.sources) == (3, (0,), ())
    assert error.location == planted(bad_backward)
    message = str(error)
    assert "infinity in the backward pass: grad_inputs[0] of op 'sqrt'" in message
    assert "xp.where or xp.clip before the op" in message
    assert "pass inf=False" in message
    assert x.grad is None


def test_without_inf_the_first_nan_is_named(xp):
    with pytest.raises(NaNError) as caught, ag.hooks(NaN(inf=False)):
        bad_backward(xp, variable(xp)).backward()
    assert (caught.value.op, caught.value.kind) == ("multiply", "NaN")  # infinity times 0
    assert caught.value.location == planted(bad_backward)
    with ag.hooks(NaN(inf=False)):
        assert xp.exp(xp.asarray(1000.0)).item() == float("inf")
    with (
        pytest.raises(NaNError, match=r"infinity in the forward pass.*index \(\)"),
        ag.hooks("nan"),
    ):
        xp.exp(xp.asarray(1000.0))


def test_a_direction_that_is_not_asked_for_is_not_checked(xp):
    with ag.hooks(NaN(backward=False)):
        bad_backward(xp, variable(xp)).backward()
    with pytest.raises(NaNError) as caught, ag.hooks(NaN(forward=False)):
        bad_forward(xp, variable(xp)).backward()
    assert caught.value.direction == "backward"


def test_inputs_that_were_bad_already_are_named(xp):
    bad = xp.asarray([1.0, float("nan")])
    with pytest.raises(NaNError) as caught, ag.hooks("nan"):
        xp.concat([xp.asarray([1.0]), bad])
    assert caught.value.sources == ("inputs[1]",)
    assert "inputs[1] had such values already" in str(caught.value)
    with pytest.raises(NaNError) as caught, ag.hooks("nan"):
        xp.asarray([1.0]) * float("inf")
    assert caught.value.sources == ("inputs[1]",)


def test_inputs_that_were_bad_before_the_backward_pass_are_named(xp):
    x = ag.Variable(xp.asarray([1.0, float("nan")]).data)
    y = xp.sum(x * x)
    with pytest.raises(NaNError, match="look for the op that made them") as caught, ag.hooks("nan"):
        y.backward()
    assert caught.value.sources == ("inputs[0]", "inputs[1]")
    assert caught.value.location is None
    assert "activate the plugin in the forward pass too" in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_bad_gradient_that_is_handed_in_is_no_op_s_fault(xp, value):
    x = ag.Variable(xp.asarray([1.0, 2.0]).data)
    with ag.hooks("nan"):
        y = xp.negative(x)
        with pytest.raises(NaNError, match="gradient that was passed in") as caught:
            y.backward(xp.asarray([0.0, value]))
        assert (caught.value.op, caught.value.first) == ("negative", (1,))
        assert caught.value.sources == ("grad_outputs[0]",)
        with pytest.raises(NaNError, match=r"(?s)gradient of a leaf.*No op on the way") as caught:
            x.backward(xp.asarray([0.0, value]))
    assert caught.value.op is None
    assert x.grad is None


def test_a_leaf_s_gradient_that_overflows_in_its_sum_is_found(xp):
    x = ag.Variable(xp.asarray(1e-10, dtype=xp.float32).data)
    with pytest.raises(NaNError, match=r"(?s)infinity.*gradient of a leaf.*sum"), ag.hooks("nan"):
        (x * 3e38 + x * 3e38).backward()


def test_which_output_and_which_input_s_gradient(xp):
    x = xp.asarray([[1.0, 2.0], [float("nan"), 4.0]])
    with pytest.raises(NaNError) as caught, ag.hooks("nan"):
        xp.unstack(x)
    assert (caught.value.index, caught.value.first) == (1, (0,))
    x, zero = ag.Variable(xp.asarray(2.0).data), ag.Variable(xp.asarray(0.0).data)
    with pytest.raises(NaNError) as caught, ag.hooks(NaN(forward=False)):
        (x / zero).backward()
    assert caught.value.op == "divide"
    assert caught.value.index == 0


def test_complex_arrays_are_checked_and_others_are_skipped(xp):
    with ag.hooks("nan"):
        assert xp.isnan(xp.asarray(1.0)).item() is False
        assert xp.sum(xp.arange(5)).item() == 10
        xp.empty((100,))
        with pytest.raises(NaNError, match="complex"):
            xp.asarray([1j]) * complex("nan")


def test_arrays_without_elements_are_fine(xp):
    with ag.hooks("nan"):
        xp.sum(xp.exp(ag.Variable(xp.zeros((0, 3)).data))).backward()


def test_warnings_name_the_user_s_line_once_for_what_follows(xp):
    with pytest.warns(NaNWarning) as caught, ag.hooks(NaN(action="warn")):
        bad_forward(xp, variable(xp)).backward()
    (found,) = ours(caught)
    assert f"{found.filename}:{found.lineno} in bad_forward" == planted(bad_forward)
    assert found.message.op == "sqrt"


def test_each_step_warns_anew(xp):
    def steps():
        for function in (bad_forward, warm_up_sum, bad_forward):
            function(xp, variable(xp)).backward()

    with pytest.warns(NaNWarning) as caught, ag.hooks(NaN(action="warn")):
        steps()
    assert [each.message.op for each in ours(caught)] == ["sqrt", "sqrt"]


def test_a_warning_as_an_error_stops_the_op(xp):
    with warnings.catch_warnings():
        warnings.simplefilter("error", NaNWarning)
        with pytest.raises(NaNWarning), ag.hooks(NaN(action="warn")):
            bad_forward(xp, variable(xp))


def test_a_warning_without_a_known_place(xp):
    y = bad_backward(xp, variable(xp))
    with pytest.warns(NaNWarning, match="backward pass") as caught, ag.hooks(NaN(action="warn")):
        y.backward()
    assert [each.message.op for each in ours(caught)] == ["sqrt"]


def test_a_wrong_action_is_an_error():
    with pytest.raises(ValueError, match="'raise' or 'warn', not 'log'"):
        NaN(action="log")


def test_errors_pickle():
    xp = ag.namespace("numpy")
    with pytest.raises(NaNError) as caught, ag.hooks("nan"):
        bad_forward(xp, variable(xp))
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert vars(again) == vars(caught.value)


def test_scopes_nest_and_are_left_behind(xp):
    def bad():
        return xp.sqrt(xp.asarray(-1.0))

    with ag.hooks(NaN(forward=False)):
        bad()
        with pytest.raises(NaNError), ag.hooks("nan"):
            bad()
        bad()
    bad()


def test_what_a_rule_computes_on_its_way_is_no_finding(xp):
    x = ag.Variable(xp.asarray([0.0, 2.0]).data)
    with ag.hooks("nan"):
        y = xp.sum(xp.where(x > 1.0, x**0.5, xp.zeros_like(x)))
    with ag.hooks(NaN(backward=False)):
        y.backward(create_graph=True)
        with pytest.raises(NaNError):
            xp.sqrt(-x.data - 1.0)


def test_a_bad_gradient_is_found_when_the_pass_is_recorded(xp):
    with pytest.raises(NaNError) as caught, ag.hooks("nan"):
        bad_backward(xp, variable(xp)).backward(create_graph=True)
    assert (caught.value.op, caught.value.direction) == ("sqrt", "backward")
    assert caught.value.location == planted(bad_backward)


def test_second_order_derivatives_are_checked(xp):
    x = ag.Variable(xp.asarray(0.0).data)
    with ag.hooks("nan"):
        (g,) = ag.autodiff.grad(x**1.5, [x], create_graph=True)
        with pytest.raises(NaNError) as caught:
            g.backward()
    assert caught.value.direction == "backward"


def test_an_op_that_fails_keeps_its_own_error(xp):
    with ag.hooks("nan"):
        with pytest.raises(Exception, match=r"(?i)shape|broadcast|dimension|mismatch") as caught:
            xp.matmul(xp.zeros((2, 3)), xp.zeros((2, 3)))
        assert not isinstance(caught.value, NaNError)
        with pytest.raises(NaNError):
            bad_forward(xp, variable(xp))


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("hook", ["backward_preprocess", "backward_postprocess"])
def test_failing_hooks_of_others_blind_nothing(xp, hook, before):
    def fail(self):
        raise KeyboardInterrupt

    other = type("Other", (), {hook: hookimpl(fail)})()
    plugins = (other, NaN()) if before else (NaN(), other)
    with ag.hooks(*plugins):
        with pytest.raises(KeyboardInterrupt):
            xp.sum(variable(xp)).backward()
        with pytest.raises(NaNError):
            bad_forward(xp, variable(xp))


def test_threads_share_a_plugin_and_no_state():
    xp = ag.namespace("numpy")
    plugin = NaN()
    in_rule, checked = threading.Event(), threading.Event()
    found = []

    class Wait:
        @hookimpl
        def forward_preprocess(self):
            in_rule.set()
            assert checked.wait(10)

    def other():
        assert in_rule.wait(10)
        with ag.hooks(plugin):
            try:
                bad_forward(xp, variable(xp))
            except NaNError as error:
                found.append(error.location)
        checked.set()

    y = xp.sum(xp.sin(variable(xp)))
    thread = threading.Thread(target=other)
    thread.start()
    with ag.hooks(plugin, Wait()):
        y.backward(create_graph=True)
    thread.join()
    assert found == [planted(bad_forward)]
