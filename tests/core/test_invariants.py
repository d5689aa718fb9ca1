"""What is checked where levels meet, at every op of a level."""

import numpy as np
import pytest

import agnograd as ag
from agnograd._levels.invariants import check_left, verified
from agnograd.extend import Interpretation, Run

xp = ag.namespace("numpy")


class Plain(Interpretation):
    pass


@pytest.fixture(scope="module")
def levels():
    """Return an array, and a Variable, of two levels."""
    found = []

    def inner(x):
        found.append(x)
        return x

    def outer(x):
        found.append(x)
        return Plain.interpret(inner, x, run=Run())

    Plain.interpret(outer, np.ones(2), run=Run())
    low, high = found
    return low, high


def test_tests_check_levels(levels):
    assert all(each._domain.backend.verifies for each in levels)


def test_an_op_of_a_level_takes_what_is_below_and_gives_what_is_its_own(levels):
    low, high = levels
    name, level = "identity", low._domain.level
    same = verified(lambda x, *_: x, level, name)
    assert same(low._raw) is low._raw
    for given in (np.ones(2), xp.ones(2), [low._raw, np.ones(2)], slice(low._raw, None)):
        same(low._raw, given)
    assert same(high._raw) is high._raw  # left to the level above
    with pytest.raises(AssertionError, match=r"identity returns .* level 0"):
        same(xp.ones(2))
    for wrong in (low, high._raw):
        kept = verified(lambda x, wrong=wrong: wrong, level, name)
        with pytest.raises(AssertionError, match="identity returns"):
            kept(low._raw)


def test_payloads_are_from_below(levels):
    low, _ = levels
    same = verified(lambda x: x, low._domain.level, "identity")
    for payload in (low, low._raw):
        with pytest.raises(AssertionError, match=r"an array with .* of level 1, at level 1"):
            same(type(low._raw)(payload, low._raw.run))
    mixed = ag.Variable(np.ones(2))._domain.Variable._make(low._raw, None)
    with pytest.raises(AssertionError, match=r"a Variable with .* of level 1, at level 0"):
        same(type(low._raw)(mixed, low._raw.run))


def test_nothing_of_a_level_leaves_it(levels):
    low, high = levels
    check_left(low, high._domain.level)
    with pytest.raises(AssertionError, match="a function returns"):
        check_left(high._raw, high._domain.level)
