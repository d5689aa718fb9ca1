"""The contract catches planted defects, and names what broke."""

import threading

import pytest

import agnograd as ag
from agnograd.errors import PluginError, UnknownPluginError
from agnograd.extend import hookimpl
from agnograd.testing import plugin_contract
from agnograd.testing._guards import Turns


class Sound:
    """Count ops, each thread for itself."""

    def __init__(self):
        self.local = threading.local()

    @hookimpl
    def forward_preprocess(self, op):
        self.local.running = op

    @hookimpl
    def forward_postprocess(self, op, error):
        assert self.local.running is op


class FailsAfterFailure:
    @hookimpl
    def forward_postprocess(self, outputs, error):
        outputs[0]


class FailsAfterFailedRule:
    @hookimpl
    def backward_postprocess(self, grad_inputs, error):
        if not grad_inputs:
            raise KeyError("planted")


class NeverStops:
    """Forget that a pass that failed is over."""

    def __init__(self):
        self.running = 0

    @hookimpl
    def backward_start(self):
        if self.running == 2:
            raise RuntimeError("two passes run already")
        self.running += 1

    @hookimpl
    def backward_finish(self, error):
        if error is None:
            self.running -= 1


class OneStackForAllThreads:
    def __init__(self):
        self.stack = []

    @hookimpl
    def forward_preprocess(self, op):
        self.stack.append(op)

    @hookimpl
    def forward_postprocess(self, op):
        if self.stack.pop() is not op:
            raise RuntimeError("another op is running")


class ChangesInputs:
    @hookimpl
    def forward_postprocess(self, op, inputs):
        if op.name == "sin":
            inputs[0][...] = 0.0


class ChangesGradients:
    @hookimpl
    def gradient_ready(self, grad):
        if grad.shape:
            grad[...] = 0.0


class RestoresAnother:
    @hookimpl
    def save_value(self, value):
        return [value * 1.5 if value.dtype == float else value]

    @hookimpl
    def restore_value(self, packed):
        return packed[0]


class TripsOverEmptyArrays:
    @hookimpl
    def forward_postprocess(self, outputs):
        for each in outputs:
            if each.size == 0:
                raise ValueError("planted")


class CannotNest:
    active = 0

    def __enter__(self):
        if CannotNest.active:
            raise RuntimeError("already active")
        CannotNest.active += 1

    def __exit__(self, *error):
        CannotNest.active -= 1


@pytest.mark.parametrize("plugin", [Sound, Sound()])
def test_a_sound_plugin_holds_on_every_backend(plugin):
    assert plugin_contract(plugin) == [name for name in ag.backends() if present(name)]


def present(name):
    try:
        ag.namespace(name)
    except PluginError:
        return False
    return True


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        (
            FailsAfterFailure,
            ["an op that fails forward", "IndexError", "'forward_postprocess'", "took the place"],
        ),
        (
            FailsAfterFailedRule,
            ["an op that fails backward", "KeyError", "'backward_postprocess'", "op '_Square'"],
        ),
        (NeverStops, ["an op that fails backward", "two passes run already", "'backward_start'"]),
        (OneStackForAllThreads, ["two threads", "another op is running", "'forward_postprocess'"]),
        (ChangesInputs, ["hook 'forward_postprocess' changed an array in `inputs` of op 'sin'"]),
        (ChangesGradients, ["hook 'gradient_ready' changed an array in `grad`"]),
        (RestoresAnother, ["a gradient: the result is", "without the plugin"]),
        (TripsOverEmptyArrays, ["ValueError: planted", "'forward_postprocess'"]),
        (CannotNest, ["nested scopes", "already active"]),
    ],
)
def test_a_defect_is_caught_and_named(plugin, words):
    with pytest.raises(AssertionError) as caught:
        plugin_contract(plugin, backends=["numpy"])
    for word in (f"plugin {plugin.__name__!r} on backend 'numpy'", *words):
        assert word in str(caught.value)


def test_threads_are_caught_every_time():
    for _ in range(20):
        with pytest.raises(AssertionError, match="two threads: RuntimeError: another op"):
            plugin_contract(OneStackForAllThreads, backends=["numpy"])


def test_a_thread_that_waits_for_ever_says_why():
    turns = Turns(patience=0.05)
    with turns.taken(0), pytest.raises(AssertionError, match="a lock that the plugin keeps"):
        turns.give(0)


def test_what_is_no_plugin_or_no_backend_is_an_error_of_its_own():
    with pytest.raises(UnknownPluginError, match="nobody"):
        plugin_contract("nobody")
    with pytest.raises(PluginError, match="has no hooks"), ag.hooks(object()):
        pass
    with pytest.raises(LookupError, match="nowhere"):
        plugin_contract(Sound, backends=["nowhere"])
