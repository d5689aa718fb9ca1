"""The plugin, by its name."""

import math

import pytest

import agnograd as ag
from agnograd.testing import plugin_contract, record_events


def test_the_largest_numbers_are_kept():
    xp = ag.namespace("numpy")
    x = ag.Variable(xp.asarray([3.0, -4.0]), requires_grad=True)
    with ag.hooks("largest") as (largest,):
        xp.sum(x * x).backward()
        xp.sum(x * 0.5).backward()
    assert largest.forward == {"multiply": 16.0, "sum": 25.0}
    assert largest.backward == {"multiply": 4.0, "sum": 1.0}


def test_nan_is_larger_than_all_numbers():
    xp = ag.namespace("numpy")
    with ag.hooks("largest") as (largest,):
        for value in (1.0, math.nan, math.inf):
            xp.abs(xp.asarray(value))
    assert math.isnan(largest.forward["abs"])


def test_what_fails_is_heard_of_and_not_kept():
    xp = ag.namespace("numpy")
    found = []

    def program():
        with ag.hooks("largest") as (largest,), pytest.raises(ValueError, match="mismatch"):
            xp.matmul(xp.ones((2, 2)), xp.ones(3))
        found.append(largest)

    last = record_events([], program)[-1]
    assert (last.hook, last.op, last.error) == ("forward_postprocess", "matmul", ValueError)
    assert "matmul" not in found[0].forward


def test_it_holds_to_the_contract_on_every_backend():
    assert {"numpy", "strict", "rows"} <= set(plugin_contract("largest"))
