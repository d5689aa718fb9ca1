"""Hook specifications grow: plugins that were written for older ones go on, or are warned."""

import warnings

import pytest

from agnograd._hooks.active import ActiveHooks
from agnograd.errors import PluginError
from agnograd.extend import hookimpl
from agnograd.hookspecs import HookSpecs, hookspec


class Grown(HookSpecs):
    """A later specification: one hook more, and one more argument of an old hook."""

    @hookspec
    def forward_preprocess(self, op, inputs, device):
        """Run before an op computes; tells the device, too."""

    @hookspec
    def pass_paused(self, reason):
        """Run when a pass pauses."""


class Ageing(HookSpecs):
    """A later specification that is going to lose a hook, and an argument of another."""

    @hookspec(warn_on_impl=DeprecationWarning("backward_start is going away"))
    def backward_start(self, outputs):
        """Run before a backward pass."""

    @hookspec(warn_on_impl_args={"inputs": DeprecationWarning("inputs are going away")})
    def forward_preprocess(self, op, inputs):
        """Run before an op computes."""


class Old:
    """Written for the specifications as they are."""

    def __init__(self):
        self.seen = []

    @hookimpl
    def forward_preprocess(self, inputs, op):
        self.seen.append((op, inputs))

    @hookimpl
    def forward_postprocess(self, op, inputs, outputs, error):
        self.seen.append((op, inputs, outputs, error))


class New(Old):
    @hookimpl
    def forward_preprocess(self, device, op):
        self.seen.append((device, op))

    @hookimpl
    def pass_paused(self, reason):
        self.seen.append(reason)


class Wrapping(Old):
    @hookimpl(wrapper=True)
    def forward_preprocess(self, op, inputs):
        self.seen.append((op, inputs))
        return (yield)


@pytest.mark.parametrize("wrapping", [[], [Wrapping()]])
def test_new_arguments_and_hooks_break_no_old_plugin(wrapping):
    old, new = Old(), New()
    active = ActiveHooks(dict(enumerate([old, new, *wrapping])), Grown)
    active.run("forward_preprocess", "sin", (1.0,), "device")
    active.run("forward_postprocess", "sin", "kind", (1.0,), (2.0,), None, None, None)
    active.run("pass_paused", "why")
    after = ("sin", (1.0,), (2.0,), None)
    assert old.seen == [("sin", (1.0,)), after]
    assert new.seen == [("device", "sin"), after, "why"]
    assert all(each.seen == old.seen for each in wrapping)


def test_a_new_argument_is_an_error_where_it_is_not_known():
    with pytest.raises(PluginError, match="forward_preprocess"):
        ActiveHooks({"new": New()})


def test_implementers_of_what_is_going_away_are_warned():
    with pytest.warns(DeprecationWarning, match="inputs are going away") as caught:
        ActiveHooks({"old": Old()}, Ageing)
    assert [warning.filename for warning in caught] == [__file__]

    class Passes:
        @hookimpl
        def backward_start(self):
            pass

        @hookimpl
        def forward_preprocess(self, op):
            pass

    with pytest.warns(DeprecationWarning, match="going away") as caught:
        ActiveHooks({"passes": Passes()}, Ageing)
    assert [str(warning.message) for warning in caught] == ["backward_start is going away"]


def test_others_are_not_warned():
    class Other:
        @hookimpl
        def forward_preprocess(self, op):
            pass

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ActiveHooks({"other": Other()}, Ageing)
        ActiveHooks({"old": Old()}, HookSpecs)
